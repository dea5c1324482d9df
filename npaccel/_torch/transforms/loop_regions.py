"""Make a scan of each region of a captured graph that is the body of a loop."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, cast

import torch

from npaccel._torch.dynamo.numpy.operations import operator_operation
from npaccel._torch.dynamo.numpy.rng_hoisting import HostCall
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.alias_checks import memory_of, written
from npaccel._torch.fx_passes.passes import AFTER_CAPTURE, run_passes
from npaccel._torch.transforms.loop_marks import PLACE
from npaccel._torch.transforms.lowering import LoweringError, lowered
from npaccel._torch.transforms.marks import SCAN_KIND
from npaccel._torch.transforms.region_nodes import begin_of, body_of_region, inside_of, refuse
from npaccel._torch.transforms.rows import LoopBody, take_rows_out, with_selections
from npaccel._torch.transforms.scans.body import Body
from npaccel._torch.transforms.scans.operator import SCAN

_LEAKS = "what an iteration computes is kept in another way than as what the next one gets"
_DRAWS = "random numbers are drawn in each iteration"
_WIDENS = "a float of Python's goes from one iteration to the next among 32-bit floats"
_TWO_NAMES = "an iteration writes to an array that it knows by two names"
_OTHERS = "an iteration takes what is neither an array nor an integer"
_aten = torch.ops.aten
#: Key of the meta of a scan: its body, which is to live as long as the node.
BODY = "npaccel_body"
_NARROW = (torch.float16, torch.bfloat16, torch.float32, torch.complex64)


def is_loop(end: torch.fx.Node) -> bool:
    """Whether a region is the body of a loop."""
    return bool(end.args[0] == SCAN_KIND)


def check_loop(end: torch.fx.Node) -> None:
    """Have a loop unrolled that can't be a scan.

    Parameters
    ----------
    end : torch.fx.Node
        Of its body.

    Raises
    ------
    CaptureError
        The function is captured again then.
    """
    inside = inside_of(end)
    reason = _reason(end, inside)
    if reason:
        active.loops.fail(end.meta[PLACE], reason, for_good=True)
        refuse(end, reason, "")


def _reason(end: torch.fx.Node, inside: dict[torch.fx.Node, None]) -> str:
    """Return why a loop isn't a scan; empty if it's one."""
    begin = begin_of(end)
    for node in inside:
        if any(user not in inside and user is not end for user in node.users):
            return _LEAKS
        if isinstance(node.target, HostCall):
            return _DRAWS
    if _has_weak_float(begin) and any(_is_narrow(node) for node in inside):
        return _WIDENS
    outer = _outer(inside, end)
    if any(not isinstance(_example(n), torch.Tensor | torch.SymInt | int) for n in outer):
        return _OTHERS
    memory = [memory_of(node) for node in (*outer, *cast("Any", begin.args[2]))]  # type: ignore[misc]
    changed = {memory_of(node) for node in _written(inside, outer)}
    return _TWO_NAMES if any(memory.count(one) > 1 for one in changed) else ""


def _outer(inside: dict[torch.fx.Node, None], end: torch.fx.Node) -> list[torch.fx.Node]:
    outputs = cast("tuple[torch.fx.Node, ...]", end.args[3])
    used = [*(one for node in inside for one in node.all_input_nodes), *outputs]
    begin = begin_of(end)
    return list(dict.fromkeys(n for n in used if n not in inside and n is not begin))


def _written(
    inside: dict[torch.fx.Node, None], outer: Sequence[torch.fx.Node]
) -> list[torch.fx.Node]:
    """Return what from outside a body writes to."""
    changed = {memory_of(target) for node in inside for target in written(node)} - {None}
    return [node for node in outer if memory_of(node) in changed]


def _has_weak_float(begin: torch.fx.Node) -> bool:
    carried = begin.args[1][2]  # type: ignore[index]
    leaves = cast("Any", begin.args[2])[:carried]
    floats = (n for n in leaves if n.target is torch.scalar_tensor)
    return any(_example(n).dtype == torch.float64 for n in floats)


def _is_narrow(node: torch.fx.Node) -> bool:
    value = _example(node)
    return isinstance(value, torch.Tensor) and value.dtype in _NARROW


def _example(node: torch.fx.Node) -> Any:
    return node.meta.get("example_value")


def cut_loop(graph: torch.fx.Graph, end: torch.fx.Node) -> None:
    """Put a scan in the place of a loop's body.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured; changed in place.
    end : torch.fx.Node
        Of the body.

    Raises
    ------
    CaptureError
        If something in it can't be written as torch's calls.
    """
    _, (length, reverse, carried), entered, outputs, _ = cast("Any", end.args)
    begin, inside = begin_of(end), inside_of(end)
    outer = _outer(inside, end)
    changed = _written(inside, outer)
    constants = [n for n in outer if n not in changed and isinstance(_example(n), torch.Tensor)]
    sizes = [n for n in outer if n not in changed and n not in constants]
    first = 1 + carried
    inputs = (*entered[:first], *changed, *entered[first:], *constants, *sizes)
    results = (*outputs[:carried], *changed, *outputs[carried:])
    module, _ = body_of_region(inside, entered, results, inputs)
    run_passes(AFTER_CAPTURE, module, needs_grad=False)
    lowered_body = _lowered(module, [_example(n) for n in inputs])
    leaves = cast("Any", begin.args[2])
    with graph.inserting_before(end):
        found = _scanned(
            graph,
            lowered_body.graph,
            ((*leaves[:carried], *changed), leaves[carried:], constants, sizes),
            (length, reverse),
            end.stack_trace,
        )
        store = operator_operation(operator.setitem)
        for node, value in zip(changed, found[carried:], strict=False):
            value.meta["example_value"] = _example(node)
            made = graph.call_function(store, (node, Ellipsis, value))  # type: ignore[arg-type]
            made.meta = {"stack_trace": end.stack_trace, "example_value": None}
    del found[carried : carried + len(changed)]
    for user in list(end.users):
        one = found[user.args[1]]  # type: ignore[index]
        one.meta = dict(user.meta)
        user.replace_all_uses_with(one)
        graph.erase_node(user)
    for node in (end, *reversed(inside), begin):
        graph.erase_node(node)
    for one in found:
        if not one.users:
            graph.erase_node(one)


def _scanned(
    graph: torch.fx.Graph,
    body: torch.fx.Graph,
    given: tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]],
    steps: tuple[int, bool],
    stack_trace: Any,
) -> list[torch.fx.Node]:
    """Put a scan into a graph, and return its carry and its results.

    Parameters
    ----------
    graph : torch.fx.Graph
    body : torch.fx.Graph
        Lowered.
    given : tuple
        Carry, items, constants and sizes.
    steps : (int, bool)
        How many there are, and whether the last one comes first.
    stack_trace : str
    """
    length, reverse = steps
    index, *inputs = body.find_nodes(op="placeholder")
    with_selections(body, index, length)
    left = iter(inputs)
    pairs = [[(next(left), one) for one in part] for part in given]
    outputs = list(cast("Any", body.output_node().args[0]))
    carry = [(*pair, outputs.pop(0)) for pair in pairs[0]]
    one = LoopBody(body, index, carry, pairs[1], pairs[2], pairs[3], outputs)
    count, results = len(carry), len(outputs)

    def call(target: Any, *args: Any) -> torch.fx.Node:
        made = graph.call_function(target, args)
        made.meta["stack_trace"] = stack_trace
        return made

    gone = {} if reverse else take_rows_out(one, length, call)
    module = torch.fx.GraphModule(torch.nn.Module(), one.built())
    scanned = Body(module, len(one.carry), len(one.items), len(one.sizes))
    parts = [[pair[1] for pair in part] for part in (one.carry, one.items, one.constants)]
    new = call(SCAN, *parts, [pair[1] for pair in one.sizes], scanned.number, length, reverse)
    new.meta[BODY] = scanned
    of_carry = {held: i for i, (held, _, _) in enumerate(one.carry)}
    found = []
    for i, (held, before, _) in enumerate(carry):
        if i not in gone:
            found.append(call(operator.getitem, new, of_carry[held]))
            continue
        result, (stride, start) = gone[i]
        rows = call(operator.getitem, new, len(one.carry) + result)
        end = start + stride * (length - 1) + 1
        found.append(call(_aten.slice_scatter.default, before, rows, 0, start, end, stride))
    assert len(found) == count
    first = len(one.carry)
    return [*found, *(call(operator.getitem, new, first + i) for i in range(results))]


def _lowered(body: torch.fx.Graph, examples: Sequence[Any]) -> torch.fx.GraphModule:
    try:
        found = lowered(torch.fx.GraphModule(torch.nn.Module(), body), examples)
    except LoweringError as error:
        refuse(
            error.node,
            f"something in this line has no derivative: {error}",
            "write it with other NumPy calls, or pass its result as an argument",
            error,
        )
    for node in list(
        found.graph.find_nodes(op="call_function", target=torch.ops.aten.clone.default)
    ):
        if node.args[0].op == "placeholder":  # Nothing writes to it any more.
            node.replace_all_uses_with(node.args[0])
            found.graph.erase_node(node)
    found.recompile()
    return found


__all__ = ["check_loop", "cut_loop", "is_loop"]
