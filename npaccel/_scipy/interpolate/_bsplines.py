"""B-splines: C. de Boor, "A Practical Guide to Splines", chapters IX to XI."""

from __future__ import annotations

import math
from typing import Any

import torch

#: Tensors.
Tensor = Any


def interval(t: Tensor, k: int, at: Tensor) -> Tensor:
    """The number of the knot at or before each value, within the spline's own knots."""
    n = t.shape[0] - k - 1
    return torch.searchsorted(t[k + 1 : n].contiguous(), at.contiguous(), right=True) + k


def evaluated(t: Tensor, c: Tensor, k: int, at: Tensor, extrapolate: Any) -> Tensor:
    """Values of a spline.

    Parameters
    ----------
    t : Tensor
        Knots.
    c : Tensor, shape (n, ...)
    k : int
    at : Tensor, shape (m,)
    extrapolate : bool or "periodic"
    """
    n = t.shape[0] - k - 1
    missing = torch.isnan(at)
    if extrapolate == "periodic":
        at = t[k] + torch.remainder(at - t[k], t[n] - t[k])
    elif not extrapolate:
        missing = ~((at >= t[k]) & (at <= t[n]))
    place = interval(t, k, at)
    shape = (-1,) + (1,) * (c.ndim - 1)
    rows = [c[place - k + j] for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, high = t[place + j - k], t[place + j + 1 - r]
            share = ((at - low) / (high - low)).reshape(shape)
            rows[j] = (1 - share) * rows[j - 1] + share * rows[j]
    return torch.where(missing.reshape(shape), math.nan, rows[k])


def basis(t: Tensor, k: int, at: Tensor) -> Tensor:
    """The matrix of the values of all basis functions, a row for each place."""
    n = t.shape[0] - k - 1
    place = interval(t, k, at)
    found = [torch.ones_like(at)]
    for degree in range(1, k + 1):
        following = [torch.zeros_like(at) for _ in range(degree + 1)]
        for j, value in enumerate(found):
            low, high = t[place + j - degree + 1], t[place + j + 1]
            share = value / (high - low)
            following[j] = following[j] + (high - at) * share
            following[j + 1] = following[j + 1] + (at - low) * share
        found = following
    columns = place[:, None] + torch.arange(-k, 1, device=at.device)
    matrix = torch.zeros(at.shape[0], n, dtype=at.dtype, device=at.device)
    return matrix.scatter(1, columns, torch.stack(found, dim=1))


def derived(t: Tensor, c: Tensor, k: int, nu: int) -> tuple[Tensor, Tensor, int]:
    """Knots, coefficients and degree of a derivative."""
    for _ in range(nu):
        n = t.shape[0] - k - 1
        if k == 0:
            return t, torch.zeros_like(c), 0
        width = (t[k + 1 : n + k] - t[1:n]).reshape((-1,) + (1,) * (c.ndim - 1))
        rise = torch.diff(c[:n], dim=0) * k
        c = torch.where(width > 0, rise / torch.where(width > 0, width, 1.0), 0.0)
        t, k = t[1:-1], k - 1
    return t, c, k


def antiderived(t: Tensor, c: Tensor, k: int, nu: int) -> tuple[Tensor, Tensor, int]:
    """Knots, coefficients and degree of an integral that begins with 0."""
    for _ in range(nu):
        n = t.shape[0] - k - 1
        width = (t[k + 1 :] - t[:n]).reshape((-1,) + (1,) * (c.ndim - 1))
        total = torch.cumsum(c[:n] * width, dim=0) / (k + 1)
        c = torch.cat([torch.zeros_like(total[:1]), total])
        t = torch.cat([t[:1], t, t[-1:]])
        k += 1
    return t, c, k


def knots(x: Tensor, k: int) -> Tensor:
    """The knots of the spline through points, without those next to the ends."""
    if k == 0:
        return torch.cat([x, x[-1:]])
    half = k // 2
    if k % 2:
        inner = x[half + 1 : x.shape[0] - half - 1]
    else:
        middle = (x[1:] + x[:-1]) / 2
        inner = middle[half : middle.shape[0] - half]
    return torch.cat([x[:1].expand(k + 1), inner, x[-1:].expand(k + 1)])


def through(x: Tensor, y: Tensor, k: int, t: Tensor) -> Tensor:
    """The coefficients of the spline through points, as many as there are."""
    if k <= 1:
        return y
    matrix = basis(t, k, x)
    wide = y.reshape(y.shape[0], -1)
    return torch.linalg.solve(matrix.to(wide.dtype), wide).reshape(y.shape)
