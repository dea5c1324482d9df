"""Piecewise polynomials: slopes at points, evaluation, derivatives, integrals."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.linalg._tridiagonal import bordered, solved

#: Tensors.
Tensor = Any


# -- Evaluation -----------------------------------------------------------------------------


def interval(x: Tensor, at: Tensor) -> Tensor:
    """The interval between breakpoints that each value is in; the outer ones have no end."""
    inner = x[1:-1].contiguous()
    return torch.searchsorted(inner, at.contiguous(), right=True)


def inside(x: Tensor, at: Tensor, extrapolate: Any) -> tuple[Tensor, Any]:
    """Values, brought into the period if there is one, and which of them are known."""
    if extrapolate == "periodic":
        return x[0] + torch.remainder(at - x[0], x[-1] - x[0]), None
    return at, None if extrapolate else (at >= x[0]) & (at <= x[-1])


def evaluated(c: Tensor, x: Tensor, at: Tensor, extrapolate: Any) -> Tensor:
    """Values of a piecewise polynomial.

    Parameters
    ----------
    c : Tensor, shape (k, m, ...)
        The highest power first.
    x : Tensor, shape (m + 1,)
    at : Tensor, shape (n,)
    extrapolate : bool or "periodic"
    """
    at, known = inside(x, at, extrapolate)
    place = interval(x, at)
    shape = (-1,) + (1,) * (c.ndim - 2)
    step = (at - x[place]).reshape(shape)
    found = c[0][place]
    for row in c[1:]:
        found = found * step + row[place]
    missing = torch.isnan(at) if known is None else ~known
    return torch.where(missing.reshape(shape), math.nan, found)


def derived(c: Tensor, nu: int) -> Tensor:
    """The coefficients of a derivative."""
    for _ in range(nu):
        k = c.shape[0]
        if k == 1:
            return torch.zeros_like(c)
        powers = torch.arange(k - 1, 0, -1, dtype=c.real.dtype, device=c.device)
        c = c[:-1] * powers.reshape((-1,) + (1,) * (c.ndim - 1))
    return c


def antiderived(c: Tensor, x: Tensor, nu: int) -> Tensor:
    """The coefficients of a continuous integral that begins with 0."""
    for _ in range(nu):
        k = c.shape[0]
        powers = torch.arange(k, 0, -1, dtype=c.real.dtype, device=c.device)
        c = c / powers.reshape((-1,) + (1,) * (c.ndim - 1))
        width = torch.diff(x).reshape((-1,) + (1,) * (c.ndim - 2))
        rise = torch.zeros_like(c[0])
        for row in c:
            rise = (rise + row) * width
        start = torch.cumsum(rise, 0) - rise
        c = torch.cat([c, start[None]])
    return c


# -- Points ---------------------------------------------------------------------------------


def points(x: Any, y: Any, axis: int, *more: Any) -> tuple[Tensor, list[Tensor], int]:
    """Return x and values as SciPy takes them: float64 or complex128, the axis first.

    Raises
    ------
    ValueError
        If they aren't as SciPy needs them.
    """
    if x.is_complex() or x.ndim != 1 or x.shape[0] < 2 or not y.ndim:
        raise ValueError("`x` must be real, 1-dimensional and have 2 elements.")
    values = [v.to(torch.promote_types(v.dtype, torch.float64)) for v in (y, *more)]
    axis = range(y.ndim)[axis]
    if x.shape[0] != y.shape[axis] or any(v.shape != y.shape for v in values):
        raise ValueError("The length of `y` doesn't match the length of `x`")
    x = x.to(torch.float64)
    checks.finite(x, *values)
    checks.holds((torch.diff(x) > 0).all(), "`x` must be strictly increasing sequence.")
    return x, [v.movedim(axis, 0) for v in values], axis


def beside(x: Tensor, y: Tensor) -> Tensor:
    """Numbers of the first axis, to be multiplied with values."""
    return x.reshape((-1,) + (1,) * (y.ndim - 1))


def hermite(x: Tensor, y: Tensor, slopes: Tensor) -> Tensor:
    """The coefficients of the cubic with given values and slopes."""
    width = beside(torch.diff(x), y)
    secant = torch.diff(y, dim=0) / width
    bend = (slopes[:-1] + slopes[1:] - 2 * secant) / width
    return torch.stack([bend / width, (secant - slopes[:-1]) / width - bend, slopes[:-1], y[:-1]])


# -- Slopes ---------------------------------------------------------------------------------


def pchip_slopes(x: Tensor, y: Tensor) -> Tensor:
    """Slopes of F. N. Fritsch and J. Butland (1984), which keep monotony."""
    width = beside(torch.diff(x), y)
    secant = torch.diff(y, dim=0) / width
    if y.shape[0] == 2:
        return torch.cat([secant, secant])
    sign = torch.sign(secant)
    flat = (sign[1:] != sign[:-1]) | (secant[1:] == 0) | (secant[:-1] == 0)
    first, second = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    safe = torch.where(secant == 0, 1.0, secant)
    mean = (first / safe[:-1] + second / safe[1:]) / (first + second)
    inner = torch.where(flat, 0.0, 1 / torch.where(mean == 0, 1.0, mean))
    ends = [_pchip_end(width[i], width[j], secant[i], secant[j]) for i, j in ((0, 1), (-1, -2))]
    return torch.cat([ends[0][None], inner, ends[1][None]])


def _pchip_end(h: Tensor, other: Tensor, secant: Tensor, next_one: Tensor) -> Tensor:
    """The slope at an end, of three points, kept small."""
    slope = ((2 * h + other) * secant - h * next_one) / (h + other)
    turned = torch.sign(slope) != torch.sign(secant)
    steep = (torch.sign(secant) != torch.sign(next_one)) & (slope.abs() > 3 * secant.abs())
    return torch.where(turned, 0.0, torch.where(steep, 3 * secant, slope))


def akima_slopes(x: Tensor, y: Tensor, modified: bool) -> Tensor:
    """Slopes of H. Akima (1970), or as modified in MATLAB."""
    secant = torch.diff(y, dim=0) / beside(torch.diff(x), y)
    if y.shape[0] == 2:
        return torch.cat([secant, secant])
    low1 = 2 * secant[0] - secant[1]
    high1 = 2 * secant[-1] - secant[-2]
    low2, high2 = 2 * low1 - secant[0], 2 * high1 - secant[-1]
    m = torch.cat([low2[None], low1[None], secant, high1[None], high2[None]])
    slopes = 0.5 * (m[3:] + m[:-3])
    change = torch.diff(m, dim=0).abs()
    weight = change + 0.5 * (m[1:] + m[:-1]).abs() if modified else change
    right, left = weight[2:], weight[:-2]
    total = left + right
    if not total.numel():
        return slopes
    certain = total > 1e-9 * total.max()
    share = left / torch.where(certain, total, 1.0)
    return torch.where(certain, m[1:-2] + share * (m[2:-1] - m[1:-2]), slopes)


# -- Cubic splines ----------------------------------------------------------------------------


def spline_slopes(x: Tensor, y: Tensor, ends: list[Any]) -> Tensor:
    """The slopes with which the second derivative is continuous.

    Parameters
    ----------
    x, y : Tensor
    ends : list of two
        "not-a-knot", "periodic", or the order of a derivative and its value.
    """
    n = x.shape[0]
    h = torch.diff(x)
    wide = beside(h, y)
    secant = torch.diff(y, dim=0) / wide
    if n == 2:
        line = (1, secant[0])
        ends = [line if isinstance(end, str) else end for end in ends]
    if n == 3 and ends == ["not-a-knot", "not-a-knot"]:
        return _parabola(h, secant)
    if ends[0] == "periodic":
        return _periodic_slopes(h, wide, secant)
    diagonal = torch.cat([h[:1], 2 * (h[:-1] + h[1:]), h[-1:]])
    upper = torch.cat([h[:1], h[:-1], h[:1] * 0])
    lower = torch.cat([h[:1] * 0, h[1:], h[-1:]])
    right = 3 * (wide[1:] * secant[:-1] + wide[:-1] * secant[1:])
    first = _end(ends[0], x, h, secant, y, 1)
    last = _end(ends[1], -x.flip(0), h.flip(0), secant.flip(0), -y.flip(0), -1)
    return _with_ends(lower, diagonal, upper, right, first, last)


def _end(
    end: Any, x: Tensor, h: Tensor, secant: Tensor, y: Tensor, sign: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The row of an end: what its slope and its neighbour's are multiplied with, the right side.

    For the right end all is mirrored: slopes stay, y and x change their sign.
    """
    one, nothing = torch.ones_like(h[0]), torch.zeros_like(h[0])
    if end == "not-a-knot":
        d = x[2] - x[0]
        right = ((h[0] + 2 * d) * h[1] * secant[0] + h[0] ** 2 * secant[1]) / d
        return h[1], d, right
    order, value = end
    if order == 1:
        return one, nothing, value + 0 * secant[0]
    # The second derivative keeps its sign in the mirror, x doesn't.
    return 2 * h[0], h[0], -0.5 * sign * value * h[0] ** 2 + 3 * (y[1] - y[0])


