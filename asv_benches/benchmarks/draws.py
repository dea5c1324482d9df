"""Random numbers inside of a function: drawn by NumPy, and computed by the compiled code."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import PAUSE, build, samples


def normals(a: Any, rng: Any) -> Any:
    """Add a normal number to every element, and sum the rows."""
    return (a + rng.normal(size=a.shape)).sum(axis=1)


def uniforms(a: Any, rng: Any) -> Any:
    """Set a third of the elements to zero, and sum the rows."""
    return np.where(rng.random(a.shape) < 1 / 3, 0.0, a).sum(axis=1)


def shuffled(a: Any, rng: Any) -> Any:
    """Take the rows in a random order."""
    return rng.permutation(a) * 2.0


#: Who draws: plain NumPy, npaccel with ``rng="numpy"``, npaccel with ``rng="device"``.
DRAWERS = ["numpy", "npaccel", "npaccel-device"]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (normals, uniforms, shuffled)
}


class Draws:
    """Draws of ten numbers, where a call's overhead counts, and of a million."""

    params: list[Any] = [DRAWERS, list(FUNCTIONS), [(2, 5), (1000, 1000)]]
    param_names: list[str] = ["who", "function", "shape"]
    unit = "seconds"

    def setup(self, who: str, function: str, shape: tuple[int, int]) -> None:
        name, _, rng = who.partition("-")
        call = build(FUNCTIONS[function], name, **({"rng": rng} if rng else {}))
        a, generator = np.ones(shape), np.random.default_rng(0)
        self.call = lambda: call(a, generator)
        for _ in range(3):
            self.call()
        time.sleep(PAUSE)

    def track_call(self, *_: Any) -> float:
        """Return the median seconds per call."""
        return statistics.median(samples(self.call))
