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
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch._guards import detect_fake_mode
from torch._inductor.decomposition import select_decomp_table
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

__all__ = ["decompositions", "split"]

_aten, _prims = torch.ops.aten, torch.ops.prims

#: A real array, or a number that is the same everywhere.
Real: TypeAlias = "Node | float"
#: The real and the imaginary part.
Pair: TypeAlias = tuple[Real, Real]

#: What a node knows of its own result.
_OF_RESULT = ("val", "tensor_meta", "eager_input_vals", "unbacked_bindings")


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return Inductor's decompositions without those that take complex numbers apart."""
    table: dict[Any, Callable[..., Any]] = dict(select_decomp_table())
    for overload in (_aten.add.Tensor, _aten.add.Scalar):
        table.pop(overload, None)
    return table


def split(module: GraphModule) -> bool:
    """Replace what is computed with complex numbers in a functional graph of ATen's operators."""
    graph = module.graph
    found = [node for node in graph.nodes if node.target in _ARITHMETIC and _touches(node)]
    if not found:
        return False
    _Splitting(graph).run()
    graph.eliminate_dead_code()
    graph.lint()
    module.recompile()
    return True


def _value(node: object) -> Any:
    return node.meta.get("val") if isinstance(node, Node) else None


def _is_complex(node: object) -> bool:
    value = _value(node)
    return isinstance(value, torch.Tensor) and value.is_complex()


def _touches(node: Node) -> bool:
    return _is_complex(node) or any(map(_is_complex, node.all_input_nodes))


class _Splitting:
    """Replace nodes, in their order.

    Parameters
    ----------
    graph : Graph

    Attributes
    ----------
    pairs : dict
        The parts of what is complex; the nodes themselves stay until nothing reads them.
    made : set
        The nodes that are computed as pairs.
    stacked : dict
        The same for real arrays, in which both parts lie along the last axis.
    node : Node
        What is replaced now.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.fake_mode: Any = detect_fake_mode([_value(node) for node in graph.nodes])
        self.pairs: dict[Node, Pair] = {}
        self.made: set[Node] = set()
        self.stacked: dict[Node, tuple[Node, Node]] = {}
        self.wholes: dict[Node, Node] = {}
        self.node: Node = next(iter(graph.nodes))

    def run(self) -> None:
        """Go through the nodes."""
        for node in list(self.graph.nodes):
            self.node = node
            concerns = _touches(node) or not self.stacked.keys().isdisjoint(node.all_input_nodes)
            if node.op != "placeholder" and concerns:
                with self.graph.inserting_before(node):
                    self._replace(node)

    def _replace(self, node: Node) -> None:
        """Write a node's parts, or let it have what it reads in memory."""
        made: Any = NotImplemented
        has_own_size = bool(node.meta.get("unbacked_bindings"))  # Two parts would have two.
        if node.op == "call_function" and node.target in _HANDLERS and not has_own_size:
            made = _HANDLERS[node.target](self, *node.args, **node.kwargs)
        if made is NotImplemented:
            for source in node.all_input_nodes:
                if source in self.made:
                    node.replace_input_with(source, self.whole(source))
        elif isinstance(made, tuple):
            self.made.add(node)
            self.pairs[node] = made
        else:
            node.replace_all_uses_with(made)

    def emit(self, op: Any, *args: Any, **kwargs: Any) -> Node:
        """Write an operator of real numbers."""
        values, named = torch.fx.node.map_arg((args, kwargs), _value)
        node = self.graph.call_function(op, args, kwargs)
        node.meta = {key: item for key, item in self.node.meta.items() if key not in _OF_RESULT}
        with self.fake_mode:
            node.meta["val"] = op(*values, **named)
        return node

    # -- Parts and wholes ---------------------------------------------------------

    def operands(self, *given: Any) -> list[Pair]:
        """Return the parts of operands in the dtype that NumPy computes in."""
        dtype = _value(self.node).dtype
        if not dtype.is_complex:
            values = [_value(one) if isinstance(one, Node) else one for one in given]
            dtype = torch.result_type(*values)
        return [self.cast(self.parts(one), dtype.to_real()) for one in given]

    def broadcast(self, *given: Any) -> list[Pair]:
        """Return the parts of operands, each with all axes of its operand."""
        return [
            (real, self.array(imaginary, real))
            if isinstance(real, Node) and _value(real).dim()
            else (real, imaginary)
            for real, imaginary in self.operands(*given)
        ]

    def cast(self, pair: Pair, dtype: torch.dtype) -> Pair:
        """Return parts in a real dtype."""
        real, imaginary = (
            self.emit(_prims.convert_element_type.default, part, dtype)
            if isinstance(part, Node) and _value(part).dtype != dtype
            else part
            for part in pair
        )
        return real, imaginary

    def parts(self, given: Any) -> Pair:
        """Return the real and the imaginary part of an operand."""
        if not isinstance(given, Node):
            number = complex(given)
            return number.real, number.imag
        if given in self.pairs:
            return self.pairs[given]
        if not isinstance(_value(given), torch.Tensor):  # A size.
            return self._filled([], given, self.node), 0.0
        if not _is_complex(given):
            return given, 0.0
        place = given
        if given.op == "placeholder":  # All of them come first.
            *_, place = self.graph.find_nodes(op="placeholder")
        with self.graph.inserting_before(place.next):
            seen = self.emit(_aten.view_as_real.default, given)
            real, imaginary = (self.emit(_aten.select.int, seen, -1, part) for part in (0, 1))
        self.pairs[given] = real, imaginary
        return self.pairs[given]

    def array(self, part: Real, like: Node) -> Node:
        """Return a part as an array, as another is."""
        if isinstance(part, Node):
            return part
        sizes = [
            size if isinstance(size, int) else self.emit(_aten.sym_size.int, like, axis)
            for axis, size in enumerate(_value(like).shape)
        ]
        return self._filled(sizes, part, like)

    def arrays(self, node: Node) -> tuple[Node, Node]:
        """Return the parts of an array as arrays."""
        real, imaginary = self.parts(node)
        assert isinstance(real, Node)
        return real, self.array(imaginary, real)

    def number(self, part: Real, like: Real) -> Node:
        """Return a part as an array without dimensions, if it's the same everywhere."""
        if isinstance(part, Node):
            return part
        return self._filled([], part, like if isinstance(like, Node) else self.node)

    def _filled(self, sizes: Sequence[int | Node], part: float | Node, like: Node) -> Node:
        value = _value(like)
        dtype = value.dtype.to_real() if value.is_complex() else value.dtype
        return self.emit(_aten.full.default, sizes, part, dtype=dtype, device=value.device)

    def whole(self, node: Node) -> Node:
        """Return a complex array as it is in memory."""
        if node not in self.wholes:
            self.wholes[node] = self.written(node)
        return self.wholes[node]

    def written(self, node: Node) -> Node:
        """Write the parts of a complex array to memory, in its layout."""
        order = _order(_value(node))
        parts = [self.emit(_aten.permute.default, part, order) for part in self.arrays(node)]
        parts = [self.emit(_aten.unsqueeze.default, part, -1) for part in parts]
        made: Node = self.emit(_aten.cat.default, parts, -1)
        made = self.emit(_aten.view_as_complex.default, made)
        back = [order.index(axis) for axis in range(len(order))]
        return self.emit(_aten.permute.default, made, back)


