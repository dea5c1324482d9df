"""Rules for arrays of indices."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime.torch.layout import Spread
from npaccel._torch.sharding.rules.elements import aligned
from npaccel._torch.sharding.rules.plan import Labels, Operation, Plan, rule

aten = torch.ops.aten


def _index_labels(x: Spread, indices: Sequence[Any]) -> tuple[list[Labels], Labels, Labels] | None:
    """Return labels of arrays of indices, of what is indexed, and of what is found."""
    arrays = [one for one in indices if one is not None]
    if any(one.local.dtype in (torch.bool, torch.uint8) for one in arrays):
        return None
    shape = tuple(np.broadcast_shapes(*(one.shape for one in arrays)))
    found = [
        tuple(None if label is None else ("index", label) for label in aligned(one.shape, shape))
        for one in arrays
    ]
    axes = [i for i, one in enumerate(indices) if one is not None]
    own: Labels = tuple(None if i in axes else i for i in range(len(x.shape)))
    known: Labels = tuple(
        ("index", i) if any(("index", i) in one for one in found) else None
        for i in range(len(shape))
    )
    is_together = axes == list(range(axes[0], axes[-1] + 1))
    first = axes[0] if is_together else 0
    rest = [i for i in own if i is not None]
    before = [i for i in rest if i < first] if is_together else []
    return found, own, (*before, *known, *rest[len(before) :])


@rule(aten.index, aten._unsafe_index)
def _index(op: Operation) -> Plan | None:
    x, indices = op.args
    made = _index_labels(x, indices)
    if made is None:
        return None
    found, own, out = made
    arrays = [one for one in indices if one is not None]
    return Plan([(x, own), *zip(arrays, found, strict=True)], [out], op.as_it_is)


@rule(aten.index_put, aten._unsafe_index_put)
def _index_put(op: Operation) -> Plan | None:
    x, indices, values = op.args[:3]
    made = _index_labels(x, indices)
    if made is None or len(values.shape) > len(made[2]):
        return None
    found, own, out = made
    arrays = [one for one in indices if one is not None]
    known = [(x, own), *zip(arrays, found, strict=True)]
    sizes = {
        label: size for one, labels in known for label, size in zip(labels, one.shape, strict=True)
    }
    given = zip(out[len(out) - len(values.shape) :], values.shape, strict=True)
    of_values = tuple(
        label if label is not None and size == sizes[label] else None for label, size in given
    )
    plan = Plan([*known, (values, of_values)], [own], op.as_it_is)
    if not op.arg(3, "accumulate", False):
        return _indices_whole(plan)
    gone = {label for label in out if isinstance(label, tuple)}
    return dataclasses.replace(
        plan,
        compute=lambda given, *_: op.call([aten.zeros_like(given[0]), *given[1:]]),
        reduces=dict.fromkeys(gone, "sum"),
        adds=aten.add.Tensor,
    )


def _indices_whole(plan: Plan) -> Plan:
    """Return a plan in which all arrays of indices are needed whole."""
    return dataclasses.replace(
        plan,
        operands=[
            (one, tuple(None if isinstance(label, tuple) else label for label in labels))
            for one, labels in plan.operands
        ],
    )
