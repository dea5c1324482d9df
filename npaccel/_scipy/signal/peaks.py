"""Extremes of samples in `scipy.signal`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.signal import _common as parts

through_host(
    "signal.peak_prominences signal.peak_widths",
    "each peak is walked from until a higher sample comes",
)
through_host("signal.find_peaks_cwt", "ridges are followed from width to width")

_COMPARATORS: dict[Any, Any] = {
    np.greater: torch.gt,
    np.less: torch.lt,
    np.greater_equal: torch.ge,
    np.less_equal: torch.le,
    np.equal: torch.eq,
    np.not_equal: torch.ne,
}


# -- Relative extremes ----------------------------------------------------------------------


def _extremes(x: Any, compare: Any, axis: int, order: Any, mode: str) -> Any:
    """Return the places of elements that compare with all their neighbours."""
    if int(order) != order or order < 1 or x.is_complex():
        raise ValueError("Order must be an int >= 1")
    axis = parts.axis_of(axis, x.ndim)
    size = x.shape[axis]
    if mode not in ("clip", "wrap"):
        raise ValueError("clipmode must be one of 'clip' or 'wrap'")
    found = torch.ones_like(x, dtype=torch.bool)
    for shift in range(1, int(order) + 1):
        if mode == "wrap":
            found &= compare(x, torch.roll(x, -shift, axis))
            found &= compare(x, torch.roll(x, shift, axis))
            continue
        near = min(shift, size)
        inner = size - near
        for here, there in ((0, near), (near, 0)):
            beside = x.narrow(axis, there, inner)
            found.narrow(axis, here, inner).logical_and_(
                compare(x.narrow(axis, here, inner), beside)
            )
        for start, end in ((inner, size - 1), (0, 0)):
            edge = compare(x.narrow(axis, start, near), x.narrow(axis, end, 1))
            found.narrow(axis, start, near).logical_and_(edge)
    return torch.nonzero(found, as_tuple=True)


def _raising(bound: dict[str, Any]) -> str:
    if "comparator" in bound and bound["comparator"] not in _COMPARATORS:
        return "`comparator` is none of NumPy's comparisons"
    return ""


@on_tensors("signal.argrelextrema", arrays=("data",), host_reason=_raising)
def argrelextrema(
    data: Any, comparator: Any, axis: int = 0, order: int = 1, mode: str = "clip"
) -> Any:
    """The places of elements that compare with all their neighbours."""
    return _extremes(data, _COMPARATORS[comparator], axis, order, mode)


@on_tensors("signal.argrelmax", arrays=("data",))
def argrelmax(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """The places of elements that are larger than their neighbours."""
    return _extremes(data, torch.gt, axis, order, mode)


@on_tensors("signal.argrelmin", arrays=("data",))
def argrelmin(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """The places of elements that are smaller than their neighbours."""
    return _extremes(data, torch.lt, axis, order, mode)


# -- Peaks ----------------------------------------------------------------------------------


def _walked(bound: dict[str, Any]) -> str:
    """Leave to SciPy what looks at one peak after the other."""
    for name in ("distance", "prominence", "width"):
        if bound[name] is not None:
            return f"`{name}` looks at one peak after the other"
    return ""


def _limits(limits: Any, x: Any, peaks: Any) -> tuple[Any, Any]:
    """Return the least and the largest value of a property, at each peak."""
    pair = tuple(limits) if isinstance(limits, tuple | list) else (limits, None)
    if isinstance(limits, np.ndarray | torch.Tensor) and tuple(limits.shape) == (2,):
        pair = (limits[0], limits[1])
    found = []
    for one in pair:
        if one is not None:
            (one,) = (v.to(x.device) for v in parts.tensors(one))
            if one.ndim and one.numel() != x.numel():
                raise ValueError("array size of interval border must match x")
            one = one[peaks] if one.ndim else one
        found.append(one)
    low, high = found
    return low, high


def _kept(low: Any, high: Any, least: Any, largest: Any) -> Any:
    keep = torch.ones_like(least, dtype=torch.bool)
    keep = keep if low is None else keep & (low <= least)
    return keep if high is None else keep & (largest <= high)


@on_tensors(
    "signal.find_peaks", arrays=("x",), host_reason=on_a_cpu("SciPy's walk is as fast", _walked)
)
def find_peaks(
    x: Any,
    height: Any = None,
    threshold: Any = None,
    distance: Any = None,
    prominence: Any = None,
    width: Any = None,
    wlen: Any = None,
    rel_height: float = 0.5,
    plateau_size: Any = None,
) -> Any:
    """The places of samples, or of runs of equal ones, that are higher than what is around."""
    x = x.to(torch.float64)
    if x.ndim != 1 or any(one is not None for one in (distance, prominence, width)):
        raise ValueError("`x` must be a 1-D array, and what SciPy walks for not asked for")
    starts = torch.cat([x.new_ones(min(1, x.shape[0]), dtype=torch.bool), x[1:] != x[:-1]])
    left = torch.nonzero(starts).flatten()
    level = x[left]
    right = torch.cat([left[1:], left.new_full((1,), x.shape[0])]) - 1
    inner = slice(1, max(1, level.shape[0] - 1))
    high = (level[inner] > level[:-2]) & (level[inner] > level[2:])
    left, right = left[inner][high], right[inner][high]
    peaks = torch.div(left + right, 2, rounding_mode="floor")
    found: dict[str, Any] = {}
    if plateau_size is not None:
        found = {"plateau_sizes": right - left + 1, "left_edges": left, "right_edges": right}
        limits = _limits(plateau_size, x, peaks)
        peaks, found = _chosen(peaks, found, _kept(*limits, *[found["plateau_sizes"]] * 2))
    if height is not None:
        found["peak_heights"] = x[peaks]
        limits = _limits(height, x, peaks)
        peaks, found = _chosen(peaks, found, _kept(*limits, *[found["peak_heights"]] * 2))
    if threshold is not None:
        before, after = x[peaks] - x[peaks - 1], x[peaks] - x[peaks + 1]
        found.update(left_thresholds=before, right_thresholds=after)
        least, most = torch.minimum(before, after), torch.maximum(before, after)
        limits = _limits(threshold, x, peaks)
        peaks, found = _chosen(peaks, found, _kept(*limits, least, most))
    return peaks, found


def _chosen(peaks: Any, found: dict[str, Any], keep: Any) -> tuple[Any, dict[str, Any]]:
    return peaks[keep], {name: value[keep] for name, value in found.items()}
