"""Threads of npaccel's own, for work that starts none itself or would start too many."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeVar

import torch

#: Until when the calling thread does without OpenMP's other threads, since they were late, and for
#: how long it was to, in seconds of OpenMP's clock. Kernels read and write it too: `Alone` in
#: npaccel/_torch/inductor/cpp/teams.h, which says what late means.
alone = (ctypes.c_double * 2)()
_LATE, _TIMES_WAITED, _AGAIN, _MOST = 30e-6, 20, 10, 8

P = TypeVar("P")
T = TypeVar("T")


def in_threads(work: Callable[[P], T], parts: Iterable[P], *, helps: bool = False) -> list[T]:
    """Return what a function gives for each part, with a thread for each of torch's cores.

    Every operator of torch on a small part would start torch's own threads and wait for the last of
    them, which takes as long as the operator itself where the machine has other work too. Here each
    thread takes parts of its own, and torch uses no others in it.

    Where the calling thread `helps`, it takes parts as well, from the last: its core is awake, and
    others may be busy. This is for work that doesn't use torch. Where torch's threads are those of
    GNU OpenMP, they take parts too: they keep their cores busy for 5 ms after each loop of compiled
    code, while they wait for the next one, and other threads would have to share these with them.
    """
    parts = list(parts)
    threads = torch.get_num_threads()
    is_alone = helps and time.perf_counter() < alone[0]
    if threads == 1 or len(parts) < 2 or is_alone:
        return [work(part) for part in parts]
    contexts = [contextvars.copy_context() for _ in parts]
    calls = [
        functools.partial(context.run, work, part)
        for context, part in zip(contexts, parts, strict=True)
    ]
    team = _openmp() if helps else None
    if team is not None:
        return _in_team(team, threads, calls)
    tasks = [_workers(threads).submit(call) for call in calls]
    own: dict[int, T] = {}
    try:
        for i in reversed(range(len(tasks))) if helps else ():
            if tasks[i].cancel():
                own[i] = work(parts[i])
    finally:  # also where one has failed: nobody writes into the arrays any more
        wait([task for task in tasks if not task.cancelled()])
    return [own[i] if i in own else task.result() for i, task in enumerate(tasks)]


# -- Threads of OpenMP ----------------------------------------------------------------


def _openmp() -> Any:
    """Return GNU's function that has another run in each thread of torch's, or None without it.

    LLVM's and Intel's libraries have it too where they stand in for GNU's.
    """
    return _in_torchs_library("GOMP_parallel")


@functools.cache
def _in_torchs_library(name: str) -> Any:
    """Return a function of torch's library, or of what it is linked to; None without it."""
    path = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if sys.platform != "linux" or not path.exists():
        return None
    return getattr(ctypes.CDLL(str(path)), name, None)


@contextlib.contextmanager
def limited(threads: int) -> Iterator[None]:
    """Have loops of compiled code that this thread starts use a number of threads at most.

    `torch.set_num_threads` would say it to threads that start meanwhile, too. Without OpenMP's own
    functions nothing is limited.
    """
    before = torch.get_num_threads()
    set_openmp = _in_torchs_library("omp_set_num_threads")
    if set_openmp is None or before <= threads:
        yield
        return
    set_mkl = _in_torchs_library("MKL_Set_Num_Threads_Local")
    before_mkl = set_mkl(threads) if set_mkl is not None else 0
    set_openmp(threads)
    try:
        yield
    finally:
        set_openmp(before)
        if set_mkl is not None:
            set_mkl(before_mkl)


def _in_team(team: Any, threads: int, tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run tasks in threads of OpenMP's, the calling one among them."""
    left = deque(enumerate(tasks))
    begun, own, caller = time.perf_counter(), -time.thread_time(), threading.get_ident()
    done: dict[int, T] = {}
    errors: list[BaseException] = []

    def take(_: Any) -> None:
        try:
            for i, task in _taken(left):
                done[i] = task()
        except BaseException as error:  # noqa: BLE001 (C can't pass it on; raised below)
            errors.append(error)
        if threading.get_ident() == caller:
            nonlocal own
            own += time.thread_time()

    team(_FUNCTION(take), None, threads, 0)
    # Another thread may have waited for its core with Python's lock in its hands.
    now = time.perf_counter()
    if now - begun - own > _LATE + own * (threads - 1):
        _be_alone_from(now, now - begun - own)
    if errors:
        raise errors[0]
    return [done[i] for i in range(len(tasks))]


def _be_alone_from(now: float, waited: float) -> None:
    """Do without other threads for a while, and for longer if that was so just before."""
    until, before = alone
    length = _TIMES_WAITED * waited
    if now - until < _AGAIN * before and before > length / 2:
        length = min(2 * before, _MOST * length)
    alone[1] = length
    alone[0] = now + length


def _taken(left: deque[T]) -> Iterator[T]:
    while True:
        try:
            item = left.popleft()
        except IndexError:  # another thread has taken the last one
            return
        yield item


#: Signature of what OpenMP runs.
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# -- Threads of npaccel's own ---------------------------------------------------------

_pools: dict[int, ThreadPoolExecutor] = {}
_lock = threading.Lock()


def _workers(threads: int) -> ThreadPoolExecutor:
    """Return threads in which torch uses no others."""
    with _lock:
        found = _pools.get(threads)
        if found is None:
            found = _pools[threads] = ThreadPoolExecutor(threads, "npaccel")
            ready = threading.Barrier(threads)
            for task in [found.submit(_be_alone, ready) for _ in range(threads)]:
                task.result()
            # What a thread says holds for those that start later, too.
            torch.set_num_threads(threads)
    return found


def _be_alone(ready: threading.Barrier) -> None:
    ready.wait()
    # Asked first, for torch then sets the number of a new thread.
    torch.get_num_threads()
    torch.set_num_threads(1)


def _forget_threads() -> None:
    """Forget the threads, of which there are none after a fork."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
