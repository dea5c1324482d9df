"""Support page and command for NumPy's objects, made from the table."""

from __future__ import annotations

import collections
import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

from npaccel import _numpy
from npaccel._numpy.core import dtypes as core_dtypes
from npaccel._numpy.core import table as core_table
from npaccel._numpy.core.known_differences import named_differences
from npaccel._numpy.core.table import Row

_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
_STATUSES: tuple[core_table.Status, ...] = ("compiled", "host", "refused")
#: Chapters of the page and how their names begin, the first that fits.
_CHAPTERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Linear algebra", ("numpy.linalg.",)),
    ("Fourier transforms", ("numpy.fft.",)),
    ("Random numbers", ("numpy.random.",)),
    ("Polynomials", ("numpy.polynomial.",)),
    ("Views by strides", ("numpy.lib.",)),
    ("Methods and attributes of arrays", ("numpy.ndarray.",)),
)
_UFUNCS, _UFUNC_METHODS = "Universal functions", "Methods of universal functions"
_TYPES, _FUNCTIONS = "Constants and types", "Functions"
_ZERO_D = {"scalar": "NumPy's scalar", "array": "an array", "python": "Python's number"}
#: The dtypes that torch has as well, and those that it hasn't.
_COMPILED = [dtype.name for dtype in core_dtypes._TORCH]
_REFUSED = [
    name
    for name in (np.dtype("g").name, np.dtype("G").name, "datetime64", "timedelta64", "object")
    if name not in _COMPILED  # Where C's long double is a double, it has its name.
]
_ORDER = (_FUNCTIONS, _UFUNCS, _UFUNC_METHODS, *(title for title, _ in _CHAPTERS), _TYPES)


def table() -> list[Row]:
    """Return every row, sorted by name."""
    _numpy.load()
    rows = core_table.rows()
    return [rows[name] for name in sorted(rows)]


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by status."""
    counts = collections.Counter(row.status for row in rows)
    return {status: counts[status] for status in _STATUSES}


def numpy_object(name: str) -> Any:
    """Return the NumPy object with a dotted name, or None."""
    found: Any = np
    for part in name.removeprefix("numpy.").split("."):
        if part not in dir(found):
            return None
        found = getattr(found, part)
    return found


def find(name: str) -> list[Row]:
    """Return the rows that a name may mean.

    Parameters
    ----------
    name : str
        As a user writes it: ``"np.percentile"``, ``"numpy.linalg.norm"``,
        ``"percentile"``, ``"np.abs"``, ``"norm"``.

    Returns
    -------
    list of Row
        Empty where nothing is called so. More than one where a bare name is
        that of several objects, such as a function and a method.
    """
    rows = {row.name: row for row in table()}
    full = "numpy." + name.removeprefix("numpy.").removeprefix("np.")
    if full in rows:
        return [rows[full]]
    row = core_table.row_of(numpy_object(full))  # np.abs is np.absolute
    if row is not None:
        return [row]
    return [row for key, row in rows.items() if key.endswith(full.removeprefix("numpy"))]


def similar(name: str) -> list[str]:
    """Return names that are spelt much like an unknown one."""
    bare = name.removeprefix("numpy.").removeprefix("np.")
    names = [row.name.removeprefix("numpy.") for row in table()]
    found = difflib.get_close_matches(bare, names, n=3, cutoff=0.6)
    last = {full.rsplit(".", 1)[-1]: full for full in reversed(names)}
    found += [last[word] for word in difflib.get_close_matches(bare, last, n=3, cutoff=0.6)]
    return [f"numpy.{word}" for word in dict.fromkeys(found)][:4]


def notes(row: Row) -> list[str]:
    """Return what is to be said of a row, in short sentences without full stops."""
    found = [row.reason or row.note]
    if row.status == "compiled":
        found += [d.reason for d in named_differences(row.name) if d.reason != row.note]
    if row.data_dependent:
        found.append("the shape of the result depends on the data")
    return [text for text in found if text]


def described(row: Row) -> str:
    """Return all that the table knows of a row, as lines of text."""
    lines = [f"{row.name}: {row.status}"]
    if row.status != "compiled":
        lines.append(f"  {row.reason}")
        lines.append("  jit runs the line in NumPy, with a warning; strict=True raises instead")
        return "\n".join(lines)
    entries = {
        "dtypes": dtypes(row),
        "dtypes in NumPy": refused_dtypes(row),
        "devices": devices(row),
        "parameters": parameters(row),
        "tolerance": tolerance(row),
        "without dimensions": f"the result is {_ZERO_D[row.zero_d]}",
    }
    lines += [f"  {text}" for text in notes(row)]
    lines += [f"  {key}: {value}" for key, value in entries.items() if value]
    return "\n".join(lines)


def devices(row: Row) -> str:
    """Return where a row is computed."""
    return "CPU, CUDA" if row.status == "compiled" else "NumPy"


def parameters(row: Row) -> str:
    """Return which of NumPy's parameters are compiled; a call with another one runs in NumPy."""
    if row.status != "compiled":
        return ""
    return f"all but {', '.join(row.unsupported)}" if row.unsupported else "all"


