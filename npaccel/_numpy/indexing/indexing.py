"""Indexing: ``a[key]`` and ``a[key] = value`` with NumPy's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import (
    DType,
    as_tensor,
    cast,
    dtype_of,
    full_scalar,
    is_scalar,
    strong,
    to_numpy,
)
from npaccel._numpy.core.layouts import axes_by_memory, lying_as_gathered, steps_in
from npaccel._numpy.host import kernels as host
from npaccel._numpy.indexing.index_keys import (
    Selection,
    check_broadcast,
    check_without_elements,
    expanded_key,
    kept_steps,
    moved,
    numpy_place,
    places,
    select,
    width,
)
from npaccel._numpy.ufuncs.dispatch import broadcast_shape, is_symbolic
from npaccel._numpy.ufuncs.integers import as_bits, as_signed, either
from npaccel._runtime.torch.symbolic_sizes import (
    assume,
    depends_on_data,
    raise_unless,
    share_memory,
    surely,
)


def flipped(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """Return a copy that runs backwards along some axes (torch has no negative strides)."""
    if not axes:
        return x
    return as_bits(torch.flip(as_signed(x), tuple(axes)), x.dtype)


def selected(x: torch.Tensor, axis: int, places: torch.Tensor) -> torch.Tensor:
    """Return the elements at places (int64, 1-D) along an axis."""
    return as_bits(torch.index_select(as_signed(x), axis, places), x.dtype)


def getitem(a: torch.Tensor, key: Any) -> torch.Tensor:
    """Return ``a[key]``.

    Parameters
    ----------
    a : tensor
        The array.
    key : object
        Whatever NumPy takes: int, slice, None, Ellipsis, tensor of integers or
        bools, nested list, or a tuple of those.

    Returns
    -------
    tensor
        A view where NumPy returns one, but for slices with a negative step and
        for 0-d integer tensors, which give copies.

    Raises
    ------
    IndexError
        If there are too many indices, an int is out of bounds, an index is no
        integer, or a mask has the wrong shape.
    """
    selection = select(a, key)
    view = flipped(selection.view, selection.flips)
    if not selection.gathers:
        return view
    check_without_elements(selection)
    mask = _only_mask(selection)
    if mask is not None and mask.ndim and host.worth(view, mask):
        place = next(i for i, index in enumerate(selection.indices) if index is not None)
        flat = view.flatten(place, place + mask.ndim - 1)
        found = host.chosen(flat, mask.reshape(-1), place)
        return moved(found, place, selection.place or 0, 1)
    check_broadcast(selection)
    is_host = view.device.type == "cpu"  # as in `elements_at`
    found = torch.ops.aten.index.Tensor(
        view if is_host else as_signed(view), _of_one_rank(selection)
    )
    return moved(as_bits(found, view.dtype), *places(selection), width(selection))


def _of_one_rank(selection: Selection) -> list[torch.Tensor | None]:
    """Return the indices, those without dimensions with as many as the others have.

    While torch traces, it takes the first index without its dimensions where the next one has none.
    """
    rank = width(selection)
    return [
        index.reshape((1,) * rank) if index is not None and not index.ndim else index
        for index in selection.indices
    ]


def item(a: torch.Tensor, key: Any) -> torch.Tensor:
    """Return ``a[key]`` as `getitem` does, lying in memory as NumPy's result does."""
    found = getitem(a, key)
    if found.ndim < 2:
        return found
    parts = expanded_key(a.ndim, key)
    place = numpy_place(parts)
    if place is None:
        return found
    steps = kept_steps(a.stride(), parts)
    return lying_as_gathered(found, place, found.ndim - len(steps), steps)


def setitem(a: torch.Tensor, key: Any, value: Any) -> None:
    """Do ``a[key] = value``.

    Parameters
    ----------
    a : tensor
        Written in place.
    key : object
        As for `getitem`.
    value : tensor, Python scalar or nested list
        Cast to the dtype of `a` without a check, as NumPy does, and broadcast.

    Raises
    ------
    IndexError
        As for `getitem`.
    ValueError
        If the value doesn't broadcast to the selection.
    OverflowError
        If a Python int doesn't fit the dtype.

    Notes
    -----
    Where an index occurs twice, the last value stays. A mask with an array of
    as many values as it has True elements takes the values in order; that
    their number is right is checked when the code runs, on a CPU only.
    """
    selection = select(a, key, stores=True)
    source = value_for(value, to_numpy(a.dtype), a.device)
    mask = _only_mask(selection)
    _check_rank(selection, source)
    check_without_elements(selection)
    if not selection.gathers:
        _assign(selection.view, source, selection.flips)
    elif mask is not None:
        _assign_masked(selection, mask, source)
    else:
        _scatter(selection, source, value if isinstance(value, torch.Tensor) else source)


