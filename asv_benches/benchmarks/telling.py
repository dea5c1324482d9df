"""Cost of reports, and gain of the doctor's advice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).resolve().parents[2] / "tests" / "check" / "programs"


def add_one(x: np.ndarray) -> np.ndarray:
    """The least that there is to compile."""
    return x + 1


def chain(x: np.ndarray) -> Any:
    """Return some results of a chain of operations."""
    y = np.exp(-x * x) + np.sin(x)
    return np.sqrt(np.abs(y)) * np.cos(y), y.sum()


def seconds_per_call(call: Callable[[], Any], calls: int, rounds: int = 30) -> float:
    """Return the time of a call, in the fastest of some rounds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append(time.perf_counter() - begin)
    return min(times) / calls


class Overhead:
    """Time that a call of ``x + 1`` on three elements takes more, once the function was asked."""

    params = ["nothing", "report", "measured report", "verify", "source"]
    param_names = ["asked for"]
    unit = "s"

    def setup(self, asked: str) -> None:
        import npaccel

        self.x = np.ones(3)
        self.plain = npaccel.jit(add_one, compile="now")
        self.other = npaccel.jit(add_one, compile="now", verify=asked == "verify")
        self.plain(self.x), self.other(self.x)
        if asked.endswith("report"):
            str(self.other.report(measure=asked.startswith("measured")))
        if asked == "source":
            self.other.source()

    def track_more_per_call(self, *_: Any) -> float:
        found = [
            seconds_per_call(lambda: self.other(self.x), 1000, 5)
            - seconds_per_call(lambda: self.plain(self.x), 1000, 5)
            for _ in range(9)
        ]
        return max(0.0, sorted(found)[len(found) // 2])

    track_more_per_call.unit = "s"  # type: ignore[attr-defined]


class Check:
    """How long `npaccel.check` takes, as a multiple of both runs."""

    params = ["eager", "inductor"]
    param_names = ["backend"]

    def setup(self, backend: str) -> None:
        import npaccel

        self.x = np.random.default_rng(0).normal(size=1_000_000)
        self.jitted = npaccel.jit(chain, compile="now", backend=backend)
        npaccel.check(self.jitted, self.x)

    def track_ratio(self, *_: Any) -> float:
        import npaccel

        plain = seconds_per_call(lambda: chain(self.x), 1, 5)
        compiled = seconds_per_call(lambda: self.jitted(self.x), 1, 5)
        checked = seconds_per_call(lambda: npaccel.check(self.jitted, self.x), 1, 5)
        return checked / (plain + compiled)

    track_ratio.unit = "both runs"  # type: ignore[attr-defined]


class Advice:
    """How much faster a program is, once all that the doctor advises to is compiled."""

    params = ["image_pipeline", "shallow_water", "survey_statistics"]
    param_names = ["program"]
    timeout = 900

    def setup(self, program: str) -> None:
        self.script = PROGRAMS / f"{program}.py"
        with tempfile.TemporaryDirectory() as folder:
            found = Path(folder, "found.json")
            self.run("-m", "npaccel", "doctor", "--json", found, self.script)
            targets = json.loads(found.read_text(encoding="utf-8"))["targets"]
        flags = [flag for target in targets for flag in ("--jit", target)]
        self.command = ("-m", "npaccel", "run", "-q", *flags, self.script)

    def run(self, *args: Any) -> float:
        """Return the seconds of work that a program says it took."""
        done = subprocess.run(
            [sys.executable, *map(str, args)], capture_output=True, text=True, check=True
        )
        found = re.search(r"work: ([\d.]+) s", done.stdout)
        if found is None:
            raise ValueError(f"{args}: no time in the output")
        return float(found[1])

    def track_speed_up(self, *_: Any) -> float:
        pairs = [(self.run(self.script), self.run(*self.command)) for _ in range(3)]
        return min(plain for plain, _ in pairs) / min(compiled for _, compiled in pairs)

    track_speed_up.unit = "times"  # type: ignore[attr-defined]
