"""Kernels in which a table of distances is reduced where it's computed, and never stored.

The features are summed one by one, so that a distance is an expression of two row numbers, which a
compiler fuses with what reads it: the nearest of many, a sum of the smaller ones. That takes the
rows as columns of a turned array, which is contiguous along the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._jit import jit
from npaccel._torch_internals.fusion import nothing_stored_between

#: As many features are summed one by one; with more, a matrix product is faster.
UNROLLED = 32


def fused(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a kernel of a NumPy function whose loops over features are unrolled.

    Parameters
    ----------
    *static : str
        Parameters that are Python's numbers; they are given by keyword.
    """

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled = jit(function, default_float="float64", static_argnames=static, loops="unroll")

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with nothing_stored_between():
                return compiled(*args, **kwargs)

        return call

    return make


def _apart(XT: Any, c: Any, d: int) -> Any:
    """Return the squared distance of each column from one point."""
    found = (XT[0] - c[0]) * (XT[0] - c[0])
    for f in range(1, d):
        found = found + (XT[f] - c[f]) * (XT[f] - c[f])
    return found


@fused("d")
def nearest(XT: Any, C: Any, *, d: int) -> Any:
    """Return for each column of XT the number (int32) of the nearest row of C.

    As `np.argmin`, whose loop over pairs of a distance and a number takes four times as long.
    """
    products = C[:, :1] * XT[0]
    for f in range(1, d):
        products = products + C[:, f][:, None] * XT[f]
    table = np.sum(C * C, axis=1)[:, None] - (products + products)
    numbers = np.arange(len(C))[:, None]
    if table.dtype == np.float32:
        # Bits of floats sort as floats do, but for the order of negative ones: above the number.
        bits = table.view(np.int32)
        bits = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
        pairs = bits.astype(np.int64) * (1 << 32) + numbers
        return (np.min(pairs, axis=0) & 0x7FFFFFFF).astype(np.int32)
    # As floats, which have as many bits as the table's: so the loop has whole vectors.
    is_smallest = table == np.min(table, axis=0)
    places = np.where(is_smallest, numbers.astype(np.float64), np.float64(len(C) - 1))
    return np.min(places, axis=0).astype(np.int32)


@fused("d")
def closer(XT: Any, c: Any, closest: Any, *, d: int) -> Any:
    """Return the squared distances from the nearest point, with one more of them."""
    return np.minimum(_apart(XT, c, d), closest)


@fused("d", "count")
def potentials(XT: Any, C: Any, closest: Any, weights: Any, *, d: int, count: int) -> Any:
    """Return for each row of C what the sum of distances would be with it, in 64 bits."""
    found = []
    for row in range(count):
        smaller = np.minimum(_apart(XT, C[row], d), closest)
        if weights is not None:
            smaller = smaller * weights
        found.append(np.sum(smaller, dtype=np.float64))
    return np.stack(found)


@fused("d")
def inertia(XT: Any, C: Any, labels: Any, weights: Any, *, d: int) -> Any:
    """Return the sum of the squared distances of columns from their rows of C, in 64 bits."""
    labels = labels.astype(np.int64)
    found = (XT[0] - C[:, 0][labels]) * (XT[0] - C[:, 0][labels])
    for f in range(1, d):
        apart = XT[f] - C[:, f][labels]
        found = found + apart * apart
    if weights is not None:
        found = found * weights
    return np.sum(found, dtype=np.float64)


def suits(X: torch.Tensor) -> bool:
    """Whether rows have few enough features."""
    return 0 < X.shape[1] <= UNROLLED
