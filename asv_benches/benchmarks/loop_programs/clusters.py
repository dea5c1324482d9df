"""Tables of samples: rows standardised in place, Lloyd's clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, first, jax_jit, numba_jit


def standardise(table: Array) -> int:
    """Shift and scale each row in place; return how many rows were constant."""
    constant = 0
    for row in table:
        row -= row.mean()
        spread = row.std()
        if spread == 0:
            constant += 1
            continue
        row /= spread
    return constant


def lloyd(points: Array, centres: Array, limit: int) -> tuple[Array, Array, int]:
    """Move centres to the means of the points nearest to them until they stay."""
    for step in range(limit):
        distances = np.linalg.norm(points[:, None] - centres, axis=2)
        labels = np.argmin(distances, axis=1)
        moved = np.array([points[labels == k].mean(axis=0) for k in range(len(centres))])
        if np.allclose(moved, centres):
            break
        centres = moved
    else:
        step = limit
    return centres, labels, step


def _standardise_arguments(size: Size) -> tuple[Any, ...]:
    rows, columns = (9, 6) if size == "test" else (4000, 1000)
    table = np.random.default_rng(0).normal(3.0, 2.0, (rows, columns))
    table[::4] = 5.0
    return (table,)


def _lloyd_arguments(size: Size) -> tuple[Any, ...]:
    n, k, limit = (60, 3, 20) if size == "test" else (20_000, 8, 15)
    random = np.random.default_rng(0)
    points = random.normal(size=(n, 2)) + 4 * random.integers(0, 3, (n, 2))
    return points, points[:k].copy(), limit


def _numba_standardise() -> Call:
    import numba

    @numba_jit(parallel=True)
    def standardise(table: Any) -> Any:
        constant = 0
        for i in numba.prange(table.shape[0]):
            row = table[i]
            row -= row.mean()
            spread = row.std()
            if spread == 0:
                constant += 1
            else:
                row /= spread
        return constant

    return standardise


def _numba_lloyd() -> Call:
    import numba

    @numba_jit(parallel=True)
    def nearest(points: Any, centres: Any, labels: Any) -> None:
        for i in numba.prange(points.shape[0]):
            best = np.inf
            for k in range(centres.shape[0]):
                distance = 0.0
                for d in range(points.shape[1]):
                    distance += (points[i, d] - centres[k, d]) ** 2
                if distance < best:
                    best = distance
                    labels[i] = k

    @numba_jit()
    def lloyd(points: Any, centres: Any, limit: Any) -> Any:
        labels = np.zeros(points.shape[0], np.int64)
        for step in range(limit):
            nearest(points, centres, labels)
            moved = np.zeros_like(centres)
            counts = np.zeros(centres.shape[0])
            for i in range(points.shape[0]):
                moved[labels[i]] += points[i]
                counts[labels[i]] += 1
            moved /= counts.reshape(-1, 1)
            if np.allclose(moved, centres):
                return centres, labels, step
            centres = moved
        return centres, labels, limit

    return lloyd


def _jax_standardise() -> Call:
    import jax
    import jax.numpy as jnp

    def standardised(row: Any) -> Any:
        row = row - row.mean()
        spread = row.std()
        return jnp.where(spread == 0, row, row / spread), spread == 0

    def standardise(table: Any) -> Any:
        table, constant = jax.vmap(standardised)(table)
        return constant.sum(), table

    return jax_jit(standardise)


def _jax_lloyd() -> Call:
    import jax
    import jax.numpy as jnp

    def lloyd(points: Any, centres: Any, limit: Any) -> Any:
        k = centres.shape[0]

        def move(state: Any) -> Any:
            step, centres, _, _ = state
            distances = jnp.linalg.norm(points[:, None] - centres, axis=2)
            labels = jnp.argmin(distances, axis=1)
            counts = jax.ops.segment_sum(jnp.ones(len(points)), labels, k)
            moved = jax.ops.segment_sum(points, labels, k) / counts[:, None]
            stay = jnp.allclose(moved, centres)
            return step + ~stay, jnp.where(stay, centres, moved), labels, stay

        def goes_on(state: Any) -> Any:
            return (state[0] < limit) & ~state[3]

        start = (0, centres, jnp.zeros(len(points), jnp.int64), False)
        step, centres, labels, _ = jax.lax.while_loop(goes_on, move, start)
        return centres, labels, step

    return jax_jit(lloyd)


PROGRAMS = (
    Program(
        standardise,
        _standardise_arguments,
        written=first(1),
        peers={"numba": _numba_standardise, "jax": _jax_standardise},
    ),
    Program(lloyd, _lloyd_arguments, peers={"numba": _numba_lloyd, "jax": _jax_lloyd}),
)
