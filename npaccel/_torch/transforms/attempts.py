"""Attempts at loops as scans: a function is captured, and again where a loop can't be one.

A loop is tried as a scan first, then as a scan behind a first iteration, which may make other
arrays of what goes in, and is unrolled where that fails too.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from npaccel._torch.dynamo.capture_errors import OVER_BUDGET, CaptureError
from npaccel._torch.dynamo.state import active

#: File and line of a loop.
Place = tuple[str, int]
T = TypeVar("T")


@dataclasses.dataclass
class Attempts:
    """Findings about the loops of a function.

    Attributes
    ----------
    failures : dict
        Reasons why each loop isn't a scan: the first of them lets it be one behind its first
        iteration.
    refused : dict
        Reasons why loops are unrolled that can't be written with their body as a function.
    open : list of OpenLoop
        Loops whose body is being traced, the innermost last.
    """

    failures: dict[Place, list[str]] = dataclasses.field(default_factory=dict)
    refused: dict[Place, str] = dataclasses.field(default_factory=dict)
    open: list[Any] = dataclasses.field(default_factory=list)

    def count(self, place: Place) -> int:
        """Return how many times a loop couldn't be a scan."""
        return len(self.failures.get(place, ()))

    def fail(self, place: Place, reason: str, *, for_good: bool = False) -> None:
        """Note that a loop can't be traced as it was."""
        self.failures.setdefault(place, []).append(reason)
        if for_good:
            self.failures[place].append(reason)

    def why(self) -> str:
        """Return which loops are unrolled, and why."""
        last = {place: all_[-1] for place, all_ in self.failures.items() if len(all_) > 1}
        told = [
            f"the loop in line {line} is unrolled, because {reason}"
            for (_, line), reason in {**self.refused, **last}.items()
        ]
        return "; ".join([*told, _ADVICE])


_ADVICE = 'loops="unroll" in `npaccel.jit` of the function allows ten times as much'


def attempted(capture: Callable[[], T]) -> T:
    """Capture a function, again with fewer scans as long as loops can't be some."""
    attempts = Attempts()
    while True:
        before = sum(map(len, attempts.failures.values()))
        budget = dataclasses.replace(active.budget) if active.budget is not None else None
        try:
            with _noted(attempts):
                return capture()
        except CaptureError as error:
            if sum(map(len, attempts.failures.values())) == before:
                if error.category == OVER_BUDGET and (attempts.failures or attempts.refused):
                    error.advice = attempts.why()
                raise
        active.budget = budget


@contextlib.contextmanager
def _noted(attempts: Attempts) -> Iterator[None]:
    outer, active.loops = active.loops, attempts
    attempts.open.clear()
    try:
        yield
    finally:
        active.loops = outer


__all__ = ["Attempts", "attempted"]
