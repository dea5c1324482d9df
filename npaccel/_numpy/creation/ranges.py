"""Ranges of numbers: arange, linspace and those that space logarithms evenly."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, call, check_placed
from npaccel._numpy.core.context import settings, tracing
from npaccel._numpy.core.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    default_float,
    dtype_of,
    is_scalar,
    narrow,
    result_dtype,
    strong,
    to_torch,
)
from npaccel._numpy.core.table import implements
from npaccel._numpy.ufuncs.dispatch import is_symbolic
from npaccel._runtime.torch.symbolic_sizes import depends_on_data, holds_here, refuse_where, surely


@implements(np.arange)
def arange(
    *args: Any,
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    device: str | None = None,
    like: Any = None,
) -> torch.Tensor:
    """`numpy.arange` of Python numbers; the length may be symbolic."""
    check_placed(device=device)
    begin, end, delta, spec = _range_arguments(args, (start, stop, step, dtype))
    kind = _range_dtype((begin, end, delta), spec)
    if isinstance(delta, int | float) and delta == 0:
        raise ZeroDivisionError("division by zero")
    length = _range_length(begin, end, delta)
    integers = all(isinstance(x, int | torch.SymInt) for x in (begin, end, delta))
    if integers and kind == np.int64:
        last = begin if surely(length == 0) else end
        return torch.arange(begin, last, delta, dtype=torch.int64, device=settings().device)
    if kind == BOOL and not is_symbolic(length) and length > 2:
        raise TypeError(
            "arange() is only supported for booleans when the result has at most 2 items"
        )
    return _filled_range(begin, delta, length, kind)


def _range_arguments(args: tuple[Any, ...], named: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return start, stop, step and dtype, however they were passed."""
    if len(args) > 4 or any(x is not None for x in named[: len(args)]):
        raise TypeError("arange() got more arguments than it takes, or one of them twice")
    start, stop, step, dtype = (*args, *named[len(args) :])
    if stop is None:
        start, stop = None, start
    if stop is None:
        raise TypeError("arange() requires stop to be specified.")
    numbers = (0 if start is None else start, stop, 1 if step is None else step)
    return (*(_number(x) for x in numbers), dtype)


