"""Whether a ``with`` statement may end normally although its body has raised."""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import itertools
import threading
import types
from collections.abc import Callable
from typing import Any

_MARK = "npaccel_may_swallow"
#: Written in C, so that there is no code to look at; they let errors pass.
_LET_PASS = (
    open,
    threading.Lock,
    threading.RLock,
    type(threading.Lock()),
    type(threading.RLock()),
)


def mark(definition: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> None:
    """Note at each ``with`` statement of a function whether it may end errors.

    Parameters
    ----------
    definition : ast.FunctionDef
    value_of : callable
        What an expression leads to now, None if that isn't known.
    """
    for node in ast.walk(definition):
        if isinstance(node, ast.With):
            node.__dict__[_MARK] = any(
                _may_swallow(item.context_expr, value_of) for item in node.items
            )


def may_swallow(node: ast.With) -> bool:
    """Whether a ``with`` statement may end errors; True if it wasn't marked."""
    return getattr(node, _MARK, True)


def _may_swallow(manager: ast.expr, value_of: Callable[[ast.expr], Any]) -> bool:
    if not isinstance(manager, ast.Call):
        return _class_may(type(value_of(manager)))
    called = value_of(manager.func)
    if any(called is known for known in _LET_PASS):
        return False
    if isinstance(called, type):
        return _class_may(called)
    if isinstance(called, types.FunctionType) and called.__code__ is _HELPER:
        return _generator_may(inspect.unwrap(called).__code__)
    return True


@contextlib.contextmanager
def _made() -> Any:
    yield


#: Code that every function under `contextlib.contextmanager` runs.
_HELPER = _made.__code__


def _class_may(cls: type) -> bool:
    """Whether ``__exit__`` of a class may return something true."""
    if cls in _LET_PASS:
        return False
    leave = inspect.getattr_static(cls, "__exit__", None)
    if not isinstance(leave, types.FunctionType):
        return True
    instructions = list(dis.get_instructions(leave.__code__))
    for before, one in itertools.pairwise(instructions):
        if one.opname == "RETURN_CONST" and one.argval:
            return True
        if one.opname == "RETURN_VALUE" and (
            one.is_jump_target or before.opname != "LOAD_CONST" or before.argval
        ):
            return True
    return False


def _generator_may(code: types.CodeType) -> bool:
    """Whether a generator has a handler that doesn't raise again."""
    return any(
        before.opname == "POP_EXCEPT" and one.opname != "RERAISE"
        for before, one in itertools.pairwise(dis.get_instructions(code))
    )
