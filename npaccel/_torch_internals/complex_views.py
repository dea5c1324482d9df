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
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor import graph as inductor_graph
from torch._inductor import lowering
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
def known_as_views() -> Iterator[None]:
    """Let graphs that are lowered meanwhile have Inductor's own views of complex numbers."""
    known: Any = lowering.lowerings
    target = _aten.view_as_complex.default
    of_pairs = known[target]
    known[target] = _kept(of_pairs)
    try:
        with patched([(inductor_graph, "fallback_node_due_to_unsupported_type", _unless_view)]):
            yield
    finally:
        known[target] = of_pairs


def _unless_view(original: Any) -> Any:
    def falls_back(node: torch.fx.Node, *args: Any, **kwargs: Any) -> bool:
        return node.target not in _VIEWS and original(node, *args, **kwargs)

    return falls_back


def _kept(of_pairs: Any) -> Any:
    def as_complex(pairs: Any) -> Any:
        pairs.realize()
        V.graph.never_reuse_buffers.add(pairs.get_name())
        return of_pairs(pairs)

    return as_complex


__all__ = ["known_as_views"]
