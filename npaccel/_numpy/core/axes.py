"""Axes, results written to `out` and masks, for reductions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from npaccel._numpy.core.dtypes import BOOL, as_tensor, cast, check_cast, to_numpy
from npaccel._numpy.core.table import row_of
from npaccel._numpy.ufuncs.integers import either
from npaccel._process import thread_warnings

#: NumPy's mark of an argument that was left out.
NO_VALUE = np._NoValue

#: An axis argument: None (all), one axis, or several.
Axis = int | Sequence[int] | None


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call npaccel's computation of a NumPy function (a ufunc, mostly)."""
    row = row_of(function)
    if row is None:
        raise NotImplementedError(f"npaccel has no computation of {function!r}")
    return row.implementation(*args, **kwargs)


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes to reduce, none negative.

    Raises
    ------
    numpy.exceptions.AxisError
        If an axis doesn't exist.
    ValueError
        If an axis is given twice.
    """
    if axis is None:
        return tuple(range(ndim))
    return tuple(normalize_axis_tuple(axis, ndim))


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return `axes_of`; an array without dimensions may be reduced along its "first" axis."""
    return () if ndim == 0 and axis in (0, -1) else axes_of(axis, ndim)


def axis_of(axis: int, ndim: int) -> int:
    """Return one axis, not negative, or raise NumPy's AxisError."""
    return int(normalize_axis_index(axis, ndim))


def over_axes(
    operation: Callable[..., torch.Tensor],
    x: torch.Tensor,
    axes: tuple[int, ...],
    keepdims: bool,
    **kwargs: Any,
) -> torch.Tensor:
    """Call a torch reduction; no axes means that nothing is reduced.

    Torch takes an empty tuple of axes for all of them, so such a reduction
    runs over a new axis of length one.
    """
    if not axes:
        return operation(x.unsqueeze(0), (0,), False, **kwargs)
    return operation(x, axes, bool(keepdims), **kwargs)


def count_over(x: torch.Tensor, axes: tuple[int, ...]) -> int:
    """Return how many elements each reduced element stands for (may be symbolic)."""
    return math.prod(x.shape[i] for i in axes)


def deliver(result: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Return the result, written to `out` where one was given.

    Raises
    ------
    TypeError
        If the result's dtype can't be cast to that of `out`.
    ValueError
        If the shapes differ.
    """
    if out is None:
        return result
    check_cast(to_numpy(result.dtype), to_numpy(out.dtype))
    if out.ndim != result.ndim or tuple(out.shape) != tuple(result.shape):
        raise ValueError(
            f"output parameter has shape {tuple(out.shape)}, the result has shape "
            f"{tuple(result.shape)}; pass an `out` of the result's shape"
        )
    out.copy_(cast(result, to_numpy(out.dtype)))
    return out


def written_back(result: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Return the result, written to `out` by the rule of `numpy.take` and its like.

    Up to 2.4 NumPy works on a copy of `out` in the result's dtype and writes
    that back, so it is `out` that must be safe to cast. Later it may be any.

    Raises
    ------
    TypeError
        If NumPy doesn't take the dtype of `out`.
    ValueError
        If the shapes differ.
    """
    if out is None:
        return result
    if to_numpy(out.dtype) != to_numpy(result.dtype):
        with thread_warnings.ignored():
            _check_taken_into(to_numpy(result.dtype), to_numpy(out.dtype))
    return deliver(cast(result, to_numpy(out.dtype)), out)


@functools.cache
def _check_taken_into(dtype: Any, out: Any) -> None:
    """Have NumPy raise for an `out` of a dtype that it doesn't take."""
    np.ones(1, dtype).take([0], out=np.ones(1, out))


def reversed_axes(x: torch.Tensor) -> torch.Tensor:
    """Return the view with the axes in opposite order."""
    return x.permute(tuple(range(x.ndim - 1, -1, -1)))


def check_placed(order: Any = "K", device: Any = None, creates: bool = False) -> None:
    """Have NumPy raise for an order of elements or a device that it doesn't know.

    Functions that create an array from nothing take fewer orders.
    """
    if creates:
        np.empty((), order=order, device=device)
    else:
        np.empty_like(0, order=order, device=device)


def needs_array(x: Any, attribute: str = "ndim") -> torch.Tensor:
    """Return an argument that NumPy reads an attribute of, and so must be an array.

    Raises
    ------
    AttributeError
        If it's a list or a number.
    """
    if not isinstance(x, torch.Tensor):
        raise AttributeError(f"'{type(x).__name__}' object has no attribute '{attribute}'")
    return x


def probe(x: torch.Tensor, shape: tuple[int, ...] = (2,)) -> np.ndarray[Any, Any]:
    """Return a small NumPy array of a tensor's dtype, to ask NumPy for a result dtype."""
    return np.ones(shape, dtype=to_numpy(x.dtype))


def absent(value: Any) -> bool:
    """Whether an argument was left out."""
    return value is None or value is NO_VALUE


def given(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that the caller gave."""
    return {name: value for name, value in keywords.items() if value is not NO_VALUE}


def at_least_zero(divisor: Any) -> Any:
    """Return a number of degrees of freedom, or 0 where it is negative."""
    if isinstance(divisor, torch.Tensor):
        return torch.clamp(divisor, min=0)
    return torch.sym_max(divisor, 0)  # type: ignore[no-untyped-call]


def masked(x: torch.Tensor, where: Any, fill: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return x with `fill` where the mask is False, and the mask in x's shape."""
    mask = torch.broadcast_to(cast(as_tensor(where), BOOL), x.shape)
    return either(mask, x, torch.full((), fill, dtype=x.dtype, device=x.device)), mask
