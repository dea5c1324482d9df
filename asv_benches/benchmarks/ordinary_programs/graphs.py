"""Sparse rows, graphs, and tables of dynamic programming."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Program, jit


def _sparse(n: int, seed: int) -> tuple[Array, Array, Array]:
    """Return a sparse matrix with a heavy diagonal as CSR: row pointers, columns, values."""
    random = np.random.default_rng(seed)
    full = np.where(random.random((n, n)) < 4.0 / n, random.random((n, n)), 0.0)
    full += np.diag(full.sum(axis=1) + 1.0)
    rows, columns = np.nonzero(full)
    pointers = np.searchsorted(rows, np.arange(n + 1))
    return pointers, columns, full[rows, columns]


@jit
def csr_product(indptr: Array, indices: Array, data: Array, x: Array) -> Array:
    """Multiply a sparse matrix with a vector, row by row."""
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        start, stop = indptr[i], indptr[i + 1]
        y[i] = np.dot(data[start:stop], x[indices[start:stop]])
    return y


@jit
def csr_gauss_seidel(
    indptr: Array, indices: Array, data: Array, b: Array, sweeps: int
) -> tuple[Array, float]:
    """Solve a sparse system by sweeps over its rows."""
    x = np.zeros(len(b))
    for _ in range(sweeps):
        for i in range(len(b)):
            total, diagonal = 0.0, 1.0
            for k in range(indptr[i], indptr[i + 1]):
                if indices[k] == i:
                    diagonal = data[k]
                else:
                    total += data[k] * x[indices[k]]
            x[i] = (b[i] - total) / diagonal
    return x, x.sum()


@jit
def edit_distance(a: str, b: str) -> int:
    """Return how many letters differ between two words, after Levenshtein."""
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]


def _edit_distance() -> tuple[Any, ...]:
    a, b = np.random.default_rng(20).choice(list("acgt"), size=(2, 200))
    return "".join(a), "".join(b)


@jit
def align(a: Array, b: Array, gap: int) -> tuple[int, Array]:
    """Return the score of aligning two sequences, and the table, after Needleman and Wunsch."""
    score = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    score[:, 0] = -gap * np.arange(len(a) + 1)
    score[0, :] = -gap * np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            match = score[i - 1, j - 1] + (1 if a[i - 1] == b[j - 1] else -1)
            score[i, j] = max(match, score[i - 1, j] - gap, score[i, j - 1] - gap)
    return int(score[-1, -1]), score


@jit
def knapsack(weights: Array, values: Array, capacity: int) -> tuple[Any, list[int]]:
    """Return the most that fits into a knapsack, and the items."""
    best = np.zeros((len(weights) + 1, capacity + 1), dtype=values.dtype)
    for i, (weight, value) in enumerate(zip(weights, values)):
        best[i + 1] = best[i]
        taken = best[i, : capacity + 1 - weight] + value
        best[i + 1, weight:] = np.maximum(best[i, weight:], taken)
    chosen, left = [], capacity
    for i in range(len(weights) - 1, -1, -1):
        if best[i + 1, left] != best[i, left]:
            chosen.append(i)
            left -= int(weights[i])
    return best[-1, -1], chosen


def _knapsack() -> tuple[Any, ...]:
    random = np.random.default_rng(21)
    return random.integers(1, 30, 60), random.integers(1, 100, 60), 300


PROGRAMS = (
    Program(csr_product, lambda: (*_sparse(300, 23), np.linspace(0.0, 1.0, 300)), numba=True),
    Program(
        csr_gauss_seidel, lambda: (*_sparse(200, 24), np.linspace(0.0, 1.0, 200), 20), numba=True
    ),
    Program(edit_distance, _edit_distance, numba=True),
    Program(align, lambda: (*np.random.default_rng(25).integers(0, 4, (2, 120)), 1), numba=True),
    Program(knapsack, _knapsack),
)
