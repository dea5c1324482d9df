"""Helpers of the modules of `scipy.ndimage`, in NumPy: borders, windows, casts, outputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

#: Modes of SciPy's filters, under one name each.
MODES = {
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "mirror": "mirror",
    "nearest": "nearest",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}
#: More taps than these are a loop in the compiled code, not a long expression.
MANY = 64

_OF_TORCH: dict[torch.dtype, np.dtype[Any]] = {
    torch.float32: np.dtype("float32"),
    torch.float64: np.dtype("float64"),
    torch.complex64: np.dtype("complex64"),
    torch.complex128: np.dtype("complex128"),
    torch.bool: np.dtype("bool"),
    torch.uint8: np.dtype("uint8"),
    torch.int8: np.dtype("int8"),
    torch.int16: np.dtype("int16"),
    torch.int32: np.dtype("int32"),
    torch.int64: np.dtype("int64"),
}


# -- Arguments ------------------------------------------------------------------------------


def each(value: Any, count: int) -> list[Any]:
    """Return one value per axis."""
    if isinstance(value, tuple | list):
        if len(value) != count:
            raise RuntimeError("sequence argument must have length equal to input rank")
        return list(value)
    return [value] * count


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds")
    return axis % rank


def axes_of(axes: Any, rank: int) -> list[int]:
    """Return the axes that are filtered."""
    if axes is None:
        return list(range(rank))
    chosen = [axes] if isinstance(axes, int) else list(axes)
    found = [axis_of(axis, rank) for axis in chosen]
    if len(set(found)) != len(found):
        raise ValueError("axes must be unique")
    return found


def before_of(size: int, origin: int) -> int:
    """Return how many elements of a window come before its place."""
    if size < 1 or not -(size // 2) <= origin <= (size - 1) // 2:
        raise ValueError("invalid origin")
    return size // 2 + origin


# -- Dtypes ---------------------------------------------------------------------------------


def dtype_of(output: Any, default: Any) -> Any:
    """Return the dtype of a result: of an array, of a dtype's name, or the default."""
    if output is None:
        return default
    if isinstance(output, np.ndarray):
        return output.dtype
    if output in _OF_TORCH:
        return _OF_TORCH[output]
    found = np.dtype(output)
    if found.kind not in "biufc" or found.itemsize > 16:
        raise RuntimeError("output must have numeric dtype")
    return found


def complex_dtype(output: Any, dtype: Any) -> Any:
    """Return the dtype of a complex result."""
    found = dtype_of(output, np.promote_types(dtype, np.complex64))
    if found.kind != "c":
        raise RuntimeError("output must have complex dtype")
    return found


def work(x: Any, result: Any = None) -> Any:
    """Return an array in the floats that a filter computes in: 32 bits only if all is so."""
    if x.dtype.kind not in "biuf" or x.dtype.itemsize > 8 or x.dtype == np.float16:
        raise RuntimeError(f"array type {x.dtype} not supported")
    narrow = x.dtype == np.float32 and (result is None or result == np.float32)
    return x if narrow else x.astype(np.float64)


def stored(x: Any, dtype: Any) -> Any:
    """Cast floats as C does: towards zero, and around; a bool holds a byte in between."""
    if dtype.kind == "b":
        dtype = np.dtype("uint8")
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "f" and dtype.kind in "iu":
        return x.astype(np.int64).astype(dtype)
    return x.astype(dtype)


def given(x: Any) -> Any:
    """Return an argument as an array in which a bool is a byte."""
    x = np.asarray(x)
    return x.astype(np.uint8) if x.dtype == np.bool_ else x


def finished(x: Any, dtype: Any, output: Any) -> Any:
    """Return a result in a dtype, and in the array for it, if one was given."""
    found = stored(x, dtype)
    if dtype.kind == "b" and found.dtype != np.bool_:
        found = found != 0
    if not isinstance(output, np.ndarray):
        return found
    if output.shape != found.shape:
        raise RuntimeError("output shape not correct")
    output[...] = found
    return output


