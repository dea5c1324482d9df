"""Support page and command for SciPy's functions with tensors, made from the table."""

from __future__ import annotations

import collections
import difflib
from collections.abc import Iterable

from npaccel._scipy.dispatch import listing
from npaccel._scipy.dispatch import table as dispatch_table
from npaccel._scipy.dispatch.table import Route, Row

_ROUTES: tuple[Route, ...] = ("delegated", "native", "host", "refused")


def table() -> list[Row]:
    """Return the row of every function that takes arrays, sorted by name."""
    rows = dispatch_table.rows()
    return [rows[name] for name in sorted(rows) if rows[name].takes_arrays]


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by route."""
    counts = collections.Counter(row.route for row in rows)
    return {route: counts[route] for route in _ROUTES}


def on_gpu_by_scipy(row: Row) -> bool:
    """Whether SciPy itself computes a function on a GPU's tensors."""
    return listing.computes_on_gpu(row.scipy)


def find(name: str) -> list[Row]:
    """Return the rows of a name: SciPy's dotted name, or the end of it."""
    full = name if name.startswith("scipy.") else f"scipy.{name}"
    exact = dispatch_table.row(full)
    if exact is not None:
        return [exact]
    return [row for row in table() if row.name.endswith(f".{name}")]


def similar(name: str) -> list[str]:
    """Return names that look like one that isn't there."""
    return difflib.get_close_matches(name, [row.name for row in table()], n=3, cutoff=0.75)


def described(row: Row) -> str:
    """Return all that the table knows of a row, as lines of text."""
    lines = [f"{row.name}: {row.route if row.takes_arrays else 'takes no arrays'}"]
    if row.route == "native":
        lines.append(f"  tolerance: {tolerance(row)}")
    lines += [f"  {text}" for text in (row.note, row.reason) if text]
    if row.route == "host":
        lines.append("  tensors on a GPU are copied to the host and back, with a warning")
    return "\n".join(lines)


def tolerance(row: Row) -> str:
    """Return how far from SciPy's a native result may be in the suite of tests."""
    if row.route != "native":
        return ""
    return f"{dispatch_table.DEFAULT_TOLERANCE if row.tolerance is None else row.tolerance:g} eps"


def page() -> str:
    """Return the tables of the support page, in Markdown."""
    modules: dict[str, list[Row]] = collections.defaultdict(list)
    for row in table():
        modules[submodule(row)].append(row)
    parts = [_totals_table(modules), ""]
    for title, rows in sorted(modules.items()):
        parts += [f"## scipy.{title}", "", _line("name", "route", "tolerance", "notes")]
        parts.append("| --- | --- | --- | --- |")
        for row in rows:
            notes = "; ".join(text for text in (row.note, row.reason) if text)
            short = row.name.removeprefix(f"scipy.{title}.")
            parts.append(_line(f"`{short}`", row.route, tolerance(row), notes))
        parts.append("")
    return "\n".join(parts)


def submodule(row: Row) -> str:
    """Return the submodule that a row stands in, without ``scipy.``."""
    name = row.name.removeprefix("scipy.")
    return max((m for m in listing.SUBMODULES if name.startswith(f"{m}.")), key=len)


def functions(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of functions, without the methods of distributions."""
    public = {f"scipy.{name}" for name in listing.names()}
    return [row for row in rows if row.name in public]


def _totals_table(modules: dict[str, list[Row]]) -> str:
    lines = [
        _line("functions", "on a GPU in bare SciPy", "on a GPU in npaccel", *_ROUTES),
        "|" + " --- |" * (3 + len(_ROUTES)),
    ]
    everything = [row for rows in modules.values() for row in rows]
    named = [(title, functions(rows)) for title, rows in sorted(modules.items())]
    public = functions(everything)
    methods = [row for row in everything if row not in public]
    for title, rows in [*named, ("**all functions**", public), ("methods of stats", methods)]:
        counts = totals(rows)
        bare = sum(map(on_gpu_by_scipy, rows))
        lines.append(_line(title, bare, counts["delegated"] + counts["native"], *counts.values()))
    return "\n".join(lines)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
