"""Ranks of windows: the median and its relatives in `scipy.ndimage`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.ndimage import _common as parts
from npaccel._scipy.ndimage import _order_statistics as order

_NAN = "a NaN fills its windows, where what SciPy gives depends on the order of its steps"
#: Windows with more elements are sorted; on a CPU SciPy's selection is faster then.
_EXCHANGED = 25


def _host_reason(bound: dict[str, Any]) -> str:
    x, footprint = bound["input"], bound["footprint"]
    if not isinstance(x, torch.Tensor) or x.device.type != "cpu":
        return ""
    if footprint is None:
        axes = bound["axes"]
        rank = x.ndim if axes is None else len(axes) if isinstance(axes, tuple) else 1
        size = bound["size"]
        sizes = size if isinstance(size, tuple) else (size or 0,) * rank
        count = int(np.prod(sizes))
    else:
        count = int(np.count_nonzero(np.asarray(footprint)))
    if count <= _EXCHANGED:
        return ""
    return "on a CPU, SciPy's selection is faster than sorting windows of that many elements"


@in_numpy("ndimage.rank_filter", arrays=("input", "output"), host_reason=_host_reason, note=_NAN)
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The element of a rank in each window."""
    x = np.asarray(input)
    places, shape = _window(x, size, footprint, axes)
    return _ranked(x, int(rank), places, shape, output, mode, cval, origin, axes)


@in_numpy("ndimage.median_filter", arrays=("input", "output"), host_reason=_host_reason, note=_NAN)
def median_filter(
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
    """Median of each window; the upper one of the two of an even number."""
    x = np.asarray(input)
    places, shape = _window(x, size, footprint, axes)
    return _ranked(x, len(places) // 2, places, shape, output, mode, cval, origin, axes)


@in_numpy(
    "ndimage.percentile_filter", arrays=("input", "output"), host_reason=_host_reason, note=_NAN
)
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Percentile of each window, always one of its elements."""
    x = np.asarray(input)
    places, shape = _window(x, size, footprint, axes)
    if percentile < 0.0:
        percentile += 100.0
    if percentile < 0 or percentile > 100:
        raise RuntimeError("invalid percentile")
    count = len(places)
    rank = count - 1 if percentile == 100.0 else int(float(count) * percentile / 100.0)
    return _ranked(x, rank, places, shape, output, mode, cval, origin, axes)


def _window(x: Any, size: Any, footprint: Any, axes: Any) -> tuple[list[Any], list[int]]:
    """Return the places that are in a window with all axes of the data, and its shape."""
    chosen = parts.axes_of(axes, x.ndim)
    if footprint is None:
        sizes = parts.each(size, len(chosen))
        inside = parts.taps(sizes)
    else:
        if size is not None:
            raise ValueError("size is ignored because footprint is set")
        sizes = _shape(footprint)
        if len(sizes) != len(chosen):
            raise RuntimeError("footprint.ndim must match the number of axes")
        inside = [place for place in parts.taps(sizes) if _at(footprint, place)]
    ordered = sorted(chosen)
    shape = [sizes[ordered.index(axis)] if axis in chosen else 1 for axis in range(x.ndim)]
    places = [
        tuple(place[ordered.index(axis)] if axis in chosen else 0 for axis in range(x.ndim))
        for place in inside
    ]
    return places, shape


def _shape(nested: Any) -> list[int]:
    return [len(nested), *_shape(nested[0])] if isinstance(nested, tuple) else []


def _at(nested: Any, place: tuple[int, ...]) -> bool:
    for index in place:
        nested = nested[index]
    return bool(nested)


def _ranked(
    x: Any,
    rank: int,
    places: list[Any],
    shape: list[int],
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Any:
    count = len(places)
    rank = rank + count if rank < 0 else rank
    if not 0 <= rank < count or x.ndim == 0:
        raise RuntimeError("rank not within filter footprint size")
    chosen = parts.axes_of(axes, x.ndim)
    origins = dict(zip(chosen, parts.each(origin, len(chosen)), strict=True))
    dtype = parts.dtype_of(output, x.dtype)
    if x.ndim == 1 and x.dtype.kind in "biu" and 0 < rank < count - 1:
        x = order.comparable(x, [mode], int(cval))
        border = order.value_of(x, int(cval))
    else:
        x = order.orderable(x)
        border = order.cast(cval, x.dtype)
    grown = x
    for axis, size in enumerate(shape):
        before = parts.before_of(size, origins.get(axis, 0))
        after = size - 1 - before
        grown = parts.extended(grown, axis, before, after, mode, border)
    values = [parts.window(grown, place, x.shape) for place in places]
    if min(rank + 1, count - rank) * count > _EXCHANGED**2 // 2 + _EXCHANGED:
        return parts.finished(np.sort(np.stack(values), axis=0)[rank], dtype, output)
    return parts.finished(order.ranked(values, rank), dtype, output)
