"""The lines about masked updates: each against ``np.where`` by hand, both compiled."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.common import PAUSE, build, same_results, samples
from rows import Row

_SIZE = 1_000_000
#: Two runs of the same code differ by it.
_NOISE = 0.97


def _function(a: Any, m: Any, b: Any) -> None:  # noqa: ARG001
    a[m] = np.sqrt(a[m]) * 0.5 + 1


def _function_by_hand(a: Any, m: Any, b: Any) -> None:  # noqa: ARG001
    a[...] = np.where(m, np.sqrt(a) * 0.5 + 1, a)


def _sum(a: Any, m: Any, b: Any) -> None:
    a[m] += b[m]


def _sum_by_hand(a: Any, m: Any, b: Any) -> None:
    a[...] = np.where(m, a + b, a)


def _not_finite(a: Any, m: Any, b: Any) -> None:  # noqa: ARG001
    a[~np.isfinite(a)] = 0


def _not_finite_by_hand(a: Any, m: Any, b: Any) -> None:  # noqa: ARG001
    a[...] = np.where(~np.isfinite(a), 0, a)


UPDATES = {
    "a[m] = f(a[m])": (_function, _function_by_hand),
    "a[m] += b[m]": (_sum, _sum_by_hand),
    "a[~np.isfinite(a)] = 0": (_not_finite, _not_finite_by_hand),
}


def arguments(size: int = _SIZE) -> tuple[Any, ...]:
    """Return an array with some numbers that aren't finite, a mask, and summands."""
    rng = np.random.default_rng(0)
    a, b = rng.random((2, size))
    a[::1000] = np.inf
    return a, rng.random(size) > 0.5, b


def _checked(function: Callable[..., None], expected: Any, size: int) -> Callable[[], None]:
    """Return a compiled call whose answer is the expected one."""
    call = build(function, "npaccel", default_float="float64", strict=True)
    given = arguments(size)
    call(*given)
    if not same_results(expected, given[0]):
        raise AssertionError(f"compare: the answer of {function.__name__} is not NumPy's")
    return partial(call, *given)


def update_row(text: str, size: int = _SIZE, rounds: int = 5) -> Row:
    """Time a masked update against the same by hand, by the best of many samples each."""
    masked, by_hand = UPDATES[text]
    expected = arguments(size)
    masked(*expected)
    calls = {
        "masked": _checked(masked, expected[0], size),
        "np.where": _checked(by_hand, expected[0], size),
    }
    taken = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(PAUSE)
            taken[name] = min(taken[name], *samples(call))
    ratio = taken["np.where"] / taken["masked"]
    return Row(
        f"`{text}`, {size:,} float64, vs np.where by hand",
        f"as fast (>= {_NOISE}x)",
        f"{ratio:.2f}x: " + ", ".join(f"{name} {x * 1e3:.2f} ms" for name, x in taken.items()),
        ratio >= _NOISE,
        taken,
    )


def masks() -> list[Row]:
    """Time every masked update."""
    return [update_row(text) for text in UPDATES]
