"""k-means: KMeans and MiniBatchKMeans."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.parts import moments
from npaccel._sklearn.parts.calls import (
    array,
    by_parts,
    check_finite,
    fitted,
    on_device,
    to_fit,
    weights_of,
)
from npaccel._sklearn.parts.checkpoints import Checkpoints
from npaccel._sklearn.parts.draws import Chances, Rows, owners, weights_of_all
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, kernel, sums

_BOTH = "cluster.KMeans cluster.MiniBatchKMeans"


@kernel
def _spread(X: Any, weights: Any) -> Any:
    """Return numbers, means and sums of squares of columns, whatever rows weigh.

    Where values are missing, means are.
    """
    count, mean, squares = moments.of_columns(X, None)
    return count, mean + 0.0 * X.sum(axis=0), squares


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


def _farthest(X: Any, weights: Any, mean: Any, centres: Any) -> Any:
    """Return the row that is the farthest from its centre: how far, itself, its centre, weight."""
    if not len(X):
        return -1.0, None, 0, 0.0
    labels = _labels.__wrapped__(X, mean, centres)
    apart = ((X - mean - centres[labels]) ** 2).sum(axis=1)
    i = int(np.argmax(apart))
    weight = 1.0 if weights is None else float(weights[i])
    return float(apart[i]), X[i] - mean, int(labels[i]), weight


def _farther(one: Any, other: Any) -> Any:
    return other if other[0] > one[0] else one


# -- Where it begins -------------------------------------------------------------


@kernel
def _closest(X: Any, weights: Any, mean: Any, picked: Any) -> Any:
    """Return how far each row is from the nearest of those that are picked, times its weight."""
    X = X - mean
    near = (picked * picked).sum(axis=1) - 2.0 * (X @ picked.T)
    apart = np.maximum(near.min(axis=1) + (X * X).sum(axis=1), 0.0)
    return apart if weights is None else apart * weights.astype(X.dtype)


@kernel
def _potentials(X: Any, weights: Any, mean: Any, picked: Any, candidates: Any) -> Any:
    """Return how far all rows are if another one is picked, for each candidate."""
    now = _closest(X, weights, mean, picked)
    X = X - mean
    near = (candidates * candidates).sum(axis=1) - 2.0 * (X @ candidates.T)
    apart = np.maximum(near + (X * X).sum(axis=1)[:, None], 0.0)
    if weights is not None:
        apart = apart * weights.astype(X.dtype)[:, None]
    return np.minimum(now[:, None], apart).sum(axis=0, dtype=np.float64)


@kernel
def _potential(X: Any, weights: Any, mean: Any, picked: Any) -> Any:
    return _closest(X, weights, mean, picked).sum(dtype=np.float64)


def _reached(X: Any, weights: Any, mean: Any, picked: Any, levels: Any) -> Any:
    """Return the rows at which running sums of distances reach levels."""
    passed = np.cumsum(_closest.__wrapped__(X, weights, mean, picked), dtype=np.float64)
    return X[np.minimum(np.searchsorted(passed, levels), len(X) - 1)] - mean


def _plus_plus(parts: Parts, mean: Any, count: int, chances: Chances, random: Any) -> Any:
    """Return rows far from each other, as scikit-learn's greedy k-means++ draws them."""
    trials = 2 + int(np.log(count))
    # Those to come are the first one until then, so that kernels see one shape.
    picked = np.repeat(parts.rows(chances.draw(random, 1)) - mean, count, axis=0)
    totals: Any = np.array(parts.collect(_potential, mean, picked))
    for place in range(1, count):
        levels = random.uniform(size=trials) * totals.sum()
        if not totals.sum():
            raise WholeArraysError("there are fewer different rows than clusters")
        owner, left = owners(totals, levels)
        each = [left[owner == i] if (owner == i).any() else None for i in range(len(totals))]
        candidates = np.empty((trials, parts.shape[1]), parts.dtype)
        for i, rows in enumerate(parts.collect(_reached, mean, picked, each=each)):
            if rows is not None:
                candidates[owner == i] = rows
        potentials = np.array(parts.collect(_potentials, mean, picked, candidates))
        best = int(np.argmin(potentials.sum(axis=0)))
        totals = potentials[:, best]
        picked[place] = candidates[best]
    return picked


@dataclasses.dataclass
class _Start:
    """Starts of runs of k-means.

    Parameters
    ----------
    given : ndarray or None
        Centres that are given, less means.
    runs : int
    chances : Chances or None
    """

    given: Any
    runs: int
    chances: Chances | None


