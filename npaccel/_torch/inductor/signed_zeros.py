"""Keep the zeros that floats are added to: -0.0 + 0.0 is 0.0, and -0.0 - -0.0 too.

Inductor takes arrays of zeros out of sums and differences, and from 2.15 on the number 0 as well.

Read from torch/_inductor/fx_passes/joint_graph.py (constant_fold_uniform_value, remove_no_ops) of
2.11, 2.13 and 2.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.fx_passes import joint_graph
from torch.utils._ordered_set import OrderedSet

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def zeros_added() -> Iterator[None]:
    """Add zeros to floats in graphs that are compiled meanwhile."""
    with patched(PATCHES):
        yield


#: Sums and differences, and what they are called while the original looks for those of zeros.
_HIDDEN_BY = {
    torch.ops.aten.add.Tensor: torch.ops.aten.add.Scalar,
    torch.ops.aten.sub.Tensor: torch.ops.aten.sub.Scalar,
}


def _of_integers(original: Any) -> Any:
    def remove_no_ops(graph: torch.fx.GraphModule, zeros: Any, ones: Any) -> None:
        exact = [node for node in zeros if not _has_signed_zeros(node)]
        with _sums_with_numbers_hidden(graph.graph):
            original(graph, OrderedSet(exact), ones)

    return remove_no_ops


@contextlib.contextmanager
def _sums_with_numbers_hidden(graph: torch.fx.Graph) -> Iterator[None]:
    """Hide the sums of floats and the number 0 meanwhile."""
    hidden: dict[torch.fx.Node, Any] = {}
    for target, other in _HIDDEN_BY.items():
        for node in graph.find_nodes(op="call_function", target=target):
            if _has_signed_zeros(node) and any(_is_zero(argument) for argument in node.args):
                hidden[node] = target
                node.target = other
    try:
        yield
    finally:
        for node, target in hidden.items():
            node.target = target


def _is_zero(argument: Any) -> bool:
    return isinstance(argument, int | float) and argument == 0


def _has_signed_zeros(node: torch.fx.Node) -> bool:
    dtype = node.meta["val"].dtype
    return bool(dtype.is_floating_point or dtype.is_complex)


PATCHES = (
    Patch(
        joint_graph, "remove_no_ops", _of_integers,
        "Inductor drops zeros that are added, so that -0.0 stays",
        "tests/numpy_layer/test_signs_of_zero.py",
    ),
)  # fmt: skip

__all__ = ["zeros_added"]
