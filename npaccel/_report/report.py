"""The report of a function."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from npaccel._report.report_data import ReportData

if TYPE_CHECKING:
    from npaccel._report.source_lines import Block


class Report(ReportData):
    """Report on what npaccel did with a function, up to now.

    ``str()`` of it is for terminals; notebooks show it with the source coloured by what
    runs where, and the generated code folded beside each line.

    Attributes
    ----------
    name : str
        The function's name.
    graphs : tuple of Graph
        Every graph that was compiled or loaded from disk.
    fallbacks : tuple of Fallback
        Everything that runs uncompiled: file, line, reason and fix.
    loops : tuple of Loop
        The loops that aren't unrolled, and who runs each.
    native : tuple of Native
        Lines of a split function that run in NumPy.
    notes : tuple of str
        Copies between host and device, narrowed arguments and the like.
    builds : tuple of Build
        The signatures that are compiled beside the program, with ``compile="behind"`` or
        ``"auto"``: how far each is, and how many calls were answered otherwise meanwhile.
    tiers : tuple of Tier
        Who makes calls of each kind, with ``compile="auto"``: NumPy or the compiled function,
        and what a call takes by either.
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

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The source of the function, and of what is compiled with it, line by line."""
        from npaccel._report.source_lines import blocks

        return blocks(self)

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
            "builds": [dataclasses.asdict(build) for build in self.builds],
            "tiers": [dataclasses.asdict(tier) for tier in self.tiers],
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
