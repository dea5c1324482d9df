"""Body of a scan: a graph, and the graphs that are its derivatives and its batch.

Read from torch/utils/_python_dispatch.py and torch/_functorch/pyfunctorch.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import constrain_range
from torch.utils._python_dispatch import _disable_current_modes

from npaccel._torch.transforms.functional_forms import DECOMPOSITIONS

#: A flag for each tensor.
Flags = tuple[bool, ...]

#: Whether derivatives keep the state of each segment only: its length, or whether there are some.
recomputes: contextvars.ContextVar[Any] = contextvars.ContextVar("npaccelrecomputes", default=False)


@contextlib.contextmanager
def recomputing(checkpoint: bool | int) -> Iterator[None]:
    """Have derivatives of scans that are traced meanwhile keep one state of each segment.

    Parameters
    ----------
    checkpoint : bool or int
        As of `npaccel.grad`.
    """
    token = recomputes.set(checkpoint)
    try:
        yield
    finally:
        recomputes.reset(token)


_numbers = itertools.count()
#: Bodies by the operator's number; a body lives as long as the graph that names it.
_bodies: weakref.WeakValueDictionary[int, Body] = weakref.WeakValueDictionary()


def body_of(number: int) -> Body:
    """Return the body that an operator names."""
    return _bodies[number]


def bodies_in(graph: torch.fx.Graph) -> list[Body]:
    """Return the bodies that a graph names, which have to be kept as long as it."""
    scans = graph.find_nodes(op="call_function", target=torch.ops.npaccel.scan.default)
    return [_bodies[node.args[4]] for node in scans]  # type: ignore[index]


class Body:
    """Body of a scan: what it computes in each iteration.

    Parameters
    ----------
    module : torch.fx.GraphModule
        Takes the number of the iteration, a tensor, then carry, items and constants, of which the
        last ones are sizes. Returns a tuple of carry and results.
    carried, items, sizes : int
        How many of its inputs there are of each kind.

    Attributes
    ----------
    number : int
        By which the operator names it.
    """

    def __init__(
        self, module: torch.fx.GraphModule, carried: int, items: int, sizes: int = 0
    ) -> None:
        self.module = module
        self.carried = carried
        self.items = items
        self.sizes = sizes
        nodes = list(module.graph.find_nodes(op="placeholder"))
        self.examples = [node.meta["val"] for node in nodes]
        self.constants = len(nodes) - 1 - carried - items - sizes
        self.number = next(_numbers)
        self._derived: dict[Any, Any] = {}
        self._inner = bodies_in(module.graph)
        _bodies[self.number] = self

    @property
    def outputs(self) -> list[Any]:
        """Fake tensors that stand for carry and results of an iteration."""
        return [node.meta["val"] for node in self._output_nodes()]

    def _output_nodes(self) -> list[torch.fx.Node]:
        return list(self.module.graph.output_node().args[0])  # type: ignore[arg-type]

    def split(self, tensors: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Return carry, items and constants of what a scan takes."""
        first, second = self.carried, self.carried + self.items
        return list(tensors[:first]), list(tensors[first:second]), list(tensors[second:])

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is made of the body once."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def reached(self, given: Flags) -> tuple[Flags, Flags]:
        """Return which carry and which results depend on some of what a scan takes.

        Parameters
        ----------
        given : tuple of bool
            For each tensor of carry, items and constants.

        Returns
        -------
        carry, results : tuple of bool
            Carry that is given counts too.
        """
        carry, items, constants = self.split(given)
        while True:
            found = self._reached_once((*carry, *items, *constants))
            new = [a or b for a, b in zip(carry, found, strict=False)]
            if new == carry:
                return tuple(carry), tuple(found[self.carried :])
            carry = new

    def _reached_once(self, given: Sequence[bool]) -> list[bool]:
        nodes = list(self.module.graph.find_nodes(op="placeholder"))[1:]
        reached = {node for node, flag in zip(nodes, given, strict=False) if flag}
        for node in self.module.graph.nodes:
            if any(n in reached for n in node.all_input_nodes):
                reached.add(node)
        return [node in reached for node in self._output_nodes()]

    def uses(self) -> Flags:
        """Return which tensors of carry, items and constants the results or the carry need."""
        nodes = list(self.module.graph.find_nodes(op="placeholder"))[1:]
        return tuple(bool(node.users) for node in nodes)

    def with_history(self, kept: tuple[int, ...]) -> Body:
        """Return a body that has some of the carry, as it comes in, among its results."""
        return self.derived(("history", kept), lambda: self._with_history(kept))  # type: ignore[no-any-return]

    def _with_history(self, kept: tuple[int, ...]) -> Body:
        graph = torch.fx.Graph()
        known: dict[torch.fx.Node, torch.fx.Node] = {}
        out = graph.graph_copy(self.module.graph, known)
        nodes = list(self.module.graph.find_nodes(op="placeholder"))
        graph.output((*out, *(known[nodes[1 + i]] for i in kept)))  # type: ignore[misc]
        return Body(_module(self.module, graph), self.carried, self.items, self.sizes)


