"""Analysis of which expressions are about Python numbers, and which about arrays.

A *host* value is a Python number, string, None, or a tuple of those. Python
computes with them faster than a compiled call takes. Which they are is said of
now: a global name or an attribute may hold an array later on, which decides only
what is compiled. Statements about *fixed* host values may change places with
compiled ones, so that those are host values whatever is called when.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Iterable
from typing import Any

from npaccel._loops.partition.objects import (
    UNKNOWN,
    Objects,
    Scope,
    bound_otherwise,
    is_of_library,
)
from npaccel._syntax import dataflow

_HOST_TYPES = (int, float, complex, bool, str, bytes, type(None), range, slice, type, type(...))
#: Attributes of arrays that are host values.
_HOST_ATTRIBUTES = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes"})
#: Builtins that give host values for host arguments.
_HOST_BUILTINS = frozenset(
    {"range", "min", "max", "abs", "int", "float", "bool", "round", "sum", "divmod", "str"}
    | {"tuple", "sorted", "pow", "slice", "repr", "format", "isinstance"}
)
#: Builtins that give the items of what they are given.
ITERATORS = frozenset({"enumerate", "zip", "reversed"})
#: Methods of strings, numbers and slices.
_HOST_METHODS = frozenset({"bit_length", "format", "join", "split", "startswith", "indices"})


def is_host_value(value: object) -> bool:
    """Whether a value is a host value."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(is_host_value, value))
    return type(value) in _HOST_TYPES or isinstance(value, types.ModuleType)


