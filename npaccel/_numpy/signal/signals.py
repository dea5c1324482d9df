"""Convolution, interpolation, phase unwrapping, and the functions sinc and i0."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad

from npaccel._numpy.core.axes import axis_of, call
from npaccel._numpy.core.dtypes import (
    COMPLEX128,
    FLOAT64,
    as_dtype,
    as_tensor,
    cast,
    check_cast,
    dtype_of,
    narrow,
    result_dtype,
    strong,
    to_numpy,
    to_torch,
)
from npaccel._numpy.core.layouts import lying_like
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._numpy.linalg.norms import as_inexact
from npaccel._numpy.linalg.products import promoted
from npaccel._numpy.statistics.cumulative import diff, sliced
from npaccel._numpy.ufuncs.gufuncs import from_zero
from npaccel._numpy.ufuncs.integers import as_signed
from npaccel._runtime.torch.symbolic_sizes import holds_here

#: Up to this length of a window its products are written out, one after another.
_WRITTEN_OUT = 64
#: Number of terms in one sum: Inductor computes larger ones with fewer registers.
_TERMS = 8


def _written_out(a: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return the sums of products of v with the windows inside of a: shifted slices, which fuse."""
    length: Any = v.shape[0]
    count = a.shape[0] - length + 1
    products = [a[j : j + count] * v[j] for j in range(length)]
    sums = [
        functools.reduce(_plus, products[i : i + _TERMS]) for i in range(0, len(products), _TERMS)
    ]
    return from_zero(functools.reduce(_plus, sums))


def _over_ends(a: torch.Tensor, v: torch.Tensor, before: Any, after: Any) -> torch.Tensor:
    """Return the sums of products of v with windows of a that may reach over its ends.

    There is nothing: not a zero, whose product with infinity would be NaN.
    """
    windows = _all_windows(pad(a, (before, after)), v.shape[0])
    if a.dtype == torch.bool:
        return torch.any(windows & v, -1)
    products = windows * v
    if products.is_floating_point() or products.is_complex():
        inside = pad(torch.ones_like(a, dtype=torch.bool), (before, after))
        products = torch.where(_all_windows(inside, v.shape[0]), products, 0)
    return torch.sum(products, -1, dtype=a.dtype)


def _all_windows(a: torch.Tensor, length: Any) -> torch.Tensor:
    """Return the windows of a length, by rows; neither `unfold` nor its derivative takes a size."""
    if isinstance(length, int):
        return a.unfold(0, length, 1)
    first = torch.arange(a.shape[0] - length + 1, device=a.device)
    return a[first[:, None] + torch.arange(length, device=a.device)]


def _windows(a: torch.Tensor, v: torch.Tensor, mode: str) -> torch.Tensor:
    """Return the sums of products of v with windows of a as long as v, in one of NumPy's modes.

    torch's conv1d is 10 to 50 times slower than NumPy in float64.
    """
    length: Any = v.shape[0]
    before, after = _overhang(mode, length)
    if not isinstance(length, int) or length > _WRITTEN_OUT:
        return host.correlate(a, v, mode) if host.usable(a, v) else _over_ends(a, v, before, after)
    found = _written_out(a, v)
    parts = [_over_ends(a[: length - 1], v, before, 0)] if before else []
    parts.append(found)
    parts += [_over_ends(a[1 - length :], v, 0, after)] if after else []
    return torch.cat(parts) if len(parts) > 1 else found


