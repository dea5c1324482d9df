"""Bounds of Python ints that conditions imply."""

from __future__ import annotations

import ast

import numpy as np

from npaccel._loops.nests.lowering.expression_writer import ExpressionWriter
from npaccel._loops.nests.lowering.types import MAX, MIN, Np, Py, Type, Value


def refine(code: ExpressionWriter, node: ast.expr, holds: bool) -> None:
    """Narrow the bounds of Python ints by a condition that holds here, or doesn't."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        refine(code, node.operand, not holds)
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) == holds:
        for part in node.values:
            refine(code, part, holds)
    elif isinstance(node, ast.Compare) and (holds or len(node.ops) == 1):
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            symbol = _SYMBOLS.get(type(op), "")
            symbol = symbol if holds else _OPPOSITE.get(symbol, "")
            _bound(code, left, symbol, _int_bounds(code, right))
            _bound(code, right, _MIRRORED.get(symbol, ""), _int_bounds(code, left))


_SYMBOLS: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


def _int_bounds(code: ExpressionWriter, node: ast.expr) -> tuple[int, int] | None:
    result = code.result_of(node)
    if not isinstance(result, Value):
        return None
    lows, highs = [], []
    for kind in result.types:
        if isinstance(kind, Py) and kind.kind is int:
            lows.append(kind.low)
            highs.append(kind.high)
        elif isinstance(kind, Np) and kind.dtype.kind in "iu":
            lows.append(int(np.iinfo(kind.dtype).min))
            highs.append(int(np.iinfo(kind.dtype).max))
        else:
            return None
    return min(lows), max(highs)


def _bound(
    code: ExpressionWriter, node: ast.expr, symbol: str, other: tuple[int, int] | None
) -> None:
    """Note that a variable is below, at or above a number between two bounds."""
    env = code.env
    if not isinstance(node, ast.Name) or other is None or env is None or node.id not in env:
        return
    low, high = MIN, MAX
    if symbol in ("<", "<=", "=="):
        high = other[1] - (symbol == "<")
    if symbol in (">", ">=", "=="):
        low = other[0] + (symbol == ">")
    env[node.id] = tuple(_cut(kind, low, high) for kind in env[node.id])


def _cut(kind: Type, low: int, high: int) -> Type:
    if not isinstance(kind, Py) or kind.kind is not int:
        return kind
    low, high = max(kind.low, low), min(kind.high, high)
    return Py(int, low, high) if low <= high else kind
