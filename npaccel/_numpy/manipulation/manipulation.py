"""Shapes and axes: views of the same elements, and their flips and rolls."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.exceptions import AxisError

from npaccel._numpy.core.axes import axes_of, axis_of, needs_array, reversed_axes
from npaccel._numpy.core.dtypes import as_tensor, is_scalar
from npaccel._numpy.core.layouts import lying_like
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.creation import shape_of
from npaccel._numpy.host.kernels import usable
from npaccel._numpy.indexing.indexing import fitted, flipped
from npaccel._numpy.manipulation.rolls import known_shifts, pairs_of, rolled
from npaccel._numpy.ufuncs.dispatch import broadcast_shape
from npaccel._numpy.ufuncs.integers import as_bits, as_signed
from npaccel._runtime.torch.symbolic_sizes import assume, depends_on_data, holds_here, surely

_ORDERS = ("C", "F", "A", "K")


def _is_fortran(x: torch.Tensor, order: str | None) -> bool:
    """Whether elements are to be read with the first axis fastest."""
    order = "C" if order is None else order
    if order not in _ORDERS:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order in ("A", "K"):
        return x.ndim > 1 and reversed_axes(x).is_contiguous() and not x.is_contiguous()
    return order == "F"


def reshaped(x: torch.Tensor, shape: Any, order: str = "C") -> torch.Tensor:
    """Return x in another shape: a view where NumPy returns one.

    Raises
    ------
    ValueError
        If the sizes don't fit.
    """
    sizes = _completed(x, shape)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if _is_fortran(x, order):
        return reversed_axes(reversed_axes(x).reshape(sizes[::-1]))
    return x.reshape(sizes)


def _completed(x: torch.Tensor, shape: Any) -> tuple[Any, ...]:
    """Return the sizes with the one that is -1 worked out."""
    if isinstance(shape, torch.Tensor):
        shape_of(shape)
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    unknown = [i for i, n in enumerate(sizes) if isinstance(n, int | np.integer) and n < 0]
    sizes = shape_of(tuple(1 if i in unknown else size for i, size in enumerate(sizes)))
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    total, known = x.numel(), math.prod(sizes)
    if unknown:
        wrong = holds_here(known == 0, "a size of a new shape is zero")
        wrong = wrong or surely(total % known != 0)
    else:
        wrong = surely(total != known)
    if wrong:
        asked = str(tuple(shape) if isinstance(shape, Sequence) else (shape,)).replace(" ", "")
        raise ValueError(f"cannot reshape array of size {total} into shape {asked}")
    if unknown:
        sizes = (*sizes[: unknown[0]], total // known, *sizes[unknown[0] + 1 :])
    return sizes


def along(x: torch.Tensor, axis: int | None) -> tuple[torch.Tensor, int]:
    """Return x, flattened where no axis is given or x has none, and the axis to work along."""
    if axis is None or not x.ndim:
        return x.reshape(-1), axis_of(0 if axis is None else axis, 1)
    return x, axis_of(axis, x.ndim)


@implements(np.reshape)
def reshape(
    a: Any,
    /,
    shape: Any = None,
    order: str = "C",
    *,
    newshape: Any = None,
    copy: bool | None = None,
) -> torch.Tensor:
    """`numpy.reshape`; `newshape` is the name that NumPy 2.0 had."""
    if shape is None and newshape is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    x = as_tensor(a)
    found = reshaped(x, newshape if shape is None else shape, order)
    return found.clone() if copy else found


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> torch.Tensor:
    """`numpy.ravel`: a view of a contiguous array."""
    x = as_tensor(a)
    if order == "K" and not _is_fortran(x, "K"):
        # Elements as they lie in memory: only whole permutations are told apart.
        strides = x.stride()
        axes = sorted(range(x.ndim), key=lambda axis: -strides[axis])
        return x.permute(axes).contiguous().view(-1)
    return (reversed_axes(x) if _is_fortran(x, order) else x).contiguous().view(-1)


@implements(np.transpose)
def transpose(a: Any, axes: Any = None) -> torch.Tensor:
    """`numpy.transpose`: a view."""
    x = as_tensor(a)
    if axes is None:
        return reversed_axes(x)
    order = tuple(axes) if isinstance(axes, Sequence) else (axes,)
    if len(order) != x.ndim:
        raise ValueError("axes don't match array")
    found = tuple(axis_of(axis, x.ndim) for axis in order)
    if len(set(found)) < len(found):
        raise ValueError("repeated axis in transpose")
    return x.permute(found)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> torch.Tensor:
    """`numpy.matrix_transpose`: a view."""
    m = as_tensor(x)
    if m.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {m.ndim}")
    return m.transpose(-1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> torch.Tensor:
    """`numpy.swapaxes`: a view."""
    x = as_tensor(a)
    return x.transpose(axis_of(axis1, x.ndim), axis_of(axis2, x.ndim))


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> torch.Tensor:
    """`numpy.moveaxis`: a view."""
    x = as_tensor(a)
    origin, target = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(origin) != len(target):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    return torch.movedim(x, origin, target)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> torch.Tensor:
    """`numpy.rollaxis`: a view."""
    x = needs_array(a)
    origin = axis_of(axis, x.ndim)
    first = start + x.ndim if start < 0 else start
    if not 0 <= first <= x.ndim:
        raise AxisError(f"'start' arg requires {-x.ndim} <= start < {x.ndim + 1}, got {start}")
    return torch.movedim(x, origin, first - 1 if origin < first else first)


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> torch.Tensor:
    """`numpy.expand_dims`: a view."""
    x = as_tensor(a)
    count = len(axis) if isinstance(axis, Sequence) else 1
    for position in sorted(axes_of(axis, x.ndim + count)):
        x = x.unsqueeze(position)
    return x


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> torch.Tensor:
    """`numpy.squeeze`: a view, or the array itself where there is nothing to squeeze."""
    x = as_tensor(a)
    if axis is None:
        return squeezed(x)
    if not x.ndim and axis in (0, -1):
        return x.squeeze()
    axes = axes_of(axis, x.ndim)
    for size in (x.shape[i] for i in axes):
        if depends_on_data(size):
            assume(size == 1, "an axis that is squeezed out hasn't one element")
        elif size != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return x.squeeze(axes) if axes else x


def squeezed(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor without its axes of one element, itself if there is none."""
    unusual = "an axis has one element, and is squeezed out"
    axes = tuple(i for i, size in enumerate(x.shape) if holds_here(size == 1, unusual))
    return x.squeeze(axes) if axes else x


