"""The way of one call: find tensors, take the function's route, give tensors back."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel._runtime import options as runtime_options
from npaccel._runtime.foreign_table import Recipe
from npaccel._runtime.torch import malloc
from npaccel._scipy.dispatch import conversion, element_loops, log, native_tiers
from npaccel._scipy.dispatch.callbacks import callback
from npaccel._scipy.dispatch.checks import OwnError
from npaccel._scipy.dispatch.delegation import delegated
from npaccel._scipy.dispatch.random_states import RandomStates, draws
from npaccel._scipy.dispatch.table import Row
from npaccel.errors import NotCompiledError, PerformanceWarning, TransferError

if TYPE_CHECKING:
    from npaccel._jit import Jitted

#: Parameters that SciPy writes its result to.
_OUTPUTS = ("output", "out")


def routed(row: Row) -> Callable[..., Any]:
    """Return a function that behaves as SciPy's, and takes tensors too.

    Parameters
    ----------
    row : Row
    """
    original = row.scipy

    @functools.wraps(original, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*conversion.tensors(args), *conversion.tensors(kwargs)]
        if kwargs.get("xp") is torch:
            return delegated(original, args, kwargs)
        if not given or not row.takes_arrays:
            return original(*args, **kwargs)
        return _call(row, args, kwargs, given)

    call.__module__, _, call.__name__ = f"npaccel.{row.name}".rpartition(".")
    call.__qualname__ = call.__name__
    return call


def _call(row: Row, args: Any, kwargs: Any, given: list[torch.Tensor]) -> Any:
    """Take the route of a call with tensors."""
    device = conversion.device_of(row.name, given)
    width = width_of(given, kwargs)
    if row.route == "refused":
        raise NotImplementedError(f"{row.name} can't be called with tensors: {row.reason}")
    if runtime_options.current().disabled:
        return through_host(row, args, kwargs, device, width, "npaccel is switched off")
    malloc.prepare()
    if row.route == "native":
        return _native(row, args, kwargs, device, width)
    if row.route == "delegated":
        return _delegated(row, args, kwargs, device, width)
    return through_host(row, args, kwargs, device, width)


def _delegated(
    row: Row, args: Any, kwargs: Any, device: torch.device, width: conversion.Width
) -> Any:
    """Have SciPy compute on the tensors."""
    before = _random_states(row, args, kwargs)
    try:
        found = delegated(row.scipy, _on_device(args, device), _on_device(kwargs, device))
    except TransferError:
        raise
    except Exception as error:  # noqa: BLE001 (SciPy says what is wrong with the call)
        before.restore()
        return _as_scipy_would(row, args, kwargs, device, width, reason_of(error), error)
    log.note(row.name, "delegated")
    return conversion.restored(found, device, width)


def _random_states(row: Row, args: Any, kwargs: Any) -> RandomStates:
    """Return the random states that an attempt may change."""
    return RandomStates([*args, *kwargs.values()], is_drawing=draws(row.scipy))


def width_of(given: list[torch.Tensor], kwargs: dict[str, Any]) -> conversion.Width:
    """Return how wide the floats of a call's result are."""
    return conversion.Width(given, _default_float(), kwargs)


def _default_float() -> torch.dtype:
    """Return the float that integers give: `default_float`, or torch's own where that is wider."""
    options = runtime_options.of_scope(runtime_options.current())
    if torch.get_default_dtype() is torch.float64:
        return torch.float64
    return torch.float32 if options.default_float == "float32" else torch.float64


def _on_device(value: Any, device: torch.device) -> Any:
    def moved(part: Any) -> Any:
        return conversion.to_device(part, device) if isinstance(part, np.ndarray) else part

    return conversion.mapped(value, moved)


# -- Native ---------------------------------------------------------------------------------


