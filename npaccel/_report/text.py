"""A report for terminals."""

from __future__ import annotations

import itertools
import math
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from npaccel._report.source_lines import blocks

if TYPE_CHECKING:
    from npaccel._report.log import Build, Graph, Tier
    from npaccel._report.report_data import ReportData

#: Names of the stages of compiling.
STAGES = {
    "capture": "capture",
    "lowering": "lowering",
    "compile": "C++ or Triton compiler",
    "load": "loading",
    "rest": "first run and cache",
}

#: Reasons why NumPy makes calls that weren't compared, by the state of their tier.
_WHY_NUMPY = {
    "being compiled": "they're compiled beside the program, or wait for it",
    "NumPy's for now, as compiled calls went on compiling": "compiled calls went on compiling",
    "NumPy's, as calls are shorter than those of compiled code": (
        "they are shorter than those of compiled code; the decorator can go"
    ),
    "NumPy's, as compiled code gives other dtypes": (
        "compiled code gives other dtypes, as parts of it meet NumPy's floats"
    ),
}
_SO_FAR = "compiling would take longer than they have so far"
#: The fewest columns that a report is written for, and those of a table's cell.
_NARROWEST, _NARROWEST_CELL = 40, 12
#: Factor by which a call is faster than NumPy's that counts as faster.
_AS_FAST = 1.05


def text(report: ReportData, width: int = 0) -> str:
    """Return a report as text.

    Parameters
    ----------
    report : ReportData
    width : int
        Columns; 0 for as many as the terminal has, or 80.
    """
    width = max(width or shutil.get_terminal_size((80, 24)).columns, _NARROWEST)
    lines = [*wrapped([summary(report), verdict(report)], width)]
    if report.graphs:
        lines += ["", *table(_graph_rows(report), width)]
    told = [*facts(report)]
    told += [f"graph {i} lies in {g.artifact}" for i, g in enumerate(report.graphs) if g.artifact]
    lines += wrapped(told, width)
    if report.loops:
        rows: list[tuple[str, ...]] = [("line", "loop", "run by")]
        rows += [
            (str(o.line), o.text, f"{o.engine}: {o.detail}" if o.detail else o.engine)
            for o in report.loops
        ]
        lines += ["", *table(rows, width)]
    lines += _source(report, width)
    if report.fallbacks:
        lines += ["", "uncompiled:", *wrapped(map(str, report.fallbacks), width)]
    if report.notes:
        lines += ["", *wrapped(report.notes, width)]
    return "\n".join(lines)


def wrapped(texts: Iterable[str], width: int) -> list[str]:
    """Return lines that are no longer than they may be, broken between words.

    The rest of a line is indented by two more. A word that is longer, a path, stays whole.
    """
    found = []
    for line in "\n".join(texts).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        rest = f"{indent}  "
        found += textwrap.wrap(
            line, width, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return found


def verdict(report: ReportData) -> str:
    """Return in a line whether npaccel makes calls faster."""
    measured = report.timing
    if measured is not None:
        return _compared(measured.compiled, measured.plain, measured.signature, by_numpy=False)
    compared = [tier for tier in report.tiers if tier.compiled]
    if compared:
        best = max(compared, key=lambda tier: (not tier.is_numpys, tier.numpy / tier.compiled))
        return _compared(best.compiled, best.numpy, best.signature, by_numpy=best.is_numpys)
    if report.tiers and report.is_numpys:
        states = {tier.state for tier in report.tiers}
        why = next((why for state, why in _WHY_NUMPY.items() if state in states), _SO_FAR)
        return f"NumPy makes the calls: {why}"
    ran = report.graphs or report.loops or report.native or report.builds or report.tiers
    if ran:
        return "compiled, and not compared with NumPy: report(measure=True) times a call of both"
    if report.fallbacks:
        return "NumPy makes the calls: nothing could be compiled, as said below"
    return "no call so far, or only while npaccel was switched off"


def _compared(compiled: float, numpy: float, signature: str, *, by_numpy: bool) -> str:
    both = f"({signature}: {_both(compiled, numpy)})"
    if by_numpy:
        return f"NumPy is as fast, and makes the calls: the decorator can go {both}"
    if compiled > numpy / _AS_FAST:
        return f"NumPy is as fast: the decorator can go {both}"
    return f"npaccel makes this {numpy / compiled:.1f} times as fast {both}"


def summary(report: ReportData) -> str:
    """Return the counts in one line."""
    return (
        f"{report.name}: {count(len(report.graphs), 'graph')}, "
        f"{count(len(report.recompilations), 'recompilation')}, "
        f"{count(len(report.fallbacks), 'fallback')}, "
        f"{narrowed(report)}"
        f"{duration(report.compile_seconds)} compiling"
    )


def narrowed(report: ReportData) -> str:
    """Return at how many lines floats are made 32 bit, with a comma; "" at none."""
    places = {(one.file, one.line) for one in report.narrowed}
    return f"{count(len(places), 'line')} narrowed to 32 bit, " if places else ""


def _graph_rows(report: ReportData) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("graph", "signature", "shapes", "from", "time", "kept")]
    for i, graph in enumerate(report.graphs):
        rows.append(
            (
                str(i),
                graph.signature,
                "dynamic" if graph.dynamic else "fixed",
                "disk" if graph.loaded else graph.backend,
                duration(graph.seconds),
                "yes" if graph.artifact else "no",
            )
        )
    return rows


