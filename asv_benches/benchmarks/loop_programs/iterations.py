"""Methods that iterate to a solution, and a sparse product row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, first, jax_jit, numba_jit


def power_iteration(a: Array, tolerance: float, limit: int) -> tuple[float, Array, int]:
    """Return the largest eigenvalue, its vector, and the number of products it took."""
    x = np.ones(a.shape[0], dtype=a.dtype)
    value = 0.0
    change = np.inf
    count = 0
    while change > tolerance and count < limit:
        y = a @ x
        new = np.linalg.norm(y)
        x = y / new
        change = abs(new - value)
        value = new
        count += 1
    return value, x, count


def minus_laplacian(x: Array) -> Array:
    """Apply the five-point operator; beyond the edges all is zero."""
    y = 4 * x
    y[1:, :] -= x[:-1, :]
    y[:-1, :] -= x[1:, :]
    y[:, 1:] -= x[:, :-1]
    y[:, :-1] -= x[:, 1:]
    return y


def conjugate_gradient(b: Array, tolerance: float, limit: int) -> Array:
    """Solve Poisson's equation on a square grid."""
    x = np.zeros_like(b)
    r = b.copy()
    p = r.copy()
    old = np.sum(r * r)
    for iteration in range(limit):
        ap = minus_laplacian(p)
        alpha = old / np.sum(p * ap)
        x += alpha * p
        r -= alpha * ap
        new = np.sum(r * r)
        if np.sqrt(new) < tolerance:
            break
        p = r + new / old * p
        old = new
    else:
        raise RuntimeError(f"no convergence in {iteration + 1} iterations")
    return x


