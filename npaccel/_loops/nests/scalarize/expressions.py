"""Array expressions of a loop nest, element by element.

`expression` gives what writes an element; what isn't known element by element, such as a product
of a matrix and a vector, is written into memory before the statement, and so are reductions.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, called, name_of
from npaccel._loops.nests.resolve import builtin, is_ufunc
from npaccel._loops.nests.scalarize import reductions
from npaccel._loops.nests.scalarize.bounds import Bounds
from npaccel._loops.nests.scalarize.views import Axis, Expression, View, of_view


def expression(rewriting: Bounds, node: ast.expr) -> Expression:
    """Return what gives the elements of an expression; of a number, what gives it."""
    if not rewriting.ranks.of(node):
        number_ = rewriting.hoisted(node)
        return Expression((), lambda _: copy.deepcopy(number_))
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return of_view(_product(rewriting, left, right))
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(
                rewriting, [left, right], lambda a, b: ast.BinOp(left=a, op=op, right=b)
            )
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as unary, operand=operand):
            return _combined(rewriting, [operand], lambda a: ast.UnaryOp(op=unary, operand=a))
        case ast.Call():
            return _call(rewriting, node)
    view = rewriting.view(node)
    if view is None or any(isinstance(part, Axis) and part.source for part in view.parts):
        raise rewriting.unfit("an operation on more than slices")
    if not rewriting.is_float64(view.array):
        raise rewriting.unfit("arrays of other numbers than float64")
    made = of_view(view)
    if rewriting.is_overwritten(view):  # A row of what is written is copied, not all of the result.
        return of_view(materialised(rewriting, made))
    return made


def _combined(
    rewriting: Bounds, nodes: Sequence[ast.expr], combine: Callable[..., ast.expr]
) -> Expression:
    parts = [expression(rewriting, node) for node in nodes]
    lengths = _broadcast(rewriting, parts)
    views = tuple(view for part in parts for view in part.views)
    return Expression(
        lengths, lambda places: combine(*(part.broadcast(places) for part in parts)), views
    )


def _broadcast(rewriting: Bounds, parts: Sequence[Expression]) -> tuple[str, ...]:
    """Return the lengths of what some expressions give together."""
    rank = max(len(part.lengths) for part in parts)
    found = []
    for axis in range(1, rank + 1):
        own = [part.lengths[-axis] for part in parts if len(part.lengths) >= axis]
        known = [length for length in own if length]
        for length in known[1:]:
            rewriting.require_same(known[0], length)
        found.append(known[0] if known else "")
    return tuple(reversed(found))


def _call(rewriting: Bounds, node: ast.Call) -> Expression:
    """Return what a call gives that gives an array."""
    function = rewriting.ranks.function(node)
    is_abs = isinstance(node.func, ast.Name) and builtin(node.func.id, rewriting.names) is abs
    if is_abs or (function is not np.matmul and is_ufunc(node.func, rewriting.names)):
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise rewriting.unfit("keywords of a function of arrays")
        return _combined(
            rewriting,
            node.args,
            lambda *args: ast.Call(func=copy.deepcopy(node.func), args=[*args], keywords=[]),
        )
    if isinstance(node.func, ast.Attribute) and function is None:
        return _method(rewriting, node.func, node)
    args = _noted(rewriting, node)
    if function is np.roll:
        return of_view(_rolled(rewriting, node))
    written = _FUNCTIONS.get((function, len(args)))
    if written is None or node.keywords:
        raise rewriting.unfit("a function of arrays")
    return written(rewriting, *args)


def _noted(rewriting: Bounds, node: ast.Call) -> list[ast.expr]:
    """Return the arguments of a function of NumPy's, which may be another one later."""
    if any(isinstance(a, ast.Starred) for a in node.args):
        raise rewriting.unfit("a call with `*`")
    rewriting.preceding.append(ast.Expr(node.func))
    return node.args


