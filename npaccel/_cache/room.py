"""Whether a disk has room for what a compiler writes, and code on it may run."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

__all__ = ["HEADER", "KERNEL", "fault", "forbids_code"]

#: Bytes that the precompiled header of all kernels needs (125 MB with AVX2), and a kernel's files.
HEADER = 160 << 20
KERNEL = 1 << 20
#: Errors of file systems that can't tell.
_NOT_SAID = (errno.EINVAL, errno.ENODEV, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def fault(folder: Path, nbytes: int) -> OSError | None:
    """Return why code of a number of bytes can't be built and loaded in a folder, or None."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)  # It may have been cleaned.
        found = os.statvfs(folder)
        if forbids_code(found):
            return OSError(errno.EACCES, "Code on this disk can't be run (noexec)", str(folder))
        if found.f_bavail * found.f_frsize < nbytes:
            return _too_little(errno.ENOSPC, nbytes, folder)
        if not _may_have(nbytes):
            return _too_little(errno.EFBIG, nbytes, folder)
        with tempfile.TemporaryFile(dir=folder) as file:  # A quota shows when it's used up.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, KERNEL)
    except OSError as error:
        if error.errno in _NOT_SAID:
            return None
        return OSError(error.errno, error.strerror, str(folder))
    return None


def forbids_code(found: os.statvfs_result) -> bool:
    """Whether code may not be run on a disk, of which this is known."""
    return bool(found.f_flag & getattr(os, "ST_NOEXEC", 0))


def _too_little(code: int, nbytes: int, folder: Path) -> OSError:
    return OSError(code, f"{os.strerror(code)}, {nbytes >> 20} MiB are needed", str(folder))


def _may_have(nbytes: int) -> bool:
    """Whether this process, and the compilers that it starts, may write so large a file."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return limit == resource.RLIM_INFINITY or limit >= nbytes