def joined(real: Any, imag: Any, dtype: Any) -> Any:
    """Return a complex array of its parts, neither of which spreads into the other."""
    part = np.dtype("float32") if dtype == np.complex64 else np.dtype("float64")
    both = np.stack([real.astype(part), imag.astype(part)], axis=-1)
    return both.view(dtype)[..., 0]


# -- Windows --------------------------------------------------------------------------------


def part(x: Any, axis: int, start: Any, stop: Any) -> Any:
    """Return a piece of an array along one axis."""
    return x[(slice(None),) * axis + (slice(start, stop),)]


def source(places: Any, size: Any, mode: str) -> Any:
    """Return which elements those at places outside of an axis repeat."""
    if mode == "nearest":
        return np.clip(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    if mode == "reflect":
        inside = places % (2 * size)
        return np.minimum(inside, 2 * size - 1 - inside)
    period = 2 * size - 2 if size > 1 else 1
    inside = places % period
    return np.minimum(inside, period - inside) if size > 1 else inside


def extended(x: Any, axis: int, before: int, after: int, mode: str, cval: Any = 0.0) -> Any:
    """Return an array with more elements at the ends of an axis."""
    kind = MODES[mode]
    if before == 0 and after == 0:
        return x
    if kind == "constant":
        shape = list(x.shape)
        edges = []
        for width in (before, after):
            shape[axis] = width
            edges.append(np.full(shape, cval, dtype=x.dtype))
        return np.concatenate([edges[0], x, edges[1]], axis=axis)
    size = x.shape[axis]
    if x.size == 0:
        shape = list(x.shape)
        shape[axis] = size + before + after
        return np.zeros(shape, dtype=x.dtype)
    if max(before, after) >= size:
        places = np.arange(-before, size + after, dtype=np.int64)
        return np.take(x, source(places, size, kind), axis=axis)
    left, right = _edges(x, axis, size, before, after, kind)
    return np.concatenate([left, x, right], axis=axis)


def _edges(x: Any, axis: int, size: Any, before: int, after: int, kind: str) -> tuple[Any, Any]:
    """Return what comes before and after an axis that is longer than both."""
    if kind == "wrap":
        return part(x, axis, size - before, size), part(x, axis, 0, after)
    if kind == "nearest":
        left = np.repeat(part(x, axis, 0, 1), before, axis=axis)
        return left, np.repeat(part(x, axis, size - 1, size), after, axis=axis)
    skip = 1 if kind == "mirror" else 0
    left = np.flip(part(x, axis, skip, before + skip), axis)
    return left, np.flip(part(x, axis, size - after - skip, size - skip), axis)


def reduced(x: Any, axis: int, size: int, combine: Callable[[Any, Any], Any], again: bool) -> Any:
    """Combine the elements of each window, by windows of 1, 2, 4, ... elements.

    Parameters
    ----------
    x : ndarray
        Extended by ``size - 1`` elements.
    axis, size : int
    combine : callable
        Associative.
    again : bool
        Whether elements may be combined more than once, as in a minimum.
    """
    count = x.shape[axis] - size + 1
    level, width, found, start, left = x, 1, None, 0, size
    while left:
        if left == 1 and again:
            found = combine(part(level, axis, 0, count), part(level, axis, size - width, None))
            return found if size > 1 else level
        if left % 2 and not again:
            piece = part(level, axis, start, start + count)
            found = piece if found is None else combine(found, piece)
            start += width
        left //= 2
        if left:
            longer = level.shape[axis]
            level = combine(part(level, axis, 0, longer - width), part(level, axis, width, None))
            width *= 2
    return found


def taps(shape: Iterable[int]) -> list[tuple[int, ...]]:
    """Return the places in a window, in C's order."""
    found: list[tuple[int, ...]] = [()]
    for size in shape:
        found = [(*place, i) for place in found for i in range(size)]
    return found


def window(x: Any, place: tuple[int, ...], shape: Any) -> Any:
    """Return what stands at one place of all windows of an extended array."""
    return x[tuple(slice(i, i + n) for i, n in zip(place, shape, strict=True))]


# -- Tensors --------------------------------------------------------------------------------


def numpy_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    """Return NumPy's dtype of a tensor's."""
    known = _OF_TORCH.get(dtype)
    return np.dtype(str(dtype).partition(".")[2]) if known is None else known
