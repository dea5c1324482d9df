"""Short slices in a loop nest, written as loops over their elements.

A sparse matrix times a vector is a million slices of ten elements each: a call of
NumPy or of compiled code for each of them takes longer than the work. Here
``data[i:j] @ x[indices[i:j]]`` and ``a[:, j] -= q[:, k] * r`` become loops, which
are typed and compiled like those that the user wrote. Only float64 vectors are
taken, no arrays of more dimensions, and nothing whose order would show.
"""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from npaccel._loops._scalar_types import FLOAT64, NotSupportedError

#: A call of this name, which no user can write, is a condition for what follows.
REQUIRE = "0require"


class Hidden(enum.Enum):
    """What stands for a function in code that is written here."""

    #: The bound of a slice: ``INDEX(number)`` is an int.
    INDEX = enum.auto()
    #: ``PLACE(array, axis, index)`` is the index, counted from the start; out of bounds it raises.
    PLACE = enum.auto()
    #: As an index, ``KNOWN(place)`` is within the bounds.
    KNOWN = enum.auto()


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
            index = ast.BinOp(_name(self.start), ast.Add(), place)
        else:
            index = place
        if self.source is None:
            index = _hidden(Hidden.KNOWN, index)
        parts = [*copy.deepcopy(self.before), index, *copy.deepcopy(self.after)]
        index = parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
        return ast.Subscript(_name(self.array), index, ast.Load())


def has_slices(node: ast.AST) -> bool:
    """Whether there are slices in some code."""
    return any(isinstance(part, ast.Slice) for part in ast.walk(node))


def has_products(node: ast.AST) -> bool:
    """Whether there are products of what may be short vectors in some code."""
    return any(
        isinstance(n, ast.MatMult) or (isinstance(n, ast.Attribute) and n.attr == "dot")
        for n in ast.walk(node)
    )