def gauss_seidel(grid: Array, sweeps: int) -> None:
    """Replace each inner element by the mean of the nine around it, in place."""
    rows, columns = grid.shape
    for _ in range(sweeps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                grid[i, j] = (
                    grid[i - 1, j - 1]
                    + grid[i - 1, j]
                    + grid[i - 1, j + 1]
                    + grid[i, j - 1]
                    + grid[i, j]
                    + grid[i, j + 1]
                    + grid[i + 1, j - 1]
                    + grid[i + 1, j]
                    + grid[i + 1, j + 1]
                ) / 9.0


def csr_matvec(indptr: Array, indices: Array, data: Array, x: Array) -> Array:
    """Multiply a sparse matrix (compressed rows) with a vector."""
    y = np.empty(len(indptr) - 1, dtype=x.dtype)
    for row, (start, stop) in enumerate(zip(indptr[:-1], indptr[1:])):
        y[row] = data[start:stop] @ x[indices[start:stop]]
    return y


def _power_arguments(size: Size) -> tuple[Any, ...]:
    n = 8 if size == "test" else 700
    random = np.random.default_rng(0)
    vectors, _ = np.linalg.qr(random.random((n, n)))
    values = np.linspace(0.1, 0.9, n)
    values[-1] = 1.0
    return vectors * values @ vectors.T * 3.0, 1e-9, 1000


def _gradient_arguments(size: Size) -> tuple[Any, ...]:
    n = 10 if size == "test" else 200
    return np.random.default_rng(0).random((n, n)), 1e-8, 5 * n


def _gauss_seidel_arguments(size: Size) -> tuple[Any, ...]:
    n, sweeps = (9, 3) if size == "test" else (100, 8)
    return np.random.default_rng(0).random((n, n)), sweeps


def _csr_arguments(size: Size) -> tuple[Any, ...]:
    rows, most = (9, 5) if size == "test" else (50_000, 30)
    random = np.random.default_rng(0)
    counts = random.integers(0, most, rows)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = random.integers(0, rows, indptr[-1])
    return indptr, indices, random.random(indptr[-1]), random.random(rows)


def _numba_gradient() -> Call:
    import numba

    @numba_jit(parallel=True)
    def product(p: Any, ap: Any) -> Any:
        n, m = p.shape
        total = 0.0
        for i in numba.prange(n):
            for j in range(m):
                value = 4 * p[i, j]
                if i > 0:
                    value -= p[i - 1, j]
                if i < n - 1:
                    value -= p[i + 1, j]
                if j > 0:
                    value -= p[i, j - 1]
                if j < m - 1:
                    value -= p[i, j + 1]
                ap[i, j] = value
                total += p[i, j] * value
        return total

    @numba_jit(parallel=True)
    def step(x: Any, r: Any, p: Any, ap: Any, alpha: Any) -> Any:
        total = 0.0
        for i in numba.prange(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] += alpha * p[i, j]
                r[i, j] -= alpha * ap[i, j]
                total += r[i, j] ** 2
        return total

    @numba_jit(parallel=True)
    def turn(p: Any, r: Any, beta: Any) -> None:
        for i in numba.prange(p.shape[0]):
            for j in range(p.shape[1]):
                p[i, j] = r[i, j] + beta * p[i, j]

    @numba_jit()
    def conjugate_gradient(b: Any, tolerance: Any, limit: Any) -> Any:
        x, r, p, ap = np.zeros_like(b), b.copy(), b.copy(), np.empty_like(b)
        old = np.sum(r * r)
        for _ in range(limit):
            new = step(x, r, p, ap, old / product(p, ap))
            if np.sqrt(new) < tolerance:
                return x
            turn(p, r, new / old)
            old = new
        raise RuntimeError("no convergence")

    return conjugate_gradient


def _numba_csr() -> Call:
    import numba

    @numba_jit(parallel=True)
    def csr_matvec(indptr: Any, indices: Any, data: Any, x: Any) -> Any:
        y = np.empty(len(indptr) - 1)
        for row in numba.prange(len(indptr) - 1):
            total = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                total += data[k] * x[indices[k]]
            y[row] = total
        return y

    return csr_matvec


def _jax_power() -> Call:
    import jax
    import jax.numpy as jnp

    def power_iteration(a: Any, tolerance: Any, limit: Any) -> Any:
        def step(state: Any) -> Any:
            value, x, _, count = state
            y = a @ x
            new = jnp.linalg.norm(y)
            return new, y / new, jnp.abs(new - value), count + 1

        def goes_on(state: Any) -> Any:
            return (state[2] > tolerance) & (state[3] < limit)

        start = (0.0, jnp.ones(len(a)), jnp.inf, 0)
        value, x, _, count = jax.lax.while_loop(goes_on, step, start)
        return value, x, count

    return jax_jit(power_iteration)


def _jax_gradient() -> Call:
    import jax
    import jax.numpy as jnp

    def operator(x: Any) -> Any:
        wide = jnp.pad(x, 1)
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        return 4 * x - around

    def conjugate_gradient(b: Any, tolerance: Any, limit: Any) -> Any:
        def step(state: Any) -> Any:
            x, r, p, old, count = state
            ap = operator(p)
            alpha = old / jnp.sum(p * ap)
            x, r = x + alpha * p, r - alpha * ap
            new = jnp.sum(r * r)
            return x, r, r + new / old * p, new, count + 1

        def goes_on(state: Any) -> Any:
            return (jnp.sqrt(state[3]) >= tolerance) & (state[4] < limit)

        start = (jnp.zeros_like(b), b, b, jnp.sum(b * b), 0)
        return jax.lax.while_loop(goes_on, step, start)[0]

    return jax_jit(conjugate_gradient)


def _jax_csr() -> Call:
    import jax
    import jax.numpy as jnp

    def csr_matvec(indptr: Any, indices: Any, data: Any, x: Any) -> Any:
        rows = jnp.repeat(
            jnp.arange(len(indptr) - 1), jnp.diff(indptr), total_repeat_length=len(data)
        )
        products = data * x[indices]
        return jax.ops.segment_sum(products, rows, len(indptr) - 1, indices_are_sorted=True)

    return jax_jit(csr_matvec)


PROGRAMS = (
    Program(
        power_iteration,
        _power_arguments,
        tolerance=1e-7,
        peers={"numba": lambda: numba_jit()(power_iteration), "jax": _jax_power},
    ),
    Program(
        conjugate_gradient,
        _gradient_arguments,
        tolerance=1e-6,
        peers={"numba": _numba_gradient, "jax": _jax_gradient},
    ),
    Program(
        gauss_seidel,
        _gauss_seidel_arguments,
        written=first(1),
        peers={"numba": lambda: numba_jit()(gauss_seidel)},
    ),
    Program(csr_matvec, _csr_arguments, peers={"numba": _numba_csr, "jax": _jax_csr}),
)
