"""The user's source, line by line, with what runs each."""

from __future__ import annotations

import ast
import dataclasses
import functools
import linecache
import re
import types
from typing import TYPE_CHECKING

from npaccel._report.details import DRAWS
from npaccel._report.generated_code import behind
from npaccel._report.log import Graph, Place

if TYPE_CHECKING:
    from npaccel._report.report_data import ReportData

#: Order of engines: of several of one line, the first of these is named.
_ORDER = (
    "NumPy", "Python", "draws", "Numba", "Triton", "C++", "library", "interpreted", "compiled",
)  # fmt: skip
#: Pattern of the lines that a choice between compiled code and NumPy is about.
_CHOSEN = re.compile(r"(?P<file>.*): lines? (?P<first>\d+)(?:-(?P<last>\d+))?(?:, .*)?")


@dataclasses.dataclass(frozen=True)
class SourceLine:
    """A line of source.

    Parameters
    ----------
    number : int
    text : str
    engine : str
        "C++", "Triton" or "Numba": compiled by it. "library": a call of a
        compiled library. "compiled": part of other lines' code. "interpreted":
        by a backend that doesn't compile. "draws": NumPy draws random numbers
        for compiled code. "Python", "NumPy": uncompiled. "": nothing is computed
        there.
    notes : tuple of str
        Reasons, fixes, narrowed dtypes.
    code : tuple of str
        The generated code behind it.
    """

    number: int
    text: str
    engine: str = ""
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Block:
    """A function's source.

    Parameters
    ----------
    name : str
    file : str
    lines : tuple of SourceLine
    """

    name: str
    file: str
    lines: tuple[SourceLine, ...]


def blocks(report: ReportData) -> tuple[Block, ...]:
    """Return the source of the function, and of the others that are in its report."""
    found = _Found(report)
    places = found.places()
    spans: dict[tuple[str, int, int], str] = {}
    code = report._code
    if code is not None:
        first, last, name = _enclosing(code.co_filename, max(_lines_of(code)))
        if not name:  # A lambda, or a cell of a notebook.
            first, last = min(_lines_of(code)), max(_lines_of(code))
        spans[code.co_filename, first, last] = report.name
    for file, line in places:
        if not any(f == file and a <= line <= b for f, a, b in spans):
            first, last, name = _enclosing(file, line)
            spans[file, first, last] = name
    return tuple(
        Block(name, file, tuple(found.line(file, number) for number in range(first, last + 1)))
        for (file, first, last), name in spans.items()
    )


def _lines_of(code: types.CodeType) -> set[int]:
    """Return the lines of a function's body, without its decorators."""
    return {line for _, _, line in code.co_lines() if line} or {code.co_firstlineno}


def _enclosing(file: str, line: int) -> tuple[int, int, str]:
    """Return the first and the last line of the outermost function around a line, and its name."""
    for first, last, name in _functions(file, tuple(linecache.getlines(file))):
        if first <= line <= last:
            return first, last, name
    return line, line, ""


@functools.lru_cache(maxsize=32)
def _functions(file: str, lines: tuple[str, ...]) -> tuple[tuple[int, int, str], ...]:
    """Return where the functions of a file are that are in no other function."""
    del file
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return ()
    found = []
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                found.append((first, child.end_lineno or child.lineno, prefix + child.name))
            else:
                name = f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix
                pending.append((child, name))
    return tuple(sorted(found))


class _Found:
    """Contents of a report, by line."""

    def __init__(self, report: ReportData) -> None:
        self.engines: dict[Place, set[str]] = {}
        self.notes: dict[Place, dict[str, None]] = {}
        self.code: dict[Place, dict[str, None]] = {}
        for graph in report.graphs:
            self._add_graph(graph)
        for loop in report.loops:
            engine = loop.engine if loop.engine == "Numba" else "Python"
            last = loop.end if engine == "Numba" or loop.engine == "Python" else loop.line
            for line in range(loop.line, max(loop.line, last) + 1):
                self._add((loop.file, line), engine)
            if loop.engine == "NumPy":  # Its body is compiled, and was found slower.
                self._are_numpys(loop.file, loop.line + 1, loop.end)
            told = f"{loop.engine}: {loop.detail}" if loop.detail else loop.engine
            self._note((loop.file, loop.line), f"loop: {told}")
        for native in report.native:
            self._add((native.file, native.line), "NumPy")
            self._note((native.file, native.line), native.reason)
        for one in report.fallbacks:
            self._add((one.file, one.line), "NumPy")
            self._note((one.file, one.line), f"{one.reason}: {one.fix}")
        for place, choice in report._choices.items():
            lines = _CHOSEN.fullmatch(place)
            if lines is not None and choice.startswith("in NumPy"):
                first = int(lines["first"])
                self._are_numpys(lines["file"], first, int(lines["last"] or first))
        if report.is_numpys:
            for engines in self.engines.values():
                engines.add("NumPy")
        for narrowed in report.narrowed:
            note = f"{narrowed.narrow} where NumPy has {narrowed.wide} (default_float)"
            self._note((narrowed.file, narrowed.line), note)

    def _add(self, place: Place, engine: str) -> None:
        self.engines.setdefault(place, set()).add(engine)

    def _note(self, place: Place, text: str) -> None:
        self.notes.setdefault(place, {})[text] = None

    def _are_numpys(self, file: str, first: int, last: int) -> None:
        """Say that lines run in NumPy which are compiled too."""
        for (name, line), engines in self.engines.items():
            if name == file and first <= line <= last and "Python" not in engines:
                engines.add("NumPy")

    def _add_graph(self, graph: Graph) -> None:
        for line in graph.details.lines:
            place = (line.file, line.line)
            self._add(place, _engine(graph, line.code))
            code = self.code.setdefault(place, {})
            code |= dict.fromkeys(behind(graph.source, line.code))

    def places(self) -> list[Place]:
        """Return the lines that there is something to say of."""
        return sorted({*self.engines, *self.notes})

    def line(self, file: str, number: int) -> SourceLine:
        """Return a line of a file with what is known of it."""
        place = (file, number)
        engines = self.engines.get(place, set())
        return SourceLine(
            number,
            linecache.getline(file, number).rstrip("\n"),
            next((engine for engine in _ORDER if engine in engines), ""),
            tuple(self.notes.get(place, ())),
            tuple(self.code.get(place, ())),
        )


def _engine(graph: Graph, code: tuple[str, ...]) -> str:
    if any(name.startswith(DRAWS) for name in code):
        return "draws"
    if graph.backend != "inductor":
        return "interpreted"
    for prefix, engine in (("triton_", "Triton"), ("cpp_", "C++")):
        if any(name.startswith(prefix) for name in code):
            return engine
    return "library" if code else "compiled"
