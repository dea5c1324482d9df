"""The report of a function."""

from __future__ import annotations

import dataclasses
import math
import types
from typing import TYPE_CHECKING, Any

from npaccel._report.log import Fallback, Graph, Log

if TYPE_CHECKING:
    from npaccel._report.details import Narrowed
    from npaccel._report.source_lines import Block


class Report:
    """What npaccel did with a function, up to now.

    ``str()`` of it is for terminals; notebooks show it with the source coloured by what
    runs where, and the generated code folded beside each line.

    Attributes
    ----------
    name : str
        The function's name.
    graphs : tuple of Graph
        Every graph that was compiled or loaded from disk.
    fallbacks : tuple of Fallback
        Everything that runs uncompiled: file, line, cause and remedy.
    loops : tuple of Loop
        The loops that aren't unrolled, and who runs each.
    native : tuple of Native
        Lines of a split function that run in NumPy.
    notes : tuple of str
        Copies between host and device, narrowed arguments and the like.
    timing : Timing or None
        Seconds of a call, compiled and in NumPy, where they were measured:
        ``fn.report(measure=True)``.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit(backend="eager")
    ... def double(x):
    ...     return 2 * x
    >>> double(np.ones(2))
    array([2., 2.])
    >>> len(double.report().graphs)
    1
    """

    def __init__(self, name: str, log: Log, code: types.CodeType | None = None) -> None:
        self.name = name
        self._code = code
        with log.lock:
            self.graphs = tuple(log.graphs)
            self.fallbacks = tuple(log.fallbacks.values())
            self.loops = tuple(log.loops[place] for place in sorted(log.loops))
            self._narrowed_in_loops = tuple(log.narrowed)
            self.native = tuple(log.native[place] for place in sorted(log.native))
            chosen = [f"{place} runs {choice}" for place, choice in log.choices.items()]
            self.notes = (*log.notes, *map(str, self.native), *chosen)
            self.timing = log.timing

    @property
    def recompilations(self) -> tuple[Graph, ...]:
        """The graphs that were compiled although an earlier one existed."""
        return tuple(graph for graph in self.graphs if graph.cause and not graph.loaded)

    @property
    def breaks(self) -> tuple[Fallback, ...]:
        """The fallbacks around which the function is compiled in pieces."""
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
    def artifacts(self) -> tuple[str, ...]:
        """The folders in the disk cache that hold the compiled code."""
        return tuple(graph.artifact for graph in self.graphs if graph.artifact)

    @property
    def break_even(self) -> float | None:
        """After how many calls the compilation has paid off.

        None where it wasn't measured, infinity where NumPy is as fast.
        """
        if self.timing is None:
            return None
        saved = self.timing.plain - self.timing.compiled
        if saved <= 0:
            return math.inf
        return math.ceil(sum(graph.seconds for graph in self.graphs) / saved)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The source of the function, and of what is compiled with it, line by line."""
        from npaccel._report.source_lines import blocks

        return blocks(self, self._code)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, which can be written as JSON."""
        even = self.break_even
        return {
            "name": self.name,
            "graphs": [dataclasses.asdict(graph) for graph in self.graphs],
            "fallbacks": [dataclasses.asdict(fallback) for fallback in self.fallbacks],
            "loops": [dataclasses.asdict(loop) for loop in self.loops],
            "native": [dataclasses.asdict(line) for line in self.native],
            "narrowed": [dataclasses.asdict(line) for line in self.narrowed],
            "notes": list(self.notes),
            "compile_seconds": self.compile_seconds,
            "stages": self.stages,
            "artifacts": list(self.artifacts),
            "timing": dataclasses.asdict(self.timing) if self.timing else None,
            "break_even": even if even is not None and math.isfinite(even) else None,
            "blocks": [dataclasses.asdict(block) for block in self.blocks],
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        from npaccel._report.text import text

        return text(self)

    def _repr_html_(self) -> str:
        from npaccel._report.html import html

        return html(self)
