"""Orders in which NumPy goes through arrays, and memory layouts of what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npaccel._numpy.core.axes import reversed_axes
from npaccel._runtime.torch.symbolic_sizes import depends_on_data, surely


def steps_in(x: torch.Tensor, shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return an array's strides where it's broadcast to a shape: 0 along axes of one element."""
    missing = len(shape) - x.ndim
    own = (0 if surely(n == 1) else step for n, step in zip(x.shape, x.stride(), strict=True))
    return (*(0,) * missing, *own)


def axes_by_memory(steps: Sequence[Sequence[Any]]) -> list[int]:
    """Return the axes from the outermost to the innermost, as NumPy's iterator orders them.

    Where arrays contradict each other, C order wins: `npyiter_find_best_axis_ordering` in
    NumPy's nditer_constr.c.

    Parameters
    ----------
    steps : sequence of sequence of int
        For each array its strides, 0 where it's broadcast.
    """
    inner_first: list[int] = []
    for axis in reversed(range(len(steps[0]) if steps else 0)):
        place = len(inner_first)
        for i in reversed(range(len(inner_first))):
            is_inner = _is_inner(axis, inner_first[i], steps)
            if is_inner is False:
                break
            if is_inner:
                place = i
        inner_first.insert(place, axis)
    return inner_first[::-1]


def _is_inner(axis: int, other: int, steps: Sequence[Sequence[Any]]) -> bool | None:
    """Whether an axis belongs within one that follows it in C order; None: no array tells."""
    pairs = [(own[axis], own[other]) for own in steps if not _is_zero(own[axis], own[other])]
    if not pairs:
        return None
    return all(surely(mine < its) for mine, its in pairs)


def _is_zero(*steps: Any) -> bool:
    return any(surely(step == 0) for step in steps)


def lying_as_numpys(
    found: torch.Tensor, operands: Sequence[torch.Tensor], order: str = "K"
) -> torch.Tensor:
    """Return what a ufunc computed, or a copy of it, that lies in memory as NumPy's does.

    Parameters
    ----------
    found : tensor
    operands : sequence of tensor
        What it was computed from: all arrays that NumPy's iterator goes through.
    order : {"K", "C", "F", "A"}
        NumPy's keyword.
    """
    if found.ndim < 2:
        return found
    if order == "A":
        order = "F" if all(reversed_axes(x).is_contiguous() for x in operands) else "C"
    if order == "F":
        return _in_order(found, list(reversed(range(found.ndim))))
    if order == "C" or all(x.is_contiguous() for x in operands):
        return found.contiguous()
    return _in_order(found, axes_by_memory([steps_in(x, found.shape) for x in operands]))


def lying_as_reduced(
    found: torch.Tensor, operands: Sequence[torch.Tensor], axes: Sequence[int]
) -> torch.Tensor:
    """Return what a ufunc reduced to, or a copy of it, that lies in memory as NumPy's does.

    Parameters
    ----------
    found : tensor
        With or without the reduced axes.
    operands : sequence of tensor
        The array, and the mask that says which elements count.
    axes : sequence of int
        The axes that were reduced.
    """
    if found.ndim < 2 or all(x.is_contiguous() for x in operands):
        return found
    order = axes_by_memory([steps_in(x, operands[0].shape) for x in operands])
    if found.ndim < len(order):
        order = [axis - sum(one < axis for one in axes) for axis in order if axis not in axes]
    return _in_order(found, order)


