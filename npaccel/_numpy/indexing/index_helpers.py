"""The index helpers, and functions that call a function of the user.

These are written with NumPy calls: a trace goes through them as through the
user's own code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from npaccel._numpy.core.table import implements


def _steps(part: slice) -> tuple[Any, Any, int]:
    """Return the start, the step and the number of places of a slice of `mgrid`."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if not isinstance(step, complex):
        return start, step, math.ceil((part.stop - start) / step)
    count = int(abs(step))
    return start, 1 if count == 1 else (part.stop - start) / float(count - 1), count


def _kind(parts: tuple[slice, ...]) -> Any:
    numbers: list[Any] = [0]
    for part in parts:
        step = 1 if part.step is None else part.step
        step = abs(step) if isinstance(step, complex) else step
        numbers += [0 if part.start is None else part.start, part.stop, step]
    return np.result_type(*numbers)


def _line(part: slice) -> Any:
    if isinstance(part.step, complex):
        start, step, count = _steps(part)
        # NumPy takes the distance of the places for its dtype here.
        return np.arange(count, dtype=np.result_type(start, part.stop, float(step))) * step + start
    return np.arange(0 if part.start is None else part.start, part.stop, part.step)


def _lines(parts: tuple[slice, ...]) -> list[Any]:
    kind = _kind(parts)
    found = []
    for axis, part in enumerate(parts):
        start, step, count = _steps(part)
        line = (np.arange(count, dtype=kind) * step + start).reshape(
            (1,) * axis + (count,) + (1,) * (len(parts) - axis - 1)
        )
        found.append(line)
    return found


@implements("numpy.ogrid", inlined=True)
def ogrid(key: Any) -> Any:
    """`numpy.ogrid`: its values at a key of slices."""
    return tuple(_lines(key)) if isinstance(key, tuple) else _line(key)


@implements("numpy.mgrid", inlined=True)
def mgrid(key: Any) -> Any:
    """`numpy.mgrid`: its values at a key of slices."""
    if not isinstance(key, tuple):
        return _line(key)
    kind = _kind(key)
    return np.stack([line.astype(kind) for line in np.broadcast_arrays(*_lines(key))])


def _placed(item: Any, ndmin: int, trans1d: int) -> Any:
    """Return an item of `r_` as an array with enough dimensions."""
    if isinstance(item, slice):
        if isinstance(item.step, complex):
            line: Any = np.linspace(item.start or 0, item.stop, int(abs(item.step)))
        else:
            line = np.arange(item.start or 0, item.stop, item.step)
        if ndmin <= 1:
            return line
        wide = line.reshape((1,) * (ndmin - 1) + line.shape)
        return wide.swapaxes(-1, trans1d) if trans1d != -1 else wide
    array = np.asarray(item)
    missing = ndmin - array.ndim
    if missing <= 0:
        return array
    wide = array.reshape((1,) * missing + array.shape)
    if trans1d == -1:
        return wide
    first = trans1d + missing + 1 if trans1d < 0 else trans1d
    order = list(range(ndmin))
    return wide.transpose(order[:first] + order[missing:] + order[first:missing])


def _joined(key: Any, ndmin: int, trans1d: int) -> Any:
    items = key if isinstance(key, tuple) else (key,)
    axis = -1 if trans1d == 0 else 0
    if items and isinstance(items[0], str):
        numbers = [int(word) for word in items[0].split(",")]
        axis = numbers[0]
        ndmin = numbers[1] if len(numbers) > 1 else ndmin
        trans1d = numbers[2] if len(numbers) > 2 else trans1d
        items = items[1:]
    kinds: list[Any] = []
    arrays: list[Any] = []
    for item in items:
        if isinstance(item, (bool, int, float, complex)):
            kinds.append(item)
            arrays.append(item)
        else:
            array = _placed(item, ndmin, trans1d)
            kinds.append(array.dtype)
            arrays.append(array)
    kind = np.result_type(*kinds)
    full = [
        np.full((1,) * ndmin, a, dtype=kind)
        if isinstance(a, (bool, int, float, complex))
        else a.astype(kind)
        for a in arrays
    ]
    return np.concatenate(full, axis=axis)


@implements("numpy.r_", inlined=True, note="strings that ask for a matrix are refused")
def r_(key: Any) -> Any:
    """`numpy.r_`: arrays, slices and numbers, one after another."""
    return _joined(key, 1, -1)


@implements("numpy.c_", inlined=True, note="strings that ask for a matrix are refused")
def c_(key: Any) -> Any:
    """`numpy.c_`: arrays as columns, side by side."""
    return _joined(key, 2, 0)


@implements("numpy.s_", inlined=True)
def s_(key: Any) -> Any:
    """`numpy.s_`: the key itself."""
    return key


@implements("numpy.index_exp", inlined=True)
def index_exp(key: Any) -> Any:
    """`numpy.index_exp`: the key as a tuple."""
    return key if isinstance(key, tuple) else (key,)


# -- functions that call a function of the user


@implements(np.fromfunction, inlined=True)
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """`numpy.fromfunction`: the function is traced on whole arrays."""
    return function(*np.indices(shape, dtype=dtype), **kwargs)


@implements(np.apply_over_axes, inlined=True)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """`numpy.apply_over_axes`: the function is traced once per axis."""
    if type(a) in (list, tuple, bool, int, float, complex):
        raise AttributeError(f"'{type(a).__name__}' object has no attribute 'ndim'")
    ndim = a.ndim
    array = np.asarray(a)
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        place = axis + ndim if axis < 0 else axis
        found = func(array, place)
        if found.ndim != array.ndim:
            found = np.expand_dims(found, place)
            if found.ndim != array.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        array = found
    return array


# -- blocks that compiled code needn't know of


@implements(np.errstate, note="no effect on compiled code, which warns of nothing; where it asks "
            "for 'raise', 'call', 'print' or 'log', the graph breaks")  # fmt: skip
def errstate(*settings: Any) -> np.errstate:
    """Return ``np.errstate`` with settings as names and values in turn."""
    return np.errstate(**dict(zip(settings[::2], settings[1::2], strict=True)))


@implements(np.printoptions, note="no effect on compiled code, which prints nothing")
def printoptions(*settings: Any) -> Any:
    """Return ``np.printoptions`` with settings as names and values in turn."""
    return np.printoptions(**dict(zip(settings[::2], settings[1::2], strict=True)))
