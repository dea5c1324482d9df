"""The rows within a radius, for the estimators of ``sklearn.neighbors``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.neighbors import _nearest as nearest

_Base: Any = object


class Pairs:
    """The pairs of rows that are near each other, row by row.

    Parameters
    ----------
    counts, numbers, distances : torch.Tensor
        What `_nearest.within_radius` returns.
    """

    def __init__(self, counts: Any, numbers: Any, distances: Any) -> None:
        self.counts, self.numbers, self.distances = counts, numbers, distances
        every = torch.arange(len(counts), device=counts.device)
        self.rows = torch.repeat_interleave(every, counts)

    def without_themselves(self) -> Pairs:
        """Return the pairs of two rows."""
        others = self.numbers != self.rows
        counts = torch.bincount(self.rows[others], minlength=len(self.counts))
        return Pairs(counts, self.numbers[others], self.distances[others])

    def sorted(self) -> Pairs:
        """Return them with the nearest first."""
        order = torch.argsort(self.distances, stable=True)
        order = order[torch.argsort(self.rows[order], stable=True)]
        return Pairs(self.counts, self.numbers[order], self.distances[order])

    def split(self, values: torch.Tensor) -> Any:
        """Return an array of arrays on the host: what each row has of some values."""
        found = np.empty(len(self.counts), dtype=object)
        ends = np.cumsum(transfers.to_host(self.counts))[:-1]
        # One by one: parts of equal length would become one array.
        for row, part in enumerate(np.split(transfers.to_host(values), ends)):
            found[row] = part
        return found

    def all_have_some(self) -> bool:
        """Whether each row has a neighbour."""
        return bool(transfers.number((self.counts > 0).all()))

    def weights(self) -> torch.Tensor:
        """Return one by the distance; in rows where that has no end, 1 for such and 0 else."""
        found = 1.0 / self.distances.double()
        return torch.where(self.touching()[self.rows], (self.distances == 0).double(), found)

    def touching(self) -> torch.Tensor:
        """Return which rows have a neighbour that is equal."""
        same = torch.bincount(self.rows[self.distances == 0], minlength=len(self.counts))
        return same > 0


class Radius(_Base):  # type: ignore[misc]
    """Base of the estimators that look within a radius."""

    def radius_neighbors(
        self,
        X: Any = None,
        radius: Any = None,
        return_distance: Any = True,
        sort_results: Any = False,
    ) -> Any:
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        pairs = self._npaccel_pairs(X, self.radius if radius is None else radius)
        if sort_results:
            pairs = pairs.sorted()
        numbers = pairs.split(pairs.numbers)
        return (pairs.split(pairs.distances), numbers) if return_distance else numbers

    def _npaccel_pairs(self, X: Any, radius: Any) -> Pairs:
        """Return the neighbours of rows; of those that were fitted without themselves."""
        alone = X is None
        X = self._fit_X if alone else self._validated(X, reset=False)
        pairs = Pairs(*self._npaccel_within(X.double(), float(radius)))
        return pairs.without_themselves() if alone else pairs

    def _npaccel_within(self, X: torch.Tensor, radius: float) -> Any:
        metric, Y = self.effective_metric_, self._fit_X.double()
        if metric == "cosine":
            return nearest.within_radius(nearest.unit(X), nearest.unit(Y), radius, nearest.cosine)
        if metric == "sqeuclidean":
            return nearest.within_radius(X, Y, radius, nearest.sqeuclidean)
        if metric in ("euclidean", "l2"):
            level = radius * radius if radius >= 0 else -1.0
            *found, squared = nearest.within_radius(X, Y, level, nearest.sqeuclidean)
            return *found, squared.sqrt_()
        power = nearest.POWERS.get(metric) or self.effective_metric_params_.get("p", self.p)
        return nearest.within_radius(X, Y, radius, nearest.minkowski(float(power)))
