"""Python functions behind callables."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

import numpy as np

#: Code that Dynamo's frame hook leaves alone, with all that it calls: jitted functions' own.
LEFT_ALONE: list[types.CodeType] = []


def is_jitted(value: Any) -> bool:
    """Whether something was made by `npaccel.jit`."""
    return getattr(type(value), "_npaccel_jitted", False) is True


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
