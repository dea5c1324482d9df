"""What was compiled, what wasn't, why, and at which line of the user's file."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any


@dataclasses.dataclass(frozen=True)
class Graph:
    """One compiled graph.

    Parameters
    ----------
    signature : str
        The arguments that it was compiled for.
    generic : bool
        Whether it serves other shapes too.
    backend : str
    seconds : float
        Time to capture and compile, or to load.
    loaded : bool
        Whether it came from disk.
    artifact : str or None
        Where it lies on disk.
    not_kept : str
        Why it doesn't lie on disk.
    cause : str
        Why it was compiled, where an earlier one existed.
    source : str
        The generated code.
    """

    signature: str
    generic: bool
    backend: str
    seconds: float
    loaded: bool = False
    artifact: str | None = None
    not_kept: str = ""
    cause: str = ""
    source: str = dataclasses.field(default="", repr=False)


@dataclasses.dataclass(frozen=True)
class Fallback:
    """Something that runs uncompiled.

    Parameters
    ----------
    file, line, text
        Where, and the line itself.
    cause : str
    remedy : str
        What to write instead.
    """

    file: str
    line: int
    text: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        code = f"\n    {self.text}" if self.text else ""
        return f"{where}: {self.cause}{code}\n  {self.remedy}"


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop of the function, and who runs it.

    Parameters
    ----------
    file, line, text
        Where, and the line itself.
    engine : str
        "compiled body": Python counts, the body is compiled. "Numba": all of
        it is compiled by Numba. "Python": it runs uncompiled.
    detail : str
        Why, where that isn't plain.
    """

    file: str
    line: int
    text: str
    engine: str
    detail: str = ""


@dataclasses.dataclass
class Log:
    """What happened to one function, collected as it happens."""

    graphs: list[Graph] = dataclasses.field(default_factory=list)
    fallbacks: dict[tuple[str, int, str], Fallback] = dataclasses.field(default_factory=dict)
    notes: dict[str, None] = dataclasses.field(default_factory=dict)
    loops: dict[tuple[str, int], Loop] = dataclasses.field(default_factory=dict)
    choices: dict[str, str] = dataclasses.field(default_factory=dict)
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def add_loop(self, loop: Loop) -> None:
        """Note who runs a loop; the last word counts."""
        with self.lock:
            self.loops[loop.file, loop.line] = loop

    def set_choice(self, place: str, choice: str) -> None:
        """Note how the code at a place runs; "" for as it was compiled."""
        with self.lock:
            self.choices.pop(place, None)
            if choice:
                self.choices[place] = choice

    def add_graph(self, graph: Graph) -> None:
        """Note a graph that was compiled or loaded."""
        with self.lock:
            self.graphs.append(graph)

    def add_fallback(self, fallback: Fallback) -> bool:
        """Note something uncompiled; says whether it's new."""
        key = (fallback.file, fallback.line, fallback.text or fallback.cause)
        with self.lock:
            is_new = key not in self.fallbacks
            self.fallbacks.setdefault(key, fallback)
        return is_new

    def add_note(self, text: str) -> None:
        """Note a copy, a narrowing or the like, once."""
        with self.lock:
            self.notes.setdefault(text)


class Report:
    """What npaccel did with a function, up to now.

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
    notes : tuple of str
        Copies between host and device, narrowed arguments and the like.

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

    def __init__(self, name: str, log: Log) -> None:
        self.name = name
        with log.lock:
            self.graphs = tuple(log.graphs)
            self.fallbacks = tuple(log.fallbacks.values())
            self.loops = tuple(log.loops[place] for place in sorted(log.loops))
            chosen = [f"{place} runs {choice}" for place, choice in log.choices.items()]
            self.notes = (*log.notes, *chosen)

    @property
    def recompilations(self) -> tuple[Graph, ...]:
        """The graphs that were compiled although an earlier one existed."""
        return tuple(graph for graph in self.graphs if graph.cause and not graph.loaded)

    @property
    def compile_seconds(self) -> float:
        """Time spent on capturing and compiling."""
        return sum(graph.seconds for graph in self.graphs if not graph.loaded)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "name": self.name,
            "graphs": [dataclasses.asdict(graph) for graph in self.graphs],
            "fallbacks": [dataclasses.asdict(fallback) for fallback in self.fallbacks],
            "loops": [dataclasses.asdict(loop) for loop in self.loops],
            "notes": list(self.notes),
            "compile_seconds": self.compile_seconds,
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {_count(len(self.graphs), 'graph')}, "
            f"{_count(len(self.recompilations), 'recompilation')}, "
            f"{_count(len(self.fallbacks), 'fallback')}, "
            f"{self.compile_seconds:.2f} s compiling"
        ]
        rows: list[tuple[str, ...]] = [("graph", "signature", "shapes", "from", "seconds", "kept")]
        for i, graph in enumerate(self.graphs):
            rows.append(
                (
                    str(i),
                    graph.signature,
                    "generic" if graph.generic else "fixed",
                    "disk" if graph.loaded else graph.backend,
                    f"{graph.seconds:.3f}",
                    "yes" if graph.artifact else "no",
                )
            )
        if self.graphs:
            lines += ["", *_table(rows)]
        lines += [f"graph {i} because {g.cause}" for i, g in enumerate(self.graphs) if g.cause]
        lines += [
            f"graph {i} lies in {g.artifact}" for i, g in enumerate(self.graphs) if g.artifact
        ]
        lines += [
            f"graph {i} isn't kept on disk: {g.not_kept}"
            for i, g in enumerate(self.graphs)
            if g.not_kept
        ]
        if self.loops:
            rows = [("line", "loop", "run by")]
            rows += [
                (str(o.line), o.text, f"{o.engine}: {o.detail}" if o.detail else o.engine)
                for o in self.loops
            ]
            lines += ["", *_table(rows)]
        if self.fallbacks:
            lines += ["", "uncompiled:", *map(str, self.fallbacks)]
        if self.notes:
            lines += ["", *self.notes]
        return "\n".join(lines)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines
