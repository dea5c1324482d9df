"""Take out of scans what nothing uses: results, carry, items and constants."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from npaccel._torch.transforms.scans.body import Body, body_of
from npaccel._torch.transforms.scans.operator import SCAN


def without_unused(graph: torch.fx.Graph) -> None:
    """Reduce the scans of a graph to what is used of them, in place.

    Rules for derivatives keep what a further derivative may need.
    """
    for node in reversed(list(graph.find_nodes(op="call_function", target=SCAN))):
        _reduce(graph, node)
    graph.eliminate_dead_code()


def _reduce(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    carry, items, constants, sizes, number, length, reverse = node.args
    for user in list(node.users):
        if not user.users:
            graph.erase_node(user)
    if not node.users:
        graph.erase_node(node)
        return
    body = body_of(number)  # type: ignore[arg-type]
    used = frozenset(int(user.args[1]) for user in node.users)  # type: ignore[arg-type]
    reduced, outputs, inputs = body.derived(("used", used), lambda: _reduced(body, used))
    if reduced is body:
        return
    tensors = [*carry, *items, *constants]  # type: ignore[misc]
    parts = reduced.split([tensors[i] for i in inputs])
    with graph.inserting_before(node):
        new = graph.call_function(SCAN, (*parts, sizes, reduced.number, length, reverse))
        new.meta = dict(node.meta)
        if "val" in node.meta:
            new.meta["val"] = [node.meta["val"][i] for i in outputs]
        for user in list(node.users):
            place = outputs.index(user.args[1])
            one = graph.call_function(operator.getitem, (new, place))
            one.meta = dict(user.meta)
            user.replace_all_uses_with(one)
            graph.erase_node(user)
    graph.erase_node(node)


def _reduced(body: Body, used: frozenset[int]) -> tuple[Body, list[int], list[int]]:
    """Return a body that computes some outputs, which these are, and which tensors it takes."""
    nodes = list(body.module.graph.find_nodes(op="placeholder"))
    tensors = nodes[1 : len(nodes) - body.sizes]
    results: Sequence[Any] = body.module.graph.output_node().args[0]  # type: ignore[assignment]
    needed = set(used)
    raising = [n for n in body.module.graph.nodes if n.op == "call_function" and n.is_impure()]
    while True:
        reached = nodes_behind([*raising, *(results[i] for i in needed)])
        more = {i for i, one in enumerate(tensors[: body.carried]) if one in reached}
        if more <= needed:
            break
        needed |= more
    outputs = sorted(needed)
    carry = [i for i in outputs if i < body.carried]
    rest = [i for i, one in enumerate(tensors) if i >= body.carried and one in reached]
    inputs = [*carry, *rest]
    if len(outputs) == len(results) and len(inputs) == len(tensors):
        return body, outputs, inputs
    graph = torch.fx.Graph()
    known: dict[torch.fx.Node, torch.fx.Node] = {}
    sizes = nodes[len(nodes) - body.sizes :] if body.sizes else []
    for node in (nodes[0], *(tensors[i] for i in inputs), *sizes):
        known[node] = graph.node_copy(node)
    for node in body.module.graph.nodes:
        if node.op not in ("placeholder", "output") and node in reached:
            known[node] = graph.node_copy(node, known.__getitem__)
    graph.output(tuple(known[results[i]] for i in outputs))
    without_unused(graph)
    module = torch.fx.GraphModule(body.module, graph)
    items = sum(body.carried <= i < body.carried + body.items for i in inputs)
    return Body(module, len(carry), items, body.sizes), outputs, inputs


def nodes_behind(nodes: Sequence[torch.fx.Node]) -> set[torch.fx.Node]:
    """Return the nodes that some are computed from, and these."""
    found: set[torch.fx.Node] = set()
    left = list(nodes)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += node.all_input_nodes
    return found


__all__ = ["nodes_behind", "without_unused"]
