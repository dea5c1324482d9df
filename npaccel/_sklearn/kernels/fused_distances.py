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
from npaccel._torch.inductor.fusion import nothing_stored_between

#: Maximum number of features that are summed one by one; with more, a matrix product is faster.
UNROLLED = 32
#: Number of points that `nearest` compares in one iteration of its loop.
_AT_ONCE = 4


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


def in_blocks(C: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points as `nearest` takes them: times -2, some in each block, and their lengths.

    The last one is repeated until its block is full: of equal ones the first is found.
    """
    missing = -len(C) % _AT_ONCE
    if missing:
        C = torch.cat((C, C[-1:].expand(missing, -1)))
    lengths = torch.linalg.vecdot(C, C)
    return (-2 * C).contiguous().view(-1, _AT_ONCE, C.shape[1]), lengths.view(-1, _AT_ONCE)


@fused("d")
def nearest(XT: Any, C: Any, lengths: Any, *, d: int) -> Any:
    """Return for each column of XT the number (int32) of the nearest point.

    The points of a block are compared with what is in the registers of a processor, one with the
    other; so the loop over blocks has little left to do. It is `np.argmin`, whose loop over pairs
    of a distance and a number takes four times as long.
    """
    best: Any = None
    place: Any = np.float32(0)
    for j in range(_AT_ONCE):
        table = lengths[:, j][:, None] + C[:, j, 0][:, None] * XT[0]
        for f in range(1, d):
            table = table + C[:, j, f][:, None] * XT[f]
        if best is None:
            best = table
        else:
            is_closer = table < best
            best, place = (
                np.where(is_closer, table, best),
                np.where(is_closer, best.dtype.type(j), place),
            )
    numbers = (np.arange(len(C)) * _AT_ONCE)[:, None] + place.astype(np.int32)
    if best.dtype == np.float32:
        # Bits of floats sort as floats do, but for the order of negative ones: above the number.
        bits = best.view(np.int32)
        bits = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
        pairs = bits.astype(np.int64) * (1 << 32) + numbers
        return (np.min(pairs, axis=0) & 0x7FFFFFFF).astype(np.int32)
    # As floats, which have as many bits as the table's: so the loop has whole vectors.
    is_smallest = best == np.min(best, axis=0)
    places = np.min(np.where(is_smallest, numbers.astype(np.float64), np.inf), axis=0)
    return np.where(places == np.inf, 0.0, places).astype(np.int32)  # inf: all are NaN


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