def _number(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        raise NotImplementedError(
            "arange of numbers that are computed from array values can't be compiled: the length "
            "would depend on the data; pass Python numbers"
        )
    if isinstance(x, complex) or not (is_scalar(x) or isinstance(x, np.generic)):
        raise TypeError(f"arange takes real numbers here, not {type(x).__name__}")
    return x


def _range_dtype(numbers: Sequence[Any], dtype: Any) -> DType:
    if dtype is not None:
        return as_dtype(dtype)
    kinds = [dtype_of(x) for x in numbers]
    found = np.result_type(*(strong(kind) for kind in kinds))
    given = any(isinstance(kind, np.dtype) and kind == np.float64 for kind in kinds)
    return default_float() if found == np.float64 and not given else as_dtype(found)


def _range_length(start: Any, stop: Any, step: Any) -> Any:
    if any(is_symbolic(x) for x in (start, stop, step)):
        if all(isinstance(x, int | torch.SymInt) for x in (start, stop, step)):
            count = -((start - stop) // step)
        else:
            count = math.ceil((stop - start) / step)
        return torch.sym_max(0, count)  # type: ignore[no-untyped-call]
    length = (stop - start) / step
    if math.isnan(length):
        raise ValueError("arange: cannot compute length")
    if math.isinf(length) or length > np.iinfo(np.intp).max:
        raise ValueError("Maximum allowed size exceeded")
    return max(0, math.ceil(length))


def _filled_range(start: Any, step: Any, length: Any, kind: DType) -> torch.Tensor:
    """Fill as NumPy does: ``first + i * (second - first)``, both rounded to the dtype."""
    steps = torch.arange(length, device=settings().device)
    wide = {"b": np.dtype(np.int64), "i": np.dtype(np.int64), "u": np.dtype(np.int64)}
    work = wide.get(kind.kind, FLOAT32 if kind.itemsize == 2 else kind)
    steps = cast(steps, work)
    if is_symbolic(start) or is_symbolic(step):
        return cast(steps * step + start, kind)
    ends = np.zeros(2, kind)
    if is_symbolic(length) or length > 0:
        ends[0] = start
    if is_symbolic(length) or length > 1:
        ends[1] = start + step
    first, second = ends.astype(work)
    with np.errstate(all="ignore"):
        delta = second - first
        exact = first + delta == second
    found = steps * delta.item() + first.item()
    return cast(found if exact else torch.where(steps == 1, second.item(), found), kind)


# -- spaced ranges


def _spaced_count(num: Any) -> Any:
    if not isinstance(num, int | np.integer | torch.SymInt):
        raise TypeError(f"'{type(num).__name__}' object cannot be interpreted as an integer")
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return num if isinstance(num, torch.SymInt) else int(num)


def _ends(*numbers: Any) -> tuple[list[torch.Tensor], DType]:
    """Return the ends as tensors of the dtype that NumPy computes with."""
    kind = result_dtype(*(_array_like(x) for x in numbers), float)
    kind = default_float() if kind.kind not in "fc" else kind
    return [as_tensor(x, kind) for x in numbers], kind


def _array_like(x: Any) -> Any:
    return as_tensor(x) if isinstance(x, list | tuple) else x


@implements(np.linspace, zero_d="scalar")
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """`numpy.linspace`; the ends may be arrays."""
    check_placed(device=device)
    if dtype is not None and settings().narrow:
        # NumPy computes in 64 bit; the dtype is given, so that nothing is invented.
        kind = _ends(start, stop)[1]
        with tracing(dataclasses.replace(settings(), default_float="float64")):
            found, step = linspace(start, stop, num, endpoint, True, dtype, axis)
        step = cast(step, kind) if isinstance(step, torch.Tensor) else step
        return (found, step) if retstep else found
    count = _spaced_count(num)
    (first, last), kind = _ends(start, stop)
    parts = count - 1 if endpoint else count
    delta = last - first
    shape = torch.broadcast_shapes(first.shape, last.shape)  # type: ignore[no-untyped-call]
    index = torch.arange(count, device=delta.device).reshape((-1,) + (1,) * len(shape))
    steps = cast(index, kind)
    if not holds_here(parts <= 0, "there are few numbers"):
        step = call(np.divide, delta, parts)
        # A step that rounds to zero would lose the ends: divide first then.
        vanishes = (step == 0).any()
        found = torch.where(vanishes, call(np.divide, steps, parts) * delta, steps * step) + first
    else:
        step = math.nan
        found = steps * delta + first
    if endpoint and (depends_on_data(count) or count > 1):
        found = torch.where(index == count - 1, last, found)
    found = torch.movedim(found, 0, axis_of(axis, found.ndim))
    found = _as_requested(found, dtype)
    return (found, step) if retstep else found


def _as_requested(found: torch.Tensor, dtype: Any) -> torch.Tensor:
    if dtype is None:
        return found
    kind = as_dtype(dtype)
    return cast(call(np.floor, found) if kind.kind in "iu" else found, kind)


@implements(np.logspace, tolerance=64, note="powers differ in the last bits")
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> torch.Tensor:
    """`numpy.logspace`; the ends and the base may be arrays."""
    if dtype is not None and settings().narrow:
        with tracing(dataclasses.replace(settings(), default_float="float64")):
            return logspace(start, stop, num, endpoint, base, dtype, axis)
    if not is_scalar(base):
        rank = max(as_tensor(x).ndim for x in (start, stop, base))
        start, stop, base = (_led(as_tensor(x), rank) for x in (start, stop, base))
        # An array of bases stands beside the new axis, as the ends do.
        shape = torch.broadcast_shapes(start.shape, stop.shape, base.shape)  # type: ignore[no-untyped-call]
        start, stop = start.expand(shape), stop.expand(shape)
        base = base.expand(shape).unsqueeze(axis_of(axis, rank + 1))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    found = call(np.power, base, exponents)
    return found if dtype is None else cast(found, as_dtype(dtype))


def _led(x: torch.Tensor, ndim: int) -> torch.Tensor:
    return x.reshape((1,) * (ndim - x.ndim) + tuple(x.shape))


_WITH_ZERO = "Geometric sequence cannot include zero"


@implements(
    np.geomspace, tolerance=64, note="zeros in arrays of ends don't raise; powers differ slightly"
)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> torch.Tensor:
    """`numpy.geomspace`; the ends may be arrays."""
    if any(is_scalar(x) and not is_symbolic(x) and x == 0 for x in (start, stop)):
        raise ValueError(_WITH_ZERO)
    count = _spaced_count(num)
    (first, last), kind = _ends(start, stop)
    asked = FLOAT64 if dtype is None else as_dtype(dtype)
    wide = as_dtype(np.result_type(kind, asked))
    kind = narrow(wide, (kind,) if dtype is None else (kind, asked))
    first, last = cast(first, kind), cast(last, kind)
    first, last = torch.broadcast_tensors(first, last)  # type: ignore[no-untyped-call]
    refuse_where((first == 0) | (last == 0), ValueError(_WITH_ZERO))
    sign = torch.sgn(first)
    begin, end = torch.log10(first / sign), torch.log10(last / sign)
    found = torch.pow(
        torch.full((), 10.0, dtype=to_torch(kind)), linspace(begin, end, count, endpoint)
    )
    index = torch.arange(count, device=found.device).reshape((-1,) + (1,) * first.ndim)
    found = torch.where(index == 0, first / sign, found)
    if endpoint and count > 1:
        found = torch.where(index == count - 1, last / sign, found)
    found = torch.movedim(found * sign, 0, axis_of(axis, found.ndim))
    return found if dtype is None else cast(found, as_dtype(dtype))