class HostValues:
    """The local names of a function that hold host values only.

    Parameters
    ----------
    scope : Scope
    is_fixed : bool
        Whether those alone count that are host values at each call.

    Attributes
    ----------
    fixed : HostValues
        Those that are host values at each call.
    """

    def __init__(self, scope: Scope, *, is_fixed: bool = False) -> None:
        self._scope = scope
        self.locals = scope.local_names
        self._objects = Objects(scope) if is_fixed else None
        self.fixed = self if is_fixed else HostValues(scope, is_fixed=True)
        arguments = scope.arguments
        # Every name is one until something else is assigned to it.
        self.host = {
            name for name in self.locals if name not in arguments or is_host_value(arguments[name])
        }
        before = -1
        while before != len(self.host):
            before = len(self.host)
            self._visit(scope.definition.body)

    def _visit(self, body: Iterable[ast.AST]) -> None:
        for statement in body:
            for node in ast.walk(statement):
                self._note(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AugAssign):
            if not self.is_host(node.value) and not self.converts(node.value):
                self._drop(node.target)
        elif isinstance(node, ast.NamedExpr | ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.For):
            self._bind_items(node.target, node.iter)
        elif isinstance(node, ast.FunctionDef):
            self.host.discard(node.name)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._drop(node.optional_vars)
        elif isinstance(node, ast.match_case):
            self.host -= dataflow.bound_names(node)
        elif self._objects is not None:
            self.host -= bound_otherwise(node)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        several = ast.Tuple | ast.List
        if isinstance(target, several) and isinstance(value, several):
            parts = [*target.elts, *value.elts]
            if any(isinstance(part, ast.Starred) for part in parts):
                self._drop(target)
                return
            for one, other in zip(target.elts, value.elts, strict=False):
                self._bind(one, other)
        elif not self.is_host(value) and not self.converts(value):
            self._drop(target)

    def _bind_items(self, target: ast.expr, iterable: ast.expr) -> None:
        if isinstance(iterable, ast.Call):
            name, arguments = self._builtin(iterable.func), iterable.args
            if any(isinstance(argument, ast.Starred) for argument in arguments):
                self._drop(target)
                return
            parts = target.elts if isinstance(target, ast.Tuple) else []
            if name == "enumerate" and len(parts) == 2 and arguments:
                self._bind_items(parts[1], arguments[0])
                return
            if name == "zip" and parts and len(parts) == len(arguments):
                for one, other in zip(parts, arguments, strict=True):
                    self._bind_items(one, other)
                return
            if name == "reversed" and len(arguments) == 1:
                self._bind_items(target, arguments[0])
                return
            counts = name == "range" or self._is_progress_bar(iterable.func)
            if counts and all(map(self.is_host, arguments)):
                return
        if not self.is_host(iterable):
            self._drop(target)

    def _drop(self, target: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.host.discard(node.id)

    def is_host(self, node: ast.expr) -> bool:
        """Whether an expression gives a host value, without computing on arrays."""
        match node:
            case ast.Constant():
                return True
            case ast.Name():
                return node.id in self.host or (node.id not in self.locals and self._outer(node))
            case ast.Attribute(value=value, attr=attribute):
                if attribute in _HOST_ATTRIBUTES and self.is_simple(value):
                    return self._objects is None or self._objects.is_surely_array(value)
                return self._outer(node)
            case ast.Subscript(value=value, slice=index):
                return self.is_host(value) and self.is_host(index)
            case ast.Call():
                return self._call(node)
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.IfExp():
                return self._parts(node)
            case ast.Tuple() | ast.Slice() | ast.JoinedStr() | ast.FormattedValue():
                return self._parts(node)
            case _:
                return False

    def converts(self, node: ast.AST) -> bool:
        """Whether an expression makes a Python number of an array's element."""
        return (
            isinstance(node, ast.Call)
            and self._builtin(node.func) in ("float", "int", "bool", "complex")
            and len(node.args) == 1
            and not node.keywords
            and not self.is_host(node.args[0])
        )

    def _parts(self, node: ast.expr) -> bool:
        parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        return all(map(self.is_host, parts)) or self._is_identity_test(node)

    def _is_identity_test(self, node: ast.expr) -> bool:
        """``x is None`` says nothing about an array's elements."""
        return (
            isinstance(node, ast.Compare)
            and all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
            and all(map(self.is_simple, (node.left, *node.comparators)))
        )

    def _call(self, node: ast.Call) -> bool:
        if any(isinstance(a, ast.Starred) for a in node.args) or node.keywords:
            return False
        if isinstance(node.func, ast.Name):
            name = self._builtin(node.func)
            if name in ("len", "type", "id", "isinstance"):
                return all(map(self.is_simple, node.args))
            known = name in _HOST_BUILTINS or name in ITERATORS
            return known and all(map(self.is_host, node.args))
        if isinstance(node.func, ast.Attribute):
            owner = self._scope.value_of(node.func.value)
            if isinstance(owner, types.ModuleType):
                return owner.__name__ in ("math", "time") and all(map(self.is_host, node.args))
            if node.func.attr in _HOST_METHODS:
                return self.is_host(node.func.value) and all(map(self.is_host, node.args))
        return False

    def _builtin(self, function: ast.expr) -> str:
        """Return the name of the builtin that is called, "" for another function of that name."""
        if not isinstance(function, ast.Name) or function.id in self.locals:
            return ""
        own = getattr(builtins, function.id, None)
        return function.id if self._scope.outer.get(function.id) is own is not None else ""

    def _is_progress_bar(self, function: ast.expr) -> bool:
        found = self._scope.value_of(function)
        return getattr(found, "__name__", "") in ("tqdm", "trange") and (
            str(getattr(found, "__module__", "")).partition(".")[0] == "tqdm"
        )

    def _outer(self, node: ast.expr) -> bool:
        """Whether a name from outside, or an attribute of one, is a host value now."""
        if self._objects is None:
            return is_host_value(self._scope.value_of(node))
        # Modules, and constants of libraries such as `np.pi`.
        found = self._scope.value_of(node)
        owner = self._scope.value_of(node.value) if isinstance(node, ast.Attribute) else found
        return isinstance(owner, types.ModuleType) and (
            owner is found or (is_of_library(owner) and is_host_value(found))
        )

    def value_of(self, node: ast.expr) -> Any:
        """Object that a name from outside leads to now; None if that isn't known."""
        found = self._scope.value_of(node)
        return None if found is UNKNOWN else found

    def is_simple(self, node: ast.expr) -> bool:
        """Whether an expression only names something that exists."""
        if isinstance(node, ast.Attribute):
            return self.is_simple(node.value)
        return isinstance(node, ast.Name | ast.Constant)

    def moves(self, node: ast.expr) -> bool:
        """Whether an expression only passes values on, or gives host values."""
        if isinstance(node, ast.Tuple):
            return all(map(self.moves, node.elts))
        return isinstance(node, ast.Name) or self.is_host(node)

    def may_wait(self, node: ast.expr) -> bool:
        """Whether an expression gives the same after other code has run, but for its names."""
        if isinstance(node, ast.Tuple):
            return all(map(self.may_wait, node.elts))
        return isinstance(node, ast.Name) or self.fixed.is_host(node)

    def add(self, name: str) -> None:
        """Note that a name holds a host value."""
        self.host.add(name)
        self.fixed.host.add(name)
