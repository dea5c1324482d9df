"""Systems solved directly: triangular, with pivots, tridiagonal in columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, first, jax_jit, numba_jit


def triangular_solve(lower: Array, b: Array) -> Array:
    """Solve with a lower factor forwards, then with its transpose backwards."""
    x = b.copy()
    for i in range(len(b)):
        x[i] = (x[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    for i in reversed(range(len(b))):
        x[i] = (x[i] - lower[i + 1 :, i] @ x[i + 1 :]) / lower[i, i]
    return x


def solve_with_pivots(a: Array, b: Array) -> Array:
    """Solve a system by elimination with row exchanges; overwrites both arguments."""
    n = len(b)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= np.outer(factors, a[k, k:])
        b[k + 1 :] -= factors * b[k]
    x = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.sum(a[i, i + 1 :] * x[i + 1 :])) / a[i, i]
    return x


def vertical_diffusion(lower: Array, diagonal: Array, upper: Array, rhs: Array) -> Array:
    """Solve a tridiagonal system in each column of the air (Thomas), last axis upwards."""
    nz = rhs.shape[-1]
    c = np.empty_like(upper)
    x = np.empty_like(rhs)
    c[..., 0] = upper[..., 0] / diagonal[..., 0]
    x[..., 0] = rhs[..., 0] / diagonal[..., 0]
    for k in range(1, nz):
        pivot = diagonal[..., k] - lower[..., k] * c[..., k - 1]
        c[..., k] = upper[..., k] / pivot
        x[..., k] = (rhs[..., k] - lower[..., k] * x[..., k - 1]) / pivot
    for k in range(nz - 2, -1, -1):
        x[..., k] -= c[..., k] * x[..., k + 1]
    return x


def _triangular_arguments(size: Size) -> tuple[Any, ...]:
    n, columns = (9, 3) if size == "test" else (2000, 8)
    random = np.random.default_rng(0)
    lower = np.tril(random.random((n, n))) / n + np.eye(n)
    return lower, random.random((n, columns))


def _pivots_arguments(size: Size) -> tuple[Any, ...]:
    n = 9 if size == "test" else 400
    random = np.random.default_rng(0)
    return random.random((n, n)), random.random(n)


def _vertical_arguments(size: Size) -> tuple[Any, ...]:
    shape = (4, 5, 7) if size == "test" else (128, 128, 60)
    lower, upper, rhs = np.random.default_rng(0).random((3, *shape))
    return lower, 2.5 + lower, upper, rhs


def _numba_triangular() -> Call:
    @numba_jit()
    def triangular_solve(lower: Any, b: Any) -> Any:
        n, columns = b.shape
        x = b.copy()
        for i in range(n):
            for k in range(i):
                for c in range(columns):
                    x[i, c] -= lower[i, k] * x[k, c]
            x[i] /= lower[i, i]
        for i in range(n - 1, -1, -1):
            x[i] /= lower[i, i]
            for k in range(i):
                for c in range(columns):
                    x[k, c] -= lower[i, k] * x[i, c]
        return x

    return triangular_solve


def _numba_pivots() -> Call:
    import numba

    @numba_jit(parallel=True)
    def solve_with_pivots(a: Any, b: Any) -> Any:
        n = len(b)
        for k in range(n - 1):
            p = k + np.argmax(np.abs(a[k:, k]))
            if p != k:
                for j in range(n):
                    a[k, j], a[p, j] = a[p, j], a[k, j]
                b[k], b[p] = b[p], b[k]
            for i in numba.prange(k + 1, n):
                factor = a[i, k] / a[k, k]
                for j in range(k, n):
                    a[i, j] -= factor * a[k, j]
                b[i] -= factor * b[k]
        x = np.zeros_like(b)
        for i in range(n - 1, -1, -1):
            total = b[i]
            for k in range(i + 1, n):
                total -= a[i, k] * x[k]
            x[i] = total / a[i, i]
        return x

    return solve_with_pivots


def _numba_vertical() -> Call:
    import numba

    @numba_jit(parallel=True)
    def vertical_diffusion(lower: Any, diagonal: Any, upper: Any, rhs: Any) -> Any:
        nx, ny, nz = rhs.shape
        x = np.empty_like(rhs)
        for i in numba.prange(nx):
            c = np.empty(nz)
            for j in range(ny):
                c[0] = upper[i, j, 0] / diagonal[i, j, 0]
                x[i, j, 0] = rhs[i, j, 0] / diagonal[i, j, 0]
                for k in range(1, nz):
                    pivot = diagonal[i, j, k] - lower[i, j, k] * c[k - 1]
                    c[k] = upper[i, j, k] / pivot
                    x[i, j, k] = (rhs[i, j, k] - lower[i, j, k] * x[i, j, k - 1]) / pivot
                for k in range(nz - 2, -1, -1):
                    x[i, j, k] -= c[k] * x[i, j, k + 1]
        return x

    return vertical_diffusion


def _jax_triangular() -> Call:
    import jax
    import jax.numpy as jnp

    def triangular_solve(lower: Any, b: Any) -> Any:
        n = len(b)

        def forward(i: Any, x: Any) -> Any:
            return x.at[i].set((b[i] - lower[i] @ x) / lower[i, i])

        y = jax.lax.fori_loop(0, n, forward, jnp.zeros_like(b))

        def backward(count: Any, x: Any) -> Any:
            i = n - 1 - count
            return x.at[i].set((y[i] - lower[:, i] @ x) / lower[i, i])

        return jax.lax.fori_loop(0, n, backward, jnp.zeros_like(b))

    return jax_jit(triangular_solve)


def _jax_pivots() -> Call:
    import jax
    import jax.numpy as jnp

    def solve_with_pivots(a: Any, b: Any) -> Any:
        n = len(b)
        index = jnp.arange(n)

        def eliminate(k: Any, state: Any) -> Any:
            a, b = state
            p = jnp.argmax(jnp.where(index >= k, jnp.abs(a[:, k]), -1.0))
            a = a.at[k].set(a[p]).at[p].set(a[k])
            b = b.at[k].set(b[p]).at[p].set(b[k])
            factors = jnp.where(index > k, a[:, k] / a[k, k], 0)
            return a - jnp.outer(factors, jnp.where(index >= k, a[k], 0)), b - factors * b[k]

        def substitute(count: Any, x: Any) -> Any:
            i = n - 1 - count
            total = jnp.sum(jnp.where(index > i, a[i] * x, 0))
            return x.at[i].set((b[i] - total) / a[i, i])

        a, b = jax.lax.fori_loop(0, n - 1, eliminate, (a, b))
        return jax.lax.fori_loop(0, n, substitute, jnp.zeros(n)), a, b

    return jax_jit(solve_with_pivots)


def _jax_vertical() -> Call:
    import jax
    import jax.numpy as jnp

    def vertical_diffusion(lower: Any, diagonal: Any, upper: Any, rhs: Any) -> Any:
        levels = tuple(jnp.moveaxis(a, -1, 0) for a in (lower, diagonal, upper, rhs))

        def down(last: Any, level: Any) -> Any:
            (c, x), (a, b, u, r) = last, level
            pivot = b - a * c
            new = u / pivot, (r - a * x) / pivot
            return new, new

        def up(above: Any, level: Any) -> Any:
            c, x = level
            x = x - c * above
            return x, x

        zero = jnp.zeros(rhs.shape[:-1])
        _, (c, x) = jax.lax.scan(down, (zero, zero), levels)
        _, x = jax.lax.scan(up, zero, (c.at[-1].set(0), x), reverse=True)
        return jnp.moveaxis(x, 0, -1)

    return jax_jit(vertical_diffusion)


PROGRAMS = (
    Program(
        triangular_solve,
        _triangular_arguments,
        peers={"numba": _numba_triangular, "jax": _jax_triangular},
    ),
    Program(
        solve_with_pivots,
        _pivots_arguments,
        tolerance=1e-8,
        written=first(2),
        repeatable=False,
        peers={"numba": _numba_pivots, "jax": _jax_pivots},
    ),
    Program(
        vertical_diffusion,
        _vertical_arguments,
        peers={"numba": _numba_vertical, "jax": _jax_vertical},
    ),
)
