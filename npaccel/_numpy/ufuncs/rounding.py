"""Clipping, rounding, and the parts of complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import call, deliver
from npaccel._numpy.core.dtypes import (
    FLOAT64,
    as_dtype,
    as_tensor,
    cast,
    is_scalar,
    result_dtype,
    to_numpy,
)
from npaccel._numpy.core.layouts import lying_as_allocated
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.ufuncs.dispatch import concrete, is_symbolic
from npaccel._numpy.ufuncs.integers import either
from npaccel._runtime.torch.symbolic_sizes import surely

_NO_BOUND: Any = object()


@implements(np.clip, zero_d="scalar", mutates=(3,), elementwise=True)
def clip(
    a: Any,
    a_min: Any = _NO_BOUND,
    a_max: Any = _NO_BOUND,
    out: Any = None,
    *,
    min: Any = _NO_BOUND,
    max: Any = _NO_BOUND,
    **kwargs: Any,
) -> torch.Tensor:
    """`numpy.clip`; Python ints beyond the dtype's bounds clip nothing."""
    x = as_tensor(a)
    given = {"a_min": a_min, "a_max": a_max, "min": min, "max": max}
    given = {name: bound for name, bound in given.items() if bound is not _NO_BOUND}
    _ask_numpy(x, out, given, kwargs)
    low = given.get("min", given.get("a_min"))
    high = given.get("max", given.get("a_max"))
    if x.dtype in _INTEGERS:
        bounds = np.iinfo(to_numpy(x.dtype))
        low = None if type(low) is int and low <= bounds.min else low
        high = None if type(high) is int and high >= bounds.max else high
    return _clipped(x, low, high, out, kwargs)


_INTEGERS = {
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
}


def _ask_numpy(x: torch.Tensor, out: Any, bounds: dict[str, Any], kwargs: Any) -> None:
    """Have NumPy raise what it would for these dtypes and this way to name the bounds."""
    ask: Any = np.clip
    ask(_probe(x), out=_probe(out), **{k: _probe(b) for k, b in bounds.items()}, **kwargs)


def _probe(x: Any) -> Any:
    if x is None or is_scalar(x):
        return concrete(x)
    return np.zeros(0, to_numpy(as_tensor(x).dtype))


def _clipped(x: torch.Tensor, low: Any, high: Any, out: Any, kwargs: Any) -> torch.Tensor:
    if low is None and high is None:
        return call(np.positive, x, out=out, **kwargs)  # type: ignore[no-any-return]
    if low is None:
        return call(np.minimum, x, high, out=out, **kwargs)  # type: ignore[no-any-return]
    if high is None:
        return call(np.maximum, x, low, out=out, **kwargs)  # type: ignore[no-any-return]
    bounds = [b if is_scalar(b) else as_tensor(b) for b in (low, high)]
    if kwargs.get("dtype") is None:
        kind = result_dtype(x, *bounds)
        if kind.kind == "b":  # the loop for bytes is the first that takes bools
            kind = np.clip(np.zeros(0, bool), False, True).dtype
        kwargs = {**kwargs, "dtype": kind}
    inner = {key: value for key, value in kwargs.items() if key != "where"}
    if as_dtype(kwargs["dtype"]).kind == "c":
        kept = _within(*(as_tensor(part, as_dtype(kwargs["dtype"])) for part in (x, *bounds)))
        return call(np.positive, kept, out=out, **kwargs)  # type: ignore[no-any-return]
    if as_dtype(kwargs["dtype"]).kind == "f" and _keeps_equals(x, bounds, kwargs["dtype"]):
        kept = call(np.positive, x, **inner)
        for bounded, bound in zip((np.maximum, np.minimum), bounds, strict=True):
            found = call(bounded, kept, bound, **inner)
            kept = either(call(np.equal, kept, bound), kept, found)
        return call(np.positive, kept, out=out, **kwargs)  # type: ignore[no-any-return]
    above = call(np.maximum, x, bounds[0], **inner)
    return call(np.minimum, above, bounds[1], out=out, **kwargs)  # type: ignore[no-any-return]


