"""Inner loops over columns whose iterations are independent, taken statement by statement.

``for j in range(k + 1, n): a[:, j] -= q[:, k] * (q[:, k] @ a[:, j])`` takes one element of every
cache line of a C-contiguous array in each iteration. Here a statement is done for many iterations
before the next one is, and where it is about all rows, it is done row by row: compilers make vector
instructions of that. Each iteration computes what it would alone, in the same order. What a
statement leaves to a later one is kept in memory, a number for each iteration. The last iteration,
and all of them where an index isn't within the bounds, are done as the user wrote them.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.dependence import independent_loop
from npaccel._loops.nests.intrinsics import (
    Intrinsic,
    called,
    is_intrinsic,
    is_temporary,
    locate,
    name_of,
    temporary,
)
from npaccel._loops.nests.lowering.types import FLOAT64
from npaccel._loops.nests.resolve import builtin
from npaccel._loops.nests.scalarize.result import Bound, ScalarizedNest
from npaccel._syntax import dataflow

#: Maximum number of iterations that are done at a time, so that their numbers stay in the fastest
#: cache; minimum number of them.
_MOST, _FEW = 512, 8
_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.Div
#: Prefix of names that no user gives: numbers of elements and places.
_GENERATED = "0"


def unrolled(
    made: ScalarizedNest, values: Mapping[str, Any], namespace: Mapping[str, Any]
) -> ScalarizedNest:
    """Return a nest whose inner loops over columns do several of them at a time.

    Parameters
    ----------
    made : ScalarizedNest
        A nest without array code.
    values : mapping
        Of its parameters, and of the memory that it needs.
    namespace : mapping
        The values of other names.
    """
    if _may_be_threaded(made.nest, values, namespace):
        return made  # Each thread would need memory of its own.
    loops = _Loops(made.nest, values, namespace)
    nest = copy.copy(made.nest)
    nest.body = [loops.inside(one) if isinstance(one, ast.For) else one for one in nest.body]
    if not loops.buffers:
        return made
    nest = ast.fix_missing_locations(nest)
    return dataclasses.replace(made, nest=nest, buffers={**made.buffers, **loops.buffers})


def _may_be_threaded(
    nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
) -> bool:
    found = independent_loop(nest, values, namespace)
    return found is not None and _written(nest) <= found.axes.keys()


def _written(node: ast.AST) -> frozenset[str]:
    """Return the arrays that are written to."""
    return frozenset(
        n.value.id
        for n in ast.walk(node)
        if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name)
    )


class _Loops(ast.NodeTransformer):
    """The loops in a nest.

    Attributes
    ----------
    buffers : dict
        What memory they need, see `ScalarizedNest`.
    """

    def __init__(
        self, nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
    ) -> None:
        self.values = values
        self.namespace = namespace
        every = {n.id for n in ast.walk(nest) if isinstance(n, ast.Name)} | values.keys()
        self.stored = frozenset(dataflow.stores([nest]))
        self.count = max((int(n[2:]) for n in every if is_temporary(n)), default=0)
        self.buffers: dict[str, tuple[Bound, ...]] = {}

    def inside(self, loop: ast.For) -> ast.For:
        """Return a loop with other loops in it; its own iterations may run in threads."""
        made = copy.copy(loop)
        made.body = [part for one in loop.body for part in _listed(self.visit(one))]
        return made

    def new(self) -> str:
        self.count += 1
        return temporary(self.count)

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        columns = _Columns(node, self.values, self.namespace, self.stored)
        if not columns.are_fit():
            return self.generic_visit(node)
        start, stop, rest, first, width = (self.new() for _ in range(5))
        body = _Jam(self, columns, first, width).written(node.body)
        end = ast.BinOp(name_of(stop), ast.Sub(), ast.Constant(1))
        iterations = called(range, name_of(start), end, ast.Constant(_MOST))
        is_more = ast.Compare(name_of(width), [ast.Gt()], [ast.Constant(_MOST)])
        size = ast.BinOp(copy.deepcopy(end), ast.Sub(), name_of(first))
        cut = ast.If(is_more, [_let(width, ast.Constant(_MOST))], [])
        several = ast.For(
            name_of(first, ast.Store()), iterations, [_let(width, size), cut, *body], []
        )
        written: list[ast.stmt] = [
            *(_let(start, columns.start), _let(stop, columns.stop), _let(rest, name_of(start))),
            ast.If(columns.condition(start, stop), [several, _let(rest, copy.deepcopy(end))], []),
        ]
        last = copy.copy(node)
        last.iter = called(range, name_of(rest), name_of(stop))
        locate([*written, last], node)
        return [*written, last]


class _Jam:
    """Writer of some iterations, statement by statement."""

    def __init__(self, loops: _Loops, columns: _Columns, first: str, width: str) -> None:
        self.loops = loops
        self.columns = columns
        self.width = width
        self.lane = loops.new()
        self.iteration = ast.BinOp(name_of(first), ast.Add(), name_of(self.lane))
        #: Memory by the name that has a number there for each iteration.
        self.kept: dict[str, str] = {}

    def written(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return statements for some iterations."""
        groups = list(_groups(body, self.columns))
        uses = Counter(
            name
            for group in groups
            for name in {n.id for s in group for n in ast.walk(s) if isinstance(n, ast.Name)}
        )
        bound = frozenset({self.columns.longest})
        for name in sorted(self.columns.own):
            if uses[name] > 1:
                self.kept[name] = self.loops.new()
                self.loops.buffers[self.kept[name]] = (bound,)
        return self._written(body)

    def _written(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        group: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.For):
                made += self._group(group)
                group = []
                loop = copy.copy(node)
                loop.body = self._written(node.body)
                made.append(loop)
            elif self.columns.is_shared_statement(node):
                made.append(copy.deepcopy(node))
            elif not self.columns.is_place(node):
                group.append(node)
        return [*made, *self._group(group)]

    def _group(self, group: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return a loop over the iterations, after what is the same in all of them."""
        if not group:
            return []
        iteration = _Iteration(self)
        body = [iteration.visit(copy.deepcopy(node)) for node in group]
        iterations = called(range, name_of(self.width))
        return [
            *iteration.preceding,
            ast.For(name_of(self.lane, ast.Store()), iterations, body, []),
        ]


def _groups(body: Sequence[ast.stmt], columns: _Columns) -> Iterator[list[ast.stmt]]:
    """Yield the statements that are done together for each iteration."""
    group: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.For):
            yield group
            group = []
            yield from _groups(node.body, columns)
        elif not columns.is_shared_statement(node):
            group.append(node)
    yield group


class _Iteration(ast.NodeTransformer):
    """Write statements for one of some iterations.

    Attributes
    ----------
    preceding : list of ast.stmt
        What is read before because it is the same in all of them.
    """

    def __init__(self, jam: _Jam) -> None:
        self.jam = jam
        self.columns = jam.columns
        self.preceding: list[ast.stmt] = []

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in {self.columns.index, *self.columns.numbers}:
            return ast.copy_location(copy.deepcopy(self.jam.iteration), node)
        if node.id not in self.jam.kept:
            return node
        place = called(Intrinsic.KNOWN, name_of(self.jam.lane))
        element = ast.Subscript(name_of(self.jam.kept[node.id]), place, node.ctx)
        return ast.copy_location(element, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Leave an index, which was looked at before, as it is."""
        assert isinstance(node.value, ast.Name)
        parts = _parts(node)
        known = [called(Intrinsic.KNOWN, p) if isinstance(p, ast.Name) else p for p in parts]
        is_same = all(map(self.columns.is_shared, parts))
        indices = [self.visit(part) for part in known]
        index = indices[0] if len(parts) == 1 else ast.Tuple(indices, ast.Load())
        made = ast.copy_location(ast.Subscript(node.value, index, node.ctx), node)
        if not is_same or node.value.id in self.columns.written:
            return made
        name = self.jam.loops.new()
        self.preceding.append(_let(name, made))
        return ast.copy_location(name_of(name), node)


class _Columns:
    """Work of a loop in its iterations.

    Attributes
    ----------
    index : str
        Its variable.
    start, stop : ast.expr
    assigned : frozenset of str
        Names that are assigned in an iteration.
    shared : frozenset of str
        Those of them that are the same in all iterations.
    numbers : set of str
        Those of them that are the iteration's number.
    written : frozenset of str
        Arrays that are written to.
    longest : (str, int)
        An array, and an axis that is as long as there are iterations or longer.
    """

    def __init__(
        self,
        loop: ast.For,
        values: Mapping[str, Any],
        namespace: Mapping[str, Any],
        stored: frozenset[str],
    ) -> None:
        self.loop = loop
        self.values = values
        self.namespace = namespace
        self.stored = stored
        self.arrays = {
            n: v for n, v in values.items() if isinstance(v, np.ndarray) and n not in stored
        }
        self.names: Mapping[str, Any] = ChainMap(dict(values), namespace)  # type: ignore[arg-type]
        self.index = loop.target.id if isinstance(loop.target, ast.Name) else ""
        self.counts: Counter[str] = Counter(dataflow.stores(loop.body))
        self.assigned = frozenset(self.counts)
        self.start: ast.expr = ast.Constant(0)
        self.stop: ast.expr = ast.Constant(0)
        self.shared: frozenset[str] = frozenset()
        self.numbers: set[str] = set()
        self.longest: tuple[str, int] = "", 0
        self.written = _written(loop)
        #: Names that are float64 in an iteration, or ints.
        self.kinds: dict[str, str] = {}
        #: Indices that must be within the bounds: an index, an array, an axis.
        self.places: dict[tuple[str, str, int], None] = {}

    def are_fit(self) -> bool:
        """Whether several iterations can be done side by side, and that is worth it."""
        loop = self.loop
        if not self.index or self.index in self.assigned or loop.orelse:
            return False
        if not self._is_range(loop.iter) or not any(isinstance(n, ast.For) for n in loop.body):
            return False
        if not all(map(self._statement, loop.body)):
            return False
        no_arguments = ast.arguments([], [], None, [], [], None, [])
        nest = ast.FunctionDef("iterations", no_arguments, [loop, ast.Return()], [])
        found = independent_loop(nest, self.values, self.namespace)
        if found is None or found.counters or not self.written <= found.axes.keys():
            return False
        last = [n for n in self.written if found.axes[n] == self.arrays[n].ndim - 1 > 0]
        if not last or not all(self.arrays[n].flags.c_contiguous for n in self.written):
            return False
        self.longest = min(last), found.axes[min(last)]
        return True

    @property
    def own(self) -> frozenset[str]:
        """The names that are other numbers in each iteration."""
        return self.assigned - self.shared - self.numbers

    def is_shared_statement(self, node: ast.stmt) -> bool:
        """Whether a statement does the same in all iterations."""
        return isinstance(node, ast.Expr) or _assigned(node) in self.shared

    def is_place(self, node: ast.stmt) -> bool:
        """Whether a statement gives the iteration's number a name."""
        return _assigned(node) in self.numbers

    def condition(self, start: str, stop: str) -> ast.expr:
        """Return what must hold before several iterations are done at a time."""
        few = ast.BinOp(name_of(stop), ast.Sub(), ast.Constant(_FEW))
        tests: list[ast.expr] = [
            ast.Compare(ast.Constant(0), [ast.LtE(), ast.Lt()], [name_of(start), few])
        ]
        for index, array, axis in self.places:
            shape = ast.Attribute(name_of(array), "shape", ast.Load())
            size = ast.Subscript(shape, ast.Constant(axis), ast.Load())
            if index == self.index:
                tests.append(ast.Compare(name_of(stop), [ast.LtE()], [size]))
            else:
                order = [name_of(index), size]
                tests.append(ast.Compare(ast.Constant(0), [ast.LtE(), ast.Lt()], order))
        return ast.BoolOp(ast.And(), tests)

    def _is_range(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call) or node.keywords or not 1 <= len(node.args) <= 2:
            return False
        is_name = isinstance(node.func, ast.Name) and node.func.id not in self.stored
        if not is_name or builtin(node.func.id, self.names) is not range:  # type: ignore[attr-defined]
            return False
        self.start = node.args[0] if len(node.args) == 2 else ast.Constant(0)
        self.stop = node.args[-1]
        return True

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Expr(value=ast.Attribute() | ast.Name()):
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._assignment(name, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                is_float = self.kinds.get(name) == "float" and isinstance(op, _ARITHMETIC)
                return is_float and bool(self._kind(value))
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return bool(self._kind(value)) and self._kind(target) == "float"
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                is_float = self._kind(target) == "float" and isinstance(op, _ARITHMETIC)
                return is_float and bool(self._kind(value))
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as items, orelse=[]):
                self.shared |= {name}
                is_int = self.kinds.setdefault(name, "int") == "int"
                is_range = getattr(items.func, "value", None) is range and is_int
                is_range = is_range and all(map(self.is_shared, items.args))
                return is_range and all(map(self._statement, node.body))
        return False

    def _assignment(self, name: str, value: ast.expr) -> bool:
        kind = self._kind(value)
        if not kind or self.kinds.setdefault(name, kind) != kind:
            return False
        is_once = self.counts[name] == 1
        if is_once and self.is_shared(value):
            self.shared |= {name}
        elif is_once and is_intrinsic(value, Intrinsic.PLACE):
            self.numbers.add(name)
        return kind == "float" or name in self.shared | self.numbers

    def _kind(self, node: ast.expr) -> str:
        """Return what an expression is that raises nothing; empty if that can't be told."""
        match node:
            case ast.Constant(value=value):
                return {int: "int", float: "number", np.float64: "float"}.get(type(value), "")
            case ast.Name(id=name):
                if name in self.assigned:
                    return self.kinds.get(name, "")
                is_int = name == self.index or name.startswith(_GENERATED)
                return "int" if is_int else "" if name in self.arrays else "number"
            case ast.BinOp(left=left, op=op, right=right):
                return self._kind_of_operation(left, op, right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return "float" if self._kind(operand) == "float" else ""
            case ast.Subscript(value=ast.Name(id=name)):
                return "float" if self._is_element(name, _parts(node)) else ""
            case ast.Call(keywords=[]):
                return self._kind_of_call(node)
        return ""

    def _kind_of_operation(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        kinds = {self._kind(left), self._kind(right)}
        if "" in kinds or not isinstance(op, _ARITHMETIC | ast.FloorDiv):
            return ""
        if isinstance(op, ast.FloorDiv):
            by = right.value if isinstance(right, ast.Constant) else 0
            return "int" if kinds == {"int"} and by > 0 else ""  # type: ignore[operator]
        if "float" in kinds:
            return "float"
        return "int" if kinds == {"int"} and not isinstance(op, ast.Div) else ""

    def _kind_of_call(self, node: ast.Call) -> str:
        if is_intrinsic(node, Intrinsic.FLOAT):
            return "float" if self._kind(node.args[0]) == "float" else ""
        if is_intrinsic(node, Intrinsic.PLACE):
            owner, axis, index = node.args
            assert isinstance(owner, ast.Name)
            return "int" if self._is_index(owner.id, ast.literal_eval(axis), index) else ""
        return ""

    def _is_element(self, name: str, parts: Sequence[ast.expr]) -> bool:
        array = self.arrays.get(name)
        if array is None or array.dtype != FLOAT64 or array.ndim != len(parts):
            return False
        return all(
            is_intrinsic(part, Intrinsic.KNOWN) or self._is_index(name, axis, part)
            for axis, part in enumerate(parts)
        )

    def _is_index(self, array: str, axis: int, node: ast.expr) -> bool:
        """Whether an index can be looked at before the loop."""
        if not isinstance(node, ast.Name) or node.id in self.assigned or array not in self.arrays:
            return False
        self.places[node.id, array, axis] = None
        return True

    def is_shared(self, node: ast.expr) -> bool:
        """Whether an expression is the same in all iterations."""
        return not any(
            isinstance(n, ast.Subscript)
            or (isinstance(n, ast.Name) and n.id in {self.index, *(self.assigned - self.shared)})
            for n in ast.walk(node)
        )


def _let(target: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([name_of(target, ast.Store())], value)


def _listed(node: ast.AST | list[ast.stmt]) -> list[Any]:
    return node if isinstance(node, list) else [node]


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _assigned(node: ast.stmt) -> str:
    """Return the name that a statement assigns to."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""
