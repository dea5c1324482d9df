"""Reductions: sums and products, extrema, any and all, mean, variance, counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import (
    NO_VALUE,
    Axis,
    absent,
    at_least_zero,
    axes_of,
    call,
    count_over,
    deliver,
    masked,
    over_axes,
    probe,
    reduced_axes,
)
from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.core.dtypes import (
    BOOL,
    FLOAT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    narrow,
    to_numpy,
    to_torch,
)
from npaccel._numpy.core.layouts import lying_as_reduced
from npaccel._numpy.core.table import implements
from npaccel._numpy.ufuncs.dispatch import named
from npaccel._numpy.ufuncs.methods import from_zero, reduce_ufunc
from npaccel._numpy.ufuncs.reductions import REDUCTIONS


def _given(where: Any) -> bool:
    """Whether a `where` argument masks anything."""
    return where is not None and where is not True


def _mean_axes(axis: Axis, ndim: int, where: Any) -> tuple[int, ...]:
    """Return the axes of a mean, of whose lengths NumPy is strict unless it counts a mask."""
    return reduced_axes(axis, ndim) if _given(where) else axes_of(axis, ndim)


def _mean_dtypes(x: torch.Tensor, dtype: Any) -> tuple[DType, DType]:
    """Return the dtype that a mean is summed in and the dtype of its result."""
    own = to_numpy(x.dtype)
    if dtype is not None:
        given = as_dtype(dtype)
        return given, given
    if own == np.float16:
        return np.dtype(np.float32), own
    result = narrow(np.mean(probe(x)).dtype, [own])
    return result, result


def _by_count(total: torch.Tensor, count: Any) -> torch.Tensor:
    """Return a sum by a number of elements, as NumPy divides.

    The number is an int64, so that complex64 is divided as complex128; and complex numbers by their
    parts, after Smith: by a real number, that is times its inverse.
    """
    if not total.is_complex():
        quotient: torch.Tensor = call(np.divide, total, count)
        return quotient
    wide = total.to(torch.complex128)
    inverse = torch.ones((), dtype=torch.float64, device=total.device) / count
    real, imag = wide.real, wide.imag
    found = torch.complex((real + imag * 0.0) * inverse, (imag - real * 0.0) * inverse)
    return found.to(total.dtype)


def _center(x: torch.Tensor, axes: tuple[int, ...], keepdims: bool) -> torch.Tensor:
    """Return the mean of floats or complex numbers in their own dtype."""
    if x.is_complex():
        return _by_count(over_axes(torch.sum, x, axes, keepdims), count_over(x, axes))
    if x.dtype == torch.float16:
        return (_total(x, axes, keepdims).to(torch.float64) / count_over(x, axes)).to(x.dtype)
    return over_axes(torch.mean, x, axes, keepdims)


def _total(x: torch.Tensor, axes: tuple[int, ...], keepdims: bool) -> torch.Tensor:
    """Return a sum in the dtype of what is added, float16 rounded where NumPy does."""
    if x.dtype == torch.float16 and axes:
        total: torch.Tensor = REDUCTIONS[np.add].reduce(x, axes, keepdims)
        return total
    return over_axes(torch.sum, x, axes, keepdims)


@implements(np.mean, zero_d="scalar")
def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.mean`; float16 is summed in float32, integers in float64 (narrow: float32)."""
    x = as_tensor(a)
    axes = _mean_axes(axis, x.ndim, where)
    acc, result = _mean_dtypes(x, dtype)
    if acc.kind not in "fc" and out is not None:
        raise NotImplementedError(
            f"numpy.mean with dtype={acc.name!r} and out= rounds in between and can't be "
            "compiled; leave dtype out, or pass a floating one"
        )
    if _given(where):
        _, mask = masked(x, where, 0)
        total = reduce_ufunc(np.add, x, axis, acc, None, keepdims, NO_VALUE, where)
        found = _by_count(total, over_axes(torch.sum, mask, axes, keepdims))
    elif acc.kind == "f" and acc != np.float16:  # a sum in float16 is rounded, and may overflow
        found = over_axes(torch.mean, x, axes, keepdims, dtype=to_torch(acc))
        found = from_zero(found, x, axes)
    else:
        found = _by_count(reduce_ufunc(np.add, x, axis, acc, None, keepdims), count_over(x, axes))
    return deliver(lying_as_reduced(cast(found, result), [x], axes), out)