def _check_rank(selection: Selection, value: torch.Tensor) -> None:
    """Refuse values of more axes than NumPy takes here."""
    if selection.element and value.ndim:
        if any(surely(size != 1) for size in value.shape):
            raise ValueError("setting an array element with a sequence.")
        np.zeros(1)[0] = np.zeros((1,) * value.ndim)  # deprecated, then refused: ask NumPy
    if selection.by_mask and value.ndim > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
            f"input has {value.ndim} dimensions"
        )


def value_for(value: Any, dtype: DType, device: torch.device) -> torch.Tensor:
    """Return a value to be stored, as a tensor of the array's dtype."""
    if value is None or isinstance(value, str) or is_scalar(value):
        # Storing it in a NumPy element raises what NumPy raises.
        value = value if is_symbolic(value) else _stored(value, dtype)
        return full_scalar(value, dtype, device)
    if isinstance(value, torch.Tensor):
        found = cast(value, dtype)
    elif strong(dtype_of(value)).kind in "iub" and dtype.kind in "iub":
        found = as_tensor(value, dtype)  # checks that the numbers fit
    else:
        found = cast(as_tensor(value, strong(dtype_of(value))), dtype)
    return found.to(device) if found.ndim else found


def _stored(value: Any, dtype: DType) -> Any:
    cell = np.empty((), dtype)
    with np.errstate(all="ignore"):
        cell[()] = value
    return cell.item()


def fitted(value: torch.Tensor, shape: Any) -> torch.Tensor:
    """Return a value that broadcasts to a shape, without leading axes of length one.

    Raises
    ------
    ValueError
        If it doesn't broadcast.
    """
    fits = value
    while fits.ndim > len(shape) and surely(fits.shape[0] == 1):
        fits = fits.squeeze(0)
    own = tuple(reversed(fits.shape))
    pairs = zip(own, reversed(shape), strict=False)
    if fits.ndim > len(shape) or any(
        surely(size != 1) and surely(size != target) for size, target in pairs
    ):
        raise ValueError(
            f"could not broadcast input array from shape {_text(value.shape)} into shape "
            f"{_text(shape)}"
        )
    return fits


def _text(shape: Any) -> str:
    return str(tuple(shape)).replace(" ", "")


def _assign(view: torch.Tensor, value: torch.Tensor, flips: list[int]) -> None:
    value = fitted(value, view.shape)
    for size, target in zip(reversed(value.shape), reversed(view.shape), strict=False):
        if depends_on_data(size) and not surely(size == target):  # torch 2.11 can't copy it then.
            assume(size == target, "an array has another size than what it is stored into")
    value = value.clone()  # It may be part of the same memory; compilers drop the copy.
    if flips and value.ndim:
        value = flipped(value.expand(view.shape), flips)
    view.copy_(value)


def _only_mask(selection: Selection) -> torch.Tensor | None:
    """Return the mask, where one mask is all that gathers."""
    indices = [index for index in selection.indices if index is not None]
    if len(indices) == 1 and indices[0].dtype == torch.bool:
        return indices[0]
    return None


def _assign_masked(selection: Selection, mask: torch.Tensor, value: torch.Tensor) -> None:
    """Store under a mask, without a size that depends on the data."""
    source, place = places(selection)
    view = torch.movedim(
        selection.view,
        tuple(range(source, source + mask.ndim)),
        tuple(range(mask.ndim)),
    )
    rest = view.shape[mask.ndim :]
    wide = mask.reshape(mask.shape + (1,) * len(rest))
    aligned = _aligned(value, len(rest) + 1, place, 0)
    flips = [axis - (axis > source) * mask.ndim for axis in selection.flips]
    if surely(aligned.shape[0] == 1):
        each = fitted(aligned.squeeze(0), rest)
        each = flipped(each.expand(rest), flips) if flips else each
        view.copy_(either(wide, each, view))
        return
    each = fitted(aligned, (aligned.shape[0], *rest)).expand(aligned.shape[0], *rest)
    each = flipped(each, [axis + 1 for axis in flips])
    each = _apart(each.contiguous(), view)
    if view.device.type == "cpu":  # a GPU can't be used any more after such an error
        text = "NumPy boolean array indexing assignment: not one value for each True of the mask"
        raise_unless(torch.sum(mask) == aligned.shape[0], text)
    as_signed(view).masked_scatter_(wide.expand(view.shape), as_signed(each))


