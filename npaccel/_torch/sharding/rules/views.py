"""Rules for other shapes of the same elements, and for parts of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from npaccel._runtime.torch.layout import Shape
from npaccel._torch.sharding.rules.elements import aligned, pointwise
from npaccel._torch.sharding.rules.plan import Bounds, Fits, Operation, Plan, axes_of, rule

aten = torch.ops.aten


@rule(aten.permute)
def _permute(op: Operation) -> Plan | None:
    (x,) = op.spreads
    dims = op.args[1]
    out = tuple(dim % len(x.shape) for dim in dims)
    return Plan([(x, tuple(range(len(x.shape))))], [out], op.as_it_is)


@rule(aten.transpose)
def _transpose(op: Operation) -> Plan | None:
    (x,) = op.spreads
    labels = list(range(len(x.shape)))
    if labels:
        one, other = (dim % len(labels) for dim in op.args[1:3])
        out = list(labels)
        out[one], out[other] = out[other], out[one]
        return Plan([(x, tuple(labels))], [tuple(out)], op.as_it_is)
    return Plan([(x, ())], [()], op.as_it_is)


@rule(aten.t)
def _t(op: Operation) -> Plan | None:
    (x,) = op.spreads
    labels = tuple(range(len(x.shape)))
    return Plan([(x, labels)], [labels[::-1]], op.as_it_is)


@rule(aten.unsqueeze)
def _unsqueeze(op: Operation) -> Plan | None:
    (x,) = op.spreads
    labels = tuple(range(len(x.shape)))
    dim = op.args[1] % (len(labels) + 1)
    return Plan([(x, labels)], [(*labels[:dim], None, *labels[dim:])], op.as_it_is)


@rule(aten.squeeze)
def _squeeze(op: Operation) -> Plan | None:
    (x,) = op.spreads
    given = axes_of(op.arg(1, "dim"), len(x.shape)) if x.shape else []
    gone = [
        i for i in given if x.shape[i] == 1
    ]  # A part may have one element where the whole has more.
    labels = tuple(None if i in gone else i for i in range(len(x.shape)))
    out = tuple(i for i in range(len(x.shape)) if i not in gone)
    return Plan([(x, labels)], [out], lambda given, *_: aten.squeeze.dims(given[0], gone))


@rule(aten.select)
def _select(op: Operation) -> Plan | None:
    (x,) = op.spreads
    dim = op.args[1] % len(x.shape)
    place = op.args[2] % x.shape[dim] if x.shape[dim] else 0
    labels = tuple(range(len(x.shape)))

    def compute(given: list[torch.Tensor], shapes: list[Shape], bounds: Bounds) -> Any:
        first, last = bounds(dim)
        if first <= place < last:
            return aten.select(given[0], dim, place - first)
        return given[0].new_zeros(shapes[0])  # Another rank has it.

    return Plan([(x, labels)], [tuple(i for i in labels if i != dim)], compute, {dim: "only"})


@rule(aten.select_scatter)
def _select_scatter(op: Operation) -> Plan | None:
    x, source = op.spreads
    dim, place = op.arg(2, "dim") % len(x.shape), op.arg(3, "index") % x.shape[op.arg(2, "dim")]
    labels = tuple(range(len(x.shape)))

    def compute(given: list[torch.Tensor], shapes: list[Shape], bounds: Bounds) -> Any:
        del shapes
        first, last = bounds(dim)
        if first <= place < last:
            return aten.select_scatter(*given, dim, place - first)
        return aten.clone(given[0])

    own = tuple(i for i in labels if i != dim)
    return Plan([(x, labels), (source, own)], [labels], compute)


@rule(aten.diagonal)
def _diagonal(op: Operation) -> Plan | None:
    (x,) = op.spreads
    both = {op.arg(2, "dim1", 0) % len(x.shape), op.arg(3, "dim2", 1) % len(x.shape)}
    labels = tuple(None if i in both else i for i in range(len(x.shape)))
    out = (*(i for i in labels if i is not None), None)
    return Plan([(x, labels)], [out], op.as_it_is)


@rule(aten.split, aten.split_with_sizes, aten.unbind)
def _split(op: Operation) -> Plan | None:
    (x,) = op.spreads
    is_unbind = op.target.overloadpacket is aten.unbind
    dim = op.arg(1 if is_unbind else 2, "dim", 0) % len(x.shape)
    labels = tuple(None if i == dim else i for i in range(len(x.shape)))
    out = tuple(i for i in labels if i is not None) if is_unbind else labels
    return Plan([(x, labels)], [out] * len(op.shapes), op.as_it_is)


@rule(aten.view_as_real)
def _view_as_real(op: Operation) -> Plan | None:
    (x,) = op.spreads
    labels = tuple(range(len(x.shape)))
    return Plan([(x, labels)], [(*labels, None)], op.as_it_is)


@rule(aten.view_as_complex)
def _view_as_complex(op: Operation) -> Plan | None:
    (x,) = op.spreads
    labels = tuple(range(len(x.shape) - 1))
    return Plan([(x, (*labels, None))], [labels], op.as_it_is)


@rule(aten.expand)
def _expand(op: Operation) -> Plan | None:
    (x,) = op.spreads
    out = op.shapes[0]
    labels = aligned(x.shape, out)
    known = tuple(i if i in labels else None for i in range(len(out)))
    return Plan([(x, labels)], [known], lambda given, shapes, _: given[0].expand(shapes[0]))


@rule(aten.view, aten._unsafe_view, aten.reshape, aten._reshape_copy)
def _view(op: Operation) -> Plan | None:
    (x,) = op.spreads
    out = op.shapes[0]
    if not isinstance(op.args[1], list | tuple):  # Another dtype.
        same = x.local.element_size() == torch.empty(0, dtype=op.args[1]).element_size()
        return pointwise(op) if same else None
    if 0 in x.shape:
        return None
    labels: list[Any] = [None] * len(x.shape)
    known: list[Any] = [None] * len(out)
    fits: dict[Any, Fits] = {}
    for ours, theirs in _groups(x.shape, out):
        mine = [i for i in ours if x.shape[i] != 1]
        its = [i for i in theirs if out[i] != 1]
        if mine and its:
            labels[mine[0]] = known[its[0]] = mine[0]
            inner = math.prod(x.shape[i] for i in mine[1:])
            outer = math.prod(out[i] for i in its[1:])
            fits[mine[0]] = _same_cuts(inner, out[its[0]], outer)
    return Plan(
        [(x, tuple(labels))],
        [tuple(known)],
        lambda given, shapes, _: given[0].reshape(shapes[0]),
        fits=fits,
    )


def _groups(old: Shape, new: Shape) -> Iterable[tuple[list[int], list[int]]]:
    """Yield axes of two shapes that hold the same elements, as few as possible."""
    i = j = 0
    while i < len(old) and j < len(new):
        ours, theirs = [i], [j]
        left, right = old[i], new[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left *= old[i]
                ours.append(i)
                i += 1
            else:
                right *= new[j]
                theirs.append(j)
                j += 1
        yield ours, theirs


def _same_cuts(inner: int, other: int, outer: int) -> Fits:
    """Return whether parts of an axis are the same elements as those of another one."""

    def fits(size: int, cuts: Callable[[int], list[tuple[int, int]]]) -> bool:
        own = [(start * inner, stop * inner) for start, stop in cuts(size)]
        return own == [(start * outer, stop * outer) for start, stop in cuts(other)]

    return fits