def _keeps_equals(x: torch.Tensor, bounds: list[Any], dtype: Any) -> bool:
    """Whether NumPy keeps what equals a bound, and with it the sign of a zero.

    It does where there's one bound of each kind for all elements, and for float16; else the
    bound's sign stays. For bounds of many rows NumPy's own choice depends on their length.
    """
    if as_dtype(dtype).itemsize == 2:
        return True
    arrays = [bound for bound in bounds if isinstance(bound, torch.Tensor) and bound.ndim]
    if not arrays:
        return any(map(_may_be_zero, bounds))
    return not surely(x.numel() == 1) and all(surely(one.numel() == 1) for one in arrays)


def _may_be_zero(bound: Any) -> bool:
    """Whether what equals a bound may have another sign."""
    return isinstance(bound, torch.Tensor) or is_symbolic(bound) or bound == 0


def _within(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Clip complex numbers: by the real part, then the imaginary one; NaN in bounds is no number.

    That is how `numpy.clip` compares them, unlike `numpy.maximum`.
    """
    above = torch.where(torch.isnan(x) | _is_less(low, x), x, low)
    return torch.where(torch.isnan(above) | _is_less(above, high), above, high)


def _is_less(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.real < b.real) | ((a.real == b.real) & (a.imag < b.imag))


@implements(np.round, zero_d="scalar", mutates=(2,), elementwise=True)
def round_(a: Any, decimals: Any = 0, out: Any = None) -> torch.Tensor:
    """`numpy.round`: half to even."""
    x = as_tensor(a)
    places = int(decimals)
    # NumPy refuses bools, but for whole numbers, and what it can't cast on its way to `out`.
    target = None if out is None else np.zeros(0, to_numpy(out.dtype))
    np.round(np.zeros(0, to_numpy(x.dtype)), places, out=target)
    if x.is_complex():
        return deliver(torch.complex(round_(x.real, places), round_(x.imag, places)), out)
    if x.dtype in _INTEGERS and places >= 0:
        if out is a:
            return x
        return deliver(x.clone(), out)
    if places == 0:
        return deliver(call(np.rint, x), out)
    kind = to_numpy(x.dtype)
    work = cast(x, FLOAT64) if x.dtype in _INTEGERS else x
    scale = 10.0 ** abs(places)
    if places > 0:
        found = call(np.divide, call(np.rint, call(np.multiply, work, scale)), scale)
    else:
        found = call(np.multiply, call(np.rint, call(np.divide, work, scale)), scale)
    found = cast(found, kind) if x.dtype in _INTEGERS else found
    return deliver(found if out is not None else lying_as_allocated(found, x), out)


implements(np.around, zero_d="scalar", mutates=(2,), elementwise=True)(round_)


def _number_or_array(val: Any) -> torch.Tensor:
    """Return a tensor; the parts of a Python bool are ints."""
    return as_tensor(int(val) if isinstance(val, bool) else val)


@implements(np.real, elementwise=True)
def real(val: Any) -> torch.Tensor:
    """`numpy.real`: a view."""
    x = _number_or_array(val)
    return torch.real(x) if x.is_complex() else x


@implements(np.imag, elementwise=True)
def imag(val: Any) -> torch.Tensor:
    """`numpy.imag`: a view of complex numbers, zeros otherwise."""
    x = _number_or_array(val)
    return torch.imag(x) if x.is_complex() else torch.zeros_like(x)


@implements(np.angle, zero_d="scalar", elementwise=True)
def angle(z: Any, deg: bool = False) -> torch.Tensor:
    """`numpy.angle`."""
    x = z if is_scalar(z) else as_tensor(z)
    if is_scalar(x):
        x = as_tensor(x)
    if x.is_complex() and host.ufunc_usable("angle", x.real):
        found = host.arctan2(x.imag, x.real)
    else:
        found = call(np.arctan2, imag(x) if x.is_complex() else 0, real(x))
    return call(np.multiply, found, 180 / math.pi) if deg else found
