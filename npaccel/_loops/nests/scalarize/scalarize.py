"""Array code in a loop nest, written as loops over its elements.

A sparse matrix times a vector is a million slices of ten elements each, and a step of a small
simulation a few thousand elements: a call of NumPy or of compiled code for each operation takes
longer than the work. Here ``data[i:j] @ x[indices[i:j]]``, ``a[:, j] -= q[:, k] * r`` and
``u = u - dt * (flux - np.roll(flux, 1))`` become loops, which are typed and compiled like those
that the user wrote. Only float64 arrays are taken, no large ones, and nothing whose order would
show. `expressions` says what becomes of expressions.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, called, locate, name_of
from npaccel._loops.nests.lowering.types import FLOAT64
from npaccel._loops.nests.resolve import builtin, has_slices
from npaccel._loops.nests.scalarize import array_variables, expressions, rows
from npaccel._loops.nests.scalarize.array_variables import unfit
from npaccel._loops.nests.scalarize.bounds import Bounds
from npaccel._loops.nests.scalarize.result import SET, ArrayVariable, ScalarizedNest
from npaccel._loops.nests.scalarize.views import Axis, Expression, View, of_view

_MEMORY, _LENGTH = "0h_{}", "0n_{}_{}"


def has_products(node: ast.AST) -> bool:
    """Whether there are products of what may be short vectors in some code."""
    return any(
        isinstance(n, ast.MatMult) or (isinstance(n, ast.Attribute) and n.attr == "dot")
        for n in ast.walk(node)
    )


def is_array_code(node: ast.AST, values: Mapping[str, Any] | None = None) -> bool:
    """Whether some code works on arrays, so that it's array code where no nest is made of it.

    Parameters
    ----------
    node : ast.AST
    values : mapping, optional
        Of names; without, only slices and products are known to work on arrays.
    """
    by_text = has_slices(node) or has_products(node) or rows.reduces_rows(node)
    by_text = by_text or any(
        isinstance(n, ast.Subscript) and isinstance(n.slice, ast.List) for n in ast.walk(node)
    )
    return by_text or bool(values and next(whole_arrays(node, values), None))


def whole_arrays(node: ast.AST, values: Mapping[str, Any]) -> Iterator[ast.Name]:
    """Yield the names of arrays that some code computes with as a whole, or by rows."""
    arrays = {n: v.ndim for n, v in values.items() if isinstance(v, np.ndarray) and v.ndim}
    operations = ast.BinOp | ast.AugAssign | ast.UnaryOp | ast.Compare | ast.Call
    for part in ast.walk(node):
        match part:
            case ast.For():  # What it goes over may be rows.
                yield from _of_more(_gone_over(part.iter), arrays, 1)
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):  # It may unpack a row.
                yield from _of_more([part.value], arrays, 0)
        if not isinstance(part, operations) or not _computes(part):
            continue
        operands = [*ast.iter_child_nodes(part)]
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            operands.append(part.func.value)
        yield from _of_more(operands, arrays, 0)


def _of_more(nodes: Iterable[ast.AST], arrays: Mapping[str, int], ndim: int) -> Iterator[ast.Name]:
    """Yield the names of arrays of which, or of whose parts, nodes have more dimensions."""
    for node in nodes:
        name, indices = node, 0
        if isinstance(node, ast.Subscript):
            index = node.slice
            name, indices = node.value, len(getattr(index, "elts", (index,)))
        if isinstance(name, ast.Name) and arrays.get(name.id, 0) > indices + ndim:
            yield name


def _gone_over(items: ast.expr) -> Iterator[ast.expr]:
    """Yield what a loop goes over, by `enumerate` and `zip` too; a length isn't gone over."""
    match items:
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed"), args=args):
            for one in args:
                yield from _gone_over(one)
        case ast.Name() | ast.Subscript():
            yield items


def _computes(node: ast.AST) -> bool:
    """Whether an operation on a whole array computes; ``len(a)`` and a user's function don't."""
    if isinstance(node, ast.Compare):
        return not all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute)
    return True


def without_slices(
    nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
) -> ScalarizedNest:
    """Return a nest with loops in the place of operations on arrays.

    Parameters
    ----------
    nest : ast.FunctionDef
        It is left as it is.
    values : mapping
        Of its parameters.
    namespace : mapping
        The values of other names.

    Raises
    ------
    NotSupportedError
        If there are others.
    """
    swapped = array_variables.swapped_names(nest, values)
    changed = set(array_variables.stored([nest])).difference(*swapped)
    arrays = {n: v for n, v in values.items() if isinstance(v, np.ndarray) and n not in changed}
    names = {name: v for name, v in {**namespace, **values}.items() if name not in changed}
    varying: set[str] = set()
    while True:
        made = rows.with_places(nest, arrays, names)
        try:
            return Rewriting(made, arrays, values, names, swapped, frozenset(varying)).run()
        except _VaryingError as error:
            varying.add(error.name)


