"""Fluids: a lid-driven cavity, and Burgers' equation with time steps of its own choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, jax_jit, numba_jit

DENSITY, VISCOSITY, DT = 1.0, 0.1, 1e-3


def pressure_source(u: Array, v: Array, h: float) -> Array:
    """Return the right-hand side of the pressure's Poisson equation."""
    source = np.zeros_like(u)
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * h)
    uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * h)
    vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * h)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * h)
    source[1:-1, 1:-1] = DENSITY * ((ux + vy) / DT - ux**2 - 2 * uy * vx - vy**2)
    return source


def relax_pressure(p: Array, source: Array, h: float, sweeps: int) -> Array:
    """Solve the Poisson equation roughly by some sweeps, starting from the last pressure."""
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1, 1:-1] = 0.25 * (
            old[1:-1, 2:]
            + old[1:-1, :-2]
            + old[2:, 1:-1]
            + old[:-2, 1:-1]
            - h**2 * source[1:-1, 1:-1]
        )
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def transported(w: Array, u: Array, v: Array, h: float) -> Array:
    """Return a velocity component after advection and diffusion, without the edges."""
    middle = w[1:-1, 1:-1]
    spread = w[1:-1, 2:] + w[1:-1, :-2] + w[2:, 1:-1] + w[:-2, 1:-1] - 4 * middle
    return (
        middle
        - DT / h * u[1:-1, 1:-1] * (middle - w[1:-1, :-2])
        - DT / h * v[1:-1, 1:-1] * (middle - w[:-2, 1:-1])
        + VISCOSITY * DT / h**2 * spread
    )


def cavity_flow(n: int, steps: int, sweeps: int, verbose: bool = False) -> tuple[Array, ...]:
    """Simulate a box of fluid whose lid moves; return the velocities and the pressure."""
    h = 2 / (n - 1)
    u = np.zeros((n, n))
    v = np.zeros((n, n))
    p = np.zeros((n, n))
    for step in range(steps):
        un = u.copy()
        vn = v.copy()
        p = relax_pressure(p, pressure_source(un, vn, h), h, sweeps)
        push = DT / (2 * DENSITY * h)
        u[1:-1, 1:-1] = transported(un, un, vn, h) - push * (p[1:-1, 2:] - p[1:-1, :-2])
        v[1:-1, 1:-1] = transported(vn, un, vn, h) - push * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[-1, :] = 1
        if verbose and step % 10 == 0:
            print(f"step {step}: mean speed {np.sqrt(u**2 + v**2).mean():.4f}")
    return u, v, p


def burgers(u: Array, h: float, end: float) -> tuple[Array, int]:
    """Follow a wave until it is `end` old, each step as long as it may be."""
    t = 0.0
    steps = 0
    while t < end:
        dt = min(0.5 * h / np.abs(u).max(), end - t)
        flux = 0.5 * u**2
        u = u - dt / h * (flux - np.roll(flux, 1))
        t += dt
        steps += 1
    return u, steps


def _cavity_arguments(size: Size) -> tuple[Any, ...]:
    return (15, 6, 5) if size == "test" else (81, 60, 40)


def _burgers_arguments(size: Size) -> tuple[Any, ...]:
    n = 60 if size == "test" else 6000
    x = np.arange(n) / n
    return 1.5 + np.sin(2 * np.pi * x), 1 / n, 0.25


