"""Sorting, searching in sorted arrays, and positions of extrema."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, written_back
from npaccel._numpy.core.dtypes import (
    INT64,
    as_dtype,
    as_tensor,
    cast,
    dtype_of,
    result_dtype,
    strong,
    to_numpy,
)
from npaccel._numpy.core.layouts import lying_like
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.ufuncs.integers import from_ordered as from_order
from npaccel._numpy.ufuncs.integers import ordered as in_signed_order
from npaccel._runtime.torch.symbolic_sizes import holds_here, refuse_where, surely

_KINDS = ("quicksort", "mergesort", "heapsort", "stable")
_NO_FIELDS = "Cannot specify order when the array has no fields."


def keys_of(x: torch.Tensor) -> torch.Tensor:
    """Return numbers in the order of x, of a dtype that torch can search in."""
    return x.to(torch.uint8) if x.dtype == torch.bool else in_signed_order(x)


#: NumPy sorts in descending order since 2.5, and knows no such parameter before.
_DESCENDING = inspect.signature(np.sort).parameters.get("descending")


def _check_sort(
    x: torch.Tensor, axis: int, kind: Any, order: Any, stable: Any = None, descending: Any = None
) -> int:
    """Check the arguments that all sorts share and return the axis."""
    if descending is not None and _DESCENDING is None:
        raise TypeError("sort() got an unexpected keyword argument 'descending'")
    if order is not None:
        raise ValueError(_NO_FIELDS)
    if kind is not None and stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time.")
    if kind is not None and not any(name.startswith(str(kind)[:1].lower()) for name in _KINDS):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return axis_of(axis, x.ndim)


def positions(x: torch.Tensor, axis: int, stable: bool = True) -> torch.Tensor:
    """Return the order of x along an axis, NaN last (int64)."""
    if host.usable(x):
        return host.argsort(x, axis, stable)
    if x.is_complex():
        real, imag = x.real, x.imag
        group = torch.isnan(real) * 2 + torch.isnan(imag) * 1
        return by_keys([imag, real, group], axis)
    return torch.sort(_alike(keys_of(x)), dim=axis, stable=True)[1]


def _alike(x: torch.Tensor) -> torch.Tensor:
    """Return x with one kind of NaN and of zero: a GPU may sort floats by their bits."""
    if not x.is_floating_point():
        return x
    return torch.where(torch.isnan(x), math.nan, torch.where(x == 0, 0.0, x))


def _descending_positions(x: torch.Tensor, axis: int) -> torch.Tensor:
    """Return the stable order of x along an axis from the largest down, NaN last."""
    if x.is_complex():
        raise NotImplementedError(
            "descending sorts of complex numbers can't be compiled; flip the ascending one"
        )
    # Equal ones change their order in both flips.
    order = x.shape[axis] - 1 - positions(keys_of(x).flip(axis), axis).flip(axis)
    if not x.is_floating_point():
        return order
    missing = torch.isnan(torch.gather(x, axis, order))
    return torch.gather(order, axis, positions(missing, axis))


def by_keys(keys: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
    """Return the order by several keys, the last one first, as `numpy.lexsort`."""
    if host.usable(*keys):
        return host.lexsort(list(keys), axis)
    order = positions(keys[0], axis)
    for key in keys[1:]:
        order = torch.gather(order, axis, positions(torch.gather(keys_of(key), axis, order), axis))
    return order


def ordered(x: torch.Tensor, axis: int) -> torch.Tensor:
    """Return x sorted along an axis, NaN last; complex by real, then imaginary part."""
    if host.usable(x):
        return host.sort(x, axis, False)
    if x.is_complex():
        return torch.gather(x, axis, positions(x, axis))
    if x.is_floating_point():
        return torch.sort(torch.where(torch.isnan(x), math.nan, x), dim=axis)[0]
    return from_order(torch.sort(in_signed_order(x), dim=axis)[0], x.dtype)


@implements(np.sort)
def sort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = None,
) -> torch.Tensor:
    """`numpy.sort`."""
    x = as_tensor(a)
    if axis is None:
        x, axis = x.reshape(-1), -1
    axis = _check_sort(x, axis, kind, order, stable, descending)
    if descending:
        found = torch.gather(in_signed_order(x), axis, _descending_positions(x, axis))
        return lying_like(from_order(found, x.dtype), x)
    return lying_like(ordered(x, axis), x)


@implements("numpy.ndarray.sort", mutates=(0,))
def sort_in_place(
    a: torch.Tensor,
    axis: int = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = None,
) -> None:
    """`numpy.ndarray.sort`: the array itself is sorted."""
    axis = operator.index(axis)  # which can't be None, unlike that of the function
    if host.usable(a) and not descending:
        axis = _check_sort(a, axis, kind, order, stable, descending)
        host.sort_in_place(a, axis, False)
        return
    a.copy_(sort(a, axis, kind, order, stable=stable, descending=descending))


@implements(np.argsort)
@implements("numpy.ndarray.argsort")
def argsort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = None,
) -> torch.Tensor:
    """`numpy.argsort`, stable on a GPU whatever the kind."""
    x = as_tensor(a)
    if axis is None or x.ndim == 0:
        axis = axis_of(-1 if axis is None else axis, 1)
        x = x.reshape(-1)
    axis = _check_sort(x, axis, kind, order, stable, descending)
    if descending:
        return _descending_positions(x, axis)
    return positions(x, axis, bool(stable) or str(kind)[:1].lower() in ("s", "m"))


@implements(np.sort_complex)
def sort_complex(a: Any) -> torch.Tensor:
    """`numpy.sort_complex`: sorted along the last axis, as complex numbers."""
    x = sort(a, axis=-1)
    if x.is_complex():
        return x
    own = to_numpy(x.dtype)
    return cast(x, result_dtype(own, np.sort_complex(np.ones(1, own)).dtype))


def _check_kth(x: torch.Tensor, kth: Any, axis: int) -> None:
    """Raise ValueError where a position of a partition is outside the array."""
    if isinstance(kth, torch.Tensor) and kth.ndim > 1:
        raise ValueError("object too deep for desired array")
    if surely(x.numel() == 0):
        return  # NumPy asks for positions only where there is something to move.
    n = x.shape[axis]
    for k in kth if isinstance(kth, list | tuple) else [kth]:
        if isinstance(k, torch.Tensor):
            refuse_where((k < -n) | (k >= n), ValueError(f"kth out of bounds ({n})"))
        elif not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")


_FULL_SORT = "on a GPU fully sorted, which is one of the valid partitions"


def _check_partition(x: torch.Tensor, kth: Any, axis: int, kind: str, order: Any) -> int:
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    axis = _check_sort(x, axis, None, order)
    _check_kth(x, kth, axis)
    return axis


def _known_places(x: torch.Tensor, kth: Any, axis: int) -> list[Any] | None:
    """Return the places of a partition for NumPy's kernel, or None where it can't be called."""
    places = list(kth) if isinstance(kth, list | tuple) else [kth]
    if not host.usable(x) or any(isinstance(k, torch.Tensor) for k in places):
        return None
    return [k + x.shape[axis] if k < 0 else k for k in places]


def _partitioned(x: torch.Tensor, kth: Any, axis: int) -> torch.Tensor:
    places = _known_places(x, kth, axis)
    return ordered(x, axis) if places is None else host.partition(x, places, axis)


@implements(np.partition, note=_FULL_SORT)
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> torch.Tensor:
    """`numpy.partition`."""
    x = as_tensor(a)
    if axis is None:
        x, axis = x.reshape(-1), -1
    return lying_like(_partitioned(x, kth, _check_partition(x, kth, axis, kind, order)), x)


@implements("numpy.ndarray.partition", mutates=(0,), note=_FULL_SORT)
def partition_in_place(
    a: torch.Tensor, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
) -> None:
    """`numpy.ndarray.partition`: the array itself is partitioned."""
    axis = _check_partition(a, kth, axis, kind, order)
    places = _known_places(a, kth, axis)
    if places is None:
        a.copy_(_partitioned(a, kth, axis))
    else:
        host.partition_in_place(a, places, axis)


@implements(np.argpartition, note=_FULL_SORT)
@implements("numpy.ndarray.argpartition", note=_FULL_SORT)
def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> torch.Tensor:
    """`numpy.argpartition`."""
    x = as_tensor(a)
    if axis is None or x.ndim == 0:
        x, axis = x.reshape(-1), -1 if axis is None else axis
    axis = _check_partition(x, kth, axis, kind, order)
    places = _known_places(x, kth, axis)
    return positions(x, axis) if places is None else host.argpartition(x, places, axis)


@implements(np.lexsort, zero_d="scalar")
def lexsort(keys: Any, axis: int = -1) -> torch.Tensor:
    """`numpy.lexsort`: by the last key first.

    Raises
    ------
    TypeError
        If there are no keys.
    ValueError
        If the keys' shapes differ.
    """
    parts = list(keys.unbind(0)) if isinstance(keys, torch.Tensor) else [as_tensor(k) for k in keys]
    if not parts:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(tuple(part.shape) != tuple(parts[0].shape) for part in parts[1:]):
        raise ValueError("all keys need to be the same shape")
    if parts[0].ndim == 0:
        axis_of(axis, 1)
        return torch.zeros((), dtype=torch.int64, device=parts[0].device)
    return by_keys(parts, axis_of(axis, parts[0].ndim))


def search(a: torch.Tensor, v: torch.Tensor, right: bool) -> torch.Tensor:
    """Return where values fit into a sorted 1-D tensor of the same dtype, NaN last."""
    if not a.dtype.is_floating_point:
        return torch.searchsorted(keys_of(a), keys_of(v).contiguous(), right=right)
    # torch's search is led astray by NaN, so the array's NaN count as infinity.
    missing = torch.isnan(a)
    numbers = torch.sum(~missing)
    found = torch.searchsorted(torch.where(missing, float("inf"), a), v.contiguous(), right=right)
    end = a.shape[0] if right else numbers
    return torch.where(torch.isnan(v), end, torch.minimum(found, numbers))


def _search_complex(a: torch.Tensor, v: torch.Tensor, right: bool) -> torch.Tensor:
    """Return where complex values fit, by the places of both in one sorted order."""
    n = a.shape[0]
    flat = v.reshape(-1)
    both = torch.cat([a, flat] if right else [flat, a])
    order = positions(both, 0)
    place = torch.empty_like(order).scatter(0, order, torch.arange(both.shape[0], device=a.device))
    mine = place[n:] if right else place[: flat.shape[0]]
    values_before = torch.empty_like(mine).scatter(
        0, positions(mine, 0), torch.arange(flat.shape[0], device=a.device)
    )
    return (mine - values_before).reshape(v.shape)


@implements(np.searchsorted, zero_d="scalar")
@implements("numpy.ndarray.searchsorted", zero_d="scalar")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> torch.Tensor:
    """`numpy.searchsorted` in a 1-D array.

    Raises
    ------
    ValueError
        If the array isn't 1-D, or `side` is neither "left" nor "right".
    """
    a = as_tensor(a)
    # Never narrowed, as the result holds no floats; Python numbers aren't weak here.
    dtype = as_dtype(np.result_type(to_numpy(a.dtype), strong(dtype_of(v))))
    a, values = cast(a, dtype), as_tensor(v, dtype)
    if a.ndim != 1:
        raise ValueError(f"object of too small depth for desired array: a is {a.ndim}-d, not 1-d")
    if str(side)[:1].lower() not in ("l", "r"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if sorter is not None:
        sorter = as_tensor(sorter)
        if to_numpy(sorter.dtype).kind not in "iu":
            raise TypeError("sorter must only contain integers")
        a = a[cast(sorter, INT64)]
    right = side[:1].lower() == "r"
    return (_search_complex if a.is_complex() else search)(a, values, right).contiguous()


def _first_true(mask: torch.Tensor, axis: int, keepdims: bool) -> torch.Tensor:
    return torch.argmax(mask.to(torch.uint8), axis, keepdims)


def _extreme_complex(x: torch.Tensor, axis: int, keepdims: bool, largest: bool) -> torch.Tensor:
    """Return the first position of the extreme by real, then imaginary part; NaN wins."""
    pick, worst = (torch.amax, -torch.inf) if largest else (torch.amin, torch.inf)
    missing = torch.isnan(x)
    real = torch.where(missing, worst, x.real)
    tie = ~missing & (real == pick(real, axis, True))
    imag = torch.where(tie, x.imag, worst)
    best = tie & (imag == pick(imag, axis, True))
    some = torch.any(missing, axis, keepdims)
    first = _first_true(missing, axis, keepdims)
    return torch.where(some, first, _first_true(best, axis, keepdims))


#: Number of elements from which NumPy finds the extreme one 2 to 6 times faster than compiled code,
#: which is more than what computes the elements saves by being fused with the search.
_LONG = 256


def _is_long(x: torch.Tensor, axis: int) -> bool:
    length: Any = x.shape[axis]
    return length >= _LONG if isinstance(length, int) else x.ndim == 1


#: Number of elements from which the extreme one is found by rows of `_ROW`, in one pass that runs
#: in parallel and is fused with what computes the elements.
_MANY, _ROW = 1 << 15, 1 << 10


def _is_by_rows(x: torch.Tensor) -> bool:
    numbers = x.dtype in (torch.float32, torch.float64, torch.int32, torch.int64)
    size: Any = x.shape[0] if x.ndim == 1 else 0
    return numbers and isinstance(size, int) and size >= _MANY


def _by_rows(x: torch.Tensor, largest: bool) -> torch.Tensor:
    """Return the first position of the extreme in a long vector.

    The row that holds it is found by the rows' extremes. What is left over after the last whole
    row is sought in a row that overlaps with it, whose other elements are less extreme.
    """
    pick: Any = torch.amax if largest else torch.amin
    place: Any = torch.argmax if largest else torch.argmin
    size = x.shape[0]
    whole = size // _ROW * _ROW
    extremes = pick(x[:whole].view(-1, _ROW), 1)
    if whole < size:
        extremes = torch.cat([extremes, pick(x[whole:], 0, True)])
    start = torch.clamp(place(extremes) * _ROW, max=size - _ROW)
    row = x[start + torch.arange(_ROW, device=x.device)]
    return start + place(row)  # type: ignore[no-any-return]


def extreme_position(x: torch.Tensor, axis: int, keepdims: bool, largest: bool) -> torch.Tensor:
    """Return the first position of the largest or smallest element, or of NaN."""
    if _is_by_rows(x):
        found = _by_rows(keys_of(x), largest)
        return found.unsqueeze(axis) if keepdims else found
    if _is_long(x, axis) and host.usable(x):
        found = host.extreme_position(x, axis, largest)
        return found.unsqueeze(axis) if keepdims else found
    if x.is_complex():
        return _extreme_complex(x, axis, keepdims, largest)
    operation: Callable[..., torch.Tensor] = torch.argmax if largest else torch.argmin
    keys = keys_of(x)
    # Inductor's vectors of 8-bit integers give wrong positions, and write out of bounds.
    keys = keys.to(torch.int32) if keys.element_size() == 1 else keys
    return operation(keys, axis, keepdims)


def _position(
    a: Any, axis: int | None, out: torch.Tensor | None, keepdims: Any, largest: bool
) -> torch.Tensor:
    x = as_tensor(a)
    of_all = axis is None or x.ndim == 0
    flat = x.reshape(-1) if of_all else x
    along = axis_of(0 if axis is None else axis, flat.ndim)
    if holds_here(flat.shape[along] == 0, "there are no elements"):
        name = "argmax" if largest else "argmin"
        raise ValueError(f"attempt to get {name} of an empty sequence")
    found = extreme_position(flat, along, bool(keepdims) and not of_all, largest)
    if keepdims and of_all:
        found = found.reshape((1,) * x.ndim)
    return written_back(found, out)


@implements(np.argmax, zero_d="scalar")
@implements("numpy.ndarray.argmax", zero_d="scalar")
def argmax(
    a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False
) -> torch.Tensor:
    """`numpy.argmax`: the first one; NaN is larger than any number."""
    return _position(a, axis, out, bool(keepdims), largest=True)


@implements(np.argmin, zero_d="scalar")
@implements("numpy.ndarray.argmin", zero_d="scalar")
def argmin(
    a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False
) -> torch.Tensor:
    """`numpy.argmin`: the first one; NaN is smaller than any number."""
    return _position(a, axis, out, bool(keepdims), largest=False)
