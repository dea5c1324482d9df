"""The store of compiled artifacts on disk.

One folder per user, safe against other users (`secure_files`), shared by all processes of the
user; `layout` says what lies where. A *group* is one function; its entries are the function's
variants, told apart by their metadata. An entry appears by one rename and disappears by one rename,
so nobody ever sees half of one. What goes wrong with the disk means a warning and no cache, never
an error.
"""

from __future__ import annotations

import errno
import os

from npaccel._cache import secure_files as secure
from npaccel._cache.cache_warnings import log, warn_failure, warn_once
from npaccel._cache.entry import Entry, encode_metadata, open_entry, write_index
from npaccel._cache.layout import (
    SCRATCH,
    TRASH,
    base_folder,
    cache_key,
    check_key,
    check_name,
    discard,
    is_key,
    iter_entries,
    sweep,
    usage,
)
from npaccel._process import environment
from npaccel.errors import CacheError

TYPE_CHECKING = False  # typing, pathlib, json and hashlib cost more to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any, TypeVar

    from npaccel._cache.admin import CacheInfo, Problem

    T = TypeVar("T")

__all__ = ["DiskCache", "Entry", "cache_key", "default_cache", "scratch_dir"]

DEFAULT_MAX_BYTES = 2 << 30
_ATTEMPTS = 8
# What os.rename raises when an entry of the name is there (Windows: EACCES).
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
if os.name == "nt":
    _TAKEN.add(errno.EACCES)
_VARIABLES = ("NPACCEL_CACHE", "NPACCEL_CACHE_DIR", "NPACCEL_CACHE_MAX_BYTES")


