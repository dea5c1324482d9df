"""Short slices in a loop nest, written as loops over their elements.

A sparse matrix times a vector is a million slices of ten elements each: a call of
NumPy or of compiled code for each of them takes longer than the work. Here
``data[i:j] @ x[indices[i:j]]`` and ``a[:, j] -= q[:, k] * r`` become loops, which
are typed and compiled like those that the user wrote. Only float64 vectors are
taken, no arrays of more dimensions, and nothing whose order would show.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops import _slice_reductions, _slice_rows
from npaccel._loops._hidden import Hidden, called, is_hidden, name_of
from npaccel._loops._meanings import builtin, has_slices, is_ufunc, of_numpy
from npaccel._loops._scalar_types import FLOAT64, NotSupportedError

#: Longer vectors are done faster by array code.
SHORT = 1024
_ACCUMULATORS = 4


@dataclasses.dataclass(frozen=True)
class _Vector:
    """A vector that an expression names: where it starts in an array, and its length.

    Parameters
    ----------
    array, before, after
        The array's name, and the indices before and after the slice.
    start, length : str
        Names of numbers; no start for 0.
    source : _Vector, optional
        Indices into the array: ``x[i[a:b]]``.
    """

    array: str
    before: tuple[ast.expr, ...]
    after: tuple[ast.expr, ...]
    start: str
    length: str
    source: _Vector | None = None

    def element(self, place: ast.expr) -> ast.expr:
        """Return Python for the element at a place."""
        if self.source is not None:
            index: ast.expr = self.source.element(place)
        elif self.start:
            index = ast.BinOp(name_of(self.start), ast.Add(), place)
        else:
            index = place
        if self.source is None:
            index = called(Hidden.KNOWN, index)
        parts = [*copy.deepcopy(self.before), index, *copy.deepcopy(self.after)]
        index = parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
        return ast.Subscript(name_of(self.array), index, ast.Load())


def has_products(node: ast.AST) -> bool:
    """Whether there are products of what may be short vectors in some code."""
    return any(
        isinstance(n, ast.MatMult) or (isinstance(n, ast.Attribute) and n.attr == "dot")
        for n in ast.walk(node)
    )


def is_fit(node: ast.AST) -> bool:
    """Whether some code works on what may be short vectors, so that a loop nest may be faster."""
    return has_products(node) or _slice_rows.reduces_rows(node)


def is_array_code(node: ast.AST) -> bool:
    """Whether some code works on vectors, so that it's array code where no nest is made of it."""
    return has_slices(node) or _slice_rows.reduces_rows(node)


