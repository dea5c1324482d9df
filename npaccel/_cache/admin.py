"""What a user does with the cache by hand: look, empty, check."""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

from npaccel._cache import secure_files as secure
from npaccel._cache.cache_warnings import describe
from npaccel._cache.entry import Entry
from npaccel._cache.layout import SCRATCH, TRASH, discard, iter_entries, sweep, usage
from npaccel._cache.sealed_files import SUFFIX, damaged
from npaccel.errors import CacheError

TYPE_CHECKING = False  # npaccel._cache.store imports this module
if TYPE_CHECKING:
    from collections.abc import Iterator

    from npaccel._cache.store import DiskCache

__all__ = ["CacheInfo", "Problem", "clear", "info", "verify"]


class CacheInfo(NamedTuple):
    """What a cache holds.

    Attributes
    ----------
    path : str
        The folder.
    enabled : bool
        Whether ``NPACCEL_CACHE`` allows its use.
    problem : str or None
        Why the folder isn't used; None if it's used or doesn't exist yet.
    groups, entries : int
        How many functions and variants are stored.
    bytes : int
        Their size, with indices.
    max_bytes : int
        The size limit.
    scratch_bytes : int
        The size of the compiler's own files, which the limit doesn't count.
    """

    path: str
    enabled: bool
    problem: str | None
    groups: int
    entries: int
    bytes: int
    max_bytes: int
    scratch_bytes: int


class Problem(NamedTuple):
    """Something in the cache that can't be used: where, why, and whether it was removed."""

    path: str
    cause: str
    removed: bool


def info(cache: DiskCache) -> CacheInfo:
    """Count what is stored."""
    path, problem, entries, scratch = "", None, [], 0
    try:
        path = os.fspath(cache.root)
        with contextlib.suppress(FileNotFoundError):
            scratch = _tree_bytes(_scratch(cache))
        base = cache.base(create=False)
        entries = [(group, usage(folder)[1]) for group, _, folder in iter_entries(base)]
    except FileNotFoundError:  # nothing was stored yet
        pass
    except (CacheError, OSError) as error:
        problem = describe(error)
    return CacheInfo(
        path=path,
        enabled=cache.enabled,
        problem=problem,
        groups=len({group for group, _ in entries}),
        entries=len(entries),
        bytes=sum(size for _, size in entries),
        max_bytes=cache.max_bytes,
        scratch_bytes=scratch,
    )


def _tree_bytes(folder: str) -> int:
    """Return the size of all files below a folder."""
    total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(here, name)).st_size
            except FileNotFoundError:  # a compiler's temporary file
                continue
    return total


def _scratch(cache: DiskCache) -> str:
    """Return the checked folder of the compiler's own files; ``FileNotFoundError`` if none."""
    root = secure.resolve_folder(os.fspath(cache.root), create=False)
    folder = os.path.join(root, SCRATCH)
    secure.check_folder(folder)
    return folder


def clear(cache: DiskCache, *, scratch: bool) -> int:
    """Remove all entries and, if asked, the compiler's own files; return how many entries."""
    count = 0
    with contextlib.suppress(FileNotFoundError):  # nothing was stored yet
        base = cache.base(create=False)
        sweep(base)
        count = sum(1 for _ in iter_entries(base))
        for name in os.listdir(base):
            if name != TRASH:  # where other processes are writing
                discard(base, os.path.join(base, name))
    if scratch:
        with contextlib.suppress(FileNotFoundError):
            discard(cache.base(create=True), _scratch(cache))
    return count


def verify(cache: DiskCache) -> list[Problem]:
    """Hash everything that is stored or built upon; remove what is damaged and list it."""
    problems: list[Problem] = []
    for check in (_damaged_entries, _damaged_files):
        try:
            problems += check(cache)
        except FileNotFoundError:
            continue
        except (CacheError, OSError) as error:
            return [*problems, Problem(os.fspath(cache.root), describe(error), removed=False)]
    return problems


def _damaged_entries(cache: DiskCache) -> Iterator[Problem]:
    base = cache.base(create=False)
    sweep(base)
    for group, key, path in iter_entries(base):
        cause = _damage(path, group, key)
        if cause is not None:
            yield Problem(path, cause, discard(base, path))


def _damaged_files(cache: DiskCache) -> Iterator[Problem]:
    """The compiler's own files, which are built again when they are needed."""
    for path, cause in damaged(_scratch(cache)):
        secure.remove_tree(path + SUFFIX)
        yield Problem(path, cause, secure.remove_tree(path))


def _damage(path: str, group: str, key: str) -> str | None:
    """Say what is wrong with an entry, or None."""
    try:
        Entry(path, group, key).check()
    except FileNotFoundError as error:
        name = os.path.basename(error.filename)
        return f"{name} is missing" if os.path.lexists(path) else None
    except (CacheError, OSError) as error:
        return str(error)
    return None
