"""Names that may stand for objects of the user's, whose attributes can be anything.

`x.size` is a number where x is an array, and may be an array where x is an object.
"""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from npaccel._syntax import dataflow
from npaccel._syntax.dataflow import Names

UNKNOWN = object()
#: Libraries whose functions give arrays, numbers, and containers of those.
_OF_ARRAYS = frozenset({"numpy", "scipy", "math", "torch", "npaccel"})
_ARRAYS = np.ndarray | np.generic | torch.Tensor


@dataclasses.dataclass
class Scope:
    """A function, and what its names lead to.

    Parameters
    ----------
    definition : ast.FunctionDef
    arguments : mapping
        The value of each parameter.
    outer : mapping
        The values of other names: globals, closure cells, builtins.

    Attributes
    ----------
    local_names : frozenset of str
    """

    definition: ast.FunctionDef
    arguments: Mapping[str, Any]
    outer: Mapping[str, Any]
    local_names: Names = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.local_names = dataflow.local_names(self.definition)

    def value_of(self, node: ast.expr) -> Any:
        """Object that a name from outside leads to now, or a module's attribute; or `UNKNOWN`."""
        if isinstance(node, ast.Name) and node.id not in self.local_names:
            return self.outer.get(node.id, UNKNOWN)
        if isinstance(node, ast.Attribute):
            owner = self.value_of(node.value)
            if isinstance(owner, types.ModuleType):
                return getattr(owner, node.attr, UNKNOWN)
        return UNKNOWN


class Objects:
    """Local names of a function that may stand for objects.

    Parameters
    ----------
    scope : Scope
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        bindings = list(_bindings(scope.definition))
        self.names = {
            name
            for name, value in scope.arguments.items()
            if not isinstance(value, _ARRAYS | int | float | complex | str | types.NoneType)
        }
        for statement in scope.definition.body:
            self.names.update(*map(bound_otherwise, ast.walk(statement)))
        before = -1
        while before != len(self.names):
            before = len(self.names)
            for target, value in bindings:
                if value is None or self._may_be_object(value):
                    self.names |= dataflow.of_expression(target).writes

    def is_surely_array(self, node: ast.expr) -> bool:
        """Whether an expression leads to an array, or to a number, at each call."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Constant) or (
            isinstance(node, ast.Name) and node.id in self._scope.local_names - self.names
        )

    def _may_be_object(self, node: ast.expr) -> bool:
        """Whether an expression may give an object, or a container of some."""
        match node:
            case ast.Name() | ast.Attribute():
                return not self.is_surely_array(node)
            case ast.Subscript(value=value) | ast.Starred(value=value):
                return self._may_be_object(value)
            case ast.Call(func=function, args=args):
                found = self._scope.value_of(function)
                if found is UNKNOWN:  # A method, of an array for one.
                    return not isinstance(function, ast.Attribute) or self._may_be_object(
                        function.value
                    )
                if getattr(found, "__module__", "") == "builtins" or found is range:
                    return any(map(self._may_be_object, args))
                return not is_of_library(found)
            case ast.IfExp(body=body, orelse=orelse):
                return self._may_be_object(body) or self._may_be_object(orelse)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
                return any(map(self._may_be_object, parts))
            case ast.NamedExpr(value=value):
                return self._may_be_object(value)
            case ast.Constant() | ast.BinOp() | ast.UnaryOp() | ast.Compare():
                return False
        return True


def is_of_library(found: Any) -> bool:
    """Whether a function, or a module, is one of a library of arrays and numbers."""
    name = found.__name__ if isinstance(found, types.ModuleType) else _module_of(found)
    return name.partition(".")[0] in _OF_ARRAYS


def _module_of(found: Any) -> str:
    return str(getattr(found, "__module__", None) or type(found).__module__)


def _bindings(definition: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield what a function assigns to, and what: None where it isn't an expression's value."""
    for statement in definition.body:
        for node in ast.walk(statement):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from _pairs(target, value)
                case (
                    ast.AnnAssign(target=target, value=value)
                    | ast.NamedExpr(target=target, value=value)
                ):
                    yield target, value
                case ast.For(target=target, iter=value):
                    yield target, value
                case ast.withitem(optional_vars=ast.expr() as target):
                    yield target, None


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the parts of an assignment that belong together."""
    several = ast.Tuple | ast.List
    if isinstance(target, several) and isinstance(value, several):
        parts = [*target.elts, *value.elts]
        if len(target.elts) == len(value.elts) and not any(
            isinstance(part, ast.Starred) for part in parts
        ):
            for one, other in zip(target.elts, value.elts, strict=True):
                yield from _pairs(one, other)
            return
    yield target, value


def bound_otherwise(node: ast.AST) -> Names:
    """Return the names that a statement gives something else than an expression's value."""
    if isinstance(node, ast.ExceptHandler | ast.match_case):
        return dataflow.bound_names(node)
    if isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom):
        return dataflow.of_statement(node).writes
    return frozenset()


__all__ = ["UNKNOWN", "Objects", "Scope", "bound_otherwise", "is_of_library"]
