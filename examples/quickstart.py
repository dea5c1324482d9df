"""One step of k-means on two million points: plain NumPy against npaccel.

    python examples/quickstart.py
    python examples/quickstart.py -n 10_000_000 --dtype float32

Prints NumPy's time, npaccel's first call (which compiles, or finds the compiled
code on disk), its steady state, the speed-up, and whether the answers agree.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import npaccel

Array = np.ndarray[Any, np.dtype[Any]]


def nearest_mean(points: Array, means: Array) -> Array:
    """Return for each point the index of the mean that is nearest to it."""
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)


compiled = npaccel.jit(nearest_mean, compile="now")


def make_points(n: int, dtype: str) -> tuple[Array, Array]:
    """Return `n` points around two centres, shape (n, 2), and the centres, shape (2, 2)."""
    means = np.array([[5.0, 5.0], [10.0, 10.0]])
    points = np.repeat(means, [n // 2, n - n // 2], axis=0)
    points += np.random.default_rng(0).standard_normal(points.shape)
    return points.astype(dtype), means.astype(dtype)


def timed(call: Callable[[], Array]) -> tuple[float, Array]:
    """Return the seconds that a call took, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def steady(call: Callable[[], Array], repeats: int) -> float:
    """Return the median seconds of several calls."""
    return statistics.median(timed(call)[0] for _ in range(repeats))


def wrong_labels(points: Array, means: Array, expected: Array, actual: Array) -> tuple[int, int]:
    """Count labels that differ, and those of them that aren't a tie at rounding.

    Where two means are equally near, the last bit of a sum decides, and another
    order of the same additions may decide otherwise.
    """
    (differing,) = np.nonzero(expected != actual)
    chosen = np.linalg.norm(points[differing] - means[actual[differing]], axis=1)
    nearest = np.linalg.norm(points[differing] - means[expected[differing]], axis=1)
    tie = np.abs(chosen - nearest) <= 4 * np.finfo(points.dtype).eps * nearest
    return len(differing), int(np.count_nonzero(~tie))


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison and return 0 if the answers agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=2_000_000, help="number of points")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--repeats", type=int, default=11, help="calls for the steady state")
    options = parser.parse_args(arguments)

    points, means = make_points(options.n, options.dtype)
    print(f"k-means step, {options.n:,} points, {options.dtype}")
    numpy_seconds, expected = timed(lambda: nearest_mean(points, means))
    numpy_seconds = min(numpy_seconds, steady(lambda: nearest_mean(points, means), 3))
    first_seconds, actual = timed(lambda: compiled(points, means))
    steady_seconds = steady(lambda: compiled(points, means), options.repeats)
    differing, wrong = wrong_labels(points, means, expected, actual)

    print(f"NumPy                {numpy_seconds * 1e3:9.2f} ms")
    print(f"npaccel, first call  {first_seconds * 1e3:9.2f} ms")
    print(f"npaccel, steady      {steady_seconds * 1e3:9.2f} ms")
    print(f"speed-up             {numpy_seconds / steady_seconds:9.1f} x")
    if wrong or actual.dtype != expected.dtype or actual.shape != expected.shape:
        print(f"the answers DIFFER: {wrong:,} labels are wrong")
        return 1
    ties = f" ({differing:,} ties at rounding fell the other way)" if differing else ""
    print(f"the answers agree{ties}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
