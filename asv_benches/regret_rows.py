"""The rows about regret: whether a decorator makes an ordinary program slower.

Each program runs in a new process with empty caches, under default options.
"""

from __future__ import annotations

import dataclasses
import sys
from statistics import geometric_mean
from typing import Any

from benchmarks.first_calls import FIRST, LIMIT
from benchmarks.ordinary_programs import MODULE_OF
from benchmarks.processes import empty_caches, run_limited
from rows import Row

#: Seconds that the first calls together may take longer than NumPy's.
_LONGER = 1.0
#: How much slower a call may be after them; what is shorter than `_SHORT` by seconds.
_SLOWER, _SHORT, _SLOWER_SECONDS = 1.1, 20e-6, 2e-6
#: What is asked of each program.
_ASKED = f"first {FIRST} <= {_LONGER:g} s, after them <= {_SLOWER} of it"
#: How fast the programs have to be in the end, in the mean.
_FASTER = 2.5
#: The columns of a program's row, as `Regret.measured` joins them.
_COLUMNS = f"NumPy's time, first {FIRST} calls less NumPy's, after them, steady speed, who calls"


@dataclasses.dataclass(frozen=True)
class Regret:
    """What was measured of one program.

    Parameters
    ----------
    found : dict
        Of `benchmarks.first_calls.measured`, as far as it came.
    why : str
        Why it came no further.
    """

    found: dict[str, Any]
    why: str = ""

    @property
    def longer(self) -> float | None:
        """Seconds that the first calls take longer than NumPy's."""
        first = self.found.get("first")
        return sum(first["npaccel"]) - sum(first["numpy"]) if first else None

    @property
    def is_slower(self) -> bool | None:
        """Whether calls after the first ones are slower than NumPy's."""
        after = self.found.get("after")
        if not after:
            return None
        numpy, ours = after["numpy"], after["npaccel"]
        return ours > (numpy + _SLOWER_SECONDS if numpy < _SHORT else numpy * _SLOWER)

    def speed(self, who: str = "npaccel") -> float | None:
        """Return how many times as fast as NumPy one is in the end."""
        steady = self.found.get("steady", {})
        return steady["numpy"] / steady[who] if who in steady else None

    @property
    def is_wrong(self) -> bool:
        """Whether an answer is another one than NumPy's, or not all could be measured."""
        return bool(self.found.get("wrong")) or "steady" not in self.found

    def measured(self) -> str:
        """Return the columns of a row as text."""
        parts = []
        if self.longer is not None:
            after, wrong = self.found.get("after"), self.found["wrong"]
            parts += [f"WRONG {wrong} of {FIRST} calls"] if wrong else []
            numpy = after["numpy"] if after else min(self.found["first"]["numpy"])
            parts += [f"{numpy * 1e3:.3g} ms", f"{self.longer:+.2f} s"]
            parts += [f"{after['npaccel'] / numpy:.2f} of it"] if after else []
        for who, suffix in (("npaccel", ""), ("numba", " Numba")):
            speed = self.speed(who)
            parts += [f"{speed:.2f}x{suffix}"] if speed else []
        longest = self.found.get("longest", 0.0)
        parts += [f"longest call {longest:.1f} s"] if longest > _LONGER else []
        parts += [text for text in (self.found.get("who"), self.why) if text]
        return ", ".join(parts)

    def figures(self) -> dict[str, float]:
        """Return everything that was measured, by name."""
        found = {f"after {who}": value for who, value in self.found.get("after", {}).items()}
        found |= {f"steady {who}": value for who, value in self.found.get("steady", {}).items()}
        for who, values in self.found.get("first", {}).items():
            found |= {f"call {i} {who}": value for i, value in enumerate(values, 1)}
        found |= {name: self.found[name] for name in ("longest", "settling") if name in self.found}
        return found

    def row(self, name: str) -> Row:
        """Return the program's line of the table."""
        met = self.longer is not None and self.longer <= _LONGER
        met = met and self.is_slower is False and not self.is_wrong and not self.why
        return Row(name, _ASKED, self.measured(), met, self.figures())


def measure(name: str) -> Regret:
    """Measure a program in a new process with empty caches."""
    with empty_caches() as caches:
        return Regret(*run_limited("regret", name, caches=caches, seconds=LIMIT))


def summary(programs: dict[str, Regret]) -> list[Row]:
    """Sum up: what is wrong, the first calls, those after them, the steady ones."""
    wrong = [name for name, one in programs.items() if one.is_wrong]
    longer = {name: one.longer for name, one in programs.items() if one.longer is not None}
    late = sorted((name for name in longer if longer[name] > _LONGER), key=lambda n: -longer[n])
    worst = max(longer, key=longer.__getitem__, default="none")
    slower = [name for name, one in programs.items() if one.is_slower is not False]
    speeds = {name: speed for name, one in programs.items() if (speed := one.speed())}
    slowest = sorted(speeds, key=speeds.__getitem__)[:3]
    mean = geometric_mean(speeds.values()) if speeds else 0.0
    listed = ", ".join(f"{name} {speeds[name]:.2f}x" for name in slowest)
    count = len(programs)
    return [
        Row(
            f"{count} ordinary programs: another answer than NumPy's, or none in {LIMIT:g} s",
            "0",
            ", ".join([str(len(wrong)), *wrong]),
            not wrong,
            {"wrong": len(wrong)},
        ),
        Row(
            f"their first {FIRST} calls, more than NumPy's",
            f"<= {_LONGER:g} s each",
            f"most: {worst} {longer.get(worst, 0.0):.2f} s; "
            + ", ".join([f"{len(late)} take longer", *late]),
            len(longer) == count and not late,
            longer,
        ),
        Row(
            f"programs slower than NumPy after {FIRST} calls",
            f"0 by more than 10% (by 2 µs below {_SHORT * 1e6:g} µs)",
            ", ".join([str(len(slower)), *slower]),
            not slower,
            {"slower": len(slower)},
        ),
        Row(
            "steady speed vs NumPy",
            f"geometric mean >= {_FASTER}x",
            f"{mean:.2f}x of {len(speeds)}; worst: {listed}",
            len(speeds) == count and mean >= _FASTER,
            speeds,
        ),
    ]


def regret_rows(names: tuple[str, ...] = ()) -> list[Row]:
    """Measure all ordinary programs, or some only.

    Parameters
    ----------
    names : tuple of str
        By default all.
    """
    programs = {}
    print(f"  {_COLUMNS}", file=sys.stderr, flush=True)
    for name in names or MODULE_OF:
        programs[name] = measure(name)
        print(f"  {name}: {programs[name].measured()}", file=sys.stderr, flush=True)
    return [one.row(name) for name, one in programs.items()] + summary(programs)
