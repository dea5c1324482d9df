"""Tridiagonal equations with many right sides."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._numpy.core.context import has_values

#: Tensors.
Tensor = Any


def solved(lower: Tensor, diagonal: Tensor, upper: Tensor, right: Tensor) -> Tensor:
    """Solve tridiagonal equations whose diagonal dominates.

    Parameters
    ----------
    lower, diagonal, upper : Tensor, shape (n,)
        ``lower[0]`` and ``upper[-1]`` are 0.
    right : Tensor, shape (n, ...)
    """
    if right.device.type == "cpu" and all(map(has_values, (lower, diagonal, upper, right))):
        return _by_lapack(lower, diagonal, upper, right)
    return by_reduction(lower, diagonal, upper, right)


def _by_lapack(lower: Tensor, diagonal: Tensor, upper: Tensor, right: Tensor) -> Tensor:
    """Solve on a CPU, by LAPACK on the same memory."""
    from scipy.linalg import solve_banded

    rows = torch.stack([torch.roll(upper, 1), diagonal, torch.roll(lower, -1)])
    wide = right.reshape(right.shape[0], -1)
    found = solve_banded((1, 1), rows.detach().numpy(), wide.numpy(), check_finite=False)
    return torch.from_numpy(found).reshape(right.shape)


def by_reduction(lower: Tensor, diagonal: Tensor, upper: Tensor, right: Tensor) -> Tensor:
    """Solve by parallel cyclic reduction: R. W. Hockney and C. R. Jesshope (1981)."""
    n = diagonal.shape[0]
    wide = right.reshape(n, -1)
    a, b, c = (v[:, None].to(wide.real.dtype) for v in (lower, diagonal, upper))
    step = 1
    while step < n:
        before = -a / _moved(b, step, 1)
        after = -c / _moved(b, -step, 1)
        wide = wide + before * _moved(wide, step, 0) + after * _moved(wide, -step, 0)
        b = b + before * _moved(c, step, 0) + after * _moved(a, -step, 0)
        a, c = before * _moved(a, step, 0), after * _moved(c, -step, 0)
        step *= 2
    return (wide / b).reshape(right.shape)


def _moved(x: Tensor, by: int, fill: float) -> Tensor:
    """Move rows down, or up for a negative number."""
    edge = torch.full_like(x[: abs(by)], fill)
    return torch.cat([edge, x[:-by]]) if by > 0 else torch.cat([x[-by:], edge])


def bordered(
    lower: Tensor, diagonal: Tensor, upper: Tensor, right: Tensor, corners: tuple[Any, Any]
) -> Tensor:
    """Solve where the first row goes on at its end, and the last one at its beginning.

    The last unknown is taken out: the others are what they would be for 0, plus a multiple.
    """
    top, bottom = corners
    inner = slice(0, -1)
    zero = torch.zeros_like(lower[:1])
    left = torch.zeros_like(diagonal[inner])
    left = torch.cat([left[:1] - top, left[1:]])
    left = torch.cat([left[:-1], left[-1:] - upper[-2]])
    both = torch.cat(
        [right[inner].reshape(right.shape[0] - 1, -1), left[:, None].to(right.dtype)], dim=1
    )
    ends = torch.cat([upper[:-2], zero])
    found = solved(lower[inner], diagonal[inner], ends, both)
    given, multiple = found[:, :-1], found[:, -1:]
    last = right[-1].reshape(1, -1) - bottom * given[:1] - lower[-1] * given[-1:]
    last = last / (diagonal[-1] + bottom * multiple[:1] + lower[-1] * multiple[-1:])
    return torch.cat([given + last * multiple, last]).reshape(right.shape)
