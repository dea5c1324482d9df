"""Triangular factors of all rows, from those of parts.

The factor R of a QR decomposition has the products of columns, singular values and right singular
vectors of all rows. That of two parts together is the factor of both their factors, as in J.
Demmel, L. Grigori, M. Hoemmen and J. Langou (2012), and as exact as one of all rows.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from npaccel._sklearn.parts.calls import check_finite
from npaccel._sklearn.parts.engine import Parts, WholeArraysError

#: Maximum number of columns: factors have as many rows, and each part is factorised.
_COLUMNS = 5000
#: Number of rows that are factorised at a time, at least.
_BLOCK = 256


@dataclasses.dataclass(frozen=True)
class Triangle:
    """Factor of the rows of X, with those of a target behind.

    Parameters
    ----------
    count : int
        Number of rows.
    mass : float
        The sum of their weights.
    mean : ndarray
        Means of columns.
    columns, centred : ndarray
        Factors of the columns, and of what they differ from their means by.
    """

    count: int
    mass: float
    mean: Any
    columns: Any
    centred: Any


def triangle_of(self: Any, parts: Parts) -> Triangle:
    """Return the factor of the rows of X, y and weights; in 64 bits.

    Raises
    ------
    WholeArraysError
        If there are fewer rows than columns, or very many columns.
    """
    if parts.shape[1] > _COLUMNS:
        raise WholeArraysError(f"X has {parts.shape[1]} columns")
    found, count, mass = parts.reduce(_factor, _together)
    check_finite(self, parts, found)
    if count <= found.shape[1]:
        raise WholeArraysError("there are fewer rows than columns")
    if mass <= 0.0:
        raise WholeArraysError("weights add up to nothing")
    mean = found[0, 1:] / found[0, 0]
    return Triangle(count, mass, mean, np.linalg.qr(found[:, 1:], mode="r"), found[1:, 1:])


def _factor(X: Any, y: Any = None, weights: Any = None) -> Any:
    """Return the factor of a column of ones and those of a part, and how many rows it has."""
    columns = [np.ones((len(X), 1)), X]
    if y is not None:
        columns.append(y[:, None] if y.ndim == 1 else y)
    rows = np.concatenate(columns, axis=1, dtype=np.float64)
    if weights is not None:
        rows = rows * np.sqrt(weights.astype(np.float64))[:, None]
    mass = float(len(X)) if weights is None else float(weights.sum(dtype=np.float64))
    if not np.isfinite(rows).all():  # LAPACK might not come to an end.
        return np.full((rows.shape[1],) * 2, np.nan), len(X), mass
    return _r(rows), len(X), mass


def _r(rows: Any) -> Any:
    """Return the factor of rows, in blocks that stay in a core's cache: three times as fast."""
    size = max(_BLOCK, 8 * rows.shape[1])
    if len(rows) <= 2 * size:
        return np.linalg.qr(rows, mode="r")
    whole = len(rows) // size * size
    factors: Any = np.linalg.qr(rows[:whole].reshape(-1, size, rows.shape[1]), mode="r")
    return _r(np.concatenate([factors.reshape(-1, rows.shape[1]), rows[whole:]]))


def _together(one: Any, other: Any) -> Any:
    rows: Any = np.concatenate([one[0], other[0]])
    if np.isfinite(rows).all():
        rows = np.linalg.qr(rows, mode="r")
    return rows, one[1] + other[1], one[2] + other[2]


__all__ = ["Triangle", "triangle_of"]
