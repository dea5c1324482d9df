"""Views by strides: numpy.lib.stride_tricks.as_strided."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import as_tensor
from npaccel._numpy.core.table import implements
from npaccel._runtime.torch.symbolic_sizes import surely


def _reach(shape: Any, strides: Any) -> Any:
    """Return the distance of the last element from the first one, plus one."""
    return sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1


@implements(
    np.lib.stride_tricks.as_strided,
    note="views that leave the array's own memory, or go backwards in it, are refused",
)
def as_strided(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: Any = None,
) -> torch.Tensor:
    """`numpy.lib.stride_tricks.as_strided` within the memory of the array.

    Raises
    ------
    ValueError
        If there are more strides than sizes, or fewer.
    NotImplementedError
        If the view leaves the array's memory, or has a negative or an uneven stride.
    """
    array = as_tensor(x)
    width = array.element_size()
    sizes = tuple(array.shape if shape is None else _numbers(shape))
    if strides is None and array.is_contiguous():
        steps = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
    elif strides is None:
        steps = tuple(array.stride())
    else:
        given = _numbers(strides)
        if any(step < 0 or step % width for step in given):
            raise NotImplementedError(
                "a negative stride, or one that isn't a whole number of elements, can't be compiled"
            )
        steps = tuple(step // width for step in given)
    if len(sizes) != len(steps):
        raise ValueError("mismatch in length of strides and shape")
    if any(surely(n == 0) for n in sizes):
        return array.new_empty(sizes)
    if not surely(_reach(sizes, steps) <= _reach(array.shape, array.stride())):
        raise NotImplementedError("the view leaves the array's own memory")
    return torch.as_strided(array, sizes, steps, array.storage_offset())


def _numbers(given: Any) -> list[Any]:
    if isinstance(given, torch.Tensor):
        raise NotImplementedError("sizes and strides must be Python numbers; pass them as such")
    return list(given) if isinstance(given, list | tuple) else [given]
