"""Methods and attributes of ndarray, but for reductions, sorting and products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core import dtype_queries
from npaccel._numpy.core.axes import NO_VALUE, call, check_placed, reversed_axes
from npaccel._numpy.core.dtypes import as_dtype, as_tensor, cast, check_cast, to_numpy, to_torch
from npaccel._numpy.core.layouts import lying_like
from npaccel._numpy.core.storing import put
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.grids import diagonal
from npaccel._numpy.indexing.indexing import getitem, setitem, value_for
from npaccel._numpy.indexing.taking import choose, compress, nonzero, take
from npaccel._numpy.manipulation import padding
from npaccel._numpy.manipulation.manipulation import (
    matrix_transpose,
    ravel,
    reshaped,
    squeeze,
    swapaxes,
    transpose,
)
from npaccel._numpy.manipulation.repeating import repeat
from npaccel._numpy.ufuncs.integers import elements_at
from npaccel._numpy.ufuncs.rounding import clip, imag, real, round_
from npaccel._runtime.torch.symbolic_sizes import surely

#: Chapters that only enter rows in the table.
CHAPTERS = (dtype_queries, padding)


def _method(name: str, function: Callable[..., Any], **kwargs: Any) -> None:
    """Enter a method whose arguments are those of the function."""
    implements(f"numpy.ndarray.{name}", **kwargs)(function)


_method("swapaxes", swapaxes)
_method("squeeze", squeeze)
_method("repeat", repeat, data_dependent=True)
_method("take", take, zero_d="scalar", mutates=(3,))
_method("put", put, mutates=(0,))
_method("nonzero", nonzero, data_dependent=True)
_method("diagonal", diagonal)
_method("choose", choose, zero_d="scalar", mutates=(2,))
_method("round", round_, zero_d="scalar", mutates=(2,), elementwise=True)
_method("ravel", ravel)
_method("T", reversed_axes)
_method("mT", matrix_transpose)
_method("real", real, elementwise=True)
_method("imag", imag, elementwise=True)


@implements("numpy.ndarray.clip", zero_d="scalar", mutates=(3,), elementwise=True)
def clip_method(
    a: torch.Tensor, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any
) -> torch.Tensor:
    """`numpy.ndarray.clip`."""
    return clip(a, min, max, out, **kwargs)


@implements("numpy.ndarray.compress", data_dependent=True, mutates=(3,))
def compress_method(
    a: torch.Tensor, condition: Any, axis: int | None = None, out: Any = None
) -> torch.Tensor:
    """`numpy.ndarray.compress`."""
    return compress(condition, a, axis, out)


@implements("numpy.ndarray.reshape")
def reshape_method(
    a: torch.Tensor, *shape: Any, order: str = "C", copy: bool | None = None
) -> torch.Tensor:
    """`numpy.ndarray.reshape`: the sizes one by one, or as one tuple."""
    sizes = shape[0] if len(shape) == 1 else shape
    found = reshaped(a, sizes, order)
    return found.clone() if copy else found


@implements("numpy.ndarray.transpose")
def transpose_method(a: torch.Tensor, *axes: Any) -> torch.Tensor:
    """`numpy.ndarray.transpose`: the axes one by one, or as one tuple."""
    return transpose(a, axes[0] if len(axes) == 1 else axes or None)


@implements("numpy.ndarray.flatten")
def flatten(a: torch.Tensor, order: str = "C") -> torch.Tensor:
    """`numpy.ndarray.flatten`: a copy."""
    flat = ravel(a, order)
    return flat.clone()  # compilers drop it where the reshape was a copy already


@implements("numpy.ndarray.copy", elementwise=True)
def copy(a: torch.Tensor, order: str | None = "C") -> torch.Tensor:
    """`numpy.ndarray.copy`."""
    check_placed(order)
    if order in ("C", None):
        return a.clone(memory_format=torch.contiguous_format)
    return lying_like(a.clone(), a, order)


@implements("numpy.ndarray.astype", elementwise=True)
def astype(
    a: torch.Tensor,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> torch.Tensor:
    """`numpy.ndarray.astype`."""
    kind = as_dtype(dtype)
    check_cast(to_numpy(a.dtype), kind, casting)
    found = cast(a, kind)
    if found is a and not copy and order == "K":
        return a
    return lying_like(found.clone() if copy and found is a else found, a, order)


if hasattr(np, "astype"):  # NumPy 2.1

    @implements(np.astype)
    def astype_function(
        x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None
    ) -> torch.Tensor:
        """`numpy.astype`."""
        check_placed(device=device)
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"Input should be a NumPy array. It is of type {type(x)}.")
        return astype(x, dtype, copy=copy)


@implements("numpy.ndarray.view")
def view(a: torch.Tensor, dtype: Any = NO_VALUE, type: Any = None) -> torch.Tensor:
    """`numpy.ndarray.view`: the same bytes, read as another dtype (None means float64)."""
    if dtype is NO_VALUE or dtype is np.ndarray:
        return a.view(a.shape) if a.is_contiguous() else a[...]
    kind = as_dtype(dtype)
    own, new = a.element_size(), kind.itemsize
    if own != new and not a.ndim:
        raise ValueError(
            "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
        )
    empty = surely(a.numel() == 0)
    if own != new and not empty and surely(a.stride(-1) != 1) and surely(a.shape[-1] != 1):
        raise ValueError(
            "To change to a dtype of a different size, the last axis must be contiguous"
        )
    if own < new and surely(a.shape[-1] * own % new != 0):
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            "bytes of the last axis of the array."
        )
    if empty and own != new:  # torch asks for strides that arrays without elements needn't have
        return a.new_empty([*a.shape[:-1], a.shape[-1] * own // new], dtype=to_torch(kind))
    return a.view(to_torch(kind))


@implements("numpy.ndarray.fill", mutates=(0,))
def fill(a: torch.Tensor, value: Any) -> None:
    """`numpy.ndarray.fill`."""
    stored = value_for(value, to_numpy(a.dtype), a.device)
    if stored.ndim:
        probe: Any = np.ones(2, to_numpy(stored.dtype))
        np.zeros(1, to_numpy(a.dtype)).fill(probe)  # NumPy's own refusal
    a.copy_(stored)


@implements("numpy.ndarray.item", zero_d="scalar")
def item(a: torch.Tensor, *args: Any) -> torch.Tensor:
    """`numpy.ndarray.item`: a 0-d tensor; its value isn't known while compiling."""
    if not args:
        if surely(a.numel() != 1):
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return a.reshape(())
    key = args[0] if len(args) == 1 else args
    if isinstance(key, tuple):
        if len(key) == 1:
            return getitem(a.reshape(-1), key[0])
        if len(key) != a.ndim:
            raise ValueError("incorrect number of indices for array")
        return getitem(a, key)
    return getitem(a.reshape(-1), key)


