"""Support page and command for scikit-learn's names: where each computes, from the table."""

from __future__ import annotations

import collections
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from npaccel._sklearn.dispatch import table as dispatch_table
from npaccel._sklearn.dispatch.table import Route, Row

_ROUTES: tuple[Route, ...] = ("device", "delegated", "composite", "host")


def table() -> list[Row]:
    """Return the row of every estimator and metric, sorted by name."""
    rows = dispatch_table.rows()
    return [rows[name] for name in sorted(rows)]


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by route."""
    counts = collections.Counter(row.route for row in rows)
    return {route: counts[route] for route in _ROUTES}


def find(name: str) -> list[Row]:
    """Return the rows of a name: scikit-learn's dotted name, or the end of it."""
    short = name.removeprefix("sklearn.")
    exact = dispatch_table.row(short)
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


def page(speeds: Mapping[str, Any] | None = None) -> str:
    """Return the tables of the support page, in Markdown.

    Parameters
    ----------
    speeds : mapping, optional
        What ``asv_benches/compare.py estimators --kept FILE`` wrote.
    """
    speeds = speeds or {}
    devices = ["cpu", *(["cuda"] if "conditions cuda" in speeds else [])]
    titles = [f"times as fast, {'CPU' if device == 'cpu' else 'GPU'}" for device in devices]
    modules: dict[str, list[Row]] = collections.defaultdict(list)
    for row in table():
        modules[row.name.rpartition(".")[0]].append(row)
    parts = [_totals_table(modules), "", *_conditions(speeds, devices)]
    for title, rows in sorted(modules.items()):
        parts += [f"## sklearn.{title}", ""]
        parts.append(_line("name", "route", "through the host", "tolerance", *titles, "notes"))
        parts.append("|" + " --- |" * (5 + len(titles)))
        for row in rows:
            failures = [f"{name} fails: {why}" for name, why in row.expected_failures.items()]
            notes = "; ".join(text for text in (row.note, reason(row), *failures) if text)
            short = row.name.rpartition(".")[2]
            taken = [speed(row, speeds, device) for device in devices]
            cells = (row.route, row.refused, tolerance(row), *taken, notes)
            parts.append(_line(f"`{short}`", *cells))
        parts.append("")
    return "\n".join(parts)


def speed(row: Row, speeds: Mapping[str, Any], device: str) -> str:
    """Return how many times as fast as scikit-learn's a device estimator was measured to be."""
    if row.route != "device" or not row.is_estimator:
        return ""
    taken = speeds.get(f"{row.name} {device}")
    if not isinstance(taken, Mapping):
        return "not measured"
    ratio = f"{taken['sklearn'] / taken['npaccel']:.3g}"
    return ratio if taken["where"] == "device" else f"{ratio}, left to scikit-learn"


def _conditions(speeds: Mapping[str, Any], devices: list[str]) -> list[str]:
    """Return what the speeds were measured on, as paragraphs."""
    found = []
    for device in devices:
        known = speeds.get(f"conditions {device}")
        text = ", ".join(f"{name} {value}" for name, value in known.items()) if known else ""
        named = "CPU" if device == "cpu" else "GPU"
        found += [f"Times as fast, {named}: {text or 'not measured yet'}.", ""]
    return found


#: The columns of the page on precision: the table of the figures, who computed, their titles.
_FIGURES = (
    ("results", "npaccel float64", "results"),
    ("results", "npaccel float32", "float32"),
    ("results", "scikit-learn float32", "float32, scikit-learn"),
    ("attributes", "npaccel float64", "attributes"),
    ("attributes", "npaccel float32", "float32"),
    ("attributes", "scikit-learn float32", "float32, scikit-learn"),
    ("labels", "npaccel float32", "labels, float32"),
    ("labels", "scikit-learn float32", "float32, scikit-learn"),
)


def precision_page(known: Mapping[str, Any]) -> str:
    """Return the table of the page on precision, in Markdown.

    Parameters
    ----------
    known : mapping
        What ``tests/sklearn_layer/sklearn_precision.py`` wrote.
    """
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    titles = ("estimator", *(title for _, _, title in _FIGURES), "worst in float32")
    lines = [f"Computed with {versions}.", "", _line(*titles), "|" + " --- |" * len(titles)]
    for row in sorted(dispatch_table.device_estimators(), key=lambda row: row.name):
        entry = known["estimators"].get(row.name)
        if entry is None:
            lines.append(_line(f"`{row.name}`", "not measured", *[""] * (len(titles) - 2)))
            continue
        figures = [_figure(entry[table].get(key)) for table, key, _ in _FIGURES]
        worst = "; ".join(
            f"{data}, `{what}`" for data, what in map(str.split, entry["where"].values())
        )
        lines.append(_line(f"`{row.name}`", *figures, worst))
    return "\n".join(lines)


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return "0" if value == 0 else f"{value:.0e}".replace("e-0", "e-").replace("e+00", "")


def _totals_table(modules: dict[str, list[Row]]) -> str:
    lines = [_line("", *_ROUTES), "|" + " --- |" * (1 + len(_ROUTES))]
    everything = [row for rows in modules.values() for row in rows]
    estimators = [row for row in everything if row.is_estimator]
    functions = [row for row in everything if not row.is_estimator]
    for title, rows in (("estimators", estimators), ("metrics", functions)):
        lines.append(_line(title, *totals(rows).values()))
    return "\n".join(lines)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