def is_requirement(node: ast.expr) -> TypeGuard[ast.Call]:
    """Whether an expression is a condition for what follows."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == REQUIRE


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
    made = copy.deepcopy(nest)
    made.body = _Rewriting(arrays, {**namespace, **values}, stored).block(made.body)
    return ast.fix_missing_locations(made)


class _Rewriting:
    def __init__(
        self,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        names: Mapping[str, Any],
        stored: set[str],
    ) -> None:
        self.arrays = arrays
        self.names = {name: value for name, value in names.items() if name not in stored}
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
                    raise self._unfit("a condition on vectors")
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
            raise self._unfit("a slice")
        return [node]

    def _unfit(self, what: str) -> NotSupportedError:
        return NotSupportedError(f"{what}: this is array code", self.line, is_array_code=True)

    def is_dot(self, node: ast.expr) -> bool:
        """Whether a function is NumPy's for products of vectors."""
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "dot"
            and isinstance(node.value, ast.Name)
            and getattr(self.names.get(node.value.id), "dot", None) is np.dot
        )

    def _new(self) -> str:
        self.count += 1
        return f"0s{self.count}"

    # -- Numbers ------------------------------------------------------------

    def number(self, node: ast.expr) -> ast.expr:
        """Return an expression that gives a number, with its products of vectors done ahead."""
        made = _Products(self).visit(node)
        if has_slices(made) or self._is_of_vectors(made):
            raise self._unfit("an operation on vectors")
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
            raise self._unfit("a product of other numbers than float64")
        self._require_same(u.length, v.length)
        sums = [self._new() for _ in range(_ACCUMULATORS)]
        zero = ast.Constant(np.float64(0.0))
        for name in sums:
            self.ahead.append(ast.Assign([_name(name, ast.Store())], zero))
        whole, place = self._new(), self._new()
        parts = ast.Constant(_ACCUMULATORS)
        size = _name(u.length)
        self._assign(whole, ast.BinOp(size, ast.FloorDiv(), parts))
        steps = []
        for i, name in enumerate(sums):
            at: ast.expr = ast.BinOp(_name(place), ast.Mult(), parts)
            at = ast.BinOp(at, ast.Add(), ast.Constant(i)) if i else at
            steps.append(_add_product(name, u, v, at))
        self._loop(place, [_name(whole)], steps)
        rest = ast.BinOp(_name(whole), ast.Mult(), parts)
        self._loop(place, [rest, size], [_add_product(sums[0], u, v, _name(place))])
        halves = [
            ast.BinOp(_name(a), ast.Add(), _name(b))
            for a, b in zip(sums[::2], sums[1::2], strict=True)
        ]
        total = self._new()
        self._assign(total, ast.BinOp(halves[0], ast.Add(), halves[1]))
        return _name(total)

    def _loop(self, place: str, bounds: list[ast.expr], body: list[ast.stmt]) -> None:
        call = ast.Call(_range(), bounds, [])
        self.ahead.append(ast.For(_name(place, ast.Store()), call, body, []))

    def _assign(self, target: str, value: ast.expr) -> None:
        self.ahead.append(ast.Assign([_name(target, ast.Store())], value))

    def _require_same(self, one: str, other: str) -> None:
        if one != other:
            test = ast.Compare(_name(one), [ast.Eq()], [_name(other)])
            self.ahead.append(ast.Expr(ast.Call(_name(REQUIRE), [test], [])))

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
            raise self._unfit("a long vector")

    def _size(self, array: str, axis: int) -> str:
        name = self._new()
        shape = ast.Attribute(_name(array), "shape", ast.Load())
        self._assign(name, ast.Subscript(shape, ast.Constant(axis), ast.Load()))
        return name

    def _hoisted(self, node: ast.expr) -> ast.expr:
        """Compute a number ahead, once."""
        if isinstance(node, ast.Name | ast.Constant):
            return node
        name = self._new()
        self._assign(name, self.number(node))
        return _name(name)

    def _place(self, array: str, axis: int, node: ast.expr) -> ast.expr:
        """Look once whether an index is within the bounds."""
        name = self._new()
        index = self.number(node)
        self._assign(name, _hidden(Hidden.PLACE, _name(array), ast.Constant(axis), index))
        return _hidden(Hidden.KNOWN, _name(name))

    def _bounds(self, array: str, axis: int, node: ast.Slice) -> tuple[str, str]:
        """Write where a slice starts, and how many elements it has."""
        if node.step is not None:
            raise self._unfit("a slice with a step")
        if not (isinstance(node.lower, ast.Name) and isinstance(node.upper, ast.Name)):
            self._check_short(array, axis)  # Names on both sides: a piece, as of a sparse matrix.
        size = self._size(array, axis)
        if node.lower is None and node.upper is None:
            return "", size
        start = self._bound(node.lower, size) if node.lower is not None else ""
        stop = self._bound(node.upper, size) if node.upper is not None else size
        if not start:
            return "", stop
        length = self._new()
        self._assign(length, ast.BinOp(_name(stop), ast.Sub(), _name(start)))
        self._replace_if(length, ast.Lt(), ast.Constant(0), ast.Constant(0))
        return start, length

    def _bound(self, node: ast.expr, size: str) -> str:
        name = self._new()
        self._assign(name, _hidden(Hidden.INDEX, self.number(node)))
        again = ast.BinOp(_name(name), ast.Add(), _name(size))
        self._replace_if(name, ast.Lt(), ast.Constant(0), again)
        self._replace_if(name, ast.Lt(), ast.Constant(0), ast.Constant(0))
        self._replace_if(name, ast.Gt(), _name(size), _name(size))
        return name

    def _replace_if(self, name: str, op: ast.cmpop, limit: ast.expr, new: ast.expr) -> None:
        test = ast.Compare(_name(name), [op], [limit])
        self.ahead.append(ast.If(test, [ast.Assign([_name(name, ast.Store())], new)], []))

    # -- Element by element ---------------------------------------------------

    def _elementwise(self, node: ast.Assign | ast.AugAssign, target: ast.Subscript) -> ast.stmt:
        found = self.vector(target)
        if found is None or self.arrays[found.array].dtype != FLOAT64:
            raise self._unfit("a write to a slice")
        place = self._new()
        value = _Elements(self, found, ast.dump(_as_read(target)), place).part(node.value)
        element = found.element(_name(place))
        assert isinstance(element, ast.Subscript)
        element.ctx = ast.Store()
        new: ast.stmt = ast.Assign([element], value)
        if isinstance(node, ast.AugAssign):
            new = ast.AugAssign(element, node.op, value)
        call = ast.Call(_range(), [_name(found.length)], [])
        return ast.For(_name(place, ast.Store()), call, [new], [])

    # -- What is gone over ----------------------------------------------------

    def _for(self, node: ast.For) -> None:
        """Go over places instead of slices."""
        if not has_slices(node.iter):
            return
        place = self._new()
        sizes: list[str] = []
        given = self._given(node.target, node.iter, place, sizes)
        least = sizes[0]
        if len(sizes) > 1:
            least = self._new()
            self._assign(least, _name(sizes[0]))
            for size in sizes[1:]:
                self._replace_if(least, ast.Gt(), _name(size), _name(size))
        node.target = _name(place, ast.Store())
        node.iter = ast.Call(_range(), [_name(least)], [])
        node.body = [*(ast.copy_location(one, node) for one in given), *node.body]

    def _given(
        self, target: ast.expr, items: ast.expr, place: str, sizes: list[str]
    ) -> list[ast.stmt]:
        if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and not items.keywords:
            parts = items.args
            called = items.func.id
            own = getattr(builtins, called, None)
            called = called if self.names.get(called, own) is own else ""
            if called == "enumerate" and len(parts) == 1 and _is_pair(target):
                assert isinstance(target, ast.Tuple)
                number = _assignment(target.elts[0], _name(place))
                return [number, *self._given(target.elts[1], parts[0], place, sizes)]
            several = isinstance(target, ast.Tuple) and len(target.elts) == len(parts)
            if called == "zip" and several:
                assert isinstance(target, ast.Tuple)
                return [
                    statement
                    for one, part in zip(target.elts, parts, strict=True)
                    for statement in self._given(one, part, place, sizes)
                ]
        if not isinstance(items, ast.Subscript) or not isinstance(items.value, ast.Name):
            raise self._unfit("a loop over slices")
        name = items.value.id
        bounds = items.slice
        if name not in self.arrays or self.arrays[name].ndim != 1:
            raise self._unfit("a loop over slices")
        if not isinstance(bounds, ast.Slice) or bounds.step is not None:
            raise self._unfit("a loop over slices")
        size = self._size(name, 0)
        start = self._bound(bounds.lower, size) if bounds.lower is not None else ""
        stop = self._bound(bounds.upper, size) if bounds.upper is not None else size
        length = self._new()
        self._assign(
            length, ast.BinOp(_name(stop), ast.Sub(), _name(start) if start else ast.Constant(0))
        )
        sizes.append(length)
        return [_assignment(target, _Vector(name, (), (), start, length).element(_name(place)))]