def tolerance(row: Row) -> str:
    """Return how far from NumPy's a result may be in the suite of tests."""
    if row.status != "compiled":
        return ""
    return f"{core_table.DEFAULT_TOLERANCE if row.tolerance is None else row.tolerance:g} eps"


def dtypes(row: Row) -> str:
    """Return the dtypes that are compiled; NumPy may refuse some of them itself."""
    if row.status != "compiled":
        return ""
    taken = _loops(row)
    return _joined(_COMPILED if taken is None else [name for name in taken if name in _COMPILED])


def refused_dtypes(row: Row) -> str:
    """Return the dtypes that NumPy has loops for, and for which it runs the call itself."""
    taken = _loops(row)
    if row.status != "compiled":
        return ""
    return _joined(_REFUSED if taken is None else [n for n in taken if n not in _COMPILED])


def _loops(row: Row) -> list[str] | None:
    """Return the dtypes that a ufunc takes; None for other objects."""
    ufunc = numpy_object(".".join(row.name.split(".")[:2]))
    if not isinstance(ufunc, np.ufunc):
        return None
    chars = dict.fromkeys(char for loop in ufunc.types for char in loop.split("->")[0])
    return list(dict.fromkeys(_name(char) for char in chars))


def _name(char: str) -> str:
    plain = {"M": "datetime64", "m": "timedelta64"}
    return plain.get(char) or np.dtype(char).name


def _joined(names: Iterable[str]) -> str:
    """Return names of dtypes, those of one kind as a range."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.rstrip("0123456789"), []).append(name)
    parts = []
    for members in kinds.values():
        whole = len(members) > 2 and members == [n for n in _COMPILED if n in members]
        parts += [f"{members[0]} to {members[-1]}"] if whole else members
    return ", ".join(parts)


def section(row: Row) -> str:
    """Return the section of the support page that a row stands in."""
    for title, beginnings in _CHAPTERS:
        if row.name.startswith(beginnings):
            return title
    parts = row.name.split(".")
    if len(parts) == 3:
        return _UFUNC_METHODS
    found = numpy_object(row.name)
    if isinstance(found, np.ufunc):
        return _UFUNCS
    return _FUNCTIONS if callable(found) and not isinstance(found, type) else _TYPES


def page() -> str:
    """Return the tables of the support page, in Markdown."""
    rows = table()
    sections: dict[str, list[Row]] = {title: [] for title in _ORDER}
    for row in rows:
        sections[section(row)].append(row)
    parts = [_totals_table(sections), ""]
    for title, members in sections.items():
        parts += [f"## {title}", ""]
        parts += _methods_table(members) if title == _UFUNC_METHODS else _rows_table(members)
        parts.append("")
    return "\n".join(parts)


def _totals_table(sections: dict[str, list[Row]]) -> str:
    lines = ["| | compiled | host | refused |", "| --- | --- | --- | --- |"]
    for title, members in sections.items():
        lines.append(_line(title, *totals(members).values()))
    everything = totals(row for members in sections.values() for row in members)
    lines.append(_line("**all**", *(f"**{count}**" for count in everything.values())))
    differing = sum(
        row.status == "compiled" and bool(named_differences(row.name))
        for members in sections.values()
        for row in members
    )
    lines += ["", f"{differing} compiled objects differ from NumPy in a way that the notes name."]
    return "\n".join(lines)


_COLUMNS = ("name", "status", "dtypes", "parameters", "devices", "tolerance", "notes")


def _rows_table(rows: list[Row]) -> list[str]:
    lines = [_line(*_COLUMNS), "|" + " --- |" * len(_COLUMNS)]
    return lines + [_line(*cells(row)) for row in rows]


def cells(row: Row) -> list[str]:
    """Return a row's line on the support page."""
    own = dtypes(row)
    return [
        f"`{row.name}`",
        row.status,
        "all" if set(own.split(", ")) == set(_joined(_COMPILED).split(", ")) else own,
        parameters(row),
        devices(row),
        tolerance(row),
        "; ".join(notes(row)),
    ]


def _methods_table(rows: list[Row]) -> list[str]:
    by_name = {row.name: row for row in rows}
    lines = [_line("ufunc", *_METHODS), "|" + " --- |" * (len(_METHODS) + 1)]
    for ufunc in dict.fromkeys(row.name.rsplit(".", 1)[0] for row in rows):
        found = [by_name.get(f"{ufunc}.{method}") for method in _METHODS]
        lines.append(_line(f"`{ufunc}`", *(row.status if row else "" for row in found)))
    said: dict[str, list[str]] = {}
    for row in rows:
        for text in notes(row):
            said.setdefault(text, []).append(row.name.removeprefix("numpy."))
    more = [
        f"{', '.join(f'`{name}`' for name in names)}: {text}.\n" for text, names in said.items()
    ]
    return [*lines, "", *more]


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
