"""The lines about `value_and_grad`: programs as they stand, against JAX's idiom, jitted.

HIPS autograd takes those without writes in place.
"""

from __future__ import annotations

import functools
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.common import side_by_side
from rows import Row

_ASKED_EACH, _ASKED_MEAN, _ASKED_AUTOGRAD = 0.8, 1.2, 20.0


def logistic_regression(w: Any, x: Any, y: Any) -> Any:
    """Return the loss of 100,000 rows and 50 columns."""
    z = x @ w
    return np.mean(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0) - y * z) + 0.01 * np.sum(w**2)


def n_body_energy(positions: Any, masses: Any) -> Any:
    """Return the potential energy of 1,000 bodies."""
    d = positions[:, None, :] - positions[None, :, :]
    r = np.sqrt(np.sum(d**2, axis=-1) + 1e-4)
    pairs = masses[:, None] * masses[None, :] / r
    return -0.5 * (np.sum(pairs) - np.sum(masses**2) / 1e-2)


def two_layer_network(parameters: Any, x: Any, y: Any) -> Any:
    """Return the squared error of a network with one hidden layer."""
    w1, b1, w2, b2 = parameters
    hidden = np.tanh(x @ w1 + b1)
    return np.mean((hidden @ w2 + b2 - y) ** 2)


def kalman_likelihood(theta: Any, ys: Any) -> Any:
    """Return the negative log-likelihood of 1,000 observations."""
    a = np.array([[1.0, 0.1], [0.0, 1.0]]) * np.exp(-0.01 * theta[0])
    q, noise = np.eye(2) * np.exp(theta[1]), np.exp(theta[2])
    m, p, loss = np.zeros(2), np.eye(2), 0.0
    for y in ys:
        m, p = a @ m, a @ p @ a.T + q
        r, s = y - m[0], p[0, 0] + noise
        gain = p[:, 0] / s
        m, p = m + gain * r, p - np.outer(gain, p[0])
        loss = loss + 0.5 * (np.log(2 * np.pi * s) + r * r / s)
    return loss


def heat(u: Any, alpha: Any) -> Any:
    """Return the energy after 200 steps on a grid of 256 x 256."""
    u = u.copy()
    for _ in range(200):
        u[1:-1, 1:-1] += alpha * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return np.sum(u**2)


def black_scholes(market: Any, strike: Any, time: Any) -> Any:
    """Return the sum of the prices of 1,000,000 options, whose greeks are its gradient."""
    spot, volatility, rate = market
    spread = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
    d2 = d1 - spread
    return np.sum(spot * _normal(d1) - strike * np.exp(-rate * time) * _normal(d2))


def _normal(x: Any) -> Any:
    """Return the normal distribution by Abramowitz and Stegun's formula 26.2.17."""
    k = 1 / (1 + 0.2316419 * np.abs(x))
    tail = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) * k * (
        0.319381530
        + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )  # fmt: skip
    return np.where(x > 0, 1 - tail, tail)


def _arguments() -> dict[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100_000, 50))
    rows = rng.normal(size=(2_000, 64))
    options = 1_000_000
    network = (
        rng.normal(size=(64, 128)) * 0.1, np.zeros(128), rng.normal(size=(128, 1)) * 0.1,
        np.zeros(1),
    )  # fmt: skip
    market = (
        rng.uniform(80, 120, options), rng.uniform(0.1, 0.4, options),
        rng.uniform(0.0, 0.05, options),
    )  # fmt: skip
    return {
        logistic_regression: (rng.normal(size=50) * 0.1, x, (x[:, 0] > 0) * 1.0),
        n_body_energy: (rng.normal(size=(1_000, 3)), rng.uniform(1, 2, 1_000)),
        two_layer_network: (network, rows, rng.normal(size=(2_000, 1))),
        kalman_likelihood: (np.array([0.1, -2.0, -1.0]), np.cumsum(rng.normal(size=1_000)) * 0.1),
        heat: (rng.normal(size=(256, 256)), 0.1),
        black_scholes: (market, rng.uniform(80, 120, options), rng.uniform(0.1, 2, options)),
    }


