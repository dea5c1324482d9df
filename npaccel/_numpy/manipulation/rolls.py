"""Rolls by known shifts: copies of slices, and several of one array from one wrapped copy.

Generated code takes each index of `torch.roll` modulo the size, an element at a time on a CPU.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of
from npaccel._numpy.ufuncs.integers import as_bits, as_signed


def pairs_of(shift: Any, axis: Any, ndim: int) -> list[tuple[Any, int]]:
    """Return shifts and their axes, as `numpy.roll` takes them: an axis may occur again.

    Raises
    ------
    ValueError
        If the two don't broadcast together.
    """
    axes = axis if isinstance(axis, Sequence) else (axis,)
    shifts = shift if isinstance(shift, Sequence) else (shift,)
    axes = [axis_of(i, ndim) for i in axes]
    count = max(len(axes), len(shifts)) if axes and shifts else 0
    if any(len(part) not in (1, count) for part in (axes, shifts)):
        raise ValueError("shape mismatch: shifts and axes can't be broadcast together")
    return list(zip(_stretched(shifts, count), _stretched(axes, count), strict=True))


def _stretched(values: Sequence[Any], count: int) -> list[Any]:
    return list(values) * count if len(values) == 1 else list(values)


def known_shifts(shape: Sequence[Any], pairs: Sequence[tuple[Any, int]]) -> dict[int, int] | None:
    """Return by axis how far the elements of an array move up, from 1 to its size - 1.

    Parameters
    ----------
    shape : sequence of int or torch.SymInt
    pairs : sequence of (shift, axis)

    Returns
    -------
    dict or None
        None if a shift or a size isn't known.
    """
    found: dict[int, int] = {}
    for shift, axis in pairs:
        if not (isinstance(shift, int | np.integer) and isinstance(shape[axis], int)):
            return None
        found[axis] = found.get(axis, 0) + int(shift)
    moved = {axis: shift % shape[axis] for axis, shift in found.items() if shape[axis]}
    return {axis: shift for axis, shift in moved.items() if shift}


def rolled(x: torch.Tensor, shifts: dict[int, int]) -> torch.Tensor:
    """Return an array rolled by `known_shifts`: each part is copied to its place.

    Parameters
    ----------
    x : torch.Tensor
    shifts : dict

    Returns
    -------
    torch.Tensor
        A copy.
    """
    found = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    for is_wrapped in itertools.product((False, True), repeat=len(shifts)):
        source, target = x, found
        for wraps, (axis, shift) in zip(is_wrapped, shifts.items(), strict=True):
            stays = x.shape[axis] - shift
            if wraps:
                source = source.narrow(axis, stays, shift)
                target = target.narrow(axis, 0, shift)
            else:
                source = source.narrow(axis, 0, stays)
                target = target.narrow(axis, shift, stays)
        target.copy_(source)
    return found


def wrapped(x: torch.Tensor, before: Sequence[int], after: Sequence[int]) -> torch.Tensor:
    """Return a copy of an array that goes on at both ends of its axes with those of the other end.

    Parameters
    ----------
    x : torch.Tensor
    before, after : sequence of int
        For each axis, how many elements of the other end are added; at most its size.
        One number each for an array with more axes: those of its elements in one axis.

    Returns
    -------
    torch.Tensor
        Unsigned integers are reinterpreted as signed.
    """
    source = as_signed(x.reshape(-1) if len(before) == 1 else x)
    sizes = [a + n + b for a, n, b in zip(before, source.shape, after, strict=True)]
    found = torch.empty(sizes, dtype=source.dtype, device=source.device)
    parts = [found]  # In the middle along the axes before the one of that number.
    for axis, n in enumerate(source.shape):
        parts.append(parts[-1].narrow(axis, before[axis], n))
    parts[-1].copy_(source)
    for axis in reversed(range(source.ndim)):
        part, n = parts[axis], source.shape[axis]
        front, back = before[axis], after[axis]
        if front:
            part.narrow(axis, 0, front).copy_(part.narrow(axis, n, front))
        if back:
            part.narrow(axis, front + n, back).copy_(part.narrow(axis, front, back))
    return found


def window(x: torch.Tensor, wide: torch.Tensor, starts: Sequence[int]) -> torch.Tensor:
    """Return an array rolled, as a part of its wrapped copy.

    Parameters
    ----------
    x : torch.Tensor
        Says of what shape and dtype.
    wide : torch.Tensor
        From `wrapped`; x may have been written to meanwhile.
    starts : sequence of int
        For each axis of `wide`, where the part begins.

    Returns
    -------
    torch.Tensor
        A copy.
    """
    sizes = (x.numel(),) if len(starts) == 1 else x.shape
    part = wide
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        part = part.narrow(axis, start, size)
    part = part.clone(memory_format=torch.contiguous_format)
    return as_bits(part.reshape(x.shape), x.dtype)


__all__ = ["known_shifts", "pairs_of", "rolled", "window", "wrapped"]
