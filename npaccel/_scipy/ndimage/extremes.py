"""Extremes of windows: the filters and the grey morphology of `scipy.ndimage`."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.ndimage import _common as parts
from npaccel._scipy.ndimage import _order_statistics as order

NAN = "a NaN fills its windows, where what SciPy gives depends on the order of its steps"


@in_numpy("ndimage.minimum_filter1d", arrays=("input", "output"), note=NAN)
def minimum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Minimum of a window along one axis."""
    return _line(np.asarray(input), size, axis, output, mode, cval, origin, False)


@in_numpy("ndimage.maximum_filter1d", arrays=("input", "output"), note=NAN)
def maximum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Maximum of a window along one axis."""
    return _line(np.asarray(input), size, axis, output, mode, cval, origin, True)


def _line(
    x: Any, size: int, axis: int, output: Any, mode: str, cval: Any, origin: int, largest: bool
) -> Any:
    dtype = parts.dtype_of(output, x.dtype)
    found = order.line(x, size, parts.axis_of(axis, x.ndim), mode, cval, origin, largest)
    return parts.finished(found, dtype, output)


@in_numpy(
    "ndimage.minimum_filter",
    arrays=("input", "footprint", "output"),
    host_reason=order.reason,
    note=NAN,
)
def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Minimum of windows."""
    return _extreme(input, size, footprint, None, output, mode, cval, origin, axes, False)


@in_numpy(
    "ndimage.maximum_filter",
    arrays=("input", "footprint", "output"),
    host_reason=order.reason,
    note=NAN,
)
def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Maximum of windows."""
    return _extreme(input, size, footprint, None, output, mode, cval, origin, axes, True)


def _extreme(
    input: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    largest: bool,
    raw: Any = None,
) -> Any:
    """Return extremes of windows.

    With `raw`, the dtype that a result has in the end, this one is a step on the way to it: a bool
    is a byte, of any value.
    """
    x = np.asarray(input)
    if x.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if size is not None and footprint is not None:
        raise ValueError("size is ignored because footprint is set")
    dtype = parts.dtype_of(output, x.dtype if raw is None else raw)
    chosen = parts.axes_of(axes, x.ndim)
    origins = parts.each(origin, len(chosen))
    if footprint is None and structure is None:
        modes = parts.each(mode, len(chosen))
        sizes = parts.each(size, len(chosen))
        for axis, count, kind, one in zip(chosen, sizes, modes, origins, strict=True):
            if count > 1:
                found = order.line(x, int(count), axis, kind, cval, one, largest)
                x = parts.stored(found, dtype)
        return _ended(x, dtype, output, raw)
    everywhere = [0] * x.ndim
    for axis, one in zip(chosen, origins, strict=True):
        everywhere[axis] = one
    footprint, structure = _spread(footprint, chosen, x.ndim), _spread(structure, chosen, x.ndim)
    found = order.block(x, footprint, structure, mode, cval, everywhere, largest)
    return _ended(found, dtype, output, raw)


def _ended(x: Any, dtype: Any, output: Any, raw: Any) -> Any:
    is_step = raw is not None and output is None
    return parts.stored(x, dtype) if is_step else parts.finished(x, dtype, output)


def _spread(window: Any, chosen: list[int], rank: int) -> Any:
    """Return a window with all axes of the data."""
    if window is None:
        return None
    window = np.asarray(window)
    if window.ndim != len(chosen):
        raise RuntimeError("footprint.ndim must match the number of axes")
    sizes = iter(window.shape)
    return window.reshape([next(sizes) if axis in chosen else 1 for axis in range(rank)])


# -- Grey morphology ------------------------------------------------------------------------


def eroded(x: Any, output: Any, settings: Any, raw: Any = None) -> Any:
    """The least of windows less heights; `raw` as in `_extreme`."""
    size, footprint, structure, mode, cval, origin, axes = settings
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    if footprint is not None or structure is not None:
        size = None
    return _extreme(x, size, footprint, structure, output, mode, cval, origin, axes, False, raw)


def dilated(x: Any, output: Any, settings: Any, raw: Any = None) -> Any:
    """The most of windows with heights: the window is turned around, and so is its origin."""
    size, footprint, structure, mode, cval, origin, axes = settings
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    count = len(parts.axes_of(axes, x.ndim))
    if footprint is not None:
        sizes = list(np.asarray(footprint).shape)
    elif structure is not None:
        sizes = list(np.asarray(structure).shape)
    else:
        sizes = parts.each(size, count)
    origins = parts.each(origin, count)
    turned = [-one if n % 2 else -one - 1 for one, n in zip(origins, sizes, strict=True)]
    if footprint is not None:
        footprint = np.flip(np.asarray(footprint))
    if structure is not None:
        structure = np.flip(np.asarray(structure))
    if footprint is not None or structure is not None:
        size = None
    return _extreme(x, size, footprint, structure, output, mode, cval, turned, axes, True, raw)


def opened(x: Any, output: Any, settings: Any) -> Any:
    """Erosion, then dilation of what that leaves."""
    return _last(dilated, eroded(x, None, settings, x.dtype), output, settings, x.dtype)


def closed(x: Any, output: Any, settings: Any) -> Any:
    """Dilation, then erosion of what that leaves."""
    return _last(eroded, dilated(x, None, settings, x.dtype), output, settings, x.dtype)


def _last(step: Any, x: Any, output: Any, settings: Any, dtype: Any) -> Any:
    dtype = parts.dtype_of(output, dtype)
    return parts.finished(step(x, None, settings, dtype), dtype, output)


def settings_of(
    size: Any, footprint: Any, structure: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    if size is not None and footprint is not None:
        raise ValueError("size is ignored because footprint is set")
    return size, footprint, structure, mode, cval, origin, axes


ARRAYS = ("input", "footprint", "structure", "output")


@in_numpy("ndimage.grey_erosion", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def grey_erosion(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Minimum of windows, less a structure's heights."""
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    return eroded(np.asarray(input), output, settings)


@in_numpy("ndimage.grey_dilation", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def grey_dilation(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Maximum of windows, plus a structure's heights."""
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    return dilated(np.asarray(input), output, settings)


@in_numpy("ndimage.grey_opening", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def grey_opening(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Erosion, then dilation."""
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    return opened(np.asarray(input), output, settings)


@in_numpy("ndimage.grey_closing", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def grey_closing(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Dilation, then erosion."""
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    return closed(np.asarray(input), output, settings)
