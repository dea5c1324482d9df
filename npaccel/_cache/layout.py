"""Places of things in the cache folder, and their removal.

::

    <root>/v1/<group[:2]>/<group>/<key>/index.json, payload files    one entry
    <root>/v1/tmp/                                   what is being written or removed
    <root>/scratch/<name>/                           the compiler's own files

An entry folder's modification time says when the entry was last used.
"""

from __future__ import annotations

import os
import time

from npaccel._cache import secure_files as secure
from npaccel.errors import CacheError

TYPE_CHECKING = False  # typing, pathlib, json and hashlib cost more to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "INDEX",
    "SCRATCH",
    "TRASH",
    "VERSION",
    "base_folder",
    "cache_key",
    "check_key",
    "check_name",
    "discard",
    "is_key",
    "iter_entries",
    "sweep",
    "usage",
]

VERSION = "v1"
TRASH = "tmp"
SCRATCH = "scratch"
INDEX = "index.json"
_DIGITS = frozenset("0123456789abcdef")
_STALE_SECONDS = 3600


def base_folder(root: str, *, create: bool) -> str:
    """Return the checked folder that the entries are in.

    Raises
    ------
    CacheError
        If another user could change what is in it.
    FileNotFoundError
        If it doesn't exist and `create` is false.
    OSError
        If it can't be made.
    """
    base = os.path.join(secure.resolve_folder(root, create=create), VERSION)
    if create:
        return secure.make_folder(base)
    secure.check_folder(base)
    return base


def cache_key(*parts: str | bytes) -> str:
    """Return the SHA-256, in hex, of some strings.

    Parameters
    ----------
    *parts : str or bytes
        What the artifact depends on. Kind and length are hashed with each part, so that
        ``("ab", "c")``, ``("a", "bc")`` and ``(b"ab", "c")`` have different keys.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    TypeError
        If a part is neither ``str`` nor ``bytes``.
    """
    import hashlib

    digest = hashlib.sha256()
    for part in parts:
        if not isinstance(part, str | bytes):
            raise TypeError(f"cache_key: a part must be str or bytes, not {type(part).__name__}")
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"s" if isinstance(part, str) else b"b")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def is_key(name: str) -> bool:
    """Whether a name can be a group's or an entry's."""
    return len(name) == 64 and set(name) <= _DIGITS


def check_key(key: str) -> str:
    """Return `key`; raise ``ValueError`` if it can't be from `cache_key`."""
    if not is_key(key):
        raise ValueError(f"a key is 64 hexadecimal digits, as cache_key returns; got {key!r}")
    return key


def check_name(name: str) -> str:
    """Return `name`; raise ``ValueError`` if it isn't a plain file name."""
    plain = name.isascii() and all(c.isalnum() or c in "._+-" for c in name)
    if not name or not plain or name.startswith(".") or name == INDEX:
        raise ValueError(
            f"a file name in the cache is made of letters, digits and . _ + -, doesn't begin "
            f"with a dot and isn't {INDEX}; got {name!r}"
        )
    return name


def iter_entries(base: str) -> Iterator[tuple[str, str, str]]:
    """Yield group, key and path of everything that is in an entry's place."""
    for prefix in _names(base):
        if len(prefix) == 2 and set(prefix) <= _DIGITS:
            for group in filter(is_key, _names(os.path.join(base, prefix))):
                folder = os.path.join(base, prefix, group)
                for key in filter(is_key, _names(folder)):
                    yield group, key, os.path.join(folder, key)


def _names(folder: str) -> list[str]:
    """Return what is in a folder; nothing if it's a link, no folder or just removed."""
    try:
        return [] if os.path.islink(folder) else sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def usage(path: str) -> tuple[int, int]:
    """Return when an entry was last used (nanoseconds) and how many bytes it takes."""
    try:
        stamp = os.lstat(path).st_mtime_ns
        with os.scandir(path) as files:
            return stamp, sum(file.stat(follow_symlinks=False).st_size for file in files)
    except OSError:  # another process is removing it
        return 0, 0


def sweep(base: str) -> None:
    """Remove what killed processes left behind: drafts older than an hour.

    One that is dated in the future, by a clock that was wrong, is as old as it's first seen here.
    """
    trash = os.path.join(base, TRASH)
    now = time.time()
    for name in _names(trash):
        path = os.path.join(trash, name)
        try:
            age = now - os.lstat(path).st_mtime
            if age < -_STALE_SECONDS:
                os.utime(path, follow_symlinks=False)
        except OSError:  # another process was faster, or it's another user's
            continue
        if age > _STALE_SECONDS:
            secure.remove_tree(path)


def discard(base: str, path: str) -> bool:
    """Remove a file or folder of the cache at one stroke; return whether it's gone.

    A folder is first renamed out of sight, so that nobody sees half of it, not even when this
    process is killed. What belongs to another user is left alone.
    """
    trash = os.path.join(base, TRASH, secure.unique_name())
    try:
        if not secure.owned(os.lstat(path)):
            return False
        secure.make_folder(os.path.dirname(trash))
        os.rename(path, trash)
    except FileNotFoundError:
        return not os.path.lexists(path)
    except (CacheError, OSError):  # a read-only folder, or a file in use on Windows
        return secure.remove_tree(path)
    secure.remove_tree(trash)
    return True
