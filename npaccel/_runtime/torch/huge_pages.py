"""Ask for huge pages where torch or compiled code allocates much memory, as NumPy does.

A new buffer of 32 MB, which the C library takes from the system each time, otherwise costs
8192 page faults: 17 ms, of which NumPy needs 4.6 to fill it.

torch asks for them itself where THP_MEM_ALLOC_ENABLE is set when it allocates its first tensor
on a CPU. Where a program did that before it compiled a function, compiled code asks.

Read from c10/core/impl/alloc_cpu.cpp and torch/_inductor/codegen/wrapper.py (make_allocation) of
2.11 and 2.13.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import re
import sys
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import torch

from npaccel._process import environment

#: Switches off all that concerns memory.
SWITCH = "NPACCEL_MALLOC"
_OF_TORCH = "THP_MEM_ALLOC_ENABLE"
#: File of what the system does for those who ask, in brackets among its choices.
_POLICY = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_NAME = "empty_strided_cpu"
#: Number of bytes from which NumPy asks for huge pages.
MUCH = 1 << 22
_SIZES = re.compile(rf"\b{_NAME}\(\(([^()]*)\), \([^()]*\), (torch\.\w+)\)")


def switch_on() -> None:
    """Have torch ask for huge pages, unless it has allocated before.

    It reads the variable once; so that processes which this one starts decide for themselves, it
    is gone again afterwards.
    """
    os.environ[_OF_TORCH] = "1"
    try:
        torch.empty(1, device="cpu")
    finally:
        del os.environ[_OF_TORCH]


def obstacle() -> str:
    """Return why torch isn't made to ask, if it isn't; it warns where the system refuses."""
    if environment.is_off(SWITCH):
        return f"{SWITCH}={os.environ[SWITCH]}"
    if _OF_TORCH in os.environ:
        return f"{_OF_TORCH} is set"
    return "" if _granted() else "the system has none for those who ask"


def _granted() -> bool:
    """Whether the system has huge pages for those who ask."""
    try:
        policy = _POLICY.read_text()
    except OSError:
        return False
    return "[madvise]" in policy or "[always]" in policy


@functools.cache
def _advise() -> Callable[[int, int, int], int] | None:
    """Return the C library's ``madvise``, where there is one."""
    if not sys.platform.startswith("linux") or not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    function = ctypes.CDLL(None).madvise
    function.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return function  # type: ignore[no-any-return]


def _allocates_much(source: str) -> bool:
    """Whether a buffer of the code is large, or of a size that only a call knows."""
    for sizes, dtype in _SIZES.findall(source):
        count = getattr(torch, dtype.removeprefix("torch.")).itemsize
        for size in sizes.split(","):
            if size.strip() and not size.strip().isdigit():
                return True
            count *= int(size) if size.strip() else 1
        if count >= MUCH:
            return True
    return False


def use_huge_pages(scope: MutableMapping[str, Any], source: str) -> None:
    """Give the large buffers of a generated module huge pages.

    Parameters
    ----------
    scope : mapping
        The module's globals.
    source : str
        Its code. Where all its buffers are small nothing changes.
    """
    allocate, advise = scope.get(_NAME), _advise()
    if allocate is None or advise is None or environment.is_off(SWITCH):
        return
    if not _allocates_much(source):
        return

    def empty(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
        buffer: torch.Tensor = allocate(size, stride, dtype)
        if buffer.nbytes >= MUCH:
            first = -(-buffer.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
            length = buffer.data_ptr() + buffer.nbytes - first
            advise(first, length, mmap.MADV_HUGEPAGE)  # only a hint: it may fail
        return buffer

    scope[_NAME] = empty
