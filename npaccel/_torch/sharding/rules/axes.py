"""Rules for what goes along some axes of its operands."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._runtime.torch.layout import Shape
from npaccel._torch.sharding.rules.plan import (
    Bounds,
    Exchange,
    Labels,
    Operation,
    Plan,
    along,
    rule,
)

aten = torch.ops.aten


@rule(
    aten.cumsum, aten.cumprod, aten.logcumsumexp, aten.cummax, aten.cummin, aten._softmax,
    aten._log_softmax, aten.gather, aten.scatter, aten.scatter_add, aten.scatter_reduce,
    aten.flip,
)  # fmt: skip
def _along_dim(op: Operation) -> Plan | None:
    return along(op, op.arg(1, "dim"))


@rule(aten.slice)
def _slice(op: Operation) -> Plan | None:
    (x,) = op.spreads
    dim = op.arg(1, "dim", 0) % len(x.shape)
    if op.arg(4, "step", 1) != 1:
        return along(op, dim)
    own = tuple(range(len(x.shape)))

    def taken(given: list[torch.Tensor], *_: Any) -> Any:
        return aten.alias(given[0])

    if op.shapes[0] == x.shape:
        return Plan([(x, own)], [own], taken)
    start = slice(op.arg(2, "start"), None).indices(x.shape[dim])[0]
    exchange = Exchange(0, dim, op.shapes[0][dim], start, taken)
    return Plan([(x, own)], [own], op.as_it_is, exchange=exchange)


@rule(aten.slice_scatter)
def _slice_scatter(op: Operation) -> Plan | None:
    x, source = op.spreads
    dim = op.arg(2, "dim", 0) % len(x.shape)
    own = tuple(range(len(x.shape)))
    start, stop, step = slice(op.arg(3, "start"), op.arg(4, "end"), op.arg(5, "step", 1)).indices(
        x.shape[dim]
    )
    if step != 1:
        return along(op, dim)

    def compute(given: list[torch.Tensor], shapes: list[Shape], bounds: Bounds) -> Any:
        del shapes
        into, part = given
        first, last = bounds(dim)
        low, high = max(start, first), min(max(start, stop), last)
        if low >= high:
            return aten.clone(into)
        return aten.slice_scatter(into, part, dim, low - first, high - first)

    exchange = Exchange(1, dim, x.shape[dim], -start, compute)
    return Plan([(x, own), (source, own)], [own], op.as_it_is, exchange=exchange)


@rule(aten.roll)
def _roll(op: Operation) -> Plan | None:
    return along(op, op.arg(2, "dims") or None)


@rule(aten.sort, aten.argsort)
def _sort(op: Operation) -> Plan | None:
    place = 2 if "stable" in op.target._overloadname else 1
    return along(op, op.arg(place, "dim", -1))


@rule(aten.topk)
def _topk(op: Operation) -> Plan | None:
    plan = along(op, op.arg(2, "dim", -1))
    return None if plan is None else plan.for_some()


@rule(aten.cat)
def _cat(op: Operation) -> Plan | None:
    spreads = op.spreads
    if any(len(one.shape) != len(op.shapes[0]) for one in spreads):
        return None
    return along(op, op.arg(1, "dim", 0))


@rule(aten.constant_pad_nd)
def _pad(op: Operation) -> Plan | None:
    return along(op, []) if op.spreads[0].shape else None


@rule(aten.index_select)
def _index_select(op: Operation) -> Plan | None:
    x, dim, index = op.args
    labels = tuple(range(len(x.shape)))
    dim %= len(x.shape)
    new = tuple("index" if i == dim else i for i in labels)
    old = tuple(None if i == dim else i for i in labels)
    return Plan([(x, old), (index, ("index",))], [new], op.as_it_is)


@rule(aten._fft_r2c, aten._fft_c2c, aten._fft_c2r)
def _fft(op: Operation) -> Plan | None:
    plan = along(op, op.args[1])
    return None if plan is None else plan.for_some()


#: Operators on matrices in the last two axes, with axes of a stack before.
@rule(
    aten.linalg_inv_ex, aten.linalg_cholesky_ex, aten._linalg_det, aten._linalg_slogdet,
    aten._linalg_svd, aten._linalg_eigh, aten.linalg_qr, aten.linalg_lu_factor_ex,
    aten._linalg_solve_ex,
)  # fmt: skip
def _matrices(op: Operation) -> Plan | None:
    stack = op.spreads[0].shape[:-2]
    if any(one.shape[: len(stack)] != stack for one in op.spreads):
        return None
    labels = tuple(range(len(stack)))

    def own(shape: Shape) -> Labels:
        return labels + (None,) * (len(shape) - len(stack))

    operands = [(one, own(one.shape)) for one in op.spreads]
    return Plan(operands, [own(shape) for shape in op.shapes], op.as_it_is).for_some()
