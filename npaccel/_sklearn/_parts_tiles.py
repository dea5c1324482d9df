"""Tables of distances, a tile of rows at a time: no table is ever stored whole."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import torch

from npaccel._sklearn._kernels import kernel

T = TypeVar("T")

#: How large a tile of a table may be: on a CPU it stays in the cache of a core.
_CPU_BYTES = 1 << 20
_GPU_BYTES = 1 << 28
#: From how many distances on a kernel for a tile is worth the seconds that it takes to compile.
_WORTH_COMPILING = 1 << 24


def tiles(X: torch.Tensor, others: int) -> Iterator[slice]:
    """Yield slices of rows, such that the table of their distances from others fits its memory.

    Parameters
    ----------
    X : torch.Tensor
        Rows.
    others : int
        How many rows there are on the other side.
    """
    size = _CPU_BYTES if X.device.type == "cpu" else _GPU_BYTES
    step = size // (X.element_size() * max(others, 1))
    step = max(64, min(step, 1 << 24))
    if X.device.type == "cpu":
        step = min(step, 1 << 14)
    for start in range(0, len(X), step):
        yield slice(start, min(start + step, len(X)))


def worth_compiling(X: torch.Tensor, others: int) -> bool:
    """Whether a table is so large that the kernels of its tiles are to be compiled."""
    return X.device.type != "cpu" or len(X) * others >= _WORTH_COMPILING


def _smallest(table: Any) -> Any:
    """Return by column the number of the row where the smallest value is, the first such one."""
    return np.argmin(table, axis=0).astype(np.int32)


#: A kernel, compiled.
_first_smallest: Any = kernel(_smallest)


def squares(X: torch.Tensor) -> torch.Tensor:
    """Return the squared length of each row."""
    return torch.linalg.vecdot(X, X)


def nearest(X: torch.Tensor, C: torch.Tensor) -> torch.Tensor:
    """Return for each row of X the number (int32) of the nearest row of C, the first of several."""
    found = torch.empty(len(X), dtype=torch.int32, device=X.device)
    lengths = squares(C)
    on_cpu = X.device.type == "cpu"

    def tile(rows: slice) -> None:
        if on_cpu:
            table = torch.addmm(lengths, X[rows], C.T, alpha=-2)
            found[rows] = torch.from_numpy(np.argmin(table.numpy(), axis=1))
        else:
            table = torch.addmm(lengths[:, None], C, X[rows].T, alpha=-2)
            found[rows] = _first_smallest.compiled(table)

    in_threads(tile, tiles(X, len(C)), X.device)
    return found


def squared_distances(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return the table of squared distances, computed in 64 bits, none below zero."""
    X, Y = X.double(), Y.double()
    table = torch.addmm(squares(Y), X, Y.T, alpha=-2)
    return table.add_(squares(X)[:, None]).clamp_(min=0)


# -- Threads ------------------------------------------------------------------------------------


def in_threads(work: Callable[[slice], T], parts: Iterable[slice], device: torch.device) -> list[T]:
    """Return what a function gives for each part; on a CPU with a thread for each core.

    Every operator on a tile would start torch's own threads and wait for the last of them, which
    takes as long as the operator itself where the machine has other work too. Here each thread
    takes tiles of its own.
    """
    parts = list(parts)
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1 or len(parts) == 1:
        return [work(part) for part in parts]
    contexts = [contextvars.copy_context() for _ in parts]
    tasks = [
        _workers(threads).submit(context.run, work, part)
        for context, part in zip(contexts, parts, strict=True)
    ]
    return [task.result() for task in tasks]


_pools: dict[int, ThreadPoolExecutor] = {}
_lock = threading.Lock()


def _workers(threads: int) -> ThreadPoolExecutor:
    """Return threads in which torch uses no others."""
    with _lock:
        found = _pools.get(threads)
        if found is None:
            found = _pools[threads] = ThreadPoolExecutor(threads, "npaccel-tiles")
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
    """After a fork there are none."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
