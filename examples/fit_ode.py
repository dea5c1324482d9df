"""Fit the parameters of a differential equation through the loop that solves it.

    python examples/fit_ode.py
    python examples/fit_ode.py --picture fit.png

Hares and lynxes after Lotka and Volterra: two populations, four parameters. From each measured
state Runge's and Kutta's method goes a few steps ahead, all of them at once, and what it predicts
is compared with what was measured then. `npaccel.value_and_grad` differentiates the loop,
`scipy.optimize.minimize` uses the gradient. Prints how long that takes beside the differences that
SciPy computes without it, and whether the true parameters are found.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize

import npaccel

Array = np.ndarray[Any, np.dtype[Any]]
#: Birth and death of hares, birth and death of lynxes, in each other's presence.
TRUE = np.array([1.1, 0.4, 0.1, 0.4])
FIRST = np.array([10.0, 5.0])
COUNT, DT = 81, 0.25
#: Number of steps between a state and the one that is predicted from it.
AHEAD = 4


def slope(states: Array, p: Array) -> Array:
    """Return how fast populations change, shape (n, 2)."""
    alone = np.stack([p[0], -p[3]])
    together = np.stack([-p[1], p[2]])
    return states * (alone + together * states[:, ::-1])


def later(states: Array, p: Array, steps: int) -> Array:
    """Return populations some steps later."""
    u = states
    for _ in range(steps):
        k1 = slope(u, p)
        k2 = slope(u + 0.5 * DT * k1, p)
        k3 = slope(u + 0.5 * DT * k2, p)
        k4 = slope(u + DT * k3, p)
        u = u + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return u


def misfit(p: Array, measured: Array) -> Any:
    """Return the mean square of the predictions' relative errors."""
    predicted = later(measured[:-AHEAD], p, AHEAD)
    return np.mean((predicted / measured[AHEAD:] - 1) ** 2)


def solved(p: Array) -> Array:
    """Return the populations at each time, shape (COUNT, 2)."""
    states = [FIRST[None]]
    for _ in range(COUNT - 1):
        states.append(later(states[-1], p, 1))
    return np.concatenate(states)


def picture(path: Path, measured: Array, found: Array, start: Array) -> None:
    """Draw the measured populations, those of the start and those of the fit."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    times = np.arange(COUNT) * DT
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for k, (name, colour) in enumerate((("hares", "tab:green"), ("lynxes", "tab:red"))):
        axes.plot(times, measured[:, k], "o", color=colour, ms=4, label=f"{name}, measured")
        axes.plot(times, solved(start)[:, k], ":", color=colour, label=f"{name}, start")
        axes.plot(times, solved(found)[:, k], "-", color=colour, label=f"{name}, fitted")
    axes.set(xlabel="years", ylabel="thousands")
    axes.legend(ncols=2, fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    """Fit with and without gradients, and return 0 if the parameters are found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--picture", type=Path, help="where to draw the fit")
    parser.add_argument("--backend", default="inductor", help="who compiles, see npaccel.jit")
    options = parser.parse_args(arguments)

    rng = np.random.default_rng(0)
    measured = solved(TRUE) * np.exp(0.01 * rng.standard_normal((COUNT, 2)))
    start = np.array([0.9, 0.3, 0.07, 0.3])
    jitted = npaccel.jit(misfit, backend=options.backend)
    value_and_gradient = npaccel.value_and_grad(jitted)

    begin = time.perf_counter()
    value_and_gradient(start, measured)
    first = time.perf_counter() - begin
    seconds = {}
    for name, function, jac in (
        ("NumPy, differences", misfit, None),
        ("npaccel, gradient", value_and_gradient, True),
    ):
        begin = time.perf_counter()
        found = scipy.optimize.minimize(function, start, (measured,), jac=jac, method="BFGS")
        seconds[name] = time.perf_counter() - begin
        print(f"{name:20} {seconds[name]:8.4f} s, {found.nfev} calls, misfit {found.fun:.2e}")
    print(f"first call           {first:8.2f} s")
    print("parameters", np.round(found.x, 3), "true ones", TRUE)
    if options.picture is not None:
        picture(options.picture, measured, found.x, start)
    if not np.allclose(found.x, TRUE, rtol=0.1):
        print("the true parameters aren't found")
        return 1
    print("the true parameters are found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
