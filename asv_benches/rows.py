"""The lines of the table, and tasks that new processes do in turn."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from benchmarks.processes import empty_caches, run_child


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table.

    Parameters
    ----------
    what : str
        What was measured.
    asked : str
        The bound, in words.
    measured : str
        The ratio it is about.
    met : bool
        Whether the bound is kept.
    figures : dict
        Everything that was measured, by name: seconds or bytes.
    """

    what: str
    asked: str
    measured: str
    met: bool
    figures: dict[str, float]


def implemented(names: Iterable[str], make: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
    """Yield names of implementations and what is made for each; say which can't run it."""
    for name in names:
        try:
            made = make(name)
        except NotImplementedError as error:
            print(f"  left out: {error}", file=sys.stderr)
        else:
            yield name, made


def in_turn(
    tasks: Mapping[str, tuple[str, ...]],
    rounds: int,
    cold: bool = False,
    caches: dict[str, str] | None = None,
) -> dict[str, float]:
    """Run tasks in new processes that take turns and return each one's median seconds.

    Parameters
    ----------
    tasks : mapping of str to tuple of str
        Tasks of `benchmarks.children` with their arguments, by what they are called here.
    rounds : int
        How often each has its turn.
    cold : bool
        Whether each process starts with empty caches of its own.
    caches : dict, optional
        The caches of all of them, from `empty_caches`.

    Returns
    -------
    dict of str to float
    """
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            with empty_caches() if cold else contextlib.nullcontext(caches) as own:
                taken[name].append(run_child(*task, caches=own)["seconds"])
    return {name: statistics.median(values) for name, values in taken.items()}
