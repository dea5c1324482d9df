"""Extremes and ranks of windows, for the modules of `scipy.ndimage`, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._scipy.ndimage import _common as parts


def orderable(x: Any) -> Any:
    """Return numbers that have an order; a bool is a byte."""
    x = parts.given(x)
    if x.dtype.kind not in "iuf" or x.dtype == np.float16:
        raise TypeError(f"array type {x.dtype} not supported")
    return x


def comparable(x: Any, modes: Sequence[str], cval: Any) -> Any:
    """Return numbers to compare: floats where the border's value isn't one of x's integers."""
    x = orderable(x)
    bordered = any(parts.MODES[mode] == "constant" for mode in modes)
    if x.dtype.kind == "f" or not bordered:
        return x
    limits = np.iinfo(x.dtype)
    fits = float(cval).is_integer() and limits.min <= cval <= limits.max
    return x if fits else x.astype(np.float64)


def value_of(x: Any, cval: Any) -> Any:
    """Return the border's value as a number of x's kind."""
    return int(cval) if x.dtype.kind in "iu" and float(cval).is_integer() else cval


def line(x: Any, size: int, axis: int, mode: str, cval: Any, origin: int, largest: bool) -> Any:
    """Return the extremes of windows along one axis."""
    x = comparable(x, [mode], cval)
    before = parts.before_of(size, origin)
    grown = parts.extended(x, axis, before, size - 1 - before, mode, value_of(x, cval))
    return parts.reduced(grown, axis, size, np.maximum if largest else np.minimum, True)


def block(
    x: Any,
    footprint: Any,
    structure: Any,
    mode: str,
    cval: Any,
    origins: Sequence[int],
    largest: bool,
) -> Any:
    """Return the extremes of windows with some of their places, and with heights added.

    The first place is taken as it is and others where they are better, so that a NaN is what it is
    in SciPy. The first sum with a height is a float, the others wrap around in x's dtype.
    """
    x = orderable(x)
    shape = footprint.shape if structure is None else structure.shape
    if len(shape) != x.ndim or 0 in shape:
        raise RuntimeError("footprint.ndim must match the number of axes")
    grown = x
    for axis in range(x.ndim):
        before = parts.before_of(shape[axis], origins[axis])
        after = shape[axis] - 1 - before
        grown = parts.extended(grown, axis, before, after, mode, cast(cval, x.dtype))
    used = None if footprint is None else footprint.astype(np.bool_)
    if structure is None:
        return _extremes(grown, used, shape, x.shape, largest)
    signed = structure.astype(np.float64) * (1.0 if largest else -1.0)
    return _of_sums(grown, used, signed, x.shape, largest)


def _extremes(grown: Any, used: Any, shape: Any, sizes: Any, largest: bool) -> Any:
    places = parts.taps(shape)
    if len(places) > parts.MANY:
        windows = np.lib.stride_tricks.sliding_window_view(grown, shape)
        windows = np.where(used, windows, _worst(grown.dtype, largest))
        return _best(windows, shape, largest)
    best, started = None, np.zeros((), dtype=np.bool_)
    for place in places:
        best = _better(best, parts.window(grown, place, sizes), used[place], started, largest)
        started = started | used[place]
    return best


def _of_sums(grown: Any, used: Any, heights: Any, sizes: Any, largest: bool) -> Any:
    """Return extremes of sums, as floats of 64 bits."""
    cast = parts.stored(heights, grown.dtype)
    places = parts.taps(heights.shape)
    if len(places) > parts.MANY:
        return _of_many_sums(grown, used, heights, cast, largest)
    best, started = None, np.zeros((), dtype=np.bool_)
    for place in places:
        x = parts.window(grown, place, sizes)
        value = (x + cast[place]).astype(np.float64)
        first = best is None if used is None else ~started
        value = np.where(first, x.astype(np.float64) + heights[place], value)
        counts = np.ones((), np.bool_) if used is None else used[place]
        best = _better(best, value, counts, started, largest)
        started = started | counts
    return best


def _of_many_sums(grown: Any, used: Any, heights: Any, cast: Any, largest: bool) -> Any:
    """Return extremes of sums by one reduction over windows."""
    shape = heights.shape
    windows = np.lib.stride_tricks.sliding_window_view(grown, shape)
    flat = np.ones(shape, np.bool_).reshape(-1) if used is None else used.reshape(-1)
    first = ((np.cumsum(flat) == 1) & flat).reshape(shape)
    values = (windows + cast).astype(np.float64)
    values = np.where(first, windows.astype(np.float64) + heights, values)
    if used is not None:
        values = np.where(used, values, -np.inf if largest else np.inf)
    return _best(values, shape, largest)


def _better(best: Any, value: Any, used: Any, started: Any, largest: bool) -> Any:
    """Return the better of two values, where the second is one of those that count."""
    if best is None:
        return value
    better = value > best if largest else value < best
    return np.where(used & (better | ~started), value, best)


def _best(windows: Any, shape: Any, largest: bool) -> Any:
    axes = tuple(range(-len(shape), 0))
    return np.max(windows, axis=axes) if largest else np.min(windows, axis=axes)


def cast(cval: Any, dtype: Any) -> Any:
    """Return the border's value as C casts it."""
    if dtype.kind == "f":
        return cval
    limits = np.iinfo(dtype)
    count = int(limits.max) - int(limits.min) + 1
    return (int(cval) - int(limits.min)) % count + int(limits.min)


def _worst(dtype: Any, largest: bool) -> Any:
    if dtype.kind == "f":
        return np.array(-np.inf if largest else np.inf, dtype=dtype)
    limits = np.iinfo(dtype)
    return np.array(limits.min if largest else limits.max, dtype=dtype)


def ranked(values: list[Any], rank: int) -> Any:
    """Return the values of a rank by exchanges, forgetting what can't have it (Paeth 1990).

    Of a pool with more than ``count - rank`` elements the smallest can't have the rank, of one with
    more than ``rank + 1`` the largest can't.
    """
    pool: list[Any] = []
    rest, count = list(values), len(values)
    while count > 1:
        while len(pool) <= min(count - rank, rank + 1):
            pool.append(rest.pop(0))
        low, high = len(pool) > count - rank, len(pool) > rank + 1
        pool = _sifted(pool, low, high)
        pool = pool[1:] if low else pool
        pool = pool[:-1] if high else pool
        count, rank = count - low - high, rank - low
    return (pool or rest)[0]


def _sifted(pool: list[Any], low: bool, high: bool) -> list[Any]:
    """Bring the smallest element to the front and the largest to the end."""
    pool = list(pool)
    last = len(pool) - 1
    if low and high:
        for i in range(len(pool) // 2):
            _exchange(pool, i, last - i)
        middle = len(pool) // 2
        lows, highs = range(1, len(pool) - middle), range(middle, last)
    else:
        lows = range(1, last + 1) if low else range(0)
        highs = range(last) if high else range(0)
    for i in lows:
        _exchange(pool, 0, i)
    for i in highs:
        _exchange(pool, i, last)
    return pool


def _exchange(pool: list[Any], i: int, j: int) -> None:
    pool[i], pool[j] = np.minimum(pool[i], pool[j]), np.maximum(pool[i], pool[j])


def reason(bound: dict[str, Any]) -> str:
    """Return why a call with a footprint can't be native."""
    footprint = bound.get("footprint")
    on_host = not isinstance(footprint, torch.Tensor) or footprint.device.type == "cpu"
    if footprint is None or not on_host:
        return ""
    return "" if np.asarray(footprint).any() else "the footprint is empty"
