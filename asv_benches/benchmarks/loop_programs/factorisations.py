"""Factorisations of matrices by columns, by rows, and by elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, first, jax_jit, numba_jit


def gram_schmidt(a: Array) -> tuple[Array, Array]:
    """Make the columns orthonormal, each one's share taken from all later ones at once."""
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n), dtype=a.dtype)
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def cholesky(a: Array) -> None:
    """Overwrite a matrix with its lower Cholesky factor, column by column."""
    n = len(a)
    for j in range(n):
        pivot = a[j, j] - a[j, :j] @ a[j, :j]
        if pivot <= 0:
            raise np.linalg.LinAlgError(f"column {j}: the matrix is not positive definite")
        a[j, j] = np.sqrt(pivot)
        a[j + 1 :, j] -= a[j + 1 :, :j] @ a[j, :j]
        a[j + 1 :, j] /= a[j, j]
        a[:j, j] = 0


def lu_slices(a: Array) -> tuple[Array, Array]:
    """Factorise without pivots: a row of U, then a column of L."""
    n = a.shape[0]
    lower = np.eye(n, dtype=a.dtype)
    upper = np.zeros_like(a)
    for k in range(n):
        upper[k, k:] = a[k, k:] - lower[k, :k] @ upper[:k, k:]
        lower[k + 1 :, k] = (a[k + 1 :, k] - lower[k + 1 :, :k] @ upper[:k, k]) / upper[k, k]
    return lower, upper


def lu_elements(a: Array) -> None:
    """Factorise in place without pivots, one element at a time."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


def _positive_definite(n: int) -> Array:
    a = np.random.default_rng(0).random((n, n))
    return a @ a.T + n * np.eye(n)


def _gram_schmidt_arguments(size: Size) -> tuple[Any, ...]:
    return (np.random.default_rng(0).random((9, 6) if size == "test" else (260, 200)),)


def _cholesky_arguments(size: Size) -> tuple[Any, ...]:
    return (_positive_definite(9 if size == "test" else 1200),)


def _lu_slices_arguments(size: Size) -> tuple[Any, ...]:
    return (_positive_definite(9 if size == "test" else 600),)


def _lu_elements_arguments(size: Size) -> tuple[Any, ...]:
    return (_positive_definite(9 if size == "test" else 80),)


def _numba_gram_schmidt() -> Call:
    @numba_jit()
    def gram_schmidt(a: Any) -> Any:
        m, n = a.shape
        # Kept transposed inside, so that a column lies together.
        columns, q = a.T.copy(), np.zeros((n, m))
        r = np.zeros((n, n))
        for k in range(n):
            r[k, k] = np.sqrt(np.dot(columns[k], columns[k]))
            q[k] = columns[k] / r[k, k]
            for j in range(k + 1, n):
                r[k, j] = np.dot(q[k], columns[j])
                columns[j] -= q[k] * r[k, j]
        a[:] = columns.T
        return q.T.copy(), r

    return gram_schmidt


def _numba_cholesky() -> Call:
    import numba

    @numba_jit(parallel=True)
    def cholesky(a: Any) -> None:
        n = len(a)
        for j in range(n):
            pivot = a[j, j] - np.dot(a[j, :j], a[j, :j])
            if pivot <= 0:
                raise np.linalg.LinAlgError("the matrix is not positive definite")
            a[j, j] = np.sqrt(pivot)
            for i in numba.prange(j + 1, n):
                a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
            a[:j, j] = 0

    return cholesky


def _numba_lu_slices() -> Call:
    import numba

    @numba_jit(parallel=True)
    def lu_slices(a: Any) -> Any:
        n = a.shape[0]
        work, lower = a.copy(), np.eye(n)
        for k in range(n):
            for i in numba.prange(k + 1, n):
                lower[i, k] = work[i, k] / work[k, k]
                work[i, k] = 0
                for j in range(k + 1, n):
                    work[i, j] -= lower[i, k] * work[k, j]
        return lower, work

    return lu_slices


def _jax_gram_schmidt() -> Call:
    import jax
    import jax.numpy as jnp

    def gram_schmidt(a: Any) -> Any:
        n = a.shape[1]

        def column(k: Any, state: Any) -> Any:
            a, q, r = state
            norm = jnp.sqrt(a[:, k] @ a[:, k])
            unit = a[:, k] / norm
            shares = jnp.where(jnp.arange(n) > k, unit @ a, 0)
            a = a - jnp.outer(unit, shares)
            return a, q.at[:, k].set(unit), r.at[k].set(shares.at[k].set(norm))

        start = (a, jnp.zeros_like(a), jnp.zeros((n, n)))
        a, q, r = jax.lax.fori_loop(0, n, column, start)
        return q, r, a

    return jax_jit(gram_schmidt)


def _jax_cholesky() -> Call:
    import jax
    import jax.numpy as jnp

    def cholesky(a: Any) -> Any:
        index = jnp.arange(len(a))

        def column(j: Any, a: Any) -> Any:
            row = jnp.where(index < j, a[j], 0)
            values = a[:, j] - a @ row
            values = jnp.where(index >= j, values / jnp.sqrt(values[j]), 0)
            return a.at[:, j].set(values)

        return jax.lax.fori_loop(0, len(a), column, a)

    return jax_jit(cholesky)


def _jax_lu() -> Call:
    import jax
    import jax.numpy as jnp

    def lu_slices(a: Any) -> Any:
        index = jnp.arange(len(a))

        def step(k: Any, state: Any) -> Any:
            lower, work = state
            factors = jnp.where(index > k, work[:, k] / work[k, k], 0)
            work = work - jnp.outer(factors, work[k])
            return lower.at[:, k].add(factors), work

        lower, work = jax.lax.fori_loop(0, len(a), step, (jnp.eye(len(a)), a))
        return lower, jnp.triu(work)

    return jax_jit(lu_slices)


PROGRAMS = (
    Program(
        gram_schmidt,
        _gram_schmidt_arguments,
        tolerance=1e-8,
        written=first(1),
        repeatable=False,
        peers={"numba": _numba_gram_schmidt, "jax": _jax_gram_schmidt},
    ),
    Program(
        cholesky,
        _cholesky_arguments,
        written=first(1),
        repeatable=False,
        peers={"numba": _numba_cholesky, "jax": _jax_cholesky},
    ),
    Program(lu_slices, _lu_slices_arguments, peers={"numba": _numba_lu_slices, "jax": _jax_lu}),
    Program(
        lu_elements,
        _lu_elements_arguments,
        written=first(1),
        repeatable=False,
        peers={"numba": lambda: numba_jit()(lu_elements)},
    ),
)