def _order(value: torch.Tensor) -> list[int]:
    """Return the axes of a dense array from the outermost in memory to the innermost."""
    axes = list(range(value.dim()))
    strides = value.stride()

    def follows(order: Sequence[int]) -> bool:
        size: Any = 1
        for axis in reversed(order):
            if not statically_known_true(strides[axis] == size):
                return False
            size = size * value.shape[axis]
        return True

    by_stride = axes
    if all(isinstance(stride, int) for stride in strides):
        by_stride = sorted(axes, key=lambda axis: -strides[axis])
    orders = (axes, by_stride, axes[::-1])
    return next((order for order in orders if follows(order)), axes)


# -- Real numbers, and numbers that are the same everywhere -----------------------


def _plus(at: _Splitting, x: Real, y: Real) -> Real:
    if isinstance(x, Node) or isinstance(y, Node):
        return at.emit(_aten.add.Tensor, *_array_first(x, y))
    return x + y


def _minus(at: _Splitting, x: Real, y: Real) -> Real:
    if not isinstance(y, Node):
        is_zero = y == 0 and math.copysign(1, y) > 0  # Another zero may change a sign.
        return x if is_zero else _plus(at, x, -y)
    if isinstance(x, Node):
        return at.emit(_aten.sub.Tensor, x, y)
    return _plus(at, x, _negated(at, y))


def _times(at: _Splitting, x: Real, y: Real) -> Real:
    if not isinstance(x, Node) and not isinstance(y, Node):
        return x * y
    array, other = _array_first(x, y)
    return array if other == 1 else at.emit(_aten.mul.Tensor, array, other)


def _over(at: _Splitting, x: Real, y: Real) -> Real:
    if isinstance(y, Node):
        x = x if isinstance(x, Node) else at.array(x, y)
        return at.emit(_aten.div.Tensor, x, y)
    if isinstance(x, Node):
        return at.emit(_aten.div.Tensor, x, y)
    return float(np.divide(x, y))


def _negated(at: _Splitting, x: Real) -> Real:
    return at.emit(_aten.neg.default, x) if isinstance(x, Node) else -x


def _size_of(at: _Splitting, x: Real) -> Real:
    return at.emit(_aten.abs.default, x) if isinstance(x, Node) else abs(x)


