"""Rules of ATen's operations along the axes of sharded arrays, a module for each kind.

In: an operation and its operands. Out: a `Plan`: which axes go together, and what is reduced.

`plan` first. `elements`, `axes`, `reductions`, `products`, `views` and `indices` register rules;
what has none is computed on whole arrays.
"""

from __future__ import annotations

from typing import Any

import torch

from npaccel._torch.sharding.rules import axes, elements, indices, products, reductions, views
from npaccel._torch.sharding.rules.plan import RULES, Labels, Operation, Plan, Rule

#: The modules that have rules.
MODULES = (axes, elements, indices, products, reductions, views)


def rule_of(target: Any) -> Rule | None:
    """Return the rule of an operation, None if it has none."""
    found = RULES.get(target)
    if found is None and isinstance(target, torch._ops.OpOverload):
        return elements.pointwise if torch.Tag.pointwise in target.tags else None
    return found


__all__ = ["Labels", "Operation", "Plan", "rule_of"]
