"""Sums, means and extremes of short vectors, written as loops over their elements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from npaccel._loops._hidden import called, name_of
from npaccel._loops._meanings import has_slices, of_numpy

if TYPE_CHECKING:
    from npaccel._loops._slices import Rewriting

Element = Callable[[ast.expr], ast.expr]


def of(rewriting: Rewriting, node: ast.Call) -> tuple[str, ast.expr] | None:
    """Return which reduction of which vectors a call is; None if it's something else."""
    function = node.func
    if node.keywords or not isinstance(function, ast.Attribute) or function.attr not in _WRITERS:
        return None
    if not node.args and has_slices(function.value):
        return function.attr, function.value
    if len(node.args) == 1 and has_slices(node.args[0]) and of_numpy(function, rewriting.names):
        return function.attr, node.args[0]
    return None


def written(rewriting: Rewriting, node: ast.Call) -> ast.expr | None:
    """Write a reduction ahead and return its result; None if a call is something else."""
    found = of(rewriting, node)
    if found is None:
        return None
    which, vectors = found
    if node.args:
        rewriting.ahead.append(ast.Expr(node.func))  # Noted: it may be another one later.
    place = name_of(rewriting.new())
    elements = rewriting.elements(place)
    template = elements.part(copy.deepcopy(vectors))
    if not elements.length:
        raise rewriting.unfit("a reduction of what isn't a vector")

    def element(at: ast.expr) -> ast.expr:
        made = _Replaced(place.id, at).visit(copy.deepcopy(template))
        assert isinstance(made, ast.expr)
        return made

    return _WRITERS[which](rewriting, elements.length, element)


class _Replaced(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name = name
        self.value = value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.value) if node.id == self.name else node


def _sum(rewriting: Rewriting, length: str, element: Element) -> ast.expr:
    return rewriting.total(length, element)


def _mean(rewriting: Rewriting, length: str, element: Element) -> ast.expr:
    count = called(np.float64, name_of(length))
    mean = rewriting.new()
    rewriting.let(mean, ast.BinOp(rewriting.total(length, element), ast.Div(), count))
    return name_of(mean)


def _var(rewriting: Rewriting, length: str, element: Element) -> ast.expr:
    mean = _mean(rewriting, length, element)

    def squared(at: ast.expr) -> ast.expr:
        parts = [ast.BinOp(element(at), ast.Sub(), copy.deepcopy(mean)) for _ in range(2)]
        return ast.BinOp(parts[0], ast.Mult(), parts[1])

    return _mean(rewriting, length, squared)


def _std(rewriting: Rewriting, length: str, element: Element) -> ast.expr:
    return called(np.sqrt, _var(rewriting, length, element))


def _extreme(rewriting: Rewriting, length: str, element: Element, op: ast.cmpop) -> ast.expr:
    """Not a number, if one of them isn't; of no elements Python says that there are none."""
    rewriting.require(ast.Compare(name_of(length), [ast.Gt()], [ast.Constant(0)]))
    best, one, place = (rewriting.new() for _ in range(3))
    rewriting.let(best, element(ast.Constant(0)))
    take = ast.Assign([name_of(one, ast.Store())], element(name_of(place)))
    better = ast.Compare(name_of(one), [op], [name_of(best)])
    is_nan = ast.Compare(name_of(one), [ast.NotEq()], [name_of(one)])
    keep = ast.Assign([name_of(best, ast.Store())], name_of(one))
    replace = ast.If(ast.BoolOp(ast.Or(), [better, is_nan]), [keep], [])
    rewriting.loop(place, [ast.Constant(1), name_of(length)], [take, replace])
    return name_of(best)


def _min(rewriting: Rewriting, length: str, element: Element) -> ast.expr:
    return _extreme(rewriting, length, element, ast.Lt())


def _max(rewriting: Rewriting, length: str, element: Element) -> ast.expr:
    return _extreme(rewriting, length, element, ast.Gt())


_WRITERS: dict[str, Callable[[Rewriting, str, Element], ast.expr]] = {
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "std": _std,
    "min": _min,
    "max": _max,
}
#: Their names, as functions and as methods.
NAMES = frozenset(_WRITERS)