def facts(report: ReportData) -> list[str]:
    """Return what is to be said besides tables, a line each."""
    lines = []
    for i, graph in enumerate(report.graphs):
        if graph.reason:
            guard = f" ({graph.guard})" if graph.guard else ""
            lines.append(f"graph {i} because {graph.reason}{guard}")
        if graph.uncacheable:
            lines.append(f"graph {i} isn't kept on disk: {graph.uncacheable}")
        if graph.details.headers:
            lines.append(
                f"graph {i} takes longer to compile: kernels need torch's headers for "
                f"{', '.join(graph.details.headers)}"
            )
        lines += _between_ranks(i, graph)
        to_device, to_host = graph.details.to_device, graph.details.to_host
        if to_device or to_host:
            lines.append(
                f"graph {i} copies {to_device} bytes to the device and {to_host} bytes back, "
                "every call"
            )
    lines += map(_build, report.builds)
    lines += _tiers([tier for tier in report.tiers if tier.calls or tier.state != "compiled"])
    if report.stages:
        told = [f"{STAGES[name]} {duration(seconds)}" for name, seconds in report.stages.items()]
        lines.append(f"time by stage: {', '.join(told)}")
    return lines + timing(report)


def _between_ranks(i: int, graph: Graph) -> list[str]:
    """Return what goes between ranks in a call of a graph on sharded arrays."""
    collectives = graph.details.collectives
    if not collectives:
        return []
    total = sum(one.nbytes for one in collectives)
    lines = [f"graph {i} has {count(len(collectives), 'collective')} a call, of {total} bytes"]
    for one in dict.fromkeys(collectives):
        times = collectives.count(one)
        often = f", {times} times" if times > 1 else ""
        where = f" at {one.file}:{one.line}" if one.file else ""
        said = f"  {one.kind} of {one.nbytes} bytes for {one.operation}{where}{often}"
        if one.is_gather:
            said += f": an array moves, as it isn't computed as it's sharded; {one.fix}"
        lines.append(said)
    return lines


def _build(build: Build) -> str:
    calls = f"{count(build.calls, 'call')} answered meanwhile, in {duration(build.seconds)}"
    return f"{build.signature} is {build.state}: {calls if build.calls else 'no call yet'}"


def _both(compiled: float, numpy: float) -> str:
    return f"{duration(compiled)} compiled, {duration(numpy)} in NumPy"


def _tiers(tiers: Sequence[Tier]) -> list[str]:
    """Return a line for each tier, and one for all that weren't measured and are the same."""
    alike: dict[tuple[str, int], list[Tier]] = {}
    for i, tier in enumerate(tiers):
        alike.setdefault((tier.state, i if tier.compiled else -1), []).append(tier)
    return [_tier(*some) for some in alike.values()]


def _tier(tier: Tier, *others: Tier) -> str:
    made = sum(one.calls + one.brief for one in (tier, *others))
    more_than = "more than " if any(one.brief for one in (tier, *others)) else ""
    calls = f", {more_than}{count(made, 'call')} by NumPy" if made else ""
    more = f", and {count(len(others), 'other kind')} of arguments," if others else ""
    told = f"{tier.signature}{more} {'are' if others else 'is'} {tier.state}{calls}"
    if not tier.compiled:
        return told
    times = f"{tier.numpy / tier.compiled:.2g} times as fast"
    return f"{told}: {_both(tier.compiled, tier.numpy)}, {times}"


def timing(report: ReportData) -> list[str]:
    """Return after how many calls compiling has paid off, if that was measured."""
    measured, even = report.timing, report.break_even
    if measured is None or even is None:
        return []
    if math.isinf(even):
        return ["compiling doesn't pay off for this call"]
    return [f"compiling has paid off after {even:,.0f} call{'s' * (even != 1)}"]


def _source(report: ReportData, width: int) -> list[str]:
    lines: list[str] = []
    for block in blocks(report):
        rows: list[tuple[str, ...]] = [("line", "runs in", block.name or "source")]
        rows += [(str(line.number), line.engine, line.text) for line in block.lines]
        if any(engine for _, engine, _ in rows[1:]):
            lines += ["", block.file, *table(rows, width)]
        told = (
            f"line {line.number}: {note}"
            for line in block.lines
            for note in line.notes
            if "default_float" in note
        )
        lines += wrapped(told, width)
    return lines


def duration(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns" if seconds else "0 s"


def count(n: int, what: str, several: str = "") -> str:
    """Return a number with its noun; `several` is the plural where that isn't regular."""
    return f"{n} {what}" if n == 1 else f"{n} {several or what + 's'}"


def table(rows: list[tuple[str, ...]], width: int = 0) -> list[str]:
    """Return rows in columns; the first row is their heading.

    Parameters
    ----------
    rows : list of tuple of str
    width : int
        Columns of characters, into which the widest cells are broken; 0 for as many as needed.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    excess = sum(widths) + 2 * (len(widths) - 1) - width if width else 0
    if excess > 0:
        widest = widths.index(max(widths))
        widths[widest] = max(widths[widest] - excess, _NARROWEST_CELL)
    lines: list[str] = []
    for row in rows:
        cells = [_cell(text, size) for text, size in zip(row, widths, strict=True)]
        lines += [
            "  ".join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip()
            for parts in itertools.zip_longest(*cells, fillvalue="")
        ]
        if len(lines) and row is rows[0]:
            lines.append("  ".join("-" * size for size in widths))
    return lines


def _cell(text: str, width: int) -> list[str]:
    """Return a cell's lines; the later ones of code stand below its first word, and two more."""
    if len(text) <= width:
        return [text]
    indent = min(len(text) - len(text.lstrip()), width // 2)
    return textwrap.wrap(
        text.lstrip(), width, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2),
        break_on_hyphens=False,
    )  # fmt: skip
