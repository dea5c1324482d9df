"""Load kernels' shared libraries, and unload each when the last of its kernels is gone.

Python never unloads an extension module, and a process has 65,530 mappings on Linux, of which a
library takes five. So kernels' libraries are none: `MAKER` in each makes Python functions, all of
which hold what owns them.

Read from torch/csrc/dynamo/guards.cpp (_torchinductor_pyobject_tensor_data_ptr) of 2.11 and 2.13,
and from Objects/methodobject.c (meth_dealloc) of Python 3.11 to 3.13: a function's owner is the
last thing that it lets go, when its own code isn't needed any more.
"""

from __future__ import annotations

import _ctypes
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from npaccel._process import fork, thread_pool

#: The function of a library that makes its kernels. It takes what is to own them, the address of
#: what finds the memory of a tensor, and that of `thread_pool.alone`.
MAKER = "npaccel_kernels"
_Maker = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
_lock = threading.Lock()
fork.hold(_lock)


class _Library:
    """A library that is loaded; it's unloaded when this object is gone.

    Parameters
    ----------
    path : Path
    handle : int
        The loader's.
    """

    __slots__ = ("handle", "path")

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle

    def __del__(self, close: Any = _ctypes.dlclose, ends: Any = sys.is_finalizing) -> None:
        if not ends():
            close(self.handle)

    def hidden(self) -> Any:
        """Return what owns the library's kernels, and hides it from the garbage collector.

        That calls `__del__` of an object that it finds to be garbage while kernels that are garbage
        too are still there. Into arrays it doesn't look.
        """
        owner = np.array(None, dtype=object)
        owner[()] = self
        if gc.is_tracked(owner):
            _never_unloaded.append(owner)
        return owner


#: The owners of kernels, if the garbage collector looks into arrays some day.
_never_unloaded: list[Any] = []


def load_kernels(path: Path) -> tuple[Callable[..., None], ...]:
    """Load the kernels of one shared library.

    Parameters
    ----------
    path : Path
        The library. It is native code: the caller has checked where it's from.

    Returns
    -------
    tuple of callable
        In the order of the generated module that asks for them.

    Raises
    ------
    ImportError
        If it can't be loaded.
    """
    with _lock:
        is_new = not _is_loaded(path)
        try:
            handle = _ctypes.dlopen(str(path), os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:  # Not the system's: it has no number.
            raise ImportError(f"{path.name} isn't a library: {error}") from error
        owner = _Library(path, handle).hidden()
        if is_new:
            _keep_what_came_with(handle)
        try:
            address = _ctypes.dlsym(handle, MAKER)
        except OSError as error:
            raise ImportError(f"{path.name} isn't a library of kernels") from error
        data_of_tensor = torch._C._dynamo.guards._torchinductor_pyobject_tensor_data_ptr  # type: ignore[attr-defined]
        kernels: tuple[Callable[..., None], ...] = _Maker(address)(
            owner, data_of_tensor, ctypes.addressof(thread_pool.alone)
        )
        return kernels


def path_of(kernel: Any) -> Path | None:
    """Return the library that a kernel is from, None for what isn't one."""
    owner = getattr(kernel, "__self__", None)
    library = owner.item() if isinstance(owner, np.ndarray) and not owner.ndim else None
    return library.path if isinstance(library, _Library) else None


def _is_loaded(path: Path) -> bool:
    try:
        handle = _ctypes.dlopen(str(path), os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return False
    _ctypes.dlclose(handle)
    return True


class _Link(ctypes.Structure):
    """The begin of glibc's `struct link_map`, which is what a handle points to."""


_Link._fields_ = [
    ("address", ctypes.c_void_p),
    ("name", ctypes.c_char_p),
    ("dynamic", ctypes.c_void_p),
    ("next", ctypes.POINTER(_Link)),
]


def _keep_what_came_with(handle: int) -> None:
    """Never unload what a library has brought along, such as OpenMP's runtime with its threads."""
    if sys.platform == "linux":
        for name in _loaded_after(handle):
            _ctypes.dlopen(name, os.RTLD_NOW | os.RTLD_NOLOAD | os.RTLD_NODELETE)


def _loaded_after(handle: int) -> Iterator[str]:
    link = ctypes.cast(handle, ctypes.POINTER(_Link)).contents.next
    while link:
        if link.contents.name:
            yield os.fsdecode(link.contents.name)
        link = link.contents.next


__all__ = ["MAKER", "load_kernels", "path_of"]
