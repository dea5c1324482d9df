"""Kernels that reduce an axis with a ufunc: whole (reduce) and step by step (accumulate).

A reduction gets a tensor in the loop's dtype and the axes to reduce, which are not
empty; a scan gets a tensor and one axis. Both know no Python loop over
elements, but for a few ufuncs (`TREE`) that are reduced by halves: those need
the length of the axis, so they are compiled for one length.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.host import kernels as host
from npaccel._numpy.ufuncs import comparisons as ordering
from npaccel._numpy.ufuncs import kernels
from npaccel._numpy.ufuncs.integers import (
    Compute,
    absolute,
    as_bits,
    as_signed,
    by_bits,
    by_order,
    gcd,
    is_integral,
    lcm,
)
from npaccel._numpy.ufuncs.kernel_selection import complex_or, in_float32
from npaccel._runtime.torch.symbolic_sizes import depends_on_data, surely

Axes = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Reduction:
    """Reduction and accumulation of one ufunc.

    Parameters
    ----------
    reduce : callable
        Takes a tensor, the axes and keepdims.
    accumulate : callable
        Takes a tensor and an axis.
    neutral : float, "lowest", "highest" or "nan"
        What leaves a reduction as it is.
    ordered : bool
        Whether the first element stands apart, as in a subtraction.
    """

    reduce: Compute
    accumulate: Compute
    neutral: float | str
    ordered: bool = False


def flattened(x: torch.Tensor, axes: Axes) -> torch.Tensor:
    """Return a tensor with the axes flattened into its last one."""
    if len(axes) == 1:
        return torch.movedim(x, axes[0], -1)
    kept = [i for i in range(x.ndim) if i not in axes]
    return x.permute(*kept, *axes).flatten(len(kept))


def with_axes(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
    """Put axes of length 1 back where they were reduced."""
    for axis in sorted(axes) if keepdims else ():
        x = x.unsqueeze(axis)
    return x


def _of_last(reduction: Compute) -> Compute:
    """Turn a reduction of the last axis into one of any axes."""

    def reduce(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
        return with_axes(reduction(flattened(x, axes)), axes, keepdims)

    return reduce


def _along_last(scan: Compute) -> Compute:
    """Turn a scan of the last axis into one of any axis."""

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        return torch.movedim(scan(torch.movedim(x, axis, -1)), -1, axis)

    return accumulate


def _any(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
    return torch.any(x, axes, keepdims)


def _all(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
    return torch.all(x, axes, keepdims)


def _scan(compute: Compute, x: torch.Tensor, axis: int) -> torch.Tensor:
    """Give running values; of small integers in 32 bits on a GPU, where Triton has no such scan."""
    is_small = is_integral(x.dtype) and x.itemsize < 4 and x.device.type != "cpu"
    found: torch.Tensor = compute(x.to(torch.int32) if is_small else x, axis)
    return found.to(x.dtype) if is_small else found


def _running_sum(x: torch.Tensor, axis: int) -> torch.Tensor:
    return torch.cumsum(x, axis, dtype=x.dtype)


def _running_product(x: torch.Tensor, axis: int) -> torch.Tensor:
    return torch.cumprod(x, axis, dtype=x.dtype)


def _running_most(x: torch.Tensor, axis: int) -> torch.Tensor:
    return _scan(lambda t, axis: torch.cummax(t, axis).values, x, axis)


def _running_least(x: torch.Tensor, axis: int) -> torch.Tensor:
    return _scan(lambda t, axis: torch.cummin(t, axis).values, x, axis)


def _cumulative_any(x: torch.Tensor, axis: int) -> torch.Tensor:
    return _running_most(x.to(torch.uint8), axis).to(torch.bool)


def _cumulative_all(x: torch.Tensor, axis: int) -> torch.Tensor:
    return _running_least(x.to(torch.uint8), axis).to(torch.bool)


def _odd(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
    return torch.sum(x, axes, keepdims) % 2 != 0


def _cumulative_odd(x: torch.Tensor, axis: int) -> torch.Tensor:
    return torch.cumsum(x, axis) % 2 != 0


def _sum(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
    if x.dtype == torch.bool:
        return _any(x, axes, keepdims)
    bits = as_signed(x)
    return as_bits(torch.sum(bits, axes, keepdims, dtype=bits.dtype), x.dtype)


def _cumulative_sum(x: torch.Tensor, axis: int) -> torch.Tensor:
    if x.dtype == torch.bool:
        return REDUCTIONS[np.logical_or].accumulate(x, axis)  # type: ignore[no-any-return]
    bits = as_signed(x)
    found = as_bits(_scan(_running_sum, bits, axis), x.dtype)
    if is_integral(x.dtype) or wants_gradients(x):
        return found
    if surely(x.shape[axis] == 0):
        return found
    return _begun_without_zero(x, found, axis % x.ndim)


def _begun_without_zero(x: torch.Tensor, found: torch.Tensor, axis: int) -> torch.Tensor:
    """Give running sums the sign of the -0.0 that come first: torch's begin with 0.0."""
    if x.is_complex():
        parts = ((x.real, found.real), (x.imag, found.imag))
        return torch.complex(*(_begun_without_zero(one, sums, axis) for one, sums in parts))
    other = ~is_negative_zero(x)
    size = x.shape[axis]
    if depends_on_data(size):  # It may be 0, which has no least place.
        return torch.where(torch.cumsum(other, axis) == 0, x, found)
    places = torch.arange(size, device=x.device).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    first = torch.where(other, places, size).amin(axis, keepdim=True)
    return torch.where(places < first, x, found)


