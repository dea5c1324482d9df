"""Write slices of a scan's body in place, instead of choosing for each element.

``u[1:-1] += f(u)`` is a `slice_scatter` in a functional graph, and its derivative a sum of arrays
that are zero around a slice. Inductor asks for each element which of them it is; a copy, and loops
over the slices alone, are several times quicker for arrays that are longer than a few vectors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

import torch

_aten = torch.ops.aten
#: Minimum number of elements of an array that is written in place.
_MANY = 4096

#: A slice: axis, start, end.
Slice = tuple[int, int, int]


def with_slices_in_place(graph: torch.fx.Graph) -> None:
    """Have a graph of ATen's calls, which needn't be functional behind this, write to slices.

    Parameters
    ----------
    graph : torch.fx.Graph
        Changed in place.
    """
    for node in reversed(list(graph.find_nodes(op="call_function", target=_aten.add.Tensor))):
        if node.users and _is_large(node) and _is_plain_sum(node):
            _write_sum(graph, node)
    for node in reversed(list(graph.nodes)):
        if node.target is _aten.slice_scatter.default and node.users and _is_large(node):
            _write_slice(graph, node)
    graph.eliminate_dead_code()


def _is_large(node: torch.fx.Node) -> bool:
    value: Any = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not all(type(size) is int for size in value.shape):
        return False
    return bool(value.numel() >= _MANY and value.is_contiguous())


def _is_plain_sum(node: torch.fx.Node) -> bool:
    """Whether a node adds two arrays of its own shape and dtype."""
    value: Any = node.meta["val"]
    return not node.kwargs and all(
        isinstance(one, torch.fx.Node)
        and one.meta["val"].shape == value.shape
        and one.meta["val"].dtype == value.dtype
        for one in node.args
    )


def _write_sum(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Add arrays that are zero around a slice to that slice."""
    padded: list[tuple[list[Slice], torch.fx.Node]] = []
    dense: list[torch.fx.Node] = []
    for term in _terms(node):
        found = _padded(term)
        if found is None:
            dense.append(term)
        else:
            padded.append(found)
    if not padded:
        return
    with graph.inserting_before(node):
        total = dense[0] if dense else None
        for one in dense[1:]:
            total = _call(graph, _aten.add.Tensor, node, total, one)
        if total is None:
            value = node.meta["val"]
            total = graph.call_function(
                _aten.full.default,
                (list(value.shape), 0),
                {"dtype": value.dtype, "device": value.device},
            )
            total.meta = dict(node.meta)
        written = _call(graph, _aten.clone.default, node, total)
        for slices, value in padded:
            view = _view(graph, written, slices)
            _call(graph, _aten.add_.Tensor, view, view, value)
    node.replace_all_uses_with(written)
    graph.erase_node(node)


def _terms(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Return what is added up in a node."""
    found: list[torch.fx.Node] = []
    for one in cast("tuple[torch.fx.Node, torch.fx.Node]", node.args):
        is_sum = one.target is _aten.add.Tensor and len(one.users) == 1 and _is_plain_sum(one)
        found += _terms(one) if is_sum else [one]
    return found


def _padded(node: torch.fx.Node) -> tuple[list[Slice], torch.fx.Node] | None:
    """Return the slice around which an array is zero, and what is there."""
    if node.target is not _aten.slice_scatter.default or not _is_zero(node.args[0]):
        return None
    place = _slice_of(node)
    value = node.args[1]
    if place is None or not isinstance(value, torch.fx.Node):
        return None
    inner = _padded(value)
    return ([place], value) if inner is None else ([place, *inner[0]], inner[1])


def _is_zero(node: Any) -> bool:
    is_full = isinstance(node, torch.fx.Node) and node.target is _aten.full.default
    return is_full and bool(node.args[1] == 0)


def _slice_of(node: torch.fx.Node, first: int = 2) -> Slice | None:
    """Return which slice is written; None for one with steps, or whose bounds aren't known.

    Parameters
    ----------
    node : torch.fx.Node
    first : int
        Where among its arguments the axis is.
    """
    axis, start, end, step = _bounds(node.args[first:])
    array: Any = node.args[0]
    size = array.meta["val"].shape[axis]
    start = 0 if start is None else start
    end = size if end is None or end == sys.maxsize else end
    if step != 1 or type(start) is not int or type(end) is not int:
        return None
    return axis, _within(start, size), _within(end, size)


def _bounds(given: tuple[Any, ...]) -> tuple[Any, ...]:
    defaults: tuple[Any, ...] = (0, None, None, 1)
    return (*given, *defaults[len(given) :])


def _within(bound: int, size: int) -> int:
    return bound + size if bound < 0 else min(bound, size)


def _write_slice(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Copy an array, and write to a slice of the copy."""
    array, value = cast("tuple[Any, Any]", node.args[:2])
    place = _slice_of(node)
    if place is None:
        return
    slices = [place]
    while isinstance(value, torch.fx.Node) and value.target is _aten.slice_scatter.default:
        inner = _slice_of(value)
        if inner is None or not _is_slice(value.args[0], array, slices):
            break
        slices.append(inner)
        value = value.args[1]
    with graph.inserting_before(node):
        written = _call(graph, _aten.clone.default, node, array)
        view = _view(graph, written, slices)
        _call(graph, _aten.copy_.default, view, view, value)
    node.replace_all_uses_with(written)
    graph.erase_node(node)


def _is_slice(node: Any, array: torch.fx.Node, slices: Sequence[Slice]) -> bool:
    """Whether a node is a slice of a slice, and so on, of an array."""
    for place in reversed(slices):
        if not isinstance(node, torch.fx.Node) or node.target is not _aten.slice.Tensor:
            return False
        if _slice_of(node, 1) != place:
            return False
        node = node.args[0]
    return node is array


def _view(graph: torch.fx.Graph, array: torch.fx.Node, slices: Sequence[Slice]) -> torch.fx.Node:
    for axis, start, end in slices:
        value = _aten.slice.Tensor(array.meta["val"], axis, start, end)
        array = graph.call_function(_aten.slice.Tensor, (array, axis, start, end))
        array.meta["val"] = value
    return array


def _call(graph: torch.fx.Graph, target: Any, like: torch.fx.Node, *args: Any) -> torch.fx.Node:
    made = graph.call_function(target, args)
    made.meta = dict(like.meta)
    return made


__all__ = ["with_slices_in_place"]