def _start(self: Any, parts: Parts, mean: Any, is_weighted: bool) -> _Start:
    init = self.init
    if hasattr(init, "shape") or isinstance(init, list):
        given = np.array(parts.whole(init), parts.dtype)
        if given.shape != (self.n_clusters, parts.shape[1]):
            raise WholeArraysError(f"init has the shape {given.shape}")
        return _Start(given - mean, 1, None)
    if callable(init) or self.verbose:
        raise WholeArraysError("init is a function, or what is computed is to be printed")
    count = int(parts.lengths().sum())
    if count < self.n_clusters:
        raise WholeArraysError(f"there are {count} rows for {self.n_clusters} clusters")
    runs = self.n_init
    if runs == "auto":
        runs = 1 if init == "k-means++" else 10
    return _Start(None, runs, Chances(count, weights_of_all(parts) if is_weighted else None))


def _seeds(self: Any, parts: Parts, mean: Any, start: _Start, random: Any) -> Any:
    """Return the centres to begin a run with."""
    if start.given is not None:
        return start.given
    assert start.chances is not None
    if self.init == "k-means++":
        return _plus_plus(parts, mean, self.n_clusters, start.chances, random)
    return parts.rows(start.chances.draw_apart(random, self.n_clusters)) - mean


# -- KMeans ------------------------------------------------------------------------


@dataclasses.dataclass
class _Run:
    """Result of a run.

    Parameters
    ----------
    centres : ndarray
        Less means.
    inertia : float
    count : int
        Iterations.
    found : int
        Clusters with rows.
    """

    centres: Any
    inertia: float
    count: int
    found: int


def _lloyd(
    self: Any, parts: Parts, mean: Any, centres: Any, count: int, least: float, note: Any
) -> _Run:
    """Move centres to the means of their rows until they stay.

    Where no row changes its centre, none of these moves: no labels are compared.

    Parameters
    ----------
    self : KMeans
    parts : Parts
    mean, centres : ndarray
    count : int
        How often they have been moved.
    least : float
        The move that is the last one.
    note : callable
        Is told of moves but the last.
    """
    while count < self.max_iter:
        count += 1
        total, members = parts.reduce(_step, sums, mean, centres)
        if (members == 0.0).any():
            _refill(parts, mean, centres, total, members)
        moved = (total / members[:, None]).astype(parts.dtype)
        shift, centres = ((moved - centres) ** 2).sum(), moved
        if shift <= least:
            break
        note(centres=centres, count=count)
    inertia, rows = parts.reduce(_ended, sums, mean, centres)
    return _Run(centres, float(inertia), count, int((rows > 0).sum()))


def _refill(parts: Parts, mean: Any, centres: Any, total: Any, members: Any) -> None:
    """Give a cluster without rows the one that is the farthest from its centre."""
    (empty, *more) = np.flatnonzero(members == 0.0)
    apart, row, old, weight = parts.reduce(_farthest, _farther, mean, centres)
    if more or apart <= 0.0 or weight <= 0.0:
        raise WholeArraysError("several clusters have lost all of their rows")
    total[old] -= row * weight
    total[empty] = row * weight
    members[old] -= weight
    members[empty] = weight
    if members[old] <= 0.0:
        raise WholeArraysError("a cluster has lost all of its rows")


@kernel
def _meetings(X: Any, weights: Any, mean: Any, centres: Any, others: Any) -> Any:
    """Return how many rows each pair of centres has."""
    one = _labels(X, mean, centres)[:, None] == np.arange(len(centres))
    other = _labels(X, mean, others)[:, None] == np.arange(len(others))
    return (one.astype(np.float64).T @ other.astype(np.float64),)


def _is_same(parts: Parts, mean: Any, one: _Run, other: _Run) -> bool:
    """Whether two runs have found the same clusters, in whatever order."""
    (table,) = parts.reduce(_meetings, sums, mean, one.centres, other.centres)
    return bool(((table > 0).sum(axis=0) <= 1).all() and ((table > 0).sum(axis=1) <= 1).all())