def lying_as_joined(found: torch.Tensor, parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return what was joined, or a copy of it, that lies in memory as NumPy's does."""
    if found.ndim < 2 or all(x.is_contiguous() for x in parts):
        return found
    return _in_order(found, _axes_of_parts(parts))


def _axes_of_parts(parts: Sequence[torch.Tensor]) -> list[int]:
    """Return the axes from the outermost to the innermost, as NumPy sorts them to join arrays.

    Axes of one element say nothing, and where arrays contradict each other, C order wins:
    `PyArray_CreateMultiSortedStridePerm` in NumPy's shape.c.
    """
    order: list[int] = []
    for axis in range(parts[0].ndim):
        place = len(order)
        for i in reversed(range(len(order))):
            pair = axis, order[i]
            told = [x for x in parts if not any(surely(x.shape[one] == 1) for one in pair)]
            if told and not all(surely(x.stride(axis) > x.stride(order[i])) for x in told):
                break
            if told:
                place = i
        order.insert(place, axis)
    return order


def lying_as_sliced_and_reduced(found: torch.Tensor, x: torch.Tensor, axis: int) -> torch.Tensor:
    """Return what `ufunc.reduceat` gives, or a copy of it, that lies in memory as NumPy's does.

    Parameters
    ----------
    found, x : tensor
    axis : int
        The axis of the slices, whose stride says nothing.
    """
    steps = [0 if i == axis else step for i, step in enumerate(steps_in(x, x.shape))]
    return _in_order(found, axes_by_memory([steps]))


def lying_as_allocated(found: torch.Tensor, model: torch.Tensor) -> torch.Tensor:
    """Return what NumPy stores in a new array, or a copy of it, that lies in memory as that does.

    The new array is in F order where the model is so and not in C order (`flags.fnc`), and in C
    order otherwise.

    Parameters
    ----------
    found, model : tensor
    """
    return lying_as_numpys(found, [found], "F" if is_fortran(model) else "C")


def is_fortran(x: torch.Tensor) -> bool:
    """Whether an array lies in F order, and not in C order (`flags.fnc`)."""
    return not x.is_contiguous() and reversed_axes(x).is_contiguous()


def lying_as_summed(
    found: torch.Tensor, terms: Sequence[Sequence[str]], labels: Sequence[str], operands: Any
) -> torch.Tensor:
    """Return a sum of products, or a copy of it, that lies in memory as `einsum`'s does.

    NumPy's iterator goes through the axes of the result, and then through those that are summed.

    Parameters
    ----------
    found : tensor
    terms : sequence of sequence of str
        Each operand's label of each axis.
    labels : sequence of str
        The result's labels.
    operands : sequence of tensor
    """
    if found.ndim < 2:
        return found
    every = [*labels, *sorted({label for term in terms for label in term} - {*labels})]
    steps = []
    for term, x in zip(terms, operands, strict=True):
        own = dict.fromkeys(every, 0)
        for label, step in zip(term, steps_in(x, x.shape), strict=True):
            own[label] = own[label] + step
        steps.append([*own.values()])
    return _in_order(found, [axis for axis in axes_by_memory(steps) if axis < found.ndim])


def lying_like(found: torch.Tensor, model: Any, order: str | None = "K") -> torch.Tensor:
    """Return an array of a model's shape, or a copy of it, that lies in memory as the model does.

    Parameters
    ----------
    found : tensor
    model : object
        If it isn't a tensor of as many axes, C order is meant by "K".
    order : {"K", "C", "F", "A", None}
        NumPy's keyword.
    """
    order = "K" if order is None else order
    if not isinstance(model, torch.Tensor):
        return lying_as_numpys(found, [found], "C" if order == "K" else order)
    if order != "K" or model.ndim != found.ndim:
        return lying_as_numpys(found, [model], "C" if order == "K" else order)
    if found.ndim < 2 or model.is_contiguous():
        return found.contiguous()
    return _in_order(found, axes_by_stride(model))


def lying_by_strides(found: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """Return an array, or a copy of it, whose axes lie in memory as strides say."""
    return _in_order(found, sorted(range(found.ndim), key=lambda axis: -strides[axis]))


def lying_as_gathered(
    found: torch.Tensor, place: int, width: int, steps: Sequence[Any]
) -> torch.Tensor:
    """Return items at index arrays, or a copy of them, that lie in memory as NumPy's do.

    NumPy goes through the index arrays first, and then through all other axes as they lie in
    memory.

    Parameters
    ----------
    found : tensor
    place, width : int
        Where the axes of the index arrays are, and how many.
    steps : sequence of int
        The array's strides along the other axes, 0 for new ones.
    """
    if any(map(depends_on_data, found.shape)):  # Nobody can tell then how an array lies.
        return found
    others = [i for i in range(found.ndim) if not place <= i < place + width]
    inner = [others[i] for i in axes_by_memory([steps])]
    return _in_order(found, [*range(place, place + width), *inner])


def axes_by_stride(x: torch.Tensor) -> list[int]:
    """Return the axes, those with the longest strides first, as NumPy sorts them for a copy."""
    axes: list[int] = []
    for axis, step in enumerate(x.stride()):
        after = (i for i, other in enumerate(axes) if surely(x.stride(other) < step))
        axes.insert(next(after, len(axes)), axis)
    return axes


def _in_order(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """Return a tensor, or a copy of it, whose axes lie in memory in an order, outermost first."""
    lying = x.permute(tuple(axes))
    if lying.is_contiguous():
        return x
    back = sorted(range(x.ndim), key=axes.__getitem__)
    return lying.contiguous().permute(tuple(back))
