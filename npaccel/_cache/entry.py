"""One entry of the cache: a folder of payload files and the index that vouches for them.

``index.json`` holds the SHA-256 of its own body first, then the body: the entry's names, the size
and SHA-256 of each payload file, and the caller's metadata. The metadata can be read and trusted
without reading the payload; the payload is hashed when it is about to be loaded.
"""

from __future__ import annotations

import os
import time

from npaccel._cache import secure_files as secure
from npaccel._cache.cache_warnings import warn, warn_failure
from npaccel._cache.layout import INDEX, cache_key, check_name, discard
from npaccel.errors import CacheError

TYPE_CHECKING = False  # typing, pathlib, json and hashlib cost more to import than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

__all__ = ["Entry", "bound", "encode_metadata", "open_entry", "write_index"]

_SCHEMA = 1
_BOND = "bond"
_ATTEMPTS = 8
_MAX_INDEX = 64 << 20
_HEAD, _MIDDLE, _TAIL = b'{"sha256":"', b'","index":', b"}\n"
_BODY = len(_HEAD) + 64 + len(_MIDDLE)


def encode_metadata(metadata: Mapping[str, Any]) -> str:
    """Return the JSON text of a metadata mapping; ``TypeError`` if JSON can't hold it."""
    import json

    return json.dumps(dict(metadata), separators=(",", ":"))


