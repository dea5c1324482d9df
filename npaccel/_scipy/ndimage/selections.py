"""Extremes, their positions, and medians by label in `scipy.ndimage`."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.sorting import in_order
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.ndimage import _labels as groups

_ARRAYS = ("input", "labels", "index")


def _ordered(x: torch.Tensor) -> torch.Tensor:
    """Return numbers that torch compares: complex ones have no order here."""
    if x.is_complex():
        raise TypeError("complex numbers have no order")
    return x


def _comparable(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.uint8) if x.dtype == torch.bool else x


def _worst(x: torch.Tensor, largest: bool) -> Any:
    if x.is_floating_point():
        return -torch.inf if largest else torch.inf
    limits = torch.iinfo(x.dtype)
    return limits.min if largest else limits.max


def _extreme_of_one(x: torch.Tensor, mask: Any, largest: bool) -> torch.Tensor:
    groups.some(mask)
    values = _comparable(_ordered(x))
    if mask is not None:
        worst = torch.full((), _worst(values, largest), dtype=values.dtype, device=x.device)
        values = torch.where(mask, values, worst)
    return (values.max() if largest else values.min()).to(x.dtype)


def _extremes(found: groups.Groups, largest: bool) -> torch.Tensor:
    """Return the extreme of each group; SciPy sorts a NaN after all other numbers."""
    values = _comparable(_ordered(found.values))
    if largest or not values.is_floating_point():
        return found.extremes(values, largest).to(found.values.dtype)
    broken = torch.isnan(values)
    best = found.extremes(torch.where(broken, torch.inf, values), False)
    whole = found.extremes((~broken).to(torch.uint8), True)
    empty = found.extremes(torch.ones_like(found.group), True) == 0
    return torch.where((whole > 0) | empty, best, torch.nan)


def _extreme(input: Any, labels: Any, index: Any, largest: bool) -> torch.Tensor:
    if groups.is_one(labels, index):
        return _extreme_of_one(*groups.mask_of(input, labels, index), largest)
    found = groups.grouped(input, labels, index)
    return found.each(_extremes(found, largest))


@on_tensors("ndimage.minimum", arrays=_ARRAYS)
def minimum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Smallest element of each label."""
    return _extreme(input, labels, index, False)


@on_tensors("ndimage.maximum", arrays=_ARRAYS)
def maximum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Largest element of each label."""
    return _extreme(input, labels, index, True)


def _position(input: Any, labels: Any, index: Any, largest: bool) -> torch.Tensor:
    """Return where extremes are, counted through all elements."""
    if groups.is_one(labels, index):
        x, mask = groups.mask_of(input, labels, index)
        best = _extreme_of_one(x, mask, largest)
        if x.is_floating_point():
            checks.holds(~torch.isnan(best), "a NaN is nowhere")
        here = x == best if mask is None else mask & (x == best)
        return torch.argmax(here.reshape(-1).to(torch.uint8))
    found = groups.grouped(input, labels, index)
    return _places(found, _extremes(found, largest), largest)


def _places(found: groups.Groups, extremes: torch.Tensor, largest: bool) -> torch.Tensor:
    """Return where the extremes of groups are: the first smallest, the last largest."""
    best = torch.nn.functional.pad(extremes, (0, 1))[found.group]
    here = found.values == best
    if found.values.is_floating_point():
        here = here | (torch.isnan(found.values) & torch.isnan(best))
    far = found.values.shape[0]
    places = torch.arange(far, device=found.values.device)
    return found.each(found.extremes(torch.where(here, places, -1 if largest else far), largest))


def _unravelled(position: torch.Tensor, shape: Any) -> Any:
    """Return positions as tuples of one index per axis."""
    found = torch.unravel_index(position.reshape(-1), shape)
    return list(zip(*(one.unbind() for one in found), strict=True))


def _positions(input: Any, labels: Any, index: Any, largest: bool) -> Any:
    if input.ndim == 0:
        raise IndexError("no axes")
    found = _unravelled(_position(input, labels, index, largest), input.shape)
    return found[0] if groups.is_one(labels, index) else found


@on_tensors("ndimage.minimum_position", arrays=_ARRAYS)
def minimum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Position of the smallest element of each label."""
    return _positions(input, labels, index, False)