class _VaryingError(Exception):
    """A name is assigned arrays of several shapes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Rewriting(Bounds):
    """The rewriting of one nest.

    Parameters
    ----------
    nest : ast.FunctionDef
        It is changed.
    arrays : mapping
        The parameters that are arrays and never assigned to.
    values : mapping
        Of all parameters.
    names : mapping
        The values of names that aren't assigned to.
    swapped : sequence of frozenset of str
        The parameters that stand for each other's arrays.
    varying : frozenset of str
        Names that are assigned arrays of several shapes.
    """

    def __init__(
        self,
        nest: ast.FunctionDef,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        values: Mapping[str, Any],
        names: Mapping[str, Any],
        swapped: Sequence[frozenset[str]],
        varying: frozenset[str],
    ) -> None:
        ranks = array_variables.ranks_of(nest, values, names)
        super().__init__(arrays, ranks, nest.body[0].lineno)
        self.nest = nest
        self.values = values
        self.groups = swapped
        self.swapped = frozenset().union(*swapped)
        self.varying = varying

    def run(self) -> ScalarizedNest:
        """Rewrite the nest."""
        *body, last = self.nest.body
        outputs = tuple(n.id for n in ast.walk(last) if isinstance(n, ast.Name))
        names = array_variables.array_names(self.nest, self.ranks, self.swapped)
        array_variables.check_bound(body, frozenset(names.keys() - self.values.keys()))
        self.nest = array_variables.with_views(
            self.nest, names, self.arrays, frozenset({*outputs, *self.values})
        )
        *body, last = self.nest.body
        self.changing = frozenset(array_variables.stored(body))
        self._begin(names)
        new = self.block(body)
        self._check_arrays(new)
        made = copy.copy(self.nest)
        made.body = [*self.begin, *new, self._last(last)]
        locate([made], body[0])
        buffers = {name: tuple(bounds) for name, bounds in self.buffers.items()}
        kept = {name: one for name, one in self.variables.items() if name in outputs}
        result = ScalarizedNest(ast.fix_missing_locations(made), buffers, kept, outputs)
        if result.memory(self.values) is None:
            raise self.unfit("large arrays")
        return result

    def number(self, node: ast.expr) -> ast.expr:
        """Return an expression that gives a number, with what is done to arrays written before."""
        return expressions.number(self, node)

    def expression(self, node: ast.expr) -> Expression:
        """Return what gives the elements of an expression."""
        return expressions.expression(self, node)

    # -- Names that are assigned arrays ---------------------------------------

    def _begin(self, names: Mapping[str, int]) -> None:
        """Write what goes before the loop: copies of what is replaced in it."""
        self.preceding = self.begin
        for first, *others in map(sorted, self.groups):
            if any(self.arrays[first].ndim != self.arrays[other].ndim for other in others):
                raise self.unfit("arrays of several dimensions that swap names")
            for axis in range(self.arrays[first].ndim):
                for other in others:
                    self.require_same(self.size(first, axis), self.size(other, axis))
        for name, rank in names.items():
            one = ArrayVariable(_MEMORY.format(name), rank, name in self.values)
            self.buffers[one.memory] = [frozenset()] * rank
            self.let(SET.format(name), ast.Constant(0))
            if name in self.varying:
                lengths = tuple(_LENGTH.format(name, axis) for axis in range(rank))
                one = dataclasses.replace(one, lengths=lengths)
                for axis, length in enumerate(lengths):
                    self.bounds[length] = frozenset({(one.memory, axis)})
                    self.let(length, ast.Constant(0))
            self.variables[name] = self._given_before(name, one) if one.is_parameter else one
        self.preceding = []

    def _given_before(self, name: str, one: ArrayVariable) -> ArrayVariable:
        """Copy the array that a name stands for before the nest."""
        given = self.values[name]
        if type(given) is not np.ndarray or given.dtype != FLOAT64 or given.ndim != one.rank:
            raise self.unfit(f"`{name}`, which was something else before")
        sizes = tuple(self.size(name, axis) for axis in range(one.rank))
        lengths = one.lengths or sizes
        for axis, (length, size) in enumerate(zip(lengths, sizes, strict=True)):
            self.buffers[one.memory][axis] |= {(name, axis)}
            if length != size:
                self.let(length, name_of(size))
        axes = tuple(Axis("", length) for length in lengths)
        old, new = View(name, axes), View(one.memory, axes)
        self.over(lengths, lambda places: self.put(new, places, old.element(places)))
        return dataclasses.replace(one, lengths=lengths)

    def _last(self, last: ast.stmt) -> ast.stmt:
        """Return numbers in the place of arrays."""
        assert isinstance(last, ast.Return)
        parts = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
        found: list[ast.expr] = []
        for part in parts:
            assert isinstance(part, ast.Name)
            variable = self.variables.get(part.id)
            found += [name_of(n) for n in variable.parts(part.id)] if variable else [part]
        return ast.copy_location(ast.Return(ast.Tuple(found, ast.Load())), last)

    def _check_arrays(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in self.variables:
                    raise unfit(f"`{node.id}` as a whole", getattr(node, "lineno", self.line))

    def _assign(self, name: str, value: ast.expr) -> None:
        """Write an array into the memory of a name."""
        variable = self.variables[name]
        made = self.expression(value)
        is_alias = isinstance(value, ast.Name | ast.Subscript | ast.Attribute)
        if is_alias or "" in made.lengths or len(made.lengths) != variable.rank:
            raise self.unfit(f"what `{name}` is assigned")
        for axis, length in enumerate(made.lengths):
            self.buffers[variable.memory][axis] |= self.bounds[length]
        if name not in self.varying:
            self._check_fixed(name, variable, made.lengths)
        view = View(variable.memory, tuple(Axis("", length) for length in made.lengths))
        if any(v.array == variable.memory and v.text != name for v in made.views):
            made = of_view(expressions.materialised(self, made))

        def write(places: list[ast.expr]) -> None:
            self.put(view, places, called(Intrinsic.FLOAT, made.at(places)))

        self.over(made.lengths, write)
        if name in self.varying:
            for own, length in zip(variable.lengths, made.lengths, strict=True):
                self.let(own, name_of(length))
        self.let(SET.format(name), ast.Constant(1))

    def _check_fixed(self, name: str, variable: ArrayVariable, lengths: tuple[str, ...]) -> None:
        """Check that a name always stands for arrays of one shape."""
        if not self.sizes.issuperset(lengths):
            raise _VaryingError(name)
        for one, other in zip(variable.lengths, lengths, strict=bool(variable.lengths)):
            if not self.may_be_same(one, other):
                raise _VaryingError(name)
            self.require_same(one, other)
        if not variable.lengths:
            self.variables[name] = dataclasses.replace(variable, lengths=lengths)

    # -- Statements -------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements; each comes after what it needs."""
        found: list[ast.stmt] = []
        for statement in statements:
            outer, self.preceding = self.preceding, []
            self.line = statement.lineno
            new = self.statement(statement)
            written = [*self.preceding, *new]
            locate(written, statement)
            found += written
            self.preceding = outer
        return found

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Rewrite one statement; what it needs done before goes into `preceding`."""
        match node:
            case ast.For():
                self._for(node)
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                return [node]
            case ast.If():
                node.test = self.number(node.test)
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                return [node]
            case ast.While():
                self._while(node)
                return [node]
            case ast.Assign() if array_variables.swap(node) & self.swapped:
                return [node]
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.variables:
                self._assign(name, value)
                return []
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target) if self.ranks.of(
                target
            ) and not isinstance(target, ast.Tuple | ast.List):
                op = node.op if isinstance(node, ast.AugAssign) else None
                self._write(target, op, node.value)
                return []
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value) if self.ranks.of(
                value
            ) == 1 and all(isinstance(one, ast.Name) for one in targets):
                return self._unpack(targets, value)
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
                if isinstance(node, ast.Assign):
                    node.targets = [self._element_target(target) for target in node.targets]
                elif isinstance(node, ast.AugAssign):
                    target = self._element_target(node.target)
                    assert isinstance(target, ast.Name | ast.Attribute | ast.Subscript)
                    node.target = target
                node.value = self.number(value)
                return [node]
        if has_slices(node):
            raise self.unfit("a slice")
        return [node]

    def _unpack(self, targets: Sequence[ast.expr], value: ast.expr) -> list[ast.stmt]:
        """Assign the elements of an array to names, all of them computed before."""
        made = self.expression(value)
        if len(made.lengths) != 1 or not made.lengths[0]:
            raise self.unfit("what is unpacked")
        self.require_length(made.lengths[0], len(targets))
        elements = [self.new() for _ in targets]
        for place, element in enumerate(elements):
            self.let(element, called(Intrinsic.FLOAT, made.at([ast.Constant(place)])))
        return [
            ast.Assign([self._element_target(target)], name_of(element))
            for target, element in zip(targets, elements, strict=True)
        ]

    def _element_target(self, node: ast.expr) -> ast.expr:
        """Rewrite what a number is written to."""
        if isinstance(node, ast.Tuple | ast.List):
            node.elts = [self._element_target(part) for part in node.elts]
            return node
        if self.ranks.of(node) or has_slices(node):
            raise self.unfit("several arrays written at once")
        if isinstance(node, ast.Subscript) and self.root(node) in self.variables:
            made = expressions.element(self, node)
            made.ctx = node.ctx
            self._check_own(self.root(node))
            return made
        return node

    def _check_own(self, name: str) -> None:
        """Check that writing in place doesn't write to what the name stood for before."""
        if name in self.variables and self.variables[name].is_parameter:
            raise self.unfit(f"`{name}`, written in place and replaced")

    def _while(self, node: ast.While) -> None:
        """Compute the condition at the beginning of each iteration if it is about arrays."""
        outer, self.preceding = self.preceding, []
        test = self.number(copy.deepcopy(node.test))
        before, self.preceding = self.preceding, outer
        body = self.block(node.body)
        if not before:
            node.test, node.body, node.orelse = test, body, self.block(node.orelse)
            return
        if node.orelse:
            raise self.unfit("a condition on arrays, and `else`")
        leave = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
        node.test = ast.copy_location(ast.Constant(True), node.test)
        node.body = [*before, leave, *body]

    # -- Writing to arrays ------------------------------------------------------

    def _write(self, target: ast.expr, op: ast.operator | None, value: ast.expr) -> None:
        """Write the elements of an expression into part of an array."""
        self._check_own(self.root(target))
        if expressions.is_exchange(self, target, value) and op is None:
            assert isinstance(target, ast.Subscript)
            expressions.exchange(self, target, value)
            return
        view = self.view(target) if op is not None else None  # In Python's order.
        root = self.root(target)
        array = self.variables[root].memory if root in self.variables else root
        self.target = array, self.ranks.of(target)
        made = self.expression(value)
        self.target = "", 0
        view = view or self.view(target)
        if view is None or not self.is_float64(view.array) or self._is_read_only(view.array):
            raise self.unfit("a write to this part of an array")
        if len(made.lengths) > len(view.lengths) or "" in view.lengths:
            raise self.unfit("a write of an array with more dimensions")
        self.require_shape(view.lengths, made.lengths)
        if any(v.array == view.array and not v.is_apart_or_same(view) for v in made.views):
            made = of_view(expressions.materialised(self, made))

        def write(places: list[ast.expr]) -> None:
            element = called(Intrinsic.FLOAT, made.broadcast(places))
            if op is None:
                self.put(view, places, element)
            else:
                self.preceding.append(ast.AugAssign(view.element(places, ast.Store()), op, element))

        self.over(view.lengths, write)

    def _is_read_only(self, array: str) -> bool:
        return array in self.arrays and not self.arrays[array].flags.writeable

    # -- What is gone over ----------------------------------------------------

    def _for(self, node: ast.For) -> None:
        """Go over places instead of slices."""
        if not has_slices(node.iter) and not self._has_array(node.iter):
            node.iter = self._range(node.iter)
            return
        place = self.new()
        sizes: list[str] = []
        given = self._given(node.target, node.iter, place, sizes)
        least = sizes[0]
        if len(sizes) > 1:
            least = self.new()
            self.let(least, name_of(sizes[0]))
            for size in sizes[1:]:
                self.replace_if(least, ast.Gt(), name_of(size), name_of(size))
        node.target = name_of(place, ast.Store())
        node.iter = called(range, name_of(least))
        node.body = [*(ast.copy_location(one, node) for one in given), *node.body]

    def _has_array(self, node: ast.expr) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.variables for n in ast.walk(node))

    def _range(self, node: ast.expr) -> ast.expr:
        """Compute the bounds of a range before the loop where arrays are in them."""
        is_range = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if is_range and builtin(node.func.id, self.names) is range and not node.keywords:  # type: ignore[attr-defined]
            node.args = [self.number(argument) for argument in node.args]  # type: ignore[attr-defined]
        return node

    def _given(
        self, target: ast.expr, items: ast.expr, place: str, sizes: list[str]
    ) -> list[ast.stmt]:
        if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and not items.keywords:
            parts = items.args
            own = builtin(items.func.id, self.names)
            if own is enumerate and len(parts) == 1 and _is_pair(target):
                assert isinstance(target, ast.Tuple)
                number = _assignment(target.elts[0], name_of(place))
                return [number, *self._given(target.elts[1], parts[0], place, sizes)]
            several = isinstance(target, ast.Tuple) and len(target.elts) == len(parts)
            if own is zip and several:
                assert isinstance(target, ast.Tuple)
                return [
                    statement
                    for one, part in zip(target.elts, parts, strict=True)
                    for statement in self._given(one, part, place, sizes)
                ]
        view = self.view(items, of_any_size=True)  # It is the body that may be array code.
        if view is None or len(view.lengths) != 1 or len(view.parts) != 1:
            raise self.unfit("a loop over slices")
        sizes.append(view.lengths[0])
        return [_assignment(target, view.element([name_of(place)]))]


def _assignment(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _is_pair(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) and len(target.elts) == 2
