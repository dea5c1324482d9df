"""Read several arrays by one mask at once: ``x, y, z = x[m], y[m], z[m]``.

Each read alone counts the mask's elements and lists their positions, and its size is one more
number that only the running code knows. Read together the positions are listed once, and the
compiler knows that the results are of one size.

Read from torch/fx/experimental/symbolic_shapes.py and torch/_inductor/ir.py of 2.11 and 2.13.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils import _pytree as pytree

from npaccel._numpy.host import kernels

_aten = torch.ops.aten
_CHOSEN = kernels.chosen
_CHOSEN_EACH = kernels.chosen_each
#: Functions that make masks: the same operation on the same operands gives the same mask.
_ALIKE = (
    *(_aten.bitwise_not.default, _aten.logical_not.default, _aten.view.default),
    *(_aten.bitwise_and.Tensor, _aten.bitwise_or.Tensor, _aten.logical_and.default),
    *(_aten.logical_or.default, _aten.isnan.default, _aten.reshape.default),
    *(getattr(getattr(_aten, name), kind)
      for name in ("lt", "le", "gt", "ge", "eq", "ne") for kind in ("Tensor", "Scalar")),
)  # fmt: skip


def with_shared_masks(module: torch.fx.GraphModule) -> None:
    """Rewrite a functional graph of AOTAutograd in place.

    Parameters
    ----------
    module : torch.fx.GraphModule
        Its nodes have fake tensors; it writes to inputs at its end only.
    """
    graph = module.graph
    order = {node: i for i, node in enumerate(graph.nodes)}
    keys: dict[torch.fx.Node, Hashable] = {}
    groups: dict[Hashable, list[torch.fx.Node]] = {}
    for node in graph.nodes:
        keys[node] = _key(node, keys)
        if node.target is not _CHOSEN:
            continue
        x, mask, axis = node.args
        group = groups.setdefault((keys[mask], axis), [node])
        is_known_before = order[x] < order[group[0]]
        if node is not group[0] and is_known_before and isinstance(_size(node), sympy.Symbol):
            group.append(node)
    for group in groups.values():
        _read_at_once(graph, group)
    if groups:
        graph.eliminate_dead_code()
        module.recompile()


def _key(node: torch.fx.Node, keys: dict[torch.fx.Node, Hashable]) -> Hashable:
    """Return what is equal for nodes that compute the same mask."""
    if node.target not in _ALIKE or node.kwargs:
        return node
    found = [keys[arg] if isinstance(arg, torch.fx.Node) else _constant(arg) for arg in node.args]
    return node if None in found else (node.target, *found)


def _constant(value: Any) -> Hashable:
    """Return a key of a number or a shape; None where there may be more in it."""
    if isinstance(value, bool | int | float):
        return type(value), repr(value)  # 0.0 isn't -0.0, and NaN is itself
    if isinstance(value, list | tuple) and all(type(item) is int for item in value):
        return tuple(value)
    return None


def _size(node: torch.fx.Node) -> Any:
    """Return how many elements a mask leaves, as the compiler knows it."""
    _, _, axis = node.args
    return node.meta["val"].shape[axis].node.expr


def _read_at_once(graph: torch.fx.Graph, group: list[torch.fx.Node]) -> None:
    first = group[0]
    _, mask, axis = first.args
    values = [node.meta["val"] for node in group]
    shapes = first.meta["val"].fake_mode.shape_env
    for node in group[1:]:
        if _size(node) != _size(first):
            shapes._eliminate_unbacked(_size(node), _size(first))
    with graph.inserting_before(first):
        every = graph.call_function(_CHOSEN_EACH, ([node.args[0] for node in group], mask, axis))
        each = [graph.call_function(operator.getitem, (every, i)) for i in range(len(group))]
    every.meta = {**first.meta, "val": values}
    bindings = first.meta.get("unbacked_bindings") or {}
    every.meta["unbacked_bindings"] = {
        symbol: (pytree.SequenceKey(0), *path) for symbol, path in bindings.items()
    }
    if "eager_input_vals" in first.meta:  # Whose strides the operator is to meet.
        given = [node.meta["eager_input_vals"][0] for node in group]
        every.meta["eager_input_vals"] = (([x for x, _, _ in given], *given[0][1:]), {})
    for node, part in zip(group, each, strict=True):
        part.meta = {"val": node.meta["val"], "stack_trace": node.meta.get("stack_trace")}
        node.replace_all_uses_with(part)
        graph.erase_node(node)


__all__ = ["with_shared_masks"]
