"""Stencils on grids: Jacobi in one and two dimensions, heat in three, Maxwell in two."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, first, jax_jit, numba_jit


def jacobi_1d(a: Array, b: Array, steps: int) -> None:
    """Average neighbours on a line, from one array into the other and back."""
    for _ in range(1, steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3


def jacobi_2d(a: Array, b: Array, steps: int) -> None:
    """Average the five points of a cross, from one array into the other and back."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )


def heat_3d(start: Array, steps: int, rate: float = 0.125) -> Array:
    """Simulate heat that spreads in a box with fixed walls; two arrays swap their names."""
    u = start.copy()
    un = u.copy()
    for _ in range(steps):
        un[1:-1, 1:-1, 1:-1] = (
            u[1:-1, 1:-1, 1:-1]
            + rate * (u[2:, 1:-1, 1:-1] - 2 * u[1:-1, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1])
            + rate * (u[1:-1, 2:, 1:-1] - 2 * u[1:-1, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1])
            + rate * (u[1:-1, 1:-1, 2:] - 2 * u[1:-1, 1:-1, 1:-1] + u[1:-1, 1:-1, :-2])
        )
        u, un = un, u
    return u


def fdtd_2d(ex: Array, ey: Array, hz: Array, pulses: Array, every: int) -> Array:
    """Step Maxwell's equations under a source at the edge; record one point now and then."""
    probe = []
    row, column = hz.shape[0] // 4, hz.shape[1] // 2
    for t, pulse in enumerate(pulses):
        ey[0, :] = pulse
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
        if t % every == 0:
            probe.append(hz[row, column])
    return np.array(probe)


def _jacobi_1d_arguments(size: Size) -> tuple[Any, ...]:
    n, steps = (30, 12) if size == "test" else (8000, 2000)
    a, b = np.random.default_rng(0).random((2, n))
    return a, b, steps


def _jacobi_2d_arguments(size: Size) -> tuple[Any, ...]:
    return jacobi_2d_arguments(*((14, 8) if size == "test" else (150, 50)))


def jacobi_2d_arguments(n: int, steps: int) -> tuple[Array, Array, int]:
    """Return two random arrays of shape (n, n), float64, and the number of steps."""
    a, b = np.random.default_rng(0).random((2, n, n))
    return a, b, steps


def _heat_3d_arguments(size: Size) -> tuple[Any, ...]:
    n, steps = (9, 7) if size == "test" else (64, 30)
    return np.random.default_rng(0).random((n, n, n)), steps


def _fdtd_2d_arguments(size: Size) -> tuple[Any, ...]:
    n, steps, every = (16, 25, 4) if size == "test" else (200, 400, 10)
    ex, ey, hz = np.random.default_rng(0).random((3, n, n + 4))
    return ex, ey, hz, np.sin(0.1 * np.arange(steps)), every


def _numba_jacobi_1d() -> Call:
    @numba_jit()
    def sweep(a: Any, b: Any) -> None:
        for i in range(1, a.size - 1):
            b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3

    @numba_jit()
    def jacobi_1d(a: Any, b: Any, steps: Any) -> None:
        for _ in range(1, steps):
            sweep(a, b)
            sweep(b, a)

    return jacobi_1d


def _numba_jacobi_2d() -> Call:
    import numba

    @numba_jit(parallel=True)
    def sweep(a: Any, b: Any) -> None:
        for i in numba.prange(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])

    @numba_jit()
    def jacobi_2d(a: Any, b: Any, steps: Any) -> None:
        for _ in range(steps):
            sweep(a, b)
            sweep(b, a)

    return jacobi_2d


