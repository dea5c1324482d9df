"""Comparing arrays within tolerances or as wholes, and replacing NaN and infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import call
from npaccel._numpy.core.dtypes import as_dtype, as_tensor, cast, dtype_of, is_scalar, to_numpy
from npaccel._numpy.core.table import implements
from npaccel._numpy.ufuncs import kernels
from npaccel._runtime.torch.symbolic_sizes import holds_here


def _weak_or_dtype(x: Any) -> Any:
    """Return what `numpy.result_type` takes for an operand: a dtype, or a weak value."""
    found = dtype_of(x)
    return found if isinstance(found, np.dtype) else found(0)


@implements(np.isclose, zero_d="scalar", elementwise=True)
def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> torch.Tensor:
    """`numpy.isclose`; integers are compared in float64 even where floats are narrowed."""
    kinds = [_weak_or_dtype(x) for x in (a, b)]
    dtype = as_dtype(np.result_type(*kinds, 1.0))
    x, y = (cast(as_tensor(operand), dtype) for operand in (a, b))
    bound = _bound(atol, x) + _bound(rtol, x) * kernels.absolute(y)
    close = torch.le(kernels.absolute(x - y), bound) & torch.isfinite(y)
    found: torch.Tensor = close | call(np.equal, a if not is_scalar(a) else as_tensor(a), b)
    return found | (torch.isnan(x) & torch.isnan(y)) if equal_nan else found


def _bound(tolerance: Any, x: torch.Tensor) -> Any:
    """Return a tolerance in the precision of the comparison."""
    if not isinstance(tolerance, torch.Tensor):
        return tolerance
    real = x.real.dtype if x.is_complex() else x.dtype
    return tolerance if tolerance.dtype == torch.float64 and tolerance.ndim else tolerance.to(real)


@implements(np.allclose, zero_d="python")
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> torch.Tensor:
    """`numpy.allclose`."""
    return torch.all(isclose(a, b, rtol, atol, equal_nan))


def _false(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros((), dtype=torch.bool, device=x.device)


@implements(np.array_equal, zero_d="python")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> torch.Tensor:
    """`numpy.array_equal`: of one shape, and every element equal."""
    x, y = as_tensor(a1), as_tensor(a2)
    sizes = zip(x.shape, y.shape, strict=False)
    if x.ndim != y.ndim or any(holds_here(m != n, "the shapes differ") for m, n in sizes):
        return _false(x)
    same = call(np.equal, x, y)
    if equal_nan:
        same = same | (torch.isnan(x) & torch.isnan(y))
    return torch.all(same)


@implements(np.array_equiv, zero_d="python")
def array_equiv(a1: Any, a2: Any) -> torch.Tensor:
    """`numpy.array_equiv`: equal where the shapes broadcast."""
    x, y = as_tensor(a1), as_tensor(a2)
    lengths = zip(reversed(x.shape), reversed(y.shape), strict=False)
    if any(m not in (1, n) and n != 1 for m, n in lengths):
        return _false(x)
    return torch.all(call(np.equal, x, y))


def _replaced(x: torch.Tensor, nan: Any, posinf: Any, neginf: Any) -> torch.Tensor:
    """Return real numbers without NaN and infinities."""
    info = torch.finfo(x.dtype)
    posinf = info.max if posinf is None else posinf
    neginf = info.min if neginf is None else neginf
    if not any(isinstance(value, torch.Tensor) for value in (nan, posinf, neginf)):
        return torch.nan_to_num(x, nan, posinf, neginf)
    found = x
    for where, value in (
        (torch.isnan(x), nan),
        (x == torch.inf, posinf),
        (x == -torch.inf, neginf),
    ):
        found = torch.where(where, cast(as_tensor(value), to_numpy(x.dtype)), found)
    return found


@implements(np.nan_to_num, zero_d="scalar", mutates=(0,))
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> torch.Tensor:
    """`numpy.nan_to_num`; with ``copy=False`` the array itself is changed."""
    if not copy and not isinstance(x, torch.Tensor):
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    given = as_tensor(x)
    if given.is_complex():
        parts = [_replaced(part, nan, posinf, neginf) for part in (given.real, given.imag)]
        found = torch.complex(parts[0], parts[1])
    elif given.dtype.is_floating_point:
        found = _replaced(given, nan, posinf, neginf)
    else:
        found = given.clone() if copy or not given.ndim else given
    if copy or found is given:
        return found
    given.copy_(found)
    return given if given.ndim else found


# -- kinds of numbers


def _signed_inf(x: Any, out: Any, negative: bool) -> torch.Tensor:
    sign = call(np.signbit, x)
    side = sign if negative else torch.logical_not(sign)
    found: torch.Tensor = call(np.logical_and, call(np.isinf, x), side, out=out)
    return found


@implements(np.isposinf, zero_d="scalar", mutates=(1,))
def isposinf(x: Any, out: Any = None) -> torch.Tensor:
    """`numpy.isposinf`."""
    return _signed_inf(x, out, negative=False)


@implements(np.isneginf, zero_d="scalar", mutates=(1,))
def isneginf(x: Any, out: Any = None) -> torch.Tensor:
    """`numpy.isneginf`."""
    return _signed_inf(x, out, negative=True)


@implements(np.iscomplex, zero_d="scalar")
def iscomplex(x: Any) -> torch.Tensor:
    """`numpy.iscomplex`: where the imaginary part isn't zero."""
    array = as_tensor(x)
    if not array.is_complex():
        return torch.zeros_like(array, dtype=torch.bool)
    return array.imag != 0


@implements(np.isreal, zero_d="scalar")
def isreal(x: Any) -> torch.Tensor:
    """`numpy.isreal`: where the imaginary part is zero."""
    return torch.logical_not(iscomplex(x))
