"""Claims on what a process compiles, so that others on the machine wait for the artifact.

A claim is a lock on a file, which the system takes back when a process ends. It spares work and
decides nothing: who has waited too long compiles as well, and where there can be no file, nobody
waits.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from npaccel._cache.layout import check_key
from npaccel._cache.store import scratch_dir
from npaccel._process import fork

#: Maximum number of seconds to wait for another process.
PATIENCE = 30.0
_POLL = 0.02


class _Held:
    """The claims of this process."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        fork.renew(self)

    def renew_locks(self) -> None:
        """Forget what the parent of a forked process has claimed."""
        self.names = set()


_held = _Held()


class Claim:
    """A claim that this process has.

    Parameters
    ----------
    name, path : str
    descriptor : int
    """

    def __init__(self, name: str, path: str, descriptor: int) -> None:
        self.name, self.path, self.descriptor = name, path, descriptor
        self._process = os.getpid()

    def release(self) -> None:
        """Give it up; a second time nothing is done."""
        if self.descriptor < 0:
            return
        descriptor, self.descriptor = self.descriptor, -1
        if self._process == os.getpid():
            _held.names.discard(self.name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


class TakenError(Exception):
    """Another process has the claim."""


def claim(name: str) -> Claim | None:
    """Claim a name; None where there can be no claim, or this process has it already.

    Parameters
    ----------
    name : str
        A key of the cache.

    Raises
    ------
    TakenError
    """
    folder = scratch_dir("claims")
    if folder is None or name in _held.names:
        return None
    path = os.path.join(folder, check_key(name))
    try:
        return _locked(name, path)
    except OSError:  # The folder is gone, or full: the artifact is written all the same, or not.
        return None


def _locked(name: str, path: str) -> Claim | None:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_same = _is_at(path, descriptor)
        except BlockingIOError as error:
            os.close(descriptor)
            raise TakenError(name) from error
        except BaseException:
            os.close(descriptor)
            raise
        if is_same:
            _held.names.add(name)
            return Claim(name, path, descriptor)
        os.close(descriptor)  # Who had it has just removed it.


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def waited_for(name: str | None) -> tuple[Claim | None, bool]:
    """Claim a name, after another process that has it; say whether there was one.

    Parameters
    ----------
    name : str or None
        None: nothing is claimed.
    """
    end = time.monotonic() + PATIENCE
    has_waited = False
    while name is not None:
        try:
            return claim(name), has_waited
        except TakenError:
            if time.monotonic() > end:
                break
            has_waited = True
            time.sleep(_POLL)
    return None, False


@contextlib.contextmanager
def claimed(name: str | None) -> Iterator[None]:
    """Claim a name meanwhile, after another process that has it."""
    own, _ = waited_for(name)
    try:
        yield
    finally:
        if own is not None:
            own.release()


__all__ = ["Claim", "TakenError", "claim", "claimed", "waited_for"]
