"""Regions of a captured graph: what lies between two marks."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import torch

from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.source_lines import frames_of
from npaccel._torch.fx_passes.alias_checks import memory_of
from npaccel._torch.transforms.marks import LEAVE

#: Dynamo's place for why a function isn't captured.
CATEGORY = "npaccel: a transform"


def ends(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    """The ends of regions, the innermost ones first."""
    return [node for node in graph.nodes if node.target is LEAVE]


def begin_of(end: torch.fx.Node) -> torch.fx.Node:
    first: Any = end.args[2][0]  # type: ignore[index]
    return first.args[0]  # type: ignore[no-any-return]


def inside_of(end: torch.fx.Node) -> dict[torch.fx.Node, None]:
    """The nodes of a region, in order, with those by which it's entered."""
    found: dict[torch.fx.Node, None] = {}
    node = begin_of(end).next
    while node is not end:
        if node.op in ("call_function", "call_method"):
            found[node] = None
        node = node.next
    return found


def outer_memory(graph: torch.fx.Graph, inside: dict[torch.fx.Node, None]) -> set[Any]:
    return {memory_of(node) for node in graph.nodes if node not in inside} | {None}


def body_of_region(
    inside: dict[torch.fx.Node, None],
    entered: Sequence[torch.fx.Node],
    outputs: Sequence[torch.fx.Node],
    inputs: Sequence[torch.fx.Node] = (),
) -> tuple[torch.fx.Graph, list[torch.fx.Node]]:
    """Return a graph of a region, and what it takes besides what has entered.

    Parameters
    ----------
    inside : dict
        Its nodes.
    entered, outputs : sequence of torch.fx.Node
    inputs : sequence of torch.fx.Node
        What the graph takes, in order; empty for what has entered, and the rest behind.
    """
    body = torch.fx.Graph()
    known = {node: _placeholder(body, node) for node in inputs or entered}
    own = [node for node in inside if node not in entered]
    used = [*(one for node in own for one in node.all_input_nodes), *outputs]
    outer = list(dict.fromkeys(node for node in used if node not in inside))
    known |= {node: _placeholder(body, node) for node in outer if node not in known}
    for node in own:
        known[node] = body.node_copy(node, known.__getitem__)
    body.output(tuple(known[out] for out in outputs))
    return body, outer


def _placeholder(body: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.Node:
    made = body.placeholder(node.name)
    made.meta = dict(node.meta)
    return made


def refuse(
    node: torch.fx.Node, reason: str, advice: str, error: Exception | None = None
) -> NoReturn:
    frames = frames_of(node.stack_trace)
    file, line, text = frames[-1] if frames else ("", 0, "")
    where = traceback.FrameSummary(file, line, "", line=text)
    raise CaptureError(reason, CATEGORY, [where], False, advice) from error
