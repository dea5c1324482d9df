"""The line about native functions of SciPy: how many times as fast as SciPy they are."""

from __future__ import annotations

import statistics
import sys

from benchmarks.common import side_by_side
from benchmarks.scipy_natives import calls, differing, prepare
from rows import Row

#: What SciPy answers sooner isn't worth compiling, and is no measure of a kernel.
_READS_NOTHING = 100e-6


def scipy_rows() -> list[Row]:
    """Time each native function once, and again where it doesn't look fast."""
    found: dict[str, float] = {}
    for name in sorted(calls()):
        try:
            runs = {which: prepare(name, which) for which in ("scipy", "npaccel")}
            wrong = differing(name, runs)
        except (MemoryError, ValueError, TypeError) as error:
            print(f"  {name}: left out: {error}", file=sys.stderr)
            continue
        if wrong:
            raise AssertionError(f"{name}: npaccel's answer is not SciPy's: {wrong[0]}")
        taken = side_by_side(runs, rounds=1, seconds=0.2)
        if taken["scipy"] < _READS_NOTHING:
            continue
        if taken["npaccel"] > taken["scipy"]:
            taken = side_by_side(runs, rounds=2)
        found[name] = taken["scipy"] / taken["npaccel"]
        print(f"  {name}: {found[name]:.2f}x", file=sys.stderr, flush=True)
    mean = statistics.geometric_mean(found.values())
    worst = sorted(found, key=found.__getitem__)[:10]
    slow = [name for name in found if found[name] < 0.8]
    listed = ", ".join(f"{name} {found[name]:.2f}x" for name in worst)
    return [
        Row(
            f"{len(found)} native functions of SciPy, 1,000,000 elements, vs SciPy",
            "geometric mean >= 3x, none below 0.8x",
            f"geometric mean {mean:.2f}x; {len(slow)} below 0.8x; worst: {listed}",
            mean >= 3 and not slow,
            found,
        )
    ]
