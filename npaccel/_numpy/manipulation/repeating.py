"""Repeating, inserting and deleting elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of
from npaccel._numpy.core.dtypes import INT64, as_tensor, cast, check_cast, is_scalar, to_numpy
from npaccel._numpy.core.layouts import lying_as_allocated, lying_as_gathered
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.creation import shape_of
from npaccel._numpy.indexing.indexing import fitted, getitem, selected, setitem, value_for
from npaccel._numpy.manipulation.joining import split_at
from npaccel._numpy.manipulation.manipulation import along, moveaxis, reshaped
from npaccel._runtime.torch.symbolic_sizes import depends_on_data, holds_here, refuse_where, surely


@implements(np.tile)
def tile(A: Any, reps: Any) -> torch.Tensor:
    """`numpy.tile`."""
    found = torch.tile(as_tensor(A), shape_of(reps))
    return found.clone() if _once(reps) else found


def _once(reps: Any) -> bool:
    sizes = reps if isinstance(reps, Sequence) else (reps,)
    return all(isinstance(n, int) and n == 1 for n in sizes)


@implements(np.repeat, data_dependent=True)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> torch.Tensor:
    """`numpy.repeat`; counts in an array make the size depend on the data."""
    x, where = along(as_tensor(a), axis)
    if isinstance(repeats, Sequence) and len(repeats) == 1 and is_scalar(repeats[0]):
        repeats = repeats[0]
    repeats = int(repeats) if isinstance(repeats, float) else repeats
    if isinstance(repeats, int | np.integer | torch.SymInt):
        if not isinstance(repeats, torch.SymInt) and repeats < 0:
            if not surely(x.shape[where] == 0):
                raise ValueError("repeats may not contain negative values.")
            repeats = 0
        wide = x.unsqueeze(where + 1)
        shape = (*x.shape[: where + 1], repeats, *x.shape[where + 1 :])
        merged = (*x.shape[:where], x.shape[where] * repeats, *x.shape[where + 1 :])
        return wide.expand(shape).clone(memory_format=torch.contiguous_format).reshape(merged)
    counts = as_tensor(repeats)
    if isinstance(repeats, torch.Tensor):  # Python floats are cut to ints
        check_cast(to_numpy(counts.dtype), INT64, "safe")
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    counts = fitted(counts, (x.shape[where],)).expand(x.shape[where])
    if isinstance(repeats, Sequence):
        # Known counts: the positions are a constant of the graph.
        places = np.repeat(np.arange(len(repeats)), np.array(repeats, dtype=int)).tolist()
        return selected(x, where, _constant(places, x))
    refuse_where(counts < 0, ValueError("repeats may not contain negative values."))
    return torch.repeat_interleave(x, cast(counts, INT64), where)


def _constant(places: list[int], x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(places, dtype=torch.int64, device=x.device)


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> torch.Tensor:
    """`numpy.resize`: elements are repeated as often as it takes."""
    x = as_tensor(a).reshape(-1)
    shape = shape_of(new_shape)
    total = 1
    for size in shape:
        total = total * size
    if surely(x.numel() == 0):
        return x.new_zeros(shape)
    places = torch.remainder(torch.arange(total, device=x.device), x.numel())
    return reshaped(selected(x, 0, places), shape)


# -- inserting and deleting


def _line_of(arr: Any, axis: int | None) -> tuple[torch.Tensor, int]:
    """Return an array, flattened where no axis is given, and the axis to insert or delete along."""
    x = as_tensor(arr)
    return along(x, axis if axis is None else axis_of(axis, x.ndim))


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> torch.Tensor:
    """`numpy.delete` at positions that are known while tracing."""
    x, where = _line_of(arr, axis)
    size = x.shape[where]
    if isinstance(obj, int | np.integer | torch.SymInt) and not isinstance(obj, bool):
        place = _checked_place(obj, size, where, size - 1)
        first, _, last = split_at(x, [place, place + 1], where)
        return lying_as_allocated(torch.cat([first, last], where), x)
    if depends_on_data(size):
        left = torch.ones(size, dtype=torch.bool, device=x.device)
        setitem(left, _known_places(obj), False)
        return getitem(x, (*(slice(None),) * where, left))
    kept = np.delete(np.arange(_known(size)), _known_places(obj)).tolist()
    found = selected(x, where, _constant(kept, x))
    if isinstance(obj, slice) or _is_one_place(obj):
        return lying_as_allocated(found, x)
    return lying_as_gathered(found, where, 1, [*x.stride()[:where], *x.stride()[where + 1 :]])


def _is_one_place(obj: Any) -> bool:
    place = np.asarray(obj)
    return place.size == 1 and place.dtype != bool


_OUTSIDE = "a position is out of bounds"


def _checked_place(obj: Any, size: Any, axis: int, last: Any) -> Any:
    if holds_here(obj < -size, _OUTSIDE) or holds_here(obj > last, _OUTSIDE):
        raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {size}")
    return obj + size if obj < 0 else obj


def _known(size: Any) -> int:
    """Return a size as a Python int; a symbolic one is fixed by that."""
    return int(size)


def _known_places(obj: Any) -> Any:
    if isinstance(obj, slice) or not isinstance(obj, torch.Tensor):
        return obj
    raise NotImplementedError(
        "insert and delete at positions that are computed from array values can't be compiled: "
        "pass Python ints, a list or a slice; or take what is to be kept with a mask"
    )


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> torch.Tensor:
    """`numpy.insert` at positions that are known while tracing."""
    x, where = _line_of(arr, axis)
    size, kind = x.shape[where], to_numpy(x.dtype)
    added = (
        value_for(values, kind, x.device) if is_scalar(values) else cast(as_tensor(values), kind)
    )
    rest = (*x.shape[:where], *x.shape[where + 1 :])
    scalar = isinstance(obj, int | np.integer | torch.SymInt) and not isinstance(obj, bool)
    places = [obj] if scalar else _listed(_known_places(obj), size)
    if len(places) == 1:
        added = added.reshape((1,) * (x.ndim - added.ndim) + tuple(added.shape))
        added = moveaxis(added, 0, where) if scalar else added
        first, last = split_at(x, [_checked_place(places[0], size, where, size)], where)
        shape = (*rest[:where], added.shape[where], *rest[where:])
        found = torch.cat([first, fitted(added, shape).expand(shape), last], where)
        return lying_as_allocated(found, x)
    if not places and x.ndim == 1 and added.ndim and surely(added.shape[-1] == 0):
        return x.clone()  # NumPy fits nothing into nothing, whatever its shape
    shape = (*rest[:where], len(places), *rest[where:])
    both = torch.cat([x, fitted(added, shape).expand(shape)], where)
    # The live NumPy says in which order: positions of the values come behind.
    order = np.insert(np.arange(_known(size)), places, np.arange(len(places)) + _known(size))
    return lying_as_allocated(selected(both, where, _constant(order.tolist(), x)), x)


def _listed(obj: Any, size: Any) -> list[int]:
    """Return positions as a list of ints: of a slice, a list, or a list of bools."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(_known(size))))
    places = np.array(obj)
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if places.dtype == bool:
        return [int(i) for i in np.flatnonzero(places)]
    # An index array of floats is refused as NumPy refuses it; [] counts as integers.
    np.zeros(0)[places[:0] if places.size else []]
    return [int(i) for i in places.reshape(-1)]
