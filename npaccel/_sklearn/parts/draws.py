"""Rows that are drawn by their numbers, as scikit-learn draws them of the whole."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.parts.engine import Parts

#: Bytes of rows that are read ahead at most, and the number of batches that are at first.
_AHEAD, _FIRST = 1 << 26, 4


class Chances:
    """The probabilities of rows, as ``RandomState.choice`` takes them.

    Parameters
    ----------
    count : int
        The number of rows.
    weights : ndarray, optional
        Their weights; without them all rows have the same.
    """

    def __init__(self, count: int, weights: Any = None) -> None:
        self.count = count
        self.shares: Any = None
        if weights is not None:
            self.shares = weights / weights.sum()
            passed = self.shares.cumsum(dtype=np.float64)
            self._passed = passed / passed[-1]

    def draw(self, random: Any, size: int) -> np.ndarray[Any, Any]:
        """Return numbers of rows, drawn with replacement."""
        levels = random.random_sample(size)
        if self.shares is None:
            return np.minimum((levels * self.count).astype(np.int64), self.count - 1)
        return np.searchsorted(self._passed, levels, side="right")

    def draw_apart(self, random: Any, size: int) -> Any:
        """Return numbers of rows, drawn without replacement."""
        shares = self.shares
        if shares is None:
            shares = np.full(self.count, 1.0 / self.count)
        return random.choice(self.count, size=size, replace=False, p=shares)


def weights_of_all(parts: Parts) -> Any:
    """Return the weights of all rows, the first array beside X; None where there are none."""
    found = parts.collect(_weights)
    return None if found[0] is None else np.concatenate(found).astype(parts.dtype)


def _weights(X: Any, weights: Any) -> Any:
    return weights


class Rows:
    """Rows in parts that are read by their numbers, as of a tensor.

    Parameters
    ----------
    parts : Parts
    variance : ndarray
        Of columns.
    device : torch.device
        Where rows are wanted.
    """

    def __init__(self, parts: Parts, variance: Any, device: torch.device) -> None:
        self._parts, self._variance = parts, variance
        self.device = device
        self.shape = (int(parts.lengths().sum()), parts.shape[1])
        self.dtype = getattr(torch, parts.dtype.name)

    def __len__(self) -> int:
        return self.shape[0]

    def var(self, dim: int, correction: int) -> torch.Tensor:
        """Return variances of columns."""
        assert dim == correction == 0
        return self._moved(self._variance)

    def __getitem__(self, rows: Any) -> torch.Tensor:
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        elif isinstance(rows, torch.Tensor):
            rows = rows.cpu().numpy()
        return self._moved(self._parts.rows(rows))

    def _moved(self, array: Any) -> torch.Tensor:
        return transfers.to_device(array.astype(self._parts.dtype), self.device)

    def batches(self, weights: torch.Tensor | None, random: Any, size: int) -> _Batches:
        """Return what draws rows by their weights, and reads them ahead."""
        given = None if weights is None else weights.cpu().numpy()
        return _Batches(self, Chances(len(self), given), random, size)


class _Batches:
    """Rows that are drawn with replacement, some at a time.

    Those of several batches are read in one pass. If other numbers are drawn of the same generator
    meanwhile, what was read ahead is left.
    """

    def __init__(self, rows: Rows, chances: Chances, random: Any, size: int) -> None:
        self._rows, self._chances, self._random, self._size = rows, chances, random, size
        self._ahead: list[tuple[np.ndarray[Any, Any], torch.Tensor]] = []
        self._count = _FIRST

    def next(self) -> torch.Tensor:
        """Return the next rows."""
        if not self._ahead:
            self._read()
        which = self._chances.draw(self._random, self._size)
        expected, rows = self._ahead.pop(0)
        if np.array_equal(which, expected):
            return rows
        self._ahead.clear()
        self._count = _FIRST
        return self._rows[torch.from_numpy(which)]

    def _read(self) -> None:
        """Read the rows that will be drawn next."""
        random = copy.deepcopy(self._random)
        drawn = [self._chances.draw(random, self._size) for _ in range(self._count)]
        found = torch.split(self._rows[torch.from_numpy(np.concatenate(drawn))], self._size)
        self._ahead = list(zip(drawn, found, strict=True))
        width = self._rows.shape[1] * self._rows.dtype.itemsize * self._size
        self._count = max(1, min(2 * self._count, _AHEAD // width))


def owners(totals: Sequence[float], levels: Any) -> tuple[Any, Any]:
    """Return in which part running sums reach levels, and what is left of these there."""
    passed = np.cumsum(np.asarray(totals, np.float64))
    found = np.minimum(np.searchsorted(passed, levels), len(passed) - 1)
    # A part without anything isn't the last one.
    last = np.flatnonzero(np.asarray(totals) > 0)[-1]
    found = np.minimum(found, last)
    return found, levels - (passed[found] - np.asarray(totals)[found])


__all__ = ["Chances", "Rows", "owners", "weights_of_all"]