def without_slices(
    nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
) -> ast.FunctionDef:
    """Return a nest with loops in the place of operations on short vectors.

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
    stored = {
        n.id for n in ast.walk(nest) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    arrays = {n: v for n, v in values.items() if isinstance(v, np.ndarray) and n not in stored}
    names = {name: v for name, v in {**namespace, **values}.items() if name not in stored}
    made = _slice_rows.with_places(nest, arrays, names)
    made.body = Rewriting(arrays, names).block(made.body)
    return ast.fix_missing_locations(made)


class Rewriting:
    def __init__(
        self,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        names: Mapping[str, Any],
    ) -> None:
        self.arrays = arrays
        self.names = names
        self.count = 0
        self.ahead: list[ast.stmt] = []
        self.line = 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements; each comes after what it needs."""
        found: list[ast.stmt] = []
        for statement in statements:
            outer, self.ahead = self.ahead, []
            self.line = statement.lineno
            new = self.statement(statement)
            for made in (*self.ahead, *new):
                for part in ast.walk(made):
                    if isinstance(part, ast.stmt | ast.expr) and not hasattr(part, "lineno"):
                        ast.copy_location(part, statement)
                found.append(made)
            self.ahead = outer
        return found

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
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
                if self._is_of_vectors(node.test):
                    raise self.unfit("a condition on vectors")
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                return [node]
            case (
                ast.Assign(targets=[ast.Subscript() as target])
                | ast.AugAssign(target=ast.Subscript() as target)
            ) if has_slices(target):
                return [self._elementwise(node, target)]
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
                node.value = self.number(value)
                return [node]
        if has_slices(node):
            raise self.unfit("a slice")
        return [node]

    def unfit(self, what: str) -> NotSupportedError:
        return NotSupportedError(f"{what}: this is array code", self.line, is_array_code=True)

    def is_dot(self, node: ast.expr) -> bool:
        """Whether a function is NumPy's for products of vectors."""
        return of_numpy(node, self.names) is np.dot

    def is_product(self, node: ast.Call) -> bool:
        """Whether a call gives a number for vectors."""
        return self.is_dot(node.func) or _slice_reductions.of(self, node) is not None

    def elements(self, place: ast.expr) -> Elements:
        """Return what writes the elements of vectors at a place."""
        return Elements(self, place)

    def new(self) -> str:
        self.count += 1
        return f"0s{self.count}"

    # -- Numbers ------------------------------------------------------------

    def number(self, node: ast.expr) -> ast.expr:
        """Return an expression that gives a number, with its products of vectors done ahead."""
        made = _Products(self).visit(node)
        if has_slices(made) or self._is_of_vectors(made):
            raise self.unfit("an operation on vectors")
        assert isinstance(made, ast.expr)
        return made

    def _is_of_vectors(self, node: ast.AST) -> bool:
        """Whether an array is computed with as a whole."""
        return any(isinstance(part, ast.Slice | ast.MatMult) for part in ast.walk(node))

    def product(self, left: ast.expr, right: ast.expr) -> ast.expr | None:
        """Write the product of two vectors; None if they aren't."""
        vectors = [self.vector(left), self.vector(right)]
        if None in vectors:
            return None
        u, v = (vector for vector in vectors if vector is not None)
        if any(self.arrays[x.array].dtype != FLOAT64 for x in (u, v)):
            raise self.unfit("a product of other numbers than float64")
        self.require_same(u.length, v.length)

        def element(at: ast.expr) -> ast.expr:
            return ast.BinOp(u.element(at), ast.Mult(), v.element(copy.deepcopy(at)))

        return self.total(u.length, element)

    def total(self, length: str, element: Callable[[ast.expr], ast.expr]) -> ast.expr:
        """Write the sum of elements, given what writes the one at a place."""
        sums = [self.new() for _ in range(_ACCUMULATORS)]
        zero = ast.Constant(np.float64(0.0))
        for name in sums:
            self.ahead.append(ast.Assign([name_of(name, ast.Store())], zero))
        whole, place = self.new(), self.new()
        parts = ast.Constant(_ACCUMULATORS)
        size = name_of(length)
        self.let(whole, ast.BinOp(size, ast.FloorDiv(), parts))
        steps = []
        for i, name in enumerate(sums):
            at: ast.expr = ast.BinOp(name_of(place), ast.Mult(), parts)
            at = ast.BinOp(at, ast.Add(), ast.Constant(i)) if i else at
            steps.append(_add(name, element(at)))
        self.loop(place, [name_of(whole)], steps)
        rest = ast.BinOp(name_of(whole), ast.Mult(), parts)
        self.loop(place, [rest, size], [_add(sums[0], element(name_of(place)))])
        halves = [
            ast.BinOp(name_of(a), ast.Add(), name_of(b))
            for a, b in zip(sums[::2], sums[1::2], strict=True)
        ]
        total = self.new()
        self.let(total, ast.BinOp(halves[0], ast.Add(), halves[1]))
        return name_of(total)

    def loop(self, place: str, bounds: list[ast.expr], body: list[ast.stmt]) -> None:
        call = called(range, *bounds)
        self.ahead.append(ast.For(name_of(place, ast.Store()), call, body, []))

    def let(self, target: str, value: ast.expr) -> None:
        self.ahead.append(ast.Assign([name_of(target, ast.Store())], value))

    def require_same(self, one: str, other: str) -> None:
        if one != other:
            self.require(ast.Compare(name_of(one), [ast.Eq()], [name_of(other)]))

    def require(self, condition: ast.expr) -> None:
        """Leave what follows to Python where a condition doesn't hold."""
        self.ahead.append(ast.Expr(called(Hidden.REQUIRE, condition)))

    # -- Vectors --------------------------------------------------------------

    def vector(self, node: ast.expr) -> _Vector | None:
        """Return the vector that an expression names; None if it doesn't name one."""
        if isinstance(node, ast.Name):
            if node.id not in self.arrays or self.arrays[node.id].ndim != 1:
                return None
            self._check_short(node.id, 0)
            return _Vector(node.id, (), (), "", self._size(node.id, 0))
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return None
        array = self.arrays.get(node.value.id)
        if array is None:
            return None
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        sliced = [i for i, part in enumerate(parts) if isinstance(part, ast.Slice)]
        if not sliced and len(parts) == 1 == array.ndim:
            source = self.vector(parts[0])
            if source is None or self.arrays[source.array].dtype.kind not in "iu":
                return None
            return _Vector(node.value.id, (), (), "", source.length, source)
        if len(sliced) != 1 or len(parts) != array.ndim:
            return None
        axis = sliced[0]
        array_name = node.value.id
        indices = [self._place(array_name, i, p) for i, p in enumerate(parts) if i != axis]
        bounds = parts[axis]
        assert isinstance(bounds, ast.Slice)
        start, length = self._bounds(node.value.id, axis, bounds)
        return _Vector(node.value.id, (*indices[:axis],), (*indices[axis:],), start, length)

    def _check_short(self, array: str, axis: int) -> None:
        if self.arrays[array].shape[axis] > SHORT:
            raise self.unfit("a long vector")

    def _size(self, array: str, axis: int) -> str:
        name = self.new()
        shape = ast.Attribute(name_of(array), "shape", ast.Load())
        self.let(name, ast.Subscript(shape, ast.Constant(axis), ast.Load()))
        return name

    def hoisted(self, node: ast.expr) -> ast.expr:
        """Compute a number ahead, once."""
        if isinstance(node, ast.Name | ast.Constant):
            return node
        name = self.new()
        self.let(name, self.number(node))
        return name_of(name)

    def _place(self, array: str, axis: int, node: ast.expr) -> ast.expr:
        """Look once whether an index is within the bounds."""
        if is_hidden(node, Hidden.KNOWN):
            return node
        name = self.new()
        index = self.number(node)
        self.let(name, called(Hidden.PLACE, name_of(array), ast.Constant(axis), index))
        return called(Hidden.KNOWN, name_of(name))

    def _bounds(self, array: str, axis: int, node: ast.Slice) -> tuple[str, str]:
        """Write where a slice starts, and how many elements it has."""
        if node.step is not None:
            raise self.unfit("a slice with a step")
        if not (isinstance(node.lower, ast.Name) and isinstance(node.upper, ast.Name)):
            self._check_short(array, axis)  # Names on both sides: a piece, as of a sparse matrix.
        size = self._size(array, axis)
        if node.lower is None and node.upper is None:
            return "", size
        start = self._bound(node.lower, size) if node.lower is not None else ""
        stop = self._bound(node.upper, size) if node.upper is not None else size
        if not start:
            return "", stop
        length = self.new()
        self.let(length, ast.BinOp(name_of(stop), ast.Sub(), name_of(start)))
        self._replace_if(length, ast.Lt(), ast.Constant(0), ast.Constant(0))
        return start, length

    def _bound(self, node: ast.expr, size: str) -> str:
        name = self.new()
        self.let(name, called(Hidden.INDEX, self.number(node)))
        again = ast.BinOp(name_of(name), ast.Add(), name_of(size))
        self._replace_if(name, ast.Lt(), ast.Constant(0), again)
        self._replace_if(name, ast.Lt(), ast.Constant(0), ast.Constant(0))
        self._replace_if(name, ast.Gt(), name_of(size), name_of(size))
        return name

    def _replace_if(self, name: str, op: ast.cmpop, limit: ast.expr, new: ast.expr) -> None:
        test = ast.Compare(name_of(name), [op], [limit])
        self.ahead.append(ast.If(test, [ast.Assign([name_of(name, ast.Store())], new)], []))

    # -- Element by element ---------------------------------------------------

    def _elementwise(self, node: ast.Assign | ast.AugAssign, target: ast.Subscript) -> ast.stmt:
        found = self.vector(target)
        if found is None or self.arrays[found.array].dtype != FLOAT64:
            raise self.unfit("a write to a slice")
        place = self.new()
        value = Elements(self, name_of(place), found, ast.dump(_as_read(target))).part(node.value)
        element = found.element(name_of(place))
        assert isinstance(element, ast.Subscript)
        element.ctx = ast.Store()
        new: ast.stmt = ast.Assign([element], value)
        if isinstance(node, ast.AugAssign):
            new = ast.AugAssign(element, node.op, value)
        call = called(range, name_of(found.length))
        return ast.For(name_of(place, ast.Store()), call, [new], [])

    # -- What is gone over ----------------------------------------------------

    def _for(self, node: ast.For) -> None:
        """Go over places instead of slices."""
        if not has_slices(node.iter):
            return
        place = self.new()
        sizes: list[str] = []
        given = self._given(node.target, node.iter, place, sizes)
        least = sizes[0]
        if len(sizes) > 1:
            least = self.new()
            self.let(least, name_of(sizes[0]))
            for size in sizes[1:]:
                self._replace_if(least, ast.Gt(), name_of(size), name_of(size))
        node.target = name_of(place, ast.Store())
        node.iter = called(range, name_of(least))
        node.body = [*(ast.copy_location(one, node) for one in given), *node.body]

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
        if not isinstance(items, ast.Subscript) or not isinstance(items.value, ast.Name):
            raise self.unfit("a loop over slices")
        name = items.value.id
        bounds = items.slice
        if name not in self.arrays or self.arrays[name].ndim != 1:
            raise self.unfit("a loop over slices")
        if not isinstance(bounds, ast.Slice) or bounds.step is not None:
            raise self.unfit("a loop over slices")
        size = self._size(name, 0)
        start = self._bound(bounds.lower, size) if bounds.lower is not None else ""
        stop = self._bound(bounds.upper, size) if bounds.upper is not None else size
        length = self.new()
        self.let(
            length,
            ast.BinOp(name_of(stop), ast.Sub(), name_of(start) if start else ast.Constant(0)),
        )
        sizes.append(length)
        return [_assignment(target, _Vector(name, (), (), start, length).element(name_of(place)))]