def _array_first(x: Real, y: Real) -> tuple[Real, Real]:
    return (x, y) if isinstance(x, Node) else (y, x)


def _chosen(at: _Splitting, condition: Node | bool, yes: Real, no: Real) -> Real:
    if isinstance(condition, bool):
        return yes if condition else no
    if yes is no:
        return yes
    return at.emit(_aten.where.self, condition, at.number(yes, no), at.number(no, yes))


def _compared(at: _Splitting, op: str, x: Real, y: Real) -> Node | bool:
    if isinstance(x, Node):
        overload = "Tensor" if isinstance(y, Node) else "Scalar"
        return at.emit(getattr(getattr(_aten, op), overload), x, y)
    if isinstance(y, Node):
        return at.emit(getattr(_aten, _MIRRORED[op]).Scalar, y, x)
    return bool(getattr(operator, op)(x, y))


_MIRRORED = {"ge": "le", "eq": "eq", "ne": "ne"}


def _combined(at: _Splitting, op: str, x: Node | bool, y: Node | bool) -> Node | bool:
    if isinstance(x, Node) and isinstance(y, Node):
        return at.emit(getattr(_aten, f"logical_{op}").default, x, y)
    decides = op == "or"
    known, other = (x, y) if isinstance(x, bool) else (y, x)
    return known if known is decides else other


# -- Arithmetic -------------------------------------------------------------------