# -- broadcasting


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> torch.Tensor:
    """`numpy.broadcast_to`: a view."""
    x = as_tensor(array)
    sizes = shape_of(shape)
    if x.ndim > len(sizes):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    return fitted(x, sizes).expand(sizes)


def _surely_equal(size: Any, other: Any) -> bool:
    return surely(size == other)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[torch.Tensor, ...]:
    """`numpy.broadcast_arrays`: views."""
    arrays = [as_tensor(x) for x in args]
    shape = broadcast_shape([x.shape for x in arrays])
    if all(x.ndim == len(shape) and all(map(_surely_equal, x.shape, shape)) for x in arrays):
        return tuple(arrays)  # The arrays themselves.
    return tuple(x.expand(shape) for x in arrays)


@implements(np.broadcast_shapes)
def broadcast_shapes(*args: Any) -> tuple[Any, ...]:
    """`numpy.broadcast_shapes`: a tuple of sizes."""
    return tuple(broadcast_shape([shape_of(shape) for shape in args]))


def _at_least(rank: int) -> Callable[..., Any]:
    def one(a: Any) -> torch.Tensor:
        x = as_tensor(a)
        if rank == 3 and x.ndim == 1:
            return x.reshape(1, -1, 1)
        if rank == 3 and x.ndim == 2:
            return x.unsqueeze(2)
        return x.reshape((1,) * (rank - x.ndim) + tuple(x.shape)) if x.ndim < rank else x

    def implementation(*arys: Any) -> Any:
        return one(arys[0]) if len(arys) == 1 else tuple(one(a) for a in arys)

    return implementation


atleast_1d = implements(np.atleast_1d)(_at_least(1))
atleast_2d = implements(np.atleast_2d)(_at_least(2))
atleast_3d = implements(np.atleast_3d)(_at_least(3))


@implements(np.ndim)
def ndim(a: Any) -> int:
    """`numpy.ndim`: a Python int."""
    return as_tensor(a).ndim


@implements(np.shape)
def shape(a: Any) -> tuple[Any, ...]:
    """`numpy.shape`: a tuple of sizes."""
    return tuple(as_tensor(a).shape)


