"""Joining and splitting arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, deliver, needs_array
from npaccel._numpy.core.dtypes import (
    DType,
    as_dtype,
    as_tensor,
    cast,
    check_cast,
    is_scalar,
    result_dtype,
    to_numpy,
)
from npaccel._numpy.core.layouts import lying_as_joined
from npaccel._numpy.core.table import implements
from npaccel._numpy.manipulation.manipulation import atleast_1d, atleast_2d, atleast_3d
from npaccel._runtime.torch.symbolic_sizes import surely


def _items(arrays: Any) -> list[Any]:
    """Return the arrays to be joined; an array stands for its rows."""
    if isinstance(arrays, torch.Tensor):
        return list(arrays.unbind(0))
    if not isinstance(arrays, Sequence):
        raise TypeError(
            'arrays to stack must be passed as a "sequence" type such as list or tuple.'
        )
    return list(arrays)


def _joined(
    arrays: Sequence[torch.Tensor], axis: int, kind: DType, casting: str = "same_kind"
) -> torch.Tensor:
    for x in arrays:
        check_cast(to_numpy(x.dtype), kind, casting)
    return lying_as_joined(torch.cat([cast(x, kind) for x in arrays], axis), arrays)


def _kind(arrays: Sequence[Any], dtype: Any, out: torch.Tensor | None) -> DType:
    if out is not None and dtype is not None:
        raise TypeError(
            "concatenate() only takes `out` or `dtype` as an argument, but both were provided."
        )
    if out is not None:
        return to_numpy(out.dtype)
    return result_dtype(*arrays) if dtype is None else as_dtype(dtype)


@implements(np.concatenate, mutates=(2,))
def concatenate(
    arrays: Any,
    /,
    axis: int | None = 0,
    out: torch.Tensor | None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> torch.Tensor:
    """`numpy.concatenate`."""
    items = _items(arrays)
    if not items:
        raise ValueError("need at least one array to concatenate")
    kind = _kind([x if is_scalar(x) else as_tensor(x) for x in items], dtype, out)
    tensors = [as_tensor(x, kind if is_scalar(x) else None) for x in items]
    if axis is None:
        return deliver(_joined([x.reshape(-1) for x in tensors], 0, kind, casting), out)
    if not all(x.ndim for x in tensors):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    where = axis_of(axis, tensors[0].ndim)
    for position, x in enumerate(tensors[1:], 1):
        _check_joint(tensors[0].shape, x.shape, where, position)
    return deliver(_joined(tensors, where, kind, casting), out)


def _check_joint(first: Sequence[Any], other: Sequence[Any], axis: int, position: int) -> None:
    """Check that arrays of two shapes can be joined."""
    if len(first) != len(other):
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly, "
            f"but the array at index 0 has {len(first)} dimension(s) and the array at index "
            f"{position} has {len(other)} dimension(s)"
        )
    for i, (size, others) in enumerate(zip(first, other, strict=True)):
        if i != axis and surely(size != others):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but along dimension {i}, the array at index 0 has size "
                f"{size} and the array at index {position} has size {others}"
            )


@implements(np.stack)
def stack(
    arrays: Any,
    axis: int = 0,
    out: torch.Tensor | None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> torch.Tensor:
    """`numpy.stack`."""
    tensors = [as_tensor(x) for x in _items(arrays)]
    if not tensors:
        raise ValueError("need at least one array to stack")
    shape = tensors[0].shape
    if any(
        x.ndim != len(shape) or any(surely(a != b) for a, b in zip(x.shape, shape, strict=True))
        for x in tensors
    ):
        raise ValueError("all input arrays must have the same shape")
    where = axis_of(axis, len(shape) + 1)
    kind = _kind(tensors, dtype, out)
    for x in tensors:
        check_cast(to_numpy(x.dtype), kind, casting)
    found = torch.stack([cast(x, kind) for x in tensors], where)
    return deliver(lying_as_joined(found, [x.unsqueeze(where) for x in tensors]), out)


def _stack_along(widen: Callable[..., torch.Tensor], axis: int) -> Callable[..., torch.Tensor]:
    def implementation(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> torch.Tensor:
        items = [widen(x) for x in _items(tup)]
        # Rows side by side: one-dimensional arrays have only their first axis.
        where = 0 if axis == 1 and items and items[0].ndim == 1 else axis
        return concatenate(items, where, dtype=dtype, casting=casting)

    return implementation


hstack = implements(np.hstack)(_stack_along(atleast_1d, 1))
vstack = implements(np.vstack)(_stack_along(atleast_2d, 0))
for _name in {"row_stack"} & set(dir(np)):  # NumPy before 2.5
    implements(getattr(np, _name), note="it doesn't warn that it is deprecated")(vstack)
dstack = implements(np.dstack)(_stack_along(atleast_3d, 2))


@implements(np.column_stack)
def column_stack(tup: Any) -> torch.Tensor:
    """`numpy.column_stack`."""
    tensors = [as_tensor(x) for x in _items(tup)]
    return concatenate([x if x.ndim > 1 else atleast_2d(x).T for x in tensors], 1)


@implements(np.block)
def block(arrays: Any) -> torch.Tensor:
    """`numpy.block`."""
    depth = _depth(arrays)
    leaves = _leaves(arrays)
    rank = max(depth, *(as_tensor(x).ndim for x in leaves))
    kind = result_dtype(*(as_tensor(x) for x in leaves))
    if not depth:
        return _leaf(arrays, rank, kind).clone()
    if depth == 1:
        return concatenate([_leaf(x, rank, kind) for x in leaves], rank - 1)
    shape, placed = _blocks(arrays, depth, rank, kind)
    found = placed[0][0].new_empty(shape)  # to which each block is written once
    for x, starts in placed:
        ends = [start + size for start, size in zip(starts, x.shape, strict=True)]
        found[tuple(map(slice, starts, ends))] = x
    return lying_as_joined(found, [x for x, _ in placed])


def _leaves(x: Any) -> list[Any]:
    return [leaf for item in x for leaf in _leaves(item)] if isinstance(x, list) else [x]


def _depth(x: Any) -> int:
    if isinstance(x, tuple):
        raise TypeError(
            "Only lists can be used to arrange blocks, and np.block does not allow tuples."
        )
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(item) for item in x}
    if len(depths) > 1:
        raise ValueError("List depths are mismatched: all blocks must be nested equally deep")
    return depths.pop() + 1


def _leaf(x: Any, rank: int, kind: DType) -> torch.Tensor:
    tensor = as_tensor(x)
    return cast(tensor, kind).reshape((1,) * (rank - tensor.ndim) + tuple(tensor.shape))


def _blocks(
    x: Any, depth: int, rank: int, kind: DType
) -> tuple[list[Any], list[tuple[torch.Tensor, list[Any]]]]:
    """Return the shape of nested blocks, and the blocks with the places where they begin."""
    if not depth:
        leaf = _leaf(x, rank, kind)
        return list(leaf.shape), [(leaf, [0] * rank)]
    axis = rank - depth
    whole: list[Any] = []
    placed = []
    for position, item in enumerate(x):
        shape, parts = _blocks(item, depth - 1, rank, kind)
        if position:
            _check_joint(whole, shape, axis, position)
        start = whole[axis] if whole else 0
        for leaf, starts in parts:
            starts[axis] = starts[axis] + start
            placed.append((leaf, starts))
        whole = [*shape[:axis], start + shape[axis], *shape[axis + 1 :]]
    return whole, placed


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> torch.Tensor:
    """`numpy.append`."""
    first, second = as_tensor(arr), as_tensor(values)
    if axis is None:
        first, second, axis = first.reshape(-1), second.reshape(-1), 0
    return concatenate([first, second], axis)


# -- splitting


def split_at(x: torch.Tensor, bounds: Sequence[Any], axis: int) -> list[torch.Tensor]:
    """Return the views between bounds along an axis."""
    ends = [*bounds, x.shape[axis]]
    before = (slice(None),) * axis
    return [x[(*before, slice(a, b))] for a, b in zip([0, *bounds], ends, strict=True)]


def _split(ary: Any, indices_or_sections: Any, axis: int, even: bool) -> list[torch.Tensor]:
    x = as_tensor(ary)
    if isinstance(indices_or_sections, torch.Tensor):
        raise NotImplementedError(
            "split at positions that are computed from array values can't be compiled; "
            "pass a list of Python ints"
        )
    where = axis_of(axis, x.ndim)
    if isinstance(indices_or_sections, Sequence):
        return split_at(x, [operator.index(i) for i in indices_or_sections], where)
    sections, size = operator.index(indices_or_sections), x.shape[where]
    if even and sections == 0:
        raise ZeroDivisionError("integer modulo by zero")
    if sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    if even and size % sections:
        raise ValueError("array split does not result in an equal division")
    each, extra = size // sections, size % sections  # symbolic sizes have no divmod
    bounds = [i * each + torch.sym_min(i, extra) for i in range(1, sections)]  # type: ignore[no-untyped-call]
    return split_at(x, bounds, where)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[torch.Tensor]:
    """`numpy.array_split`: views."""
    return _split(ary, indices_or_sections, axis, even=False)


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[torch.Tensor]:
    """`numpy.split`: views."""
    if not isinstance(indices_or_sections, Sequence):
        needs_array(ary, "shape")
    return _split(ary, indices_or_sections, axis, even=True)


def _split_along(name: str, axis: int) -> Callable[..., list[torch.Tensor]]:
    def implementation(ary: Any, indices_or_sections: Any) -> list[torch.Tensor]:
        x = as_tensor(ary)
        least = max(axis + 1, 2)
        if x.ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, axis)

    return implementation


vsplit = implements(np.vsplit)(_split_along("vsplit", 0))
dsplit = implements(np.dsplit)(_split_along("dsplit", 2))


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[torch.Tensor]:
    """`numpy.hsplit`: views."""
    x = as_tensor(ary)
    if x.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(needs_array(ary), indices_or_sections, min(x.ndim - 1, 1))


if hasattr(np, "unstack"):  # NumPy 2.1

    @implements(np.unstack, zero_d="scalar")
    def unstack(x: Any, /, *, axis: Any = 0) -> tuple[torch.Tensor, ...]:
        """`numpy.unstack`: views."""
        tensor = needs_array(x)
        if tensor.ndim == 0:
            raise ValueError("Input array must be at least 1-d.")
        if isinstance(axis, Sequence):  # NumPy moves the axis with `moveaxis`, which takes several.
            if len(axis) != 1:
                raise ValueError(
                    "`source` and `destination` arguments must have the same number of elements"
                )
            (axis,) = axis
        return tuple(tensor.unbind(axis_of(axis, tensor.ndim)))
