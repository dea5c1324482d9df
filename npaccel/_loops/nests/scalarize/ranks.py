"""Ranks of expressions of a loop nest, inferred from their text and its arrays."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.resolve import builtin, is_ufunc, of_numpy

#: Reductions to one number, as functions and as methods.
REDUCTIONS = frozenset({"sum", "mean", "var", "std", "min", "max", "argmin", "argmax"})
_LIKE_FIRST = frozenset(
    {np.copy, np.roll, np.zeros_like, np.ones_like, np.empty_like, np.full_like}
)


class Ranks:
    """The dimensions of names and expressions.

    Parameters
    ----------
    dimensions : mapping of str to int
        Of names; those that are missing stand for numbers, or for what isn't an array.
    names : mapping
        The values of names.
    """

    def __init__(self, dimensions: Mapping[str, int], names: Mapping[str, Any]) -> None:
        self.dimensions = dict(dimensions)
        self.names = names

    def of(self, node: ast.AST) -> int:
        """Return how many dimensions an expression has; 0 for a number."""
        match node:
            case ast.Name(id=name):
                return self.dimensions.get(name, 0)
            case ast.Subscript():
                return self._subscript(node)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self._product(left, right)
            case ast.BinOp(left=left, right=right):
                return max(self.of(left), self.of(right))
            case ast.UnaryOp(op=op, operand=operand):
                return 0 if isinstance(op, ast.Not) else self.of(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                if all(isinstance(op, ast.Is | ast.IsNot) for op in ops):
                    return 0
                return max(map(self.of, [left, *others]))
            case ast.IfExp(body=body, orelse=orelse):
                return max(self.of(body), self.of(orelse))
            case ast.NamedExpr(value=value) | ast.Starred(value=value):
                return self.of(value)
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=value, attr=attribute):
                return 0 if attribute in ("shape", "size", "ndim", "dtype") else self.of(value)
        return 0

    def of_any(self, nodes: Sequence[ast.AST]) -> int:
        """Return the most dimensions that one of some expressions has."""
        return max(map(self.of, nodes), default=0)

    def _subscript(self, node: ast.Subscript) -> int:
        rank = self.of(node.value)
        if not rank:
            return 0
        for part in parts_of(node):
            if isinstance(part, ast.Constant) and part.value is None:
                rank += 1
            elif not (is_full(part) or isinstance(part, ast.Slice | ast.List) or self.of(part)):
                rank -= 1
        return max(rank, 0)

    def _product(self, left: ast.expr, right: ast.expr) -> int:
        ranks = self.of(left), self.of(right)
        return max(ranks) if 0 in ranks else max(sum(ranks) - 2, 0)

    def _call(self, node: ast.Call) -> int:
        function = self.function(node)
        if function is not None:
            if is_ufunc(node.func, self.names) or function is np.where:
                return self.of_any(node.args)
            if function in (np.dot, np.matmul) and len(node.args) == 2:
                return self._product(*node.args)
            if function is np.outer:
                return 2
            if function in _LIKE_FIRST and node.args:
                return self.of(node.args[0])
            # Of a reduction along an axis, of what isn't known: looked at where it is written.
            return max(self.of(node.args[0]) - 1, 0) if node.keywords and node.args else 0
        if isinstance(node.func, ast.Attribute):
            own = self.of(node.func.value)
            if node.func.attr in REDUCTIONS and not node.args and not node.keywords:
                return 0
            if node.func.attr == "dot" and own and len(node.args) == 1:
                return self._product(node.func.value, node.args[0])
            return own
        if isinstance(node.func, ast.Name) and node.args:
            return self.of(node.args[0]) if builtin(node.func.id, self.names) is abs else 0
        return 0

    def function(self, node: ast.Call) -> Any:
        """Return the function of NumPy's that is called; None if none is."""
        function = node.func
        owner: Any = getattr(function, "value", None)
        if isinstance(owner, np.ufunc):
            return owner
        if isinstance(owner, ast.Attribute) and of_numpy(owner, self.names) is np.linalg:
            return np.linalg.norm if getattr(function, "attr", "") == "norm" else None
        return of_numpy(function, self.names)


def parts_of(node: ast.Subscript) -> list[ast.expr]:
    """Return the indices and slices of a subscript."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def is_full(part: ast.expr) -> bool:
    """Whether part of a subscript is an ellipsis."""
    return isinstance(part, ast.Constant) and part.value is ...
