"""Rules for what computes each element of its own."""

from __future__ import annotations

import torch

from npaccel._runtime.torch.layout import Shape, Spread
from npaccel._torch.sharding.rules.plan import Labels, Operation, Plan, rule

aten = torch.ops.aten


def aligned(shape: Shape, out: Shape, start: int = 0) -> Labels:
    """Return labels of an operand's axes, which are broadcast to a result's."""
    first = len(out) - len(shape)
    return tuple(
        start + first + i if size == out[first + i] else None for i, size in enumerate(shape)
    )


def pointwise(op: Operation) -> Plan | None:
    """Plan what computes each element of its own, with broadcasting."""
    out = op.shapes[0]
    operands = [(one, aligned(one.shape, out)) for one in op.spreads]
    labels = tuple(range(len(out)))
    return Plan(operands, [labels] * len(op.shapes), op.as_it_is)


rule(
    aten.clone, aten._to_copy, aten.full_like, aten.ones_like, aten.zeros_like, aten.empty_like,
    aten.alias, aten.detach, aten.lift_fresh_copy, aten.lift_fresh, aten.copy, aten.where,
    aten.masked_fill, aten.fill, aten.nan_to_num, aten.floor_divide,
)(pointwise)  # fmt: skip


@rule(aten.bucketize, aten.searchsorted)
def _searches(op: Operation) -> Plan | None:
    values, edges = op.args[:2]
    if op.target.overloadpacket is aten.searchsorted:
        edges, values = values, edges
    if not isinstance(values, Spread) or len(edges.shape) != 1 or op.kwargs.get("sorter"):
        return None
    labels = tuple(range(len(values.shape)))
    both = [(values, labels), (edges, (None,))]
    if op.target.overloadpacket is aten.searchsorted:
        both.reverse()
    return Plan(both, [labels], op.as_it_is)


@rule(aten.new_zeros, aten.new_ones, aten.new_empty, aten.new_full)
def _made_like(op: Operation) -> Plan | None:
    first = op.args[0]
    own = torch.empty(0, dtype=first.local.dtype, device=first.local.device)
    return Plan([], [(None,) * len(op.shapes[0])], lambda *_: op.call([own]))


__all__ = ["aligned", "pointwise"]
