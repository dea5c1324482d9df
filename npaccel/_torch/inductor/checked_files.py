"""Check Inductor's files before they're used, and make again what isn't whole.

Inductor takes a file that exists for what it would have made: one that is damaged is loaded, or
stops every compilation that builds upon it.

Read from torch/_inductor/codecache.py (write, write_atomic, _worker_compile_cpp) and
torch/_inductor/runtime/compile_tasks.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch._inductor import codecache
from torch._inductor.runtime import compile_tasks

from npaccel._cache.sealed_files import is_whole, sealed_file
from npaccel._torch.inductor.builder import Builder, alone
from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def files_checked(scratch: Path) -> Iterator[None]:
    """Have what Inductor writes and builds meanwhile sealed, and made again where it isn't whole.

    Parameters
    ----------
    scratch : Path
        The folder for the compiler's files.
    """
    with patched([patch.given(str(scratch)) for patch in PATCHES]):
        yield


def _sealing(scratch: str, original: Any) -> Any:
    return functools.partial(Builder, scratch=Path(scratch))


def _as_utf8(scratch: str, original: Any) -> Any:
    """Read generated code, which has the user's names and strings, whatever the locale is."""
    return functools.partial(open, encoding="utf-8")


def _compiling(scratch: str, original: Any) -> Any:
    def compile_missing(lock_path: str, builders: Sequence[Builder]) -> None:
        for builder in builders:
            target = builder.get_target_file_path()
            if not is_whole(target):
                with alone(Path(lock_path)):
                    if not is_whole(target):
                        Path(target).unlink(missing_ok=True)
        original(lock_path, builders)

    return compile_missing


def _writing(scratch: str, original: Any) -> Any:
    def write(content: str | bytes, *args: Any, **kwargs: Any) -> tuple[str, str]:
        name, path = original(content, *args, **kwargs)
        if _is_below(path, scratch) and not is_whole(path):
            _write_sealed(path, content, scratch)
        return name, path

    return write


def _writing_whole(scratch: str, original: Any) -> Any:
    def write_atomic(path_: str, content: str | bytes, *args: Any, **kwargs: Any) -> None:
        if _is_below(path_, scratch):
            _write_sealed(path_, content, scratch)
        else:
            original(path_, content, *args, **kwargs)

    return write_atomic


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _write_sealed(path: str, content: str | bytes, scratch: str) -> None:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    with sealed_file(path, scratch) as draft:
        Path(draft).write_bytes(data)


_WHY = "Inductor takes a file that exists for whole"
_TEST = "tests/faults/test_damaged_files.py"

PATCHES = (
    Patch(codecache, "CppBuilder", _sealing, _WHY, _TEST),
    Patch(codecache, "_worker_compile_cpp", _compiling, _WHY, _TEST),
    Patch(codecache, "write", _writing, _WHY, _TEST),
    Patch(codecache, "write_atomic", _writing_whole, _WHY, _TEST),
    Patch(
        compile_tasks, "open", _as_utf8, "Inductor reads its files in the locale's encoding",
        "tests/torch_layer/inductor/test_kernel_files.py", is_new=True,
    ),
)  # fmt: skip

__all__ = ["files_checked"]
