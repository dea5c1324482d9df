"""Operator of a scan, ``torch.ops.npaccel.scan``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npaccel._numpy.host.registration import operator
from npaccel._torch.transforms.scans.body import body_of


def _computed(
    carry: Sequence[torch.Tensor],
    items: Sequence[torch.Tensor],
    constants: Sequence[torch.Tensor],
    sizes: Sequence[int],
    body: int,
    length: int,
    reverse: bool,
) -> list[torch.Tensor]:
    """Compute a scan, one iteration after the other."""
    one = body_of(body)
    results = _results(one, carry, length)
    current = list(carry)
    for i in reversed(range(length)) if reverse else range(length):
        rows = [item[i] for item in items]
        found = one.module(torch.tensor(i), *current, *rows, *constants, *sizes)
        current = list(found[: one.carried])
        for result, row in zip(results, found[one.carried :], strict=True):
            result[i] = row
    like = torch.contiguous_format
    return [*(torch.clone(c, memory_format=like) for c in current), *results]


def _fake(
    carry: Sequence[torch.Tensor],
    items: Sequence[torch.Tensor],
    constants: Sequence[torch.Tensor],
    sizes: Sequence[Any],
    body: int,
    length: Any,
    reverse: bool,
) -> list[torch.Tensor]:
    last = [torch.empty(c.shape, dtype=c.dtype, device=c.device) for c in carry]
    return [*last, *_results(body_of(body), carry, length)]


def _results(one: Any, carry: Sequence[torch.Tensor], length: Any) -> list[torch.Tensor]:
    rows = one.outputs[one.carried :]
    return [torch.empty((length, *r.shape), dtype=r.dtype, device=r.device) for r in rows]


#: Takes carry, items, constants and sizes, the number of a body, how many iterations there are,
#: and whether they begin with the last item. Returns the last carry, and results, stacked.
SCAN = operator(
    "scan(Tensor[] carry, Tensor[] items, Tensor[] constants, SymInt[] sizes, int body, "
    "SymInt length, bool reverse) -> Tensor[]",
    _computed,
    _fake,
    (torch.Tag.pt2_compliant_tag,),
    device="CompositeExplicitAutograd",
)

__all__ = ["SCAN"]
