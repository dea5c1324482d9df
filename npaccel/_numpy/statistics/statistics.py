"""Averages, covariance and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import (
    NO_VALUE,
    Axis,
    at_least_zero,
    axes_of,
    call,
    count_over,
    over_axes,
)
from npaccel._numpy.core.dtypes import (
    FLOAT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    default_float,
    dtype_of,
    narrow,
    strong,
    to_numpy,
    to_torch,
)
from npaccel._numpy.core.known_differences import UNCHECKED
from npaccel._numpy.core.layouts import lying_as_reduced
from npaccel._numpy.core.table import implements, parameters_of
from npaccel._numpy.host import kernels as host
from npaccel._numpy.host import linalg as host_linalg
from npaccel._numpy.linalg.products import dot
from npaccel._numpy.manipulation.manipulation import squeezed
from npaccel._numpy.statistics.quantiles import shaped_weights
from npaccel._runtime.torch.symbolic_sizes import holds_here, refuse_where

_WEIGHTLESS = "Weights sum to zero, can't be normalized"


@implements(
    np.average, zero_d="scalar", note="weights that sum to zero give NaN, not ZeroDivisionError"
)
def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """`numpy.average`.

    Raises
    ------
    TypeError, ValueError
        If the weights don't fit the data along the axis.
    ZeroDivisionError
        If weights sum to zero, or there are no averages: NumPy divides by how many there are.
    """
    x = as_tensor(a)
    axes = axes_of(axis, x.ndim)
    keepdims = keepdims is not NO_VALUE and bool(keepdims)
    if weights is None:
        found = call(np.mean, x, axis, keepdims=keepdims)
        if holds_here(found.numel() == 0, "there are no averages"):
            raise ZeroDivisionError("division by zero")
        total = torch.full_like(found, count_over(x, axes)) if returned else found
    else:
        w = as_tensor(weights)
        own = [to_numpy(x.dtype), to_numpy(w.dtype)]
        dtype = narrow(as_dtype(np.result_type(*own, *_floats(own[0]))), own)
        same = w.ndim == x.ndim and not any(
            holds_here(m != n, "the shapes differ") for m, n in zip(w.shape, x.shape, strict=True)
        )
        w = w if same else shaped_weights(w, x, axes, all_axes=axis is None)
        w = cast(w, dtype)
        total = over_axes(torch.sum, w, axes, keepdims)
        refuse_where(total == 0, ZeroDivisionError(_WEIGHTLESS))
        found = over_axes(torch.sum, cast(x, dtype) * w, axes, keepdims) / total
        found = lying_as_reduced(found, [x, w], axes)
    return (found, total.expand(found.shape).clone()) if returned else found


def _floats(dtype: DType) -> list[DType]:
    return [FLOAT64] if dtype.kind in "biu" else []


def _rows(x: torch.Tensor, transpose: bool) -> torch.Tensor:
    x = x.reshape((1,) * (2 - x.ndim) + tuple(x.shape)) if x.ndim < 2 else x
    return x.T if transpose else x


def _observations(m: Any, y: Any, rowvar: bool, dtype: Any) -> tuple[torch.Tensor, DType]:
    """Return the variables of `cov`, a row each, and the dtype that they are to be cast to."""
    first = as_tensor(m)
    if first.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    second = None if y is None else as_tensor(y)
    if second is not None and second.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    own = [to_numpy(t.dtype) for t in (first, second) if t is not None]
    if dtype is None:
        dtype = narrow(as_dtype(np.result_type(*own, FLOAT64)), own)
    dtype = as_dtype(dtype)
    x = _rows(first, not rowvar and first.ndim != 1)
    if second is None:
        return x, dtype
    more = _rows(second, False)
    more = more.T if not rowvar and more.shape[0] != 1 else more
    return torch.cat([cast(x, dtype), cast(more, dtype)]), dtype


def _are_numpys(rows: torch.Tensor, dtype: DType) -> bool:
    """Whether NumPy's steps compute covariances of the rows."""
    return dtype.kind == "f" and not rows.is_complex() and host.worth(rows)


def _frequencies(weights: Any, n: Any, name: str) -> torch.Tensor:
    w = as_tensor(weights)
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != n:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    refuse_where(w < 0, ValueError(f"{name} cannot be negative"))
    return w


def _divisor(n: Any, w: torch.Tensor | None, aweights: Any, ddof: Any) -> Any:
    """Return what a covariance is divided by, never less than zero."""
    if w is None:
        return at_least_zero(n - ddof)
    total = torch.sum(w)
    if ddof == 0:
        return total
    if aweights is None:
        return torch.clamp(total - ddof, min=0)
    return torch.clamp(total - ddof * torch.sum(w * as_tensor(aweights)) / total, min=0)


@implements(np.cov, note=UNCHECKED)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> torch.Tensor:
    """`numpy.cov`.

    Raises
    ------
    ValueError
        If there are more than two dimensions, or `ddof` isn't a whole number.
    TypeError, RuntimeError
        If the weights aren't integers, or don't fit the observations.
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    rows, own = _observations(m, y, rowvar, dtype)
    x = cast(rows, own)
    if x.shape[0] == 0:
        return torch.zeros((0, 0), dtype=to_torch(default_float()), device=x.device)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w, wide = None, as_dtype(np.result_type(default_float(), to_numpy(real_of(x).dtype)))
    if fweights is not None:
        if strong(dtype_of(fweights)).kind == "f" and isinstance(fweights, torch.Tensor):
            raise TypeError("fweights must be integer")
        w = cast(_frequencies(fweights, x.shape[1], "fweights"), wide)
    if aweights is not None:
        a = cast(_frequencies(aweights, x.shape[1], "aweights"), wide)
        w = a if w is None else w * a
    if w is not None:
        refuse_where(torch.sum(w) == 0, ZeroDivisionError(_WEIGHTLESS))
    if w is None and _are_numpys(rows, own):
        divisor = _divisor(x.shape[1], w, aweights, ddof)
        return squeezed(host_linalg.covariance(rows, own.name, divisor))
    average_of_rows = torch.mean(x, 1, True) if w is None else (x * w).sum(1, True) / w.sum()
    x = cast(x - average_of_rows, to_numpy(x.dtype))
    weighted = x if w is None else x * w
    other = torch.conj_physical(weighted) if x.is_complex() else weighted
    found: torch.Tensor = dot(x, other.T) / _divisor(x.shape[1], w, aweights, ddof)
    return squeezed(found)


def real_of(x: torch.Tensor) -> torch.Tensor:
    """Return the real part of a tensor."""
    return x.real if x.is_complex() else x


@implements(np.corrcoef, zero_d="scalar", unsupported=parameters_of(np.corrcoef, "bias", "ddof"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> torch.Tensor:
    """`numpy.corrcoef`, kept within -1 and 1."""
    rows, own = _observations(x, y, rowvar, dtype)
    if rows.shape[0] > 1 and _are_numpys(rows, own):
        return host_linalg.correlation(rows, own.name)
    c = cov(rows, dtype=own)
    if c.ndim == 0:
        return c / c
    deviation = torch.sqrt(real_of(torch.diagonal(c)))
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if not c.is_complex():
        return torch.clamp(c, -1, 1)
    return torch.complex(torch.clamp(c.real, -1, 1), torch.clamp(c.imag, -1, 1))