@implements(np.size)
def size(a: Any, axis: Any = None) -> Any:
    """`numpy.size`: a Python or symbolic int."""
    x = as_tensor(a)
    return x.numel() if axis is None else math.prod(x.shape[i] for i in axes_of(axis, x.ndim))


# -- flips and rolls


@implements(np.flip, zero_d="scalar", note="a copy; NumPy returns a view")
def flip(m: Any, axis: Any = None) -> torch.Tensor:
    """`numpy.flip`: a copy, since torch has no negative strides."""
    x = as_tensor(m)
    axes = axes_of(axis, x.ndim)
    return flipped(x, axes) if x.ndim else x.clone()


@implements(np.flipud, note="a copy; NumPy returns a view")
def flipud(m: Any) -> torch.Tensor:
    """`numpy.flipud`."""
    x = as_tensor(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flipped(x, (0,))


@implements(np.fliplr, note="a copy; NumPy returns a view")
def fliplr(m: Any) -> torch.Tensor:
    """`numpy.fliplr`."""
    x = as_tensor(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flipped(x, (1,))


@implements(np.rot90, note="a copy; NumPy returns a view")
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> torch.Tensor:
    """`numpy.rot90`."""
    x = as_tensor(m)
    pair = tuple(axes)
    if len(pair) != 2:
        raise ValueError("len(axes) must be 2.")
    if pair[0] == pair[1] or abs(pair[0] - pair[1]) == x.ndim:
        raise ValueError("Axes must be different.")
    if any(not -x.ndim <= axis < x.ndim for axis in pair):
        raise ValueError(f"Axes={pair} out of range for array of ndim={x.ndim}.")
    first, second = axes_of(pair, x.ndim)
    turns = operator.index(k) % 4
    if turns == 0:
        return x
    if turns == 2:
        return flipped(x, (first, second))
    turned = flipped(x, (second,)) if turns == 1 else x
    turned = turned.transpose(first, second)
    return turned if turns == 1 else flipped(turned, (second,))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> torch.Tensor:
    """`numpy.roll`; a shift may be a 0-d integer array."""
    x = as_tensor(a)
    if axis is None:
        return roll(x.reshape(-1), shift, 0).reshape(x.shape)
    pairs = pairs_of(shift, axis, x.ndim)
    found = as_signed(x)
    shifts = known_shifts(x.shape, pairs) if usable(x) else None
    if shifts is not None:
        return lying_like(as_bits(rolled(found, shifts), x.dtype) if shifts else x.clone(), x)
    for amount, position in pairs:
        found = _rolled(found, amount, position)
    return lying_like(found.clone() if found is x else as_bits(found, x.dtype), x)


def _rolled(x: torch.Tensor, shift: Any, axis: int) -> torch.Tensor:
    if is_scalar(shift) or isinstance(shift, np.integer):
        if isinstance(shift, float):
            raise TypeError("'float' object cannot be interpreted as an integer")
        if not depends_on_data(x.shape[axis]):
            return torch.roll(x, int(shift) if isinstance(shift, np.integer) else shift, axis)
        shift = torch.full((), shift, dtype=torch.int64, device=x.device)
    if shift.ndim or shift.is_floating_point():
        raise TypeError("roll takes integer shifts; pass several of them as a tuple")
    size = x.shape[axis]
    places = torch.remainder(torch.arange(size, device=x.device) - shift.to(torch.int64), size)
    return torch.index_select(x, axis, places)


# -- windows


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> torch.Tensor:
    """`numpy.lib.stride_tricks.sliding_window_view`: a view."""
    view = as_tensor(x)
    sizes = tuple(window_shape) if isinstance(window_shape, Sequence) else (window_shape,)
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None and len(sizes) != view.ndim:
        raise ValueError(
            "Since axis is None, must provide window_shape for all dimensions of `x`; "
            f"got {len(sizes)} window_shape elements and `x.ndim` is {view.ndim}."
        )
    given = range(view.ndim) if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    axes = [axis_of(i, view.ndim) for i in given]
    if len(axes) != len(sizes):
        raise ValueError(
            "Must provide matching length window_shape and axis; "
            f"got {len(sizes)} window_shape elements and {len(axes)} axes elements."
        )
    for size, position in zip(sizes, axes, strict=True):
        if surely(view.shape[position] < size):
            raise ValueError("window shape cannot be larger than input array shape")
        view = view.unfold(position, size, 1)
    return view
