"""The one place that touches torch's private parts.

`dynamo` captures functions, `fx_passes` changes what was captured, `inductor` compiles it.
`importing` imports torch's compiler for them. `patches` lists all that is replaced in torch,
`patching` replaces it. Importing this package loads none of them.
"""

from __future__ import annotations

import functools
import re
import warnings

import torch

from npaccel._process import environment
from npaccel.errors import UnsupportedTorchError, UntestedTorchWarning

#: First supported release of torch, and the first one that isn't.
SUPPORTED = ((2, 11), (2, 16))
_VARIABLE = "NPACCEL_UNTESTED_TORCH"


def check_supported(version: str | None = None) -> None:
    """Refuse a torch release whose private parts were never read.

    Parameters
    ----------
    version : str, optional
        Defaults to the installed release.

    Raises
    ------
    UnsupportedTorchError
        Outside of `SUPPORTED`, unless the environment asks for a newer one to be tried.

    Warns
    -----
    UntestedTorchWarning
        Where a newer one is tried.
    """
    found = torch.__version__ if version is None else version
    if is_tested(found):
        return
    low, high = SUPPORTED
    wanted = f"torch>={low[0]}.{low[1]},<{high[0]}.{high[1]}"
    release = release_of(found)
    is_newer = release is not None and release >= high
    if is_newer and environment.is_on(_VARIABLE):
        warnings.warn(
            f"npaccel was tested with {wanted}, and runs untested on torch {found}, as {_VARIABLE} "
            "says. What it replaces in torch is checked for its parameters only: compare the "
            'answers with NumPy\'s, by verify="raise" or npaccel.assert_same_as_numpy',
            UntestedTorchWarning,
            stacklevel=3,
        )
        return
    newer = (
        "a later npaccel may support it: python3 -m pip install -U npaccel. Or " if is_newer else ""
    )
    tried = f", or set {_VARIABLE}=1 to try this one" if is_newer else ""
    raise UnsupportedTorchError(
        f"npaccel: torch {found} is installed, but this release of npaccel was tested with "
        f'{wanted}; {newer}install one of those: python3 -m pip install "{wanted}"{tried}'
    )


@functools.cache
def is_tested(version: str = torch.__version__) -> bool:
    """Whether npaccel was tested with a release of torch, by default the installed one."""
    release = release_of(version)
    return release is not None and SUPPORTED[0] <= release < SUPPORTED[1]


def release_of(version: str) -> tuple[int, int] | None:
    """Return major and minor number of a release of torch; None for what is no release."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None
