"""Make forked children able to compute.

Three things of a process that is forked don't survive in the child.

* The threads of GNU OpenMP (libgomp). The child inherits the record of a pool
  whose threads are gone, and waits for them at its first parallel region, for
  ever. The forking thread therefore dissolves its pool before the fork; parent
  and child each start a new one when they next need it, and both stay parallel.
  Measured on 2 cores: 0.1 to 0.4 ms a fork, and 0.1 ms for the new pool.
  Where libgomp is too old for that (before GCC 9), the child computes with one
  thread. The OpenMP libraries of LLVM and Intel look after forks themselves.
* Locks that other threads hold. Those around imports, captures and loads are taken
  before the fork, so that the child isn't born in the middle of one; those
  that belong to an object are new in the child. Who has one may wait for another: a fork has
  all of them at once, or waits with none.
* What a child removes at its exit is the parent's: see `at_exit`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

_ACTS = hasattr(os, "register_at_fork") and sys.platform == "linux"
_HARD_PAUSE = 2  # omp_pause_hard: free the threads and all else
_PATIENCE = 60.0  # seconds to wait for other threads' compilations

#: Held while the compiler is imported: a child that is forked in the middle of an import can
#: never finish it.
importing = threading.RLock()
_held: list[Any] = [importing]
_renewed: weakref.WeakSet[Any] = weakref.WeakSet()
# By the forking thread: the locks that it took, those that it couldn't take, and the libraries
# whose pool it couldn't dissolve.
_forking: dict[int, tuple[list[Any], list[Any], list[Any]]] = {}
# By the forking thread that waits for locks: what others have registered since, to be called before
# a fork.
_registered: dict[int, list[Callable[[], object]]] = {}


def hold(lock: Any, *, around_others: bool = False) -> None:
    """Take a lock before every fork, and release it after in parent and child.

    Who has the one that goes around the others may wait for them; a fork takes it before them.
    """
    _held.insert(1 if around_others else len(_held), lock)


def renew(owner: Any) -> None:
    """Call ``owner.renew_locks()`` in every forked child."""
    _renewed.add(owner)


def at_exit(action: Callable[..., object], *args: Any) -> None:
    """Call something when this process exits, but not when a forked child does."""
    owner = os.getpid()

    def act() -> None:
        if os.getpid() == owner:
            action(*args)

    atexit.register(act)


def _libraries() -> Iterator[Any]:
    """The copies of libgomp in this process: the compiler's, torch's, other packages'."""
    import ctypes

    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[-1].rstrip() for line in maps if "libgomp" in line}
    except OSError:  # no Linux, no libgomp that has to be looked after
        return
    for path in paths:
        try:
            yield ctypes.CDLL(path, mode=os.RTLD_NOLOAD)
        except OSError:  # replaced on disk since it was loaded
            continue


def _before() -> None:
    if threading.get_ident() in _forking:  # registered more than once
        return
    stuck = [library for library in _libraries() if not _dissolve(library)]
    registered = _registered[threading.get_ident()] = []
    _forking[threading.get_ident()] = (*_taken(), stuck)
    del _registered[threading.get_ident()]
    for action in reversed(registered):
        action()


def _taken() -> tuple[list[Any], list[Any]]:
    """Take all locks; return those, and those that couldn't be had in time."""
    deadline = time.monotonic() + _PATIENCE
    first: Any = None
    missed: list[Any] = []
    while True:
        taken: list[Any] = []
        if first is not None:
            if first.acquire(timeout=max(0.0, deadline - time.monotonic())):
                taken.append(first)
            else:
                missed.append(first)
        for lock in _held:
            if lock is first or lock in missed:
                continue
            if not lock.acquire(blocking=False):
                first = lock
                break
            taken.append(lock)
        else:
            return taken, missed
        for lock in taken:
            lock.release()


def let_pass() -> None:
    """Wait until pending forks are done.

    Those that began before an import may hold locks of packages that it brought along, such as
    those of `concurrent.futures` and filelock: a compilation that needs them would wait for the
    fork, and the fork for it.
    """
    if any(getattr(lock, "_is_owned", bool)() for lock in _held):  # Forks wait for this thread.
        return
    deadline = time.monotonic() + _PATIENCE / 10
    while _registered.keys() - {threading.get_ident()} and time.monotonic() < deadline:
        time.sleep(0.001)


@contextlib.contextmanager
def registrations_noted() -> Iterator[None]:
    """Have forks that wait for the end of a block do what is registered in it, too.

    Python calls after such a fork what was registered meanwhile to be called after forks, but not
    what was to be called before: the filelock package, which the compiler imports, counts on both.
    """
    original = getattr(os, "register_at_fork", None)
    if original is None:
        yield
        return

    def register(**actions: Any) -> None:
        original(**actions)
        if "before" in actions:
            for registered in list(_registered.values()):
                registered.append(actions["before"])

    os.register_at_fork = register
    try:
        yield
    finally:
        os.register_at_fork = original


def go_first() -> None:
    """Have forks wait for npaccel's locks ahead of what was registered up to now.

    The filelock package lets no thread have a file's lock from the begin of its own part of a
    fork on: a compilation that the fork waits for then would never end.
    """
    if _ACTS:
        os.register_at_fork(before=_before)


def _dissolve(library: Any) -> bool:
    """End the threads of this thread's pool; False if they are still there."""
    pause = getattr(library, "omp_pause_resource_all", None)
    return pause is not None and pause(_HARD_PAUSE) == 0


def _in_parent() -> None:
    for lock in reversed(_forking.pop(threading.get_ident())[0]):
        lock.release()


def _in_child() -> None:
    _, missed, stuck = _forking[threading.get_ident()]
    _in_parent()
    _forking.clear()
    for lock in missed:
        lock._at_fork_reinit()
    for library in stuck:
        library.omp_set_max_active_levels(0)
    for owner in list(_renewed):
        owner.renew_locks()


if _ACTS:
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
