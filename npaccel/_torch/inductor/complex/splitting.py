"""Go through a graph and keep track of what its complex arrays are: two real ones, or pairs.

What is computed element by element is two real arrays, the parts, which are computed and fused as
any others. What lies in memory is one real array with the parts along a last axis: that of an
argument is the argument, and views of it, copies and writes stay what they are for real arrays.
Complex numbers as torch knows them are left where an operator takes nothing else, and among the
results.

Read from torch/_inductor/compile_fx.py and torch/_functorch/_aot_autograd/graph_compile.py
(the writes to arguments come last in a graph) of 2.11 and 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
from torch._guards import detect_fake_mode
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from npaccel._torch.inductor.complex.stores import pairs_of

_aten, _prims = torch.ops.aten, torch.ops.prims

#: A real array, or a number that is the same everywhere.
Real: TypeAlias = "Node | float"
#: The real and the imaginary part.
Pair: TypeAlias = tuple[Real, Real]

#: Keys of a node's meta on its own result.
_OF_RESULT = ("val", "tensor_meta", "eager_input_vals", "unbacked_bindings")


class InMemory(NamedTuple):
    """Memory of a complex array: a real one with the parts along its last axis."""

    array: Node


def value_of(node: object) -> Any:
    """Return what a node's result is like, None for what is no node."""
    return node.meta.get("val") if isinstance(node, Node) else None


def is_complex(node: object) -> bool:
    """Whether this is a node whose result is a complex array."""
    value = value_of(node)
    return isinstance(value, torch.Tensor) and value.is_complex()


def touches(node: Node) -> bool:
    """Whether a node reads or gives complex arrays."""
    return is_complex(node) or any(map(is_complex, node.all_input_nodes))


