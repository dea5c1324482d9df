"""Folders and files that nobody but this user can change.

The cache holds native code that is loaded into the process, so whoever can write a file of it owns
the process. The rule is OpenSSH's: the folder and everything in it belong to this user and can't be
written by anybody else, and no folder above it can be swapped by anybody but root. Once that is
checked, a path inside the folder can't change under us between the check and the use, and each file
is checked again through its own descriptor.

Windows has no owner and mode of this kind; there the profile folder's own access list protects.
"""

from __future__ import annotations

import errno
import os
import stat

from npaccel.errors import CacheError

TYPE_CHECKING = False  # typing, pathlib, json and hashlib cost more to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "check_folder",
    "close_folder",
    "hash_file",
    "make_folder",
    "open_file",
    "owned",
    "read_file",
    "remove_tree",
    "resolve_folder",
    "sync_folder",
    "unique_name",
    "write_file",
]

_POSIX = hasattr(os, "geteuid")
_BLOCK = 1 << 20
_ATTEMPTS = 3
_MAX_LINKS = 40  # as Linux

# O_NONBLOCK: opening a pipe that somebody put in a file's place must not wait for a writer.
_READ = os.O_RDONLY
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
    _READ |= getattr(os, _name, 0)
    _WRITE |= getattr(os, _name, 0)
_READ |= getattr(os, "O_NONBLOCK", 0)

# What os.open raises for a link under O_NOFOLLOW (FreeBSD: EMLINK), a socket, an unreadable file.
_NOT_A_FILE = {
    errno.ELOOP: "is a symbolic link",
    errno.EMLINK: "is a symbolic link",
    errno.ENXIO: "is not a plain file",
    errno.EACCES: "can't be read",
    errno.EPERM: "can't be read",
}


def owned(info: os.stat_result) -> bool:
    """Whether the file or folder of a stat result belongs to this user."""
    return not _POSIX or info.st_uid == os.geteuid()


def _fault(info: os.stat_result, *, folder: bool) -> str | None:
    """Say why a file or folder of the cache can't be trusted, or None."""
    if stat.S_ISLNK(info.st_mode):
        return "is a symbolic link"
    if folder and not stat.S_ISDIR(info.st_mode):
        return "is not a folder"
    if not folder and not stat.S_ISREG(info.st_mode):
        return "is not a plain file"
    if not owned(info):
        return f"belongs to user {info.st_uid}, not to user {os.geteuid()}"
    if _POSIX and info.st_mode & 0o022:
        mode = stat.S_IMODE(info.st_mode)
        return f"may be written by other users (mode {mode:o}; `chmod go-w` fixes it)"
    return None


def _private_group(gid: int) -> bool:
    """Whether a group has no member but this user and root.

    Several Linux systems give each user a group of his own and create folders 0775.
    """
    if gid == 0:
        return True
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container's user without a name
        return gid == os.geteuid()
    return group.gr_name == user and set(group.gr_mem) <= {user}


def _parent_fault(info: os.stat_result) -> str | None:
    """Say why a folder above the cache would let others replace the cache, or None."""
    if not stat.S_ISDIR(info.st_mode):
        return "is not a folder"
    if info.st_uid not in (0, os.geteuid()):
        return f"belongs to user {info.st_uid}, who could replace what is in it"
    if info.st_mode & stat.S_ISVTX:  # sticky: only the owner of a name may replace it
        return None
    if info.st_mode & 0o002 or (info.st_mode & 0o020 and not _private_group(info.st_gid)):
        mode = stat.S_IMODE(info.st_mode)
        return f"may be written by other users (mode {mode:o}), who could replace what is in it"
    return None


