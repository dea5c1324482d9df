"""The lines about the table's rows: the ten that are slowest against NumPy, and the chains.

All rows take most of an hour. With a file to keep results in they can be measured in pieces:

    python asv_benches/compare.py rows --kept rows.json --minutes 10   # until nothing is left
    python asv_benches/compare.py rows --kept rows.json --match 'nan*' # these once more
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import statistics
import sys
import time
from pathlib import Path

from benchmarks.calls import DTYPES, calls
from benchmarks.common import side_by_side
from benchmarks.table import no_remarks, prepare
from rows import Row

#: How much slower than NumPy a row may be.
_SLOWEST = 1.1
#: How many times as fast as NumPy a first look has to find a row.
_CLEARLY = 1.25
#: What NumPy answers sooner doesn't grow with the arrays: no core reads 8 MB in so many seconds.
#: Views, shapes, a thousand indices: a call of compiled code costs some microseconds there.
_READS_NOTHING = 100e-6

#: Seconds by "numpy" and "npaccel", or why there are none.
Taken = dict[str, float] | str


@dataclasses.dataclass
class Pieces:
    """Plan of this run: what is to be measured, and what has been before.

    Parameters
    ----------
    kept : Path, optional
        Where results are kept, as JSON.
    match : sequence of str
        Patterns of names that are measured even if they have results; without
        any, all are measured that have none.
    minutes : float
        After how long to stop.
    """

    kept: Path | None = None
    match: tuple[str, ...] = ()
    minutes: float = float("inf")

    def __post_init__(self) -> None:
        self.found: dict[str, Taken] = {}
        if self.kept and self.kept.exists():
            self.found = json.loads(self.kept.read_text(encoding="utf-8"))
        self.end = time.monotonic() + 60 * self.minutes

    def wants(self, key: str) -> bool:
        """Whether a call is to be measured now."""
        if time.monotonic() > self.end:
            return False
        if self.match:
            return any(fnmatch.fnmatch(key.rpartition(" ")[0], pattern) for pattern in self.match)
        return key not in self.found

    def keep(self, key: str, taken: Taken) -> None:
        """Enter a result, also in the file."""
        self.found[key] = taken
        if self.kept:
            draft = self.kept.with_suffix(".draft")
            draft.write_text(json.dumps(self.found, indent=0) + "\n", encoding="utf-8")
            draft.replace(self.kept)


def seconds(text: str, dtype: str) -> dict[str, float]:
    """Return the seconds of NumPy and npaccel, both in blocks that take turns.

    Raises
    ------
    NotImplementedError
        If NumPy has no such call for the dtype, or npaccel doesn't compile it.
    """
    runs = {name: prepare(text, dtype, name) for name in ("numpy", "npaccel")}
    with no_remarks():
        taken = side_by_side(runs, rounds=1, seconds=0.1)
        for wanted in (_CLEARLY, 1):  # what doesn't look good is measured at length
            if taken["npaccel"] < taken["numpy"] / wanted:
                break
            again = side_by_side(runs, rounds=2)
            taken = min(taken, again, key=lambda t: t["npaccel"] / t["numpy"])
    return taken


def measure(texts: dict[str, str], pieces: Pieces) -> int:
    """Measure calls by name and dtype, and return how many of them have no result yet."""
    left = 0
    for name, text in texts.items():
        for dtype in DTYPES:
            key = f"{name.removeprefix('numpy.')} {dtype}"
            if not pieces.wants(key):
                left += key not in pieces.found
                continue
            try:
                taken: Taken = seconds(text, dtype)
            except NotImplementedError as error:
                taken = str(error)
            pieces.keep(key, taken)
            shown = taken if isinstance(taken, str) else f"{taken['numpy'] / taken['npaccel']:.2f}x"
            print(f"  {key}: {shown}", file=sys.stderr, flush=True)
    return left


def table_rows(pieces: Pieces | None = None) -> list[Row]:
    """Time every compiled row."""
    from npaccel._tools import support_page

    pieces = pieces or Pieces()
    timed = [
        row.name
        for row in support_page.table()
        if row.status == "compiled" and support_page.section(row) != "Constants and types"
    ]
    texts, without = calls(timed)
    left = measure(texts, pieces)
    print(f"  without a call: {', '.join(without)}", file=sys.stderr)
    return summary(pieces.found, left)


def speeds(found: dict[str, Taken]) -> dict[str, float]:
    """Return how many times npaccel is as fast as NumPy where the work grows with the arrays."""
    timed = {key: taken for key, taken in found.items() if not isinstance(taken, str)}
    return {
        key: taken["numpy"] / taken["npaccel"]
        for key, taken in timed.items()
        if taken["numpy"] >= _READS_NOTHING
    }


def summary(found: dict[str, Taken], left: int = 0) -> list[Row]:
    """Sum up results by name: the worst ten, and the mean of the chains."""
    ratios = speeds(found)
    chains = {name: x for name, x in ratios.items() if name.startswith("chain")}
    worst = sorted(ratios, key=ratios.__getitem__)[:10]
    listed = ", ".join(f"{name} {ratios[name]:.2f}x" for name in worst)
    slow = [name for name, x in ratios.items() if x * _SLOWEST < 1]
    missing = f"{left} not measured yet; " if left else ""
    lines = [
        Row(
            f"{len(ratios)} calls of the table's rows, 1,000,000 elements, vs NumPy",
            "none slower by more than 10%",
            f"{missing}{len(slow)} slower; worst: {listed}",
            not slow and not left,
            ratios,
        )
    ]
    if chains:
        mean = statistics.geometric_mean(chains.values())
        measured = f"geometric mean {mean:.2f}x of {len(chains)}"
        lines.append(Row("elementwise chains of three", ">= 2x", measured, mean >= 2, chains))
    return lines
