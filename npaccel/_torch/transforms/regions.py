"""Make one node of each region of a captured graph, between the marks of a transform.

A region is traced as any code is: its arrays are plain ones, whatever is differentiated or batched.
Then the innermost regions are cut out first, written without writes in place (`lowering`), and
replaced by a node that applies `torch.func` (`application`). AOTAutograd traces through that.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeAlias, cast

import torch

from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.numpy.rng_hoisting import HostCall
from npaccel._torch.dynamo.source_lines import frames_of
from npaccel._torch.fx_passes.alias_checks import memory_of, written
from npaccel._torch.fx_passes.passes import AFTER_CAPTURE, run_passes
from npaccel._torch.transforms.application import Application, RegionError
from npaccel._torch.transforms.lowering import LoweringError, fake_mode_of, lost_derivative, lowered
from npaccel._torch.transforms.marks import LEAVE

#: Kind, settings, what has entered, what leaves, and what the transform takes besides.
_EndArguments: TypeAlias = (
    "tuple[str, Any, tuple[torch.fx.Node, ...], tuple[torch.fx.Node, ...], tuple[Any, ...]]"
)
#: Dynamo's place for why a function isn't captured.
CATEGORY = "npaccel: a transform"
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
    for end in _ends(graph):
        inside = _inside(end)
        kind = _KINDS[end.args[0]]
        own = {memory_of(node) for node in inside} - _outer_memory(graph, inside)
        results = set(_results(end))
        for node in inside:
            for target in written(node):
                if memory_of(target) not in own:
                    _refuse(node, _WRITES.format(kind=kind), _OWN)
            if any(user not in inside and user is not end for user in node.users):
                later = [user for user in node.users if user not in inside and user is not end]
                if not all(user in results for user in later):
                    _refuse(node, _LEAKS.format(kind=kind), _RETURN)
            if kind == "vmap" and isinstance(node.target, HostCall):
                _refuse(node, _DRAWS.format(kind=kind), _DRAW_BEFORE)


_LOST = "something in this line has no derivative for `{kind}`: {}"
_NO_BITS = "write it with other NumPy calls, or pass its result as an argument"
#: What users call the transforms.
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
    for end in _ends(graph):
        _cut(graph, end)


def _ends(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    """The ends of regions, the innermost ones first."""
    return [node for node in graph.nodes if node.target is LEAVE]


def _results(end: torch.fx.Node) -> Iterable[torch.fx.Node]:
    return end.users


def _begin(end: torch.fx.Node) -> torch.fx.Node:
    first: Any = end.args[2][0]  # type: ignore[index]
    return first.args[0]  # type: ignore[no-any-return]


def _inside(end: torch.fx.Node) -> dict[torch.fx.Node, None]:
    """The nodes of a region, in order, with those by which it's entered."""
    found: dict[torch.fx.Node, None] = {}
    node = _begin(end).next
    while node is not end:
        if node.op in ("call_function", "call_method"):
            found[node] = None
        node = node.next
    return found


def _outer_memory(graph: torch.fx.Graph, inside: dict[torch.fx.Node, None]) -> set[Any]:
    return {memory_of(node) for node in graph.nodes if node not in inside} | {None}


def _cut(graph: torch.fx.Graph, end: torch.fx.Node) -> None:
    kind, settings, entered, outputs, extra = cast("_EndArguments", end.args)
    begin, inside = _begin(end), _inside(end)
    body, outer = _body(inside, entered, outputs)
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


def _body(
    inside: dict[torch.fx.Node, None],
    entered: Sequence[torch.fx.Node],
    outputs: Sequence[torch.fx.Node],
) -> tuple[torch.fx.Graph, list[torch.fx.Node]]:
    """Return a graph of a region, and what it takes besides what has entered."""
    body = torch.fx.Graph()
    known = {node: _placeholder(body, node) for node in entered}
    own = [node for node in inside if node not in known]
    used = [*(one for node in own for one in node.all_input_nodes), *outputs]
    outer = list(dict.fromkeys(node for node in used if node not in inside))
    known |= {node: _placeholder(body, node) for node in outer}
    for node in own:
        known[node] = body.node_copy(node, known.__getitem__)
    body.output(tuple(known[out] for out in outputs))
    return body, outer


def _lowered(
    kind: str, body: torch.fx.Graph, examples: Sequence[Any], count: int
) -> torch.fx.GraphModule:
    """Return a region without writes in place, of which so many inputs are differentiated."""
    try:
        region = lowered(torch.fx.GraphModule(torch.nn.Module(), body), examples)
    except LoweringError as error:
        _refuse(error.node, _LOST.format(error, kind=_KINDS[kind]), _NO_BITS, error)
    lost = lost_derivative(region, count) if kind != "value" else None
    if lost is not None:
        _refuse(lost[0], _LOST.format(lost[1], kind=_KINDS[kind]), _NO_BITS)
    return region


def _try(target: Application, end: torch.fx.Node, args: Sequence[Any]) -> None:
    """Apply a transform to what stands for values, and say at which line that can't be done."""
    values = [a.meta["example_value"] if isinstance(a, torch.fx.Node) else a for a in args]
    with fake_mode_of(end.meta["example_value"]), torch.no_grad():
        try:
            target(*values)
        except RegionError as error:
            kind = _KINDS[target.kind]
            place = end if error.node is None else error.node
            _refuse(place, error.reason(kind), error.advice(kind), error)


def _placeholder(body: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.Node:
    made = body.placeholder(node.name)
    made.meta = dict(node.meta)
    return made


def _refuse(
    node: torch.fx.Node, reason: str, advice: str, error: Exception | None = None
) -> NoReturn:
    frames = frames_of(node.stack_trace)
    file, line, text = frames[-1] if frames else ("", 0, "")
    where = traceback.FrameSummary(file, line, "", line=text)
    raise CaptureError(reason, CATEGORY, [where], False, advice) from error


__all__ = ["check_regions", "cut_regions"]
