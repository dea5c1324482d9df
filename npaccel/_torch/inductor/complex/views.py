"""Tell Inductor what a view of complex numbers is a view of.

It leaves whatever is complex to torch, views as well, and takes each for an array of its own: a
write to one of two views may then come before or after a read of the other. A view needs no code
for its elements. With Inductor's own view the order of reads and writes is kept, and no call
is made for the view.

Of pairs of real numbers that are viewed as complex ones it takes the memory for free when the
pairs themselves aren't read any more, though the view may be.

Such a view is a call, and what is compiled before and after a call are two kernels: each takes
half a second of the C++ compiler, whatever it computes.

Read from torch/_inductor/graph.py (run_node, never_reuse_buffers), lowering.py, scheduler.py
(compute_last_usage, which is the last thing before code is generated) and codegen/wrapper.py
(can_reuse) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

import torch
from sympy import sympify  # type: ignore[import-untyped]
from torch._inductor import graph as inductor_graph
from torch._inductor import lowering
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen
from torch._inductor.ir import ExternKernel, MultiOutput, TensorBox
from torch._inductor.scheduler import BaseSchedulerNode, Scheduler
from torch._inductor.virtualized import V

from npaccel._torch.patching import Patch, patched, registered

_aten = torch.ops.aten

#: Views that are the same for all dtypes.
_VIEWS = frozenset(
    {
        _aten._unsafe_view.default,
        _aten.alias.default,
        _aten.as_strided.default,
        _aten.diagonal.default,
        _aten.expand.default,
        _aten.permute.default,
        _aten.reshape.default,
        _aten.select.int,
        _aten.slice.Tensor,
        _aten.split.Tensor,
        _aten.split_with_sizes.default,
        _aten.squeeze.dim,
        _aten.squeeze.dims,
        _aten.t.default,
        _aten.unbind.int,
        _aten.unsqueeze.default,
        _aten.view.default,
    }
)


@contextlib.contextmanager
def seen_as_real(names: Collection[str]) -> Iterator[None]:
    """Generate code meanwhile that takes complex arguments as pairs of real numbers.

    Parameters
    ----------
    names : collection of str
        The arguments' names.
    """
    with patched([patch.given(names) for patch in _OF_ARGUMENTS]):
        yield


def _write_args(names: Collection[str], original: Any) -> Any:
    def write_args(self: Any, input_names: list[str]) -> None:
        original(self, input_names)
        if not isinstance(self, SubgraphPythonWrapperCodegen):
            for name in names:
                self.prefix.writeline(f"{name} = torch.view_as_real({name})")

    return write_args


@contextlib.contextmanager
def known_as_views() -> Iterator[None]:
    """Lower graphs meanwhile with Inductor's own views of complex numbers."""
    known: Any = lowering.lowerings
    constraints: Any = lowering._maybe_layout_constraints
    target = _aten.view_as_complex.default
    with (
        registered(known, {target: _kept(known[target])}),
        registered(constraints, {target: _as_pairs_lie}),
        patched(_OF_GRAPHS),
    ):
        yield


def _unless_view(original: Any) -> Any:
    def falls_back(node: torch.fx.Node, *args: Any, **kwargs: Any) -> bool:
        return node.target not in _VIEWS and original(node, *args, **kwargs)

    return falls_back


def _as_pairs_lie(node: torch.fx.Node, pairs: Any) -> tuple[Any, Any]:
    """Copy pairs that can't be viewed as they lie in memory, not all that aren't contiguous."""
    pairs.realize()
    placed = TensorBox(ExternKernel.realize_input(pairs))
    *outer, inner = placed.get_stride()
    is_even = all((stride / 2).is_integer for stride in map(sympify, (*outer, _offset(placed))))
    if not is_even or inner != 1:
        placed = ExternKernel.require_contiguous(placed)
    return (placed,), {}


def _offset(placed: Any) -> Any:
    return placed.get_layout().offset


def _kept(of_pairs: Any) -> Any:
    def as_complex(pairs: Any) -> Any:
        V.graph.never_reuse_buffers.add(pairs.get_name())
        return of_pairs(pairs)

    return as_complex


@contextlib.contextmanager
def viewed_late() -> Iterator[None]:
    """Have what is computed in pairs viewed as complex when that is needed, not in between."""
    with patched(_OF_SCHEDULES):
        yield


def _after_views_are_put_off(original: Any) -> Any:
    def compute_last_usage(self: Any) -> None:
        self.nodes = _views_put_off(self.nodes)
        original(self)

    return compute_last_usage


def _views_put_off(nodes: list[BaseSchedulerNode]) -> list[BaseSchedulerNode]:
    """Return nodes in an order in which views come just before what has to follow them."""
    found: list[BaseSchedulerNode] = []
    waiting: dict[str, BaseSchedulerNode] = {}

    def take_what_precedes(node: BaseSchedulerNode) -> None:
        for dependency in node.unmet_dependencies:
            view = waiting.pop(dependency.name, None)
            if view is not None:
                take_what_precedes(view)
                found.append(view)

    for node in nodes:
        if _is_view(node, waiting):
            (output,) = node.get_buffer_names()
            waiting[output] = node
        else:
            take_what_precedes(node)
            found.append(node)
    while waiting:
        output = next(iter(waiting))
        take_what_precedes(waiting[output])
        found.append(waiting.pop(output))
    return found


def _is_view(node: BaseSchedulerNode, waiting: Collection[str]) -> bool:
    """Whether a node views pairs as complex numbers, or gives a view that waits its name."""
    if isinstance(node.node, MultiOutput):
        return any(dependency.name in waiting for dependency in node.unmet_dependencies)
    made = node.node
    return isinstance(made, ExternKernel) and made.op_overload is _aten.view_as_complex.default


_TEST = "tests/torch_layer/inductor/test_complex_pairs.py"
_OF_ARGUMENTS = (
    Patch(
        PythonWrapperCodegen, "write_args", _write_args,
        "Inductor computes with no complex numbers", _TEST,
    ),
)  # fmt: skip
_OF_GRAPHS = (
    Patch(
        inductor_graph, "fallback_node_due_to_unsupported_type", _unless_view,
        "Inductor leaves its own views of complex numbers to torch", _TEST,
    ),
)  # fmt: skip
_OF_SCHEDULES = (
    Patch(
        Scheduler, "compute_last_usage", _after_views_are_put_off,
        "views between loops over pairs keep those from being fused", _TEST,
    ),
)  # fmt: skip

PATCHES = (*_OF_ARGUMENTS, *_OF_GRAPHS, *_OF_SCHEDULES)

__all__ = ["known_as_views", "seen_as_real", "viewed_late"]