class DiskCache:
    """Compiled artifacts on disk.

    Any number of processes and threads may use one folder at once; objects of this class hold no
    lock and may be used in a forked child.

    Parameters
    ----------
    root : path-like, optional
        The folder; by default ``NPACCEL_CACHE_DIR`` or else the user's cache folder. It is made
        (mode 0700) when something is first stored.
    max_bytes : int, optional
        Size above which the least recently used entries are removed, until 90% is left; by default
        ``NPACCEL_CACHE_MAX_BYTES`` or else 2 GiB.

    Attributes
    ----------
    enabled : bool
        False if ``NPACCEL_CACHE`` is 0: then nothing is stored and nothing found.
    max_bytes : int
        The size limit.
    """

    def __init__(
        self, root: str | os.PathLike[str] | None = None, max_bytes: int | None = None
    ) -> None:
        self._root = None if root is None else os.path.abspath(root)
        self.max_bytes = _max_bytes() if max_bytes is None else max_bytes
        self.enabled = not environment.is_off("NPACCEL_CACHE")
        self._known_bytes = self.max_bytes + 1  # at the last scan; too much, so that there is one
        self._added_bytes = 0  # by us, since then

    def __repr__(self) -> str:
        return f"DiskCache({self._root!r}, max_bytes={self.max_bytes})"

    @property
    def root(self) -> Path:
        """The folder, whether it exists or not; `CacheError` if the user has no home folder."""
        from pathlib import Path

        if self._root is None:
            self._root = _default_root()
        return Path(self._root)

    def store(
        self,
        key: str,
        files: Mapping[str, bytes | os.PathLike[str]],
        metadata: Mapping[str, Any] | None = None,
        *,
        group: str | None = None,
    ) -> Entry | None:
        """Keep an artifact.

        Parameters
        ----------
        key : str
            From `cache_key`.
        files : mapping of str to bytes or path-like
            The payload: contents, or files to copy.
        metadata : mapping, optional
            What JSON can hold (tuples come back as lists, keys as strings).
        group : str, optional
            From `cache_key`: the function that this is a variant of; by default `key`.

        Returns
        -------
        Entry or None
            The entry, verified: this one or, if another process was faster, the other's. None,
            after a warning, if it can't be kept.

        Raises
        ------
        ValueError
            If a key or a file name isn't well formed.
        TypeError
            If JSON can't hold the metadata.
        """
        group = check_key(key if group is None else group)
        check_key(key)
        names = {check_name(name): source for name, source in files.items()}
        text = encode_metadata(metadata or {})
        entry = self._attempt(lambda: self._store(group, key, names, text))
        log("%s: %s", "stored" if entry else "not stored", (entry and entry.folder) or key)
        return entry

    def load(self, key: str, *, group: str | None = None) -> Entry | None:
        """Find an artifact and verify all of it.

        Returns
        -------
        Entry or None
            None if there is none; a damaged one is removed with a `CacheWarning`.
        """
        group = check_key(key if group is None else group)
        check_key(key)
        entry = self._attempt(lambda: self._find(group, key))
        found = entry if entry is not None and entry.verify() else None
        log("%s: %s", "hit" if found else "miss", key)
        return found

    def remove(self, key: str, *, group: str) -> None:
        """Remove an artifact, if it's there."""
        check_key(group)
        check_key(key)

        def remove() -> None:
            try:
                folder = self._group_folder(group, create=False)
            except FileNotFoundError:
                return
            base = base_folder(os.fspath(self.root), create=False)
            discard(base, os.path.join(folder, key))

        self._attempt(remove)

    def load_group(self, group: str) -> list[Entry]:
        """Find all variants of a function, newest first.

        Index and metadata of each are checked, the payload is not: `Entry.verify`, `Entry.path` and
        `Entry.read` do that for the one that is used.
        """
        check_key(group)
        entries = self._attempt(lambda: self._find_group(group)) or []
        log("%d entries of %s", len(entries), group)
        return entries

    def scratch_dir(self, name: str) -> Path | None:
        """Return a folder (mode 0700) for the compiler's own files; None if there can't be one.

        Raises
        ------
        ValueError
            If `name` isn't a plain file name.
        """
        from pathlib import Path

        check_name(name)
        path = self._attempt(lambda: self._make_scratch(name))
        return None if path is None else Path(path)

    def info(self) -> CacheInfo:
        """Count what is stored."""
        from npaccel._cache import admin

        try:
            root = os.fspath(self.root)
        except CacheError as error:
            return admin.CacheInfo("", self.enabled, str(error), 0, 0, 0, self.max_bytes, 0)
        return admin.info(root, enabled=self.enabled, max_bytes=self.max_bytes)

    def clear(self, *, scratch: bool = False) -> int:
        """Remove all entries, and with `scratch` the compiler's own files; count the entries."""
        from npaccel._cache import admin

        def remove() -> int:
            return admin.clear(os.fspath(self.root), scratch=scratch)

        return self._attempt(remove, always=True) or 0

    def verify(self) -> list[Problem]:
        """Hash everything that is stored and remove what is damaged; list that."""
        from npaccel._cache import admin

        return admin.verify(os.fspath(self.root))

    def _attempt(self, action: Callable[[], T], *, always: bool = False) -> T | None:
        """Run an action; None with one warning per cause if the folder or the disk fail."""
        if not (self.enabled or always):
            return None
        try:
            return action()
        except (CacheError, OSError) as error:
            warn_failure(error)
            return None

    def _find(self, group: str, key: str) -> Entry | None:
        try:
            folder = self._group_folder(group, create=False)
        except FileNotFoundError:
            return None
        return open_entry(os.path.join(folder, key), group, key)

    def _find_group(self, group: str) -> list[Entry]:
        try:
            folder = self._group_folder(group, create=False)
            keys = sorted(filter(is_key, os.listdir(folder)))
        except FileNotFoundError:
            return []
        entries = [open_entry(os.path.join(folder, key), group, key) for key in keys]
        found = [entry for entry in entries if entry is not None]
        return sorted(found, key=lambda entry: entry.created, reverse=True)

    def _group_folder(self, group: str, *, create: bool) -> str:
        """Return the checked folder of a group."""
        base = base_folder(os.fspath(self.root), create=create)
        prefix = os.path.join(base, group[:2])
        folder = os.path.join(prefix, group)
        for level in (prefix, folder):
            if create:
                secure.make_folder(level)
            else:
                secure.check_folder(level)
        return folder

    def _store(
        self, group: str, key: str, files: Mapping[str, bytes | os.PathLike[str]], metadata: str
    ) -> Entry | None:
        size = sum(_size(source) for source in files.values())
        if size > self.max_bytes:
            text = f"an artifact of {size} bytes is larger than the whole cache may be"
            warn_once("size", f"{text} ({self.max_bytes}); raise NPACCEL_CACHE_MAX_BYTES")
            return None
        base = base_folder(os.fspath(self.root), create=True)
        trash = secure.make_folder(os.path.join(base, TRASH))
        sweep(base)
        draft = os.path.join(trash, secure.unique_name())
        try:
            os.mkdir(draft, 0o700)
            sums = {
                name: secure.write_file(os.path.join(draft, name), source)
                for name, source in files.items()
            }
            write_index(draft, group, key, sums, metadata)
            secure.sync_folder(draft)
            entry = self._publish(draft, group, key)
        finally:
            secure.remove_tree(draft)
        if entry is not None:
            self._make_room(base, entry)
        return entry

    def _publish(self, draft: str, group: str, key: str) -> Entry | None:
        """Give a finished draft its name, unless a good entry has it; return the one that has."""
        for _ in range(_ATTEMPTS):
            try:
                folder = os.path.join(self._group_folder(group, create=True), key)
                os.rename(draft, folder)
            except FileNotFoundError:  # another process is removing the group
                if not os.path.lexists(draft):
                    raise
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                theirs = self._find(group, key)
                if theirs is not None and theirs.verify():
                    return theirs
                if os.path.lexists(folder):  # it can't be removed, and the user was told
                    return None
            else:
                return self._find(group, key)
        return None

    def _make_room(self, base: str, entry: Entry) -> None:
        """Remove the least recently used entries if the cache is too large.

        The total is counted again when our own additions could have made it too large, and now and
        then for those of other processes.
        """
        self._added_bytes += entry.nbytes
        fits = self._known_bytes + self._added_bytes <= self.max_bytes
        if fits and self._added_bytes < self.max_bytes // 16:
            return
        used = sorted((*usage(path), path) for _, _, path in iter_entries(base))
        total = sum(size for _, size, _ in used)
        if total > self.max_bytes:
            goal = self.max_bytes * 9 // 10
            for _, size, path in used:
                if total <= goal:
                    break
                if path != entry.folder and discard(base, path):
                    total -= size
        self._known_bytes, self._added_bytes = total, 0

    def _make_scratch(self, name: str) -> str:
        root = secure.resolve_folder(os.fspath(self.root), create=True)
        folder = secure.make_folder(os.path.join(root, SCRATCH))
        return secure.close_folder(os.path.join(folder, name))


