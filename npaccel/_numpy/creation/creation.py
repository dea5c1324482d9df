"""Creation: arrays of a shape, arrays of what is given, and NumPy's scalar types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import NO_VALUE, check_placed, reversed_axes
from npaccel._numpy.core.context import settings
from npaccel._numpy.core.dtypes import (
    DType,
    as_dtype,
    as_tensor,
    default_float,
    dtype_of,
    full_scalar,
    is_scalar,
    narrow,
    to_numpy,
    to_torch,
)
from npaccel._numpy.core.layouts import lying_as_numpys, lying_like
from npaccel._numpy.core.table import implements
from npaccel._numpy.indexing.indexing import fitted, value_for
from npaccel._numpy.ufuncs.dispatch import is_symbolic

#: A shape argument: one size or several; a size may be symbolic.
Shape = Any
_EMPTY_NOTE = "what is in it is undefined, and need not be what NumPy has there"


def shape_of(shape: Shape) -> tuple[Any, ...]:
    """Return a shape argument as a tuple of sizes.

    Raises
    ------
    TypeError
        If a size is no integer.
    ValueError
        If a size is negative.
    """
    if isinstance(shape, torch.Tensor):
        raise NotImplementedError(
            "a shape that is computed from array values can't be compiled; pass Python integers"
        )
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    for size in sizes:
        if isinstance(size, torch.Tensor):
            shape_of(size)
        elif not isinstance(size, int | np.integer | torch.SymInt):
            raise TypeError(f"'{type(size).__name__}' object cannot be interpreted as an integer")
        elif isinstance(size, int | np.integer) and size < 0:
            raise ValueError("negative dimensions are not allowed")
    return tuple(int(size) if isinstance(size, np.integer) else size for size in sizes)


def filled(shape: Shape, value: Any, dtype: DType, device: torch.device | None) -> torch.Tensor:
    """Return a new array with one value everywhere."""
    where = settings().device if device is None else device
    sizes = shape_of(shape)
    if is_scalar(value):
        found = full_scalar(cast_scalar(value, dtype), dtype, where, sizes)
        return found if found.is_contiguous() else found.clone()
    source = value_for(value, dtype, where)
    return fitted(source, sizes).expand(sizes).clone()


def cast_scalar(value: Any, dtype: DType) -> Any:
    """Return a Python number cast without a check, as `numpy.full` and `copyto` do.

    Raises
    ------
    OverflowError
        If a Python int doesn't fit.
    """
    if is_symbolic(value):
        return value
    with np.errstate(all="ignore"):
        return np.full((), value, dtype).item()


def _uninitialised(shape: Shape, dtype: DType, device: torch.device | None) -> torch.Tensor:
    """Return a new array of which nothing was written; zeros would be a pass over its memory."""
    where = settings().device if device is None else device
    return torch.empty(shape_of(shape), dtype=to_torch(dtype), device=where)


#: Makes an array of a shape, dtype, and device; None is the one that arrays are computed on.
_Maker = Callable[[Shape, DType, torch.device | None], torch.Tensor]


def _with(value: int) -> _Maker:
    return lambda shape, dtype, device: filled(shape, value, dtype, device)


def _of_shape(make: _Maker) -> Callable[..., torch.Tensor]:
    def create(
        shape: Shape,
        dtype: Any = None,
        order: str = "C",
        *,
        device: str | None = None,
        like: Any = None,
    ) -> torch.Tensor:
        check_placed(order, device, creates=True)
        kind = default_float() if dtype is None else as_dtype(dtype)
        if order == "F":
            return reversed_axes(make(shape_of(shape)[::-1], kind, None))
        return make(shape, kind, None)

    return create


zeros = implements(np.zeros)(_of_shape(_with(0)))
ones = implements(np.ones)(_of_shape(_with(1)))
empty = implements(np.empty, note=_EMPTY_NOTE)(_of_shape(_uninitialised))


@implements(np.full)
def full(
    shape: Shape,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: str | None = None,
    like: Any = None,
) -> torch.Tensor:
    """`numpy.full`; a Python float makes an array of the default float."""
    check_placed(order, device, creates=True)
    if dtype is None:
        kind = narrow(to_numpy(as_tensor(fill_value).dtype), [dtype_of(fill_value)])
    else:
        kind = as_dtype(dtype)
    found = filled(shape, fill_value, kind, None)
    return lying_as_numpys(found, [found], "F") if order == "F" else found


def _like(a: Any, dtype: Any, shape: Shape) -> tuple[Any, DType, torch.device | None]:
    """Return shape, dtype and device of what a ``*_like`` function creates."""
    prototype = as_tensor(a)
    kind = to_numpy(prototype.dtype) if dtype is None else as_dtype(dtype)
    device = prototype.device if isinstance(a, torch.Tensor) else None
    return (prototype.shape if shape is None else shape), kind, device


def _like_shape(make: _Maker) -> Callable[..., torch.Tensor]:
    def create(
        a: Any,
        dtype: Any = None,
        order: str | None = "K",
        subok: bool = True,
        shape: Shape = None,
        *,
        device: str | None = None,
    ) -> torch.Tensor:
        check_placed(order, device)
        sizes, kind, where = _like(a, dtype, shape)
        return lying_like(make(sizes, kind, where), a, order)

    return create


def _empty_like(prototype: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    return _empty_of(prototype, *args, **kwargs)


_empty_of = _like_shape(_uninitialised)
zeros_like = implements(np.zeros_like)(_like_shape(_with(0)))
ones_like = implements(np.ones_like)(_like_shape(_with(1)))
empty_like = implements(np.empty_like, note=_EMPTY_NOTE)(_empty_like)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Shape = None,
    *,
    device: str | None = None,
) -> torch.Tensor:
    """`numpy.full_like`."""
    check_placed(order, device)
    sizes, kind, where = _like(a, dtype, shape)
    return lying_like(filled(sizes, fill_value, kind, where), a, order)


# -- arrays of what is given


#: A parameter that NumPy has from 2.4 on.
_NDMAX = ("ndmax",) if "ndmax" in (np.array.__doc__ or "") else ()


@implements(np.array, unsupported=_NDMAX)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
    ndmax: Any = NO_VALUE,
) -> torch.Tensor:
    """`numpy.array`: a copy, unless `copy` is None or False."""
    if ndmax is not NO_VALUE:
        raise NotImplementedError("numpy.array: ndmax= can't be compiled; nest no deeper instead")
    check_placed(order)
    found = as_tensor(object, None if dtype is None else as_dtype(dtype))
    if found is object and copy:
        found = found.clone()
    if found is object or not isinstance(object, torch.Tensor):
        found = _laid_out(found, order)
    else:
        found = lying_like(found, object, order)
    if copy is False and found is not object:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested; "
            "use `np.asarray(obj)` to allow a copy when needed"
        )
    if ndmin > found.ndim:
        found = found.reshape((1,) * (ndmin - found.ndim) + tuple(found.shape))
    return found


def _laid_out(x: torch.Tensor, order: str) -> torch.Tensor:
    """Return a tensor itself if its elements lie in an order, else a copy where they do."""
    if order == "A" and not reversed_axes(x).is_contiguous():
        order = "C"
    if order == "F":
        return (
            x if reversed_axes(x).is_contiguous() else reversed_axes(reversed_axes(x).contiguous())
        )
    return x.contiguous() if order == "C" else x


def _as_array() -> Callable[..., torch.Tensor]:
    def convert(
        a: Any,
        dtype: Any = None,
        order: Any = None,
        *,
        device: str | None = None,
        copy: bool | None = None,
        like: Any = None,
    ) -> torch.Tensor:
        order = "K" if order is None else order
        check_placed(order, device)
        return array(a, dtype, copy=copy, order=order)

    return convert


asarray = implements(np.asarray)(_as_array())
asanyarray = implements(np.asanyarray)(_as_array())


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> torch.Tensor:
    """`numpy.asfortranarray`."""
    return array(a, dtype, copy=None, order="F", ndmin=np.asfortranarray(0).ndim)


@implements(np.ascontiguousarray)
def ascontiguousarray(
    a: Any,
    dtype: Any = None,
    *,
    like: Any = None,
) -> torch.Tensor:
    """`numpy.ascontiguousarray`: at least one axis."""
    return array(a, dtype, copy=None, order="C", ndmin=1)


@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`numpy.require`."""
    flags = {str(flag).upper() for flag in requirements or ()}
    owned = bool(flags & {"O", "OWNDATA"})
    is_fortran = bool(flags & {"F", "F_CONTIGUOUS", "FORTRAN"})
    is_c = bool(flags & {"C", "C_CONTIGUOUS", "CONTIGUOUS"})
    if is_fortran and is_c:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if is_fortran else "C" if is_c else "A" if flags else "K"
    return array(a, dtype, copy=True if owned else None, order=order)


