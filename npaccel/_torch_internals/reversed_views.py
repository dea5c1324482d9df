"""Find captured graphs in which a reversed view would have to be one.

torch has no negative strides: `a[::-1]` is a copy in a graph, where NumPy has
a view. That shows when either of the two is written to and the other is read
afterwards; such a graph isn't used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from npaccel._numpy import _operators, _table

_FLIPS = frozenset(f"numpy.{name}" for name in ("flip", "fliplr", "flipud", "rot90"))
#: Names of the in-place operators.
INPLACE = frozenset(f"operator.{op.__name__}" for op in _operators.INPLACE)

#: Why a piece that makes a reversed view isn't used.
LEAVES = (
    "a reversed view, such as a[::-1], goes on to code that isn't compiled with it: compiled code "
    "has a copy where NumPy has a view"
)
REASON = (
    "a reversed view, such as a[::-1], is written to, or its array is, and the other is used "
    "afterwards: compiled code has a copy where NumPy has a view"
)


def line_of_stale_view(graph: torch.fx.Graph) -> tuple[str, int] | None:
    """Return file and line of a write that a graph loses, or None.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured: its nodes are calls of NumPy, with fake tensors.
    """
    nodes = list(graph.nodes)
    reversed_nodes = [node for node in nodes if _is_reversed_view(node)]
    if not reversed_nodes:
        return None
    family = _families(reversed_nodes)
    members = [node for node in nodes if memory_of(node) in family]
    place = {node: i for i, node in enumerate(nodes)}
    for node in nodes:
        for target in written(node):
            memory = memory_of(target)
            if memory not in family or _is_stored_back(node, target):
                continue
            for other in members:
                if family[memory_of(other)] != family[memory] or memory_of(other) == memory:
                    continue
                if place[other] < place[node] and _is_used_after(other, place, place[node]):
                    return _line(node)
    return None


def line_of_leaving_view(graph: torch.fx.Graph) -> tuple[str, int] | None:
    """Return file and line of a reversed view that a piece would hand on as a copy, or None.

    What runs after the piece may write to it, or to its array. A view of an
    array that nothing else can reach may as well be a copy.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured, of a part of a function.
    """
    nodes = list(graph.nodes)
    outputs = nodes[-1].all_input_nodes
    seen = {memory_of(node) for node in nodes if node.op == "placeholder"}
    leaving = {memory_of(node) for node in outputs}
    for node in nodes:
        if _is_reversed_view(node) and memory_of(node) in leaving - {None}:
            base = node.args[0]
            assert isinstance(base, torch.fx.Node)
            if memory_of(base) in (seen | leaving):
                return _line(node)
    return None


def _is_reversed_view(node: torch.fx.Node) -> bool:
    name = name_of(node)
    if not node.args or not isinstance(node.args[0], torch.fx.Node):
        return False
    if name in _FLIPS:
        return True
    if name != "operator.getitem" or len(node.args) < 2:
        return False
    key = node.args[1]
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, list | torch.fx.Node) for part in parts):
        return False  # A copy in NumPy too, or a size; sizes don't reverse.
    return any(
        isinstance(part, slice) and isinstance(part.step, int) and part.step < 0 for part in parts
    )


def name_of(node: torch.fx.Node) -> str:
    """Return NumPy's name of the call that a node is."""
    return str(getattr(node.target, "name", "")) if node.op == "call_function" else ""


def memory_of(node: torch.fx.Node) -> int | None:
    """Return a number for the memory that a node's value lies in."""
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        return None
    return int(value.untyped_storage()._cdata)


def _families(reversed_nodes: list[torch.fx.Node]) -> dict[int | None, int]:
    """Give the memory of views and of what they are views of the same number."""
    family: dict[int | None, int] = {}
    for number, node in enumerate(reversed_nodes):
        base = node.args[0]
        assert isinstance(base, torch.fx.Node)
        pair = {memory_of(node), memory_of(base)} - {None}
        old = {family[memory] for memory in pair if memory in family}
        for memory, known in family.items():
            if known in old:
                family[memory] = number
        family.update(dict.fromkeys(pair, number))
    return family


def written(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """Yield the arrays that a node writes to."""
    name = name_of(node)
    targets: list[Any] = [node.kwargs.get("out")]
    row = _table.row_named(name)
    places = row.mutates if row is not None else ()
    if name == "operator.setitem" or name in INPLACE:
        places = (0,)
    if name == "numpy.nan_to_num" and False in (*node.args[1:2], node.kwargs.get("copy")):
        places = (0,)
    targets += [node.args[i] for i in places if i < len(node.args)]
    for target in targets:
        if isinstance(target, torch.fx.Node):
            yield target


def _is_stored_back(node: torch.fx.Node, target: torch.fx.Node) -> bool:
    """Whether this is the middle of `a[::-1] += b`, which stores its result in a."""
    if name_of(node) not in INPLACE or name_of(target) != "operator.getitem":
        return False
    return any(
        name_of(user) == "operator.setitem"
        and user.args[0] is target.args[0]
        and repr(user.args[1]) == repr(target.args[1])
        for user in node.users
    )


def _is_used_after(node: torch.fx.Node, place: dict[torch.fx.Node, int], time: int) -> bool:
    """Whether an array is read later on; the caller may read every argument."""
    return node.op != "call_function" or any(place[user] > time for user in node.users)


def _line(node: torch.fx.Node) -> tuple[str, int]:
    found = re.findall(r'File "([^"]*)", line (\d+)', node.stack_trace or "")
    return (found[-1][0], int(found[-1][1])) if found else ("", 0)
