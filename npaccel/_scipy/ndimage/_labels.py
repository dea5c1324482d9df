"""Elements by label, for the modules of `scipy.ndimage`, on tensors."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from npaccel._scipy.dispatch import checks


@dataclasses.dataclass(frozen=True)
class Groups:
    """The elements of an array in groups, one for each label that was asked for.

    Parameters
    ----------
    values : torch.Tensor
        In a row.
    group : torch.Tensor
        The group of each element, `count` where it's in none.
    count : int
    place : torch.Tensor
        For each label that was asked for its group: a label may be asked for twice.
    labels : torch.Tensor
        In a row.
    """

    values: torch.Tensor
    group: torch.Tensor
    count: int
    place: torch.Tensor
    labels: torch.Tensor

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum of values in each group."""
        found = torch.zeros(self.count + 1, dtype=values.dtype, device=values.device)
        return found.index_add(0, self.group, values)[: self.count]

    def extremes(self, values: torch.Tensor, largest: bool) -> torch.Tensor:
        """Return the smallest or largest of values in each group; an empty one has 0."""
        found = torch.zeros(self.count + 1, dtype=values.dtype, device=values.device)
        kind = "amax" if largest else "amin"
        found = found.scatter_reduce(0, self.group, values, kind, include_self=False)
        return found[: self.count]

    def each(self, found: torch.Tensor) -> torch.Tensor:
        """Return what was found for groups, for each label that was asked for."""
        return found[self.place]


def grouped(x: torch.Tensor, labels: Any, index: Any) -> Groups:
    """Put elements into groups, by the labels that are asked for."""
    index = as_index(index, x.device)
    x, labels = torch.broadcast_tensors(x, labels)
    exact = not (labels.is_floating_point() or index.is_floating_point())
    kind = torch.int64 if exact else torch.float64
    wanted, flat = index.reshape(-1).to(kind), labels.reshape(-1).to(kind)
    ordered = torch.sort(wanted).values
    count = ordered.shape[0]
    group = torch.searchsorted(ordered, flat)
    if count:
        inside = ordered[group.clamp(max=count - 1)] == flat
        group = torch.where(inside, group, count)
    place = torch.searchsorted(ordered, wanted).reshape(index.shape)
    return Groups(x.reshape(-1), group, count, place, flat)


def as_index(index: Any, device: torch.device) -> torch.Tensor:
    """Return the labels that are asked for as a tensor."""
    if isinstance(index, torch.Tensor):
        return index
    return torch.as_tensor(list(index), device=device)


def mask_of(x: torch.Tensor, labels: Any, index: Any) -> tuple[torch.Tensor, Any]:
    """Return elements, and which of them are meant; None for all."""
    if x.dtype in (torch.float16, torch.bfloat16):
        raise TypeError("half floats aren't computed here")
    if labels is None:
        return x, None
    x, labels = torch.broadcast_tensors(x, labels)
    return x, labels > 0 if index is None else labels == index


def is_one(labels: Any, index: Any) -> bool:
    """Whether one result is asked for, not one for each label of an array."""
    return labels is None or index is None or isinstance(index, int | float)


def added(x: torch.Tensor) -> torch.Tensor:
    """Return the sum of elements in NumPy's dtype of it."""
    unsigned = x.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
    wide = x.to(torch.int64) if unsigned else x
    return wide.sum().to(torch.uint64) if unsigned else wide.sum()


def known(x: torch.Tensor, mask: Any) -> torch.Tensor:
    """Return the elements that are meant, zeros for the others."""
    if mask is None:
        return x
    return torch.where(mask, x, torch.zeros((), dtype=x.dtype, device=x.device))


def number(x: torch.Tensor, mask: Any) -> Any:
    """Return how many elements are meant."""
    if mask is None:
        return torch.full((), x.numel(), dtype=torch.int64, device=x.device)
    return mask.sum()


def some(mask: Any) -> None:
    """Raise ValueError where no element is meant."""
    if mask is not None:
        checks.holds(mask.any(), "no element has the label")


def float_of(x: torch.Tensor) -> torch.Tensor:
    """Return numbers as floats that sums are taken in."""
    return x if x.is_complex() else x.to(torch.float64)
