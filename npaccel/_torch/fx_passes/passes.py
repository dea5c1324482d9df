"""The passes over captured graphs, in order."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npaccel._process import logs
from npaccel._torch.fx_passes.alias_checks import without_stores_back
from npaccel._torch.fx_passes.masked_sizes import without_masked_sizes
from npaccel._torch.fx_passes.merge_rolls import with_shared_rolls


@dataclasses.dataclass(frozen=True)
class GraphPass:
    """A pass over a graph, which it changes in place.

    Parameters
    ----------
    name : str
    why : str
        What it's for, in a line.
    run : callable
        Takes the graph, and returns what there is to tell of it.
    suits_gradients : bool
        Whether it may run where gradients are wanted.
    """

    name: str
    why: str
    run: Callable[[Any], Any]
    suits_gradients: bool = True


def run_passes(passes: Sequence[GraphPass], graph: Any, *, needs_grad: bool) -> dict[str, Any]:
    """Run passes over a graph, and return by name what they tell.

    Parameters
    ----------
    passes : sequence of GraphPass
    graph : torch.fx.Graph or torch.fx.GraphModule
        As the passes take it.
    needs_grad : bool
        Whether gradients are wanted.
    """
    run = _logged if logs.passes.isEnabledFor(logging.DEBUG) else _run
    return {one.name: run(one, graph) for one in passes if one.suits_gradients or not needs_grad}


def _run(one: GraphPass, module: Any) -> Any:
    return one.run(module)


def _logged(one: GraphPass, module: Any) -> Any:
    """Run a pass, and log it if it has changed the graph."""
    graph = module.graph if isinstance(module, torch.fx.GraphModule) else module
    before, count = str(graph), len(graph.nodes)
    told = one.run(module)
    if str(graph) != before:
        logs.passes.debug("%s: %d nodes before, %d after", one.name, count, len(graph.nodes))
    return told


#: Over what Dynamo has captured: a `torch.fx.Graph` of NumPy's calls.
AFTER_CAPTURE = (
    GraphPass(
        "stores_back", "`a[1:] += b` ends with a store of a view into itself", without_stores_back
    ),
    GraphPass(
        "masked_sizes",
        "where a mask chooses elements, compute all of them and reduce under the mask: sizes that "
        "depend on the data stop fusion; the gradient of what a mask leaves out may be NaN",
        without_masked_sizes,
        suits_gradients=False,
    ),
    GraphPass("merge_rolls", "rolls of one array share a copy of it", with_shared_rolls),
)

__all__ = ["AFTER_CAPTURE", "GraphPass", "run_passes"]
