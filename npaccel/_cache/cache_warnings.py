"""Warnings of the cache when it can't do its work, each cause once in a process."""

from __future__ import annotations

import errno
import os
import sys
import warnings

from npaccel.errors import CacheError, CacheWarning

__all__ = ["describe", "fix_of", "log", "warn", "warn_compiler", "warn_failure", "warn_once"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_said: dict[str, object] = {}

_FIXES = {
    errno.ENOSPC: "free some space or lower NPACCEL_CACHE_MAX_BYTES",
    errno.EDQUOT: "free some space or lower NPACCEL_CACHE_MAX_BYTES",
    errno.EFBIG: "raise the limit on file sizes (`ulimit -f`)",
    errno.EMFILE: "close some files or raise the limit on them (`ulimit -n`)",
}
_FIX = "set NPACCEL_CACHE_DIR to a folder that you can write, or NPACCEL_CACHE=0"


def log(text: str, *args: object) -> None:
    """Log what the cache did, if `logging` is imported; nobody listens otherwise."""
    if "logging" in sys.modules or "NPACCEL_LOG" in os.environ:
        from npaccel._process import logs

        logs.cache.debug(text, *args)


def warn(text: str) -> None:
    """Warn at the line of the user's code that led here."""
    log("refused: %s", text)
    level, frame = 1, sys._getframe()
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, CacheWarning, stacklevel=level)


def warn_once(cause: str, text: str) -> None:
    """Warn unless this process has warned of the same cause."""
    token = object()
    if _said.setdefault(cause, token) is token:  # setdefault is atomic: no lock to hold in a fork
        warn(text)


def describe(error: CacheError | OSError) -> str:
    """Say what failed and what to do about it."""
    if isinstance(error, CacheError):
        return str(error)
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}; {fix_of(error)}"


def fix_of(error: OSError) -> str:
    """Say what to do about a disk that fails."""
    return _FIXES.get(error.errno or 0, _FIX)


def warn_failure(error: CacheError | OSError) -> None:
    """Warn that compiled artifacts aren't kept or used; once per cause."""
    _warn_once_of(error, f"npaccel's cache is not used: {describe(error)}")


def warn_compiler(error: OSError, then: str) -> None:
    """Warn that the compiler can't keep its files, and of what is done; once per cause."""
    _warn_once_of(error, f"the compiler can't keep its files: {describe(error)}; {then}")


def _warn_once_of(error: CacheError | OSError, text: str) -> None:
    warn_once(text if isinstance(error, CacheError) else f"errno {error.errno}", text)
