"""Whether a function loops, itself or in the functions that it calls."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

from npaccel._runtime.callables import is_jitted
from npaccel._syntax import source

#: Packages of libraries that programs with arrays have.
PACKAGES = frozenset(
    {"numpy", "scipy", "sklearn", "torch", "numba", "jax", "npaccel", "pandas", "matplotlib"}
)
#: Functions of these are computed with, not looked into.
LIBRARIES = PACKAGES | frozenset(sys.stdlib_module_names)

#: `npaccel.fori_loop` and the like, which enter themselves here.
CONTROL_FLOW: set[types.FunctionType] = set()

#: Kinds of code whose functions can't be split at their loops, and why.
UNSPLIT: dict[type[ast.AST], str] = {
    ast.Yield: "it has a `yield`",
    ast.YieldFrom: "it has a `yield`",
    ast.Await: "it has an `await`",
    ast.AsyncFor: "it has an `async for`",
    ast.AsyncWith: "it has an `async with`",
    ast.ClassDef: "it defines a class",
    ast.Match: "it has a `match`",
    ast.TryStar: "it has an `except*`",
}
#: Calls that look at the names of the function that makes them.
FRAME_CALLS = frozenset({"locals", "exec", "eval", "vars", "super", "globals", "dir"})

_LOOPS = ("FOR_ITER", "BACKWARD")


@functools.lru_cache(maxsize=4096)
def code_loops(code: types.CodeType) -> bool:
    """Whether a function's own bytecode has a loop, or that of a function defined in it.

    From Python 3.12 on comprehensions are among them, and what follows a handler of errors.
    """
    if any(part in i.opname for i in dis.get_instructions(code) for part in _LOOPS):
        return True
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return any(code_loops(c) for c in inner if not c.co_name.startswith("<"))


@functools.lru_cache(maxsize=4096)
def _writes_loops(code: types.CodeType) -> bool:
    """Whether there is a ``for`` or ``while`` in a function's source, if that can be had."""
    cells = tuple(types.CellType() for _ in code.co_freevars)
    try:
        node = source.node_of(types.FunctionType(code, {}, closure=cells))
    except source.NoSourceError:
        return True
    return any(isinstance(n, ast.For | ast.AsyncFor | ast.While) for n in ast.walk(node))


def is_library(module: str | None) -> bool:
    """Whether a module is part of a known library, not of the user's program."""
    return (module or "").partition(".")[0] in LIBRARIES - {"__main__"}


def is_users(function: Any) -> bool:
    """Whether something is a Python function that isn't part of a known library."""
    return isinstance(function, types.FunctionType) and not is_library(function.__module__)


def loops(function: types.FunctionType, seen: frozenset[types.CodeType] = frozenset()) -> bool:
    """Whether a function loops, itself or in a function of the user's that it calls."""
    code = function.__code__
    if code in seen:
        return False
    if (code_loops(code) and _writes_loops(code)) or calls_primitive(function):
        return True
    seen |= {code}
    return any(loops(callee, seen) for callee in _callees(function) if is_users(callee))


def is_primitive(found: Any) -> bool:
    """Whether something is `npaccel.fori_loop` or the like."""
    return isinstance(found, types.FunctionType) and found in CONTROL_FLOW


def calls_primitive(function: types.FunctionType) -> bool:
    """Whether a function, or one defined in it, names one of npaccel's loops."""
    return _calls_primitive(function, function.__code__)


def _calls_primitive(function: types.FunctionType, code: types.CodeType) -> bool:
    for name in code.co_names:
        found = function.__globals__.get(name)
        if is_primitive(found):
            return True
        is_own = isinstance(found, types.ModuleType) and found.__name__ == "npaccel"
        if is_own and any(is_primitive(getattr(found, n, None)) for n in code.co_names):
            return True
    if any(is_primitive(cell_contents(cell)) for cell in function.__closure__ or ()):
        return True
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return any(_calls_primitive(function, c) for c in inner)


def cell_contents(cell: types.CellType) -> Any:
    """Return what is in a closure cell, None if it isn't filled yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _callees(function: types.FunctionType) -> Iterator[types.FunctionType]:
    """The functions that a function's names may lead to."""
    code = function.__code__
    for name in code.co_names:
        found = function.__globals__.get(name)
        yield from _function_of(found)
        if isinstance(found, types.ModuleType) and found.__name__ not in LIBRARIES:
            for attribute in code.co_names:
                yield from _function_of(found.__dict__.get(attribute))
    for cell in function.__closure__ or ():
        yield from _function_of(cell_contents(cell))


def _function_of(found: Any) -> Iterator[types.FunctionType]:
    found = inspect.unwrap(found) if is_jitted(found) else found
    if isinstance(found, types.FunctionType):
        yield found