def _method(rewriting: Bounds, function: ast.Attribute, node: ast.Call) -> Expression:
    if function.attr == "copy" and not node.args and not node.keywords:
        return expression(rewriting, function.value)
    if function.attr == "dot" and len(node.args) == 1 and not node.keywords:
        return of_view(_product(rewriting, function.value, node.args[0]))
    raise rewriting.unfit(f"the method `{function.attr}` of an array")


def _filled(number_: float) -> Callable[..., Expression]:
    """Return what writes an array that is the same everywhere."""

    def write(rewriting: Bounds, like: ast.expr) -> Expression:
        lengths = expression(rewriting, like).lengths
        return Expression(lengths, lambda _: ast.Constant(np.float64(number_)))

    return write


def _filled_like(rewriting: Bounds, like: ast.expr, value: ast.expr) -> Expression:
    if rewriting.ranks.of(value):
        raise rewriting.unfit("an array as a fill value")
    lengths, made = expression(rewriting, like).lengths, expression(rewriting, value)
    return Expression(lengths, lambda _: called(np.float64, made.at(())))


def _outer(rewriting: Bounds, left: ast.expr, right: ast.expr) -> Expression:
    if not rewriting.ranks.of(left) == rewriting.ranks.of(right) == 1:
        raise rewriting.unfit("`np.outer` of more than vectors")
    u, v = expression(rewriting, left), expression(rewriting, right)

    def element(places: Sequence[ast.expr]) -> ast.expr:
        return ast.BinOp(u.at(places[:1]), ast.Mult(), v.at(places[1:]))

    return Expression((*u.lengths, *v.lengths), element, (*u.views, *v.views))


def _where(rewriting: Bounds, condition: ast.expr, yes: ast.expr, no: ast.expr) -> Expression:
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        op = condition.ops[0]
        test = _combined(
            rewriting,
            [condition.left, condition.comparators[0]],
            lambda a, b: ast.Compare(a, [op], [b]),
        )
    else:
        raise rewriting.unfit("a condition that isn't a comparison")
    parts = [test, expression(rewriting, yes), expression(rewriting, no)]
    lengths = _broadcast(rewriting, parts)

    def element(places: Sequence[ast.expr]) -> ast.expr:
        first, second, third = (part.broadcast(places) for part in parts)
        return ast.IfExp(first, called(Intrinsic.FLOAT, second), called(Intrinsic.FLOAT, third))

    return Expression(lengths, element, tuple(v for part in parts for v in part.views))


#: Writers of functions, by the number of arguments.
_FUNCTIONS: dict[tuple[Any, int], Callable[..., Expression]] = {
    (np.copy, 1): expression,
    (np.zeros_like, 1): _filled(0.0),
    (np.empty_like, 1): _filled(0.0),
    (np.ones_like, 1): _filled(1.0),
    (np.full_like, 2): _filled_like,
    (np.dot, 2): lambda rewriting, *args: of_view(_product(rewriting, *args)),
    (np.matmul, 2): lambda rewriting, *args: of_view(_product(rewriting, *args)),
    (np.outer, 2): _outer,
    (np.where, 3): _where,
}


# -- What is written into memory before a statement -----------------------------


def materialised(rewriting: Bounds, made: Expression) -> View:
    """Write the elements of an expression into memory."""
    if "" in made.lengths:
        raise rewriting.unfit("an axis of one element")
    view = rewriting.memory(made.lengths)
    rewriting.over(
        made.lengths,
        lambda places: rewriting.put(view, places, called(Intrinsic.FLOAT, made.at(places))),
    )
    return view


def _operand(rewriting: Bounds, node: ast.expr) -> Expression:
    """Return an expression whose elements can be read several times."""
    made = expression(rewriting, node)
    if rewriting.view(node) is None:
        made = of_view(materialised(rewriting, made))
    if "" in made.lengths:
        raise rewriting.unfit("an axis of one element")
    return made