def _numba_heat_3d() -> Call:
    import numba

    @numba_jit(parallel=True)
    def heat_3d(start: Any, steps: Any, rate: Any = 0.125) -> Any:
        u, un = start.copy(), start.copy()
        for _ in range(steps):
            for i in numba.prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    for k in range(1, u.shape[2] - 1):
                        around = u[i + 1, j, k] + u[i - 1, j, k] + u[i, j + 1, k] + u[i, j - 1, k]
                        around += u[i, j, k + 1] + u[i, j, k - 1]
                        un[i, j, k] = u[i, j, k] + rate * (around - 6 * u[i, j, k])
            u, un = un, u
        return u

    return heat_3d


def _numba_fdtd_2d() -> Call:
    import numba

    @numba_jit(parallel=True)
    def fdtd_2d(ex: Any, ey: Any, hz: Any, pulses: Any, every: Any) -> Any:
        n, m = hz.shape
        probe = np.empty((pulses.size + every - 1) // every)
        for t in range(pulses.size):
            for j in range(m):
                ey[0, j] = pulses[t]
            for i in numba.prange(n):
                for j in range(m):
                    if i > 0:
                        ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
                    if j > 0:
                        ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
            for i in numba.prange(n - 1):
                for j in range(m - 1):
                    hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
            if t % every == 0:
                probe[t // every] = hz[n // 4, m // 2]
        return probe

    return fdtd_2d


def _jax_jacobi_1d() -> Call:
    import jax

    def step(_: Any, state: Any) -> Any:
        a, b = state
        b = b.at[1:-1].set((a[:-2] + a[1:-1] + a[2:]) / 3)
        return a.at[1:-1].set((b[:-2] + b[1:-1] + b[2:]) / 3), b

    return jax_jit(lambda a, b, steps: jax.lax.fori_loop(1, steps, step, (a, b)))


def _jax_jacobi_2d() -> Call:
    import jax

    def cross(a: Any) -> Any:
        return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])

    def step(_: Any, state: Any) -> Any:
        a, b = state
        b = b.at[1:-1, 1:-1].set(cross(a))
        return a.at[1:-1, 1:-1].set(cross(b)), b

    return jax_jit(lambda a, b, steps: jax.lax.fori_loop(0, steps, step, (a, b)))


def _jax_heat_3d() -> Call:
    import jax

    def heat_3d(start: Any, steps: Any, rate: Any = 0.125) -> Any:
        def step(_: Any, u: Any) -> Any:
            around = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1]
            around += u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
            return u.at[1:-1, 1:-1, 1:-1].add(rate * (around - 6 * u[1:-1, 1:-1, 1:-1]))

        return jax.lax.fori_loop(0, steps, step, start)

    return jax_jit(heat_3d)


def _jax_fdtd_2d() -> Call:
    import jax

    def fdtd_2d(ex: Any, ey: Any, hz: Any, pulses: Any, every: Any) -> Any:
        row, column = hz.shape[0] // 4, hz.shape[1] // 2

        def step(state: Any, pulse: Any) -> Any:
            ex, ey, hz = state
            ey = ey.at[0, :].set(pulse).at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
            ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
            curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
            hz = hz.at[:-1, :-1].add(-0.7 * curl)
            return (ex, ey, hz), hz[row, column]

        fields, probe = jax.lax.scan(step, (ex, ey, hz), pulses)
        return probe[::every], *fields

    return jax_jit(fdtd_2d, static=("every",))


PROGRAMS = (
    Program(
        jacobi_1d,
        _jacobi_1d_arguments,
        written=first(2),
        peers={"numba": _numba_jacobi_1d, "jax": _jax_jacobi_1d},
    ),
    Program(
        jacobi_2d,
        _jacobi_2d_arguments,
        written=first(2),
        peers={"numba": _numba_jacobi_2d, "jax": _jax_jacobi_2d},
    ),
    Program(heat_3d, _heat_3d_arguments, peers={"numba": _numba_heat_3d, "jax": _jax_heat_3d}),
    Program(
        fdtd_2d,
        _fdtd_2d_arguments,
        written=first(3),
        peers={"numba": _numba_fdtd_2d, "jax": _jax_fdtd_2d},
    ),
)
