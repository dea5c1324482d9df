"""Reductions among ranks, as NumPy's of the whole: NaN is the largest and the smallest of all.

Libraries of collectives compare floats in an order of their own, in which a NaN is lost or not. So
floats are compared as integers of the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npaccel._runtime.torch import layout

#: Integers that libraries of collectives don't take, and those that stand for them.
_WIDER = {torch.int16: torch.int32, torch.uint16: torch.int32, torch.uint32: torch.int64}
_SMALL_FLOATS = (torch.float16, torch.bfloat16)
_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def _sum(x: torch.Tensor, mesh: Any, axes: Sequence[int], how: str = "sum") -> torch.Tensor:
    dtype = x.dtype
    if dtype.is_complex:
        pairs = _sum(torch.view_as_real(x), mesh, axes, how)
        return torch.view_as_complex(pairs.contiguous())
    if dtype in _WIDER:
        return layout.reduced(x.to(_WIDER[dtype]), mesh, axes, how).to(dtype)
    if dtype is torch.uint64:
        return layout.reduced(x.view(torch.int64), mesh, axes, how).view(dtype)
    return layout.reduced(x, mesh, axes, how)


def _product(x: torch.Tensor, mesh: Any, axes: Sequence[int]) -> torch.Tensor:
    if x.dtype.is_complex:
        for axis in axes:
            x = layout.stacked(x, mesh, axis).prod(0)
        return x
    return _sum(x, mesh, axes, "product")


def _ordered(x: torch.Tensor, sign: int) -> torch.Tensor:
    """Return integers in the order of floats, with NaN at the end that a sign gives."""
    bits = _BITS[x.dtype]
    most = torch.iinfo(bits).max
    whole = x.view(bits)
    whole = torch.where(whole < 0, whole ^ most, whole)
    return torch.where(x.isnan(), most if sign > 0 else -most - 1, whole)


def _from_ordered(whole: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    most = torch.iinfo(whole.dtype).max
    is_nan = (whole == most) | (whole == -most - 1)
    found = torch.where(whole < 0, whole ^ most, whole).view(dtype)
    return torch.where(is_nan, float("nan"), found)


def _extreme(x: torch.Tensor, mesh: Any, axes: Sequence[int], how: str) -> torch.Tensor:
    dtype = x.dtype
    if dtype is torch.bool:
        return layout.reduced(x.to(torch.uint8), mesh, axes, how).to(dtype)
    if dtype in _WIDER:
        return layout.reduced(x.to(_WIDER[dtype]), mesh, axes, how).to(dtype)
    if dtype is torch.uint64:
        flip = torch.iinfo(torch.int64).min
        return (layout.reduced(x.view(torch.int64) ^ flip, mesh, axes, how) ^ flip).view(dtype)
    if dtype in _SMALL_FLOATS:
        return _extreme(x.float(), mesh, axes, how).to(dtype)
    if dtype in _BITS:
        whole = _ordered(x, 1 if how == "max" else -1)
        return _from_ordered(layout.reduced(whole, mesh, axes, how), dtype)
    return layout.reduced(x, mesh, axes, how)


def _only(x: torch.Tensor, mesh: Any, axes: Sequence[int]) -> torch.Tensor:
    """Return what one rank has, bit by bit; the others have zeros."""
    if x.dtype is torch.bool:
        return _max(x, mesh, axes)
    if x.dtype.is_complex:
        return torch.view_as_complex(_only(torch.view_as_real(x), mesh, axes).contiguous())
    if x.dtype in _SMALL_FLOATS:
        return _only(x.view(torch.int16), mesh, axes).view(x.dtype)
    if x.dtype in _BITS:
        return _sum(x.view(_BITS[x.dtype]), mesh, axes).view(x.dtype)
    return _sum(x, mesh, axes)


def _max(x: torch.Tensor, mesh: Any, axes: Sequence[int]) -> torch.Tensor:
    return _extreme(x, mesh, axes, "max")


def _min(x: torch.Tensor, mesh: Any, axes: Sequence[int]) -> torch.Tensor:
    return _extreme(x, mesh, axes, "min")


#: Reducers by the name that rules give.
REDUCERS: dict[str, Callable[[torch.Tensor, Any, Sequence[int]], torch.Tensor]] = {
    "only": _only,
    "sum": _sum,
    "product": _product,
    "max": _max,
    "min": _min,
    "any": _max,
    "all": _min,
}


def place_of_extreme(
    values: torch.Tensor, places: torch.Tensor, mesh: Any, axes: Sequence[int], how: str
) -> torch.Tensor:
    """Return where the largest or smallest of all elements is, the first of equal ones.

    Parameters
    ----------
    values, places : torch.Tensor
        A rank's largest or smallest elements, and where they are in the whole.
    mesh : DeviceMesh
    axes : sequence of int
        Axes of the mesh among which to look, whose ranks have parts in ascending order.
    how : {"argmax", "argmin"}
    """
    for axis in reversed(axes):
        several = layout.stacked(values, mesh, axis)
        found = layout.stacked(places, mesh, axis)
        first = getattr(torch, how)(several, dim=0, keepdim=True)
        values = torch.gather(several, 0, first).squeeze(0)
        places = torch.gather(found, 0, first).squeeze(0)
    return places


__all__ = ["REDUCERS", "place_of_extreme"]
