"""Solve torch's equations of sizes without dividing by what may be zero.

An array of ``n - 2`` rows and ``max(0, ...)`` columns may be empty for two reasons. torch writes
the product as ``n * k - 2 * k == 0``, divides by k, and takes n for 2 from there on: it fails where
n is another number, and compiles for one number what the guard lets others in for.

Read from torch/utils/_sympy/solve.py and torch/fx/experimental/symbolic_shapes.py
(ShapeEnv._refine_ranges) of 2.11 and 2.13.
"""

from __future__ import annotations

from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.fx.experimental import symbolic_shapes

from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch


def _try_solve(original: Any) -> Any:
    """Leave sizes unsolved whose factor may be zero, while npaccel traces."""

    def try_solve(expr: Any, thing: Any, *args: Any, **kwargs: Any) -> Any:
        if active.depth and _may_divide_by_zero(expr, thing):
            return None
        return original(expr, thing, *args, **kwargs)

    return try_solve


def _may_divide_by_zero(expr: Any, thing: Any) -> bool:
    if not isinstance(expr, sympy.Eq | sympy.Ne):
        return False
    factor = sympy.expand(expr.lhs - expr.rhs).coeff(thing)
    return bool(factor.free_symbols) and not factor.is_nonzero


PATCHES = (
    Patch(
        symbolic_shapes, "try_solve", _try_solve,
        "torch divides by sizes that may be zero", "tests/compiler/test_shapes.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
