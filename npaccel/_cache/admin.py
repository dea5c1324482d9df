"""Work on the cache by hand: look, empty, check."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from npaccel._cache import secure_files as secure
from npaccel._cache.cache_warnings import describe
from npaccel._cache.entry import Entry
from npaccel._cache.layout import (
    SCRATCH,
    TRASH,
    base_folder,
    discard,
    iter_entries,
    sweep,
    usage,
)
from npaccel._cache.sealed_files import SUFFIX, damaged
from npaccel.errors import CacheError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CacheInfo", "Problem", "clear", "info", "verify"]


class CacheInfo(NamedTuple):
    """Contents of a cache.

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


def info(root: str, *, enabled: bool, max_bytes: int) -> CacheInfo:
    """Count what is stored in a cache folder.

    Parameters
    ----------
    root : str
    enabled, max_bytes
        As `CacheInfo` has them.
    """
    problem, entries, scratch = None, [], 0
    try:
        with contextlib.suppress(FileNotFoundError):
            scratch = _tree_bytes(_scratch(root))
        base = base_folder(root, create=False)
        entries = [(group, usage(folder)[1]) for group, _, folder in iter_entries(base)]
    except FileNotFoundError:  # nothing was stored yet
        pass
    except (CacheError, OSError) as error:
        problem = describe(error)
    return CacheInfo(
        path=root,
        enabled=enabled,
        problem=problem,
        groups=len({group for group, _ in entries}),
        entries=len(entries),
        bytes=sum(size for _, size in entries),
        max_bytes=max_bytes,
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


def _scratch(root: str) -> str:
    """Return the checked folder of the compiler's own files; ``FileNotFoundError`` if none."""
    folder = os.path.join(secure.resolve_folder(root, create=False), SCRATCH)
    secure.check_folder(folder)
    return folder


def clear(root: str, *, scratch: bool) -> int:
    """Remove all entries and, if asked, the compiler's own files; return how many entries."""
    count = 0
    with contextlib.suppress(FileNotFoundError):  # nothing was stored yet
        base = base_folder(root, create=False)
        sweep(base)
        count = sum(1 for _ in iter_entries(base))
        for name in os.listdir(base):
            if name != TRASH:  # where other processes are writing
                discard(base, os.path.join(base, name))
    if scratch:
        with contextlib.suppress(FileNotFoundError):
            discard(base_folder(root, create=True), _scratch(root))
    return count


def verify(root: str) -> list[Problem]:
    """Hash everything that is stored or built upon; remove what is damaged and list it."""
    problems: list[Problem] = []
    for check in (_damaged_entries, _damaged_files):
        try:
            problems += check(root)
        except FileNotFoundError:
            continue
        except (CacheError, OSError) as error:
            return [*problems, Problem(root, describe(error), removed=False)]
    return problems


def _damaged_entries(root: str) -> Iterator[Problem]:
    base = base_folder(root, create=False)
    sweep(base)
    for group, key, path in iter_entries(base):
        cause = _damage(path, group, key)
        if cause is not None:
            yield Problem(path, cause, discard(base, path))


def _damaged_files(root: str) -> Iterator[Problem]:
    """The compiler's own files, which are built again when they are needed."""
    for path, cause in damaged(_scratch(root)):
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
