"""A report for terminals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from npaccel._report.source_lines import blocks

if TYPE_CHECKING:
    from npaccel._report.log import Build, Tier
    from npaccel._report.report_data import ReportData

#: How the stages of compiling are called.
STAGES = {
    "capture": "capture",
    "lowering": "lowering",
    "compile": "C++ or Triton compiler",
    "load": "loading",
    "rest": "first run and cache",
}


def text(report: ReportData) -> str:
    """Return a report as text."""
    lines = [summary(report)]
    if report.graphs:
        lines += ["", *table(_graph_rows(report))]
    lines += facts(report)
    lines += [f"graph {i} lies in {g.artifact}" for i, g in enumerate(report.graphs) if g.artifact]
    if report.loops:
        rows: list[tuple[str, ...]] = [("line", "loop", "run by")]
        rows += [
            (str(o.line), o.text, f"{o.engine}: {o.detail}" if o.detail else o.engine)
            for o in report.loops
        ]
        lines += ["", *table(rows)]
    lines += _source(report)
    if report.fallbacks:
        lines += ["", "uncompiled:", *map(str, report.fallbacks)]
    if report.notes:
        lines += ["", *report.notes]
    return "\n".join(lines)


def summary(report: ReportData) -> str:
    """Return the counts in one line."""
    return (
        f"{report.name}: {count(len(report.graphs), 'graph')}, "
        f"{count(len(report.recompilations), 'recompilation')}, "
        f"{count(len(report.fallbacks), 'fallback')}, "
        f"{narrowed(report)}"
        f"{report.compile_seconds:.2f} s compiling"
    )


def narrowed(report: ReportData) -> str:
    """Return at how many lines floats are made 32 bit, with a comma; "" at none."""
    places = {(one.file, one.line) for one in report.narrowed}
    return f"{count(len(places), 'line')} narrowed to 32 bit, " if places else ""


def _graph_rows(report: ReportData) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("graph", "signature", "shapes", "from", "seconds", "kept")]
    for i, graph in enumerate(report.graphs):
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
    return rows


def facts(report: ReportData) -> list[str]:
    """Return what is to be said besides tables, a line each."""
    lines = []
    for i, graph in enumerate(report.graphs):
        if graph.cause:
            guard = f" ({graph.guard})" if graph.guard else ""
            lines.append(f"graph {i} because {graph.cause}{guard}")
        if graph.not_kept:
            lines.append(f"graph {i} isn't kept on disk: {graph.not_kept}")
        if graph.details.headers:
            lines.append(
                f"graph {i} takes longer to compile: kernels need torch's headers for "
                f"{', '.join(graph.details.headers)}"
            )
        to_device, to_host = graph.details.to_device, graph.details.to_host
        if to_device or to_host:
            lines.append(
                f"graph {i} copies {to_device} bytes to the device and {to_host} bytes back, "
                "every call"
            )
    lines += map(_build, report.builds)
    lines += [_tier(tier) for tier in report.tiers if tier.calls or tier.state != "compiled"]
    if report.stages:
        told = [f"{STAGES[name]} {seconds:.2f} s" for name, seconds in report.stages.items()]
        lines.append(f"time by stage: {', '.join(told)}")
    lines += timing(report)
    return lines


def _build(build: Build) -> str:
    calls = f"{count(build.calls, 'call')} answered meanwhile, in {duration(build.seconds)}"
    return f"{build.signature} is {build.state}: {calls if build.calls else 'no call yet'}"


def _tier(tier: Tier) -> str:
    calls = f", {count(tier.calls, 'call')} by NumPy" if tier.calls else ""
    told = f"{tier.signature} is {tier.state}{calls}"
    if not tier.compiled:
        return told
    both = f"{duration(tier.compiled)} compiled, {duration(tier.numpy)} in NumPy"
    return f"{told}: {both}, {tier.numpy / tier.compiled:.2g} times as fast"


def timing(report: ReportData) -> list[str]:
    """Return what was measured, if it was."""
    measured, even = report.timing, report.break_even
    if measured is None or even is None:
        return []
    told = f"measured: {duration(measured.compiled)} a call, {duration(measured.plain)} in NumPy"
    if math.isinf(even):
        return [f"{told}: compiling doesn't pay off for this call"]
    return [
        f"{told}: {measured.speed_up:.1f} times as fast, paid off after {even:,.0f} "
        f"call{'s' * (even != 1)}"
    ]


def _source(report: ReportData) -> list[str]:
    lines: list[str] = []
    for block in blocks(report):
        rows: list[tuple[str, ...]] = [("line", "runs in", block.name or "source")]
        rows += [(str(line.number), line.engine, line.text) for line in block.lines]
        if any(engine for _, engine, _ in rows[1:]):
            lines += ["", block.file, *table(rows)]
        lines += [
            f"line {line.number}: {note}"
            for line in block.lines
            for note in line.notes
            if "default_float" in note
        ]
    return lines


def duration(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def count(n: int, what: str, several: str = "") -> str:
    """Return a number with its noun; `several` is the plural where that isn't regular."""
    return f"{n} {what}" if n == 1 else f"{n} {several or what + 's'}"


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows in columns; the first row is their heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines
