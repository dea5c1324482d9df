"""Budget of a capture: it ends where a function goes through too many lines or operations.

A loop that is unrolled, or a recursion, would be captured and compiled for minutes. Lines and
operations are counted instead of seconds, so that the same functions are compiled on each machine.

Read from torch/_dynamo/symbolic_convert.py (InstructionTranslatorBase.starts_line) of 2.11, 2.13
and 2.15.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from torch._dynamo.symbolic_convert import InstructionTranslatorBase

from npaccel._torch.dynamo.capture_errors import OVER_BUDGET
from npaccel._torch.dynamo.numpy.calls import break_graph, refuse
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Maximum number of lines that a capture goes through, those of callees and iterations counted
#: again: each takes two milliseconds.
MAX_LINES = 5_000
#: Maximum number of operations of a graph: each takes ten milliseconds to lower.
MAX_OPERATIONS = 1_500
#: Maximum number of values that are read: each takes half a millisecond, and a check at each call.
MAX_READS = 20_000
#: Maximum number of items of a list, a set or a dict from outside: each takes up to 50
#: microseconds, whatever is read of it.
MAX_ITEMS = 50_000
_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
#: The same of a function that may run otherwise: what takes longer is split at its loops.
_LINES_OF_ATTEMPT, _OPERATIONS_OF_ATTEMPT, _READS_OF_ATTEMPT = 1_000, 400, 4_000
#: Files of code that transforms put around the user's.
_TRANSFORMS = (
    *("npaccel/_transforms/", "npaccel/_torch/transforms/"),
    "npaccel/_runtime/transform_leaves.py",
)
#: Factor by which there may be more where unrolling was asked for.
_IF_UNROLLED = 10


@dataclasses.dataclass
class Budget:
    """Budget of a capture.

    Parameters
    ----------
    lines, operations, reads : int
        Maximum numbers.
    """

    lines: int
    operations: int
    reads: int

    def spend(self, operations: int) -> None:
        """Count a line; end the capture if it's one too many.

        Parameters
        ----------
        operations : int
            Of the graph so far.
        """
        self.lines -= 1
        if self.lines < 0 or operations > self.operations:
            break_graph(OVER_BUDGET, "What the function does has no end.")

    def read(self, value: Any) -> None:
        """Count a value that is read; end the capture if it's one too many, or too long."""
        if isinstance(value, _CONTAINERS) and len(value) > MAX_ITEMS:
            refuse(
                f"a container of more than {MAX_ITEMS:,} items",
                "",
                "each would be looked at; keep such data in an array, or read it before the call",
            )
        self.reads -= 1
        if self.reads < 0:
            break_graph(OVER_BUDGET, "What the function reads has no end.")


def of(loops: str) -> Budget:
    """Return the budget of a function with an option ``loops``."""
    factor = _IF_UNROLLED if loops == "unroll" else 1
    return Budget(MAX_LINES * factor, MAX_OPERATIONS * factor, MAX_READS * factor)


def of_attempt() -> Budget:
    """Return the budget of a function that runs otherwise where it's spent."""
    return Budget(_LINES_OF_ATTEMPT, _OPERATIONS_OF_ATTEMPT, _READS_OF_ATTEMPT)


@contextlib.contextmanager
def limited(budget: Budget) -> Iterator[None]:
    """Have captures in this thread end where a budget is spent."""
    before, active.budget = active.budget, budget
    try:
        yield
    finally:
        active.budget = before


def _starts_line(original: Any) -> Any:
    @functools.wraps(original)
    def starts_line(self: Any, lineno: int) -> None:
        original(self, lineno)
        file = self.f_code.co_filename
        if active.budget is not None and not any(folder in file for folder in _TRANSFORMS):
            active.budget.spend(len(self.output.graph.nodes))

    return starts_line


PATCHES = (
    Patch(
        InstructionTranslatorBase, "starts_line", _starts_line,
        "loops that are unrolled are traced for minutes",
        "tests/torch_layer/dynamo/test_budget.py",
        read="2.11, 2.13, 2.15",
    ),
)  # fmt: skip

__all__ = ["MAX_LINES", "MAX_OPERATIONS", "Budget", "limited", "of"]