def _added(at: _Splitting, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return _of_parts(at, _plus, x, y, alpha)


def _subtracted(at: _Splitting, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return _of_parts(at, _minus, x, y, alpha)


def _of_parts(at: _Splitting, op: Callable[..., Real], x: Any, y: Any, alpha: Any) -> Any:
    if alpha != 1:
        return NotImplemented
    if _is_complex(at.node):
        (a, b), (c, d) = at.broadcast(x, y)
        return op(at, a, c), op(at, b, d)
    if all(node in at.stacked or _is_view_of_parts(node) for node in (x, y)):
        (a, b), (c, d) = _both_of(at, x), _both_of(at, y)
        at.stacked[at.node] = op(at, a, c), op(at, b, d)  # type: ignore[assignment]
    return NotImplemented


def _is_view_of_parts(node: object) -> bool:
    return isinstance(node, Node) and node.target is _aten.view_as_real.default


def _multiplied(at: _Splitting, x: Any, y: Any) -> Pair:
    (a, b), (c, d) = at.operands(x, y)
    return (
        _minus(at, _times(at, a, c), _times(at, b, d)),
        _plus(at, _times(at, a, d), _times(at, b, c)),
    )


def _power(at: _Splitting, x: Any, exponent: Any) -> Any:
    """NumPy, too, takes a square for a product."""
    return _multiplied(at, x, x) if exponent == 2 else NotImplemented


def _reciprocal(at: _Splitting, x: Any) -> Pair:
    return _divided(at, 1.0, x)


def _divided(at: _Splitting, x: Any, y: Any) -> Pair:
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


def _negative(at: _Splitting, x: Any) -> Pair:
    a, b = at.parts(x)
    return _negated(at, a), _negated(at, b)


def _conjugate(at: _Splitting, x: Any) -> Pair:
    a, b = at.parts(x)
    return a, _negated(at, b)


def _absolute(at: _Splitting, x: Any) -> Node:
    return at.emit(_aten.hypot.default, *at.arrays(x))


def _exponential(at: _Splitting, x: Any) -> Pair:
    """Turn by the imaginary part and stretch by the real one, which may be too large alone."""
    a, b = at.arrays(x)
    dtype = _value(a).dtype
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


def _equal(at: _Splitting, x: Any, y: Any) -> Node:
    return _told(at, "eq", "and", x, y)


def _unequal(at: _Splitting, x: Any, y: Any) -> Node:
    return _told(at, "ne", "or", x, y)


def _told(at: _Splitting, comparison: str, combination: str, x: Any, y: Any) -> Node:
    (a, b), (c, d) = at.broadcast(x, y)
    parts = (_compared(at, comparison, *part) for part in ((a, c), (b, d)))
    found = _combined(at, combination, *parts)
    if isinstance(found, Node):
        return found
    device = _value(at.node).device  # No axes: else both parts would be arrays.
    return at.emit(_aten.full.default, [], found, dtype=torch.bool, device=device)


def _where(at: _Splitting, condition: Node, x: Any, y: Any) -> Pair:
    real, imaginary = zip(*at.broadcast(x, y), strict=True)

    def chosen(yes: Real, no: Real) -> Node:
        return at.emit(_aten.where.self, condition, at.number(yes, no), at.number(no, yes))

    return chosen(*real), chosen(*imaginary)


# -- Parts, and what is made of them ------------------------------------------------


def _of_real_parts(at: _Splitting, real: Node, imaginary: Node) -> Pair:
    return at.cast((real, imaginary), _value(at.node).dtype.to_real())


def _both_of(at: _Splitting, x: Node) -> tuple[Node, Node]:
    """Return both parts of what has them along its last axis."""
    if x not in at.stacked:
        real, imaginary = (at.emit(_aten.select.int, x, -1, part) for part in (0, 1))
        at.stacked[x] = real, imaginary
    return at.stacked[x]


def _as_real(at: _Splitting, x: Node) -> Any:
    if x in at.made:
        at.stacked[at.node] = at.arrays(x)
    return NotImplemented


def _selected(at: _Splitting, x: Node, axis: int, index: Any) -> Any:
    if x not in at.stacked:
        return _moved(_aten.select.int, (0,))(at, x, axis, index)
    is_part = axis in (-1, _value(x).dim() - 1) and index in (0, 1)
    return at.stacked[x][index] if is_part else NotImplemented


def _kept(at: _Splitting, x: Node) -> Any:
    """Copy what may be changed while the copy is needed, or the other way round."""
    return at.written(x) if x in at.made else NotImplemented


def _cast(at: _Splitting, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Cast to a complex dtype, from any; what follows of the arguments is where the result lies."""
    dtype = _value(at.node).dtype
    if not dtype.is_complex or kwargs.get("device") not in (None, _value(x).device):
        return NotImplemented
    return at.cast(at.parts(x), dtype.to_real())


def _filled(at: _Splitting, sizes: Any, number: Any, **kwargs: Any) -> Any:
    if isinstance(number, Node):
        return NotImplemented
    number = complex(number)
    kwargs["dtype"] = _value(at.node).dtype.to_real()
    return at.emit(_aten.full.default, sizes, number.real, **kwargs), number.imag


def _moved(op: Any, places: Sequence[int]) -> Callable[..., Any]:
    """Return what does the same to both parts: moves elements, or adds them up.

    Parameters
    ----------
    op : OpOverload
    places : sequence of int
        Which arguments are complex, or become so.
    """

    def apply(at: _Splitting, *args: Any, **kwargs: Any) -> Any:
        dtype = _value(at.node).dtype
        if not dtype.is_complex or at.made.isdisjoint(at.node.all_input_nodes):
            return NotImplemented  # What lies in memory is viewed or copied as it is.
        if "dtype" in kwargs:
            kwargs["dtype"] = dtype.to_real()

        def part(which: int) -> Node:
            def of(node: Node) -> Node:
                real, imaginary = at.cast(at.arrays(node), dtype.to_real())
                found = (real, imaginary)[which]
                assert isinstance(found, Node)
                return found

            mapped = [
                torch.fx.node.map_arg(argument, of) if place in places else argument
                for place, argument in enumerate(args)
            ]
            return at.emit(op, *mapped, **kwargs)

        return part(0), part(1)

    return apply


#: What does the same to both parts, and which arguments are complex.
_MOVES: dict[Any, tuple[int, ...]] = {
    _aten._unsafe_view.default: (0,),
    _aten.alias.default: (0,),
    _aten.cat.default: (0,),
    _aten.clone.default: (0,),
    _aten.copy.default: (0, 1),
    _aten.cumsum.default: (0,),
    _aten.diagonal.default: (0,),
    _aten.expand.default: (0,),
    _aten.flip.default: (0,),
    _aten.gather.default: (0,),
    _aten.index.Tensor: (0,),
    _aten.index_put.default: (0, 2),
    _aten.index_select.default: (0,),
    _aten.mean.default: (0,),
    _aten.mean.dim: (0,),
    _aten.permute.default: (0,),
    _aten.repeat.default: (0,),
    _aten.reshape.default: (0,),
    _aten.scatter.src: (0, 3),
    _aten.select_scatter.default: (0, 1),
    _aten.slice.Tensor: (0,),
    _aten.slice_scatter.default: (0, 1),
    _aten.squeeze.default: (0,),
    _aten.squeeze.dim: (0,),
    _aten.squeeze.dims: (0,),
    _aten.sum.default: (0,),
    _aten.sum.dim_IntList: (0,),
    _aten.t.default: (0,),
    _aten.unsqueeze.default: (0,),
    _aten.view.default: (0,),
}
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
    **{op: _moved(op, places) for op, places in _MOVES.items()},
    _aten.select.int: _selected,
    _prims.clone.default: _kept,
    _aten._conj.default: _conjugate,
    _aten.conj_physical.default: _conjugate,
    _aten._conj_physical.default: _conjugate,
    _aten.complex.default: _of_real_parts,
    _aten.view_as_complex.default: _both_of,
    _aten.view_as_real.default: _as_real,
    _aten._to_copy.default: _cast,
    _prims.convert_element_type.default: _cast,
    _aten.full.default: _filled,
}
