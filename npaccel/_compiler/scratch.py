"""The folder for the compiler's own files, and what is begun there early.

It's in the cache. Where that is off, or its disk full, one inside of torch's folder will do, if
that is safe: the header of all kernels takes some seconds and is kept there. Else it's a folder of
this process alone, on any disk that has room, or in memory.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from npaccel._cache import secure_files as secure
from npaccel._cache.cache_warnings import warn_compiler
from npaccel._cache.layout import sweep
from npaccel._cache.room import HEADER, KERNEL, fault
from npaccel._cache.store import default_cache
from npaccel._process import fork
from npaccel._torch.inductor import precompiled_headers as headers
from npaccel.errors import CacheError

_OWN = re.compile(r"npaccel-(\d+)-[0-9a-f]{16}")
_STALE_SECONDS = 3600


class _Chosen:
    """The folder that is in use."""

    folder: Path | None = None


def scratch_folder() -> Path:
    """Return the folder for the compiler's files, which nobody else can get to.

    Raises
    ------
    OSError
        If no disk has room, nor memory.
    """
    if _Chosen.folder is None or fault(_Chosen.folder, KERNEL) is not None:
        _Chosen.folder = _choose()
    return _Chosen.folder


def _choose() -> Path:
    """Return the first folder with room for the header too, or else for kernels."""
    first: OSError | None = None
    small: list[Path] = []
    for folder in _folders():
        has_header = any(folder.glob("precompiled_headers/*.gch"))
        error = fault(folder, KERNEL if has_header else HEADER)
        if error is None:
            return _found(folder, first)
        first = first or error
        if fault(folder, KERNEL) is None:
            small.append(folder)
    if small:
        return _found(small[0], first)
    raise first or OSError(errno.ENOENT, "There is no folder for the compiler's files")


def _found(folder: Path, error: OSError | None) -> Path:
    if error is not None:
        elsewhere = error.filename != str(folder)
        then = (
            f"kernels are compiled in {folder}" if elsewhere else "kernels take longer to compile"
        )
        warn_compiler(error, then)
    sweep(str(folder))
    return folder


def _folders() -> Iterator[Path]:
    """Yield where the compiler's files may be; those of this process are made on the way."""
    kept = default_cache().scratch_dir("inductor")
    if kept is not None and os.access(kept, os.W_OK):
        yield kept
    temporary = _temporary()
    if temporary or "TORCHINDUCTOR_CACHE_DIR" in os.environ:  # Else it's in the current folder.
        with contextlib.suppress(CacheError, OSError):
            torchs = secure.resolve_folder(headers.default_folder(), create=True)
            folder = secure.close_folder(os.path.join(torchs, "npaccel"))
            if os.access(folder, os.W_OK):
                yield Path(folder)
    for parent in dict.fromkeys((*temporary, "/dev/shm", "/var/tmp")):  # noqa: S108
        with contextlib.suppress(CacheError, OSError):
            if fault(Path(parent), KERNEL) is None:
                yield _own_folder(parent)


def _temporary() -> list[str]:
    """Return the folder for temporary files, unless Python found none but the current one."""
    with contextlib.suppress(FileNotFoundError):
        found = tempfile.gettempdir()
        return [] if found == os.getcwd() and "TMPDIR" not in os.environ else [found]
    return []


def _own_folder(parent: str) -> Path:
    """Make a folder for this process, and remove those of killed ones."""
    for name in os.listdir(parent):
        found = _OWN.fullmatch(name)
        if found is not None and _is_left(os.path.join(parent, name), int(found[1])):
            secure.remove_tree(os.path.join(parent, name))
    path = os.path.join(os.path.abspath(parent), f"npaccel-{secure.unique_name()}")
    folder = secure.resolve_folder(path, create=True)
    fork.at_exit(secure.remove_tree, folder)
    return Path(folder)


def _is_left(path: str, pid: int) -> bool:
    """Whether a folder is this user's, old, and of a process that has ended."""
    try:
        info = os.lstat(path)
        if not secure.owned(info) or abs(time.time() - info.st_mtime) < _STALE_SECONDS:
            return False
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@functools.cache
def begin_header() -> None:
    """Start the C++ compiler on what kernels on a CPU need, while Python goes on.

    That is the header on few machines; on the others it's made for the first kernel that needs it.
    """
    begin = headers.begin if headers.is_needed() else headers.ask_early
    with contextlib.suppress(OSError):  # raised where something is compiled
        begin(scratch_folder())
