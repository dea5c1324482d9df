"""Systems of few equations by elimination, written out, which fuses with what is around it.

LAPACK takes a microsecond for a system of three equations, its elimination some nanoseconds where
many are solved at once. The pivots are LAPACK's: the first of the largest in each column.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten
#: Maximum number of equations, and of right sides.
_MAX_SIZE = 4

#: Rows of numbers, each a tensor with an element for each system.
Rows = list[list[torch.Tensor]]


def _solve(
    a: torch.Tensor, b: torch.Tensor, *, left: bool = True, check_errors: bool = False
) -> Any:
    """Return solution, factors, pivots, and which pivot is the first that is zero."""
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    if is_vector:
        b = b.unsqueeze(-1)
    if not left or check_errors or not _is_small(a, b):
        return NotImplemented
    rows, right = _rows(a), _rows(b)
    pivots, info = _factor(rows, right)
    _substitute(rows, right)
    found = _matrix(right)
    solution = found.squeeze(-1) if is_vector else found
    return solution, _matrix(rows), torch.stack(pivots, -1), info


def _lu_solve(
    factors: torch.Tensor,
    pivots: torch.Tensor,
    b: torch.Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Any:
    """Return the solution of a system whose factors are known."""
    if not left or not _is_small(factors, b):
        return NotImplemented
    rows, right = _rows(factors), _rows(b)
    count = len(rows)
    swaps = [pivots.select(-1, k) - 1 for k in range(count)]
    if not adjoint:
        for k, pivot in enumerate(swaps):
            _swap(right, k, pivot)
        for i in range(count):
            for k in range(i):
                right[i] = _minus(right[i], rows[i][k], right[k])
        _substitute(rows, right)
        return _matrix(right)
    for i in range(count):
        for k in range(i):
            right[i] = _minus(right[i], rows[k][i], right[k])
        right[i] = [one / rows[i][i] for one in right[i]]
    for i in reversed(range(count)):
        for k in range(i + 1, count):
            right[i] = _minus(right[i], rows[k][i], right[k])
    for k in reversed(range(count)):
        _swap(right, k, swaps[k])
    return _matrix(right)


def _is_small(a: torch.Tensor, b: torch.Tensor) -> bool:
    sizes = (*a.shape[-2:], *b.shape[-2:])
    return all(type(size) is int and 0 < size <= _MAX_SIZE for size in sizes) and all(
        one.device.type == "cpu" and one.dtype in (torch.float32, torch.float64) for one in (a, b)
    )


def _rows(a: torch.Tensor) -> Rows:
    return [[a.select(-2, i).select(-1, j) for j in range(a.shape[-1])] for i in range(a.shape[-2])]


def _matrix(rows: Rows) -> torch.Tensor:
    shape = torch.broadcast_shapes(*(x.shape for row in rows for x in row))  # type: ignore[no-untyped-call]
    return torch.stack([torch.stack([x.expand(shape) for x in row], -1) for row in rows], -2)


def _factor(rows: Rows, right: Rows) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Factor matrices in place, do the same to right sides, and return pivots and info."""
    count = len(rows)
    pivots = []
    info = torch.zeros_like(rows[0][0], dtype=torch.int32)
    for k in range(count):
        largest = rows[k][k].abs()
        pivot = torch.full_like(info, k)
        for i in range(k + 1, count):
            size = rows[i][k].abs()
            pivot = torch.where(size > largest, i, pivot)
            largest = torch.where(size > largest, size, largest)
        _swap(rows, k, pivot)
        _swap(right, k, pivot)
        pivots.append(pivot + 1)
        info = torch.where((info == 0) & (rows[k][k] == 0), k + 1, info)
        for i in range(k + 1, count):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [
                *rows[i][:k], factor, *_minus(rows[i][k + 1 :], factor, rows[k][k + 1 :])
            ]  # fmt: skip
            right[i] = _minus(right[i], factor, right[k])
    return pivots, info


def _swap(rows: Rows, k: int, pivot: torch.Tensor) -> None:
    """Exchange a row with one behind it."""
    first = rows[k]
    for i in range(k + 1, len(rows)):
        is_chosen = pivot == i
        rows[k] = [torch.where(is_chosen, x, y) for x, y in zip(rows[i], rows[k], strict=True)]
        rows[i] = [torch.where(is_chosen, y, x) for x, y in zip(rows[i], first, strict=True)]


def _substitute(rows: Rows, right: Rows) -> None:
    """Solve triangular systems in place, the last equation first."""
    for i in reversed(range(len(rows))):
        for k in range(i + 1, len(rows)):
            right[i] = _minus(right[i], rows[i][k], right[k])
        right[i] = [one / rows[i][i] for one in right[i]]


def _minus(
    row: Sequence[torch.Tensor], factor: torch.Tensor, other: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    return [x - factor * y for x, y in zip(row, other, strict=True)]


#: Decompositions by operators, for `make_fx` and Inductor.
SMALL_SYSTEMS: dict[Any, Callable[..., Any]] = {
    _aten._linalg_solve_ex.default: _solve,
    _aten.linalg_lu_solve.default: _lu_solve,
}


def _of_many(decomposition: Callable[..., Any]) -> Callable[..., Any]:
    """Return what writes out many systems at once, but not a single one."""

    @functools.wraps(decomposition)
    def decomposed(a: torch.Tensor, *args: Any, **options: Any) -> Any:
        return decomposition(a, *args, **options) if a.ndim > 2 else NotImplemented

    return decomposed


#: The same for those that aren't in a loop, where a single call of LAPACK takes no time.
MANY_SMALL_SYSTEMS = {target: _of_many(one) for target, one in SMALL_SYSTEMS.items()}

__all__ = ["MANY_SMALL_SYSTEMS", "SMALL_SYSTEMS"]