def bound(metadata: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """Return metadata that says for which data it was written.

    It describes code: with other code, or without one of its fields, a call would go wrong.
    """
    import hashlib

    return {**metadata, _BOND: _bond(metadata, hashlib.sha256(data).hexdigest())}


def _bond(metadata: Mapping[str, Any], digest: str) -> str:
    import json

    return cache_key(json.dumps(metadata, sort_keys=True), digest)


class Entry:
    """A stored artifact.

    Its index has been checked; its payload is checked by `verify`, `path` and `read`.

    Parameters
    ----------
    folder : str
        The entry's folder.
    group, key : str
        The names it must have.

    Raises
    ------
    CacheError
        If the folder or its index can't be trusted.
    FileNotFoundError
        If there is no folder or no index.
    """

    __slots__ = (
        "_digest",
        "_files",
        "_verified",
        "created",
        "folder",
        "group",
        "key",
        "metadata",
    )

    folder: str
    group: str
    key: str
    created: float
    metadata: dict[str, Any]

    def __init__(self, folder: str, group: str, key: str) -> None:
        secure.check_folder(folder)
        self._digest, body = _read_index(folder)
        self._verified = False
        self.folder, self.group, self.key = folder, group, key
        try:
            self._take(body)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise CacheError(f"{INDEX} is not one that this version of npaccel wrote") from error

    def _take(self, body: dict[str, Any]) -> None:
        """Read the fields of an index; raise what comes if it has other fields."""
        if body["schema"] != _SCHEMA:
            raise ValueError
        if (body["group"], body["key"]) != (self.group, self.key):
            raise CacheError(f"{INDEX} is of another entry")
        self.created = float(body["created"])
        self.metadata = dict(body["metadata"])
        self._files = {
            check_name(name): (int(size), str(digest))
            for name, (size, digest) in body["files"].items()
        }

    def __repr__(self) -> str:
        return f"<Entry {self.key[:12]} of {self.group[:12]}, {self.nbytes} bytes>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the payload files."""
        return tuple(self._files)

    @property
    def nbytes(self) -> int:
        """The size of the payload in bytes."""
        return sum(size for size, _ in self._files.values())

    def binds(self, name: str) -> bool:
        """Whether the metadata is as `bound` made it for what a file holds."""
        if name not in self._files:
            return False
        rest = {field: value for field, value in self.metadata.items() if field != _BOND}
        return self.metadata.get(_BOND) == _bond(rest, self._files[name][1])

    def check(self) -> None:
        """Hash every payload file.

        Raises
        ------
        CacheError
            If one differs from what was stored or can't be trusted.
        FileNotFoundError
            If one is missing.
        """
        secure.check_folder(self.folder)
        for name, (size, digest) in self._files.items():
            if secure.hash_file(os.path.join(self.folder, name), size) != digest:
                raise CacheError(f"{name} differs from what was stored")
        self._verified = True

    def verify(self) -> bool:
        """Whether the payload is what was stored; if so, note the use, if not, drop the entry.

        The files are hashed once; later calls answer from memory. False without a warning means
        that another process removed or replaced the entry.
        """
        if self._verified:
            return True
        try:
            self.check()
        except FileNotFoundError as error:
            self.drop(f"{os.path.basename(error.filename)} is missing")
        except CacheError as error:
            self.drop(str(error))
        except OSError as error:  # too many open files, a failing disk: not the entry's fault
            warn_failure(error)
        else:
            self._touch()
        return self._verified

    def drop(self, cause: str) -> None:
        """Drop the entry with a warning, unless another process removed or replaced it."""
        try:
            replaced = _read_index(self.folder)[0] != self._digest
        except FileNotFoundError:
            replaced = True
        except (CacheError, OSError):
            replaced = False
        if not replaced:
            _drop(self.folder, cause)

    def _touch(self) -> None:
        """Make this the most recently used entry."""
        try:
            os.utime(self.folder)
        except OSError:  # read-only or removed: the order of eviction is a hint, not a promise
            return

    def path(self, name: str) -> Path:
        """Return the path of a payload file, verified.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        pathlib.Path
            The file. Another process may evict it at any time, so open or load it at once and
            treat a missing file as a missing entry; what is open or mapped stays good.

        Raises
        ------
        CacheError
            If the payload is damaged or gone.
        KeyError
            If the entry has no such file.
        """
        from pathlib import Path

        if name not in self._files:
            raise KeyError(name)
        if not self.verify():
            raise CacheError(f"cache entry {self.folder} is damaged or gone; build it again")
        return Path(self.folder, name)

    def read(self, name: str) -> bytes:
        """Return the bytes of a payload file; the very bytes returned are verified.

        Raises
        ------
        CacheError
            If the payload is damaged or gone.
        KeyError
            If the entry has no such file.
        """
        import hashlib

        size, digest = self._files[name]
        try:
            data = secure.read_file(str(self.path(name)), size)
        except OSError as error:
            raise CacheError(f"cache entry {self.folder} is gone; build it again") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise CacheError(f"cache entry {self.folder}: {name} has changed; build it again")
        return data


def _drop(folder: str, cause: str) -> None:
    """Remove an entry that can't be trusted and say why."""
    base = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    gone = discard(base, folder)
    then = "it will be built again" if gone else "it could not be removed: remove it by hand"
    warn(f"cache entry {folder} was dropped: {cause}; {then}")


def open_entry(folder: str, group: str, key: str) -> Entry | None:
    """Read an entry; None if there is none; a damaged one is dropped with a warning."""
    for _ in range(_ATTEMPTS):
        try:
            return Entry(folder, group, key)
        except FileNotFoundError:  # a miss, or an entry that is just being replaced, or half of one
            if not os.path.lexists(folder):
                return None
        except CacheError as error:
            _drop(folder, str(error))
            return None
    _drop(folder, "its index is missing")
    return None


def write_index(
    folder: str, group: str, key: str, files: Mapping[str, tuple[int, str]], metadata: str
) -> None:
    """Write the index of a new entry; `metadata` is JSON text, `files` sizes and SHA-256."""
    import hashlib
    import json

    body = {"schema": _SCHEMA, "group": group, "key": key, "created": time.time(), "files": files}
    text = json.dumps(body, separators=(",", ":"))[:-1] + f',"metadata":{metadata}}}'
    data = text.encode("ascii")
    digest = hashlib.sha256(data).hexdigest().encode("ascii")
    secure.write_file(os.path.join(folder, INDEX), _HEAD + digest + _MIDDLE + data + _TAIL)


def _read_index(folder: str) -> tuple[str, dict[str, Any]]:
    """Return the digest and the body of a folder's index; `CacheError` if they don't agree."""
    import hashlib
    import json

    data = secure.read_file(os.path.join(folder, INDEX), _MAX_INDEX)
    digest, body = data[len(_HEAD) : len(_HEAD) + 64], data[_BODY : -len(_TAIL)]
    frame = _HEAD + digest + _MIDDLE + body + _TAIL
    if frame != data or hashlib.sha256(body).hexdigest().encode("ascii") != digest:
        raise CacheError(f"{INDEX} is damaged")
    try:
        index: dict[str, Any] = json.loads(body)
    except (RecursionError, ValueError) as error:
        raise CacheError(f"{INDEX} is not JSON") from error
    return digest.decode("ascii"), index