@implements("numpy.ndarray.mean", zero_d="scalar")
def _mean_method(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> torch.Tensor:
    return mean(a, axis, dtype, out, keepdims, where=where)


def _squared_distance(x: torch.Tensor, center: torch.Tensor) -> torch.Tensor:
    """Return abs(x - center) ** 2, real for complex numbers."""
    apart = x - center
    if not apart.is_complex():
        return apart * apart
    found: torch.Tensor = apart.real * apart.real + apart.imag * apart.imag
    return found


def _spread_dtypes(x: torch.Tensor, dtype: Any) -> tuple[DType, DType]:
    """Return the dtype of a variance's sums and the dtype of the distances from the mean."""
    own = to_numpy(x.dtype)
    if dtype is None:
        acc = own if own.kind in "fc" else narrow(FLOAT64, [own])
        return acc, acc
    acc = as_dtype(dtype)
    if acc.kind not in "fc":
        raise NotImplementedError(
            f"numpy.var and numpy.std with dtype={acc.name!r} round in between and can't be "
            "compiled; leave dtype out, or pass a floating one"
        )
    return acc, as_dtype(np.result_type(own, acc))


def variance(
    x: torch.Tensor,
    axes: tuple[int, ...],
    dtype: Any,
    ddof: Any,
    keepdims: bool,
    where: Any = True,
    mean_given: Any = None,
) -> torch.Tensor:
    """Return the variance in two passes, a mean and a mean of squares, that fuse."""
    acc, wide = _spread_dtypes(x, dtype)
    kept, mask = cast(x, acc), None
    if _given(where):
        kept, mask = masked(kept, where, 0)
        count: Any = over_axes(torch.sum, mask, axes, True)
        center = over_axes(torch.sum, kept, axes, True)
        center = _by_count(center, count) if center.is_complex() else center / count
        divisor = at_least_zero(count - ddof)
        divisor = divisor if keepdims or not axes else divisor.squeeze(axes)
    else:
        center = _center(kept, axes, True)
        divisor = at_least_zero(count_over(x, axes) - ddof)
    if not absent(mean_given):
        center = as_tensor(mean_given)
    squares = _squared_distance(cast(x, wide), cast(center, wide))
    if mask is not None:
        squares, _ = masked(squares, mask, 0)
    if dtype is not None:
        squares = cast(squares, acc)
    total = _total(squares, axes, keepdims)
    found: torch.Tensor = (total / divisor).to(total.dtype)
    return lying_as_reduced(found, [x], axes)


def _ddof(ddof: Any, correction: Any) -> Any:
    """Return the one of `ddof` and `correction` that was given."""
    if absent(correction):
        return ddof
    if not isinstance(ddof, torch.Tensor) and ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@implements(np.var, zero_d="scalar")
def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> torch.Tensor:
    """`numpy.var`, in two passes as NumPy's."""
    x = as_tensor(a)
    axes = _mean_axes(axis, x.ndim, where)
    ddof = _ddof(ddof, correction)
    return deliver(variance(x, axes, dtype, ddof, keepdims, where, mean), out)


@implements(np.std, zero_d="scalar")
def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> torch.Tensor:
    """`numpy.std`, the root of `numpy.var`."""
    x = as_tensor(a)
    axes = _mean_axes(axis, x.ndim, where)
    ddof = _ddof(ddof, correction)
    return deliver(root(variance(x, axes, dtype, ddof, keepdims, where, mean)), out)


def root(x: torch.Tensor) -> torch.Tensor:
    """Return the root of a variance, with derivative zero where that is zero, as torch's `std`."""
    if not wants_gradients(x):
        return torch.sqrt(x)
    is_zero = x == 0
    return torch.where(is_zero, 0.0, torch.sqrt(torch.where(is_zero, 1.0, x)))


def _spread_method(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Make the method of a function, which knows no `correction`."""

    def method(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: torch.Tensor | None = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = None,
    ) -> torch.Tensor:
        return function(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)

    return method


# The names under which a printed graph can import them.
var_method = named(_spread_method(var), "var_method", __name__)
std_method = named(_spread_method(std), "std_method", __name__)
implements("numpy.ndarray.var", zero_d="scalar")(var_method)
implements("numpy.ndarray.std", zero_d="scalar")(std_method)


def nonzero_mask(x: torch.Tensor) -> torch.Tensor:
    """Return which elements are True, or not zero."""
    return x if x.dtype == torch.bool else x != 0


@implements(np.count_nonzero, zero_d="scalar")
def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> torch.Tensor:
    """`numpy.count_nonzero`; NaN counts, as it isn't zero."""
    x = as_tensor(a)
    axes = reduced_axes(axis, x.ndim)
    return lying_as_reduced(over_axes(torch.sum, nonzero_mask(x), axes, keepdims), [x], axes)


@implements(np.sum, zero_d="scalar")
@implements("numpy.ndarray.sum", zero_d="scalar")
def sum_(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.sum`."""
    return reduce_ufunc(np.add, a, axis, dtype, out, _keeps(keepdims), initial, where)


@implements(np.prod, zero_d="scalar")
@implements("numpy.ndarray.prod", zero_d="scalar")
def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.prod`."""
    return reduce_ufunc(np.multiply, a, axis, dtype, out, _keeps(keepdims), initial, where)


@implements(np.max, zero_d="scalar")
@implements("numpy.ndarray.max", zero_d="scalar")
def max_(
    a: Any,
    axis: Axis = None,
    out: torch.Tensor | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.max`; NaN where there is one."""
    return reduce_ufunc(np.maximum, a, axis, None, out, _keeps(keepdims), initial, where)


@implements(np.min, zero_d="scalar")
@implements("numpy.ndarray.min", zero_d="scalar")
def min_(
    a: Any,
    axis: Axis = None,
    out: torch.Tensor | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.min`; NaN where there is one."""
    return reduce_ufunc(np.minimum, a, axis, None, out, _keeps(keepdims), initial, where)


@implements(np.any, zero_d="scalar")
@implements("numpy.ndarray.any", zero_d="scalar")
def any_(
    a: Any,
    axis: Axis = None,
    out: torch.Tensor | None = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.any`."""
    keepdims = _keeps(keepdims)
    return reduce_ufunc(np.logical_or, a, axis, BOOL, out, keepdims, NO_VALUE, where)


@implements(np.all, zero_d="scalar")
@implements("numpy.ndarray.all", zero_d="scalar")
def all_(
    a: Any,
    axis: Axis = None,
    out: torch.Tensor | None = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.all`."""
    keepdims = _keeps(keepdims)
    return reduce_ufunc(np.logical_and, a, axis, BOOL, out, keepdims, NO_VALUE, where)


for _name, _function in (("amax", max_), ("amin", min_)):
    if getattr(np, _name) is not getattr(np, _name[1:]):
        implements(getattr(np, _name), zero_d="scalar")(_function)


def _keeps(keepdims: Any) -> bool:
    return keepdims is not NO_VALUE and bool(keepdims)


@implements(np.ptp, zero_d="scalar")
def ptp(
    a: Any, axis: Axis = None, out: torch.Tensor | None = None, keepdims: Any = False
) -> torch.Tensor:
    """`numpy.ptp`, the distance from the smallest to the largest."""
    largest, smallest = max_(a, axis, out, keepdims), min_(a, axis, None, keepdims)
    return call(np.subtract, largest, smallest, out=out)  # type: ignore[no-any-return]