class _Products(ast.NodeTransformer):
    """Do products of vectors ahead."""

    def __init__(self, rewriting: Rewriting) -> None:
        self.rewriting = rewriting

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.MatMult):
            return self._product(node.left, node.right)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        reduced = _slice_reductions.written(self.rewriting, node)
        if reduced is not None:
            return reduced
        if self.rewriting.is_dot(node.func) and len(node.args) == 2 and not node.keywords:
            self.rewriting.ahead.append(ast.Expr(node.func))  # Noted: it may be another one later.
            return self._product(*node.args)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """A part of it isn't computed: nothing may be done ahead."""
        return self._whole(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """A part of it may not be computed: nothing may be done ahead."""
        return self._whole(node)

    def _whole(self, node: ast.AST) -> ast.AST:
        dots = (n for n in ast.walk(node) if isinstance(n, ast.Call))
        if self.rewriting._is_of_vectors(node) or any(self.rewriting.is_dot(n.func) for n in dots):
            raise self.rewriting.unfit("vectors in a part that may not be computed")
        return node

    def _product(self, left: ast.expr, right: ast.expr) -> ast.AST:
        made = self.rewriting.product(left, right)
        if made is None:
            raise self.rewriting.unfit("a product of more than vectors")
        return made


class Elements(ast.NodeTransformer):
    """The element at a place of an expression of vectors.

    Parameters
    ----------
    rewriting : Rewriting
    place : ast.expr
    target : _Vector, optional
        What is written to.
    text : str
        Its text.

    Attributes
    ----------
    length : str
        The name of the vectors' length; empty as long as there are none.
    """

    def __init__(
        self, rewriting: Rewriting, place: ast.expr, target: _Vector | None = None, text: str = ""
    ) -> None:
        self.rewriting = rewriting
        self.place = place
        self.written = target.array if target else ""
        self.text = text
        self.length = target.length if target else ""

    def visit(self, node: ast.AST) -> ast.AST:
        rewriting = self.rewriting
        if isinstance(node, ast.operator | ast.unaryop | ast.Constant):
            return node
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
            return ast.BinOp(left=self.part(node.left), op=node.op, right=self.part(node.right))
        if isinstance(node, ast.UnaryOp):
            return ast.UnaryOp(op=node.op, operand=self.part(node.operand))
        assert isinstance(node, ast.expr)
        if isinstance(node, ast.Subscript) and has_slices(node):
            vector = rewriting.vector(node)
            if vector is None or vector.source is not None:
                raise rewriting.unfit("an operation on more than vectors")
            if vector.array == self.written and ast.dump(_as_read(node)) != self.text:
                raise rewriting.unfit("a write to an array that is read elsewhere")
            if rewriting.arrays[vector.array].dtype != FLOAT64:
                raise rewriting.unfit("vectors of other numbers than float64")
            self.length = self.length or vector.length
            rewriting.require_same(self.length, vector.length)
            return vector.element(copy.deepcopy(self.place))
        if isinstance(node, ast.Name) and node.id in rewriting.arrays:
            raise rewriting.unfit("a whole array")
        if isinstance(node, ast.Call) and has_slices(node) and not rewriting.is_product(node):
            if node.keywords or not is_ufunc(node.func, rewriting.names):
                raise rewriting.unfit("a call with vectors")
            return ast.Call(func=node.func, args=[*map(self.part, node.args)], keywords=[])
        return rewriting.hoisted(node)

    def part(self, node: ast.expr) -> ast.expr:
        made = self.visit(node)
        assert isinstance(made, ast.expr)
        return made


def _assignment(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _is_pair(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) and len(target.elts) == 2


def _add(total: str, value: ast.expr) -> ast.stmt:
    return ast.AugAssign(name_of(total, ast.Store()), ast.Add(), value)


def _as_read(node: ast.Subscript) -> ast.Subscript:
    return ast.Subscript(node.value, node.slice, ast.Load())
