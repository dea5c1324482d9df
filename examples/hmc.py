"""Draw from a posterior by Hamiltonian Monte Carlo: gradients of a plain NumPy function.

    python examples/hmc.py
    python examples/hmc.py --draws 20_000

The posterior is that of a logistic regression. A chain moves along the gradient of its density, in
leapfrog steps, so that its draws are far apart and most of them are accepted. The log density is
written with NumPy; `npaccel.value_and_grad` makes the one function that the sampler calls. Prints
the time of a call beside NumPy with a gradient written by hand, the rate of acceptance, and whether
the mean of the draws is that of the density.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

import npaccel

Array = np.ndarray[Any, np.dtype[Any]]
Density = Callable[[Array], tuple[Any, Array]]


def log_density(w: Array, x: Array, y: Array) -> Any:
    """Return the logarithm of a density that is proportional to the posterior of weights w."""
    z = x @ w
    return np.sum(y * z - np.logaddexp(0.0, z)) - 0.5 * np.sum(w**2)


def by_hand(w: Array, x: Array, y: Array) -> tuple[Any, Array]:
    """Return the value and the gradient, written by hand."""
    p = 1.0 / (1.0 + np.exp(-(x @ w)))
    return log_density(w, x, y), x.T @ (y - p) - w


def drawn(density: Density, w: Array, draws: int, step: float, leaps: int) -> tuple[Array, float]:
    """Return draws from a density, shape (draws, len(w)), and the rate of acceptance."""
    rng = np.random.default_rng(0)
    chain, accepted = np.empty((draws, len(w))), 0
    value, gradient = density(w)
    for i in range(draws):
        momentum = rng.standard_normal(len(w))
        energy = value - 0.5 * momentum @ momentum
        new, new_value, new_gradient = w, value, gradient
        momentum = momentum + 0.5 * step * new_gradient
        for leap in range(leaps):
            new = new + step * momentum
            new_value, new_gradient = density(new)
            momentum = momentum + (step if leap < leaps - 1 else 0.5 * step) * new_gradient
        if np.log(rng.random()) < new_value - 0.5 * momentum @ momentum - energy:
            w, value, gradient = new, new_value, new_gradient
            accepted += 1
        chain[i] = w
    return chain, accepted / draws


def main(arguments: list[str] | None = None) -> int:
    """Draw, and return 0 if the mean of the draws is right."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("-n", type=int, default=200, help="number of observations")
    parser.add_argument("--backend", default="inductor", help="who compiles, see npaccel.jit")
    options = parser.parse_args(arguments)

    rng = np.random.default_rng(1)
    x = rng.standard_normal((options.n, 3))
    y = (rng.random(options.n) < 1 / (1 + np.exp(-(x @ [1.0, -2.0, 0.5])))).astype(float)
    compiled = npaccel.value_and_grad(npaccel.jit(log_density, backend=options.backend))

    def density(w: Array) -> tuple[Any, Array]:
        return compiled(w, x, y)  # type: ignore[no-any-return]

    best = scipy.optimize.minimize(
        lambda w: tuple(-part for part in density(w)), np.zeros(3), jac=True
    ).x
    seconds = {}
    for name, one in (("npaccel", density), ("by hand", lambda w: by_hand(w, x, y))):
        begin = time.perf_counter()
        chain, rate = drawn(one, best, options.draws, 0.15, 8)
        seconds[name] = time.perf_counter() - begin
        leap = 1e6 * seconds[name] / (8 * options.draws)
        print(f"{name}: {leap:6.1f} us a leap, {rate:.0%} accepted")
    # Near its mode the posterior is almost normal: the mean is close to the mode.
    away = np.abs(chain.mean(axis=0) - best) / chain.std(axis=0)
    print("mean", np.round(chain.mean(axis=0), 3), "mode", np.round(best, 3))
    if np.any(away > 0.5) or rate < 0.6:
        print("the draws aren't those of the density")
        return 1
    print("the draws are those of the density")
    return 0


if __name__ == "__main__":
    sys.exit(main())