def _jax_programs() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the programs in JAX's idiom: its own NumPy, `scan`, no writes in place."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    scope = {**globals(), "np": jnp}

    def translated(function: Any) -> Any:
        return types.FunctionType(function.__code__, scope, function.__name__)

    scope["_normal"] = translated(_normal)

    def kalman(theta: Any, ys: Any) -> Any:
        a = jnp.array([[1.0, 0.1], [0.0, 1.0]]) * jnp.exp(-0.01 * theta[0])
        q, noise = jnp.eye(2) * jnp.exp(theta[1]), jnp.exp(theta[2])

        def step(carry: Any, y: Any) -> Any:
            m, p, loss = carry
            m, p = a @ m, a @ p @ a.T + q
            r, s = y - m[0], p[0, 0] + noise
            gain = p[:, 0] / s
            m, p = m + gain * r, p - jnp.outer(gain, p[0])
            return (m, p, loss + 0.5 * (jnp.log(2 * jnp.pi * s) + r * r / s)), None

        return jax.lax.scan(step, (jnp.zeros(2), jnp.eye(2), 0.0), ys)[0][2]

    def heat_scan(u: Any, alpha: Any) -> Any:
        def step(u: Any, _: Any) -> Any:
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            return u.at[1:-1, 1:-1].add(alpha * (around - 4 * u[1:-1, 1:-1])), None

        return jnp.sum(jax.lax.scan(step, u, None, length=200)[0] ** 2)

    same = (logistic_regression, n_body_energy, two_layer_network, black_scholes)
    return {
        **{one: translated(one) for one in same},
        kalman_likelihood: kalman,
        heat: heat_scan,
    }


def _autograd_programs() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return value and gradient by autograd of the programs that write nothing in place."""
    try:
        import autograd
        import autograd.numpy
    except ImportError:
        print("  left out: autograd isn't installed", file=sys.stderr)
        return {}
    scope = {**globals(), "np": autograd.numpy}

    def translated(function: Any) -> Any:
        return types.FunctionType(function.__code__, scope, function.__name__)

    scope["_normal"] = translated(_normal)
    taken = (logistic_regression, n_body_energy, two_layer_network, kalman_likelihood)
    return {one: autograd.value_and_grad(translated(one)) for one in (*taken, black_scholes)}


def _close(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, tuple):
        return all(_close(a, b) for a, b in zip(ours, theirs, strict=True))
    scale = float(np.max(np.abs(theirs))) or 1.0
    return bool(np.allclose(ours, theirs, rtol=1e-9, atol=1e-9 * scale))


def gradients() -> list[Row]:
    """Time the value and the gradient of six programs."""
    import jax

    import npaccel

    theirs, by_autograd = _jax_programs(), _autograd_programs()
    rows, ratios, slower = [], [], []
    for function, given in _arguments().items():
        ours = npaccel.value_and_grad(function)
        jitted = jax.jit(jax.value_and_grad(theirs[function]))

        def peer(jitted: Any = jitted, given: Any = given) -> Any:
            return jax.block_until_ready(jitted(*given))

        def own(ours: Any = ours, given: Any = given) -> Any:
            return ours(*given)

        if not _close(own(), peer()):
            raise AssertionError(f"compare: the gradient of {function.__name__} isn't JAX's")
        calls = {"npaccel": own, "jax": peer}
        if function in by_autograd:
            differentiated = by_autograd[function]
            if not _close(own(), differentiated(*given)):
                raise AssertionError(f"compare: that of {function.__name__} isn't autograd's")
            calls["autograd"] = functools.partial(differentiated, *given)
        taken = side_by_side(calls)
        if "autograd" in taken:
            slower.append(taken["autograd"] / taken["npaccel"])
            asked = f">= {_ASKED_AUTOGRAD:.0f} x autograd"
            met = slower[-1] >= _ASKED_AUTOGRAD
            measured = f"{slower[-1]:.1f} x"
            rows.append(Row(f"gradient: {function.__name__}", asked, measured, met, taken))
        ratio = taken["jax"] / taken["npaccel"]
        ratios.append(ratio)
        rows.append(
            Row(
                f"gradient: {function.__name__}",
                f">= {_ASKED_EACH} x JAX, jitted",
                f"{ratio:.2f} x ({taken['npaccel'] * 1e3:.2f} ms)",
                ratio >= _ASKED_EACH,
                taken,
            )
        )
    mean = math.prod(ratios) ** (1 / len(ratios))
    asked = f">= {_ASKED_MEAN} x JAX, jitted"
    rows.append(Row("gradients, mean", asked, f"{mean:.2f} x", mean >= _ASKED_MEAN, {}))
    if slower:
        mean = math.prod(slower) ** (1 / len(slower))
        asked = f">= {_ASKED_AUTOGRAD:.0f} x autograd"
        rows.append(Row("gradients, mean", asked, f"{mean:.1f} x", mean >= _ASKED_AUTOGRAD, {}))
    return rows
