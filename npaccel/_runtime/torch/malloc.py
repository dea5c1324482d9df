"""New memory is slow: keep what is freed, and ask for large pages."""

from __future__ import annotations

import ctypes
import os
import sys

from npaccel._process import environment
from npaccel._runtime.torch import huge_pages

#: Parameters of glibc's ``mallopt``.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: The largest block that glibc lets come from the heap, and how much it keeps at the heap's end.
_FROM_HEAP, _KEPT = 32 << 20, 128 << 20
#: Variables by which users set the same.
_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")
#: The token of the thread that prepares, once for a process.
_prepared_by: dict[str, object] = {}


def prepare() -> None:
    """Have new memory on the CPU cost less from now on, in all of the process.

    It's called before the first function is compiled or loaded from disk, and before the first
    function of SciPy or estimator computes on tensors; later calls do nothing.

    glibc asks the kernel for each large block and gives it back when it's freed, and the end of
    its heap as well, until it has learnt from blocks that were freed. The kernel's new pages cost
    more than many an operator that writes into them. So blocks of up to 32 MiB come from the heap,
    and 128 MiB stay there. Larger blocks still come from the kernel, in huge pages.
    """
    token = object()
    if _prepared_by.setdefault("", token) is not token:  # Atomic: no lock to hold in a fork.
        return
    if not huge_pages.obstacle():
        huge_pages.switch_on()
    if not _obstacle():
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _FROM_HEAP)
        mallopt(_TRIM_THRESHOLD, _KEPT)


def settings() -> dict[str, str]:
    """Return what `prepare` sets, and to what, or why it doesn't; ``npaccel info`` shows it."""
    glibc = f"blocks of up to {_FROM_HEAP >> 20} MiB come from the heap, {_KEPT >> 20} MiB stay"
    pages = f"torch asks for them, compiled code from {huge_pages.MUCH >> 20} MiB on"
    return {
        "glibc": _described(_obstacle(), glibc),
        "huge pages": _described(huge_pages.obstacle(), pages),
    }


def _described(obstacle: str, what: str) -> str:
    return f"as they are: {obstacle}" if obstacle else what


def _obstacle() -> str:
    """Return why glibc's settings stay as they are, if they do."""
    if environment.is_off(huge_pages.SWITCH):
        return f"{huge_pages.SWITCH}={os.environ[huge_pages.SWITCH]}"
    for name in _VARIABLES:
        if name in os.environ:
            return f"{name} is set"
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return "GLIBC_TUNABLES is set"
    if sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"):
        return "the C library isn't glibc"
    return ""
