"""The lines about transforms besides whole gradients: small calls, batches, compiling, memory."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.common import side_by_side
from benchmarks.processes import empty_caches, run_child
from rows import Row

_ASKED_CALL = 4e-6
_ASKED_LOOP, _ASKED_JAX = 100.0, 1.0
_ASKED_STATES = 2 * 200**0.5
_ASKED_STEPS = 1.25
SYSTEMS = 10_000


def wave(x: Any) -> Any:
    """Return a number of 10 others."""
    return np.sum(np.sin(x) * x)


def newton(x: Any, c: Any) -> Any:
    """Solve three equations by 20 steps of Newton's method."""
    for _ in range(20):
        f = np.array([x[0] ** 2 + x[1] - c[0], x[1] ** 2 + x[2] - c[1], x[2] ** 2 + x[0] - c[2]])
        slopes = np.array([[2 * x[0], 1.0, 0.0], [0.0, 2 * x[1], 1.0], [1.0, 0.0, 2 * x[2]]])
        x = x - np.linalg.solve(slopes, f)
    return x


def transform_rows() -> list[Row]:
    """Time a small gradient, a batch of solves, compilations; measure a peak of memory."""
    return [_small_call(), *_batch(), _compilation(), _memory()]


def _small_call() -> Row:
    import jax

    import npaccel

    jax.config.update("jax_enable_x64", True)
    x = np.linspace(0.0, 1.0, 10)
    theirs = jax.jit(jax.grad(_in_jax(wave)))
    calls = {
        "npaccel": functools.partial(npaccel.grad(wave), x),
        "jax": lambda: np.asarray(theirs(x)),
    }
    np.testing.assert_allclose(calls["npaccel"](), calls["jax"](), rtol=1e-12)
    taken = side_by_side(calls)
    measured = f"{taken['npaccel'] * 1e6:.1f} µs; JAX {taken['jax'] * 1e6:.1f}"
    met = taken["npaccel"] <= _ASKED_CALL
    return Row("grad of 10 numbers, a call", "<= 4 µs", measured, met, taken)


def _batch() -> list[Row]:
    import jax

    import npaccel

    rng = np.random.default_rng(0)
    x, c = rng.uniform(1, 2, (SYSTEMS, 3)), rng.uniform(2, 3, (SYSTEMS, 3))
    ours = npaccel.vmap(newton)
    theirs = jax.jit(jax.vmap(_in_jax(newton)))
    start = time.perf_counter()
    expected = np.stack([newton(*pair) for pair in zip(x, c, strict=True)])
    looped = time.perf_counter() - start
    np.testing.assert_allclose(ours(x, c), expected, rtol=1e-9)
    np.testing.assert_allclose(theirs(x, c), expected, rtol=1e-9)
    calls: dict[str, Callable[[], Any]] = {
        "npaccel": lambda: ours(x, c),
        "jax": lambda: jax.block_until_ready(theirs(x, c)),
    }
    taken = side_by_side(calls) | {"loop": looped}
    loop, jaxs = (taken[name] / taken["npaccel"] for name in ("loop", "jax"))
    what = "vmap of 10,000 Newton solves"
    return [
        Row(what, f">= {_ASKED_LOOP:.0f} x a loop", f"{loop:.0f} x", loop >= _ASKED_LOOP, taken),
        Row(what, f">= {_ASKED_JAX:.0f} x JAX", f"{jaxs:.1f} x", jaxs >= _ASKED_JAX, taken),
    ]


def _in_jax(function: Any) -> Any:
    """Return the same program with JAX's NumPy."""
    import types

    import jax.numpy as jnp

    return types.FunctionType(function.__code__, {**globals(), "np": jnp}, function.__name__)


def _compilation() -> Row:
    """Compile the gradient of a loop of 20 steps and of 200, in new processes, in turn."""
    taken: dict[str, list[float]] = {"20": [], "200": []}
    for _ in range(3):
        for steps, seconds in taken.items():
            with empty_caches() as caches:
                seconds.append(run_child("compile_gradient", steps, caches=caches)["seconds"])
    few, many = (float(np.median(taken[steps])) for steps in ("20", "200"))
    asked = f"200 steps as 20, within {_ASKED_STEPS} x"
    measured = f"{many:.2f} s and {few:.2f} s"
    met = many <= few * _ASKED_STEPS
    return Row("gradient of a loop, compiling", asked, measured, met, {"20": few, "200": many})


def _memory() -> Row:
    found = run_child("gradient_memory")
    asked = f"<= {_ASKED_STATES:.0f} states of 200"
    measured = f"{found['linear']:.1f}; {found['nonlinear']:.1f} where the step isn't linear"
    met = found["linear"] <= _ASKED_STATES
    return Row("heat equation, peak with checkpoint=True", asked, measured, met, found)
