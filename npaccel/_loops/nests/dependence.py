"""Whether the iterations of a nest's outermost loop can run at once, by the nest's text.

They can where each iteration writes elements of its own, ``y[row] = ...`` in the iteration ``row``,
reads nothing that another iteration writes, and computes every name before it reads it. Counters
(``found += 1``) are the exception: a sum of Python's ints doesn't depend on the order.
"""

from __future__ import annotations

import ast
import dataclasses
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, is_intrinsic
from npaccel._loops.nests.resolve import builtin, is_slice
from npaccel._syntax import dataflow
from npaccel._syntax.dataflow import Names

#: Attributes that say nothing about elements.
_ABOUT = frozenset({"shape", "size", "ndim", "dtype"})


@dataclasses.dataclass(frozen=True)
class IndependentLoop:
    """A loop whose iterations are independent, if it writes to no other arrays than these.

    Parameters
    ----------
    loop : ast.For
    axes : mapping of str to int
        Arrays of which an iteration uses only what has its number as an index, and along which
        axis.
    counters : frozenset of str
        Names of ints that iterations only add constants to.
    """

    loop: ast.For
    axes: Mapping[str, int]
    counters: Names


def independent_loop(
    nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
) -> IndependentLoop | None:
    """Return the outermost loop if its iterations are independent.

    Parameters
    ----------
    nest : ast.FunctionDef
        A loop, what is computed before it, and a return of the names that are read afterwards.
    values : mapping
        Of its parameters.
    namespace : mapping
        The values of other names.
    """
    *before, loop, last = nest.body
    if not isinstance(loop, ast.For) or loop.orelse or not all(map(_only_names, before)):
        return None
    leaving = {type(node) for node in dataflow.leaving(loop.body)}
    if ast.Break in leaving:
        return None
    flow = dataflow.of_expression(loop.target).then(dataflow.of_statements(loop.body))
    counters = _counters(loop, values)
    results = {n.id for n in ast.walk(last) if isinstance(n, ast.Name)} & flow.writes
    target = dataflow.of_expression(loop.target).sure
    # An iteration may end before it has given a name its value.
    known = counters | (target if ast.Continue in leaving else flow.sure)
    if flow.reads & flow.writes - counters or results - known:
        return None
    names: Mapping[str, Any] = ChainMap(dict(values), namespace)  # type: ignore[arg-type]
    return IndependentLoop(loop, _Uses(nest, loop, names).axes, counters)


def _only_names(node: ast.stmt) -> bool:
    """Whether a statement before the loop only computes names."""
    loops = ast.For | ast.While
    return not any(
        isinstance(n, loops) or (isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        for n in ast.walk(node)
    )


def _counters(loop: ast.For, values: Mapping[str, Any]) -> Names:
    """Return the names of Python ints that are only added constants to."""
    added: dict[str, int] = {}
    for node in ast.walk(loop):
        match node:
            case ast.AugAssign(
                target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=ast.Constant(value=value)
            ) if type(value) is int:
                added[name] = added.get(name, 0) + 1
    uses = [n.id for n in ast.walk(loop) if isinstance(n, ast.Name)]
    return frozenset(
        name
        for name, count in added.items()
        if uses.count(name) == count and type(values.get(name)) is int
    )


class _Uses(ast.NodeVisitor):
    """Uses of arrays that are only at the number of the iteration.

    Parameters
    ----------
    nest : ast.FunctionDef
    loop : ast.For
    names : mapping
        The values of names, before the loop.
    """

    def __init__(self, nest: ast.FunctionDef, loop: ast.For, names: Mapping[str, Any]) -> None:
        stores = dataflow.stores([nest])
        self.names = names
        self.stored = frozenset(stores)
        self.once = {name for name, count in stores.items() if count == 1}
        #: Names of the iteration's number.
        self.own: set[str] = set()
        self._found: dict[str, frozenset[int]] = {}
        for statement in nest.body:
            if statement is loop:
                self._iterated(loop.target, loop.iter, is_range_counted=True)
                for part in loop.body:
                    self.visit(part)
            elif not isinstance(statement, ast.Return):
                self.visit(statement)
        self.axes = {name: min(axes) for name, axes in self._found.items() if axes}

    def _note(self, name: str, axes: frozenset[int] = frozenset()) -> None:
        self._found[name] = self._found.get(name, axes) & axes

    def _iterated(self, target: ast.expr, items: ast.expr, *, is_range_counted: bool) -> None:
        """Note what is gone over; iterations are numbered as by `enumerate`, or as a range says."""
        if isinstance(items, ast.Name) and self._is_array(items.id):
            self._note(items.id, frozenset({0}))
            return
        function = self._function(items)
        arguments = items.args if isinstance(items, ast.Call) else []
        targets = target.elts if isinstance(target, ast.Tuple) else []
        if function is range:
            if is_range_counted:
                self._name(target)
        elif function is enumerate and len(arguments) == 1 and len(targets) == 2:
            self._name(targets[0])
            self._iterated(targets[1], arguments[0], is_range_counted=False)
            return
        elif function is zip and len(arguments) == len(targets):
            for one, item in zip(targets, arguments, strict=True):
                self._iterated(one, item, is_range_counted=False)
            return
        self.visit(items)

    def _name(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name) and target.id in self.once:
            self.own.add(target.id)

    def _is_array(self, name: str) -> bool:
        return name not in self.stored and isinstance(self.names.get(name), np.ndarray)

    def _function(self, node: ast.expr) -> Any:
        """Return the builtin that is called."""
        match node:
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name not in self.stored:
                return builtin(name, self.names)
            case ast.Call(func=ast.Constant(value=value), keywords=[]):
                return value
        return None

    def _is_own(self, node: ast.expr) -> bool:
        """Whether an expression is the iteration's number, where that isn't negative."""
        if is_intrinsic(node, Intrinsic.KNOWN):
            return self._is_own(node.args[0])
        if is_intrinsic(node, Intrinsic.PLACE):
            return self._is_own(node.args[2])
        return isinstance(node, ast.Name) and node.id in self.own

    def visit_Assign(self, node: ast.Assign) -> None:
        if self._is_own(node.value) and len(node.targets) == 1:
            self._name(node.targets[0])
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.value, ast.Name):
            self.generic_visit(node)
            return
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        axes = {axis for axis, part in enumerate(parts) if self._is_own(part)}
        self._note(node.value.id, frozenset(() if is_slice(node.slice) else axes))
        self.visit(node.slice)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.value, ast.Name) or node.attr not in _ABOUT:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        about = self._function(node) is len or is_intrinsic(node, Intrinsic.PLACE)
        parts = [node.func, *node.args, *node.keywords]
        if about and node.args and isinstance(node.args[0], ast.Name):
            parts.remove(node.args[0])
        for part in parts:
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        self._note(node.id)