@implements("numpy.ndarray.conjugate", elementwise=True)
def conjugate(a: torch.Tensor) -> torch.Tensor:
    """`numpy.ndarray.conjugate`: the array itself where it's real."""
    return call(np.conjugate, a) if a.is_complex() else a


_method("conj", conjugate, elementwise=True)


@implements("numpy.ndarray.flat", note="a 1-D array instead of an iterator")
def flat(a: torch.Tensor) -> torch.Tensor:
    """`numpy.ndarray.flat`: a view of a contiguous array, otherwise a copy."""
    return a.reshape(-1)


if hasattr(np.ndarray, "to_device"):  # NumPy 2.1

    @implements("numpy.ndarray.to_device")
    def to_device(a: torch.Tensor, device: Any, /, *, stream: Any = None) -> torch.Tensor:
        """`numpy.ndarray.to_device`: the array itself."""
        if stream is not None:
            raise ValueError("The stream argument in to_device() is not supported")
        if device != "cpu":
            raise ValueError(f"Unsupported device: {device}.")
        return a


# -- assignments to attributes


@implements("numpy.ndarray.real.__set__", mutates=(0,))
def set_real(a: torch.Tensor, value: Any) -> None:
    """Do ``a.real = value``."""
    if surely(a.numel() == 0) and isinstance(value, int):
        if type(value) is int:
            np.zeros(0, to_numpy(a.dtype)).real = value  # Some versions look at the number.
        return
    setitem(real(a), Ellipsis, as_tensor(value) if isinstance(value, complex) else value)


@implements("numpy.ndarray.imag.__set__", mutates=(0,))
def set_imag(a: torch.Tensor, value: Any) -> None:
    """Do ``a.imag = value``."""
    if not a.is_complex():
        raise TypeError("array does not have imaginary part to set")
    if isinstance(value, complex) and not a.ndim:
        np.zeros((), to_numpy(a.dtype)).imag = value  # Raises up to some version.
    setitem(imag(a), Ellipsis, as_tensor(value) if isinstance(value, complex) else value)


@implements("numpy.ndarray.flat.__set__", mutates=(0,))
def set_flat(a: torch.Tensor, value: Any) -> None:
    """Do ``a.flat = value``: too few values are repeated, too many are left out."""
    source = value_for(value, to_numpy(a.dtype), a.device).reshape(-1)
    if surely(source.numel() == 0):
        if surely(a.numel() == 0):
            return
        raise ValueError("Error setting single item of array.")
    places = torch.remainder(torch.arange(a.numel(), device=a.device), source.numel())
    a.copy_(elements_at(source, places).reshape(a.shape))


# -- constants


def _strides(a: torch.Tensor) -> tuple[Any, ...]:
    return tuple(step * a.element_size() for step in a.stride())


_ATTRIBUTES: dict[str, Callable[[torch.Tensor], Any]] = {
    "dtype": lambda a: to_numpy(a.dtype),
    "ndim": lambda a: a.ndim,
    "shape": lambda a: tuple(a.shape),
    "size": lambda a: math.prod(a.shape),
    "itemsize": lambda a: a.element_size(),
    "nbytes": lambda a: math.prod(a.shape) * a.element_size(),
    "strides": _strides,
    "device": lambda a: "cpu",  # as NumPy has it, wherever the arrays are
}


def attribute(a: torch.Tensor, name: str) -> Any:
    """Return an attribute of an array that is a constant of the trace.

    Parameters
    ----------
    a : tensor
        The array.
    name : {"dtype", "ndim", "shape", "size", "itemsize", "nbytes", "strides",
            "device"}
        The attribute; strides are in bytes.

    Returns
    -------
    numpy.dtype, int or tuple of int
        Sizes may be symbolic.

    Raises
    ------
    NotImplementedError
        If the attribute has no constant value.
    """
    found = _ATTRIBUTES.get(name)
    if found is None:
        raise NotImplementedError(
            f"ndarray.{name} can't be compiled; read it outside the compiled function"
        )
    return found(a)
