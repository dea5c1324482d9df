"""Tables of distances, a tile of rows at a time: no table is ever stored whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from npaccel._sklearn._kernels import kernel

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


def chosen(function: Any, X: torch.Tensor, others: int) -> Callable[..., Any]:
    """Return a kernel in the form that suits the size of the whole table."""
    found: Callable[..., Any] = function.compiled if worth_compiling(X, others) else function
    return found


@kernel
def _first_smallest(table: Any) -> Any:
    """Return by column the number of the row where the smallest value is, the first such one.

    In two passes that a compiler makes vector code of; of ``argmin`` it doesn't.
    """
    smallest = np.min(table, axis=0)
    rows = np.arange(table.shape[0], dtype=table.dtype)[:, None]
    found = np.min(np.where(table == smallest, rows, table.shape[0] - 1), axis=0)
    return found.astype(np.int32)


def squares(X: torch.Tensor) -> torch.Tensor:
    """Return the squared length of each row."""
    return torch.linalg.vecdot(X, X)


def nearest(X: torch.Tensor, C: torch.Tensor) -> torch.Tensor:
    """Return for each row of X the number (int32) of the nearest row of C, the first of several."""
    found = torch.empty(len(X), dtype=torch.int32, device=X.device)
    lengths = squares(C)[:, None]
    smallest = chosen(_first_smallest, X, len(C))
    for rows in tiles(X, len(C)):
        table = torch.addmm(lengths, C, X[rows].T, alpha=-2)
        found[rows] = smallest(table)
    return found


def apart(X: torch.Tensor, C: torch.Tensor) -> torch.Tensor:
    """Return the squared distance of each row of X from the row of C that has the same number.

    In the dtype of X.
    """
    return squares(X - C)


def squared_distances(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return the table of squared distances, computed in 64 bits, none below zero."""
    X, Y = X.double(), Y.double()
    table = torch.addmm(squares(Y), X, Y.T, alpha=-2)
    return table.add_(squares(X)[:, None]).clamp_(min=0)
