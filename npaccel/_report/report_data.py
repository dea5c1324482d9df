"""Data of a report on a function, for those who show it."""

from __future__ import annotations

import dataclasses
import math
import types
from typing import TYPE_CHECKING

from npaccel._report.log import Fallback, Graph, Log

if TYPE_CHECKING:
    from npaccel._report.details import Narrowed


class ReportData:
    """Data on a function; `Report` has the attributes' meanings."""

    def __init__(self, name: str, log: Log, code: types.CodeType | None = None) -> None:
        self.name = name
        self._code = code
        with log.lock:
            self.graphs = tuple(log.graphs)
            self.fallbacks = tuple(log.fallbacks.values())
            self.loops = tuple(log.loops[place] for place in sorted(log.loops))
            self._choices = dict(log.choices)
            self._narrowed_in_loops = tuple(log.narrowed)
            self.native = tuple(log.native[place] for place in sorted(log.native))
            chosen = [f"{place} runs {choice}" for place, choice in log.choices.items()]
            self.notes = (*log.notes, *map(str, self.native), *chosen)
            self.builds = tuple(dataclasses.replace(build) for build in log.builds)
            self.tiers = tuple(dataclasses.replace(tier) for tier in log.tiers)
            self.timing = log.timing

    @property
    def recompilations(self) -> tuple[Graph, ...]:
        """The graphs that were compiled although an earlier one existed."""
        return tuple(graph for graph in self.graphs if graph.reason and not graph.loaded)

    @property
    def breaks(self) -> tuple[Fallback, ...]:
        """The fallbacks around which the function is compiled as subgraphs."""
        return tuple(one for one in self.fallbacks if one.kind == "break")

    @property
    def compile_seconds(self) -> float:
        """Time spent on capturing and compiling."""
        return sum(graph.seconds for graph in self.graphs if not graph.loaded)

    @property
    def stages(self) -> dict[str, float]:
        """Seconds of capture, lowering, C++ or Triton compiler, loading, and the rest."""
        total: dict[str, float] = {}
        for graph in self.graphs:
            for stage, seconds in graph.stages.items():
                total[stage] = total.get(stage, 0.0) + seconds
        return total

    @property
    def narrowed(self) -> tuple[Narrowed, ...]:
        """The lines at which ``default_float`` makes floats of 32 bit."""
        graphs = [one for graph in self.graphs for one in graph.details.narrowed]
        found = dict.fromkeys([*graphs, *self._narrowed_in_loops])
        return tuple(sorted(found, key=lambda one: (one.file, one.line)))

    @property
    def is_numpys(self) -> bool:
        """Whether NumPy makes all calls, though some of them may have been compiled."""
        return bool(self.tiers) and all(tier.is_numpys for tier in self.tiers)

    @property
    def artifacts(self) -> tuple[str, ...]:
        """The folders in the disk cache that hold the compiled code."""
        return tuple(graph.artifact for graph in self.graphs if graph.artifact)

    @property
    def break_even(self) -> float | None:
        """Number of calls after which the compilation has paid off.

        None where it wasn't measured, infinity where NumPy is as fast.
        """
        if self.timing is None:
            return None
        saved = self.timing.plain - self.timing.compiled
        if saved <= 0:
            return math.inf
        return math.ceil(sum(graph.seconds for graph in self.graphs) / saved)