def _product(rewriting: Bounds, left: ast.expr, right: ast.expr) -> View:
    """Write a product of matrices, or of a matrix and a vector."""
    a, b = _operand(rewriting, left), _operand(rewriting, right)
    ranks = len(a.lengths), len(b.lengths)
    if ranks not in ((2, 1), (1, 2), (2, 2)):
        raise rewriting.unfit("a product of more than matrices")
    size = a.lengths[-1]
    rewriting.require_same(size, b.lengths[0])
    view = rewriting.memory((*a.lengths[:-1], *b.lengths[1:]))
    if ranks == (2, 1):

        def row(places: list[ast.expr]) -> None:
            total = rewriting.total(
                [size], lambda at: ast.BinOp(a.at([*places, *at]), ast.Mult(), b.at(at))
            )
            rewriting.put(view, places, total)

        rewriting.over(a.lengths[:1], row)
        return view
    zero = ast.Constant(np.float64(0.0))
    rewriting.over(view.lengths, lambda places: rewriting.put(view, places, zero))

    def whole_row(places: list[ast.expr]) -> None:
        rewriting.in_groups(size, lambda group: rows(places, group))

    def rows(places: list[ast.expr], group: list[ast.expr]) -> None:
        """Add some rows of the right side, times their factors, in their order."""
        factors = [rewriting.new() for _ in group]
        for factor, at in zip(factors, group, strict=True):
            rewriting.let(factor, a.at([*places, at]))

        def add(columns: list[ast.expr]) -> None:
            value: ast.expr = view.element([*places, *columns])
            for factor, at in zip(factors, group, strict=True):
                part = ast.BinOp(name_of(factor), ast.Mult(), b.at([at, *columns]))
                value = ast.BinOp(value, ast.Add(), part)
            rewriting.put(view, [*places, *columns], value)

        rewriting.over(b.lengths[1:], add)

    rewriting.over(a.lengths[:-1], whole_row)
    return view


def _rolled(rewriting: Bounds, node: ast.Call) -> View:
    """Write ``np.roll(x, shift, axis)`` in two parts."""
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    given = dict(zip(("a", "shift", "axis"), node.args, strict=False))
    if len(node.args) > 3 or named.keys() - {"shift", "axis"} or named.keys() & given.keys():
        raise rewriting.unfit("these arguments of `np.roll`")
    given.update(named)  # type: ignore[arg-type]
    made = expression(rewriting, given["a"])
    rank, axis = len(made.lengths), 0
    if "axis" in given:
        number_ = given["axis"]
        try:
            axis = ast.literal_eval(number_)
        except ValueError:
            raise rewriting.unfit("an axis that may change") from None
        if type(axis) is not int or not -rank <= axis < rank:
            raise rewriting.unfit("this axis of `np.roll`")
        axis %= rank
    elif rank != 1:
        raise rewriting.unfit("`np.roll` of all elements")
    if "shift" not in given or rewriting.ranks.of(given["shift"]) or "" in made.lengths:
        raise rewriting.unfit("this shift of `np.roll`")
    if isinstance(given["shift"], ast.Tuple | ast.List):
        raise rewriting.unfit("several shifts")
    size, first, rest = name_of(made.lengths[axis]), rewriting.new(), rewriting.new()
    shift = called(Intrinsic.INDEX, rewriting.number(given["shift"]))
    rewriting.let(first, ast.Constant(0))
    inside = ast.BinOp(shift, ast.Mod(), size)
    test = ast.Compare(size, [ast.Gt()], [ast.Constant(0)])
    rewriting.preceding.append(
        ast.If(test, [ast.Assign([name_of(first, ast.Store())], inside)], [])
    )
    rewriting.let(rest, ast.BinOp(size, ast.Sub(), name_of(first)))
    rewriting.bounds[first] = rewriting.bounds[rest] = rewriting.bounds[made.lengths[axis]]
    view = rewriting.memory(made.lengths)

    def part(length: str, offset_read: str, offset_written: str) -> None:
        lengths = [*made.lengths]
        lengths[axis] = length

        def write(places: list[ast.expr]) -> None:
            def moved(offset: str) -> list[ast.expr]:
                at = [*places]
                if offset:
                    at[axis] = ast.BinOp(name_of(offset), ast.Add(), at[axis])
                return at

            value = called(Intrinsic.FLOAT, made.at(moved(offset_read)))
            rewriting.put(view, moved(offset_written), value)

        rewriting.over(lengths, write)

    part(first, rest, "")
    part(rest, "", first)
    return view


