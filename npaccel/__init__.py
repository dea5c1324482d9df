"""NumPy code, compiled: OpenMP C++ on every core, Triton kernels on a GPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from npaccel import errors
from npaccel._jit import Jitted, jit
from npaccel._options import config, disabled, options
from npaccel._report import Report
from npaccel._torch_internals import check_supported
from npaccel._version import __version__
from npaccel.errors import NotCompiledError as NotCompiledError
from npaccel.errors import TransferError as TransferError
from npaccel.errors import VerificationError as VerificationError

if TYPE_CHECKING:
    from npaccel._check._checking import CheckResult, check

#: Where the names are that are imported when they're used.
_LATER = {
    "CheckResult": "npaccel._check._checking",
    "check": "npaccel._check._checking",
}

__all__ = [
    "CheckResult",
    "Jitted",
    "Report",
    "__version__",
    "check",
    "config",
    "disabled",
    "errors",
    "jit",
    "options",
]


def __getattr__(name: str) -> Any:
    """Import what most programs don't use when it's asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'npaccel' has no attribute {name!r}")
    found = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


check_supported()
