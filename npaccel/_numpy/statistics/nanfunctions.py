"""Reductions that leave NaN out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import (
    NO_VALUE,
    Axis,
    call,
    deliver,
    given,
    masked,
    over_axes,
    reduced_axes,
)
from npaccel._numpy.core.dtypes import BOOL, as_dtype, as_tensor, cast, to_numpy
from npaccel._numpy.core.known_differences import UNCHECKED
from npaccel._numpy.core.layouts import lying_as_reduced
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.statistics.cumulative import cumprod, cumsum
from npaccel._numpy.statistics.reductions import root
from npaccel._numpy.ufuncs.dispatch import named
from npaccel._runtime.torch.symbolic_sizes import refuse_where


def _missing(x: torch.Tensor) -> torch.Tensor | None:
    """Return where x is NaN, or None where it can't be."""
    return torch.isnan(x) if x.dtype.is_floating_point or x.is_complex() else None


def _filled(x: torch.Tensor, value: float) -> torch.Tensor:
    missing = _missing(x)
    return x if missing is None else torch.where(missing, value, x)


@implements(np.nansum, zero_d="scalar")
def nansum(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, **keywords: Any
) -> torch.Tensor:
    """`numpy.nansum`: NaN counts as 0."""
    x = _filled(as_tensor(a), 0)
    return call(np.sum, x, axis, dtype, out, **given(keywords))  # type: ignore[no-any-return]


@implements(np.nanprod, zero_d="scalar")
def nanprod(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, **keywords: Any
) -> torch.Tensor:
    """`numpy.nanprod`: NaN counts as 1."""
    x = _filled(as_tensor(a), 1)
    return call(np.prod, x, axis, dtype, out, **given(keywords))  # type: ignore[no-any-return]