def _lstat(path: str, *, create: bool) -> os.stat_result:
    """Return a path's own status; make a folder of it first if it's missing."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:  # another process made it
        return os.lstat(path)
    return os.lstat(path)


def resolve_folder(path: str, *, create: bool) -> str:
    """Follow a path from the file system's root and check each step of it.

    Parameters
    ----------
    path : str
        The folder, absolute.
    create : bool
        Make the missing levels, mode 0700.

    Returns
    -------
    str
        The folder's path without symbolic links.

    Raises
    ------
    CacheError
        If somebody but this user and root could change what the folder holds.
    FileNotFoundError
        If the folder doesn't exist and `create` is false.
    OSError
        If a level can't be made or looked at.
    """
    if not _POSIX:
        os.makedirs(path, exist_ok=True) if create else os.lstat(path)
        return os.path.realpath(path)
    here, links = "/", 0
    pending = path.split("/")[::-1]
    while pending:
        name = pending.pop()
        step = os.path.normpath(os.path.join(here, name))  # `here` has no links: ".." is lexical
        info = _lstat(step, create=create)
        if stat.S_ISLNK(info.st_mode):
            links += 1
            here, target = _follow(path, here, step, info, links)
            pending.extend(target[::-1])
        elif fault := _parent_fault(info):
            raise CacheError(_refusal(path, step, fault))
        else:
            here = step
    if fault := _fault(os.lstat(here), folder=True):
        raise CacheError(_refusal(path, here, fault))
    return here


def _follow(
    path: str, here: str, link: str, info: os.stat_result, links: int
) -> tuple[str, list[str]]:
    """Return where a symbolic link starts from and the names of its target."""
    if info.st_uid not in (0, os.geteuid()):
        fault = f"is a symbolic link of user {info.st_uid}"
        raise CacheError(_refusal(path, link, fault))
    if links > _MAX_LINKS:
        raise CacheError(_refusal(path, link, "is in a loop of symbolic links"))
    target = os.readlink(link)
    return ("/" if target.startswith("/") else here), target.split("/")


def _refusal(path: str, step: str, fault: str) -> str:
    """Write the text for a folder that isn't safe."""
    where = f"cache folder {path}" if step == path else f"cache folder {path}: {step}"
    return f"{where} {fault}; set NPACCEL_CACHE_DIR to a folder that only you can write"


def check_folder(path: str) -> None:
    """Raise `CacheError` unless the folder, not a link to it, is this user's alone."""
    if fault := _fault(os.lstat(path), folder=True):
        raise CacheError(f"{path} {fault}")


def make_folder(path: str) -> str:
    """Make a folder, mode 0700, or check the one that is there; return `path`."""
    if fault := _fault(_lstat(path, create=True), folder=True):
        raise CacheError(f"{path} {fault}")
    return path


def close_folder(path: str) -> str:
    """Make a folder, or check the one that is there, and keep others from what is in it.

    Folders that a compiler makes inside may be open to all: nobody else gets to them.
    """
    make_folder(path)
    if _POSIX and os.lstat(path).st_mode & 0o077:
        os.chmod(path, 0o700)
    return path


def open_file(path: str) -> int:
    """Open a file of the cache and check through its descriptor that it's this user's alone.

    Raises
    ------
    CacheError
        If it's a link, not a plain file, unreadable, another user's or writable by others.
    FileNotFoundError
        If there is none.
    """
    name = os.path.basename(path)
    try:
        fd = os.open(path, _READ)
    except OSError as error:
        if error.errno in _NOT_A_FILE:
            raise CacheError(f"{name} {_NOT_A_FILE[error.errno]}") from error
        raise
    if fault := _fault(os.fstat(fd), folder=False):
        os.close(fd)
        raise CacheError(f"{name} {fault}")
    return fd


def hash_file(path: str, size: int) -> str:
    """Return the SHA-256 of a checked file, in hex; `CacheError` if its size isn't `size`."""
    import hashlib

    with open(open_file(path), "rb", buffering=0) as file:
        found = os.fstat(file.fileno()).st_size
        if found != size:
            raise CacheError(f"{os.path.basename(path)} has {found} bytes instead of {size}")
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_file(path: str, limit: int) -> bytes:
    """Return the bytes of a checked file; `CacheError` if there are more than `limit`."""
    with open(open_file(path), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CacheError(f"{os.path.basename(path)} has more than {limit} bytes")
    return data


def write_file(
    path: str, source: bytes | os.PathLike[str], *, through: bool = True
) -> tuple[int, str]:
    """Write a new file, mode 0600, `through` to the disk; return its size and SHA-256 in hex."""
    import hashlib

    digest, size = hashlib.sha256(), 0
    fd = os.open(path, _WRITE, 0o600)
    try:
        for block in _blocks(source):
            digest.update(block)
            size += len(block)
            view = memoryview(block)
            while view:
                view = view[os.write(fd, view) :]
        if through:
            os.fsync(fd)
    finally:
        os.close(fd)
    return size, digest.hexdigest()


def _blocks(source: bytes | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the bytes of a payload in pieces."""
    if isinstance(source, bytes):
        yield source
        return
    with open(source, "rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            yield block


def sync_folder(path: str) -> None:
    """Write a folder's names through to the disk, where the system can."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(fd)


def unique_name() -> str:
    """Return a name that no other process or thread uses; right in a forked child too."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


def remove_tree(path: str) -> bool:
    """Remove a file, a link or a folder with all in it; return whether it's gone."""
    import shutil

    for _ in range(_ATTEMPTS):  # another process may be putting something in
        try:
            if stat.S_ISDIR(os.lstat(path).st_mode):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        except OSError:  # gone already, or not ours to remove: the next line tells which
            break
    return not os.path.lexists(path)
