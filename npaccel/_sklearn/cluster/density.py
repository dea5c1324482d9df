"""``sklearn.cluster.DBSCAN`` on the device: all pairs, a tile at a time.

Clusters are the connected parts of the graph of core samples (Ester et al. 1996). Each core sample
takes the lowest number among its neighbours' until none changes, with the shortcuts of
Shiloach and Vishkin (1982): the number of passes grows with the logarithm of a cluster's length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import cluster

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels.tiles import tiles

_EUCLIDEAN = ("euclidean", "l2")


def _near(rows: Any, X: Any, limit: Any) -> Any:
    apart = rows[:, None, :] - X
    return np.sum(apart * apart, axis=2) <= limit


@kernel
def _weight_around(rows: Any, X: Any, limit: Any, weights: Any) -> Any:
    """Return for each row the weight of those of X that are near."""
    return np.sum(np.where(_near(rows, X, limit), weights, 0.0), axis=1)


@kernel
def _lowest_around(rows: Any, X: Any, limit: Any, numbers: Any, none: Any) -> Any:
    """Return for each row the lowest number of those of X that are near."""
    return np.min(np.where(_near(rows, X, limit), numbers, none), axis=1)


@on_device(
    "cluster.DBSCAN",
    refused="sparse matrices; metrics other than the Euclidean one",
    note="distances are sums of squared differences, as those of scikit-learn's trees",
)
class DBSCAN(Accelerated, cluster.DBSCAN):  # type: ignore[misc]
    """Density-based clusters; see scikit-learn's class."""

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        if why := super()._unsupported(method, X, y, **more):
            return why
        return "" if self.metric in _EUCLIDEAN else "npaccel has the Euclidean metric only"

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return "scikit-learn's trees leave out most pairs"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the clusters; `y` is ignored."""
        X = self._validated(X)
        wide = X.to(torch.float64)
        limit = torch.tensor(float(self.eps), dtype=torch.float64, device=X.device).square()
        weights = self._weights(sample_weight, wide)
        core = self._npaccel_weight(wide, limit, weights) >= self.min_samples
        labels = _components(wide, limit, core)
        self.core_sample_indices_ = torch.nonzero(core).squeeze(1)
        # Where there are none, scikit-learn doesn't ask for the dtype of X.
        some = len(self.core_sample_indices_) > 0
        self.components_ = X[core] if some else wide[:0]
        self.labels_ = labels
        return self

    def _npaccel_weight(self, X: Any, limit: Any, weights: Any) -> torch.Tensor:
        """Return how many samples there are around each, or their weight."""
        each = torch.ones_like(X[:, 0]) if weights is None else weights
        found = torch.empty_like(X[:, 0])
        for rows in _tiles(X):
            found[rows] = _weight_around(X[rows], X, limit, each)
        return found


def _tiles(X: torch.Tensor) -> Any:
    """Yield slices of rows: on a CPU differences may be stored, compiled code stores none."""
    return tiles(X, len(X) * (X.shape[1] if X.device.type == "cpu" else 1))


def _components(X: torch.Tensor, limit: torch.Tensor, core: torch.Tensor) -> torch.Tensor:
    """Return for each sample the number of its cluster, -1 for noise.

    A sample that isn't a core belongs to the first cluster with a core near it.
    """
    count = len(X)
    none = torch.tensor(count, device=X.device)
    start = torch.arange(count, device=X.device)
    numbers = torch.where(core, start, none)
    while True:
        around = torch.empty_like(numbers)
        for rows in _tiles(X):
            around[rows] = _lowest_around(X[rows], X, limit, numbers, none)
        # Whoever has a number takes the lowest that any bearer of it has found.
        lower = torch.arange(count + 1, device=X.device)
        lower.scatter_reduce_(0, torch.where(core, numbers, none), around, "amin")
        lower[count] = count
        for _ in range(max(count, 2).bit_length()):
            lower = lower[lower]
        changed = lower[numbers]
        if not transfers.number(torch.any(changed != numbers)):
            break
        numbers = changed
    first = torch.where(core, numbers, around)
    clusters = torch.unique(numbers[core])
    found = torch.searchsorted(clusters, first.contiguous())
    return torch.where(first < none, found, -1)
