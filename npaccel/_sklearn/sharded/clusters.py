"""k-means from given centres: KMeans."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.sharded.calls import (
    WholeArraysError,
    array,
    checked,
    kernel,
    sharded,
    unweighted,
    whole,
)


@kernel
def _spread(X: Any) -> Any:
    return X.mean(axis=0), X.var(axis=0).mean()


@kernel
def _step(X: Any, mean: Any, centres: Any) -> Any:
    """Return the nearest centre of each row, and the sums and numbers of the rows of each."""
    X = X - mean
    labels = np.argmin((centres * centres).sum(axis=1) - 2.0 * (X @ centres.T), axis=1)
    own = (labels[:, None] == np.arange(len(centres))).astype(X.dtype)
    return labels.astype(np.int32), own.T @ X, own.sum(axis=0)


@kernel
def _inertia(X: Any, mean: Any, centres: Any, labels: Any) -> Any:
    apart = X - mean - centres[labels]
    return (apart * apart).sum()


@kernel
def _changed(labels: Any, before: Any) -> Any:
    return (labels != before).any()


@kernel
def _distances(X: Any, centres: Any) -> Any:
    return np.sqrt(((X[:, None] - centres) ** 2).sum(axis=2))


@sharded("cluster.KMeans", "fit")
def _fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    unweighted(sample_weight)
    if not hasattr(self.init, "shape") or self.n_init not in ("auto", 1):
        raise WholeArraysError("init isn't an array of centres, or n_init isn't 1")
    checked(self, X, fits=True)
    dtype = str(X.dtype).removeprefix("torch.")
    start = np.array(whole(self.init), dtype)
    if start.shape != (self.n_clusters, X.shape[1]):
        raise WholeArraysError(f"init has the shape {start.shape}")
    mean, variance = _spread(X)
    centres = start - mean
    before, is_strict = None, False
    self.n_iter_ = 0
    while self.n_iter_ < self.max_iter:
        self.n_iter_ += 1
        labels, sums, members = _step(X, mean, centres)
        if (members == 0).any():
            raise WholeArraysError("a cluster has lost all of its rows")
        moved = sums / members[:, None]
        shift, centres = ((moved - centres) ** 2).sum(), moved
        if before is not None and not _changed(labels, before):
            is_strict = True
            break
        before = labels
        if shift <= variance * self.tol:
            break
    if not is_strict:
        labels, _, _ = _step(X, mean, centres)
    self.labels_ = labels
    self.inertia_ = float(_inertia(X, mean, centres, labels))
    self.cluster_centers_ = centres + mean
    self._n_features_out = self.n_clusters
    found = len(np.unique(whole(labels)))
    if found < self.n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({found}) found smaller than n_clusters "
            f"({self.n_clusters}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return self


@sharded("cluster.KMeans", "fit_predict")
def _fit_predict(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    return _fit(self, X, sample_weight=sample_weight).labels_


@sharded("cluster.KMeans", "predict")
def _predict(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    X = checked(self, X, fits=False)
    centres = array(self.cluster_centers_)
    return _step(X, np.zeros_like(centres[0]), centres)[0]


@sharded("cluster.KMeans", "transform")
def _transform(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    return _distances(checked(self, X, fits=False), array(self.cluster_centers_))