class Splitting:
    """Replace nodes, in their order.

    Parameters
    ----------
    graph : Graph
    handlers : mapping
        What replaces a node, by operator. It takes this object and the node's arguments, and
        returns the parts, what lies in memory, a node, or NotImplemented.

    Attributes
    ----------
    pairs : dict
        The parts of what is complex; the nodes themselves stay until nothing reads them.
    made : set
        The nodes that are computed as pairs.
    stacked : dict
        The same for real arrays, in which both parts lie along the last axis.
    inputs : list of str
        The names of complex inputs, which are real ones now, with both parts along a last axis.
    node : Node
        What is replaced now.
    """

    def __init__(self, graph: Graph, handlers: Mapping[Any, Callable[..., Any]]) -> None:
        self.graph = graph
        self.handlers = handlers
        self.fake_mode: Any = detect_fake_mode([value_of(node) for node in graph.nodes])
        self.pairs: dict[Node, Pair] = {}
        self.made: set[Node] = set()
        self.stacked: dict[Node, tuple[Node, Node]] = {}
        self.inputs: list[str] = []
        self._memory: dict[Node, Node] = {}
        self._wholes: dict[Node, Node] = {}
        self.node: Node = next(iter(graph.nodes))
        #: Start of the writes to arguments, behind all that may read them. Only views for the
        #: results may follow.
        writes = graph.find_nodes(op="call_function", target=_aten.copy_.default, sort=True)
        ends = [node for node in writes if node.args[0].op == "placeholder"]
        self._end = ends[0] if ends else graph.output_node()

    def run(self) -> None:
        """Go through the nodes."""
        nodes = list(self.graph.nodes)
        self._take_inputs()
        for node in nodes:
            self.node = node
            concerns = touches(node) or not self.stacked.keys().isdisjoint(node.all_input_nodes)
            if node.op != "placeholder" and concerns:
                with self.graph.inserting_before(node):
                    self._replace(node)

    def _take_inputs(self) -> None:
        """Make complex inputs real ones, and what reads them read them as complex numbers."""
        *_, last = self.graph.find_nodes(op="placeholder") or [None]
        for node in list(self.graph.find_nodes(op="placeholder")):
            if not is_complex(node):
                continue
            self.node = node
            with self.fake_mode:
                node.meta["val"] = torch.view_as_real(node.meta["val"])
            node.meta.pop("tensor_meta", None)
            with self.graph.inserting_before(last.next):
                seen = self.emit(_aten.view_as_complex.default, node)
            node.replace_all_uses_with(seen, lambda user, seen=seen: user is not seen)  # type: ignore[misc]
            self._memory[seen], self._wholes[seen] = node, seen
            self.inputs.append(node.target)

    def _replace(self, node: Node) -> None:
        """Write a node's parts, or let it have what it reads in memory."""
        made: Any = NotImplemented
        has_own_size = bool(node.meta.get("unbacked_bindings"))  # Two parts would have two.
        if node.op == "call_function" and node.target in self.handlers and not has_own_size:
            made = self.handlers[node.target](self, *node.args, **node.kwargs)
        if made is NotImplemented:
            for source in node.all_input_nodes:
                if source in self.made or source in self._memory:
                    node.replace_input_with(source, self.whole(source))
        elif isinstance(made, InMemory):
            self._memory[node] = made.array
        elif isinstance(made, tuple):
            self.made.add(node)
            self.pairs[node] = made
        else:
            node.replace_all_uses_with(made)
            self.graph.erase_node(node)

    def emit(self, op: Any, *args: Any, **kwargs: Any) -> Node:
        """Write an operator of real numbers."""
        values, named = torch.fx.node.map_arg((args, kwargs), value_of)
        node = self.graph.call_function(op, args, kwargs)
        node.meta = {key: item for key, item in self.node.meta.items() if key not in _OF_RESULT}
        with self.fake_mode:
            node.meta["val"] = op(*values, **named)
        return node

    # -- Parts ----------------------------------------------------------------------

    def operands(self, *given: Any) -> list[Pair]:
        """Return the parts of operands in the dtype that NumPy computes in."""
        dtype = value_of(self.node).dtype
        if not dtype.is_complex:
            values = [value_of(one) if isinstance(one, Node) else one for one in given]
            dtype = torch.result_type(*values)
        return [self.cast(self.parts(one), dtype.to_real()) for one in given]

    def broadcast(self, *given: Any) -> list[Pair]:
        """Return the parts of operands, each with all axes of its operand."""
        return [
            (real, self.array(imaginary, real))
            if isinstance(real, Node) and value_of(real).dim()
            else (real, imaginary)
            for real, imaginary in self.operands(*given)
        ]

    def cast(self, pair: Pair, dtype: torch.dtype) -> Pair:
        """Return parts in a real dtype."""
        real, imaginary = (
            self.emit(_prims.convert_element_type.default, part, dtype)
            if isinstance(part, Node) and value_of(part).dtype != dtype
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
        if not isinstance(value_of(given), torch.Tensor):  # A size.
            return self._filled([], given, self.node), 0.0
        if not is_complex(given):
            return given, 0.0
        self.pairs[given] = self.both_of(self.memory(given))
        return self.pairs[given]

    def both_of(self, x: Node) -> tuple[Node, Node]:
        """Return both parts of what has them along its last axis."""
        if x not in self.stacked:
            real, imaginary = (self.emit(_aten.select.int, x, -1, part) for part in (0, 1))
            return real, imaginary
        return self.stacked[x]

    def array(self, part: Real, like: Node) -> Node:
        """Return a part as an array, as another is."""
        if isinstance(part, Node):
            return part
        sizes = [
            size if isinstance(size, int) else self.emit(_aten.sym_size.int, like, axis)
            for axis, size in enumerate(value_of(like).shape)
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
        value = value_of(like)
        dtype = value.dtype.to_real() if value.is_complex() else value.dtype
        return self.emit(_aten.full.default, sizes, part, dtype=dtype, device=value.device)

    # -- What lies in memory ----------------------------------------------------------

    def memory(self, node: Node) -> Node:
        """Return a complex array as a real one, with the parts along a last axis."""
        if node not in self._memory:
            if node in self.made:
                self._memory[node] = self.stack(self.arrays(node), value_of(node))
            else:
                self._memory[node] = self.emit(_aten.view_as_real.default, node)
                self._wholes[node] = node
        return self._memory[node]

    def memory_for(self, node: Node, dtype: torch.dtype) -> Node:
        """Return an array, real ones as well, as complex numbers whose parts have some dtype."""
        if is_complex(node) and value_of(node).dtype.to_real() == dtype:
            return self.memory(node)
        real, imaginary = self.cast(self.arrays(node), dtype)
        assert isinstance(real, Node)
        assert isinstance(imaginary, Node)
        return self.stack((real, imaginary), value_of(node))

    def whole(self, node: Node) -> Node:
        """Return a complex array as torch has it."""
        if node in self._wholes:
            return self._wholes[node]
        if node not in self.made and node not in self._memory:
            return node
        known = (self._memory[node],) if node in self._memory else self.pairs[node]
        is_early = all(one < self._end for one in known if isinstance(one, Node))
        is_result = self.node.op == "output" and is_early
        with self.graph.inserting_before(self._end if is_result else self.node):
            self._wholes[node] = self.emit(_aten.view_as_complex.default, self.memory(node))
        return self._wholes[node]

    def written(self, node: Node, value: Node) -> Node:
        """Write to an argument; what is written is read first, whatever else is written."""
        with self.graph.inserting_before(self._end):
            array = self.memory_for(value, value_of(node).dtype.to_real())
        made = self.emit(_aten.copy_.default, self.memory(node), array)
        if self._end is self.node:
            self._end = made
        return made

    def stack(self, parts: tuple[Node, Node], like: torch.Tensor) -> Node:
        """Lay both parts along a last axis; the others lie in memory as those of another array."""
        order = _order(like)
        if order == sorted(order):
            return self.emit(pairs_of, *parts)
        made = self.emit(pairs_of, *(self.emit(_aten.permute.default, p, order) for p in parts))
        return self._turned_back(made, order)

    def copy(self, op: Any, array: Node, like: torch.Tensor) -> Node:
        """Copy pairs to memory in the order of another array's axes."""
        order = _order(like)
        packed = {"memory_format": torch.contiguous_format}
        if order == sorted(order):
            return self.emit(op, array, **packed)
        turned = self.emit(_aten.permute.default, array, [*order, len(order)])
        return self._turned_back(self.emit(op, turned, **packed), order)

    def _turned_back(self, array: Node, order: Sequence[int]) -> Node:
        back = [order.index(axis) for axis in range(len(order))]
        return self.emit(_aten.permute.default, array, [*back, len(order)])


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


__all__ = ["InMemory", "Pair", "Real", "Splitting", "is_complex", "touches", "value_of"]
