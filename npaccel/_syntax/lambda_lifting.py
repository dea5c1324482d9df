"""Functions with a closure as definitions without one: what it holds becomes parameters.

An inner function is created again by every call of the function around it. Its code
stays the same, so that is what is compiled; the values that it has from outside
are arguments like others.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import types
from collections.abc import Sequence
from typing import Any

from npaccel._runtime.binding import Binding
from npaccel._syntax import source
from npaccel._syntax.source import NoSourceError

_REFUSED_FLAGS = {
    inspect.CO_VARARGS: "it takes any number of arguments",
    inspect.CO_VARKEYWORDS: "it takes any keywords",
    inspect.CO_GENERATOR: "it has a `yield`",
    inspect.CO_COROUTINE: "it is an `async def`",
    inspect.CO_ASYNC_GENERATOR: "it is an `async def`",
}


class NotLiftedError(Exception):
    """A function can't do without its closure, and why."""


@dataclasses.dataclass(frozen=True)
class Closure:
    """Names that a function has from outside of it.

    Parameters
    ----------
    values : dict
        The cells whose values become arguments, by name.
    functions : dict
        The inner functions that it calls, and that these call, by name.
    """

    values: dict[str, types.CellType]
    functions: dict[str, types.FunctionType]

    @property
    def key(self) -> Any:
        """The same for closures that the same definition serves."""
        return tuple(self.values), tuple((n, f.__code__) for n, f in self.functions.items())

    def contents(self) -> list[Any]:
        """Return the values as they are now."""
        return [cell.cell_contents for cell in self.values.values()]


def closure_of(function: types.FunctionType) -> Closure:
    """Look at a function's closure.

    Raises
    ------
    NotLiftedError
        If two functions in it mean different things by a name, or if one of
        its names has no value yet.
    """
    cells: dict[str, types.CellType] = {}
    functions: dict[str, types.FunctionType] = {}
    values: dict[str, types.CellType] = {}
    todo = [function]
    while todo:
        found = todo.pop()
        pairs = zip(found.__code__.co_freevars, found.__closure__ or (), strict=True)
        for name, cell in pairs:
            if name in cells:
                if cells[name] is not cell:
                    raise NotLiftedError(f"`{name}` means two things in what it calls")
                continue
            cells[name] = cell
            value = _contents(name, cell)
            if _is_inner(value, function):
                functions[name] = value
                todo.append(value)
            else:
                values[name] = cell
    _check_names(function, cells)
    return Closure(values, functions)


def _is_inner(value: Any, function: types.FunctionType) -> bool:
    """Whether a function may be created again by every call of one around it."""
    if not isinstance(value, types.FunctionType) or not value.__closure__:
        return False
    return value.__globals__ is function.__globals__


def _contents(name: str, cell: types.CellType) -> Any:
    if name == "__class__":
        raise NotLiftedError("it calls super()")
    try:
        return cell.cell_contents
    except ValueError as error:
        raise NotLiftedError(f"`{name}` has no value yet") from error


def _check_names(function: types.FunctionType, cells: dict[str, types.CellType]) -> None:
    """A function that is called must not read what the caller calls by the same name."""
    code = function.__code__
    own = {*code.co_varnames, *code.co_cellvars}
    shadowed = own & (cells.keys() - set(code.co_freevars))
    if shadowed:
        raise NotLiftedError(f"`{min(shadowed)}` means two things in what it calls")


def definition(
    function: types.FunctionType, closure: Closure, bindings: Sequence[ast.stmt], names: list[str]
) -> ast.FunctionDef:
    """Return the definition of a function that takes its closure as arguments.

    Parameters
    ----------
    function : types.FunctionType
    closure : Closure
    bindings : sequence of ast.stmt
        What comes first: its parameters from those of the new function.
    names : list of str
        The parameters of the new function; those for the closure come after.

    Raises
    ------
    NotLiftedError
        If a function writes to its closure, or has a signature that is
        unknown before the call.
    NoSourceError
    """
    node = _checked(function)
    inner = [
        _as_inner(name, _checked(found, inner=True)) for name, found in closure.functions.items()
    ]
    body = node.body if isinstance(node, ast.FunctionDef) else [_returned(node)]
    every = [*names, *closure.values]
    made = ast.FunctionDef(
        name=f"_npaccel_{function.__name__.strip('<>')}",
        args=source.parameters(every),
        body=[*copy.deepcopy(list(bindings)), *inner, *body],
        decorator_list=[],
    )
    made.__dict__["type_params"] = []
    ast.copy_location(made, node)
    for first in (*made.body[: len(bindings)], made.args):
        for part in ast.walk(first):
            if isinstance(part, ast.stmt | ast.expr | ast.arg):
                ast.copy_location(part, node)
                part.end_lineno = node.lineno
    return made


def _checked(function: types.FunctionType, *, inner: bool = False) -> ast.FunctionDef | ast.Lambda:
    flags = function.__code__.co_flags
    for flag, reason in _REFUSED_FLAGS.items():
        if flags & flag and not (inner and flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)):
            raise NotLiftedError(reason)
    node = source.node_of(function)
    free = set(function.__code__.co_freevars)
    for part in ast.walk(node):
        if isinstance(part, ast.Nonlocal) and free & set(part.names):
            raise NotLiftedError(f"it writes to `{part.names[0]}` of the function around it")
    return node


def _as_inner(name: str, node: ast.FunctionDef | ast.Lambda) -> ast.stmt:
    constant = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
    if not all(isinstance(d, ast.Constant) for d in constant):
        raise NotLiftedError(f"`{name}` has a default that isn't a constant")
    if isinstance(node, ast.FunctionDef):
        node.name = name
        return node
    target = ast.Name(id=name, ctx=ast.Store())
    made = ast.copy_location(ast.Assign(targets=[target], value=node), node)
    return ast.fix_missing_locations(made)


def _returned(node: ast.Lambda) -> ast.stmt:
    return ast.copy_location(ast.Return(value=node.body), node)


def parameters(function: types.FunctionType) -> Binding:
    """Return the parameters of a function that doesn't take any number of them.

    Raises
    ------
    NotLiftedError
    """
    binding = Binding(function)
    if binding.var_positional or binding.var_keyword:
        raise NotLiftedError("it takes any number of arguments")
    return binding


__all__ = ["Closure", "NoSourceError", "NotLiftedError", "closure_of", "definition", "parameters"]
