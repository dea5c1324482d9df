"""Compute with complex numbers as with pairs of real ones, so that kernels are made for them.

Inductor makes no kernels for complex numbers: each operator is a call of its own, with its result
in memory. Where the parts are arrays of their own, what follows each other becomes one kernel, and
a vector's elements are computed at once. The formulas are NumPy's
(numpy/_core/src/umath/loops.c.src: products as they are written on paper, quotients after Smith).

Read from torch/_inductor/{compile_fx,decomposition,lowering}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch._inductor.decomposition import select_decomp_table
from torch.fx import GraphModule, Node

from npaccel._torch.inductor.complex.moves import LEFT_ALONE, MOVES
from npaccel._torch.inductor.complex.splitting import (
    Pair,
    Real,
    Splitting,
    is_complex,
    touches,
    value_of,
)

__all__ = ["decompositions", "split"]

_aten = torch.ops.aten


#: Zeros in place of tensors that say that they are zero, and have no memory for a kernel to read.
WITH_MEMORY: dict[Any, Callable[..., Any]] = {_aten._efficientzerotensor.default: torch.zeros}


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return Inductor's decompositions without those that take complex numbers apart."""
    table: dict[Any, Callable[..., Any]] = dict(select_decomp_table())
    for overload in (_aten.add.Tensor, _aten.add.Scalar):
        table.pop(overload, None)
    return {**table, **WITH_MEMORY}


def split(module: GraphModule) -> list[str] | None:
    """Replace what is computed with complex numbers in a functional graph of ATen's operators.

    Returns
    -------
    list of str or None
        The names of complex inputs, which are pairs of real numbers to the graph now. None where
        complex arrays are viewed only, or read by what takes nothing else, and the graph is as it
        was.
    """
    graph = module.graph
    if not any(node.target in _COMPUTED and touches(node) for node in graph.nodes):
        return None
    splitting = Splitting(graph, _HANDLERS)
    splitting.run()
    graph.eliminate_dead_code()
    graph.lint()
    module.recompile()
    return splitting.inputs


# -- Real numbers, and numbers that are the same everywhere -----------------------


def _plus(at: Splitting, x: Real, y: Real) -> Real:
    if isinstance(x, Node) or isinstance(y, Node):
        return at.emit(_aten.add.Tensor, *_array_first(x, y))
    return x + y


def _minus(at: Splitting, x: Real, y: Real) -> Real:
    if not isinstance(y, Node):
        is_zero = y == 0 and math.copysign(1, y) > 0  # Another zero may change a sign.
        return x if is_zero else _plus(at, x, -y)
    if isinstance(x, Node):
        return at.emit(_aten.sub.Tensor, x, y)
    return _plus(at, x, _negated(at, y))


def _times(at: Splitting, x: Real, y: Real) -> Real:
    if not isinstance(x, Node) and not isinstance(y, Node):
        return x * y
    array, other = _array_first(x, y)
    return array if other == 1 else at.emit(_aten.mul.Tensor, array, other)


def _over(at: Splitting, x: Real, y: Real) -> Real:
    if isinstance(y, Node):
        x = x if isinstance(x, Node) else at.array(x, y)
        return at.emit(_aten.div.Tensor, x, y)
    if isinstance(x, Node):
        return at.emit(_aten.div.Tensor, x, y)
    return float(np.divide(x, y))


def _negated(at: Splitting, x: Real) -> Real:
    return at.emit(_aten.neg.default, x) if isinstance(x, Node) else -x


def _size_of(at: Splitting, x: Real) -> Real:
    return at.emit(_aten.abs.default, x) if isinstance(x, Node) else abs(x)


def _array_first(x: Real, y: Real) -> tuple[Real, Real]:
    return (x, y) if isinstance(x, Node) else (y, x)


def _chosen(at: Splitting, condition: Node | bool, yes: Real, no: Real) -> Real:
    if isinstance(condition, bool):
        return yes if condition else no
    if yes is no:
        return yes
    return at.emit(_aten.where.self, condition, at.number(yes, no), at.number(no, yes))


def _compared(at: Splitting, op: str, x: Real, y: Real) -> Node | bool:
    if isinstance(x, Node):
        overload = "Tensor" if isinstance(y, Node) else "Scalar"
        return at.emit(getattr(getattr(_aten, op), overload), x, y)
    if isinstance(y, Node):
        return at.emit(getattr(_aten, _MIRRORED[op]).Scalar, y, x)
    return bool(getattr(operator, op)(x, y))


_MIRRORED = {"ge": "le", "eq": "eq", "ne": "ne"}


def _combined(at: Splitting, op: str, x: Node | bool, y: Node | bool) -> Node | bool:
    if isinstance(x, Node) and isinstance(y, Node):
        return at.emit(getattr(_aten, f"logical_{op}").default, x, y)
    decides = op == "or"
    known, other = (x, y) if isinstance(x, bool) else (y, x)
    return known if known is decides else other


# -- Arithmetic -------------------------------------------------------------------


