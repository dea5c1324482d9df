"""NumPy's kernels on parts of large arrays, in as many threads as torch has.

NumPy computes in one thread, and lets go of the interpreter's lock meanwhile.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.host.registration import Array
from npaccel._process.thread_pool import in_threads

#: Minimum number of elements for threads: waking those of compiled code takes longer with fewer.
MANY = 32768
#: Number of elements that is worth a thread. Python's threads take 0.1 ms to start and to join.
PART = 1 << 18
#: The same for kernels that read memory as fast as it is.
_QUICK_PART = 1 << 21
#: Elements that a core's cache has space for, with some intermediate results. For fewer, two
#: threads spend more time on the interpreter's lock than they gain.
_BLOCK = 1 << 15


def _slices(size: int, elements: int, part: int = PART) -> list[slice]:
    """Divide an axis for threads; there's one slice where more don't pay."""
    count = max(1, min(torch.get_num_threads(), elements // part, size))
    bounds = [size * i // count for i in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(bounds)]


def _run(compute: Callable[[slice], object], slices: list[slice]) -> None:
    def silently(part: slice) -> None:
        with np.errstate(all="ignore"):
            compute(part)

    in_threads(silently, slices, helps=True)


def elementwise(function: Callable[..., Any], operands: Sequence[Array], dtype: Any) -> Array:
    """Apply a function to the elements of arrays of one shape.

    Parameters
    ----------
    function : callable
        It takes the operands and `out`.
    operands : sequence of ndarray
    dtype : numpy.dtype
        The result's.
    """
    out = np.empty(operands[0].shape, dtype)
    arrays = [*operands, out]
    if all(array.flags.c_contiguous for array in arrays):
        arrays = [array.reshape(-1) for array in arrays]
    else:
        longest = int(np.argmax(out.shape))
        arrays = [np.moveaxis(array, longest, 0) for array in arrays]

    def compute(part: slice) -> None:
        *given, target = (array[part] for array in arrays)
        function(*given, out=target)

    _run(compute, _slices(len(arrays[0]), out.size))
    return out


def in_blocks(function: Callable[[Array], Any], x: Array, dtype: Any) -> Array:
    """Apply a function that goes over the elements many times to a part of them after the other.

    A part's intermediate results stay in a core's cache.

    Parameters
    ----------
    function : callable
        It takes a part of x, in one dimension.
    x : ndarray
    dtype : numpy.dtype
        The result's.
    """
    out = np.empty(x.shape, dtype)
    given, target = x.reshape(-1), out.reshape(-1)

    def compute(part: slice) -> None:
        for start in range(part.start, part.stop, _BLOCK):
            block = slice(start, min(start + _BLOCK, part.stop))
            target[block] = function(given[block])

    _run(compute, _slices(x.size, x.size, _BLOCK))
    return out


def along_axis(function: Callable[..., Any], x: Array, axis: int, dtype: Any) -> Array:
    """Apply a function that takes an axis away.

    Parameters
    ----------
    function : callable
        It takes an array, the axis and `out`.
    x : ndarray
    axis : int
    dtype : numpy.dtype
        The result's.
    """
    axis %= x.ndim
    out = np.empty(x.shape[:axis] + x.shape[axis + 1 :], dtype)
    if not out.ndim:
        return np.asarray(function(x, axis))
    kept = int(np.argmax(out.shape))  # The axis that is divided, in the result and in x.
    of_x = kept + (kept >= axis)

    def compute(part: slice) -> None:
        rows = (slice(None),) * of_x + (part,)
        function(x[rows], axis, out=out[(slice(None),) * kept + (part,)])

    is_quick = x.strides[axis] == x.itemsize
    _run(compute, _slices(out.shape[kept], x.size, _QUICK_PART if is_quick else PART))
    return out


#: Ufuncs that take numbers for bools and read no further than need be: done before threads are
#: at work.
SHORT = (np.logical_and, np.logical_or)


def reduceat(ufunc: np.ufunc, x: Array, starts: Array, axis: int) -> Array:
    """Reduce slices of an axis in the dtype of x, or to bools where the ufunc is in `SHORT`."""
    if ufunc in SHORT:
        return ufunc.reduceat(x, starts, axis, np.dtype(bool))
    part = _QUICK_PART if ufunc in (np.add, np.maximum, np.minimum) else PART
    slices = _slices(len(starts), math.prod(x.shape), part)
    splits = len(slices) > 1 and starts[0] >= 0 and starts[-1] < x.shape[axis]
    if not splits or not (starts[1:] >= starts[:-1]).all():
        with np.errstate(all="ignore"):
            return ufunc.reduceat(x, starts, axis, x.dtype)
    before = (slice(None),) * axis
    out = np.empty((*x.shape[:axis], len(starts), *x.shape[axis + 1 :]), x.dtype)

    def compute(part: slice) -> None:
        if part.stop == len(starts):
            found = ufunc.reduceat(x, starts[part], axis, x.dtype)
        else:  # The start after the last one ends the last slice; its own has one element.
            given = x[(*before, slice(starts[part.stop] + 1))]
            found = ufunc.reduceat(given, starts[part.start : part.stop + 1], axis, x.dtype)
            found = found[(*before, slice(-1))]
        out[(*before, part)] = found

    _run(compute, slices)
    return out


def added(count: Callable[[Array], Array], x: Array) -> Array:
    """Add up what a function counts in the parts of an axis."""
    slices = _slices(len(x), len(x))
    found: dict[int, Array] = {}

    def compute(part: slice) -> None:
        found[part.start] = count(x[part])

    _run(compute, slices)
    return sum(found.values())  # type: ignore[return-value]


__all__ = ["PART", "added", "along_axis", "elementwise", "in_blocks", "reduceat"]
