"""Iterations with a step size or damping that changes, until they converge."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Program, jit


def _bump(p: Array, t: Array) -> Array:
    return p[0] * np.exp(-((t - p[1]) ** 2) / (2 * p[2] ** 2)) + p[3]


def _bump_slopes(p: Array, t: Array) -> Array:
    e = np.exp(-((t - p[1]) ** 2) / (2 * p[2] ** 2))
    by_middle = p[0] * e * (t - p[1]) / p[2] ** 2
    by_width = p[0] * e * (t - p[1]) ** 2 / p[2] ** 3
    return np.column_stack([e, by_middle, by_width, np.ones_like(t)])


@jit
def levenberg_marquardt(p: Array, t: Array, y: Array, iterations: int) -> Array:
    """Fit a bump on a background, with a damping that follows success."""
    damping = 1e-2
    residual = y - _bump(p, t)
    cost = residual @ residual
    for _ in range(iterations):
        J = _bump_slopes(p, t)
        A, g = J.T @ J, J.T @ residual
        step = np.linalg.solve(A + damping * np.diag(np.diag(A)), g)
        trial = y - _bump(p + step, t)
        new = trial @ trial
        if new < cost:
            p, residual, damping = p + step, trial, damping / 3
            if cost - new < 1e-10 * cost:
                break
            cost = new
        else:
            damping *= 5
    return p


def _levenberg_marquardt() -> tuple[Any, ...]:
    t = np.linspace(-5.0, 5.0, 120)
    y = _bump(np.array([3.0, 0.5, 1.2, 0.4]), t)
    y += 0.05 * np.random.default_rng(26).normal(size=t.size)
    return np.array([1.0, 0.0, 2.0, 0.0]), t, y, 30


@jit
def damped_newton(x: Array, tolerance: float) -> Array:
    """Find the minimum of Rosenbrock's function by steps that are halved until they go down."""

    def f(x: Array) -> Any:
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    for _ in range(100):
        gradient = np.array(
            [-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)]
        )
        if np.linalg.norm(gradient) < tolerance:
            return x
        hessian = np.array([[2 - 400 * x[1] + 1200 * x[0] ** 2, -400 * x[0]], [-400 * x[0], 200.0]])
        step, length = np.linalg.solve(hessian, -gradient), 1.0
        while f(x + length * step) > f(x) and length > 1e-8:
            length *= 0.5
        x = x + length * step
    raise ArithmeticError("no convergence")


@jit
def adaptive_descent(x: Array, target: Array, rate: float, tolerance: float) -> tuple[Array, int]:
    """Descend with a rate that grows after success and shrinks after failure."""
    loss, steps = np.sum((x**2 - target) ** 2), 0
    while loss > tolerance and steps < 200:
        candidate = x - rate * 4 * x * (x**2 - target)
        new = np.sum((candidate**2 - target) ** 2)
        if new < loss:
            x, loss, rate = candidate, new, rate * 1.1
        else:
            rate *= 0.5
        steps += 1
    return x, steps


@jit
def embedded_runge_kutta(y: Array, end: float, tolerance: float) -> tuple[Array, Array]:
    """Integrate a forced oscillator with steps that the error chooses."""

    def slope(t: float, y: Array) -> Array:
        return np.array([y[1], -y[0] - 0.2 * y[1] + np.cos(1.5 * t)])

    t, h, times, states = 0.0, 0.1, [0.0], [y]
    k1 = slope(t, y)
    while t < end:
        h = min(h, end - t)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + 3 * h / 4, y + 3 * h / 4 * k2)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = slope(t + h, new)
        error = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
        if error < tolerance:
            t, y, k1 = t + h, new, k4
            times.append(t)
            states.append(y)
        h *= min(5.0, max(0.2, 0.9 * (tolerance / (error + 1e-300)) ** (1 / 3)))
    return np.array(times), np.array(states)


PROGRAMS = (
    Program(levenberg_marquardt, _levenberg_marquardt),
    Program(damped_newton, lambda: (np.array([-1.2, 1.0]), 1e-8)),
    Program(
        adaptive_descent, lambda: (np.linspace(0.5, 2.0, 40), np.linspace(1.0, 2.0, 40), 0.01, 1e-9)
    ),
    Program(embedded_runge_kutta, lambda: (np.array([1.0, 0.0]), 60.0, 1e-6)),
)