# -- Rows that change places ------------------------------------------------------


def is_exchange(rewriting: Bounds, target: ast.expr, value: ast.expr) -> bool:
    """Whether rows of an array are taken in another order: ``a[[i, j]] = a[[j, i]]``."""
    parts = [_listed(node) for node in (target, value)]
    if None in parts:
        return False
    (name, own), (other, others) = (part for part in parts if part is not None)
    return name == other and len(own) == len(others) and name in rewriting.arrays


def _listed(node: ast.expr) -> tuple[str, list[ast.expr]] | None:
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    if not isinstance(node.slice, ast.List) or not node.slice.elts:
        return None
    return node.value.id, node.slice.elts


def exchange(rewriting: Bounds, target: ast.Subscript, value: ast.expr) -> None:
    """Write rows to other places of their array."""
    name, others = _listed(value)  # type: ignore[misc]
    own = _listed(target)[1]  # type: ignore[index]
    if any(rewriting.ranks.of(index) for index in (*own, *others)):
        raise rewriting.unfit("these indices")
    if not rewriting.is_float64(name):
        raise rewriting.unfit("arrays of other numbers than float64")
    taken = []
    for index in others:
        row = _row(rewriting, name, index)
        taken.append(_kept(rewriting, row))
    rows = [_row(rewriting, name, index) for index in own]
    for row, kept in zip(rows, taken, strict=True):
        if isinstance(kept, str):
            rewriting.put(row, [], name_of(kept))
            continue

        def write(places: list[ast.expr], row: View = row, kept: View = kept) -> None:
            rewriting.put(row, places, kept.element(places))

        rewriting.over(row.lengths, write)


def _row(rewriting: Bounds, name: str, index: ast.expr) -> View:
    node = ast.Subscript(name_of(name), ast.Tuple([index, ast.Constant(...)], ast.Load()))
    view = rewriting.view(ast.copy_location(node, index))
    assert view is not None
    return view


def _kept(rewriting: Bounds, row: View) -> View | str:
    """Copy a row, or a number, that will be written to."""
    if row.lengths:
        return materialised(rewriting, of_view(row))
    number_ = rewriting.new()
    rewriting.let(number_, row.element([]))
    return number_


# -- Numbers ------------------------------------------------------------------


def number(rewriting: Bounds, node: ast.expr) -> ast.expr:
    """Return an expression that gives a number, with what is done to arrays written before."""
    made = _Numbers(rewriting).visit(node)
    assert isinstance(made, ast.expr)
    if _is_of_arrays(rewriting, made):
        raise rewriting.unfit("an operation on arrays")
    return made