def _native(row: Row, args: Any, kwargs: Any, device: torch.device, width: conversion.Width) -> Any:
    """Call npaccel's own function; what it can't do goes through the host, which is said."""
    try:
        bound = _signature(row).bind(*args, **kwargs)
    except TypeError as error:
        return _as_scipy_would(row, args, kwargs, device, width, str(error), error)
    width.heed(bound.arguments)
    bound.apply_defaults()
    why = _not_native(row, bound)
    if why:
        return through_host(row, args, kwargs, device, width, why)
    for name in row.arrays:
        bound.arguments[name] = conversion.as_array(bound.arguments[name], device)
    target = _apart(bound, row.arrays)
    before = _random_states(row, args, kwargs)

    asked = []

    def in_scipy() -> Any:
        asked.append(row)
        return through_host(row, args, kwargs, device, width, native_tiers.REASON)

    try:
        found = _computed(row, bound, in_scipy)
    except TransferError:
        raise
    except OwnError as known:
        raise known.error from None
    except Exception as error:  # noqa: BLE001 (SciPy says what is wrong with the call)
        before.restore()
        return _as_scipy_would(row, args, kwargs, device, width, reason_of(error), error)
    if not asked:
        log.note(row.name, "native")
    if target is not None and isinstance(found, torch.Tensor):
        return target.copy_(found)
    return conversion.restored(found, device, width)


def _apart(bound: inspect.BoundArguments, names: tuple[str, ...]) -> torch.Tensor | None:
    """Replace an output array that is also an input by a new array; return the output array."""
    for name in _OUTPUTS:
        target = bound.arguments.get(name) if name in names else None
        if not isinstance(target, torch.Tensor):
            continue
        others = [v for n, v in bound.arguments.items() if n != name]
        if any(_share_memory(target, other) for other in conversion.tensors(others)):
            bound.arguments[name] = torch.empty_like(target)
            return target
    return None


def _share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one is other:
        return True
    places = [t.untyped_storage().data_ptr() for t in (one, other)]
    return bool(places[0]) and places[0] == places[1]


def _computed(row: Row, bound: inspect.BoundArguments, in_scipy: Callable[[], Any]) -> Any:
    """Call npaccel's own function, compiled where that is worth it; or else SciPy's."""
    args, kwargs = bound.args, bound.kwargs
    if row.fused:
        jitted = _fused(row.name)
        args, kwargs = _arguments_of_fused(row, bound)
    elif row.written_in == "numpy":
        jitted = _compiled(row.name)
    else:
        assert row.implementation is not None
        found = row.implementation(*args, **kwargs)
        return found.made() if isinstance(found, Recipe) else found
    tiers = native_tiers.tiers_of(row.name, jitted, (*args, *kwargs.values()))
    return jitted(*args, **kwargs) if tiers is None else tiers.call(args, kwargs, in_scipy)


def _arguments_of_fused(
    row: Row, bound: inspect.BoundArguments
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a compiled function that does nothing but call SciPy's."""
    arrays, pattern = [], []
    for name, value in bound.arguments.items():
        is_array = name in row.arrays and value is not None
        pattern.append((is_array, None if is_array else value))
        arrays += [value] if is_array else []
    return tuple(arrays), {"pattern": tuple(pattern), "keywords": tuple(bound.kwargs)}


@functools.cache
def _fused(name: str) -> Jitted[..., Any]:
    from npaccel._jit import jit
    from npaccel._scipy.dispatch import table

    row = table.row(name)
    assert row is not None
    function = row.scipy

    def call(*arrays: Any, pattern: Any, keywords: Any) -> Any:
        left = list(arrays)
        values = [left.pop(0) if is_array else value for is_array, value in pattern]
        count = len(values) - len(keywords)
        return function(*values[:count], **dict(zip(keywords, values[count:], strict=True)))

    return jit(call, default_float="float64", strict=True, static_argnames=("pattern", "keywords"))


def _not_native(row: Row, bound: inspect.BoundArguments) -> str:
    """Return why a call can't be native; make the values of what is compiled hashable."""
    for name, value in bound.arguments.items():
        if name in row.arrays or (row.written_in == "tensors" and not row.fused):
            continue
        if conversion.tensors(value):
            return f"`{name}` is a tensor, whose values say what is to be compiled"
        try:
            bound.arguments[name] = conversion.hashable(value)
        except TypeError:
            return f"`{name}` is a {type(value).__name__}"
    return row.host_reason(bound.arguments) if row.host_reason is not None else ""


def _as_scipy_would(
    row: Row,
    args: Any,
    kwargs: Any,
    device: torch.device,
    width: conversion.Width,
    why: str,
    error: Exception,
) -> Any:
    """Have SciPy raise its own error where it does; its answer is right where it doesn't."""
    if device.type == "meta":
        raise error
    return through_host(row, args, kwargs, device, width, why, attempt=error)


def reason_of(error: Exception) -> str:
    """Return why an attempt failed, in one line, without lines of npaccel's own code."""
    if isinstance(error, NotCompiledError):
        return "npaccel's own implementation can't be compiled for these arguments"
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}"


