"""The same work for the libraries that need it written in another way.

Numba gets loops by hand; JAX, whose arrays can't be written to, gets ``.at[]``.
Both are imported when a peer is built, since they need not be installed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import functions
from .loop_programs import PROGRAMS
from .loop_programs.record import jax_jit

Call = Callable[..., Any]


def numba_kmeans() -> Call:
    """Return k-means by hand. The root stays: without it ties fall differently."""
    import numba

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def kmeans(points: Any, means: Any) -> Any:
        n, dimensions = points.shape
        labels = np.empty(n, np.int64)
        for i in numba.prange(n):
            best, label = np.inf, 0
            for j in range(means.shape[0]):
                total = points[i, 0] * 0
                for d in range(dimensions):
                    difference = points[i, d] - means[j, d]
                    total += difference * difference
                distance = math.sqrt(total)
                if distance < best:
                    best, label = distance, j
            labels[i] = label
        return labels

    return kmeans  # type: ignore[no-any-return]


def numba_sine() -> Call:
    """Return the loop in serial: starting threads for ten elements would only cost Numba."""
    import numba

    @numba.njit  # type: ignore[untyped-decorator]
    def sine(x: Any) -> Any:
        out = np.empty_like(x)
        for i in range(x.size):
            out[i] = math.sin(x[i]) + 1
        return out

    return sine  # type: ignore[no-any-return]


def numba_stencil() -> Call:
    """Return the stencil's loops in serial: the arrays are small."""
    import numba

    @numba.njit  # type: ignore[untyped-decorator]
    def stencil(new: Any, old: Any) -> None:
        rows, columns = old.shape
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                new[i, j] = 0.2 * (
                    old[i, j] + old[i, j - 1] + old[i, j + 1] + old[i + 1, j] + old[i - 1, j]
                )

    return stencil  # type: ignore[no-any-return]


def numba_slice_writes() -> Call:
    """Return the three writes in one pass over the array."""
    import numba

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def slice_writes(field: Any) -> Any:
        out = np.zeros_like(field)
        rows, columns, layers = field.shape
        for i in numba.prange(2, rows - 2):
            for j in range(2, columns - 2):
                for k in range(layers - 1):
                    out[i, j, k] = field[i, j, k] * 2
                for k in range(1, layers):
                    out[i, j, k] += field[i, j, k - 1]
        return out

    return slice_writes  # type: ignore[no-any-return]


def numba_smooth() -> Call:
    """Return the loops over all cores."""
    import numba

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def smooth(old: Any) -> Any:
        rows, columns = old.shape
        new = np.empty_like(old)
        new[0], new[-1] = old[0], old[-1]
        for i in numba.prange(1, rows - 1):
            new[i, 0], new[i, -1] = old[i, 0], old[i, -1]
            for j in range(1, columns - 1):
                new[i, j] = 0.2 * (
                    old[i, j] + old[i, j - 1] + old[i, j + 1] + old[i + 1, j] + old[i - 1, j]
                )
        return new

    return smooth  # type: ignore[no-any-return]


def numba_chain() -> Call:
    """Return one loop over all cores."""
    import numba

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def chain(x: Any, y: Any) -> Any:
        out = np.empty_like(x)
        for i in numba.prange(x.size):
            out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i]) * 0.5 + 1
        return out

    return chain  # type: ignore[no-any-return]


def numba_energy() -> Call:
    """Return one loop over all cores, whose sums may be added up in any order."""
    import numba

    @numba.njit(parallel=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator]
    def energy(x: Any, v: Any) -> Any:
        total = 0.0
        for i in numba.prange(x.size):
            total += 0.5 * v[i] * v[i] + 1 - math.cos(x[i])
        return total

    return energy  # type: ignore[no-any-return]


def numba_softmax() -> Call:
    """Return loops over the rows, on all cores."""
    import numba

    @numba.njit(parallel=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator]
    def softmax(x: Any) -> Any:
        out = np.empty_like(x)
        rows, columns = x.shape
        for i in numba.prange(rows):
            most = x[i].max()
            total = 0.0
            for j in range(columns):
                out[i, j] = math.exp(x[i, j] - most)
                total += out[i, j]
            for j in range(columns):
                out[i, j] /= total
        return out

    return softmax  # type: ignore[no-any-return]


def jax_kmeans() -> Call:
    """Return the NumPy code with ``jax.numpy`` in NumPy's place."""
    import jax.numpy as jnp

    return jax_jit(
        lambda points, means: jnp.argmin(
            jnp.linalg.norm(points - means[:, None], axis=2), axis=0
        ).astype(np.int64)
    )


def jax_sine() -> Call:
    """Return the NumPy code with ``jax.numpy`` in NumPy's place."""
    import jax.numpy as jnp

    return jax_jit(lambda x: jnp.sin(x) + 1)


def jax_smooth() -> Call:
    """Return the write in JAX's functional form."""
    import jax.numpy as jnp

    def smooth(old: Any) -> Any:
        around = old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1]
        return jnp.asarray(old).at[1:-1, 1:-1].set(0.2 * (old[1:-1, 1:-1] + around))

    return jax_jit(smooth)


def jax_chain() -> Call:
    """Return the NumPy code with ``jax.numpy`` in NumPy's place."""
    import jax.numpy as jnp

    return jax_jit(lambda x, y: jnp.sqrt(x * x + y * y) * 0.5 + 1)


def jax_energy() -> Call:
    """Return the NumPy code with ``jax.numpy`` in NumPy's place."""
    import jax.numpy as jnp

    return jax_jit(lambda x, v: 0.5 * jnp.sum(v * v) + jnp.sum(1 - jnp.cos(x)))


def jax_softmax() -> Call:
    """Return the NumPy code with ``jax.numpy`` in NumPy's place."""
    import jax.numpy as jnp

    def softmax(x: Any) -> Any:
        shifted = jnp.exp(x - x.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    return jax_jit(softmax)


def jax_slice_writes() -> Call:
    """Return the writes in JAX's functional form."""
    import jax.numpy as jnp

    def slice_writes(field: Any) -> Any:
        inner = field[2:-2, 2:-2, :-1]
        out = jnp.zeros_like(field).at[2:-2, 2:-2, :-1].set(inner * 2)
        return out.at[..., -1].set(0).at[2:-2, 2:-2, 1:].add(inner)

    return jax_jit(slice_writes)


#: How each peer is built, by implementation and function. JAX has no writes to
#: its arguments, so it takes no part in the stencil.
PEERS: dict[tuple[str, Call], Callable[[], Call]] = {
    ("numba", functions.kmeans): numba_kmeans,
    ("numba", functions.sine): numba_sine,
    ("numba", functions.stencil): numba_stencil,
    ("numba", functions.slice_writes): numba_slice_writes,
    ("numba", functions.smooth): numba_smooth,
    ("numba", functions.chain): numba_chain,
    ("numba", functions.energy): numba_energy,
    ("numba", functions.softmax): numba_softmax,
    ("jax", functions.kmeans): jax_kmeans,
    ("jax", functions.sine): jax_sine,
    ("jax", functions.slice_writes): jax_slice_writes,
    ("jax", functions.smooth): jax_smooth,
    ("jax", functions.chain): jax_chain,
    ("jax", functions.energy): jax_energy,
    ("jax", functions.softmax): jax_softmax,
} | {
    (implementation, program.function): variant
    for program in PROGRAMS.values()
    for implementation, variant in program.peers.items()
}