def _added(at: Splitting, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return _of_parts(at, _plus, x, y, alpha)


def _subtracted(at: Splitting, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return _of_parts(at, _minus, x, y, alpha)


def _of_parts(at: Splitting, op: Callable[..., Real], x: Any, y: Any, alpha: Any) -> Any:
    if alpha != 1:
        return NotImplemented
    if is_complex(at.node):
        (a, b), (c, d) = at.broadcast(x, y)
        return op(at, a, c), op(at, b, d)
    are_pairs = all(
        value_of(one) is not None and value_of(one).shape[-1:] == (2,) for one in (x, y)
    )
    if are_pairs and (x in at.stacked or y in at.stacked):
        (a, b), (c, d) = at.both_of(x), at.both_of(y)
        at.stacked[at.node] = op(at, a, c), op(at, b, d)  # type: ignore[assignment]
    return NotImplemented


def _multiplied(at: Splitting, x: Any, y: Any) -> Pair:
    (a, b), (c, d) = at.operands(x, y)
    return (
        _minus(at, _times(at, a, c), _times(at, b, d)),
        _plus(at, _times(at, a, d), _times(at, b, c)),
    )


def _power(at: Splitting, x: Any, exponent: Any) -> Any:
    """NumPy, too, takes a square for a product."""
    return _multiplied(at, x, x) if exponent == 2 else NotImplemented


def _reciprocal(at: Splitting, x: Any) -> Pair:
    return _divided(at, 1.0, x)


def _divided(at: Splitting, x: Any, y: Any) -> Pair:
    """Divide after Smith, with the larger part of the divisor in the denominators."""
    (a, b), (c, d) = at.operands(x, y)
    size, other = _size_of(at, c), _size_of(at, d)
    wide = _compared(at, "ge", size, other)
    large, small = _chosen(at, wide, c, d), _chosen(at, wide, d, c)
    ratio = _over(at, small, large)
    scale = _over(at, 1.0, _plus(at, large, _times(at, small, ratio)))
    first, second = _chosen(at, wide, a, b), _chosen(at, wide, b, a)
    real = _times(at, _plus(at, first, _times(at, second, ratio)), scale)
    turned = _chosen(
        at,
        wide,
        _minus(at, b, _times(at, a, ratio)),
        _minus(at, _times(at, b, ratio), a),
    )
    imaginary = _times(at, turned, scale)
    by_zero = _combined(at, "and", _compared(at, "eq", size, 0.0), _compared(at, "eq", other, 0.0))
    if by_zero is not False:
        real = _chosen(at, by_zero, _over(at, a, size), real)
        imaginary = _chosen(at, by_zero, _over(at, b, size), imaginary)
    return real, imaginary


def _negative(at: Splitting, x: Any) -> Pair:
    a, b = at.parts(x)
    return _negated(at, a), _negated(at, b)


def _conjugate(at: Splitting, x: Any) -> Pair:
    a, b = at.parts(x)
    return a, _negated(at, b)


def _absolute(at: Splitting, x: Any) -> Node:
    return at.emit(_aten.hypot.default, *at.arrays(x))


def _exponential(at: Splitting, x: Any) -> Pair:
    """Turn by the imaginary part and stretch by the real one, which may be too large alone."""
    a, b = at.arrays(x)
    dtype = value_of(a).dtype
    most = math.floor(math.log(torch.finfo(dtype).max))
    is_large = at.emit(_aten.gt.Scalar, a, most)
    near = _chosen(at, is_large, at.emit(_aten.sub.Tensor, a, most / 2), a)
    size = at.emit(_aten.exp.default, near)
    rest = _chosen(at, is_large, math.exp(most / 2), 1.0)
    is_real = at.emit(_aten.eq.Scalar, b, 0)
    vanishes = at.emit(_aten.eq.Scalar, size, 0)  # However far it turns.

    def part(turn: Any) -> Real:
        turned = _chosen(at, vanishes, size, _times(at, size, at.emit(turn, b)))
        return _times(at, turned, rest)

    imaginary = _chosen(at, is_real, b, part(_aten.sin.default))
    return _chosen(at, is_real, _times(at, size, rest), part(_aten.cos.default)), imaginary


def _equal(at: Splitting, x: Any, y: Any) -> Node:
    return _told(at, "eq", "and", x, y)


def _unequal(at: Splitting, x: Any, y: Any) -> Node:
    return _told(at, "ne", "or", x, y)


def _told(at: Splitting, comparison: str, combination: str, x: Any, y: Any) -> Node:
    (a, b), (c, d) = at.broadcast(x, y)
    parts = (_compared(at, comparison, *part) for part in ((a, c), (b, d)))
    found = _combined(at, combination, *parts)
    if isinstance(found, Node):
        return found
    device = value_of(at.node).device  # No axes: else both parts would be arrays.
    return at.emit(_aten.full.default, [], found, dtype=torch.bool, device=device)


def _where(at: Splitting, condition: Node, x: Any, y: Any) -> Pair:
    real, imaginary = zip(*at.broadcast(x, y), strict=True)

    def chosen(yes: Real, no: Real) -> Node:
        return at.emit(_aten.where.self, condition, at.number(yes, no), at.number(no, yes))

    return chosen(*real), chosen(*imaginary)


_ARITHMETIC: dict[Any, Callable[..., Any]] = {
    _aten.add.Tensor: _added,
    _aten.add.Scalar: _added,
    _aten.sub.Tensor: _subtracted,
    _aten.sub.Scalar: _subtracted,
    _aten.mul.Tensor: _multiplied,
    _aten.mul.Scalar: _multiplied,
    _aten.div.Tensor: _divided,
    _aten.div.Scalar: _divided,
    _aten.reciprocal.default: _reciprocal,
    _aten.pow.Tensor_Scalar: _power,
    _aten.neg.default: _negative,
    _aten.abs.default: _absolute,
    _aten.exp.default: _exponential,
    _aten.eq.Tensor: _equal,
    _aten.eq.Scalar: _equal,
    _aten.ne.Tensor: _unequal,
    _aten.ne.Scalar: _unequal,
    _aten.where.self: _where,
}
_HANDLERS: dict[Any, Callable[..., Any]] = {
    **_ARITHMETIC,
    **MOVES,
    _aten._conj.default: _conjugate,
    _aten.conj_physical.default: _conjugate,
    _aten._conj_physical.default: _conjugate,
}
#: Operators that are worth taking a graph apart for.
_COMPUTED = _HANDLERS.keys() - LEFT_ALONE
