"""Link Inductor's kernels to torch's libraries by their names alone.

The linker reads the libraries that it's told, and libtorch_cpu.so has hundreds of megabytes: half a
second for each kernel, a third of its C++ compilation. All that a kernel takes along from that is
the libraries' names, by which the loader finds those that Python has loaded with torch. An empty
library of the same name gives the linker that, and so it does in the place of libstdc++.so, where a
kernel includes nothing of that.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch._inductor import cpp_builder

from npaccel._cache.sealed_files import is_whole, sealed_file
from npaccel._torch.patching import Patch, patched

_PREFIX = "libtorch"
#: Option without which the linker leaves out a library of which nothing is used, as on Ubuntu.
_ALL = "-Wl,--no-as-needed"
#: Names a kernel's libraries itself: the linker reads libstdc++.so for 40 ms otherwise.
NO_STANDARD_LIBRARIES = "-nostdlib"
_UNUSED = ("-ltorch", "-ltorch_python")
_STANDARD = {"libstdc++.so": "libstdc++.so.6"}
_OFTEN = ["libtorch_cpu.so", *_STANDARD]


@contextlib.contextmanager
def linked_by_name(scratch: Path) -> Iterator[None]:
    """Have kernels that are built meanwhile linked to empty libraries in the place of torch's.

    Parameters
    ----------
    scratch : Path
        The folder for the compiler's files, which nobody else can write to.
    """
    with patched([patch.given(scratch) for patch in PATCHES]):
        yield


def _linking(scratch: Path, original: Any) -> Any:
    def build(self: Any) -> None:
        libraries, folders = self._libraries_args, self._libraries_dirs_args
        words = libraries.split()
        if NO_STANDARD_LIBRARIES in self._passthrough_parameters_args.split():
            words = [word for word in words if word not in _UNUSED]
            words += ["-lstdc++", "-lm", "-lgcc_s", "-lc"]
        names = [f"lib{word[2:]}.so" for word in words]
        names = [n for n in names if n.startswith(_PREFIX) or n in _STANDARD]
        names = [name for name in names if _is_loaded(name)]
        if names:
            folder = _made(self._build_option.get_compiler(), scratch, names)
            self._libraries_args = f"{_ALL} {' '.join(words)} "
            self._libraries_dirs_args = f"-L{shlex.quote(str(folder))} {folders}"
        try:
            original(self)
        finally:
            self._libraries_args, self._libraries_dirs_args = libraries, folders

    return build


def _loaders_name(name: str) -> str:
    """Return by which name the loader looks for a library that the linker finds by another."""
    return _STANDARD.get(name, name)


@functools.cache
def _is_loaded(name: str) -> bool:
    """Whether the loader will find it: it's part of this process already."""
    if sys.platform != "linux":
        return False
    try:
        ctypes.CDLL(_loaders_name(name), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


def make_empty(compiler: str, scratch: Path) -> None:
    """Make what kernels are linked to that include no headers.

    Parameters
    ----------
    compiler : str
    scratch : Path
        The folder for the compiler's files.
    """
    _made(compiler, scratch, list(filter(_is_loaded, _OFTEN)))


def _made(compiler: str, scratch: Path, names: list[str]) -> Path:
    """Make the libraries that aren't there. The linker takes torch's own where that fails."""
    folder = scratch / "empty_libraries"
    for name in names:
        path = folder / name
        if not is_whole(str(path)):
            path.unlink(missing_ok=True)
            options = [
                "-shared",
                "-nostdlib",
                f"-Wl,-soname,{_loaders_name(name)}",
                "-x",
                "c",
                os.devnull,
            ]
            failing = contextlib.suppress(subprocess.CalledProcessError)
            with failing, sealed_file(str(path), str(scratch)) as draft:
                command = [compiler, *options, "-o", draft]
                subprocess.run(command, capture_output=True, check=True)  # noqa: S603 (the compiler that Inductor runs)
    return folder


PATCHES = (
    Patch(
        cpp_builder.CppBuilder, "build", _linking,
        "the linker reads all of torch's libraries for each kernel",
        "tests/torch_layer/inductor/test_linking.py",
    ),
)  # fmt: skip

__all__ = ["linked_by_name", "make_empty"]