def _module(root: torch.fx.GraphModule, graph: torch.fx.Graph) -> torch.fx.GraphModule:
    return torch.fx.GraphModule(root, graph)


def is_float(value: Any) -> bool:
    """Whether a value can have a derivative."""
    return isinstance(value, torch.Tensor) and (
        value.dtype.is_floating_point or value.dtype.is_complex
    )


@contextlib.contextmanager
def _isolated(examples: Sequence[Any]) -> Iterator[None]:
    """Trace beside whatever is traced already."""
    # Not that of what is traced now, where a derivative is wanted of another trace.
    modes = (one.fake_mode for one in examples if isinstance(one, FakeTensor))
    mode = next(modes, None) or detect_fake_mode()
    assert mode is not None
    with (
        temporarily_clear_interpreter_stack(),
        _disable_current_modes(),
        mode,
        torch.no_grad(),
        recomputing(False),  # Segments are no segments themselves.
    ):
        yield


def traced(function: Callable[..., Any], examples: Sequence[Any]) -> torch.fx.GraphModule:
    """Return a function of fake tensors as a graph of ATen's calls, none of which writes to one."""
    with _isolated(examples):
        # One tensor would be one input.
        given = [torch.empty_like(e) if isinstance(e, torch.Tensor) else e for e in examples]
        found = make_fx(function, _allow_non_fake_inputs=True)(*given)
        if any(map(_is_write, found.graph.nodes)):
            found = make_fx(
                torch.func.functionalize(found),
                decomposition_table=DECOMPOSITIONS,
                _allow_non_fake_inputs=True,
            )(*given)
    _without_shapes_of(found.graph)
    found.graph.eliminate_dead_code()
    found.recompile()
    return found


_aten = torch.ops.aten
#: Calls that take of an array its shape alone, and the value that they fill in.
_LIKE = {
    _aten.empty_like.default: 0,
    _aten.zeros_like.default: 0,
    _aten.ones_like.default: 1,
    _aten.new_zeros.default: 0,
    _aten.new_empty.default: 0,
}


def _without_shapes_of(graph: torch.fx.Graph) -> None:
    """Make arrays of known shapes without those whose shape they have, which needn't be kept."""
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if node.target not in _LIKE or not all(type(size) is int for size in value.shape):
            continue
        options = {"dtype": value.dtype, "device": value.device}
        fill = _LIKE[node.target]
        with graph.inserting_before(node):
            new = graph.call_function(_aten.full.default, (list(value.shape), fill), options)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        graph.erase_node(node)


def _is_write(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def number_example(examples: Sequence[Any], count: int) -> Any:
    """Return what stands for the number of an iteration, where it's an integer."""
    with _isolated(examples):
        shape_env = next(one.fake_mode for one in examples if isinstance(one, FakeTensor)).shape_env
        assert shape_env is not None
        with shape_env.ignore_fresh_unbacked_symbols():  # No call of a graph gives it.
            number = shape_env.create_unbacked_symint()
        constrain_range(number, min=0, max=count - 1)
    return number


def with_axis_of(example: torch.Tensor, axis: int, size: Any) -> torch.Tensor:
    """Return what stands for a batch of arrays."""
    shape = list(example.shape)
    shape.insert(axis, size)
    with _isolated([example]):
        return torch.empty(shape, dtype=example.dtype, device=example.device)
