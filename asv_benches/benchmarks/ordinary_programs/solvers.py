"""Functions that SciPy calls: right-hand sides, objectives, integrands, models to fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, optimize

from .record import Array, Program, jit


@jit
def _predators(t: float, y: Array, a: float, b: float, c: float, d: float) -> Array:  # noqa: ARG001
    hares, foxes = y
    return np.array([a * hares - b * hares * foxes, c * hares * foxes - d * foxes])


def lotka_volterra(start: Array, end: float) -> Array:
    """Return hares and foxes over time."""
    times = np.linspace(0.0, end, 50)
    solution = integrate.solve_ivp(
        _predators, (0.0, end), start, t_eval=times, args=(1.0, 0.1, 0.075, 1.5)
    )
    return solution.y


@jit
def _diffusion(t: float, u: Array, dx: float) -> Array:
    change = np.zeros_like(u)
    change[1:-1] = (u[2:] - 2 * u[1:-1] + u[:-2]) / dx**2 + u[1:-1] * (1 - u[1:-1])
    change[0] = np.sin(t)
    return change


def fisher_front(u: Array, end: float) -> Array:
    """Return a front that spreads by diffusion and growth."""
    solution = integrate.solve_ivp(_diffusion, (0.0, end), u, args=(1.0,), rtol=1e-5)
    return solution.y[:, -1]


@jit
def _rosenbrock(x: Array) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@jit
def _rosenbrock_slope(x: Array) -> Array:
    slope = np.zeros_like(x)
    inner = x[1:] - x[:-1] ** 2
    slope[:-1] = -400 * x[:-1] * inner - 2 * (1 - x[:-1])
    slope[1:] += 200 * inner
    return slope


def minimize_rosenbrock(x: Array) -> Array:
    """Find the minimum of Rosenbrock's function in several dimensions."""
    found = optimize.minimize(_rosenbrock, x, jac=_rosenbrock_slope, method="BFGS")
    return np.round(found.x, 4)  # how it ends depends on the last digits


@jit
def _kepler(E: float, mean: float, e: float) -> float:
    return E - e * np.sin(E) - mean


def kepler_anomalies(means: Array, e: float) -> Array:
    """Solve Kepler's equation by bisection for several times."""
    return np.array([optimize.bisect(_kepler, 0.0, 2 * np.pi, args=(m, e)) for m in means])


@jit
def _planck(x: float, t: float) -> float:
    return x**3 / (np.exp(x / t) - 1.0)


def radiated(temperatures: Array) -> Array:
    """Integrate Planck's law for several temperatures."""
    return np.array([integrate.quad(_planck, 1e-6, 40.0, args=(t,))[0] for t in temperatures])


@jit
def _decay(t: Array, a: float, rate: float, c: float) -> Array:
    return a * np.exp(-rate * t) + c


def fit_decay(t: Array, y: Array) -> tuple[Array, Array]:
    """Fit a decay; return the parameters and their errors."""
    best, covariance = optimize.curve_fit(_decay, t, y, p0=(1.0, 1.0, 0.0))
    return np.round(best, 4), np.round(np.sqrt(np.diag(covariance)), 4)


def _fit_decay() -> tuple[Any, ...]:
    t = np.linspace(0.0, 4.0, 200)
    return t, 2.5 * np.exp(-1.3 * t) + 0.5 + 0.05 * np.random.default_rng(38).normal(size=t.size)


PROGRAMS = (
    Program(lotka_volterra, lambda: (np.array([10.0, 5.0]), 15.0)),
    Program(fisher_front, lambda: (np.exp(-(np.linspace(0.0, 5.0, 100) ** 2)), 5.0)),
    Program(minimize_rosenbrock, lambda: (np.array([-1.2, 1.0, -0.5, 0.8, 1.2]),)),
    Program(kepler_anomalies, lambda: (np.linspace(0.1, 6.0, 8), 0.3)),
    Program(radiated, lambda: (np.linspace(0.5, 2.0, 6),)),
    Program(fit_decay, _fit_decay),
)