def is_negative_zero(x: torch.Tensor) -> torch.Tensor:
    """Return where floats are -0.0."""
    return (x == 0) & torch.signbit(x)


def _last_product(x: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.bool:
        return torch.all(x, -1)
    bits = as_signed(x)
    return as_bits(torch.prod(bits, -1, dtype=bits.dtype), x.dtype)


def _cumulative_product(x: torch.Tensor, axis: int) -> torch.Tensor:
    if x.dtype == torch.bool:
        return REDUCTIONS[np.logical_and].accumulate(x, axis)  # type: ignore[no-any-return]
    bits = as_signed(x)
    return as_bits(_scan(_running_product, bits, axis), x.dtype)


def _alternating(x: torch.Tensor, invert: Compute) -> torch.Tensor:
    """Invert every element of the last axis but the first."""
    return torch.cat([x[..., :1], invert(x[..., 1:])], -1)


negated = by_bits(torch.neg)


def _difference(x: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.bool:
        return _sum(_alternating(x, negated), (-1,), False)
    first, rest = as_signed(x[..., 0]), as_signed(_sum(x[..., 1:], (-1,), False))
    return as_bits(first - rest, x.dtype)


def _cumulative_difference(x: torch.Tensor) -> torch.Tensor:
    return _cumulative_sum(_alternating(x, negated), -1)


#: Maximum number of numbers that are divided step by step where that is an operator each.
_FEW = 32
_WIDER = {
    torch.float16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def _quotient(x: torch.Tensor) -> torch.Tensor:
    """Divide step by step where it can be: a product may leave the range of the dtype."""
    if host.usable(x):
        return host.ufunc_reduce(x, "divide", x.ndim - 1, None)
    n: Any = x.shape[-1]
    if isinstance(n, int) and n <= _FEW:
        first, *rest = x.unbind(-1)
        return functools.reduce(kernels.divide, rest, first.clone())
    wide = x.to(_WIDER.get(x.dtype, x.dtype))
    return (wide[..., 0] / torch.prod(wide[..., 1:], -1)).to(x.dtype)


def _cumulative_quotient(x: torch.Tensor) -> torch.Tensor:
    if host.usable(x):
        return host.ufunc_accumulate(x, "divide", x.ndim - 1)
    return torch.cumprod(_alternating(x, torch.reciprocal), -1)


def tree(op: Compute) -> Compute:
    """Reduction the last axis by halves with an associative operation."""

    def reduction(x: torch.Tensor) -> torch.Tensor:
        n = int(x.shape[-1])
        if n == 1:
            return x[..., 0].clone()  # Never a view of the array.
        while n > 1:
            half = n // 2
            pairs = op(x[..., :half], x[..., half : 2 * half])
            x = torch.cat([pairs, x[..., 2 * half :]], -1)
            n -= half
        return x[..., 0]

    return reduction


def tree_scan(op: Compute) -> Compute:
    """Scan the last axis in steps that double (Hillis and Steele)."""

    def scan(x: torch.Tensor) -> torch.Tensor:
        step = 1
        if int(x.shape[-1]) < 2:
            return x.clone()
        while step < int(x.shape[-1]):
            x = torch.cat([x[..., :step], op(x[..., :-step], x[..., step:])], -1)
            step *= 2
        return x

    return scan


def _tree_reduction(op: Compute, neutral: float | str) -> Reduction:
    return Reduction(_of_last(tree(op)), _along_last(tree_scan(op)), neutral)


def _extreme(
    ufunc: np.ufunc, amax: Compute, running: Compute, pair: Compute, neutral: str
) -> Reduction:
    """Reduction with maximum or minimum; complex numbers by halves."""

    def reduce(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
        return by_order(lambda t: amax(t, axes, keepdims))(x)  # type: ignore[no-any-return]

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        if host.usable(x) and any(map(depends_on_data, x.shape)):  # torch asks whether it's empty.
            return host.ufunc_accumulate(x, ufunc.__name__, axis)
        return by_order(lambda t: running(t, axis))(x)  # type: ignore[no-any-return]

    return Reduction(
        complex_or(_of_last(tree(pair)), reduce),
        complex_or(_along_last(tree_scan(pair)), accumulate),
        neutral,
    )


def _ignoring_nan(reduction: Reduction, pair: Compute, low: float, neutral: str) -> Reduction:
    """Reduction with fmax or fmin: NaN counts only where there's nothing else."""

    def filled(x: torch.Tensor, run: Compute, run_all: Compute) -> torch.Tensor:
        if is_integral(x.dtype):
            return run(x)  # type: ignore[no-any-return]
        missing = torch.isnan(x)
        found = run(torch.where(missing, torch.full_like(x, low), x))
        return torch.where(run_all(missing), torch.full_like(found, math.nan), found)

    def reduce(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
        if host.has_extreme_number(x, axes):
            return host.extreme_number(x, list(axes), keepdims, low < 0)
        return filled(
            x, lambda t: reduction.reduce(t, axes, keepdims), lambda t: _all(t, axes, keepdims)
        )

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        return filled(
            x, lambda t: reduction.accumulate(t, axis), lambda t: _cumulative_all(t, axis)
        )

    return Reduction(
        complex_or(_of_last(tree(pair)), reduce),
        complex_or(_along_last(tree_scan(pair)), accumulate),
        neutral,
    )


def to_bits(x: torch.Tensor) -> torch.Tensor:
    """Return the bits of integers as uint8 in a new last axis."""
    signed = as_signed(x)
    places = torch.arange(x.dtype.itemsize * 8, device=x.device, dtype=signed.dtype)
    return ((signed.unsqueeze(-1) >> places) & 1).to(torch.uint8)


def from_bits(bits: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Undo `to_bits`."""
    signed = as_signed(torch.empty((), dtype=dtype)).dtype
    places = torch.arange(dtype.itemsize * 8, device=bits.device, dtype=signed)
    return (bits.to(signed) << places).sum(-1, dtype=signed).view(dtype)


def _bitwise(
    of_bool: Reduction, reduce_bits: Compute, scan_bits: Compute, neutral: int
) -> Reduction:
    """Reduce integers bit by bit: torch has no such reduction."""

    def reduce(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
        if x.dtype == torch.bool:
            return of_bool.reduce(x, axes, keepdims)  # type: ignore[no-any-return]
        return from_bits(reduce_bits(to_bits(x), axes, keepdims), x.dtype)

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        if x.dtype == torch.bool:
            return of_bool.accumulate(x, axis)  # type: ignore[no-any-return]
        return from_bits(scan_bits(to_bits(x), axis), x.dtype)

    return Reduction(reduce, accumulate, neutral)


def _by_numpy(ufunc: np.ufunc, reduction: Reduction, *, whole: bool = True) -> Reduction:
    """Reduction by NumPy's kernel on a CPU, where torch has none: of bits, of divisors, by halves.

    Parameters
    ----------
    ufunc : numpy.ufunc
    reduction : Reduction
        What computes on other devices, and with gradients.
    whole : bool
        Whether NumPy also reduces, not only accumulates.
    """

    def reduce(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
        if not (whole and host.usable(x)):
            return reduction.reduce(x, axes, keepdims)  # type: ignore[no-any-return]
        flat = flattened(x, axes)
        return with_axes(
            host.ufunc_reduce(flat, ufunc.__name__, flat.ndim - 1, None), axes, keepdims
        )

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        if host.usable(x):
            return host.ufunc_accumulate(x, ufunc.__name__, axis)
        return reduction.accumulate(x, axis)  # type: ignore[no-any-return]

    return dataclasses.replace(reduction, reduce=reduce, accumulate=accumulate)


def _long_by_numpy(ufunc: np.ufunc, reduction: Reduction) -> Reduction:
    """Accumulate one long row of integers by NumPy's kernel: torch does it on one core too."""

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        if x.ndim == 1 and is_integral(x.dtype) and host.worth(x):
            return host.ufunc_accumulate(x, ufunc.__name__, axis)
        return reduction.accumulate(x, axis)  # type: ignore[no-any-return]

    return dataclasses.replace(reduction, accumulate=accumulate)


def is_rounded(ufunc: np.ufunc, x: torch.Tensor) -> bool:
    """Whether NumPy's kernel reduces a tensor, with what it begins with: `_half_by_numpy`."""
    return ufunc in _ROUNDED and x.dtype == torch.float16 and host.usable(x)


def _half_by_numpy(ufunc: np.ufunc, reduction: Reduction) -> Reduction:
    """Reduction float16 by NumPy's kernel on a CPU.

    It rounds after each step, but for the innermost axis, along which it adds and multiplies in
    float32. What overflows on the way, or is lost, depends on that.
    """

    def reduce(
        x: torch.Tensor, axes: Axes, keepdims: bool, first: torch.Tensor | None = None
    ) -> torch.Tensor:
        if not is_rounded(ufunc, x):
            return reduction.reduce(x, axes, keepdims)  # type: ignore[no-any-return]
        given, axis = (x, axes[0]) if len(axes) == 1 else (flattened(x, axes), -1)
        found = host.ufunc_reduce(given, ufunc.__name__, axis % given.ndim, first)
        return with_axes(found, axes, keepdims)

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        if not is_rounded(ufunc, x):
            return reduction.accumulate(x, axis)  # type: ignore[no-any-return]
        return host.ufunc_accumulate(x, ufunc.__name__, axis)

    return dataclasses.replace(reduction, reduce=reduce, accumulate=accumulate)


def _log_sum(scale: float) -> Reduction:
    """Reduction logarithms of sums, to the base e (scale 1) or 2 (scale log 2)."""

    def reduce(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
        wide = x.to(torch.float32) if x.dtype == torch.float16 else x
        return (torch.logsumexp(wide * scale, axes, keepdims) / scale).to(x.dtype)

    in_steps = _along_last(tree_scan(torch.logaddexp))

    def accumulate(x: torch.Tensor, axis: int) -> torch.Tensor:
        wide = (x.to(torch.float32) if x.dtype == torch.float16 else x) * scale
        # torch's second derivative of its own is off by the largest number times the rounding.
        exact = wants_gradients(x) and not depends_on_data(x.shape[axis])
        found = in_steps(wide, axis) if exact else torch.logcumsumexp(wide, axis)
        return (found / scale).to(x.dtype)

    return Reduction(reduce, accumulate, -math.inf)


def _hypotenuse(x: torch.Tensor, axes: Axes, keepdims: bool) -> torch.Tensor:
    """Return the root of the sum of squares, scaled by the largest."""
    largest = torch.amax(torch.abs(x), axes, keepdim=True)
    scale = torch.where((largest > 0) & (largest < math.inf), largest, torch.ones_like(largest))
    total = torch.sum((x / scale) ** 2, axes, keepdim=True)
    found = torch.sqrt(total) * scale
    infinite = torch.any(torch.isinf(x), axes, keepdim=True)
    found = torch.where(infinite, torch.full_like(found, math.inf), found)
    return found if keepdims else found.amax(axes)


def _common_divisor(x: torch.Tensor) -> torch.Tensor:
    return absolute(tree(gcd)(x))


_AND = Reduction(_all, _cumulative_all, 1)
_OR = Reduction(_any, _cumulative_any, 0)
_XOR = Reduction(_odd, _cumulative_odd, 0)
_MAXIMUM = _extreme(np.maximum, torch.amax, _running_most, ordering.maximum, "lowest")
_MINIMUM = _extreme(np.minimum, torch.amin, _running_least, ordering.minimum, "highest")

REDUCTIONS: dict[np.ufunc, Reduction] = {
    np.add: Reduction(_sum, _cumulative_sum, 0),
    np.multiply: Reduction(_of_last(_last_product), _cumulative_product, 1),
    np.subtract: Reduction(_of_last(_difference), _along_last(_cumulative_difference), 0, True),
    np.divide: Reduction(_of_last(_quotient), _along_last(_cumulative_quotient), 1, True),
    np.maximum: _MAXIMUM,
    np.minimum: _MINIMUM,
    np.fmax: _ignoring_nan(_MAXIMUM, ordering.fmax, -math.inf, "nan or lowest"),
    np.fmin: _ignoring_nan(_MINIMUM, ordering.fmin, math.inf, "nan or highest"),
    np.logical_and: _AND,
    np.logical_or: _OR,
    np.logical_xor: _XOR,
    np.bitwise_and: _bitwise(_AND, torch.amin, _running_least, -1),
    np.bitwise_or: _bitwise(_OR, torch.amax, _running_most, 0),
    np.bitwise_xor: _bitwise(_XOR, _odd, _cumulative_odd, 0),
    np.logaddexp: _log_sum(1.0),
    np.logaddexp2: _log_sum(math.log(2.0)),
    np.hypot: Reduction(in_float32(_hypotenuse), _along_last(tree_scan(kernels.hypot)), 0),
    np.gcd: Reduction(_of_last(_common_divisor), _along_last(tree_scan(gcd)), 0),
    np.lcm: _tree_reduction(lcm, 1),
}


#: Ufuncs with which NumPy reduces on a CPU, and those with which it accumulates there.
_WHOLE: tuple[np.ufunc, ...] = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm)
_STEPS: tuple[np.ufunc, ...] = (
    *(np.fmax, np.fmin, np.hypot, np.logaddexp, np.logaddexp2),
    *(np.logical_and, np.logical_or, np.logical_xor),
)
REDUCTIONS.update({ufunc: _by_numpy(ufunc, REDUCTIONS[ufunc]) for ufunc in _WHOLE})
REDUCTIONS.update({ufunc: _by_numpy(ufunc, REDUCTIONS[ufunc], whole=False) for ufunc in _STEPS})
_ROUNDED = (np.add, np.subtract, np.multiply, np.divide, np.hypot, np.logaddexp, np.logaddexp2)
REDUCTIONS.update({ufunc: _half_by_numpy(ufunc, REDUCTIONS[ufunc]) for ufunc in _ROUNDED})
_LONG = (np.multiply, np.subtract)
REDUCTIONS.update({ufunc: _long_by_numpy(ufunc, REDUCTIONS[ufunc]) for ufunc in _LONG})


@functools.cache
def neutral_value(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """Return the Python number that leaves a reduction in this dtype as it is."""
    neutral = REDUCTIONS[ufunc].neutral
    if not isinstance(neutral, str):
        if dtype.kind == "u" and neutral == -1:
            return int(np.iinfo(dtype).max)
        return bool(neutral) if dtype.kind == "b" else neutral
    if dtype.kind in "fc" and "nan" in neutral:
        return math.nan
    lowest = "lowest" in neutral
    if dtype.kind == "b":
        return not lowest
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min if lowest else np.iinfo(dtype).max)
    infinite = -math.inf if lowest else math.inf
    return complex(infinite, infinite) if dtype.kind == "c" else infinite
