"""The one place that touches torch's private parts.

`dynamo` captures functions, `fx_passes` changes what was captured, `inductor` compiles it.
`importing` imports torch's compiler for them. `patches` lists all that is replaced in torch,
`patching` replaces it. Importing this package loads none of them.
"""

from __future__ import annotations

import re

import torch

from npaccel.errors import UnsupportedTorchError

#: First supported release of torch, and the first one that isn't.
SUPPORTED = ((2, 11), (2, 16))


def check_supported(version: str | None = None) -> None:
    """Refuse a torch release whose private parts were never read.

    Parameters
    ----------
    version : str, optional
        Defaults to the installed release.

    Raises
    ------
    UnsupportedTorchError
        Outside of `SUPPORTED`.
    """
    found = torch.__version__ if version is None else version
    match = re.match(r"(\d+)\.(\d+)", found)
    low, high = SUPPORTED
    if match is None or not low <= (int(match[1]), int(match[2])) < high:
        wanted = f"torch>={low[0]}.{low[1]},<{high[0]}.{high[1]}"
        raise UnsupportedTorchError(
            f"npaccel: torch {found} is installed, but npaccel was checked with {wanted}; "
            f'install one of those: pip install "{wanted}"'
        )
