"""Sums, means and counts by label in `scipy.ndimage`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import free_for_scipy, on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.ndimage import _labels as groups

_ARRAYS = ("input", "labels", "index")


def _on_a_cpu(bound: dict[str, Any]) -> str:
    """Sums for many labels are quick on a CPU with NumPy's `bincount`."""
    many = not groups.is_one(bound["labels"], bound["index"])
    return "on a CPU, NumPy's bincount is faster" if many and free_for_scipy(bound) else ""


def _real(x: torch.Tensor) -> torch.Tensor:
    if x.is_complex():
        raise TypeError("complex numbers can't be weights")
    return x.to(torch.float64)


def _sum(x: Any, labels: Any, index: Any) -> torch.Tensor:
    if groups.is_one(labels, index):
        x, mask = groups.mask_of(x, labels, index)
        return groups.added(groups.known(x, mask))
    found = groups.grouped(x, labels, index)
    return found.each(found.sums(_real(found.values)))


@on_tensors("ndimage.sum_labels", arrays=_ARRAYS, host_reason=_on_a_cpu)
def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Sum of the elements of each label."""
    return _sum(input, labels, index)


@on_tensors("ndimage.sum", arrays=_ARRAYS, host_reason=_on_a_cpu)
def sum(input: Any, labels: Any = None, index: Any = None) -> Any:  # noqa: A001 (SciPy's name)
    """Sum of the elements of each label."""
    return _sum(input, labels, index)


@on_tensors("ndimage.mean", arrays=_ARRAYS, host_reason=_on_a_cpu)
def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Mean of the elements of each label."""
    if groups.is_one(labels, index):
        x, mask = groups.mask_of(input, labels, index)
        total = groups.float_of(groups.known(x, mask)).sum()
        return total / groups.number(x, mask).to(torch.float64)
    found = groups.grouped(input, labels, index)
    values = _real(found.values)
    return found.each(found.sums(values) / found.sums(torch.ones_like(values)))


def _variance(input: Any, labels: Any, index: Any) -> Any:
    if groups.is_one(labels, index):
        x, mask = groups.mask_of(input, labels, index)
        values = groups.float_of(x)
        count = groups.number(x, mask).to(torch.float64)
        centre = groups.known(values, mask).sum() / count
        away = groups.known(values - centre, mask)
        return (away * away.conj()).sum() / count
    found = groups.grouped(input, labels, index)
    values = _real(found.values)
    counts = found.sums(torch.ones_like(values))
    centres = torch.nn.functional.pad(found.sums(values) / counts, (0, 1))
    away = values - centres[found.group]
    return found.each(found.sums(away * away) / counts)


@on_tensors("ndimage.variance", arrays=_ARRAYS, host_reason=_on_a_cpu)
def variance(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Variance of the elements of each label."""
    return _variance(input, labels, index)


@on_tensors("ndimage.standard_deviation", arrays=_ARRAYS, host_reason=_on_a_cpu)
def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Standard deviation of the elements of each label."""
    return torch.sqrt(_variance(input, labels, index))


@on_tensors("ndimage.center_of_mass", arrays=_ARRAYS, host_reason=_on_a_cpu)
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Centre of mass of the elements of each label."""
    total = _sum(input, labels, index)
    found = []
    for axis, size in enumerate(input.shape):
        along = [1] * input.ndim
        along[axis] = -1
        grid = torch.arange(size, dtype=torch.float64, device=input.device).reshape(along)
        found.append(_sum(input * grid, labels, index) / total)
    if groups.is_one(labels, index):
        return tuple(found)
    if total.ndim != 1:
        raise NotImplementedError("`index` isn't a row of labels")
    return list(zip(*(one.reshape(-1).unbind() for one in found), strict=True))


def _as_objects(bound: dict[str, Any]) -> str:
    if not groups.is_one(bound["labels"], bound["index"]):
        return "SciPy gives an array of objects, one for each label"
    return ""


@on_tensors(
    "ndimage.histogram",
    arrays=_ARRAYS,
    host_reason=on_a_cpu("NumPy's histogram is faster", _as_objects),
)
def histogram(
    input: Any, min: float, max: float, bins: int, labels: Any = None, index: Any = None
) -> Any:
    """Counts of elements between equally spaced edges."""
    if labels is None and index is not None:
        raise ValueError("index without defined labels")
    edges = np.linspace(min, max, bins + 1)
    if bins < 1 or not np.all(np.diff(edges) >= 0):
        raise ValueError("bins must increase monotonically")
    x, mask = groups.mask_of(input, labels, index)
    if index is not None:
        groups.some(mask)
    values = x.to(torch.float64)
    inside = (values >= min) & (values <= max)
    inside = inside if mask is None else inside & mask
    limits = torch.from_numpy(edges).to(x.device)
    places = torch.searchsorted(limits, values.contiguous(), right=True) - 1
    places = torch.where(inside, places.clamp(0, bins - 1), bins)
    counts = torch.zeros(bins + 1, dtype=torch.int64, device=x.device)
    ones = torch.ones_like(places).reshape(-1)
    return counts.index_add(0, places.reshape(-1), ones)[:bins]
