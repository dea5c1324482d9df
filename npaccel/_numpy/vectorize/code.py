"""Functions of single numbers, such as `numpy.vectorize` takes, as trees that can be evaluated."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal

from npaccel._syntax.source import NoSourceError, build, node_of

#: Meaning of a name of a function: a number, an operand, another function, one of Python's
#: or NumPy's.
Meaning = tuple[Literal["number", "operand", "code", "function"], Any]

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.Return, ast.Pass, ast.Expr, ast.AnnAssign)
_EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp),
    *(ast.IfExp, ast.Call, ast.Tuple),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Code:
    """A function of numbers.

    Parameters
    ----------
    name : str
    parameters : tuple of str
    defaults : int
        Number of the last parameters that have defaults: what ``name=`` stands for.
    body : list of ast.stmt
    names : tuple of str
        What it reads from outside, with the dots in them.
    meanings : dict
        What those names stand for; filled in by the tracer.
    """

    name: str
    parameters: tuple[str, ...]
    defaults: int
    body: list[ast.stmt]
    names: tuple[str, ...]
    meanings: dict[str, Meaning] = dataclasses.field(default_factory=dict)


def code_of(function: types.FunctionType) -> Code:
    """Read a function.

    Raises
    ------
    NotImplementedError
        If it does more than computing, deciding and returning.
    """
    try:
        node = node_of(function)
    except NoSourceError as error:
        raise NotImplementedError(str(error)) from error
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise NotImplementedError("the function has parameters that aren't named one by one")
    body: list[ast.stmt] = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
    parameters = tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args))
    _check(body)
    own = {*parameters, *_assigned(body)}
    names = dict.fromkeys(name for statement in body for name in _read(statement, own))
    defaults = len(function.__defaults__ or ())
    return Code(function.__name__, parameters, defaults, body, tuple(names))


def names_code(code: Code, function: types.FunctionType) -> types.CodeType:
    """Compile a function that returns what a code reads from outside.

    It has the closure of the function that the code was read from.
    """
    values = [ast.parse(name, mode="eval").body for name in code.names]
    free: list[ast.expr] = [ast.Name(name, ast.Load()) for name in function.__code__.co_freevars]
    no_arguments = ast.arguments(
        posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    # The lambda is there for its closure only.
    result = ast.Tuple([*values, ast.Lambda(no_arguments, ast.Tuple(free, ast.Load()))], ast.Load())
    made = ast.FunctionDef(
        name="_names", args=no_arguments, body=[ast.Return(result)], decorator_list=[]
    )
    made.__dict__["type_params"] = []
    ast.fix_missing_locations(made)
    return build([made], function, {})[0]


def dotted(node: ast.expr) -> str | None:
    """Return a chain of names as text, such as ``np.sin``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        first = dotted(node.value)
        return None if first is None else f"{first}.{node.attr}"
    return None


def _check(body: list[ast.stmt]) -> None:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
                raise NotImplementedError(f"the function has a {type(node).__name__} in it")
            if isinstance(node, ast.expr) and not isinstance(node, _EXPRESSIONS):
                raise NotImplementedError(f"the function has a {type(node).__name__} in it")
            if isinstance(node, ast.Call) and node.keywords:
                raise NotImplementedError("the function calls others with keywords")
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            raise NotImplementedError("the function calls others for what they do")
        if isinstance(statement, ast.If):
            _check(statement.body)
            _check(statement.orelse)
        for target in _targets(statement):
            if not isinstance(target, ast.Name):
                raise NotImplementedError("the function stores to more than names")


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AugAssign | ast.AnnAssign) else []


def _assigned(body: list[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _read(node: ast.AST, own: set[str]) -> list[str]:
    """The names from outside that a part of a function reads."""
    name = dotted(node) if isinstance(node, ast.expr) else None
    if name is not None:
        return [] if name in own else [name]
    return [found for child in ast.iter_child_nodes(node) for found in _read(child, own)]


#: Functions of Python that are compiled.
BUILTINS: Mapping[Any, str] = {
    getattr(builtins, name): name for name in ("abs", "bool", "float", "int", "max", "min", "round")
}
