"""Where scikit-learn's names compute, told from the table: a page and a command."""

from __future__ import annotations

import collections
import difflib
from collections.abc import Iterable

from npaccel._sklearn import _table
from npaccel._sklearn._table import Route, Row

_ROUTES: tuple[Route, ...] = ("device", "delegated", "composite", "host")


def table() -> list[Row]:
    """Return the row of every estimator and metric, sorted by name."""
    rows = _table.rows()
    return [rows[name] for name in sorted(rows)]


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by route."""
    counts = collections.Counter(row.route for row in rows)
    return {route: counts[route] for route in _ROUTES}


def find(name: str) -> list[Row]:
    """Return the rows of a name: scikit-learn's dotted name, or the end of it."""
    short = name.removeprefix("sklearn.")
    exact = _table.row(short)
    if exact is not None:
        return [exact]
    return [row for row in table() if row.name.endswith(f".{short}")]


def similar(name: str) -> list[str]:
    """Return names that look like one that isn't there."""
    names = {row.name.rpartition(".")[2]: row.name for row in table()}
    last = name.rpartition(".")[2]
    return [names[one] for one in difflib.get_close_matches(last, names, n=3, cutoff=0.7)]


def described(row: Row) -> str:
    """Return all that the table knows of a row, as lines of text."""
    lines = [f"sklearn.{row.name}: {row.route}"]
    if row.route == "device":
        lines.append(f"  tolerance: {tolerance(row)}")
    if row.refused:
        lines.append(f"  through the host: {row.refused}")
    lines += [f"  {text}" for text in (row.note, reason(row)) if text]
    lines += [f"  {name} fails: {why}" for name, why in row.expected_failures.items()]
    return "\n".join(lines)


def reason(row: Row) -> str:
    """Return why a row is on the host, an empty string if it isn't."""
    if row.route != "host":
        return ""
    return row.reason or "scikit-learn computes it on NumPy's arrays"


def tolerance(row: Row) -> str:
    """Return how far from scikit-learn's, relatively, results in float64 may be."""
    return f"{row.tolerance:g}" if row.route == "device" else ""


def page() -> str:
    """Return the tables of the support page, in Markdown."""
    chapters: dict[str, list[Row]] = collections.defaultdict(list)
    for row in table():
        chapters[row.name.rpartition(".")[0]].append(row)
    parts = [_totals_table(chapters), ""]
    for title, rows in sorted(chapters.items()):
        parts += [f"## sklearn.{title}", ""]
        parts.append(_line("name", "route", "through the host", "tolerance", "notes"))
        parts.append("|" + " --- |" * 5)
        for row in rows:
            failures = [f"{name} fails: {why}" for name, why in row.expected_failures.items()]
            notes = "; ".join(text for text in (row.note, reason(row), *failures) if text)
            short = row.name.rpartition(".")[2]
            parts.append(_line(f"`{short}`", row.route, row.refused, tolerance(row), notes))
        parts.append("")
    return "\n".join(parts)


def _totals_table(chapters: dict[str, list[Row]]) -> str:
    lines = [_line("", *_ROUTES), "|" + " --- |" * (1 + len(_ROUTES))]
    everything = [row for rows in chapters.values() for row in rows]
    estimators = [row for row in everything if row.is_estimator]
    functions = [row for row in everything if not row.is_estimator]
    for title, rows in (("estimators", estimators), ("metrics", functions)):
        lines.append(_line(title, *totals(rows).values()))
    return "\n".join(lines)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
