"""The lines about single kernels: the time of each library, and of a copy of as many bytes.

    python asv_benches/compare.py kernels --json asv_benches/results/NAME/kernels.json
    python tools/draw_results.py docs/_static

NumPy, npaccel, bare ``torch.compile``, Numba and JAX take turns in one process. So does a copy that
moves what a kernel has to move at least: each argument read once, each result written once. Of the
samples the fastest counts: it's the one that nobody else on the machine disturbed. Where others use
the machine, run it on one core, by ``taskset -c 0``: threads wait for each other on busy ones. Then
the processor's time is taken.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from benchmarks import functions
from benchmarks.common import IMPLEMENTATIONS, build, same_results, side_by_side
from benchmarks.loop_programs import PROGRAMS
from benchmarks.loops import LOOP_IMPLEMENTATIONS, build_program, check_program, repeated
from rows import Row, implemented

#: Elements of a large array: 64 MB of float64.
LARGE = 8_000_000
#: Programs with loops, which bare torch.compile would unroll.
LOOPS = {
    "jacobi_2d": "Jacobi's method, 50 steps, 150 x 150",
    "mandelbrot_shrinking": "Mandelbrot set, points that stay",
}


def _random(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape)


#: By what the page calls it: the function, what makes its arguments, and whether they are large.
KERNELS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], bool]] = {
    "sqrt(x * x + y * y) * 0.5 + 1, 8,000,000 elements": (
        functions.chain,
        lambda: tuple(_random(2, LARGE)),
        True,
    ),
    "energy of 8,000,000 particles, two sums": (
        functions.energy,
        lambda: tuple(_random(2, LARGE)),
        True,
    ),
    "softmax of rows, 8,000 x 1,000": (functions.softmax, lambda: (_random(8000, 1000),), True),
    "5-point stencil, 2,800 x 2,800": (functions.smooth, lambda: (_random(2800, 2800),), True),
    "k-means step, 2,000,000 points, float64": (
        functions.kmeans,
        lambda: functions.kmeans_points(2_000_000, "float64"),
        True,
    ),
    "k-means step, 2,000,000 points, float32": (
        functions.kmeans,
        lambda: functions.kmeans_points(2_000_000, "float32"),
        True,
    ),
    "three slice writes, 80 x 80 x 26": (
        functions.slice_writes,
        lambda: (_random(80, 80, 26),),
        False,
    ),
    "sin(x) + 1, 10 elements": (functions.sine, lambda: (np.linspace(0.0, 1.0, 10),), False),
}


def timed(calls: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the fewest seconds of each call."""
    alone = len(os.sched_getaffinity(0)) == 1
    clock = time.process_time if alone else time.perf_counter
    return side_by_side(calls, of=min, clock=clock)


def copying(size: int) -> Callable[[], Any]:
    """Return a copy that reads and writes so many bytes, by as many threads as torch has."""
    import torch

    source = torch.ones(size // 2, dtype=torch.uint8)
    target = torch.ones_like(source)
    return lambda: target.copy_(source)


def kernel(name: str) -> Row:
    """Time a kernel in all implementations that have it."""
    function, make_arguments, large = KERNELS[name]
    arguments = make_arguments()
    expected = function(*arguments)
    calls: dict[str, Callable[[], Any]] = {}
    for implementation, call in implemented(IMPLEMENTATIONS, lambda one: build(function, one)):
        if not same_results(expected, call(*arguments)):
            raise AssertionError(f"compare: {implementation}'s answer to {name} is not NumPy's")
        calls[implementation] = lambda call=call: call(*arguments)  # type: ignore[misc]
    if large:
        calls["copy"] = copying(sum(np.asarray(array).nbytes for array in (*arguments, expected)))
    return _row(name, timed(calls))


def _row(name: str, taken: dict[str, float]) -> Row:
    peers = {peer: seconds for peer, seconds in taken.items() if peer not in ("numpy", "copy")}
    measured = ", ".join(f"{peer} {taken['numpy'] / x:.2f}x" for peer, x in peers.items())
    met = taken["npaccel"] <= 1.3 * min(peers.values())
    return Row(f"{name}, vs NumPy", "within 1.3x of the fastest", measured, met, taken)


def loop(name: str) -> Row:
    """Time a program with loops."""
    program = PROGRAMS[name]
    calls = {}
    made = implemented(LOOP_IMPLEMENTATIONS, lambda one: build_program(program, one))
    for implementation, call in made:
        check_program(program, implementation, call, "bench")
        calls[implementation] = repeated(program, call, "bench")
    return _row(LOOPS[name], timed(calls))


def kernel_rows() -> list[Row]:
    """Time all kernels."""
    rows = []
    for name in KERNELS:
        print(f"  {name}", file=sys.stderr, flush=True)
        rows.append(kernel(name))
    return [*rows, *map(loop, LOOPS)]