def _plus(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x | y if x.dtype == torch.bool else x + y


def _overhang(mode: str, m: Any) -> tuple[Any, Any]:
    """Return how far the window reaches over each end of the array."""
    if mode == "valid":
        return 0, 0
    return (m // 2, m - m // 2 - 1) if mode == "same" else (m - 1, m - 1)


def _slid(a: torch.Tensor, v: torch.Tensor, mode: Any) -> torch.Tensor:
    names = {0: "valid", 1: "same", 2: "full"}
    name: Any = names.get(mode, mode) if isinstance(mode, int) else mode
    if name not in names.values():
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return _windows(a, v, name)


def _vectors(a: Any, v: Any) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = promoted(a, v)
    if x.ndim > 1 or y.ndim > 1:
        raise ValueError("object too deep for desired array: the operands must be 1-d")
    # Unsigned numbers are counted as signed ones of their width, which wraps alike.
    return as_signed(x.reshape(-1)), as_signed(y.reshape(-1))


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> torch.Tensor:
    """`numpy.convolve` of two 1-D arrays."""
    x, y = _vectors(a, v)
    if holds_here(y.shape[0] > x.shape[0], "the second array is longer"):
        x, y = y, x
    if holds_here(y.shape[0] == 0, "there are no elements"):
        raise ValueError("a cannot be empty" if as_tensor(a).shape[0] == 0 else "v cannot be empty")
    return _slid(x, y.flip(0), mode).view(to_torch(result_dtype(as_tensor(a), as_tensor(v))))


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> torch.Tensor:
    """`numpy.correlate` of two 1-D arrays; the second one is conjugated."""
    x, y = _vectors(a, v)
    if y.is_complex():
        y = torch.conj_physical(y)
    swapped = holds_here(y.shape[0] > x.shape[0], "the second array is longer")
    if swapped:
        x, y = y, x
    if holds_here(y.shape[0] == 0, "there are no elements"):
        name = "first" if as_tensor(a).numel() == 0 else "second"
        raise ValueError(f"{name} array argument cannot be empty")
    found = _slid(x, y, mode)
    found = found.flip(0) if swapped else found
    return found.view(to_torch(result_dtype(as_tensor(a), as_tensor(v))))


def _periodic(
    x: torch.Tensor, xp: torch.Tensor, fp: torch.Tensor, period: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return positions within one period, and the samples sorted and wrapped around."""
    if not isinstance(period, torch.Tensor) and period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    x, xp = torch.remainder(x, period), torch.remainder(xp, period)
    order = torch.sort(xp, stable=True)[1]
    xp, fp = xp[order], fp[order]
    xp = torch.cat([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, torch.cat([fp[-1:], fp, fp[:1]])


def _at(samples: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return samples; `torch.take` asks for the value of a place without dimensions."""
    return samples.index_select(0, places.reshape(-1)).reshape(places.shape)


def _between(x: torch.Tensor, xp: torch.Tensor, fp: torch.Tensor) -> torch.Tensor:
    """Return the linear interpolation, at positions that aren't outside the samples."""
    last = xp.shape[0] - 2
    j = torch.clamp(torch.searchsorted(xp, x.contiguous(), right=True) - 1, 0, last)
    x0, x1, y0, y1 = _at(xp, j), _at(xp, j + 1), _at(fp, j), _at(fp, j + 1)
    slope = (y1 - y0) / (x1 - x0)
    found = slope * (x - x0) + y0
    again = slope * (x - x1) + y1
    again = torch.where(torch.isnan(again) & (y0 == y1), y0, again)
    found = torch.where(torch.isnan(found), again, found)
    found = torch.where(x == x0, y0, found)
    return torch.where(x == x1, y1, found)


@implements(np.interp, zero_d="scalar")
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> torch.Tensor:
    """`numpy.interp` in float64 (narrow: float32), or complex.

    Raises
    ------
    ValueError
        If the samples are empty, not 1-D or of two lengths, or the period is zero.
    """
    dtypes = [dtype_of(operand) for operand in (x, xp, fp)]
    real = narrow(FLOAT64, dtypes)
    is_complex = np.result_type(dtypes[2] if isinstance(dtypes[2], np.dtype) else 0.0).kind == "c"
    if isinstance(x, torch.Tensor) and x.is_complex() and not x.ndim:
        raise NotImplementedError(
            "numpy.interp: a complex position without dimensions can't be compiled, as NumPy drops "
            "the imaginary part of a scalar and refuses an array; pass its real part"
        )
    for given, positions in zip(dtypes, (x, xp), strict=False):
        if period is None or not isinstance(positions, torch.Tensor):  # arrays lose the rest
            check_cast(strong(given), FLOAT64, "safe")
    at, places = cast(as_tensor(x), real), cast(as_tensor(xp), real)
    values = cast(as_tensor(fp), narrow(COMPLEX128, dtypes) if is_complex else real)
    if places.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if places.shape[0] != values.shape[0]:
        raise ValueError("fp and xp are not of the same length.")
    if places.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    direct = (left, right, period) == (None, None, None) and real == FLOAT64
    if direct and not is_complex and host.worth(at) and host.usable(places, values):
        return host.interp(as_tensor(x), places, values)
    if period is not None:
        at, places, values = _periodic(at, places, values, period)
        left = right = None
    if places.shape[0] == 1:
        found = values[0].expand(at.shape)
    else:
        found = torch.where(torch.isnan(at), at, _between(at, places, values))
    own = to_numpy(values.dtype)
    low = values[0] if left is None else cast(as_tensor(left), own)
    high = values[-1] if right is None else cast(as_tensor(right), own)
    found = torch.where(at > places[-1], high, found)
    return torch.where(at < places[0], low, found).contiguous()


@implements(np.unwrap)
def unwrap(
    p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi
) -> torch.Tensor:
    """`numpy.unwrap`: jumps of more than half a period become small ones."""
    x = as_tensor(p)
    axis = axis_of(axis, x.ndim)
    differences = diff(x, axis=axis)
    if discont is None:
        discont = period / 2
    dtype = result_dtype(differences, period)
    steps = cast(differences, dtype)
    if dtype.kind in "iu":
        high, ambiguous = period // 2, period % 2 == 0
    else:
        high, ambiguous = period / 2, True
    wrapped = call(np.add, call(np.remainder, call(np.add, steps, high), period), -high)
    if ambiguous:
        wrapped = torch.where((wrapped == -high) & (steps > 0), high, wrapped)
    # NumPy takes the absolute value of the differences as they were, the lowest integer's too.
    small = call(np.less, call(np.absolute, differences), discont)
    correction = torch.where(small, 0, wrapped - steps)
    x = cast(x, dtype)
    moved = sliced(x, axis, 1, None) + torch.cumsum(correction, axis, dtype=x.dtype)
    return lying_like(torch.cat([sliced(x, axis, None, 1), moved], axis), p)


def _at_least_float32(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float32) if x.dtype == torch.float16 else x


def sinc_slope(x: torch.Tensor) -> torch.Tensor:
    """Return the derivative of sinc: around 0 by its series, as a difference loses all digits."""
    near = torch.abs(x) < 0.25
    inside, far = torch.where(near, x, 0.0), torch.where(near, 1.0, x)
    square, series = inside * inside, torch.zeros_like(x)
    for k in range(9, 0, -1):
        factor = 2 * k * (-(math.pi**2)) ** k / math.factorial(2 * k + 1)
        series = series * square + factor
    return torch.where(near, inside * series, (torch.cos(math.pi * far) - _real_sinc(far)) / far)


@implements(np.sinc, zero_d="scalar")
def sinc(x: Any) -> torch.Tensor:
    """`numpy.sinc`, sin(pi x) / (pi x)."""
    given = as_inexact(x)
    return _sinc(given) if given.is_complex() else _real_sinc(given)


def _sinc(x: torch.Tensor) -> torch.Tensor:
    at = call(np.multiply, x, math.pi)
    nowhere = at == 0
    at = torch.where(nowhere, 1, at)
    found: torch.Tensor = torch.where(nowhere, 1, call(np.divide, call(np.sin, at), at))
    return found


_real_sinc = with_slopes(sinc_slope)(_sinc)


@implements(np.i0)
def i0(x: Any) -> torch.Tensor:
    """`numpy.i0`, the modified Bessel function of order 0."""
    given = as_inexact(x)
    if given.is_complex():
        raise TypeError("i0 not supported for complex values")
    return cast(torch.special.i0(_at_least_float32(given)), as_dtype(to_numpy(given.dtype)))