class _Products(ast.NodeTransformer):
    """Do products of vectors ahead."""

    def __init__(self, rewriting: _Rewriting) -> None:
        self.rewriting = rewriting

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.MatMult):
            return self._product(node.left, node.right)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
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
            raise self.rewriting._unfit("vectors in a part that may not be computed")
        return node

    def _product(self, left: ast.expr, right: ast.expr) -> ast.AST:
        made = self.rewriting.product(left, right)
        if made is None:
            raise self.rewriting._unfit("a product of more than vectors")
        return made


class _Elements(ast.NodeTransformer):
    """The element at a place of an expression of vectors."""

    def __init__(self, rewriting: _Rewriting, target: _Vector, text: str, place: str) -> None:
        self.rewriting = rewriting
        self.target = target
        self.text = text
        self.place = place

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
                raise rewriting._unfit("an operation on more than vectors")
            if vector.array == self.target.array and ast.dump(_as_read(node)) != self.text:
                raise rewriting._unfit("a write to an array that is read elsewhere")
            if rewriting.arrays[vector.array].dtype != FLOAT64:
                raise rewriting._unfit("vectors of other numbers than float64")
            rewriting._require_same(self.target.length, vector.length)
            return vector.element(_name(self.place))
        if isinstance(node, ast.Name) and node.id in rewriting.arrays:
            raise rewriting._unfit("a whole array")
        if isinstance(node, ast.Call) and not rewriting.is_dot(node.func):
            raise rewriting._unfit("a call with vectors")
        return rewriting._hoisted(node)

    def part(self, node: ast.expr) -> ast.expr:
        made = self.visit(node)
        assert isinstance(made, ast.expr)
        return made


def _name(identifier: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(identifier, context or ast.Load())


def _hidden(what: Hidden, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Constant(what), [*arguments], [])  # type: ignore[arg-type]


def _range() -> ast.expr:
    return ast.Constant(range)  # type: ignore[arg-type]  # whatever the name means to the user


def _assignment(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _is_pair(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) and len(target.elts) == 2


def _add_product(total: str, u: _Vector, v: _Vector, at: ast.expr) -> ast.stmt:
    product = ast.BinOp(u.element(at), ast.Mult(), v.element(copy.deepcopy(at)))
    return ast.AugAssign(_name(total, ast.Store()), ast.Add(), product)


def _as_read(node: ast.Subscript) -> ast.Subscript:
    return ast.Subscript(node.value, node.slice, ast.Load())
