"""Make one node of each region of a captured graph, between the marks of a transform.

A region is traced as any code is: its arrays are plain ones, whatever is differentiated or batched.
Then the innermost regions are cut out first, written without writes in place (`lowering`), and
replaced by a node that applies `torch.func` (`application`). AOTAutograd traces through that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import torch

from npaccel._torch.dynamo.numpy.rng_hoisting import HostCall
from npaccel._torch.fx_passes.alias_checks import memory_of, written
from npaccel._torch.fx_passes.passes import AFTER_CAPTURE, run_passes
from npaccel._torch.transforms.application import Application, RegionError
from npaccel._torch.transforms.loop_regions import check_loop, cut_loop, is_loop
from npaccel._torch.transforms.lowering import LoweringError, fake_mode_of, lost_derivative, lowered
from npaccel._torch.transforms.region_nodes import (
    begin_of,
    body_of_region,
    ends,
    inside_of,
    outer_memory,
    refuse,
)

#: Kind, settings, what has entered, what leaves, and what the transform takes besides.
_EndArguments: TypeAlias = (
    "tuple[str, Any, tuple[torch.fx.Node, ...], tuple[torch.fx.Node, ...], tuple[Any, ...]]"
)
_WRITES = (
    "a function under `{kind}` writes to an array that it doesn't own: the array would keep "
    "values that depend on what is differentiated or batched"
)
_OWN = "make a copy of the array in the function, and return what changes"
_LEAKS = "what a function under `{kind}` computes leaves it in another way than as its result"
_RETURN = "return it; has_aux=True is for results that aren't differentiated"
_DRAWS = "random numbers are drawn under `{kind}`: all elements of the batch would get the same"
_DRAW_BEFORE = "draw them before the call, with an axis for the batch, and pass them"


def check_regions(graph: torch.fx.Graph) -> None:
    """Refuse a graph with a region that can't be cut out.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured.

    Raises
    ------
    CaptureError
    """
    for end in ends(graph):
        if is_loop(end):
            check_loop(end)
            continue
        inside = inside_of(end)
        kind = _KINDS[end.args[0]]
        own = {memory_of(node) for node in inside} - outer_memory(graph, inside)
        results = set(end.users)
        for node in inside:
            for target in written(node):
                if memory_of(target) not in own:
                    refuse(node, _WRITES.format(kind=kind), _OWN)
            if any(user not in inside and user is not end for user in node.users):
                later = [user for user in node.users if user not in inside and user is not end]
                if not all(user in results for user in later):
                    refuse(node, _LEAKS.format(kind=kind), _RETURN)
            if kind == "vmap" and isinstance(node.target, HostCall):
                refuse(node, _DRAWS.format(kind=kind), _DRAW_BEFORE)


_LOST = "something in this line has no derivative for `{kind}`: {}"
_NO_BITS = "write it with other NumPy calls, or pass its result as an argument"
#: Names of the transforms for users.
_KINDS: dict[Any, str] = {
    "grad": "grad",
    "value": "vjp",
    "vjp": "vjp",
    "jvp": "jvp",
    "jacrev": "jacobian",
    "jacfwd": "jacobian",
    "vmap": "vmap",
}


def cut_regions(graph: torch.fx.Graph) -> None:
    """Put one node in the place of each region.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured; changed in place.

    Raises
    ------
    CaptureError
        If something in a region has no derivative, or can't be batched.
    """
    for end in ends(graph):
        if is_loop(end):
            cut_loop(graph, end)
        else:
            _cut(graph, end)


def _cut(graph: torch.fx.Graph, end: torch.fx.Node) -> None:
    kind, settings, entered, outputs, extra = cast("_EndArguments", end.args)
    begin, inside = begin_of(end), inside_of(end)
    body, outer = body_of_region(inside, entered, outputs)
    run_passes(AFTER_CAPTURE, body, needs_grad=False)
    examples = [node.meta["example_value"] for node in (*entered, *outer)]
    region = _lowered(kind, body, examples, 0 if kind == "vmap" else settings[0])
    axes, leaves = cast("tuple[Any, tuple[Any, ...]]", begin.args[1:])
    target = Application(kind, (axes, settings), len(leaves), len(outer), region)
    _try(target, end, (*leaves, *outer, *extra))
    with graph.inserting_before(end):
        new = graph.call_function(target, (*leaves, *outer, *extra))
    new.meta = dict(end.meta)
    end.replace_all_uses_with(new)
    for node in (end, *reversed(inside), begin):
        graph.erase_node(node)


def _lowered(
    kind: str, body: torch.fx.Graph, examples: Sequence[Any], count: int
) -> torch.fx.GraphModule:
    """Return a region without writes in place, of which a number of inputs are differentiated."""
    try:
        region = lowered(torch.fx.GraphModule(torch.nn.Module(), body), examples)
    except LoweringError as error:
        refuse(error.node, _LOST.format(error, kind=_KINDS[kind]), _NO_BITS, error)
    flags = [i < count for i in range(len(examples))]
    lost = lost_derivative(region, flags) if kind != "value" else None
    if lost is not None:
        refuse(lost[0], _LOST.format(lost[1], kind=_KINDS[kind]), _NO_BITS)
    return region


def _try(target: Application, end: torch.fx.Node, args: Sequence[Any]) -> None:
    """Apply a transform to what stands for values, and say at which line that can't be done."""
    values = [a.meta["example_value"] if isinstance(a, torch.fx.Node) else a for a in args]
    with fake_mode_of(end.meta["example_value"]), torch.no_grad():
        try:
            target.trace(*values)
        except RegionError as error:
            kind = _KINDS[target.kind]
            place = end if error.node is None else error.node
            refuse(place, error.reason(kind), error.advice(kind), error)


__all__ = ["check_regions", "cut_regions"]
