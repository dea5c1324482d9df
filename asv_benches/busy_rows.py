"""The rows about busy machines: each core has another process that computes all the time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.common import PAUSE, is_installed, same_results, samples
from rows import Row

#: How much slower than NumPy, and than JAX, a call may be.
_OF_NUMPY, _OF_JAX = 1.1, 1.5
_SIZES = (10_000, 65_536, 1_000_000)
_SECONDS = 1.0


def chain(np: Any, x: Any) -> Any:
    """Return a polynomial of a sine."""
    return ((x * x * 3 + x * 2 + 1) * x - 4) * x + np.sin(x)


def reduction(np: Any, x: Any) -> Any:
    """Return the root of the mean square."""
    return np.sqrt((x * x).mean())


def nearest(np: Any, points: Any, means: Any) -> Any:
    """Return the nearest mean of each point."""
    return np.argmin(((points[:, None, :] - means[None]) ** 2).sum(axis=-1), axis=1)


def jacobi(np: Any, u: Any) -> Any:
    """Return one Jacobi step of the inside."""
    inside = (u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1]) * 0.25
    return np.pad(inside, 1)


def programs() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Yield name, function and arguments of each program."""
    rng = np.random.default_rng(0)
    for size in _SIZES:
        yield f"chain of {size:,} elements", chain, (rng.random(size),)
    for size in _SIZES:
        yield f"reduction of {size:,} elements", reduction, (rng.random(size),)
    points, means = rng.random((100_000, 2)), rng.random((8, 2))
    yield "k-means step, 100,000 x 2", nearest, (points, means)
    yield "stencil, 500 x 500", jacobi, (rng.random((500, 500)),)


def calls_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Return a call of each implementation, checked against NumPy."""
    import npaccel

    plain = partial(function, np)
    calls = {"numpy": partial(plain, *arguments)}
    jitted = npaccel.jit(lambda *given: function(np, *given), compile="now", strict=True)
    calls["npaccel"] = partial(jitted, *arguments)
    if is_installed("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(partial(function, jax.numpy))
        given = [jax.numpy.asarray(one) for one in arguments]
        calls["jax"] = lambda: compiled(*given).block_until_ready()
    expected = calls["numpy"]()
    for name, call in calls.items():
        call()
        if not same_results(expected, np.asarray(call())):
            raise AssertionError(f"compare: {name}'s answer is not NumPy's")
    return calls


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """Have a process on each core that computes all the time."""
    program = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(program) for _ in os.sched_getaffinity(0)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _measured(calls: dict[str, Any]) -> dict[str, float]:
    """Return medians and 90th percentiles of seconds per call."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(3):
        for name, call in calls.items():
            time.sleep(PAUSE)
            taken[name] += samples(call, _SECONDS)
    found = {}
    for name, values in taken.items():
        found[name] = float(np.median(values))
        found[f"{name} 90%"] = float(np.quantile(values, 0.9))
    return found


def busy() -> list[Row]:
    """Time calls while other processes compute on all cores."""
    rows = []
    prepared = [(name, calls_of(function, given)) for name, function, given in programs()]
    idle = {name: _measured(calls) for name, calls in prepared}
    with busy_cores():
        for name, calls in prepared:
            found = _measured(calls)
            met = all(
                found[f"npaccel{which}"] <= bound * found[f"{who}{which}"]
                for who, bound in (("numpy", _OF_NUMPY), ("jax", _OF_JAX))
                if who in calls
                for which in ("", " 90%")
            )
            measured = ", ".join(
                f"{who} {found[who] * 1e6:.0f} ({found[f'{who} 90%'] * 1e6:.0f}) µs, "
                f"idle {idle[name][who] * 1e6:.0f}"
                for who in calls
            )
            asked = f"<= {_OF_NUMPY} of NumPy, <= {_OF_JAX} of JAX; median and 90th percentile"
            figures = {**found, **{f"{who} idle": idle[name][who] for who in calls}}
            rows.append(Row(f"busy cores: {name}", asked, measured, met, figures))
    return rows
