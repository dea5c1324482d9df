"""Functions that write into an array they are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of
from npaccel._numpy.core.dtypes import BOOL, as_tensor, cast, check_cast, is_scalar, to_numpy
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.creation import cast_scalar
from npaccel._numpy.host import kernels as host
from npaccel._numpy.indexing.index_keys import bounded
from npaccel._numpy.indexing.indexing import fitted, setitem, value_for
from npaccel._numpy.indexing.taking import along_axis_key, flat_key, integer_indices
from npaccel._numpy.ufuncs.dispatch import concrete
from npaccel._numpy.ufuncs.integers import either, elements_at
from npaccel._runtime.torch.symbolic_sizes import surely

_AT_RUN_TIME = "an index out of bounds in an array raises when the compiled code runs"


def _target(a: Any, function: str) -> torch.Tensor:
    if not isinstance(a, torch.Tensor):
        raise TypeError(f"{function}: argument 1 must be numpy.ndarray, not {type(a).__name__}")
    return a


@implements(np.copyto, mutates=(0,))
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """`numpy.copyto`."""
    x = _target(dst, "copyto")
    kind = to_numpy(x.dtype)
    if is_scalar(src):
        np.copyto(np.empty(1, kind), concrete(src), casting=casting)  # type: ignore[arg-type]
        src = cast_scalar(src, kind)
    else:
        src = as_tensor(src)
        check_cast(to_numpy(src.dtype), kind, casting)
    value = fitted(value_for(src, kind, x.device), x.shape)
    if where is not True:
        mask = as_tensor(where)
        check_cast(to_numpy(mask.dtype), BOOL, "safe")
        value = either(fitted(mask, x.shape), value, x)
    elif value.ndim:
        value = value.clone()  # it may be another part of the same memory
    x.copy_(value)


def _cycled(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return the values at these places of their endless repetition."""
    flat = values.reshape(-1)
    if surely(flat.shape[0] == 1):
        return flat[0].clone()
    return elements_at(flat, torch.remainder(places, flat.shape[0]))


def _mask_like(mask: Any, x: torch.Tensor, function: str) -> torch.Tensor:
    found = cast(as_tensor(mask), BOOL)
    if surely(found.numel() != x.numel()):
        raise ValueError(f"{function}: mask and data must be the same size")
    return found.reshape(x.shape)


@implements(np.putmask, mutates=(0,))
def putmask(a: Any, mask: Any, values: Any) -> None:
    """`numpy.putmask`: too few values are repeated, by position in the array."""
    x = _target(a, "putmask")
    chosen = _mask_like(mask, x, "putmask")
    source = _cast_as(np.putmask, values, x)
    if surely(source.numel() == 0):
        return
    if source.ndim and surely(source.numel() != 1):
        source = _cycled(source, torch.arange(x.numel(), device=x.device)).reshape(x.shape)
    x.copy_(either(chosen, source.reshape(()) if source.numel() == 1 else source, x))


def _cast_as(function: Any, values: Any, x: torch.Tensor) -> torch.Tensor:
    """Return values in the dtype of an array, where the NumPy function allows the cast."""
    if isinstance(values, torch.Tensor):
        stand_in = np.zeros(1, to_numpy(values.dtype))
        function(np.zeros(1, to_numpy(x.dtype)), np.ones(1, bool), stand_in)
    return value_for(values, to_numpy(x.dtype), x.device)


@implements(np.place, mutates=(0,))
def place(arr: Any, mask: Any, vals: Any) -> None:
    """`numpy.place`: the n-th True element gets the n-th value, and they repeat."""
    x = _target(arr, "place")
    chosen = _mask_like(mask, x, "place")
    source = _cast_as(np.place, vals, x)
    if surely(source.numel() == 0):
        if surely(x.numel() == 0):
            return
        raise ValueError("Cannot insert from an empty array!")
    if host.worth(x, chosen, source):
        x.copy_(host.placed(x, chosen, source))
        return
    order = torch.cumsum(chosen.reshape(-1), 0) - 1
    found = _cycled(source, order)
    x.copy_(either(chosen, found.reshape(x.shape) if found.ndim else found, x))


def _ask_put(indices: Any) -> None:
    np.put(np.zeros(1), indices, 0, mode="clip")


@implements(np.put, mutates=(0,), note=_AT_RUN_TIME)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """`numpy.put`: too few values are repeated."""
    x = _target(a, "put")
    index = bounded(integer_indices(ind, _ask_put).reshape(-1), x.numel(), mode)
    source = value_for(v, to_numpy(x.dtype), x.device)
    if surely(source.numel() == 0) or surely(index.numel() == 0):
        return
    value = _cycled(source, torch.arange(index.shape[0], device=x.device))
    if x.is_contiguous():
        setitem(x.view(-1), index, value)
    else:
        index = torch.where(index < 0, index + x.numel(), index)
        setitem(x, flat_key(x, index), value)


@implements(np.put_along_axis, mutates=(0,), note=_AT_RUN_TIME)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """`numpy.put_along_axis`."""
    x, index = _target(arr, "put_along_axis"), as_tensor(indices)
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        setitem(x, flat_key(x, torch.where(index < 0, index + x.numel(), index)), values)
    else:
        setitem(x, along_axis_key(x, index, axis_of(axis, x.ndim)), values)


@implements(np.fill_diagonal, mutates=(0,))
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """`numpy.fill_diagonal`."""
    x = _target(a, "fill_diagonal")
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and any(surely(n != x.shape[0]) for n in x.shape[1:]):
        raise ValueError("All dimensions of input must be of equal length")
    source = value_for(val, to_numpy(x.dtype), x.device)
    if x.ndim == 2 and not source.ndim and not wrap:
        if x.is_complex() and x.device.type != "cpu":  # Inductor's copy of x is for real numbers.
            x, source = torch.view_as_real(x), torch.view_as_real(source)[:, None]
        torch.diagonal(x).copy_(source)
        return
    if x.ndim == 2:
        step, end = x.shape[1] + 1, x.numel() if wrap else x.shape[1] * x.shape[1]
    else:
        step, end = 1 + sum(math.prod(x.shape[:i]) for i in range(1, x.ndim)), x.numel()
    last = torch.sym_min(end, x.numel())  # type: ignore[no-untyped-call]
    put(x, torch.arange(0, last, step, device=x.device), source)