@implements(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> torch.Tensor:
    """`numpy.nancumsum`: NaN counts as 0."""
    return cumsum(_filled(as_tensor(a), 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> torch.Tensor:
    """`numpy.nancumprod`: NaN counts as 1."""
    return cumprod(_filled(as_tensor(a), 1), axis, dtype, out)


def _extreme(a: Any, axis: Axis, out: Any, keywords: dict[str, Any], largest: bool) -> torch.Tensor:
    function = np.max if largest else np.min
    x = as_tensor(a)
    missing = _missing(x)
    if missing is None:
        return call(function, x, axis, out=out, **given(keywords))  # type: ignore[no-any-return]
    keepdims = bool(given(keywords).get("keepdims", False))
    axes = reduced_axes(axis, x.ndim)
    if not given(keywords).keys() - {"keepdims"} and host.has_extreme_number(x, axes):
        found = host.extreme_number(x, list(axes), keepdims, largest)
        return deliver(lying_as_reduced(found, [x], axes), out)
    found = call(
        function, _filled(x, -torch.inf if largest else torch.inf), axis, **given(keywords)
    )
    if "initial" in given(keywords):
        return deliver(found, out)
    nothing = over_axes(torch.all, missing, axes, keepdims)
    return deliver(lying_as_reduced(torch.where(nothing, torch.nan, found), [x], axes), out)


@implements(np.nanmax, zero_d="scalar")
def nanmax(a: Any, axis: Axis = None, out: Any = None, **keywords: Any) -> torch.Tensor:
    """`numpy.nanmax`; NaN where there is nothing else."""
    return _extreme(a, axis, out, keywords, largest=True)


@implements(np.nanmin, zero_d="scalar")
def nanmin(a: Any, axis: Axis = None, out: Any = None, **keywords: Any) -> torch.Tensor:
    """`numpy.nanmin`; NaN where there is nothing else."""
    return _extreme(a, axis, out, keywords, largest=False)


def _number(x: torch.Tensor, where: Any) -> Any:
    """Return a mask of the numbers that a mean is taken of: True where that is all."""
    missing = _missing(x)
    if missing is None:
        return where
    if where is True or where is NO_VALUE:
        return ~missing
    return ~missing & cast(as_tensor(where), BOOL)


def _check_inexact(x: torch.Tensor, dtype: Any, out: Any) -> None:
    """Refuse to round a mean or a spread of floats to integers, as NumPy does."""
    if _missing(x) is None:
        return
    if dtype is not None and as_dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and to_numpy(out.dtype).kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


@implements(np.nanmean, zero_d="scalar")
def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> torch.Tensor:
    """`numpy.nanmean`; NaN where there is nothing else."""
    x = as_tensor(a)
    _check_inexact(x, dtype, out)
    keepdims = keepdims is not NO_VALUE and bool(keepdims)
    where = _number(x, where)
    return call(np.mean, x, axis, dtype, out, keepdims, where=where)  # type: ignore[no-any-return]


def _spread(function: Any, a: Any, axis: Axis, where: Any, ddof: Any, **keywords: Any) -> Any:
    x = as_tensor(a)
    keep = _number(x, where)
    out = keywords.pop("out")
    _check_inexact(x, keywords["dtype"], out)
    if _rounds(x, keywords["dtype"]):
        found = _in_own_precision(x, axis, ddof, keep, **given(keywords))
        found = found if function is np.var else root(found)
    else:
        found = call(function, x, axis, ddof=ddof, where=keep, **given(keywords))
    if _missing(x) is None or not isinstance(keep, torch.Tensor):
        return deliver(found, out)
    _, mask = masked(x, keep, 0)
    keepdims = bool(given(keywords).get("keepdims", False))
    axes = reduced_axes(axis, x.ndim)
    count = over_axes(torch.sum, mask, axes, keepdims)
    return deliver(lying_as_reduced(torch.where(count > ddof, found, torch.nan), [x], axes), out)


def _rounds(x: torch.Tensor, dtype: Any) -> bool:
    """Whether NumPy rounds what it squares to a coarser dtype than it sums in."""
    if dtype is None or _missing(x) is None:
        return False
    return bool(np.result_type(to_numpy(x.dtype), as_dtype(dtype)) != to_numpy(x.dtype))


def _in_own_precision(
    x: torch.Tensor, axis: Axis, ddof: Any, keep: torch.Tensor, dtype: Any, mean: Any = None,
    keepdims: Any = False,
) -> torch.Tensor:  # fmt: skip
    """Return a variance whose deviations are rounded to the dtype of the data, as NumPy's."""
    _, mask = masked(x, keep, 0)
    axes = reduced_axes(axis, x.ndim)
    count = over_axes(torch.sum, mask, axes, True)
    if mean is None:
        total = call(np.sum, x, axis, dtype, keepdims=True, where=mask)
        mean = call(np.divide, total, count, dtype=total.dtype)
    gap = cast(call(np.subtract, x, mean), to_numpy(x.dtype))
    square = call(np.multiply, gap, torch.conj_physical(gap)).real if x.is_complex() else gap * gap
    total = call(np.sum, square, axis, dtype, keepdims=keepdims, where=mask)
    freedom = over_axes(torch.sum, mask, axes, bool(keepdims)) - ddof
    return call(np.divide, total, freedom, dtype=total.dtype)  # type: ignore[no-any-return]


def _nanvar(function: Any, name: str) -> Any:
    def computed(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> torch.Tensor:
        """The spread of what isn't NaN; NaN where too little is left."""
        if correction is not None and correction is not NO_VALUE:
            if ddof != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        found: torch.Tensor = _spread(
            function, a, axis, where, ddof, dtype=dtype, out=out, keepdims=keepdims, mean=mean
        )
        return found

    return named(computed, name, __name__)  # so that a printed graph can be imported


nanvar = implements(np.nanvar, zero_d="scalar")(_nanvar(np.var, "nanvar"))
nanstd = implements(np.nanstd, zero_d="scalar")(_nanvar(np.std, "nanstd"))


def _position(
    function: Any, x: torch.Tensor, worst: float, axis: Any, out: Any, keepdims: Any
) -> torch.Tensor:
    if x.is_floating_point() or x.is_complex():
        missing = call(np.all, torch.isnan(x), axis)
        refuse_where(missing, ValueError("All-NaN slice encountered"))
    return call(function, _filled(x, worst), axis, out, keepdims=keepdims)  # type: ignore[no-any-return]


@implements(np.nanargmax, zero_d="scalar", note=UNCHECKED)
def nanargmax(
    a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False
) -> torch.Tensor:
    """`numpy.nanargmax`."""
    return _position(np.argmax, as_tensor(a), -torch.inf, axis, out, keepdims)


@implements(np.nanargmin, zero_d="scalar", note=UNCHECKED)
def nanargmin(
    a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False
) -> torch.Tensor:
    """`numpy.nanargmin`."""
    return _position(np.argmin, as_tensor(a), torch.inf, axis, out, keepdims)