@by_parts("cluster.KMeans", "fit")
def _fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    weights = weights_of(sample_weight)
    parts = to_fit(self, X, weights)
    mass, mean, squares = parts.reduce(_spread, moments.squares)
    check_finite(self, parts, mean, squares)
    least = (squares / mass).mean() * self.tol
    mean = mean.astype(parts.dtype)
    start = _start(self, parts, mean, weights is not None)
    random = check_random_state(self.random_state)
    kept = Checkpoints(self, parts, (mass, mean, squares))
    begun = kept.load()
    best: Any = None if begun is None else begun["best"]
    first = 0 if begun is None else begun["run"]
    if begun is not None:
        random.set_state(begun["random"])
    for run in range(first, start.runs):
        if begun is None:
            centres, count = _seeds(self, parts, mean, start, random), 0
        else:
            centres, count, begun = begun["centres"], begun["count"], None
        note = functools.partial(kept.save, run=run, best=best, random=random.get_state())
        found = _lloyd(self, parts, mean, centres, count, least, note)
        if best is None or (
            found.inertia < best.inertia and not _is_same(parts, mean, found, best)
        ):
            best = found
    self._n_threads = _openmp_effective_n_threads()
    self.inertia_, self.n_iter_ = best.inertia, best.count
    self.cluster_centers_ = best.centres + mean
    self.labels_ = parts.map(_labels, mean, best.centres)
    self._n_features_out = self.n_clusters
    if best.found < self.n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({best.found}) found smaller than n_clusters "
            f"({self.n_clusters}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return self


@by_parts("cluster.KMeans", "fit_predict")
def _fit_predict(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    return _fit(self, X, sample_weight=sample_weight).labels_


@by_parts("cluster.KMeans", "fit_transform")
def _fit_transform(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    return _transform(_fit(self, X, sample_weight=sample_weight), X)


@by_parts(_BOTH, "predict")
def _predict(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    centres = array(self.cluster_centers_)
    return fitted(self, X).map(_labels, np.zeros_like(centres[0]), centres)


@by_parts(_BOTH, "transform")
def _transform(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    return fitted(self, X).map(_distances, array(self.cluster_centers_))


@by_parts(_BOTH, "score")
def _score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    check_is_fitted(self)
    centres = array(self.cluster_centers_)
    parts = fitted(self, X, weights_of(sample_weight))
    inertia, _ = parts.reduce(_ended, sums, np.zeros_like(centres[0]), centres)
    return -float(inertia)


# -- MiniBatchKMeans -----------------------------------------------------------------


@by_parts("cluster.MiniBatchKMeans", "fit")
def _fit_batches(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    _check_batches(self)
    given = weights_of(sample_weight)
    parts = to_fit(self, X, given)
    mass, mean, squares = parts.reduce(_spread, moments.squares)
    check_finite(self, parts, mean, squares)
    with on_device(self, X) as device:
        rows = Rows(parts, squares / mass, device)
        weights = _weights_on(device, parts, given)
        kept = Checkpoints(self, parts, (mass, mean, squares))
        self._npaccel_fit(rows, weights, kept.load(), kept.save)
    return _label(self, parts)


@by_parts("cluster.MiniBatchKMeans", "partial_fit")
def _partial_fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    _check_batches(self)
    given, is_first = weights_of(sample_weight), not hasattr(self, "cluster_centers_")
    parts = to_fit(self, X, given) if is_first else fitted(self, X, given)
    mass, mean, squares = parts.reduce(_spread, moments.squares)
    check_finite(self, parts, mean, squares)
    with on_device(self, X) as device:
        rows = Rows(parts, squares / mass, device)
        self._npaccel_begin(rows, _weights_on(device, parts, given) if is_first else None)
        centres, mean = array(self.cluster_centers_).astype(parts.dtype), mean.astype(parts.dtype)
        found, members = parts.reduce(_step, sums, mean, centres - mean)
        added = torch.from_numpy(found + members[:, None] * mean).to(device)
        now = torch.from_numpy(centres).to(device)
        self.cluster_centers_ = self._npaccel_moved(
            rows, now, added, torch.from_numpy(members).to(device), self._random_state
        )
    self.n_steps_ += 1
    self._n_features_out = self.n_clusters
    return _label(self, parts)


def _check_batches(self: Any) -> None:
    if callable(self.init) or self.verbose:
        raise WholeArraysError("init is a function, or what is computed is to be printed")


def _weights_on(device: torch.device, parts: Parts, weights: Any) -> torch.Tensor | None:
    return None if weights is None else torch.from_numpy(weights_of_all(parts)).to(device)


def _label(self: Any, parts: Parts) -> Any:
    """Set labels and inertia, if they are wanted."""
    if self.compute_labels:
        centres = array(self.cluster_centers_).astype(parts.dtype)
        nothing = np.zeros_like(centres[0])
        self.labels_ = parts.map(_labels, nothing, centres)
        self.inertia_ = float(parts.reduce(_ended, sums, nothing, centres)[0])
    return self


@by_parts("cluster.MiniBatchKMeans", "fit_transform")
def _fit_transform_batches(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    return _transform(_fit_batches(self, X, sample_weight=sample_weight), X)


@by_parts("cluster.MiniBatchKMeans", "fit_predict")
def _fit_predict_batches(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    return _fit_batches(self, X, sample_weight=sample_weight).labels_
