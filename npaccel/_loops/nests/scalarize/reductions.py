"""Sums, means and extremes of arrays in a loop nest, written as loops over their elements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from npaccel._loops.nests.intrinsics import called, name_of
from npaccel._loops.nests.ordered_bits import INFINITE, of_ordered_bits, ordered_bits
from npaccel._loops.nests.scalarize.bounds import Bounds
from npaccel._loops.nests.scalarize.ranks import REDUCTIONS
from npaccel._loops.nests.scalarize.views import Element

Writer = Callable[[Bounds, Sequence[str], Element], ast.expr]


def _found(rewriting: Bounds, node: ast.Call) -> tuple[str, ast.expr] | None:
    """Return which reduction of what a call is; None if it's something else."""
    ranks, function = rewriting.ranks, node.func
    if node.keywords or not isinstance(function, ast.Attribute):
        return None
    called_function = ranks.function(node)
    if called_function is not None:
        which = "norm" if called_function is np.linalg.norm else function.attr
        known = which == "norm" or which in REDUCTIONS
        return (which, node.args[0]) if known and len(node.args) == 1 else None
    if function.attr in REDUCTIONS and not node.args and ranks.of(function.value):
        return function.attr, function.value
    return None


def written(rewriting: Bounds, node: ast.Call) -> ast.expr | None:
    """Write a reduction before the statement and return its result; None of another call."""
    found = _found(rewriting, node)
    if found is None or not rewriting.ranks.of(found[1]):
        return None
    which, operand = found
    if node.args:
        rewriting.preceding.append(ast.Expr(node.func))  # Noted: it may be another one later.
    made = rewriting.expression(operand)
    if "" in made.lengths:
        raise rewriting.unfit("a reduction of what isn't an array")
    if which in ("argmin", "argmax") and len(made.lengths) != 1:
        raise rewriting.unfit(f"`{which}` of several dimensions")
    return _WRITERS[which](rewriting, made.lengths, made.at)


def _sum(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
    return rewriting.total(lengths, element)


def _norm(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
    def squared(at: Sequence[ast.expr]) -> ast.expr:
        return ast.BinOp(element(at), ast.Mult(), element(at))

    return called(np.sqrt, rewriting.total(lengths, squared))


def _mean(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
    count: ast.expr = name_of(lengths[0])
    for length in lengths[1:]:
        count = ast.BinOp(count, ast.Mult(), name_of(length))
    mean = rewriting.new()
    total = rewriting.total(lengths, element)
    rewriting.let(mean, ast.BinOp(total, ast.Div(), called(np.float64, count)))
    return name_of(mean)


def _var(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
    mean = _mean(rewriting, lengths, element)

    def squared(at: Sequence[ast.expr]) -> ast.expr:
        assert isinstance(mean, ast.Name)
        parts = [ast.BinOp(element(at), ast.Sub(), name_of(mean.id)) for _ in range(2)]
        return ast.BinOp(parts[0], ast.Mult(), parts[1])

    return _mean(rewriting, lengths, squared)


def _std(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
    return called(np.sqrt, _var(rewriting, lengths, element))


def _extreme(
    rewriting: Bounds, lengths: Sequence[str], element: Element, op: ast.cmpop
) -> ast.expr:
    """Write a least or greatest element.

    The integers of the same order are compared. Where one element isn't a number, all are gone over
    again.
    """
    _require_elements(rewriting, lengths)
    best, most = rewriting.new(), rewriting.new()
    rewriting.let(best, called(ordered_bits, element([ast.Constant(0) for _ in lengths])))
    rewriting.let(most, called(ordered_bits, ast.Constant(np.float64(0.0))))

    def step(places: list[ast.expr]) -> None:
        one, bits, size = (rewriting.new() for _ in range(3))
        rewriting.let(one, element(places))
        rewriting.let(bits, called(ordered_bits, name_of(one)))
        rewriting.let(size, called(ordered_bits, called(np.absolute, name_of(one))))
        rewriting.let(best, _better(bits, op, best))
        rewriting.let(most, _better(size, ast.Gt(), most))

    rewriting.over(lengths, step)
    found = rewriting.new()
    rewriting.let(found, called(of_ordered_bits, name_of(best)))
    before, rewriting.preceding = rewriting.preceding, []
    _exact_extreme(rewriting, lengths, element, op, found)
    again, rewriting.preceding = rewriting.preceding, before
    test = ast.Compare(name_of(most), [ast.Gt()], [ast.Constant(INFINITE)])
    rewriting.preceding.append(ast.If(test, again, []))
    return name_of(found)


def _better(one: str, op: ast.cmpop, best: str) -> ast.expr:
    return ast.IfExp(ast.Compare(name_of(one), [op], [name_of(best)]), name_of(one), name_of(best))


def _exact_extreme(
    rewriting: Bounds, lengths: Sequence[str], element: Element, op: ast.cmpop, best: str
) -> None:
    """Make NaN the result, wherever it is."""
    one = rewriting.new()

    def step(places: list[ast.expr]) -> None:
        rewriting.let(one, element(places))
        better = ast.Compare(name_of(one), [op], [name_of(best)])
        is_nan = ast.Compare(name_of(one), [ast.NotEq()], [name_of(one)])
        test = ast.BoolOp(ast.Or(), [better, is_nan])
        rewriting.preceding.append(ast.If(test, [_let(best, name_of(one))], []))

    rewriting.over(lengths, step)


def _min(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
    return _extreme(rewriting, lengths, element, ast.Lt())


def _max(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
    return _extreme(rewriting, lengths, element, ast.Gt())


def _require_elements(rewriting: Bounds, lengths: Sequence[str]) -> None:
    """Require that there are elements: of none, Python raises its own error."""
    for length in lengths:
        rewriting.require(ast.Compare(name_of(length), [ast.Gt()], [ast.Constant(0)]))


def _let(target: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([name_of(target, ast.Store())], value)


def _argument(op: ast.cmpop) -> Writer:
    """Return what writes the place of the first least or greatest element, or of the first NaN."""

    def write(rewriting: Bounds, lengths: Sequence[str], element: Element) -> ast.expr:
        _require_elements(rewriting, lengths)
        best, found, one, place = (rewriting.new() for _ in range(4))
        rewriting.let(best, element([ast.Constant(0)]))
        rewriting.let(found, ast.Constant(0))
        better = ast.Compare(name_of(one), [op], [name_of(best)])
        is_nan = ast.Compare(name_of(one), [ast.NotEq()], [name_of(one)])
        is_first = ast.Compare(name_of(best), [ast.Eq()], [name_of(best)])
        test = ast.BoolOp(ast.Or(), [better, ast.BoolOp(ast.And(), [is_nan, is_first])])
        keep = [_let(best, name_of(one)), _let(found, name_of(place))]
        body = [_let(one, element([name_of(place)])), ast.If(test, keep, [])]
        rewriting.loop(place, [ast.Constant(1), name_of(lengths[0])], body)
        return called(np.intp, name_of(found))

    return write


_WRITERS: dict[str, Writer] = {
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "std": _std,
    "norm": _norm,
    "min": _min,
    "max": _max,
    "argmin": _argument(ast.Lt()),
    "argmax": _argument(ast.Gt()),
}
