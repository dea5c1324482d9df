"""The NumPy code that is measured. Nothing but NumPy is imported here: child processes time it."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def kmeans(points: Array, means: Array) -> Array:
    """Return the index of the nearest mean for each point: one step of k-means."""
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)


def sine(x: Array) -> Array:
    """Do next to nothing, so that the cost of the call shows."""
    return np.sin(x) + 1


def stencil(new: Array, old: Array) -> None:
    """Write one Jacobi step of the 5-point stencil into `new`."""
    new[1:-1, 1:-1] = 0.2 * (
        old[1:-1, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1]
    )


def slice_writes(field: Array) -> Array:
    """Fill an array of zeros by three writes to slices of it."""
    out = np.zeros_like(field)
    out[2:-2, 2:-2, :-1] = field[2:-2, 2:-2, :-1] * 2
    out[..., -1] = 0
    out[2:-2, 2:-2, 1:] += field[2:-2, 2:-2, :-1]
    return out


def smooth(old: Array) -> Array:
    """Return one Jacobi step of the 5-point stencil, as a new array."""
    new = old.copy()
    stencil(new, old)
    return new


def chain(x: Array, y: Array) -> Array:
    """Return what takes NumPy six passes over memory."""
    return np.sqrt(x * x + y * y) * 0.5 + 1


def energy(x: Array, v: Array) -> Any:
    """Return the energy of particles that hang in a row: sums of what is never stored."""
    return 0.5 * np.sum(v * v) + np.sum(1 - np.cos(x))


def softmax(x: Array) -> Array:
    """Return the softmax of each row."""
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def kmeans_points(n: int, dtype: str) -> tuple[Array, Array]:
    """Return `n` points around two centres and the two centres (2-D).

    Parameters
    ----------
    n : int
        Number of points.
    dtype : str
        Of both arrays.

    Returns
    -------
    points : ndarray of shape (n, 2)
    means : ndarray of shape (2, 2)
    """
    means = np.array([[5.0, 5.0], [10.0, 10.0]])
    noise = np.random.default_rng(0).standard_normal((n, 2))
    return (np.repeat(means, [n // 2, n - n // 2], axis=0) + noise).astype(dtype), means.astype(
        dtype
    )
