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
    return _in_order(found, axes_by_memory([steps_in(x, x.shape) for x in parts]))


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
    return _in_order(found, _axes_by_stride(model))


def lying_as_gathered(found: torch.Tensor, place: int, width: int) -> torch.Tensor:
    """Return items at index arrays, or a copy of them, that lie in memory as NumPy's do.

    NumPy goes through the index arrays first, and then through all other axes. So it is for arrays
    in C order.

    Parameters
    ----------
    found : tensor
    place, width : int
        Where the axes of the index arrays are, and how many.
    """
    if any(map(depends_on_data, found.shape)):  # Nobody can tell then how an array lies.
        return found
    others = (i for i in range(found.ndim) if not place <= i < place + width)
    return _in_order(found, [*range(place, place + width), *others])


def _axes_by_stride(x: torch.Tensor) -> list[int]:
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
