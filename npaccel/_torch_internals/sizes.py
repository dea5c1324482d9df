"""Questions about sizes that may be symbolic.

Read from torch/fx/experimental/symbolic_shapes.py of 2.11 and 2.13.
"""

from __future__ import annotations

from typing import Any

from torch.fx.experimental.symbolic_shapes import guard_or_false


def surely(condition: Any) -> bool:
    """Whether a condition on sizes holds; False where that depends on the data.

    Parameters
    ----------
    condition : bool or torch.SymBool
        A comparison of sizes. Where it can be decided from the sizes of the
        traced call, later calls are guarded to agree.
    """
    answer: bool = guard_or_false(condition)
    return answer


__all__ = ["surely"]