def _size(source: bytes | os.PathLike[str]) -> int:
    return len(source) if isinstance(source, bytes) else os.stat(source).st_size


def _default_root() -> str:
    """Return the folder that the environment names, or else the user's cache folder."""
    if named := os.environ.get("NPACCEL_CACHE_DIR"):
        return os.path.abspath(os.path.expanduser(named))
    import platformdirs

    folder = platformdirs.user_cache_dir("npaccel", appauthor=False)
    if not os.path.isabs(folder):
        raise CacheError("this user has no home folder for a cache; set NPACCEL_CACHE_DIR")
    return folder


def _max_bytes() -> int:
    """Return the size limit that the environment names, or else 2 GiB."""
    text = os.environ.get("NPACCEL_CACHE_MAX_BYTES", "").strip()
    if text.isdecimal() and int(text) > 0:
        return int(text)
    if text:
        what = f"NPACCEL_CACHE_MAX_BYTES={text!r} is not a positive number of bytes"
        warn_once(what, f"{what}; {DEFAULT_MAX_BYTES} is used")
    return DEFAULT_MAX_BYTES


_caches: dict[tuple[str | None, ...], DiskCache] = {}


def default_cache() -> DiskCache:
    """Return the cache that the environment variables describe, one object per setting."""
    settings = tuple(os.environ.get(name) for name in _VARIABLES)
    cache = _caches.get(settings)
    if cache is None:  # setdefault is atomic: no lock that a forked child could inherit locked
        cache = _caches.setdefault(settings, DiskCache())
    return cache


def scratch_dir(name: str) -> Path | None:
    """Return `DiskCache.scratch_dir` of the default cache."""
    return default_cache().scratch_dir(name)
