"""k-means: KMeans."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.parts import moments
from npaccel._sklearn.parts.calls import array, by_parts, check_finite, fitted, to_fit, weights_of
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, kernel, sums


@kernel
def _spread(X: Any, weights: Any) -> Any:
    """Return numbers, means and sums of squares of columns, whatever rows weigh."""
    return moments.of_columns(X, None)


@kernel
def _labels(X: Any, mean: Any, centres: Any) -> Any:
    """Return the nearest centre of each row."""
    scores = (centres * centres).sum(axis=1) - 2.0 * ((X - mean) @ centres.T)
    return np.argmin(scores, axis=1).astype(np.int32)


@kernel
def _step(X: Any, weights: Any, mean: Any, centres: Any) -> Any:
    """Return the sums and weights of the rows that are nearest to each centre."""
    labels = _labels(X, mean, centres)
    own = (labels[:, None] == np.arange(len(centres))).astype(X.dtype)
    if weights is not None:
        own = own * weights.astype(X.dtype)[:, None]
    return own.T @ (X - mean), own.sum(axis=0, dtype=np.float64)


@kernel
def _ended(X: Any, weights: Any, mean: Any, centres: Any) -> Any:
    """Return the inertia, and how many rows are nearest to each centre."""
    labels = _labels(X, mean, centres)
    apart = X - mean - centres[labels]
    squares = (apart * apart).sum(axis=1)
    if weights is not None:
        squares = squares * weights.astype(X.dtype)
    own = labels[:, None] == np.arange(len(centres))
    return squares.sum(dtype=np.float64), own.sum(axis=0)


@kernel
def _distances(X: Any, centres: Any) -> Any:
    return np.sqrt(((X[:, None] - centres) ** 2).sum(axis=2))


def _start(self: Any, parts: Parts) -> Any:
    """Return the centres that are given."""
    if not hasattr(self.init, "shape") or self.n_init not in ("auto", 1):
        raise WholeArraysError("init isn't an array of centres, or n_init isn't 1")
    start = np.array(parts.whole(self.init), parts.dtype)
    if start.shape != (self.n_clusters, parts.shape[1]):
        raise WholeArraysError(f"init has the shape {start.shape}")
    return start


@by_parts("cluster.KMeans", "fit")
def _fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    parts = to_fit(self, X, weights_of(sample_weight))
    start = _start(self, parts)
    mass, mean, squares = parts.reduce(_spread, moments.squares)
    check_finite(self, parts, mean, squares)
    least = (squares / mass).mean() * self.tol
    mean = mean.astype(parts.dtype)
    centres = start - mean
    self.n_iter_ = 0
    # Where no row changes its centre, none of these moves: no labels are compared.
    while self.n_iter_ < self.max_iter:
        self.n_iter_ += 1
        total, members = parts.reduce(_step, sums, mean, centres)
        if (members == 0.0).any():
            raise WholeArraysError("a cluster has lost all of its rows")
        moved = (total / members[:, None]).astype(parts.dtype)
        shift, centres = ((moved - centres) ** 2).sum(), moved
        if shift <= least:
            break
    inertia, rows = parts.reduce(_ended, sums, mean, centres)
    self.inertia_ = float(inertia)
    self.cluster_centers_ = centres + mean
    self.labels_ = parts.map(_labels, mean, centres)
    self._n_features_out = self.n_clusters
    found = int((rows > 0).sum())
    if found < self.n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({found}) found smaller than n_clusters "
            f"({self.n_clusters}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return self


@by_parts("cluster.KMeans", "fit_predict")
def _fit_predict(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    return _fit(self, X, sample_weight=sample_weight).labels_


@by_parts("cluster.KMeans", "predict")
def _predict(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    centres = array(self.cluster_centers_)
    return fitted(self, X).map(_labels, np.zeros_like(centres[0]), centres)


@by_parts("cluster.KMeans", "transform")
def _transform(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    return fitted(self, X).map(_distances, array(self.cluster_centers_))


@by_parts("cluster.KMeans", "score")
def _score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    check_is_fitted(self)
    centres = array(self.cluster_centers_)
    parts = fitted(self, X, weights_of(sample_weight))
    inertia, _ = parts.reduce(_ended, sums, np.zeros_like(centres[0]), centres)
    return -float(inertia)
