"""Index keys: what NumPy lets stand between the brackets, taken apart.

Integers, slices and new axes become a view; index arrays and masks are kept
for one gather or scatter on that view, with the place where NumPy puts their
axes in the result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from npaccel._numpy.core.dtypes import INT64, as_tensor, cast
from npaccel._numpy.ufuncs.dispatch import broadcast_shape
from npaccel._runtime.torch.symbolic_sizes import (
    assume,
    depends_on_data,
    holds_here,
    refuse_where,
    surely,
)

_Size = int | torch.SymInt
_BAD_KEY = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
    "boolean arrays are valid indices"
)
_BAD_ARRAY = "arrays used as indices must be of integer (or boolean) type"


@dataclasses.dataclass(frozen=True)
class _Part:
    """One entry of a key.

    `array` is an index array (int64) or a mask; `source` is how many axes of the
    array the entry stands for.
    """

    kind: Literal["int", "slice", "new", "rest", "array", "mask"]
    value: Any = None
    source: int = 0


@dataclasses.dataclass
class Selection:
    """A view of the array, and what is gathered from it.

    Parameters
    ----------
    view : tensor
        The array after its integers, slices and new axes.
    indices : list of tensor or None
        One per axis of the view, but for a mask, which stands for several.
    flips : list of int
        Axes of the view whose slice had a negative step: torch has no negative
        strides, so the view runs forward.
    place : int or None
        Where NumPy puts the gathered axes in the result; None: as torch does.
    element : bool
        Whether the key is one integer per axis: NumPy stores a scalar then.
    by_mask : bool
        Whether the key is one mask, of the array's shape.
    """

    view: torch.Tensor
    indices: list[torch.Tensor | None]
    flips: list[int]
    place: int | None = None
    element: bool = False
    by_mask: bool = False

    @property
    def gathers(self) -> bool:
        """Whether an index array or a mask takes part."""
        return any(index is not None for index in self.indices)


def select(a: torch.Tensor, key: Any, *, stores: bool = False) -> Selection:
    """Return the view that a key makes, and what is to be gathered from it.

    Parameters
    ----------
    a : tensor
    key : object
    stores : bool
        Whether the key is for a store, which needs no view of the array.
    """
    parts = expanded_key(a.ndim, key)
    unknown = [part for part in parts if part.kind == "int" and depends_on_data(part.value)]
    copies = stores or not any(part.kind in ("slice", "new") for part in parts)
    if unknown and (copies or any(part.kind in ("array", "mask") for part in parts)):
        parts, unknown = _gathered(parts, a), []
    selection = Selection(a, [], [])
    axis = 0  # of the array, for error texts
    for part in parts:
        later = any(part is one for one in unknown)
        _take(selection, _Part("slice", slice(None), 1) if later else part, axis)
        axis += part.source
    if unknown:
        _select_last(selection, parts, unknown)
    selection.place = numpy_place(parts)
    selection.element = all(
        part.kind == "int" or (part.kind == "array" and not part.value.ndim) for part in parts
    )
    selection.by_mask = [part.kind for part in parts] == ["mask"] and not any(
        surely(size != own) for size, own in zip(np.shape(parts[0].value), a.shape, strict=True)
    )
    return selection


def expanded_key(ndim: int, key: Any) -> list[_Part]:
    """Return the entries of a key, with an ellipsis or none at its end spelled out.

    Raises
    ------
    IndexError
        If an entry is no index, or there are too many for an array of `ndim` axes.
    """
    entries = key if isinstance(key, tuple) else (key,)
    return _expanded([_part(entry) for entry in entries], ndim)


def _select_last(selection: Selection, parts: list[_Part], unknown: list[_Part]) -> None:
    """Take an integer that depends on the data, after all slices: a view begins anywhere."""
    if len(unknown) > 1:
        raise NotImplementedError(
            "a view at several integers that are computed from array values can't be compiled; "
            "take one of them at a time, or copy the array with an index array"
        )
    before = parts[: next(i for i, part in enumerate(parts) if part is unknown[0])]
    at = sum(part.kind in ("slice", "new") for part in before)
    index = unknown[0].value
    _check_bounds(index, selection.view.shape[at], sum(part.source for part in before))
    selection.view = selection.view.select(at, index)
    del selection.indices[at]
    selection.flips = [axis - (axis > at) for axis in selection.flips]


def _gathered(parts: list[_Part], a: torch.Tensor) -> list[_Part]:
    """Make index arrays without dimensions of integers, which may depend on the data."""
    return [
        _Part("array", torch.full((), part.value, dtype=torch.int64, device=a.device), 1)
        if part.kind == "int"
        else part
        for part in parts
    ]


def _part(entry: Any) -> _Part:
    if entry is None:
        return _Part("new")
    if entry is Ellipsis:
        return _Part("rest")
    if isinstance(entry, slice):
        return _Part("slice", entry, 1)
    if isinstance(entry, bool | np.bool_):
        return _Part("mask", bool(entry))
    if isinstance(entry, np.integer):
        return _Part("int", int(entry), 1)
    if isinstance(entry, int | torch.SymInt):
        return _Part("int", entry, 1)
    if isinstance(entry, list | tuple | np.ndarray):
        entry = _listed(entry)
    if not isinstance(entry, torch.Tensor):
        raise IndexError(_BAD_KEY)
    if entry.dtype == torch.bool:
        return _Part("mask", entry, entry.ndim)
    if entry.is_floating_point() or entry.is_complex():
        raise IndexError(_BAD_ARRAY if entry.ndim else _BAD_KEY)
    return _Part("array", cast(entry, INT64), 1)  # torch takes uint8 for a mask


def _listed(entry: Any) -> torch.Tensor:
    found = as_tensor(entry)
    if isinstance(entry, list | tuple) and 0 in found.shape and found.is_floating_point():
        return cast(found, INT64)  # NumPy takes [] for an array of no indices
    return found


def _plain_slice(entry: slice) -> slice:
    bounds = (_bound(entry.start), _bound(entry.stop), _bound(entry.step))
    if isinstance(bounds[2], int) and bounds[2] == 0:
        raise ValueError("slice step cannot be zero")
    return slice(*bounds)


def _bound(x: Any) -> Any:
    if x is None or isinstance(x, int | torch.SymInt):
        return x
    if isinstance(x, np.integer):
        return int(x)
    if isinstance(x, torch.Tensor) and not x.ndim and not (x.is_floating_point() or x.is_complex()):
        raise NotImplementedError(
            "a slice bound that is computed from array values can't be compiled: the shape "
            "would depend on the data; compute the bound outside the function, or use a mask"
        )
    raise TypeError("slice indices must be integers or None or have an __index__ method")


def _expanded(parts: list[_Part], ndim: int) -> list[_Part]:
    """Check the number of axes, and let Ellipsis stand for the slices it means."""
    if sum(part.kind == "rest" for part in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(part.source for part in parts)
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    full = [_Part("slice", slice(None), 1)] * (ndim - used)
    expanded: list[_Part] = []
    for part in parts:
        # An ellipsis that stands for no axes still parts two index arrays.
        expanded += [part, *full] if part.kind == "rest" else [part]
    return expanded if any(part.kind == "rest" for part in parts) else expanded + full


def _take(selection: Selection, part: _Part, axis: int) -> None:
    """Apply one entry to the view; its next axis follows those that have been handled."""
    view, at = selection.view, _handled(selection)
    if part.kind == "int":
        _check_bounds(part.value, view.shape[at], axis)
        selection.view = view.select(at, part.value)
    elif part.kind == "slice":
        selection.view, reverse = _sliced(view, at, _plain_slice(part.value))
        selection.flips += [at] if reverse else []
        selection.indices.append(None)
    elif part.kind == "new":
        selection.view = view.unsqueeze(at)
        selection.indices.append(None)
    elif part.kind == "array":
        selection.indices.append(part.value.to(view.device))
    elif part.kind == "mask":
        _take_mask(selection, part, axis)


def _handled(selection: Selection) -> int:
    """Return how many axes of the view the entries so far stand for."""
    return sum(
        index.ndim if index is not None and index.dtype == torch.bool else 1
        for index in selection.indices
    )


def _take_mask(selection: Selection, part: _Part, axis: int) -> None:
    view, at = selection.view, _handled(selection)
    if not part.source:  # a bool: a new axis of length one or zero
        selection.view = view.unsqueeze(at)
        if isinstance(part.value, bool):
            none = torch.zeros(int(part.value), dtype=torch.int64, device=view.device)
            selection.indices.append(none)
        else:
            selection.indices.append(part.value.reshape(1).to(view.device))
        return
    if part.source == 1 and surely(part.value.shape[0] == 0):
        # NumPy lets an empty mask stand for no indices, whatever the size of the axis.
        selection.indices.append(torch.zeros(0, dtype=torch.int64, device=view.device))
        return
    for offset, size in enumerate(part.value.shape):
        if holds_here(size != view.shape[at + offset], "a mask has another size than its array"):
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + offset}; size of "
                f"axis is {view.shape[at + offset]} but size of corresponding boolean axis is "
                f"{size}"
            )
    selection.indices.append(part.value.to(view.device))


def _check_bounds(index: _Size, size: _Size, axis: int) -> None:
    for is_inside in (index < size, index >= -size):
        if depends_on_data(is_inside):
            assume(is_inside, "an index is out of bounds")
        elif not is_inside:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")


def _sliced(view: torch.Tensor, at: int, key: slice) -> tuple[torch.Tensor, bool]:
    """Return the slice, run forward, and whether its step was negative."""
    step = 1 if key.step is None else key.step
    if key == slice(None) or (key.start is None and key.stop is None and step == 1):
        return view, False
    before = (slice(None),) * at
    if step > 0:
        return view[(*before, slice(key.start, key.stop, step))], False
    size = view.shape[at]
    start = size - 1 if key.start is None else _clamped(key.start, size)
    stop = -1 if key.stop is None else _clamped(key.stop, size)
    count = _larger(0, (start - stop - step - 1) // -step)
    first = start + (count - 1) * step
    # An empty slice would begin at start - step, which may be beyond the array.
    first = _larger(0, _smaller(first, size))
    found = view[(*before, slice(first, first + (count - 1) * -step + 1, -step))]
    return found, not surely(found.shape[at] == 1)  # One element is where it is either way.


def _clamped(bound: _Size, size: _Size) -> _Size:
    """Return a bound of a slice with a negative step, between -1 and size - 1."""
    if bound < 0:
        return _larger(bound + size, -1)
    return _smaller(bound, size - 1)


def _larger(a: _Size, b: _Size) -> _Size:
    return torch.sym_max(a, b)  # type: ignore[no-any-return, no-untyped-call]


def _smaller(a: _Size, b: _Size) -> _Size:
    return torch.sym_min(a, b)  # type: ignore[no-any-return, no-untyped-call]


def numpy_place(parts: list[_Part]) -> int | None:
    """Return where NumPy puts the gathered axes: where they were, or first if parted."""
    if not any(part.kind in ("array", "mask") for part in parts):
        return None
    gathered = [i for i, part in enumerate(parts) if part.kind in ("int", "array", "mask")]
    first, last = gathered[0], gathered[-1]
    if len(gathered) != last - first + 1:
        return 0
    return sum(part.kind in ("slice", "new") for part in parts[:first])


def kept_steps(strides: Sequence[Any], parts: list[_Part]) -> list[Any]:
    """Return an array's strides along the axes that slices keep, 0 for new ones, without signs."""
    found, axis = [], 0
    for part in parts:
        if part.kind == "slice":
            found.append(strides[axis] * abs(_plain_slice(part.value).step or 1))
        elif part.kind == "new":
            found.append(0)
        axis += part.source
    return found