@functools.cache
def _compiled(name: str) -> Jitted[..., Any]:
    from npaccel._jit import jit
    from npaccel._scipy.dispatch import table

    row = table.row(name)
    assert row is not None
    assert row.implementation is not None
    static = [one for one in _signature(row).parameters if one not in row.arrays]
    return jit(
        row.implementation,
        default_float="float64",
        strict=True,
        loops="unroll",  # they count axes and places, never elements
        static_argnames=tuple(static),
    )


@functools.cache
def _signature(row: Row) -> inspect.Signature:
    assert row.implementation is not None
    return inspect.signature(row.implementation)


# -- Host -----------------------------------------------------------------------------------


def through_host(
    row: Row,
    args: Any,
    kwargs: Any,
    device: torch.device,
    width: conversion.Width,
    why: str = "",
    *,
    attempt: Exception | None = None,
) -> Any:
    """Call SciPy with NumPy's arrays and give tensors back; say so where that copies.

    Functions of the user's get tensors where they can take them. After an attempt on tensors that
    failed they get arrays first; where they take neither, the attempt's error says more.

    Raises
    ------
    NotCompiledError
        If gradients are asked for, which SciPy can't give, or with ``strict=True``.
    """
    reason = why or row.reason or "SciPy computes it on NumPy's arrays"
    sources = [*conversion.tensors(args), *conversion.tensors(kwargs)]
    if torch.is_grad_enabled() and any(t.requires_grad for t in sources):
        raise NotCompiledError(
            f"{row.name}: a tensor requires gradients, but the call goes through the host, where "
            f"there are none: {reason}; pass tensor.detach()"
        )
    if device.type != "cpu":
        _tell(row, device, reason)

    callbacks: list[Any] = []

    def host(value: Any) -> Any:
        if callable(value) and not isinstance(value, torch.Tensor):
            callbacks.append(callback(value, device, arrays=attempt is not None))
            return callbacks[-1]
        array = conversion.to_host(value)
        narrow = row.wide and isinstance(array, np.ndarray) and array.dtype == np.float32
        return array.astype(np.float64) if narrow else array

    on_host = conversion.mapped(args, host), conversion.mapped(kwargs, host)
    try:
        if element_loops.is_by_element(row):
            result = element_loops.in_scipy(row.scipy, *on_host)
        else:
            result = row.scipy(*on_host[0], **on_host[1])
    except Exception:
        if attempt is not None and any(getattr(one, "takes_neither", False) for one in callbacks):
            raise attempt from None
        raise
    target = next((kwargs[n] for n in _OUTPUTS if isinstance(kwargs.get(n), torch.Tensor)), None)
    back = conversion.restored(result, device, width)
    moved = [*sources, *conversion.tensors(back)] if device.type != "cpu" else []
    log.note(row.name, "host", reason, sum(t.nbytes for t in moved))
    if target is not None and isinstance(back, torch.Tensor):
        return target.copy_(back)
    return back


def _tell(row: Row, device: torch.device, reason: str) -> None:
    """Say that a call leaves the device: an error with ``strict=True``, else a warning, once."""
    message = (
        f"{row.name}: its tensors go from {device} through the host and back: {reason}; "
        "npaccel.scipy.report() counts such calls"
    )
    if runtime_options.of_scope(runtime_options.current()).strict:
        raise NotCompiledError(message)
    if log.first(row.name, reason):
        warnings.warn(message, PerformanceWarning, stacklevel=5)
