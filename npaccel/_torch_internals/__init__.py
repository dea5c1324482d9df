"""The one place that touches torch's private parts.

A submodule per part of torch: `capture` (Dynamo), `numpy_tracing` (Dynamo's
view of NumPy, with the other `numpy_*`: what stands for a call in a graph, how it
gets there, and a patch per part of Dynamo), `inductor` (the compiler), `loader`
(compiled kernels without either). Importing this package loads none of them.
"""

from __future__ import annotations

import functools
import re
import warnings
from typing import Any

import torch

from npaccel._imports import load
from npaccel.errors import UnsupportedTorchError

#: First supported release of torch, and the first one that isn't.
SUPPORTED = ((2, 11), (2, 14))


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


def quietly_imported(module: str) -> Any:
    """Import what brings in Inductor, whose import warns of what no user of it can mend.

    Where warnings are errors, the import would fail.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(module)


@functools.cache
def load_compiler() -> None:
    """Import Inductor."""
    # It reads its templates while it's imported, which aren't ASCII: utils.py (load_template).
    utils = quietly_imported("torch._inductor.utils")
    utils.open = functools.partial(open, encoding="utf-8")
    quietly_imported("torch._inductor.compile_fx")
