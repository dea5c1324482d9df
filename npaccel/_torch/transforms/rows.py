"""Rows of arrays in the body of a loop: items, results and carry of their own.

``ys[i] = y`` writes a row of an array that is carry, and ``x[i]`` reads one of a constant. As they
stand, each iteration would copy the array, and each state of it be kept. Where the place is
``a * i + b`` and nothing else is done with the array,

- a row that is read of a constant is an item;
- a row that is written is a result;
- a row that is read after an iteration before has written it is carry itself.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any

import torch

from npaccel._torch.transforms.scans.pruning import nodes_behind

_aten = torch.ops.aten
#: Maximum number of iterations that a written row may be read after.
_MAX_BACK = 4
#: A place, ``a * i + b``.
Place = tuple[int, int]
#: Puts a call into the graph around the loop.
Call = Callable[..., torch.fx.Node]


@dataclasses.dataclass
class LoopBody:
    """The body of a loop, and what it's called with.

    Parameters
    ----------
    graph : torch.fx.Graph
        Takes the number of the iteration first; its outputs are those of `carry` and `results`.
    index : torch.fx.Node
    carry : list
        Triples: a placeholder, the value before the loop, the output.
    items, constants, sizes : list
        Pairs: a placeholder, and what it stands for.
    results : list of torch.fx.Node
    """

    graph: torch.fx.Graph
    index: torch.fx.Node
    carry: list[tuple[torch.fx.Node, Any, torch.fx.Node]]
    items: list[tuple[torch.fx.Node, Any]]
    constants: list[tuple[torch.fx.Node, Any]]
    sizes: list[tuple[torch.fx.Node, Any]]
    results: list[torch.fx.Node]

    def built(self) -> torch.fx.Graph:
        """Return a graph that takes and returns these, in this order."""
        made = torch.fx.Graph()
        known: dict[torch.fx.Node, torch.fx.Node] = {}
        inputs = (
            *(one[0] for one in self.carry),
            *(one for one, _ in (*self.items, *self.constants, *self.sizes)),
        )
        for node in (self.index, *inputs):
            known[node] = made.node_copy(node)
        outputs = [*(one[2] for one in self.carry), *self.results]
        raising = [n for n in self.graph.nodes if n.op == "call_function" and n.is_impure()]
        needed = nodes_behind([*outputs, *raising])
        for node in self.graph.nodes:
            if node.op not in ("placeholder", "output") and node in needed:
                known[node] = made.node_copy(node, known.__getitem__)
        made.output(tuple(known[one] for one in outputs))
        return made


def take_rows_out(body: LoopBody, length: int, call: Call) -> dict[int, tuple[int, Place]]:
    """Make items, results and carry of rows, in place.

    Parameters
    ----------
    body : LoopBody
    length : int
        Number of iterations, the first one first.
    call : callable
        Takes a function and its arguments.

    Returns
    -------
    dict
        For carry that is gone, by its place among what was carry: the result that has the rows
        which are written, and their place.
    """
    places = _Places(body.index, length)
    for constant in list(body.constants):
        _read_rows(body, constant, length, places, call)
    gone: dict[int, tuple[int, Place]] = {}
    kept = []
    for i, one in enumerate(body.carry):
        written = _written_row(one, places)
        if written is None:
            kept.append(one)
            continue
        place, row, reads = written
        kept += _row_carry(one, place, row, reads, call)
        body.results.append(row)
        gone[i] = (len(body.results) - 1, place)
    body.carry = kept
    return gone


class _Places:
    """Finder of places that are surely within an array.

    Parameters
    ----------
    index : torch.fx.Node
        The number of the iteration.
    length : int
    """

    def __init__(self, index: torch.fx.Node, length: int) -> None:
        self.index = index
        self.length = length

    def of(self, value: Any, size: Any) -> Place | None:
        """Return a place among a number of them; None if it's another kind of number."""
        found = self._form(value)
        if found is None or type(size) is not int or found[0] == 0:
            return None
        ends = found[1], found[0] * (self.length - 1) + found[1]
        return found if min(ends) >= 0 and max(ends) < size else None

    def _form(self, value: Any) -> Place | None:
        if type(value) is int:
            return 0, value
        if not isinstance(value, torch.fx.Node):
            return None
        if value.target is _aten._local_scalar_dense.default and value.args[0] is self.index:
            return 1, 0
        if value.target not in (operator.add, operator.sub, operator.mul):
            return None
        first, second = map(self._form, value.args)
        if first is None or second is None:
            return None
        if value.target is operator.mul:
            if first[0] and second[0]:
                return None
            factor, other = (first[1], second) if not first[0] else (second[1], first)
            return factor * other[0], factor * other[1]
        sign = 1 if value.target is operator.add else -1
        return first[0] + sign * second[0], first[1] + sign * second[1]


