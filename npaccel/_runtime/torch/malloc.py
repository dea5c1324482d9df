"""New memory is slow: keep what is freed, and ask for large pages."""

from __future__ import annotations

import ctypes
import os
import sys

from npaccel._runtime.torch import huge_pages

#: Parameters of glibc's ``mallopt``.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: The largest block that glibc lets come from the heap, and how much it keeps at the heap's end.
_FROM_HEAP, _KEPT = 32 << 20, 128 << 20
#: By these users set the same.
_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")


def prepare() -> None:
    """Have new memory on the CPU cost less from now on, in all of the process.

    glibc asks the kernel for each large block and gives it back when it's freed, and the end of
    its heap as well, until it has learnt from blocks that were freed. The kernel's new pages cost
    more than many an operator that writes into them. So blocks of up to 32 MiB come from the heap,
    and 128 MiB stay there. Larger blocks still come from the kernel, in huge pages.
    """
    huge_pages.switch_on()
    if any(name in os.environ for name in _VARIABLES):
        return
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _FROM_HEAP)
        mallopt(_TRIM_THRESHOLD, _KEPT)