def _with_ends(
    lower: Tensor, diagonal: Tensor, upper: Tensor, right: Tensor, first: Any, last: Any
) -> Tensor:
    """Take the slopes at both ends out, so that the rest is dominated by its diagonal."""
    n = diagonal.shape[0]
    (p, q, start), (r, s, stop) = first, last
    if n == 2:
        return _two(p, q, start, r, s, stop)
    inner = torch.zeros_like(diagonal[1:-1])
    down, up = lower[1], upper[-2]
    head, tail = inner.clone(), inner.clone()
    head[0], tail[-1] = down * q / p, up * s / r
    body = diagonal[1:-1] - head - tail
    low = torch.cat([lower[1:2] * 0, lower[2:-1]])
    high = torch.cat([upper[1:-2], upper[-1:] * 0])
    moved = right.clone()
    moved[0] = moved[0] - down * start / p
    moved[-1] = moved[-1] - up * stop / r
    found = solved(low, body, high, moved)
    begin, end = (start - q * found[0]) / p, (stop - s * found[-1]) / r
    return torch.cat([begin[None], found, end[None]])


def _two(p: Tensor, q: Tensor, start: Tensor, r: Tensor, s: Tensor, stop: Tensor) -> Tensor:
    """Two equations of two slopes."""
    determinant = p * r - q * s
    return torch.stack([(start * r - q * stop) / determinant, (p * stop - s * start) / determinant])


def _parabola(h: Tensor, secant: Tensor) -> Tensor:
    """The slopes of the parabola through three points."""
    middle = (h[0] * secant[1] + h[1] * secant[0]) / (h[0] + h[1])
    return torch.stack([2 * secant[0] - middle, middle, 2 * secant[1] - middle])


def _periodic_slopes(h: Tensor, wide: Tensor, secant: Tensor) -> Tensor:
    if h.shape[0] == 2:
        middle = (secant / wide).sum(0) / (1 / wide).sum(0)
        return torch.stack([middle, middle, middle])
    before, wide_before = torch.roll(h, 1), torch.roll(wide, 1, 0)
    right = 3 * (wide * torch.roll(secant, 1, 0) + wide_before * secant)
    found = bordered(h, 2 * (before + h), before, right, (h[0], before[-1]))
    return torch.cat([found, found[:1]])
