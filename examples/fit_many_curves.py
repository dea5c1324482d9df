"""Fit 100,000 curves at once: Levenberg's and Marquardt's method on all of them together.

    python examples/fit_many_curves.py
    python examples/fit_many_curves.py -n 1_000_000 --device cuda

Each curve is a decay, ``a * exp(-k * t) + c``, measured at 32 times with noise. `scipy.optimize`
fits one curve a call. Here the damped normal equations of all curves are one stack of matrices:
plain NumPy, compiled, the loop over iterations too. Prints SciPy's time per curve, npaccel's, and
whether the parameters agree.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
import scipy.optimize
import torch

import npaccel

Array = np.ndarray[Any, np.dtype[Any]]


def decay(t: Array, a: Any, k: Any, c: Any) -> Array:
    """Return a decaying curve at times t."""
    return a * np.exp(-k * t) + c


@npaccel.jit(compile="now")
def fit(t: Array, y: Array, start: Array, iterations: int) -> Array:
    """Return the parameters of each curve, shape (N, 3).

    Parameters
    ----------
    t : ndarray, shape (T,)
    y : ndarray, shape (N, T)
    start : ndarray, shape (N, 3)
        Where the search begins: a, k and c of each curve.
    iterations : int
    """
    p = start.copy()
    damping = np.full(y.shape[0], 1e-2, dtype=y.dtype)
    identity = np.eye(3, dtype=y.dtype)
    fall = np.exp(-p[:, 1:2] * t)
    residual = y - (p[:, 0:1] * fall + p[:, 2:3])
    cost = np.sum(residual**2, axis=1)
    for _ in range(iterations):
        slope = np.stack([fall, -p[:, 0:1] * t * fall, np.ones_like(y)], axis=2)
        normal = np.swapaxes(slope, 1, 2) @ slope
        gradient = np.swapaxes(slope, 1, 2) @ residual[:, :, None]
        scale = np.sum(normal * identity, axis=2) * damping[:, None]
        step = np.linalg.solve(normal + scale[:, :, None] * identity, gradient)[:, :, 0]
        tried = p + step
        tried_fall = np.exp(-tried[:, 1:2] * t)
        tried_residual = y - (tried[:, 0:1] * tried_fall + tried[:, 2:3])
        tried_cost = np.sum(tried_residual**2, axis=1)
        better = tried_cost < cost
        p = np.where(better[:, None], tried, p)
        fall = np.where(better[:, None], tried_fall, fall)
        residual = np.where(better[:, None], tried_residual, residual)
        cost = np.where(better, tried_cost, cost)
        damping = np.where(better, damping * 0.3, damping * 4.0)
    return p


def make_curves(n: int) -> tuple[Array, Array, Array]:
    """Return the times, noisy curves of shape (n, 32), and their true parameters (n, 3)."""
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 4.0, 32)
    true = np.stack([rng.uniform(1, 5, n), rng.uniform(0.5, 2.5, n), rng.uniform(-1, 1, n)], axis=1)
    y = decay(t, *(true[:, i : i + 1] for i in range(3)))
    return t, y + 0.02 * rng.standard_normal(y.shape), true


def by_scipy(t: Array, y: Array, start: Array) -> Array:
    """Fit curves one after the other."""
    return np.stack(
        [scipy.optimize.curve_fit(decay, t, one, p)[0] for one, p in zip(y, start, strict=True)]
    )


def main(arguments: list[str] | None = None) -> int:
    """Fit, compare some curves with SciPy, and return 0 if they agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=100_000, help="number of curves")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--compared", type=int, default=200, help="curves that SciPy fits too")
    parser.add_argument("--device", default="cpu", help="where the tensors are")
    options = parser.parse_args(arguments)

    t, y, true = make_curves(options.n)
    start = np.tile([2.0, 1.0, 0.0], (options.n, 1))
    on_device = [torch.from_numpy(a).to(options.device) for a in (t, y, start)]

    def run() -> tuple[float, Array]:
        begin = time.perf_counter()
        found = fit(*on_device, options.iterations).cpu().numpy()
        return time.perf_counter() - begin, found

    first, _ = run()
    seconds, found = min((run() for _ in range(3)), key=lambda pair: pair[0])
    some = slice(0, options.compared)
    begin = time.perf_counter()
    expected = by_scipy(t, y[some], start[some])
    scipy_seconds = (time.perf_counter() - begin) / len(expected)

    print(f"{options.n:,} curves, {options.iterations} iterations, on {options.device}")
    print(f"SciPy, curve by curve  {1e6 * scipy_seconds:9.1f} us a curve")
    print(f"npaccel, first call    {first:9.2f} s")
    print(f"npaccel, steady        {seconds:9.3f} s, {1e6 * seconds / options.n:.2f} us a curve")
    print(f"speed-up               {scipy_seconds * options.n / seconds:9.0f}x")
    print(f"median error of k      {np.median(np.abs(found[:, 1] - true[:, 1])):9.4f}")
    if not np.allclose(found[some], expected, rtol=1e-4, atol=1e-5):
        print("parameters differ")
        return 1
    print("parameters agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
