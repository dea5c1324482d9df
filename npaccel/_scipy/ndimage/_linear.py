"""Weighted sums of windows, for the modules of `scipy.ndimage`, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npaccel._scipy.ndimage import _common as parts

#: SciPy leaves out taps whose weights are smaller than this, in more than one dimension.
_SMALL = 2.220446049250313e-16


def by_parts(
    apply: Callable[[Any, Any, Any], Any], x: Any, weights: Any, cval: Any, dtype: Any
) -> Any:
    """Filter complex numbers by their real and imaginary parts, which don't mix."""
    if x.dtype.kind != "c":
        if isinstance(cval, complex):
            raise ValueError("Cannot provide a complex-valued cval when the input is real.")
        real, imag = apply(x, weights.real, cval), apply(x, weights.imag, cval)
        return parts.joined(real, imag, dtype)
    pairs = ((x.real, complex(cval).real), (x.imag, complex(cval).imag))
    if weights.dtype.kind != "c":
        real, imag = (apply(piece, weights, value) for piece, value in pairs)
        return parts.joined(real, imag, dtype)
    (a, c), (b, d) = pairs
    real = apply(a, weights.real, c) - apply(b, weights.imag, d)
    return parts.joined(real, apply(a, weights.imag, c) + apply(b, weights.real, d), dtype)


def line(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int, dtype: Any) -> Any:
    """Correlate along one axis with an array of weights."""
    x = parts.work(x, dtype)
    if weights.ndim != 1:
        raise RuntimeError("no filter weights given")
    size, count = weights.shape[0], x.shape[axis]
    before = parts.before_of(size, origin)
    grown = parts.extended(x, axis, before, size - 1 - before, mode, cval)
    weights = weights.astype(x.dtype)
    if size > parts.MANY:
        windows = np.lib.stride_tricks.sliding_window_view(grown, size, axis=axis)
        return np.sum(windows * weights, axis=-1)
    total = weights[0] * parts.part(grown, axis, 0, count)
    for k in range(1, size):
        total = total + weights[k] * parts.part(grown, axis, k, k + count)
    return total


def known_line(
    x: Any, weights: Sequence[float], axis: int, mode: str, cval: Any, dtype: Any
) -> Any:
    """Correlate along one axis with an odd number of weights that are known, in SciPy's order.

    Mirrored taps are added before they are weighted, those far from the centre first: what is cut
    to integers afterwards then is the same number.
    """
    x = parts.work(x, dtype)
    radius, count = len(weights) // 2, x.shape[axis]
    grown = parts.extended(x, axis, radius, radius, mode, cval)
    total = weights[radius] * parts.part(grown, axis, radius, radius + count)
    for k in range(radius):
        left = parts.part(grown, axis, k, k + count)
        right = parts.part(grown, axis, 2 * radius - k, 2 * radius - k + count)
        if weights[k] == weights[2 * radius - k]:
            total = total + (left + right) * weights[k]
        elif weights[k] == -weights[2 * radius - k]:
            total = total + (left - right) * weights[k]
        else:
            total = total + left * weights[k] + right * weights[2 * radius - k]
    return total


def block(x: Any, weights: Any, mode: str, cval: Any, origins: Sequence[int], dtype: Any) -> Any:
    """Correlate along all axes with an array of weights."""
    x = parts.work(x, dtype)
    shape = weights.shape
    if len(shape) != x.ndim or 0 in shape:
        raise RuntimeError("weights.ndim must match the number of axes")
    grown = x
    for axis in range(x.ndim):
        before = parts.before_of(shape[axis], origins[axis])
        grown = parts.extended(grown, axis, before, shape[axis] - 1 - before, mode, cval)
    weights = weights.astype(x.dtype)
    used = np.abs(weights) > _SMALL
    places = parts.taps(shape)
    if len(places) > parts.MANY:
        windows = np.lib.stride_tricks.sliding_window_view(grown, shape)
        terms = np.where(used, windows * weights, np.zeros((), dtype=x.dtype))
        return np.sum(terms, axis=tuple(range(-x.ndim, 0)))
    total = np.zeros(x.shape, dtype=x.dtype)
    for place in places:
        term = weights[place] * parts.window(grown, place, x.shape)
        total = total + np.where(used[place], term, np.zeros((), dtype=x.dtype))
    return total


def mean(x: Any, size: int, axis: int, mode: str, cval: Any, origin: int, dtype: Any) -> Any:
    """Return the means of windows along one axis.

    SciPy keeps a running sum, in which what isn't finite stays as a NaN when it has left.
    """
    floats = x.dtype.kind == "f"
    x = parts.work(x, dtype)
    before = parts.before_of(size, origin)
    grown = parts.extended(x, axis, before, size - 1 - before, mode, cval)
    found = parts.reduced(grown, axis, size, np.add, False) / size
    if not floats:
        return found
    along = [1] * x.ndim
    along[axis] = -1
    places = np.arange(grown.shape[axis], dtype=np.int64).reshape(along)
    far = np.where(np.isfinite(grown), np.int64(grown.shape[axis]), places)
    first = np.min(far, axis=axis, keepdims=True)
    here = parts.part(places, axis, 0, x.shape[axis])
    return np.where(here > first, np.array(np.nan, dtype=x.dtype), found)
