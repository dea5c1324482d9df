"""The lines about the table's rows: the ten that are slowest against NumPy, and the chains."""

from __future__ import annotations

import statistics
import sys

from benchmarks.calls import DTYPES, calls
from benchmarks.common import side_by_side
from benchmarks.table import no_remarks, prepare
from rows import Row

#: How much slower than NumPy a row may be.
_SLOWEST = 1.1


def speed(text: str, dtype: str) -> float:
    """Return how many times npaccel is as fast as NumPy, both in blocks that take turns."""
    runs = {name: prepare(text, dtype, name) for name in ("numpy", "npaccel")}
    with no_remarks():
        taken = side_by_side(runs, rounds=2)
    return taken["numpy"] / taken["npaccel"]


def speeds(texts: dict[str, str]) -> tuple[dict[str, float], list[str]]:
    """Return the speeds of calls by name and dtype, and why others have none.

    What looks bad is measured again, and the better ratio counts.
    """
    found, left_out = {}, []
    for name, text in texts.items():
        for dtype in DTYPES:
            key = f"{name.removeprefix('numpy.')} {dtype}"
            try:
                ratio = speed(text, dtype)
                found[key] = ratio if ratio * _SLOWEST >= 1 else max(ratio, speed(text, dtype))
            except NotImplementedError as error:
                left_out.append(f"{key}: {error}")
            print(f"  {key}: {found.get(key, float('nan')):.2f}x", file=sys.stderr, flush=True)
    return found, left_out


def table_rows() -> list[Row]:
    """Time every compiled row."""
    from npaccel import _support

    timed = [
        row.name
        for row in _support.table()
        if row.status == "compiled" and _support.chapter(row) != "Constants and types"
    ]
    texts, without = calls(timed)
    found, left_out = speeds(texts)
    print(f"  without a call: {', '.join(without)}", *left_out, sep="\n  ", file=sys.stderr)
    return summary(found)


def summary(found: dict[str, float]) -> list[Row]:
    """Sum up speeds by name: the worst ten, and the mean of the chains."""
    chains = {name: x for name, x in found.items() if name.startswith("chain")}
    worst = sorted(found, key=found.__getitem__)[:10]
    listed = ", ".join(f"{name} {found[name]:.2f}x" for name in worst)
    slow = [name for name, x in found.items() if x * _SLOWEST < 1]
    lines = [
        Row(
            f"{len(found)} calls of the table's rows, 1,000,000 elements, vs NumPy",
            "none slower by more than 10%",
            f"{len(slow)} slower; worst: {listed}",
            not slow,
            found,
        )
    ]
    if chains:
        mean = statistics.geometric_mean(chains.values())
        measured = f"geometric mean {mean:.2f}x of {len(chains)}"
        lines.append(Row("elementwise chains of three", ">= 2x", measured, mean >= 2, chains))
    return lines
