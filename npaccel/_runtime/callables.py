"""Python functions behind callables."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

#: Code that Dynamo's frame hook leaves alone, with all that it calls: jitted functions' own.
LEFT_ALONE: list[types.CodeType] = []
#: Functions to be told of code that is left alone from now on.
on_left_alone: list[Callable[[types.CodeType], object]] = []


def leave_alone(code: types.CodeType) -> None:
    """Have Dynamo's frame hook leave code alone, with all that it calls."""
    LEFT_ALONE.append(code)
    for tell in on_left_alone:
        tell(code)


def is_jitted(value: Any) -> bool:
    """Whether something was made by `npaccel.jit`."""
    return getattr(type(value), "_npaccel_jitted", False) is True


def shared_class(kind: type) -> type:
    """Return the class that others share, of a jitted function's that has one of its own."""
    return kind.__mro__[1] if getattr(kind, "_npaccel_is_own", False) is True else kind


def with_code(
    function: types.FunctionType, code: types.CodeType, closure: tuple[types.CellType, ...] | None
) -> types.FunctionType:
    """Return a function with other code: its name, globals and defaults are a function's."""
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


def underlying(function: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return what a callable calls in the end, and what it is called with first.

    That is a Python function, except for builtins, classes, objects of `numpy.vectorize` and
    what can't be called.
    """
    if isinstance(function, functools.partial):
        target, prefix, keywords = underlying(function.func)
        return target, prefix + function.args, {**keywords, **function.keywords}
    if isinstance(function, types.MethodType):
        target, prefix, keywords = underlying(function.__func__)
        return target, (*prefix, function.__self__), keywords
    if is_jitted(function):
        return function._npaccel_target, function._npaccel_prefix, function._npaccel_keywords
    if isinstance(function, np.vectorize):
        return function, (), {}
    method = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(method, types.FunctionType) and not isinstance(function, type):
        return method, (function,), {}
    return function, (), {}


def read_by(
    function: types.FunctionType,
    enters: Callable[[types.FunctionType], bool] | None = None,
    functions: dict[types.FunctionType, None] | None = None,
) -> dict[str, Any]:
    """Return the globals and closure cells that a function names, and its defaults.

    Functions that it names are looked into.

    Parameters
    ----------
    function : types.FunctionType
    enters : callable, optional
        Whether a function is looked into; without it all are.
    functions : dict, optional
        Gets as keys those that are looked into, the first one too.
    """
    found: dict[str, Any] = {}
    _read_by(function, found, {} if functions is None else functions, enters)
    return found


def _read_by(
    function: types.FunctionType,
    found: dict[str, Any],
    seen: dict[types.FunctionType, None],
    enters: Callable[[types.FunctionType], bool] | None,
) -> None:
    if function in seen:
        return
    seen[function] = None
    names = {name: function.__globals__[name] for name in _names(function.__code__)
             if name in function.__globals__}  # fmt: skip
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        with contextlib.suppress(ValueError):  # A cell that isn't filled yet.
            names[name] = cell.cell_contents
    for i, value in enumerate(function.__defaults__ or ()):
        names[f"{function.__name__}.__defaults__[{i}]"] = value
    for name, value in names.items():
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, types.FunctionType):
            if enters is None or enters(inner):
                _read_by(inner, found, seen, enters)
        elif not isinstance(value, types.ModuleType | type):
            found.setdefault(name, value)


def _names(code: types.CodeType) -> set[str]:
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))
