"""In which order NumPy goes through arrays, and how what it computes lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npaccel._torch_internals.sizes import surely


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