@on_tensors("ndimage.maximum_position", arrays=_ARRAYS)
def maximum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Position of the largest element of each label."""
    return _positions(input, labels, index, True)


def _many_on_a_cpu(bound: dict[str, Any]) -> str:
    many = not groups.is_one(bound["labels"], bound["index"])
    return "on a CPU, SciPy sorts sooner" if many and free_for_scipy(bound) else ""


@on_tensors("ndimage.extrema", arrays=_ARRAYS, host_reason=_many_on_a_cpu)
def extrema(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Smallest and largest elements of each label, and where they are."""
    if not groups.is_one(labels, index) and input.ndim:
        found = groups.grouped(input, labels, index)
        both = [(_extremes(found, largest), largest) for largest in (False, True)]
        places = (_places(found, *one) for one in both)
        where = (_unravelled(one, input.shape) for one in places)
        return *(found.each(extreme) for extreme, _ in both), *where
    return (
        _extreme(input, labels, index, False),
        _extreme(input, labels, index, True),
        _positions(input, labels, index, False),
        _positions(input, labels, index, True),
    )


# -- Medians --------------------------------------------------------------------------------


def _halfway(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    kind = low.dtype if low.is_floating_point() else torch.float64
    return (low.to(kind) + high.to(kind)) / 2


def _median_of_one(x: torch.Tensor, mask: Any) -> torch.Tensor:
    groups.some(mask)
    values = _comparable(_ordered(x)).reshape(-1)
    if not values.shape[0]:
        raise ValueError("there are no elements")
    count = groups.number(x, mask)
    if mask is not None:
        worst = torch.full((), _worst(values, False), dtype=values.dtype, device=x.device)
        values = torch.where(mask.reshape(-1), values, worst)
    ordered = in_order(values)
    # By tensors of one number: numbers of Python would be read from the device.
    low, high = (ordered[at.reshape(1)].squeeze(0) for at in ((count - 1) // 2, count // 2))
    found = _halfway(low, high)
    if not found.dtype.is_floating_point or not x.is_floating_point():
        return found
    return torch.where(torch.isnan(ordered[-1]), torch.nan, found)


@on_tensors("ndimage.median", arrays=_ARRAYS)
def median(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Median of the elements of each label."""
    if groups.is_one(labels, index):
        return _median_of_one(*groups.mask_of(input, labels, index))
    found = groups.grouped(input, labels, index)
    values = _comparable(_ordered(found.values))
    by_value = torch.sort(values)
    order = torch.sort(found.group[by_value.indices], stable=True)
    ordered = by_value.values[order.indices]
    steps = torch.arange(found.count, device=input.device)
    first = torch.searchsorted(order.values, steps)
    last = torch.searchsorted(order.values, steps, right=True) - 1
    middle = first + torch.clamp((last - first) // 2, min=0)
    other = last - torch.clamp((last - first) // 2, min=0)
    end = max(ordered.shape[0] - 1, 0)
    result = _halfway(ordered[middle.clamp(0, end)], ordered[other.clamp(0, end)])
    missing = _halfway(*(_first_of_all(found, values),) * 2)
    return found.each(torch.where(last < first, missing, result))


def _first_of_all(found: groups.Groups, values: torch.Tensor) -> torch.Tensor:
    """Return the smallest element of the smallest label: SciPy's median of no elements."""
    lowest = found.labels == found.labels.min()
    worst = torch.full((), _worst(values, False), dtype=values.dtype, device=values.device)
    return torch.where(lowest, values, worst).min()