def with_selections(graph: torch.fx.Graph, index: torch.fx.Node, length: int) -> None:
    """Write one row where an array of one place says which, in place.

    Parameters
    ----------
    graph : torch.fx.Graph
        The body of a loop.
    index : torch.fx.Node
        The number of the iteration.
    length : int
    """
    places = _Places(index, length)
    for node in list(graph.nodes):
        if node.target not in (_aten.index_put.default, _aten.index.Tensor):
            continue
        array, indices, *rest = node.args
        given = [(i, _number_in(one)) for i, one in enumerate(indices) if one is not None]
        if any(rest[1:]) or len(given) != 1:
            continue
        axis, number = given[0]
        shape = array.meta["val"].shape
        if places.of(number, shape[axis]) is None:
            continue
        with graph.inserting_before(node):
            if node.target is _aten.index.Tensor:
                new = graph.call_function(_aten.select.int, (array, axis, number))
            else:
                row = [*shape[:axis], *shape[axis + 1 :]]
                wide = graph.call_function(_aten.expand.default, (rest[0], row))
                wide.meta["val"] = rest[0].meta["val"].expand(row)
                arguments = (array, wide, axis, number)
                new = graph.call_function(_aten.select_scatter.default, arguments)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        graph.erase_node(node)


def _number_in(index: torch.fx.Node) -> Any:
    """Return the number that an array without dimensions was made of; None if it wasn't."""
    if index.meta["val"].ndim:
        return None
    while index.target in (_aten.view.default, _aten.clone.default, _aten.expand.default):
        index = index.args[0]  # type: ignore[assignment]
    return index.args[1] if index.target is _aten.full.default else None


def _selections(array: torch.fx.Node) -> list[torch.fx.Node] | None:
    """Return the reads of rows, if nothing else is done with an array."""
    users = list(array.users)
    return users if all(one.target is _aten.select.int for one in users) else None


def _read_rows(
    body: LoopBody, constant: tuple[torch.fx.Node, Any], length: int, places: _Places, call: Call
) -> None:
    """Make items of the rows that are read of a constant."""
    node, outer = constant
    reads = _selections(node)
    if not reads or node.meta["val"].ndim == 0:
        return
    shape = node.meta["val"].shape
    found = [places.of(one.args[2], shape[one.args[1]]) for one in reads]  # type: ignore[index]
    if any(place is None or place[0] < 0 for place in found):
        return
    items: dict[Any, torch.fx.Node] = {}
    for read, place in zip(reads, found, strict=True):
        assert place is not None
        axis: Any = read.args[1]
        key = (axis, place)
        if key not in items:
            stride, start = place
            end = start + stride * (length - 1) + 1
            rows = call(_aten.slice.Tensor, outer, axis, start, end, stride)
            rows = call(_aten.movedim.int, rows, axis, 0)
            with body.graph.inserting_before(body.index.next):
                items[key] = body.graph.placeholder(f"npaccel_row{len(body.items)}")
            items[key].meta = dict(read.meta)
            body.items.append((items[key], rows))
        read.replace_all_uses_with(items[key])
        body.graph.erase_node(read)
    body.constants.remove(constant)


def _written_row(
    one: tuple[torch.fx.Node, Any, torch.fx.Node], places: _Places
) -> tuple[Place, torch.fx.Node, dict[torch.fx.Node, int]] | None:
    """Return where an iteration writes a row of an array, the row, and reads of earlier rows.

    None if anything else is done with the array.
    """
    array, _, output = one
    if output.target is not _aten.select_scatter.default or output.args[0] is not array:
        return None
    _, row, axis, place = output.args
    if axis != 0 or len(output.users) != 1 or not isinstance(row, torch.fx.Node):
        return None
    size = array.meta["val"].shape[0]
    to = places.of(place, size)
    if to is None or to[0] <= 0:
        return None
    reads: dict[torch.fx.Node, int] = {}
    for user in array.users:
        if user is output:
            continue
        if user.target is not _aten.select.int or user.args[1] != 0:
            return None
        where = places.of(user.args[2], size)
        if where is None or where[0] != to[0] or (to[1] - where[1]) % to[0]:
            return None
        back = (to[1] - where[1]) // to[0]
        if not 1 <= back <= _MAX_BACK:
            return None
        reads[user] = back
    return to, row, reads


def _row_carry(
    one: tuple[torch.fx.Node, Any, torch.fx.Node],
    place: Place,
    row: torch.fx.Node,
    reads: dict[torch.fx.Node, int],
    call: Call,
) -> list[tuple[torch.fx.Node, Any, torch.fx.Node]]:
    """Return as carry the rows that are read: the one before, the one before that, and so on."""
    array, outer, _ = one
    graph = array.graph
    found: list[tuple[torch.fx.Node, Any, torch.fx.Node]] = []
    for back in range(1, max(reads.values(), default=0) + 1):
        with graph.inserting_before(array):
            held = graph.placeholder(f"{array.name}_row{back}")
        held.meta["val"] = row.meta["val"].new_empty(row.meta["val"].shape)
        before = call(_aten.select.int, outer, 0, place[1] - back * place[0])
        found.append((held, before, found[-1][0] if found else row))
    for read, back in reads.items():
        read.replace_all_uses_with(found[back - 1][0])
        graph.erase_node(read)
    return [(held, before, after) for held, before, after in found]


__all__ = ["LoopBody", "take_rows_out", "with_selections"]
