"""``sklearn.cluster.KMeans`` and ``MiniBatchKMeans`` on the device."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn import cluster
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.cluster import _kmeans as means
from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels.tiles import nearest, squared_distances, tiles

#: Maximum number of distances for which scikit-learn's own code is as fast on a CPU.
_FEW = 1 << 25
#: Number of batches after which a fit's progress is noted, and what it has learnt but centres.
_NOTED = 64
_LEARNT = (
    *("_counts", "_ewa_inertia", "_ewa_inertia_min", "_no_improvement"),
    "_n_since_last_reassign",
)
_REFUSED = "sparse matrices; `init` that is a function; `verbose`"


_Base: Any = object


class _Means(_Base):  # type: ignore[misc]
    """Base of both estimators."""

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)
        if not why and method.startswith(("fit", "partial")):
            if callable(self.init):
                return "`init` is a function"
            if self.verbose:
                return "`verbose` prints what scikit-learn's own code has"
        return why

    def _faster_on_host(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        rows = len(X) if hasattr(X, "__len__") else 0
        few = rows * self.n_clusters <= _FEW
        return "scikit-learn's own is as fast for so few rows" if few else ""

    def predict(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        centers = self.cluster_centers_.to(X.dtype)
        return means.Points(X, len(centers)).nearest(centers)

    def transform(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        centers = self.cluster_centers_
        table = torch.empty((len(X), len(centers)), dtype=X.dtype, device=X.device)
        for rows in tiles(X, len(centers)):
            table[rows] = squared_distances(X[rows], centers).sqrt_()
        return table

    def fit_transform(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        weights = self._weights(sample_weight, X)
        centers = self.cluster_centers_.to(X.dtype)
        points = means.Points(X, len(centers))
        return -means.inertia(points, weights, centers, points.nearest(centers))

    def _npaccel_checked(self: Any, X: torch.Tensor) -> torch.Tensor | None:
        """Have scikit-learn check parameters against the shape of X; return centres given by hand.

        It reads no numbers but for the tolerance, which is computed here.
        """
        from sklearn.utils import validation

        like_x = np.broadcast_to(np.zeros(1), (len(X), 1))
        self._check_params_vs_input(like_x)
        self._n_threads = _openmp_effective_n_threads()
        self._tol = 0
        if self.tol:
            variance = X.var(dim=0, correction=0) if len(X) > 1 else torch.zeros_like(X[0])
            self._tol = transfers.number(variance.mean()) * self.tol
        if not validation._is_arraylike_not_scalar(self.init):
            return None
        init = self.init
        if isinstance(init, torch.Tensor):
            init = init.detach().cpu().numpy()
        dtype = np.float32 if X.dtype == torch.float32 else np.float64
        init = check_array(init, dtype=dtype, copy=True, order="C")
        like_x = np.broadcast_to(np.zeros(1), tuple(X.shape))
        self._validate_center_shape(like_x, init)
        return self._moved(init)  # type: ignore[no-any-return]

    def _npaccel_seeds(
        self: Any, X: Any, weights: Any, random: Any, given: Any, size: Any = None
    ) -> torch.Tensor:
        """Return the centres to start from."""
        if size is not None and size < len(X):
            which = transfers.to_device(random.randint(0, len(X), size), X.device)
            X, weights = X[which], None if weights is None else weights[which]
        elif size is not None:
            X = X[:]
        if given is not None:
            return given  # type: ignore[no-any-return]
        if self.init == "k-means++":
            return means.plus_plus(
                means.points(X, self.n_clusters), self.n_clusters, weights, random
            )
        p = means.shares(weights, X)
        seeds = random.choice(len(X), size=self.n_clusters, replace=False, p=p)
        return X[transfers.to_device(seeds, X.device)]


@on_device(
    "cluster.KMeans",
    refused=_REFUSED,
    note="`algorithm='elkan'` runs Lloyd's iterations, which find the same; sums of rows are in "
    "64 bits for float32 too",
)
class KMeans(_Means, Accelerated, cluster.KMeans):  # type: ignore[misc]
    __doc__ = cluster.KMeans.__doc__

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS)
        given = self._npaccel_checked(X)
        random = check_random_state(self.random_state)
        weights = self._weights(sample_weight, X)
        # Distances are more accurate around the mean.
        middle = means.means_of_columns(X)
        X = means.Points(X, self.n_clusters, middle)
        if given is not None:
            given = given - middle
        best: Any = None
        for _ in range(self._n_init):
            seeds = self._npaccel_seeds(X, weights, random, given)
            found = means.lloyd(X, weights, seeds, self.max_iter, self._tol)
            if best is None or (
                found[1] < best[1] and not means.same_clustering(found[0], best[0], self.n_clusters)
            ):
                best = found
        self.labels_, self.inertia_, centers, self.n_iter_ = best
        self.cluster_centers_ = centers + middle
        self._n_features_out = len(centers)
        self._npaccel_warn()
        return self

    def _npaccel_warn(self) -> None:
        sizes = means.sizes(self.labels_, None, self.n_clusters)
        distinct = transfers.number((sizes > 0).sum())
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than "
                f"n_clusters ({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=6,
            )


@on_device("cluster.MiniBatchKMeans", refused=_REFUSED)
class MiniBatchKMeans(_Means, Accelerated, cluster.MiniBatchKMeans):  # type: ignore[misc]
    __doc__ = cluster.MiniBatchKMeans.__doc__

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS)
        weights = self._weights(sample_weight, X)
        self._npaccel_fit(X, weights)
        if self.compute_labels:
            self._npaccel_label(X, weights)
        return self

    def _npaccel_fit(
        self, X: Any, weights: torch.Tensor | None, begun: Any = None, note: Any = None
    ) -> None:
        """Find the centres; of X no more is read than rows by their numbers, and its variances.

        Parameters
        ----------
        X : torch.Tensor or Rows
        weights : torch.Tensor or None
        begun : dict, optional
            What to go on from.
        note : callable, optional
            Is told now and then how far it has come.
        """
        given = self._npaccel_checked(X)
        random = check_random_state(self.random_state)
        first = 0
        if begun is not None:
            first, centers = begun["step"], begun["centers"].to(X.device)
            random.set_state(begun["random"])
            for name, value in begun["learnt"].items():
                setattr(self, name, value)
        else:
            centers = self._npaccel_start(X, weights, random, given)
            self._counts = torch.zeros(self.n_clusters, dtype=X.dtype, device=X.device)
            self._ewa_inertia = self._ewa_inertia_min = None
            self._no_improvement = self._n_since_last_reassign = 0
        whole = len(X) if weights is None else transfers.number(weights.sum())
        steps = (self.max_iter * len(X)) // self._batch_size
        batches = means.batches(X, weights, random, self._batch_size)
        for step in range(first, steps):
            if note is not None and step % _NOTED == 0 and step > first:
                learnt = {name: vars(self)[name] for name in _LEARNT}
                note(step=step, centers=centers, random=random.get_state(), learnt=learnt)
            batch = batches.next()
            new, inertia = self._npaccel_step(batch, None, centers, random)
            moved = transfers.number(((new - centers) ** 2).sum()) if self._tol > 0.0 else 0
            centers = new
            if self._mini_batch_convergence(step, steps, len(X), moved, inertia):
                break
        self.cluster_centers_ = centers
        self._n_features_out = len(centers)
        self.n_steps_ = step + 1
        self.n_iter_ = int(np.ceil(((step + 1) * self._batch_size) / len(X)))
        if not self.compute_labels:
            found: Any = self._ewa_inertia
            self.inertia_ = found * whole

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        first = not hasattr(self, "cluster_centers_")
        X = self._validated(X, dtype=FLOATS, reset=first)
        weights = self._weights(sample_weight, X)
        self._npaccel_begin(X, weights)
        # A reader's array may share the memory of the centres: they are never written into.
        self.cluster_centers_, _ = self._npaccel_step(
            X, weights, self.cluster_centers_.to(X.dtype), self._random_state
        )
        if self.compute_labels:
            self._npaccel_label(X, weights)
        self.n_steps_ += 1
        self._n_features_out = len(self.cluster_centers_)
        return self

    def _npaccel_begin(self, X: Any, weights: torch.Tensor | None) -> None:
        """Find where batches that the caller gives begin, at the first one: a tensor or `Rows`."""
        if not hasattr(self, "_random_state"):
            self._random_state = check_random_state(self.random_state)
        self.n_steps_ = getattr(self, "n_steps_", 0)
        if hasattr(self, "cluster_centers_"):
            return
        given = self._npaccel_checked(X)
        self.cluster_centers_ = self._npaccel_seeds(
            X, weights, self._random_state, given, self._init_size
        )
        self._counts = torch.zeros(self.n_clusters, dtype=X.dtype, device=X.device)
        self._n_since_last_reassign = 0

    def _npaccel_start(self, X: Any, weights: Any, random: Any, given: Any) -> torch.Tensor:
        """Return the best centres of several starts, by their inertia on a part of the rows."""
        which = transfers.to_device(random.randint(0, len(X), self._init_size), X.device)
        part, weights_of_part = X[which], None if weights is None else weights[which]
        best: Any = None
        for _ in range(self._n_init):
            centers = self._npaccel_seeds(X, weights, random, given, self._init_size)
            inertia = means.inertia(part, weights_of_part, centers, nearest(part, centers))
            if best is None or inertia < best[1]:
                best = centers, inertia
        return best[0]  # type: ignore[no-any-return]

    def _npaccel_label(self, X: torch.Tensor, weights: Any) -> None:
        centers = self.cluster_centers_.to(X.dtype)
        points = means.Points(X, len(centers))
        self.labels_ = points.nearest(centers)
        self.inertia_ = means.inertia(points, weights, centers, self.labels_)

    def _npaccel_step(
        self, X: torch.Tensor, weights: Any, centers: torch.Tensor, random: Any
    ) -> tuple[torch.Tensor, float]:
        """Move the centres by one batch, and return the inertia before."""
        labels = nearest(X, centers)
        inertia = means.inertia(X, weights, centers, labels)
        sums = means.Sums(means.points(X, len(centers)), weights, len(centers))
        mass = sums.weights_of_clusters(labels)
        added = sums.update(labels, labels, len(labels) + 1)
        return self._npaccel_moved(X, centers, added, mass, random), inertia

    def _npaccel_moved(
        self, X: Any, centers: torch.Tensor, added: Any, mass: Any, random: Any
    ) -> torch.Tensor:
        """Return the centres with the sums and weights of a batch's rows, which are added to each.

        Of X, a tensor or `Rows`, no more is read than clusters restart with.
        """
        # As scikit-learn does: which are due is asked before the batch is counted.
        counts = self._counts
        reassign = self._random_reassign() and self.reassignment_ratio > 0
        after = counts.double() + mass
        moved = (centers.double() * counts[:, None] + added) / torch.where(mass > 0, after, 1.0)[
            :, None
        ]
        new = torch.where(mass[:, None] > 0, moved, centers.double()).to(X.dtype)
        self._counts = after.to(X.dtype)
        if reassign:
            new = self._npaccel_reassigned(X, new, random)
        return new

    def _npaccel_reassigned(self, X: Any, centers: torch.Tensor, random: Any) -> torch.Tensor:
        """Restart clusters of very little weight; few numbers, decided on the host."""
        counts = transfers.to_host(self._counts).copy()
        due = counts < self.reassignment_ratio * counts.max()
        if due.sum() > 0.5 * len(X):
            due[np.argsort(counts)[int(0.5 * len(X)) :]] = False
        if due.any():
            rows = random.choice(len(X), replace=False, size=due.sum())
            where = transfers.to_device(np.flatnonzero(due), X.device)
            centers = centers.index_copy(0, where, X[transfers.to_device(rows, X.device)])
        counts[due] = np.min(counts[~due])
        self._counts = transfers.to_device(counts, X.device)
        return centers