def places(selection: Selection) -> tuple[int, int]:
    """Return where torch puts the gathered axes, and where NumPy does."""
    gathered = [i for i, index in enumerate(selection.indices) if index is not None]
    adjacent = gathered[-1] - gathered[0] + 1 == len(gathered)
    return (gathered[0] if adjacent else 0), selection.place or 0


def width(selection: Selection) -> int:
    """Return how many axes the index arrays give together."""
    return max(
        1 if index.dtype == torch.bool else index.ndim
        for index in selection.indices
        if index is not None
    )


def moved(x: torch.Tensor, source: int, target: int, width: int) -> torch.Tensor:
    """Move `width` adjacent axes."""
    if source == target or not width:
        return x
    return torch.movedim(
        x, tuple(range(source, source + width)), tuple(range(target, target + width))
    )


def check_broadcast(selection: Selection) -> None:
    """Raise NumPy's IndexError where the index arrays don't broadcast."""
    arrays = [i for i in selection.indices if i is not None and i.dtype != torch.bool]
    if len(arrays) > 1:
        try:
            broadcast_shape([index.shape for index in arrays])
        except ValueError as error:
            shapes = " ".join(str(tuple(index.shape)).replace(" ", "") for index in arrays)
            raise IndexError(
                "shape mismatch: indexing arrays could not be broadcast together with shapes "
                f"{shapes}"
            ) from error


def check_without_elements(selection: Selection) -> None:
    """Raise NumPy's IndexError for index arrays out of bounds where there is nothing to gather.

    torch looks at indices only where elements are read. While code is traced an assertion is made,
    on a CPU, at which NumPy runs the call.
    """
    if not any(surely(size == 0) for size in selection.view.shape):
        return
    arrays = [index for index in selection.indices if index is not None]
    if any(index.dtype == torch.bool or surely(index.numel() == 0) for index in arrays):
        return
    for index, size in zip(selection.indices, selection.view.shape, strict=False):
        if index is None:
            continue
        outside = (index < -size) | (index >= size)
        refuse_where(outside, IndexError(f"an index is out of bounds for an axis of size {size}"))


def bounded(index: torch.Tensor, size: Any, mode: str) -> torch.Tensor:
    """Apply ``mode=`` to index arrays: "raise" leaves them to the gather that follows.

    Raises
    ------
    ValueError
        If the mode isn't one of NumPy's.
    """
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if mode == "wrap":
        # Of an axis without elements index 0 is out of bounds, where dividing by 0 says nothing.
        return torch.remainder(index, torch.sym_max(size, 1))  # type: ignore[no-untyped-call]
    return index.clamp(0, size - 1) if mode == "clip" else index