@implements(np.copy, elementwise=True)
def copy(a: Any, order: str = "K", subok: bool = False) -> torch.Tensor:
    """`numpy.copy`."""
    return array(a, order=order)


# -- scalar types


def _scalar_type(scalar: type[np.generic]) -> None:
    dtype = as_dtype(scalar)

    @implements(scalar, name=f"numpy.{scalar.__name__}", zero_d="scalar")
    def construct(x: Any = 0, /) -> torch.Tensor:
        """Return what the scalar type makes of x: a scalar, or an array of x's shape."""
        if isinstance(x, torch.Tensor):
            found = array(x, dtype, copy=None)
            return found.clone() if found is x and not x.ndim else found  # a scalar is no view
        if not is_scalar(x) or isinstance(x, torch.SymInt | torch.SymFloat | torch.SymBool):
            return as_tensor(x, dtype)
        number = scalar(x)  # overflow and NaN raise here
        return full_scalar(number.item(), dtype)


def _scalar_types() -> list[type[np.generic]]:
    """NumPy's own; other packages (ml_dtypes, which JAX imports) add theirs to its tables."""
    return list({np.dtype(char).type for char in "?bBhHiIlLqQefdFD"})


for _type in sorted(_scalar_types(), key=lambda scalar: scalar.__name__):
    _scalar_type(_type)
