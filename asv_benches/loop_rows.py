"""The rows about loops: compiling them, Jacobi's method, the suite of programs."""

from __future__ import annotations

import dataclasses
import sys
from statistics import geometric_mean

from benchmarks.common import side_by_side
from benchmarks.loop_programs import PROGRAMS, Program
from benchmarks.loops import (
    LOOP_IMPLEMENTATIONS,
    build_program,
    check_program,
    is_silent,
    repeated,
)
from rows import Row, implemented, in_turn


@dataclasses.dataclass(frozen=True)
class Run:
    """Outcome of one program.

    Parameters
    ----------
    seconds : dict of str to float
        By implementation; those that can't run it, or do it wrong, are missing.
    failed : tuple of str
        Why npaccel has no time here; empty if it has.
    silent : bool
        Whether part of it ran uncompiled without a line in the report.
    """

    seconds: dict[str, float]
    failed: tuple[str, ...] = ()
    silent: bool = False

    def speed(self, *peers: str) -> float | None:
        """Return how many times npaccel is as fast as the best of some peers."""
        taken = [self.seconds[peer] for peer in peers if peer in self.seconds]
        if not taken or "npaccel" not in self.seconds:
            return None
        return min(taken) / self.seconds["npaccel"]


def run_program(program: Program) -> Run:
    """Check a program's answers, then time it side by side."""
    calls, runs, failed = {}, {}, []
    made = implemented(LOOP_IMPLEMENTATIONS, lambda one: build_program(program, one))
    for implementation, call in made:
        try:
            check_program(program, implementation, call, "bench")
        except Exception as error:  # noqa: BLE001 (one program doesn't stop the others)
            print(f"  failed: {error!r}", file=sys.stderr)
            failed += [f"{program.name}: {error!r}"] if implementation == "npaccel" else []
            continue
        calls[implementation] = call
        runs[implementation] = repeated(program, call, "bench")
    seconds = side_by_side(runs)
    silent = "npaccel" in calls and is_silent(calls["npaccel"], runs["npaccel"])
    return Run(seconds, tuple(failed), silent)


def compile_row() -> Row:
    """Time compiling a loop of few and of many steps."""
    tasks = {f"{steps:,} steps": ("compile_loop", str(steps)) for steps in (50, 5000)}
    taken = in_turn(tasks, 3, cold=True)
    few, many = taken.values()
    measured = f"{many / few:.2f}: " + ", ".join(f"{n} {v:.1f} s" for n, v in taken.items())
    what = "Jacobi 2-D 150x150, compile time, new process, cold cache"
    met = many <= 1.2 * few and few <= 12
    return Row(what, "5,000 steps <= 1.2 x 50 steps, 50 steps <= 12 s", measured, met, taken)


def jacobi_row(run: Run) -> Row:
    """Compare Jacobi's method with NumPy and with Numba's threads."""
    faster = {peer: run.speed(peer) for peer in run.seconds if peer != "npaccel"}
    met = (run.speed("numpy") or 0) >= 6 and (run.speed("numba") or 1) >= 1
    what = "Jacobi 2-D 150x150, 50 steps, float64"
    asked = ">= 6x NumPy, at least as fast as Numba with parallel=True"
    measured = ", ".join(f"{peer} {x:.2f}x" for peer, x in faster.items() if x) or "failed"
    return Row(what, asked, measured, met, run.seconds)


def speeds_row(what: str, asked: str, least: float, runs: dict[str, Run], *peers: str) -> Row:
    """Compare all programs with the best of some peers."""
    speeds = {name: x for name, run in runs.items() if (x := run.speed(*peers)) is not None}
    if not speeds:
        return Row(what, asked, "nothing to compare with", False, {})
    worst = sorted(speeds, key=speeds.__getitem__)[:3]
    mean = geometric_mean(speeds.values())
    listed = ", ".join(f"{name} {speeds[name]:.2f}x" for name in worst)
    measured = f"geometric mean {mean:.2f}x of {len(speeds)} programs; worst: {listed}"
    return Row(what, asked, measured, mean >= least, speeds)


def suite_rows(runs: dict[str, Run]) -> list[Row]:
    """Sum up the programs: NumPy, the worst, the peers, what failed, what was silent."""
    against_numpy = speeds_row(
        f"{len(runs)} programs with loops vs NumPy", "geometric mean >= 4x", 4, runs, "numpy"
    )
    slowest = min(against_numpy.figures.items(), key=lambda item: item[1], default=("none", 0.0))
    failed = [reason for run in runs.values() for reason in run.failed]
    silent = [name for name, run in runs.items() if run.silent]
    return [
        against_numpy,
        Row(
            "the slowest of them vs NumPy",
            ">= 0.95x",
            f"{slowest[0]} {slowest[1]:.2f}x",
            slowest[1] >= 0.95,
            dict([slowest]),
        ),
        speeds_row(
            "the same vs the best of Numba and JAX",
            "geometric mean >= 1x",
            1,
            runs,
            "numba",
            "jax",
        ),
        Row(
            "programs that give another answer than NumPy",
            "0",
            "; ".join([str(len(failed)), *failed]),
            not failed,
            {"failed": len(failed)},
        ),
        Row(
            "programs that ran uncompiled without a line in the report",
            "0",
            ", ".join([str(len(silent)), *silent]),
            not silent,
            {"silent": len(silent)},
        ),
    ]


def loops(names: tuple[str, ...] = ()) -> list[Row]:
    """Measure everything about loops, or some programs only."""
    runs = {}
    for name in names or PROGRAMS:
        print(f"  {name}", file=sys.stderr, flush=True)
        runs[name] = run_program(PROGRAMS[name])
        taken = ", ".join(f"{n} {x * 1e3:.3g} ms" for n, x in runs[name].seconds.items())
        print(f"    {taken}", file=sys.stderr, flush=True)
    if names:
        return suite_rows(runs)
    return [compile_row(), jacobi_row(runs["jacobi_2d"]), *suite_rows(runs)]
