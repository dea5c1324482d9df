"""Scans in segments, whose derivative computes their iterations again instead of keeping them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npaccel._torch.transforms.scans.body import Body, number_example, recomputes, traced
from npaccel._torch.transforms.scans.operator import SCAN

_aten = torch.ops.aten


def segment_size(length: Any) -> int:
    """Return how many iterations are a segment; 0 where all states are kept."""
    asked = recomputes.get()
    if not asked or type(length) is not int:
        return 0
    size = math.isqrt(length - 1) + 1 if asked is True else asked
    return size if size in range(2, length) else 0


def in_segments(
    scan: Callable[..., list[torch.Tensor]],
    body: Body,
    length: int,
    reverse: bool,
    tensors: Sequence[torch.Tensor],
    sizes: tuple[Any, ...],
    size: int,
) -> list[torch.Tensor]:
    """Compute a scan as one over segments, which are scans themselves.

    Parameters
    ----------
    scan : callable
        As `npaccel._torch.transforms.scans.rules.scan`, of segments and of what is left over.
    body, length, reverse, tensors, sizes
        As it takes them.
    size : int
        Number of iterations of a segment.
    """
    count = length // size
    whole = count * size
    carry, items, constants = body.split(tensors)
    parts = [one[:whole].reshape(count, size, *one.shape[1:]) for one in items]
    rest = [one[whole:] for one in items]
    segments = body.derived(
        ("segments", count, size, reverse), lambda: _segments(body, count, size, reverse)
    )

    def first(carry: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        found = scan(segments, count, reverse, [*carry, *parts, *constants], sizes)
        rows = [one.reshape(whole, *one.shape[2:]) for one in found[body.carried :]]
        return [*found[: body.carried], *rows]

    def last(carry: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        if whole == length:
            return list(carry)
        moved = body.derived(("moved", whole), lambda: _moved(body, whole))
        return scan(moved, length - whole, reverse, [*carry, *rest, *constants], sizes)

    if reverse:
        after = last(carry)
        before = first(after[: body.carried])
        found = before[: body.carried]
    else:
        before = first(carry)
        after = last(before[: body.carried])
        found = after[: body.carried]
    if whole == length:
        return [*found, *before[body.carried :]]
    rows = zip(before[body.carried :], after[body.carried :], strict=True)
    return [*found, *(torch.cat(pair) for pair in rows)]


def _moved(body: Body, start: int) -> Body:
    """Return a body whose iterations are those from a number on."""
    return _renumbered(body, lambda graph, number: _sum(graph, number, start), ())


def _sum(graph: torch.fx.Graph, number: Any, other: Any) -> Any:
    return graph.call_function(operator.add, (number, other))


def _segments(body: Body, count: int, size: int, reverse: bool) -> Body:
    """Return a body that computes a segment."""
    of_segment = number_example(body.examples, count)

    def number_in_all(graph: torch.fx.Graph, number: Any, segment: Any) -> Any:
        return _sum(graph, graph.call_function(operator.mul, (segment, size)), number)

    inner = _renumbered(body, number_in_all, (of_segment,))
    index, *values = body.examples
    tensors, sizes = values[: len(values) - body.sizes], values[len(values) - body.sizes :]
    carry, items, constants = body.split(tensors)
    rows = [one.new_empty((size, *one.shape)) for one in items]

    def segment(index: Any, *args: Any) -> Any:
        own = list(args[: len(tensors)])
        own_carry, own_items, own_constants = body.split(own)
        rest = [*args[len(tensors) :], index.item()]
        return tuple(SCAN(own_carry, own_items, own_constants, rest, inner.number, size, reverse))

    module = traced(segment, (index, *carry, *rows, *constants, *sizes))
    return Body(module, body.carried, body.items, body.sizes)


def _renumbered(body: Body, number: Callable[..., Any], more: tuple[Any, ...]) -> Body:
    """Return a body with other numbers of its iterations, which may depend on more sizes."""
    graph = torch.fx.Graph()
    known: dict[torch.fx.Node, Any] = {}
    nodes = list(body.module.graph.find_nodes(op="placeholder"))
    for node in nodes:
        known[node] = graph.node_copy(node)
    added = []
    for i, example in enumerate(more):
        added.append(graph.placeholder(f"npaccel_size{i}"))
        added[-1].meta["val"] = example
    for node in body.module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        known[node] = graph.node_copy(node, known.__getitem__)
        if node.target is _aten._local_scalar_dense.default and node.args[0] is nodes[0]:
            known[node] = number(graph, known[node], *added)
            known[node].meta = dict(node.meta)
    out: Any = body.module.graph.output_node().args[0]
    graph.output(tuple(known[one] for one in out))
    module = torch.fx.GraphModule(body.module, graph)
    return Body(module, body.carried, body.items, body.sizes + len(more))


__all__ = ["in_segments", "segment_size"]