def _is_of_arrays(rewriting: Bounds, node: ast.expr) -> bool:
    """Whether an array is computed with as a whole in an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Slice | ast.MatMult):
            return True
        if isinstance(part, ast.BinOp | ast.UnaryOp | ast.Compare) and rewriting.ranks.of(part):
            return True
    return False


def element(rewriting: Bounds, node: ast.Subscript) -> ast.Subscript:
    """Return an element of what a name is assigned."""
    view = rewriting.view(node)
    if view is None or view.lengths:
        raise rewriting.unfit("part of an array")
    return view.element([])


class _Numbers(ast.NodeTransformer):
    """Write what gives numbers for arrays before the statement."""

    def __init__(self, rewriting: Bounds) -> None:
        self.rewriting = rewriting

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Write the product of two vectors."""
        if isinstance(node.op, ast.MatMult):
            return _dot(self.rewriting, node.left, node.right)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Write a reduction, a product, a length."""
        rewriting = self.rewriting
        reduced = reductions.written(rewriting, node)
        if reduced is not None:
            return reduced
        function = rewriting.ranks.function(node)
        if function in (np.dot, np.matmul) and len(node.args) == 2 and not node.keywords:
            return _dot(rewriting, *_noted(rewriting, node))
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "dot"
        if is_method and function is None and len(node.args) == 1 and not node.keywords:
            return _dot(rewriting, node.func.value, node.args[0])  # type: ignore[attr-defined]
        if isinstance(node.func, ast.Name) and len(node.args) == 1:
            sizes = self._sizes(node.args[0])
            if sizes and builtin(node.func.id, rewriting.names) is len:
                rewriting.preceding.append(ast.Expr(node.func))
                return ast.copy_location(name_of(sizes[0]), node)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Write the sizes of what a name is assigned."""
        sizes = self._sizes(node.value)
        if sizes and node.attr == "shape":
            parts = [name_of(size) for size in sizes]
            return ast.copy_location(ast.Tuple([*parts], ast.Load()), node)
        if sizes and node.attr == "size":
            size: ast.expr = name_of(sizes[0])
            for other in sizes[1:]:
                size = ast.BinOp(size, ast.Mult(), name_of(other))
            return ast.copy_location(size, node)
        return self.generic_visit(node)

    def _sizes(self, node: ast.expr) -> tuple[str, ...]:
        """Return the names of the sizes of what a name is assigned."""
        if isinstance(node, ast.Name) and node.id in self.rewriting.variables:
            return self.rewriting.variables[node.id].lengths
        return ()

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Write an element of what a name is assigned, or one of its sizes."""
        is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if is_shape and isinstance(node.slice, ast.Constant | ast.UnaryOp):
            sizes = self._sizes(node.value.value)  # type: ignore[attr-defined]
            if sizes:
                try:
                    return ast.copy_location(name_of(sizes[ast.literal_eval(node.slice)]), node)
                except (ValueError, IndexError, TypeError):
                    raise self.rewriting.unfit("this item of a shape") from None
        if isinstance(node.value, ast.Name) and node.value.id in self.rewriting.variables:
            return ast.copy_location(element(self.rewriting, node), node)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Check parts of which one isn't computed: nothing may be written before it."""
        self._check_later(node.test, node.body, node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Visit parts: only the first is surely computed, for the others nothing may be written."""
        first, *rest = node.values
        node.values = [self.visit(first), *rest]
        self._check_later(*rest)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Visit sides of which only the first two are surely computed."""
        self._check_later(*node.comparators[1:])
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Check a body that is computed later."""
        self._check_later(node.body)
        return node

    def _check_later(self, *nodes: ast.expr) -> None:
        """Check that nothing has to be written before for what may not be computed."""
        before = len(self.rewriting.preceding)
        for node in nodes:
            self.visit(copy.deepcopy(node))
        if len(self.rewriting.preceding) > before:
            raise self.rewriting.unfit("arrays in a part that may not be computed")


def _dot(rewriting: Bounds, left: ast.expr, right: ast.expr) -> ast.expr:
    """Write the product of two vectors."""
    vectors = [_vector(rewriting, node) for node in (left, right)]
    u, v = vectors
    size = u.lengths[0]
    rewriting.require_same(size, v.lengths[0])
    return rewriting.total([size], lambda at: ast.BinOp(u.at(at), ast.Mult(), v.at(at)))


def _vector(rewriting: Bounds, node: ast.expr) -> Expression:
    view = rewriting.view(node) if isinstance(node, ast.Name | ast.Subscript) else None
    made = of_view(view) if view is not None else expression(rewriting, node)
    if len(made.lengths) != 1 or "" in made.lengths:
        raise rewriting.unfit("a product of more than vectors")
    if not all(rewriting.is_float64(read.array) for read in made.views):
        raise rewriting.unfit("a product of other numbers than float64")
    return made
