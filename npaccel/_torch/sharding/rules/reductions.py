"""Rules for reductions over axes."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from npaccel._torch.sharding.rules.elements import pointwise
from npaccel._torch.sharding.rules.plan import (
    Fits,
    Labels,
    Operation,
    Plan,
    axes_of,
    has_no_empty,
    rule,
)

aten = torch.ops.aten


def reduction(op: Operation, dims: Any, keeps: bool, how: str) -> Plan:
    """Plan a reduction over axes."""
    (x,) = op.spreads
    ndim = len(x.shape)
    gone = axes_of(dims, ndim) if ndim else []
    labels = tuple(range(ndim))
    out: Labels = tuple(None if i in gone else i for i in labels if keeps or i not in gone)
    fits: dict[Any, Fits] = {}
    if how in ("max", "min", "argmax", "argmin"):  # Nothing has no maximum.
        fits = dict.fromkeys(gone, has_no_empty)
    return Plan([(x, labels)], [out] * len(op.shapes), op.as_it_is, dict.fromkeys(gone, how), fits)


@rule(aten.sum)
def _sum(op: Operation) -> Plan | None:
    return reduction(op, op.arg(1, "dim"), op.arg(2, "keepdim", False), "sum")


@rule(aten.amax, aten.amin, aten.any, aten.all, aten.prod)
def _extreme(op: Operation) -> Plan | None:
    name = op.name
    how = {"amax": "max", "amin": "min", "prod": "product"}.get(name, name)
    return reduction(op, op.arg(1, "dim"), op.arg(2, "keepdim", False), how)


@rule(aten.max, aten.min)
def _max(op: Operation) -> Plan | None:
    if len(op.spreads) == 2:
        return pointwise(op)
    if len(op.shapes) == 1:
        return reduction(op, None, False, op.name)
    return order(op, op.args[1], op.arg(2, "keepdim", False))


@rule(aten.argmax, aten.argmin)
def _argmax(op: Operation) -> Plan | None:
    (x,) = op.spreads
    dim = op.arg(1, "dim")
    if dim is None and len(x.shape) > 1:
        return _flat_argmax(op)
    return reduction(op, dim, op.arg(2, "keepdim", False), op.name)


def _flat_argmax(op: Operation) -> Plan | None:
    """Plan the place of the largest element of all: in C order, so that axis 0 may be sharded."""
    (x,) = op.spreads
    labels: Labels = (0,) + (None,) * (len(x.shape) - 1)
    out: Labels = (None,) * len(op.shapes[0])
    return Plan([(x, labels)], [out], op.as_it_is, {0: op.name}, {0: has_no_empty})


@rule(aten.kthvalue, aten.median, aten.nanmedian, aten.mode)
def _order(op: Operation) -> Plan | None:
    is_kth = op.name == "kthvalue"
    dim = op.arg(2 if is_kth else 1, "dim")
    return None if dim is None else order(op, dim, op.arg(3 if is_kth else 2, "keepdim", False))


def order(op: Operation, dim: Any, keeps: bool) -> Plan:
    """Plan what finds an element of each row along an axis, and its place."""
    plan = reduction(op, dim, keeps, "sum")
    return dataclasses.replace(plan, reduces={}).without(dim).for_some()


__all__ = ["order", "reduction"]
