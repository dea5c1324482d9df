"""Numbers of rows, their means, and sums of products of what they differ from these by.

Results of two parts are combined as T. F. Chan, G. H. Golub and R. J. LeVeque (1983) do, so that
one pass over the rows is enough, and nothing cancels out where means are large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._sklearn.parts.engine import kernel


@kernel
def of_columns(X: Any, weights: Any) -> Any:
    """Return by column the weight of values, their mean, and sums of squares; in 64 bits.

    Missing values have no weight.
    """
    there = ~np.isnan(X)
    values = np.where(there, X, 0.0).astype(np.float64)
    mass = there.astype(np.float64)
    if weights is not None:
        mass = mass * weights.astype(np.float64)[:, None]
    total = mass.sum(axis=0)
    safe = np.where(total != 0.0, total, 1.0)
    mean = (mass * values).sum(axis=0) / safe
    apart = np.where(there, values - mean, 0.0)
    shift = (mass * apart).sum(axis=0) / safe
    return total, mean, (mass * apart * apart).sum(axis=0) - total * shift * shift


@kernel
def of_products(X: Any, y: Any, weights: Any) -> Any:
    """Return the weight of rows, the means of columns, and sums of products of two columns each.

    Columns are those of X, and behind them those of y.
    """
    if y is not None:
        X = np.concatenate([X, (y[:, None] if y.ndim == 1 else y).astype(X.dtype)], axis=1)
    if weights is None:
        total = np.ones(len(X)).sum()
        weighted = X
    else:
        total = weights.astype(np.float64).sum()
        weighted = X * weights.astype(X.dtype)[:, None]
    mean = weighted.sum(axis=0, dtype=np.float64) / np.where(total != 0.0, total, 1.0)
    apart = X - mean.astype(X.dtype)
    weighted = apart if weights is None else apart * weights.astype(X.dtype)[:, None]
    products = (weighted.T @ apart).astype(np.float64)
    shift = weighted.sum(axis=0, dtype=np.float64)
    products = products - np.outer(shift, shift) / np.where(total != 0.0, total, 1.0)
    return total, mean + shift / np.where(total != 0.0, total, 1.0), products


def squares(one: Any, other: Any) -> Any:
    """Combine weights, means and sums of squares, each by column."""
    mass, share, apart = _apart(one, other)
    mean = one[1] + apart * share
    return mass, mean, one[2] + other[2] + apart * apart * (one[0] * share)


def products(one: Any, other: Any) -> Any:
    """Combine a weight, means of columns, and sums of products."""
    mass, share, apart = _apart(one, other)
    mean = one[1] + apart * share
    return mass, mean, one[2] + other[2] + np.outer(apart, apart) * (one[0] * share)


def by_group(one: Any, other: Any) -> Any:
    """Combine weights of groups of rows, and for each group means and sums of squares by column."""
    mass, share, apart = _apart((one[0][:, None], one[1]), (other[0][:, None], other[1]))
    mean = one[1] + apart * share
    return mass[:, 0], mean, one[2] + other[2] + apart * apart * (one[0][:, None] * share)


def _apart(one: Any, other: Any) -> tuple[Any, Any, Any]:
    """Return the weight of both, which share the other has, and how far its means are."""
    mass = np.asarray(one[0] + other[0])
    share = other[0] / np.where(mass != 0.0, mass, 1.0)
    return mass, share, other[1] - one[1]


__all__ = ["by_group", "of_columns", "of_products", "products", "squares"]