def _apart(read: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """Return what a store reads, a copy if it may be of the memory that is written."""
    return read.clone() if share_memory(read, written) else read


def _aligned(value: torch.Tensor, ndim: int, source: int, target: int) -> torch.Tensor:
    """Give a value as many axes as the result has, one of them moved."""
    while value.ndim > ndim and surely(value.shape[0] == 1):
        value = value.squeeze(0)
    if value.ndim > ndim:
        raise ValueError(
            f"shape mismatch: value array of shape {_text(value.shape)} could not be broadcast "
            "to indexing result"
        )
    return moved(value.reshape((1,) * (ndim - value.ndim) + tuple(value.shape)), source, target, 1)


def _scatter(selection: Selection, value: torch.Tensor, given: torch.Tensor) -> None:
    """Store a value, in the order that NumPy takes from the indices and the array given for it."""
    check_broadcast(selection)
    indices = _integer_indices(selection)
    view = selection.view
    source, place = places(selection)
    gathered = broadcast_shape([index.shape for index in indices if index is not None])
    rest = [size for size, index in zip(view.shape, indices, strict=True) if index is None]
    shape = (*rest[:place], *gathered, *rest[place:])
    value = fitted(value, shape)
    if value.ndim:
        # torch broadcasts by its own order of the axes, and refuses shared memory.
        order = _order_of_stores(indices, fitted(given, shape), gathered, rest, place)
        value = moved(value.expand(shape), place, source, len(gathered))
        if order != sorted(order):
            indices = [None if i is None else i.expand(gathered).permute(order) for i in indices]
            gathered = tuple(gathered[axis] for axis in order)
            inner = tuple(source + axis for axis in order)
            ahead, behind = range(source), range(source + len(order), value.ndim)
            value = value.permute((*ahead, *inner, *behind))
        value = value.clone(memory_format=torch.contiguous_format)
        flips = [_after(axis, indices, source, len(gathered)) for axis in selection.flips]
        value = flipped(value, flips)
        if not _is_in_order(value, gathered):
            if host.usable(view, value):
                host.store(view, indices, value)
                return
            value = _last_values(view, indices, value, gathered, source)
    else:
        value = _apart(value, view)
    read = [index if index is None else _apart(index, view) for index in indices]
    torch.ops.aten.index_put_.default(as_signed(view), read, as_signed(value))


def _order_of_stores(
    indices: Sequence[torch.Tensor | None],
    given: torch.Tensor,
    gathered: Sequence[Any],
    rest: Sequence[Any],
    place: int,
) -> list[int]:
    """Return the axes of the indices, outermost first, as NumPy goes through them.

    That is C order where each index stands for several elements, and else the order in which
    indices and values lie in memory (`PyArray_MapIterNew` in NumPy's mapping.c).

    Parameters
    ----------
    indices : sequence of tensor or None
    given : tensor
        What is stored, with the strides that NumPy sees.
    gathered, rest : sequence of int
        The shape that the indices have together, and that of the axes without one.
    place : int
        Where the axes of the indices are in the value.
    """
    count = len(gathered)
    if count < 2 or not all(surely(size == 1) for size in rest):
        return list(range(count))
    steps = [steps_in(index, gathered) for index in indices if index is not None]
    shape = (*rest[:place], *gathered, *rest[place:])
    return axes_by_memory([*steps, steps_in(given, shape)[place : place + count]])


#: Maximum number of elements that one thread stores, one after the other.
_IN_ORDER = 512


def _is_in_order(value: torch.Tensor, gathered: Sequence[Any]) -> bool:
    """Whether torch stores values in the order of their indices, or there is one index."""
    count = math.prod(gathered)
    if surely(count <= 1):
        return True
    return value.device.type == "cpu" and len(gathered) == 1 and surely(value.numel() <= _IN_ORDER)


def _last_values(
    view: torch.Tensor,
    indices: Sequence[torch.Tensor | None],
    value: torch.Tensor,
    gathered: Sequence[Any],
    source: int,
) -> torch.Tensor:
    """Give all that are stored to one place the value that comes last: any order will do then.

    Parameters
    ----------
    view : tensor
    indices : sequence of tensor or None
        One for each axis of the view, None where all of it is meant.
    value : tensor
        Of the shape of ``view[indices]``.
    gathered : sequence of int
        The shape that the indices have together.
    source : int
        Where its axes are in the value.
    """
    count = math.prod(gathered)
    place: torch.Tensor | int = 0
    size: Any = 1
    for index, length in zip(indices, view.shape, strict=True):
        if index is not None:
            place = place * length + torch.where(index < 0, index + length, index)
            size = size * length
    flat = torch.as_tensor(place).expand(tuple(gathered)).reshape(-1)
    order = torch.arange(count, device=view.device)
    last = order.new_zeros(size).scatter_reduce(0, flat, order, "amax")
    rows = value.flatten(source, source + len(gathered) - 1)
    rows = selected(rows, source, last[flat])
    return rows.reshape((*rows.shape[:source], *gathered, *rows.shape[source + 1 :]))


def _integer_indices(selection: Selection) -> list[torch.Tensor | None]:
    """Return one entry per axis of the view: masks as the positions of their True elements."""
    indices: list[torch.Tensor | None] = []
    for index in selection.indices:
        if index is not None and index.dtype == torch.bool:
            indices += torch.nonzero(index).unbind(1)
        else:
            indices.append(index)
    return indices + [None] * (selection.view.ndim - len(indices))


def _after(axis: int, indices: list[torch.Tensor | None], source: int, width: int) -> int:
    """Return where an axis of the view that isn't gathered is in torch's result."""
    position = sum(index is None for index in indices[:axis])
    return position if position < source else position + width
