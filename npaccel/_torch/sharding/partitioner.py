"""Make of a graph for whole arrays the one that a rank computes, with collectives in it.

The graph is interpreted operation by operation, with what the rank has of each array, and traced
again. A rule says along which axes an operation may be cut; an array that is cut otherwise moves
first, and the move is noted with its line. All decisions depend on shapes of whole arrays and on
the mesh alone, so that all ranks decide the same.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.tensor import Replicate, Shard

from npaccel._report.details import Collective
from npaccel._runtime.torch import layout
from npaccel._runtime.torch.layout import Placements, Shape, Spread
from npaccel._torch.dynamo.source_lines import frames_of
from npaccel._torch.sharding.reducers import REDUCERS, place_of_extreme
from npaccel._torch.sharding.rules import Labels, Operation, Plan, rule_of
from npaccel._torch.sharding.rules.plan import Bounds

aten = torch.ops.aten
_tree = torch.utils._pytree


class Partitioner(torch.fx.Interpreter):
    """Interpret a graph of ATen's operations for one rank.

    Parameters
    ----------
    module : torch.fx.GraphModule
        Each node's ``meta["val"]`` is of the whole.
    mesh : DeviceMesh
    """

    def __init__(self, module: torch.fx.GraphModule, mesh: Any) -> None:
        super().__init__(module)
        self.mesh = mesh
        self.node: torch.fx.Node | None = None
        self.collectives: list[Collective] = []

    def run_node(self, n: torch.fx.Node) -> Any:
        """Compute a node."""
        self.node = n
        with torch.fx.traceback.set_current_meta(n):
            return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Compute an operation."""
        assert self.node is not None
        if target is operator.getitem:
            return args[0][args[1]]
        value = self.node.meta.get("val")
        shapes = [tuple(one.shape) for one in _tensors(value)]
        op = Operation(target, args, kwargs, shapes)
        if target is aten.copy_.default:
            return self._copied(op)
        return self._computed(op)

    def _computed(self, op: Operation) -> Any:
        spreads = op.spreads
        known = all(type(size) is int for shape in op.shapes for size in shape)
        if not known or all(one.is_replicated for one in spreads):
            return self._everywhere(op)
        rule = rule_of(op.target)
        plan = None if rule is None else rule(op)
        return self._everywhere(op) if plan is None else self._planned(op, plan)

    def _everywhere(self, op: Operation) -> Any:
        """Compute an operation on whole arrays, on each rank."""
        whole = layout.replicated(self.mesh)
        given = [self._moved(one, whole, op) for one in op.spreads]
        results = op.call(given)
        return _tree.tree_map_only(
            torch.Tensor, lambda one: Spread(one, tuple(one.shape), whole), results
        )

    def _copied(self, op: Operation) -> Any:
        """Write to an input."""
        into, source = op.args[:2]
        if not isinstance(source, Spread):
            return op.call([into.local])
        if source.shape != into.shape:
            wide = Operation(aten.expand.default, (source, into.shape), {}, [into.shape])
            source = self._computed(wide)
        into.local.copy_(self._moved(source, into.placements, op))
        return into

    # -- An operation with a plan ---------------------------------------------

    def _planned(self, op: Operation, plan: Plan) -> Any:
        chosen = [self._best(plan, axis) for axis in range(self.mesh.ndim)]
        if plan.exchange is not None and chosen.count(plan.exchange.dim) > 1:
            return self._planned(op, plan.without(plan.exchange.dim))
        chosen = self._fitting(plan, chosen)
        given = [self._moved(one, _placed(labels, chosen), op) for one, labels in plan.operands]
        compute = plan.compute
        if plan.exchange is not None and plan.exchange.dim in chosen:
            compute = plan.exchange.compute
            given = self._exchanged(op, plan, chosen, given)
        placed = [_placed(labels, chosen) for labels in plan.outputs]
        made = [
            layout.local_shape(shape, self.mesh, own)
            for shape, own in zip(op.shapes, placed, strict=True)
        ]
        results = compute(given, made, self._bounds(plan, chosen))
        several = isinstance(results, list | tuple)
        found = [
            Spread(self._reduced(one, shape, op, plan, chosen, given), shape, own)
            for one, shape, own in zip(
                results if several else [results], op.shapes, placed, strict=True
            )
        ]
        return found if several else found[0]

    def _exchanged(
        self, op: Operation, plan: Plan, chosen: Sequence[Any], given: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Return what a rank has of operands, and what it needs of the one that's exchanged."""
        exchange = plan.exchange
        assert exchange is not None
        one, labels = plan.operands[exchange.operand]
        axis = chosen.index(exchange.dim)
        size = one.shape[exchange.dim]
        old = self._cuts([axis], size)
        new = exchange.wanted(self._cuts([axis], exchange.size), size)
        moves = sum(
            max(0, high - low) - max(0, min(high, last) - max(low, first))
            for (first, last), (low, high) in zip(old, new, strict=True)
        )
        found, local = list(given), given[exchange.operand]
        if moves:
            key = (exchange.dim, tuple(new), _placed(labels, chosen))
            if key not in one.exchanged:
                self._note("all-to-all", moves * (one.nbytes // size), op)
                made = layout.exchanged(local, exchange.dim, self.mesh, axis, old, new)
                one.exchanged[key] = made
            local = one.exchanged[key]
        elif old != new:
            index = self.mesh.get_coordinate()[axis]
            (first, _), (low, high) = old[index], new[index]
            local = aten.slice(local, exchange.dim, max(0, low - first), max(0, high - first))
        found[exchange.operand] = local
        return found

    def _best(self, plan: Plan, axis: int) -> Any:
        """Return the label to cut along an axis of the mesh; None to have all of it everywhere."""
        labels: dict[Any, int] = {}
        for one, own in plan.operands:
            placement = one.placements[axis]
            if isinstance(placement, Shard) and own[placement.dim] is not None:
                labels.setdefault(own[placement.dim], 0)
        labels[None] = 0
        for label in labels:
            for one, own in plan.operands:
                old = one.placements[axis]
                if isinstance(old, Shard) and (label is None or own[old.dim] != label):
                    labels[label] += one.nbytes
        return min(labels, key=lambda label: labels[label])

    def _fitting(self, plan: Plan, chosen: list[Any]) -> list[Any]:
        """Return the chosen labels without those that can't be cut so."""
        sizes = _sizes(plan)
        kept = list(chosen)
        for label in {one for one in chosen if one in plan.fits}:
            axes = [i for i, one in enumerate(chosen) if one == label]
            if not plan.fits[label](sizes[label], functools.partial(self._cuts, axes)):
                kept = [None if one == label else one for one in kept]
        return kept

    def _bounds(self, plan: Plan, chosen: Sequence[Any]) -> Bounds:
        """Return what tells from where to where this rank has a label."""
        sizes = _sizes(plan)

        def bounds(label: Any) -> tuple[int, int]:
            own = _placed((label,), chosen)
            ((start, stop),) = layout.local_bounds((sizes[label],), self.mesh, own)
            return start, stop

        return bounds

    def _cuts(self, axes: Sequence[int], size: int) -> list[tuple[int, int]]:
        """Return from where to where each rank has an axis that is cut along axes of the mesh."""
        shape = [self.mesh.size(axis) for axis in axes]
        placements = tuple(Shard(0) for _ in axes)
        places = itertools.product(*map(range, shape))
        return [layout.bounds((size,), shape, place, placements)[0] for place in places]

    def _reduced(
        self,
        result: torch.Tensor,
        shape: Shape,
        op: Operation,
        plan: Plan,
        chosen: Sequence[Any],
        given: Sequence[torch.Tensor],
    ) -> torch.Tensor:
        """Reduce what ranks have made of a result of some shape."""
        reductions = {plan.reduces[label] for label in chosen if label in plan.reduces}
        if reductions:
            (reduction,) = reductions
            axes = [i for i, label in enumerate(chosen) if label in plan.reduces]
            if reduction in ("argmax", "argmin"):
                result = self._place(result, shape, op, plan, chosen, given, axes, reduction)
            else:
                self._note("all-reduce", math.prod(shape) * result.itemsize, op)
                result = REDUCERS[reduction](result, self.mesh, axes)
        return result if plan.adds is None else plan.adds(given[0], result)

    def _place(
        self,
        places: torch.Tensor,
        shape: Shape,
        op: Operation,
        plan: Plan,
        chosen: Sequence[Any],
        given: Sequence[torch.Tensor],
        axes: Sequence[int],
        how: str,
    ) -> torch.Tensor:
        """Return where the largest element of all is, of where each rank's is."""
        (x,), (one, labels) = given, plan.operands[0]
        dim, keeps = op.arg(1, "dim"), op.arg(2, "keepdim", False)
        bounds = layout.local_bounds(one.shape, self.mesh, _placed(labels, chosen))
        if dim is None:
            start = bounds[0][0] * math.prod(one.shape[1:]) if one.shape else 0
            values = x.reshape(-1).gather(0, places.reshape(1)).reshape(places.shape)
        else:
            dim %= len(one.shape)
            start = bounds[dim][0]
            where = places if keeps else places.unsqueeze(dim)
            values = x.gather(dim, where)
            values = values if keeps else values.squeeze(dim)
        kind = values.dtype
        values = values.to(torch.uint8) if kind is torch.bool else values
        for each in (values, places):
            nbytes = math.prod(shape) * each.itemsize * self._count(axes)
            self._note("all-gather", nbytes, op)
        return place_of_extreme(values, places + start, self.mesh, axes, how)

    def _count(self, axes: Sequence[int]) -> int:
        return math.prod(self.mesh.size(axis) for axis in axes)

    # -- Moves ----------------------------------------------------------------

    def _moved(self, one: Spread, new: Placements, op: Operation) -> torch.Tensor:
        """Return what this rank has of an array under other placements, and note the move."""
        if one.placements == new:
            return one.local
        if new not in one.others:
            if not one.is_replicated:
                self._note(_name_of_move(one.placements, new), one.nbytes, op, is_gather=True)
            one.others[new] = layout.moved(one.local, one.shape, self.mesh, one.placements, new)
        return one.others[new]

    def _note(self, kind: str, nbytes: int, op: Operation, *, is_gather: bool = False) -> None:
        assert self.node is not None
        frames = frames_of(self.node.meta.get("stack_trace"))
        file, line, text = frames[-1] if frames else ("", 0, "")
        self.collectives.append(Collective(kind, nbytes, op.name, file, line, text, is_gather))


def _sizes(plan: Plan) -> dict[Any, int]:
    """Return the sizes of a plan's labels."""
    return {
        label: size
        for one, own in reversed(plan.operands)  # what is exchanged has another size than the first
        for label, size in zip(own, one.shape, strict=True)
    }


def _tensors(value: Any) -> list[torch.Tensor]:
    return [one for one in _tree.tree_leaves(value) if isinstance(one, torch.Tensor)]


def _placed(labels: Labels, chosen: Sequence[Any]) -> Placements:
    """Return the placements of an array, of which labels are cut along the mesh's axes."""
    return tuple(
        Replicate() if label is None or label not in labels else Shard(labels.index(label))
        for label in chosen
    )


def _name_of_move(old: Placements, new: Placements) -> str:
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    if any(isinstance(a, Shard) and isinstance(b, Shard) for a, b in pairs):
        return "all-to-all"
    return "all-gather"


__all__ = ["Partitioner"]
