"""Take sizes that depend on the data out of captured graphs that read and write under masks.

``a[m] = f(a[m])`` with elementwise f is ``where(m, f(a), a)``, and ``np.sum(a[m])`` is
``np.sum(a, where=m)``. Every node that holds the elements under a mask, and nothing else
that depends on their number, gets a twin that holds all elements; stores under the same
mask and reductions then take the twin. Nodes that are needed nowhere else are dropped.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import torch

from npaccel._numpy.core import table
from npaccel._numpy.indexing import index_keys, masking
from npaccel._torch.dynamo.numpy.operations import Operation
from npaccel._torch.fx_passes import masked_rules as masked_calls
from npaccel._torch.fx_passes.alias_checks import memory_of, written
from npaccel._torch.fx_passes.masked_rules import Gathered
from npaccel._torch.fx_passes.nodes import name_of

_ITEM = Operation("masked.getitem", masking.masked_item, lambda node, flags: False)
_STORE = Operation("masked.setitem", masking.masked_store, lambda node, flags: False)


def without_masked_sizes(graph: torch.fx.Graph) -> None:
    """Rewrite a captured graph in place.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured: its nodes are calls of NumPy, with fake tensors.
    """
    roots = [node for node in graph.nodes if _is_root(node)]
    if not roots:
        return
    fake_mode = _value(roots[0]).fake_mode
    untouched: set[int | None] = set()
    while True:
        found = _Pass(graph, fake_mode, untouched)
        if found.run():
            return
        untouched = found.untouched  # Once more, without the arrays that can't have a twin.


def _is_root(node: torch.fx.Node) -> bool:
    if name_of(node) != "operator.getitem" or len(node.args) != 2:
        return False
    return _mask_in(node.args[1]) is not None


def _mask_in(key: Any) -> torch.fx.Node | None:
    """Return the mask in a key, if all the rest of it is known."""
    parts = key if isinstance(key, tuple) else (key,)
    nodes = [part for part in parts if isinstance(part, torch.fx.Node)]
    masks = [node for node in nodes if _is_mask(node)]
    others = [node for node in nodes if isinstance(_value(node), torch.Tensor)]
    return masks[0] if len(masks) == 1 and len(others) == 1 else None


def _is_mask(node: torch.fx.Node) -> bool:
    value = _value(node)
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.ndim > 0


def _value(x: Any) -> Any:
    return x.meta.get("example_value") if isinstance(x, torch.fx.Node) else x


class _Pass:
    """One walk over a graph; nodes are changed as they are met."""

    def __init__(self, graph: torch.fx.Graph, fake_mode: Any, untouched: set[int | None]) -> None:
        self.graph = graph
        self.fake_mode = fake_mode
        self.untouched = untouched
        self.gathered: dict[torch.fx.Node, Gathered] = {}
        self.twins: list[torch.fx.Node] = []
        self.sinks: list[Callable[[], None]] = []
        self._numbers: dict[torch.fx.Node, int] = {}
        self._same: dict[Hashable, int] = {}
        self._versions: dict[int | None, int] = {}
        self._epoch = 0

    def run(self) -> bool:
        """Rewrite the graph; returns whether it's done."""
        for node in list(self.graph.nodes):
            if node.op == "call_function" and not self._visit(node):
                self._drop(self.twins)
                return False
            self._number(node)
        for sink in self.sinks:
            sink()
        if self.sinks:
            self._clean()
        else:
            self._drop(self.twins)
        return True

    # -- What an array holds --------------------------------------------------

    def _number(self, node: torch.fx.Node) -> None:
        """Give nodes that hold the same values the same number."""
        for target in written(node):
            memory = memory_of(target)
            self._versions[memory] = self._versions.get(memory, 0) + 1
        what: Hashable = node
        if _is_pure(node):
            what = (name_of(node), repr(torch.fx.map_arg((node.args, node.kwargs), self._content)))
        self._numbers[node] = self._same.setdefault(what, len(self._same))
        if node.op == "call_method" or (node.op == "call_function" and not is_known(node)):
            self._epoch += 1  # It may write to anything.

    def _content(self, node: torch.fx.Node) -> Any:
        """Return what a node holds now: the same for nodes that hold the same."""
        version = self._versions.get(memory_of(node), 0)
        return _Content(self._numbers[node], version, self._epoch)

    # -- One node -------------------------------------------------------------

    def _visit(self, node: torch.fx.Node) -> bool:
        """Give a node its twin, or note it as a sink; False where an array must stay untouched."""
        operands = [n for n in node.all_input_nodes if n in self.gathered]
        if _is_root(node):
            self._add_root(node)
        elif operands:
            self._use(node, operands)
        if node in self.gathered:
            return True
        twinned = {memory_of(one) for one in self.gathered}
        lost = twinned & {memory_of(target) for target in written(node)}
        self.untouched |= lost
        return not lost

    def _add_root(self, node: torch.fx.Node) -> None:
        array, key = node.args
        mask = _mask_in(key)
        if mask is None or mask in self.gathered or array in self.gathered:
            return
        after = masking.rest_after(_value(array).ndim, _known(key))
        if after is None:
            return
        width = _value(mask).ndim
        gathered = Gathered(node, mask, self._content(mask), width, after)
        self._add_twin(node, _ITEM, node.args, {}, gathered)

    def _use(self, node: torch.fx.Node, operands: list[torch.fx.Node]) -> None:
        first = self.gathered[operands[0]]
        if not isinstance(node.target, Operation):
            return
        name = name_of(node)
        if name == "operator.setitem":
            self._store(node)
        elif any(not self.gathered[one].fits(first) for one in operands):
            return
        elif name == "operator.getitem":
            if operands == [node.args[0]]:
                self._item(node, first)
        elif _is_elementwise(node):
            self._elementwise(node, first)
        elif name in masked_calls.REDUCTIONS and operands == [node.args[0]]:
            self._reduce(node, first)

    def _elementwise(self, node: torch.fx.Node, first: Gathered) -> None:
        for operand in node.all_input_nodes:
            if operand not in self.gathered and not masked_calls.broadcasts(_value(operand), first):
                return

        def twin(operand: torch.fx.Node) -> torch.fx.Node:
            if operand in self.gathered:
                return self.gathered[operand].twin
            value = _value(operand)
            if first.width == 1 or not isinstance(value, torch.Tensor) or value.ndim <= first.after:
                return operand
            widen = Operation("masked.widened", masking.widened, lambda node, flags: False)
            return self._insert(node, widen, (operand, first.after, first.width), {})

        args = torch.fx.map_arg(node.args, twin)
        kwargs = torch.fx.map_arg(node.kwargs, twin)
        self._add_twin(node, node.target, args, kwargs, first)

    def _item(self, node: torch.fx.Node, first: Gathered) -> None:
        found = masked_calls.key_of_twin(node, first)
        if found is not None:
            key, after = found
            self._add_twin(node, node.target, (first.twin, key), {}, first.with_(after=after))

    def _reduce(self, node: torch.fx.Node, first: Gathered) -> None:
        made = masked_calls.reduced(node, first)
        if made is None:
            return
        if made.gathered is not None:
            self._add_twin(node, made.target, made.args, made.kwargs, made.gathered)
        elif self._content(first.mask) == first.content:

            def sink() -> None:
                wide = Operation("masked.where", masking.wide_mask, lambda node, flags: False)
                mask = self._insert(node, wide, (first.mask, first.after), {})
                node.target = made.target
                node.args, node.kwargs = made.with_mask(mask)

            self.sinks.append(sink)

    def _store(self, node: torch.fx.Node) -> None:
        array, key, value = node.args
        assert isinstance(array, torch.fx.Node)
        mask = _mask_in(key)
        if (
            mask is None
            or not isinstance(value, torch.fx.Node)
            or value not in self.gathered
            or array in self.gathered
        ):
            return
        gathered = self.gathered[value]
        if self._content(mask) != gathered.content:
            return
        after = masking.rest_after(_value(array).ndim, _known(key))
        axes = _value(value).ndim - 1 - gathered.after
        if after != gathered.after or axes > self._axes_before(array, key, after):
            return

        def sink() -> None:
            node.target = _STORE
            node.args = (array, key, gathered.twin)

        self.sinks.append(sink)

    def _axes_before(self, array: torch.fx.Node, key: Any, after: int) -> int:
        parts = index_keys.expanded_key(_value(array).ndim, _known(key))
        return sum(part.kind in ("slice", "new") for part in parts) - after

    # -- Changing the graph ---------------------------------------------------

    def _add_twin(
        self, node: torch.fx.Node, target: Any, args: Any, kwargs: Any, like: Gathered
    ) -> None:
        if memory_of(node) is None or memory_of(node) in self.untouched:
            return
        twin = self._insert(node, target, args, kwargs)
        self.gathered[node] = like.with_(twin=twin)

    def _insert(self, before: torch.fx.Node, target: Any, args: Any, kwargs: Any) -> torch.fx.Node:
        with self.graph.inserting_before(before):
            made = self.graph.call_function(target, args, kwargs)
        made.meta = {"stack_trace": before.stack_trace}
        with self.fake_mode:
            given, named = torch.fx.map_arg((args, kwargs), _value)
            made.meta["example_value"] = target(*given, **named)
        self.twins.append(made)
        return made

    def _clean(self) -> None:
        """Drop what nothing needs any more, and assertions about its size."""
        candidates = {*self.gathered, *self.twins}
        for node in self.graph.nodes:
            if _is_about_sizes(node) and candidates & set(node.all_input_nodes):
                candidates.add(node)
        needed: set[torch.fx.Node] = set()
        writers: dict[int | None, list[torch.fx.Node]] = {}
        for node in candidates:
            for target in written(node):
                writers.setdefault(memory_of(target), []).append(node)
        waiting = [node for node in self.graph.nodes if node not in candidates]
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed.add(node)
                waiting += [*node.all_input_nodes, *writers.get(memory_of(node), ())]
        self._drop([node for node in self.graph.nodes if node not in needed])

    def _drop(self, nodes: Iterable[torch.fx.Node]) -> None:
        gone = set(nodes)
        for node in reversed(list(self.graph.nodes)):
            if node in gone:
                self.graph.erase_node(node)


@dataclasses.dataclass(frozen=True)
class _Content:
    """Value of a node, so that it can be compared and printed."""

    number: int
    version: int
    epoch: int


def _known(key: Any) -> Any:
    return torch.fx.map_arg(key, _value)


def is_known(node: torch.fx.Node) -> bool:
    """Whether it's known which of its arguments a function's node writes to."""
    known = (torch.clone, operator.getitem)
    return isinstance(node.target, Operation) or node.target in known or _is_about_sizes(node)


def _is_about_sizes(node: torch.fx.Node) -> bool:
    """Whether a node computes a size or asserts something of one."""
    if node.op != "call_function" or isinstance(node.target, Operation):
        return False
    asserts = any(word in str(node.target) for word in ("assert", "_check", "constrain"))
    numbers = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)
    return asserts or isinstance(_value(node), numbers)


def _is_elementwise(node: torch.fx.Node) -> bool:
    name = name_of(node)
    if name in masked_calls.OPERATORS:
        return True
    row = table.row_named(name)
    return row is not None and row.elementwise and masked_calls.is_plain(node, row)


def _is_pure(node: torch.fx.Node) -> bool:
    return _is_elementwise(node) and not any(True for _ in written(node))


__all__ = ["is_known", "without_masked_sizes"]
