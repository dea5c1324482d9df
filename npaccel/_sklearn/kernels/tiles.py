"""Tables of distances, a tile of rows at a time: no table is ever stored whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import torch

from npaccel._process import thread_pool
from npaccel._sklearn.dispatch.kernel_decorator import kernel

P = TypeVar("P")
T = TypeVar("T")

#: Maximum size of a tile of a table: on a CPU it stays in the cache of a core.
_CPU_BYTES = 1 << 20
_GPU_BYTES = 1 << 28
#: Number of distances from which a kernel for a tile is worth the seconds that it takes to compile.
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


def sums_of_columns(X: torch.Tensor, step: int) -> torch.Tensor:
    """Return the sum of each column in 64 bits, `step` rows at a time.

    They go through memory that is taken once. What is taken and given back between small results
    that stay leaves holes into which glibc's aligned blocks of the same size don't fit.
    """
    wide = torch.empty((min(step, len(X)), X.shape[1]), dtype=torch.float64, device=X.device)
    found = wide.new_zeros(X.shape[1])
    for start in range(0, len(X), step):
        part = X[start : start + step]
        found += wide[: len(part)].copy_(part).sum(dim=0)
    return found


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


def in_threads(work: Callable[[P], T], parts: Iterable[P], device: torch.device) -> list[T]:
    """Return what a function gives for each part; on a CPU with a thread for each core."""
    if device.type == "cpu":
        return thread_pool.in_threads(work, parts)
    return [work(part) for part in parts]
