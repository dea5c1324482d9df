"""Files that a compiler built and later processes use: a sum beside each vouches for it.

A disk that fails, a power cut or a hand may change them, and code would compute something else. So
each file appears at one stroke, after its sum, and counts as there only while both agree; else it's
built again. Nothing has to be written through to the disk for that.
"""

from __future__ import annotations

import contextlib
import os
import stat

from npaccel._cache import secure_files as secure
from npaccel._cache.layout import TRASH
from npaccel.errors import CacheError

TYPE_CHECKING = False  # npaccel._cache.admin imports this module
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SUFFIX", "damaged", "is_whole", "sealed_file", "temporary_folder"]

SUFFIX = ".sum"
#: Native code, which has a sum or isn't used.
_NATIVE = (".so", ".gch", ".pch", ".o")
_MAX_SUM = 100
#: Files as they were when they were last hashed: their place, size and time.
_hashed: dict[str, tuple[int, ...]] = {}


def is_whole(path: str) -> bool:
    """Whether a file is there, as it was made, and nobody else can write to it.

    It's hashed once in a process, and again when it was touched.
    """
    try:
        info = os.lstat(path)
        state = (info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns)
        if _hashed.get(path) != state:
            _check(path)
            _hashed[path] = state
    except (CacheError, OSError):  # what can't be read has to be built again as well
        return False
    return True


def _check(path: str) -> None:
    """Raise `CacheError` if a file isn't what its sum says, ``OSError`` if one can't be read."""
    try:
        size, digest = secure.read_file(path + SUFFIX, _MAX_SUM).decode("ascii").split()
        expected = int(size)
    except ValueError as error:
        raise CacheError(f"{os.path.basename(path)}{SUFFIX} is damaged") from error
    if secure.hash_file(path, expected) != digest:
        raise CacheError(f"{os.path.basename(path)} differs from what was built")


@contextlib.contextmanager
def sealed_file(target: str, scratch: str) -> Iterator[str]:
    """Have a file appear whole, and with its sum, or not at all.

    Parameters
    ----------
    target : str
        The file.
    scratch : str
        The folder for the compiler's files, which it's in.

    Yields
    ------
    str
        Where to write it.
    """
    with temporary_folder(scratch) as folder:
        draft = os.path.join(folder, os.path.basename(target))
        yield draft
        size = os.lstat(draft).st_size
        os.chmod(draft, stat.S_IMODE(os.lstat(draft).st_mode) & ~0o022)
        text = f"{size} {secure.hash_file(draft, size)}\n"
        secure.write_file(draft + SUFFIX, text.encode("ascii"), through=False)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(draft + SUFFIX, target + SUFFIX)
        os.replace(draft, target)


@contextlib.contextmanager
def temporary_folder(scratch: str) -> Iterator[str]:
    """Make a folder for as long as a block runs; `layout.sweep` removes one left behind."""
    folder = os.path.join(scratch, TRASH, secure.unique_name())
    os.makedirs(folder, 0o700)
    try:
        yield folder
    finally:
        secure.remove_tree(folder)


def damaged(scratch: str) -> Iterator[tuple[str, str]]:
    """Hash all that is sealed below a folder; yield path and fault of what can't be used."""
    for here, folders, names in os.walk(scratch):
        if TRASH in folders:  # what is being made
            folders.remove(TRASH)
        known = set(names)
        for name in sorted(names):
            if name + SUFFIX not in known and not name.endswith(_NATIVE):
                continue
            path = os.path.join(here, name)
            try:
                _check(path)
            except FileNotFoundError as error:
                if os.path.lexists(path):
                    yield path, f"{os.path.basename(error.filename)} is missing"
            except (CacheError, OSError) as error:
                yield path, str(error)
