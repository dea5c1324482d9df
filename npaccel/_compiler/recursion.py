"""Recursion in Python: a function that calls itself past the decorator."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from npaccel._runtime.callables import is_jitted, with_code
from npaccel._syntax.loop_detection import cell_contents


def without_detours(function: types.FunctionType) -> Callable[..., Any]:
    """Return a function that calls itself where it calls what decorates it.

    A recursion of small calls would take several times as long through the decorator. What it
    calls is looked up once in each call from outside, so that another function under the name is
    called.

    Parameters
    ----------
    function : types.FunctionType

    Returns
    -------
    callable
        The function itself, if it doesn't call itself by a global name or from its closure.
    """
    code = function.__code__
    name = code.co_name
    if name in code.co_freevars:
        return _from_closure(function, name)
    if name not in code.co_names:
        return function
    hidden = f"_npaccel_plain_{name}"
    names = tuple(hidden if one == name else one for one in code.co_names)
    namespace = function.__globals__
    if hidden in code.co_names:
        return function
    own = _past_jit(function, code.replace(co_names=names), function.__closure__)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _is_own(namespace.get(name), function):
            return function(*args, **kwargs)
        if namespace.get(hidden) is not own:
            namespace[hidden] = own
        return own(*args, **kwargs)

    return call


def _from_closure(function: types.FunctionType, name: str) -> Callable[..., Any]:
    assert function.__closure__ is not None
    place = function.__code__.co_freevars.index(name)
    cell = function.__closure__[place]
    inner = types.CellType()
    closure = (*function.__closure__[:place], inner, *function.__closure__[place + 1 :])
    own = _past_jit(function, function.__code__, closure)
    inner.cell_contents = own

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        is_own = _is_own(cell_contents(cell), function)
        return (own if is_own else function)(*args, **kwargs)

    return call


def _past_jit(
    function: types.FunctionType, code: types.CodeType, closure: tuple[types.CellType, ...] | None
) -> types.FunctionType:
    made = with_code(function, code, closure)
    made.__dict__ = function.__dict__  # The same one: a function may count its calls in it.
    return made


def _is_own(value: Any, function: types.FunctionType) -> bool:
    return is_jitted(value) and value.__wrapped__ is function
