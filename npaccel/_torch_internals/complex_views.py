"""Let Inductor know what a view of complex numbers is a view of.

It leaves whatever is complex to torch, views as well, and takes each for an array of its own: a
write to one of two views may then come before or after a read of the other. A view needs no code
for its elements. With Inductor's own form of it the order of reads and writes is kept, and no call
is made for the view.

Of pairs of real numbers that are viewed as complex ones it takes the memory for free when the
pairs themselves aren't read any more, though the view may be.

Read from torch/_inductor/graph.py (run_node, never_reuse_buffers), lowering.py and
codegen/wrapper.py (can_reuse) of 2.11 and 2.13.
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
from torch._inductor.ir import ExternKernel, TensorBox
from torch._inductor.virtualized import V

from npaccel._torch_internals.patching import patched

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
    """Let code that is generated meanwhile take complex arguments as pairs of real numbers.

    Parameters
    ----------
    names : collection of str
        The arguments' names.
    """

    def write_args(original: Any) -> Any:
        def write(self: Any, input_names: list[str]) -> None:
            original(self, input_names)
            if not isinstance(self, SubgraphPythonWrapperCodegen):
                for name in names:
                    self.prefix.writeline(f"{name} = torch.view_as_real({name})")

        return write

    with patched([(PythonWrapperCodegen, "write_args", write_args)]):
        yield


@contextlib.contextmanager
def known_as_views() -> Iterator[None]:
    """Let graphs that are lowered meanwhile have Inductor's own views of complex numbers."""
    known: Any = lowering.lowerings
    constraints: Any = lowering._maybe_layout_constraints
    target = _aten.view_as_complex.default
    of_pairs, constraint = known[target], constraints[target]
    known[target], constraints[target] = _kept(of_pairs), _as_pairs_lie
    try:
        with patched([(inductor_graph, "fallback_node_due_to_unsupported_type", _unless_view)]):
            yield
    finally:
        known[target], constraints[target] = of_pairs, constraint


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


__all__ = ["known_as_views", "seen_as_real"]
