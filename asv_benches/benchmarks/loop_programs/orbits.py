"""Orbits: bodies under gravity, and the Mandelbrot set in two ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, jax_jit, numba_jit

SOFTENING = 0.1


def acceleration(position: Array, mass: Array) -> Array:
    """Return the pull of all bodies on each one."""
    dx = position[None, :, :] - position[:, None, :]
    distance2 = np.sum(dx**2, axis=2) + SOFTENING**2
    return np.sum(dx * (mass * distance2**-1.5)[:, :, None], axis=1)


def energies(position: Array, velocity: Array, mass: Array) -> tuple[Any, Any]:
    """Return the kinetic and the potential energy of all bodies together."""
    kinetic = 0.5 * np.sum(mass[:, None] * velocity**2)
    dx = position[None, :, :] - position[:, None, :]
    distance = np.sqrt(np.sum(dx**2, axis=2))
    inverse = np.zeros_like(distance)
    inverse[distance > 0] = 1.0 / distance[distance > 0]
    potential = -0.5 * np.sum(mass[:, None] * mass * inverse)
    return kinetic, potential


def n_body(
    mass: Array, position: Array, velocity: Array, steps: int, dt: float, verbose: bool = False
) -> tuple[Array, Array]:
    """Move bodies by leapfrog; return where they end and the energies on the way."""
    position = position.copy()
    velocity = velocity - np.mean(mass[:, None] * velocity, axis=0) / np.mean(mass)
    pull = acceleration(position, mass)
    history = [energies(position, velocity, mass)]
    for step in range(1, steps + 1):
        velocity += 0.5 * dt * pull
        position += dt * velocity
        pull = acceleration(position, mass)
        velocity += 0.5 * dt * pull
        history.append(energies(position, velocity, mass))
        if verbose:
            print(f"step {step}: energy {sum(history[-1]):.6f}")
    return position, np.array(history)


def mandelbrot_masks(c: Array, limit: int, horizon: float = 2.0) -> tuple[Array, Array]:
    """Iterate where a point hasn't escaped; return the last values and the counts."""
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for n in range(limit):
        inside = np.abs(z) < horizon
        counts[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    counts[counts == limit - 1] = 0
    return z, counts


def mandelbrot_shrinking(c: Array, limit: int, horizon: float = 2.0) -> Array:
    """Keep only the points that haven't escaped; return when each one did, else 0."""
    counts = np.zeros(c.size, dtype=np.int64)
    index = np.arange(c.size)
    c = c.ravel()
    shape = counts.shape
    z = np.zeros(shape, dtype=c.dtype)
    for n in range(1, limit + 1):
        if z.size == 0:
            break
        z = z * z + c
        escaped = np.abs(z) >= horizon
        counts[index[escaped]] = n
        z, c, index = z[~escaped], c[~escaped], index[~escaped]
    return counts


def _n_body_arguments(size: Size) -> tuple[Any, ...]:
    n, steps = (6, 5) if size == "test" else (120, 60)
    random = np.random.default_rng(0)
    mass = 20.0 * np.ones(n) / n
    return mass, random.normal(size=(n, 3)), random.normal(size=(n, 3)), steps, 0.01


def _plane(rows: int, columns: int) -> Array:
    real, imaginary = np.linspace(-2.0, 0.6, columns), np.linspace(-1.2, 1.2, rows)
    plane: Array = real + 1j * imaginary[:, None]
    return plane


def _masks_arguments(size: Size) -> tuple[Any, ...]:
    return (_plane(9, 11), 12) if size == "test" else (_plane(360, 390), 60)


def _shrinking_arguments(size: Size) -> tuple[Any, ...]:
    return (_plane(9, 11), 12) if size == "test" else (_plane(400, 430), 100)


def _numba_n_body() -> Call:
    import numba

    @numba_jit(parallel=True)
    def attract(position: Any, mass: Any, pull: Any) -> None:
        n = len(mass)
        for i in numba.prange(n):
            ax, ay, az = 0.0, 0.0, 0.0
            for j in range(n):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                weight = mass[j] * (dx * dx + dy * dy + dz * dz + SOFTENING**2) ** -1.5
                ax += dx * weight
                ay += dy * weight
                az += dz * weight
            pull[i, 0], pull[i, 1], pull[i, 2] = ax, ay, az

    @numba_jit(parallel=True)
    def measure(position: Any, velocity: Any, mass: Any) -> Any:
        kinetic, potential = 0.0, 0.0
        for i in numba.prange(len(mass)):
            kinetic += 0.5 * mass[i] * np.sum(velocity[i] ** 2)
            for j in range(i):
                distance = np.sqrt(np.sum((position[i] - position[j]) ** 2))
                if distance > 0:
                    potential -= mass[i] * mass[j] / distance
        return kinetic, potential

    @numba_jit()
    def n_body(mass: Any, position: Any, velocity: Any, steps: Any, dt: Any) -> Any:
        position, velocity = position.copy(), velocity.copy()
        for d in range(3):
            velocity[:, d] -= np.mean(mass * velocity[:, d]) / np.mean(mass)
        pull = np.empty_like(position)
        attract(position, mass, pull)
        history = np.empty((steps + 1, 2))
        history[0] = measure(position, velocity, mass)
        for step in range(1, steps + 1):
            velocity += 0.5 * dt * pull
            position += dt * velocity
            attract(position, mass, pull)
            velocity += 0.5 * dt * pull
            history[step] = measure(position, velocity, mass)
        return position, history

    return n_body


def _numba_masks() -> Call:
    import numba

    @numba_jit(parallel=True)
    def mandelbrot_masks(c: Any, limit: Any, horizon: Any = 2.0) -> Any:
        z = np.zeros_like(c)
        counts = np.zeros(c.shape, np.int64)
        for i in numba.prange(c.shape[0]):
            for j in range(c.shape[1]):
                value, last = 0j, 0
                for n in range(limit):
                    if abs(value) >= horizon:
                        break
                    last = n
                    value = value * value + c[i, j]
                z[i, j] = value
                counts[i, j] = 0 if last == limit - 1 else last
        return z, counts

    return mandelbrot_masks


def _numba_shrinking() -> Call:
    import numba

    @numba_jit(parallel=True)
    def mandelbrot_shrinking(c: Any, limit: Any, horizon: Any = 2.0) -> Any:
        points = c.ravel()
        counts = np.zeros(points.size, np.int64)
        for i in numba.prange(points.size):
            z = 0j
            for n in range(1, limit + 1):
                z = z * z + points[i]
                if abs(z) >= horizon:
                    counts[i] = n
                    break
        return counts

    return mandelbrot_shrinking


def _jax_n_body() -> Call:
    import jax
    import jax.numpy as jnp

    def acceleration(position: Any, mass: Any) -> Any:
        dx = position[None, :, :] - position[:, None, :]
        distance2 = jnp.sum(dx**2, axis=2) + SOFTENING**2
        return jnp.sum(dx * (mass * distance2**-1.5)[:, :, None], axis=1)

    def energies(position: Any, velocity: Any, mass: Any) -> Any:
        kinetic = 0.5 * jnp.sum(mass[:, None] * velocity**2)
        dx = position[None, :, :] - position[:, None, :]
        distance = jnp.sqrt(jnp.sum(dx**2, axis=2))
        inverse = jnp.where(distance > 0, 1.0 / distance, 0.0)
        return jnp.stack([kinetic, -0.5 * jnp.sum(mass[:, None] * mass * inverse)])

    def n_body(mass: Any, position: Any, velocity: Any, steps: Any, dt: Any) -> Any:
        velocity = velocity - jnp.mean(mass[:, None] * velocity, axis=0) / jnp.mean(mass)

        def step(state: Any, _: Any) -> Any:
            position, velocity, pull = state
            velocity = velocity + 0.5 * dt * pull
            position = position + dt * velocity
            pull = acceleration(position, mass)
            velocity = velocity + 0.5 * dt * pull
            return (position, velocity, pull), energies(position, velocity, mass)

        before = energies(position, velocity, mass)
        start = (position, velocity, acceleration(position, mass))
        (position, _, _), history = jax.lax.scan(step, start, length=steps)
        return position, jnp.concatenate([before[None], history])

    return jax_jit(n_body, static=("steps",))


def _jax_masks() -> Call:
    import jax
    import jax.numpy as jnp

    def mandelbrot_masks(c: Any, limit: Any, horizon: Any = 2.0) -> Any:
        def step(n: Any, state: Any) -> Any:
            z, counts = state
            inside = jnp.abs(z) < horizon
            return jnp.where(inside, z**2 + c, z), jnp.where(inside, n, counts)

        start = (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int64))
        z, counts = jax.lax.fori_loop(0, limit, step, start)
        return z, jnp.where(counts == limit - 1, 0, counts)

    return jax_jit(mandelbrot_masks)


def _jax_shrinking() -> Call:
    """Return the variant with masks: no array of JAX's can shrink."""
    import jax
    import jax.numpy as jnp

    def mandelbrot_shrinking(c: Any, limit: Any, horizon: Any = 2.0) -> Any:
        c = c.ravel()

        def step(n: Any, state: Any) -> Any:
            z, counts = state
            z = jnp.where(counts == 0, z * z + c, z)
            escapes = (counts == 0) & (jnp.abs(z) >= horizon)
            return z, jnp.where(escapes, n, counts)

        start = (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int64))
        return jax.lax.fori_loop(1, limit + 1, step, start)[1]

    return jax_jit(mandelbrot_shrinking)


PROGRAMS = (
    Program(n_body, _n_body_arguments, peers={"numba": _numba_n_body, "jax": _jax_n_body}),
    Program(
        mandelbrot_masks,
        _masks_arguments,
        tolerance=1e-6,  # near the rim of the set an error grows with each iteration
        peers={"numba": _numba_masks, "jax": _jax_masks},
    ),
    Program(
        mandelbrot_shrinking,
        _shrinking_arguments,
        peers={"numba": _numba_shrinking, "jax": _jax_shrinking},
    ),
)
