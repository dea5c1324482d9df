"""Programs with loops, as a scientist writes them in NumPy, each in a style of its own.

Nothing but NumPy is imported here; the variants for Numba and JAX import their
library when they are built.
"""

from __future__ import annotations

from . import (
    cells,
    clusters,
    factorisations,
    flow,
    iterations,
    orbits,
    sequences,
    stencils,
    systems,
)
from .record import Program, answer, same_answers

PROGRAMS: dict[str, Program] = {
    program.name: program
    for module in (
        stencils,
        flow,
        cells,
        clusters,
        factorisations,
        systems,
        iterations,
        orbits,
        sequences,
    )
    for program in module.PROGRAMS
}

__all__ = ["PROGRAMS", "Program", "answer", "same_answers"]
