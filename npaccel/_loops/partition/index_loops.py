"""Rewrite loops over all indices or elements of an array as nested loops over ranges.

``for i, j in np.ndindex(n, m)`` and ``for (i, j), v in np.ndenumerate(a)`` go over the same, in the
same order, as a loop in a loop, which is compiled. ``a.flat`` becomes ``a.ravel()`` where nothing
writes to the array meanwhile.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from npaccel._loops.partition.objects import Scope
from npaccel._syntax import dataflow, source

#: Functions of NumPy that surely give an array.
_MAKERS = frozenset(
    {"array", "asarray", "empty", "empty_like", "full", "full_like", "ones", "ones_like"}
    | {"zeros", "zeros_like", "arange", "linspace"}
)

_CHECK = "if {}: raise ValueError('negative dimensions are not allowed')"


def expanded(scope: Scope) -> ast.FunctionDef:
    """Return a function with such loops as nested ones; its definition is changed in place."""
    return _Expansion(scope).visit(scope.definition)  # type: ignore[no-any-return]


class _Expansion(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._definition = definition = scope.definition
        self._stores = dataflow.stores(definition.body)
        self._arrays = {
            name
            for name, value in scope.arguments.items()
            if type(value) is np.ndarray and not self._stores[name]
        }
        self._arrays |= {
            node.targets[0].id
            for node in ast.walk(definition)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and self._stores[node.targets[0].id] == 1
            and len(node.targets) == 1
            and self._is_made(node.value)
        } - scope.arguments.keys()
        self._count = 0

    def _is_made(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._numpys(node.func) in _MAKERS

    def _numpys(self, function: ast.expr) -> str:
        """Return the name of a function of NumPy's; "" for others."""
        found = self._scope.value_of(function)
        name = getattr(found, "__name__", "")
        return name if getattr(np, name, None) is found else ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self.generic_visit(node) if node is self._definition else node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = self._without_flat(node.iter, node)
        if node.orelse or _has_break(node.body) or not isinstance(node.iter, ast.Call):
            return node
        function = self._numpys(node.iter.func)
        if node.iter.keywords or function not in ("ndindex", "ndenumerate"):
            return node
        if self._read_elsewhere(node):  # They'd have a value behind a loop without iterations.
            return node
        if function == "ndindex":
            return self._over_indices(node, node.iter.args, node.target)
        return self._over_elements(node, node.iter.args)

    def _read_elsewhere(self, loop: ast.For) -> bool:
        """Whether names that a loop counts with are used outside of it."""
        names = dataflow.of_expression(loop.target).writes
        inside = {id(one) for one in ast.walk(loop)}
        uses = (n for n in ast.walk(self._definition) if isinstance(n, ast.Name) and n.id in names)
        return any(id(use) not in inside for use in uses)

    def _without_flat(self, node: ast.expr, loop: ast.For) -> ast.expr:
        match node:
            case ast.Call(func=ast.Name(id="enumerate" | "zip"), args=args):
                node.args = [self._without_flat(one, loop) for one in args]
            case ast.Attribute(value=ast.Name(id=name), attr="flat") if name in self._arrays:
                parts = [loop.target, *loop.body, *loop.orelse]
                if all(name not in dataflow.of_expression(part).reads for part in parts):
                    call = ast.Attribute(ast.Name(name, ast.Load()), "ravel", ast.Load())
                    return source.placed(ast.Call(call, [], []), node)
        return node

    def _over_elements(self, loop: ast.For, args: Sequence[ast.expr]) -> Any:
        match loop.target, args:
            case ast.Tuple(elts=[ast.Tuple() as indices, value]), [ast.Name(id=name)]:
                pass
            case _:
                return loop
        if name not in self._arrays or not _is_of_names(indices):
            return loop
        key = ast.Tuple([ast.Name(one.id, ast.Load()) for one in indices.elts], ast.Load())  # type: ignore[attr-defined]
        item = ast.Subscript(ast.Name(name, ast.Load()), key, ast.Load())
        loop = copy.copy(loop)
        loop.body = [source.placed(ast.Assign([value], item), loop), *loop.body]
        shape = ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load())
        return self._over_indices(loop, [shape], indices)

    def _over_indices(self, loop: ast.For, args: Sequence[ast.expr], target: ast.expr) -> Any:
        if not isinstance(target, ast.Tuple) or not _is_of_names(target):
            return loop
        names = [one.id for one in target.elts]  # type: ignore[attr-defined]
        sizes = self._sizes(args, len(names))
        if sizes is None or not names or len(set(names)) < len(names):
            return loop
        if dataflow.of_statements(loop.body).writes & set(names):
            return loop
        made, bounds = sizes
        body = loop.body
        for name, bound in reversed(list(zip(names, bounds, strict=True))):
            count = ast.Call(ast.Name("range", ast.Load()), [bound], [])
            body = [source.placed(ast.For(ast.Name(name, ast.Store()), count, body, []), loop)]
        return [*(source.placed(one, loop) for one in made), *body]

    def _sizes(
        self, args: Sequence[ast.expr], count: int
    ) -> tuple[list[ast.stmt], list[ast.expr]] | None:
        """Return statements, and the bounds of the loops that stand behind them."""
        if len(args) == 1 and isinstance(args[0], ast.Starred):
            args = [args[0].value]
        if len(args) == 1 and isinstance(args[0], ast.Tuple):
            args = args[0].elts
        match args:
            case [ast.Attribute(value=ast.Name(id=name), attr="shape") as shape] if (
                name in self._arrays
            ):
                names = [f"_npaccel_size{self._count}_{i}" for i in range(count)]
                self._count += 1
                target = ast.Tuple([ast.Name(one, ast.Store()) for one in names], ast.Store())
                # As NumPy's loop: of an empty array it unpacks nothing.
                none = ast.Tuple([ast.Constant(0)] * count, ast.Load())
                test = ast.parse(f"{name}.ndim == {count} or {name}.size", mode="eval").body
                value = ast.IfExp(test, shape, none)
                return [ast.Assign([target], value)], [ast.Name(n, ast.Load()) for n in names]
        if len(args) != count:
            return None
        given = [one.id for one in args if isinstance(one, ast.Name)]
        others = [one for one in args if not isinstance(one, ast.Name)]
        if not all(map(self._is_size, others)) or (given and count == 1):
            return None  # A single name may be a tuple of sizes.
        tests = " or ".join(f"{name} < 0" for name in given)
        checks = ast.parse(_CHECK.format(tests)).body if given else []
        return checks, [copy.deepcopy(one) for one in args]

    def _is_size(self, node: ast.expr) -> bool:
        """Whether an expression is the size of an axis, which isn't negative."""
        match node:
            case ast.Constant(value=int(value)):
                return value >= 0
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
                return name in self._arrays
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
                slice=ast.Constant() | ast.UnaryOp(operand=ast.Constant()),
            ):
                return name in self._arrays
        return False


def _is_of_names(target: ast.Tuple) -> bool:
    return all(isinstance(one, ast.Name) for one in target.elts)


def _has_break(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Break) for node in dataflow.leaving(body))


__all__ = ["expanded"]