def _numba_cavity() -> Call:
    # In serial: on so small a grid the threads would wait for each other most of the time.
    @numba_jit()
    def relax(p: Any, old: Any, u: Any, v: Any, h: Any, sweeps: Any) -> None:
        n = p.shape[0]
        source = np.zeros_like(p)
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                ux = (u[i, j + 1] - u[i, j - 1]) / (2 * h)
                uy = (u[i + 1, j] - u[i - 1, j]) / (2 * h)
                vx = (v[i, j + 1] - v[i, j - 1]) / (2 * h)
                vy = (v[i + 1, j] - v[i - 1, j]) / (2 * h)
                source[i, j] = DENSITY * ((ux + vy) / DT - ux**2 - 2 * uy * vx - vy**2)
        for _ in range(sweeps):
            old[:] = p
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    around = old[i, j + 1] + old[i, j - 1] + old[i + 1, j] + old[i - 1, j]
                    p[i, j] = 0.25 * (around - h**2 * source[i, j])
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0

    @numba_jit()
    def move(w: Any, wn: Any, un: Any, vn: Any, p: Any, h: Any, di: Any, dj: Any) -> None:
        n = w.shape[0]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                here = wn[i, j]
                around = wn[i, j + 1] + wn[i, j - 1] + wn[i + 1, j] + wn[i - 1, j]
                w[i, j] = (
                    here
                    - DT / h * un[i, j] * (here - wn[i, j - 1])
                    - DT / h * vn[i, j] * (here - wn[i - 1, j])
                    + VISCOSITY * DT / h**2 * (around - 4 * here)
                    - DT / (2 * DENSITY * h) * (p[i + di, j + dj] - p[i - di, j - dj])
                )

    @numba_jit()
    def cavity_flow(n: Any, steps: Any, sweeps: Any) -> Any:
        h = 2 / (n - 1)
        u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
        old = np.zeros((n, n))
        for _ in range(steps):
            un, vn = u.copy(), v.copy()
            relax(p, old, un, vn, h, sweeps)
            move(u, un, un, vn, p, h, 0, 1)
            move(v, vn, un, vn, p, h, 1, 0)
            u[-1, :] = 1
        return u, v, p

    return cavity_flow


def _numba_burgers() -> Call:
    @numba_jit()
    def burgers(u: Any, h: Any, end: Any) -> Any:
        u, new = u.copy(), np.empty_like(u)
        t, steps = 0.0, 0
        while t < end:
            fastest = 0.0
            for i in range(u.size):
                fastest = max(fastest, abs(u[i]))
            dt = min(0.5 * h / fastest, end - t)
            for i in range(u.size):
                new[i] = u[i] - dt / h * (0.5 * u[i] ** 2 - 0.5 * u[i - 1] ** 2)
            u, new = new, u
            t += dt
            steps += 1
        return u, steps

    return burgers


def _jax_cavity() -> Call:
    import jax
    import jax.numpy as jnp

    def pressure_source(u: Any, v: Any, h: Any) -> Any:
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * h)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * h)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * h)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * h)
        return DENSITY * ((ux + vy) / DT - ux**2 - 2 * uy * vx - vy**2)

    def cavity_flow(n: int, steps: Any, sweeps: Any) -> Any:
        h = 2 / (n - 1)
        push = DT / (2 * DENSITY * h)

        def step(_: Any, state: Any) -> Any:
            u, v, p = state
            source = pressure_source(u, v, h)

            def sweep(_: Any, p: Any) -> Any:
                around = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
                p = p.at[1:-1, 1:-1].set(0.25 * (around - h**2 * source))
                p = p.at[:, -1].set(p[:, -2])
                p = p.at[0, :].set(p[1, :])
                return p.at[:, 0].set(p[:, 1]).at[-1, :].set(0)

            p = jax.lax.fori_loop(0, sweeps, sweep, p)
            du = push * (p[1:-1, 2:] - p[1:-1, :-2])
            dv = push * (p[2:, 1:-1] - p[:-2, 1:-1])
            new_u = u.at[1:-1, 1:-1].set(transported(u, u, v, h) - du).at[-1, :].set(1)
            new_v = v.at[1:-1, 1:-1].set(transported(v, u, v, h) - dv)
            return new_u, new_v, p

        start = jnp.zeros((n, n))
        return jax.lax.fori_loop(0, steps, step, (start, start, start))

    return jax_jit(cavity_flow, static=("n",))


def _jax_burgers() -> Call:
    import jax
    import jax.numpy as jnp

    def burgers(u: Any, h: Any, end: Any) -> Any:
        def step(state: Any) -> Any:
            t, u, steps = state
            dt = jnp.minimum(0.5 * h / jnp.abs(u).max(), end - t)
            flux = 0.5 * u**2
            return t + dt, u - dt / h * (flux - jnp.roll(flux, 1)), steps + 1

        _, u, steps = jax.lax.while_loop(lambda state: state[0] < end, step, (0.0, u, 0))
        return u, steps

    return jax_jit(burgers)


PROGRAMS = (
    Program(
        cavity_flow,
        _cavity_arguments,
        narrow_tolerance=1e-4,
        peers={"numba": _numba_cavity, "jax": _jax_cavity},
    ),
    Program(burgers, _burgers_arguments, peers={"numba": _numba_burgers, "jax": _jax_burgers}),
)
