"""``sklearn.manifold.TSNE`` with ``method="exact"`` on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import manifold
from sklearn.utils import check_random_state

from npaccel._sklearn.decomposition.pca import PCA
from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.manifold import _tsne
from npaccel._sklearn.metrics import _pairwise
from npaccel._sklearn.neighbors import _nearest

#: Dtypes of floats here; other dtypes become the first.
_FLOATS = (np.float32, np.float64)
#: Minimum number of rows on a CPU; fewer are left to scikit-learn.
_FEW = 2000
#: Metrics that give squared distances, by scikit-learn's names; for cosine the rows have length 1.
_SQUARED: dict[str, _nearest.Distance] = {
    "euclidean": _pairwise.squared_distances,
    "l2": _nearest.sqeuclidean,
    "minkowski": _nearest.sqeuclidean,
    "sqeuclidean": lambda X, Y: _nearest.sqeuclidean(X, Y).square_(),
    "manhattan": lambda X, Y: torch.cdist(X, Y, p=1.0).square_(),
    "chebyshev": lambda X, Y: torch.cdist(X, Y, p=torch.inf).square_(),
    "cosine": lambda X, Y: _nearest.cosine(X, Y).square_(),
}
_SQUARED["cityblock"] = _SQUARED["l1"] = _SQUARED["manhattan"]


@on_device(
    "manifold.TSNE",
    refused='`method="barnes_hut"`, the default, which walks a tree; sparse matrices; metrics but '
    "precomputed distances, powers and cosines; `metric_params`; `verbose`",
    tolerance=1e-2,
    note='with `method="exact"` all pairs take 12 bytes each; the descent amplifies rounding, so '
    "that long runs end in other embeddings of the same quality",
)
class TSNE(Accelerated, manifold.TSNE):  # type: ignore[misc]
    __doc__ = manifold.TSNE.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        self._check_params_vs_input(X)
        given = X
        self.learning_rate_ = self.learning_rate
        if self.learning_rate == "auto":
            self.learning_rate_ = np.maximum(len(X) / self.early_exaggeration / 4, 50)
        X = self._validated(X, dtype=_FLOATS)
        if self.metric == "precomputed" and self._npaccel_is_bad(X):
            return common.by_scikit_learn(self, "fit_transform", given)
        P = _tsne.probabilities(_distances(X, self.metric), self.perplexity)
        beginning = self._npaccel_beginning(X)
        self.embedding_ = self._npaccel_descent(P, beginning.T.contiguous()).T.contiguous()
        return self.embedding_

    def _npaccel_is_bad(self, X: torch.Tensor) -> bool:
        """Whether scikit-learn refuses distances."""
        pca = isinstance(self.init, str) and self.init == "pca"
        return pca or X.shape[0] != X.shape[1] or bool(transfers.number((X < 0).any()))

    def _npaccel_beginning(self, X: torch.Tensor) -> torch.Tensor:
        """Return the points to begin with."""
        if isinstance(self.init, np.ndarray):
            return self._moved(self.init).reshape(len(X), self.n_components)
        random = check_random_state(self.random_state)
        if self.init == "random":
            drawn = random.standard_normal(size=(len(X), self.n_components))
            return self._moved(1e-4 * drawn.astype(np.float32))
        pca = PCA(self.n_components, random_state=random).set_output(transform="default")
        found = pca.fit_transform(X).to(torch.float32)
        deviation = found[:, 0].double().std(correction=0)
        return found / deviation.to(torch.float32) * 1e-4

    def _npaccel_descent(self, P: torch.Tensor, YT: torch.Tensor) -> torch.Tensor:
        """Go down with exaggerated probabilities, then with what they are."""
        divergence = _tsne.Divergence(P, self.n_components)
        given: dict[str, Any] = {
            "rate": self.learning_rate_,
            "smallest": self.min_grad_norm,
            "every": self._N_ITER_CHECK,
        }
        first = self._EXPLORATION_MAX_ITER
        YT, error, number = _tsne.descended(
            divergence,
            YT,
            range(first),
            factor=float(self.early_exaggeration),
            momentum=0.5,
            patience=first,
            **given,
        )
        most = 1000 if self.max_iter is None else self.max_iter  # None: scikit-learn 1.6
        # The same test as scikit-learn's: with `max_iter=250` it passes, for no steps.
        if number < first or most > first:
            YT, error, number = _tsne.descended(
                divergence,
                YT,
                range(number + 1, most),
                factor=1.0,
                momentum=0.8,
                patience=self.n_iter_without_progress,
                **given,
            )
        self.n_iter_, self.kl_divergence_ = number, error
        return YT

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        if why := super()._unsupported(method, X, y, **more):
            return why
        if self.method != "exact":
            return f'`method="{self.method}"` walks a tree; `method="exact"` takes all pairs'
        if getattr(self, "n_iter", "deprecated") != "deprecated":  # gone since 1.7
            return "`n_iter` is read by scikit-learn alone"
        if self.metric_params or not (
            isinstance(self.metric, str) and self.metric in {*_SQUARED, "precomputed"}
        ):
            return f"`metric={self.metric!r}` is computed by scikit-learn alone"
        if isinstance(self.init, np.ndarray) and not (
            self.init.dtype in _FLOATS and self.init.shape == (len(X), self.n_components)
        ):
            return "`init` isn't a point of floats for each row"
        return "`verbose` prints how scikit-learn's own code goes on" if self.verbose else ""

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return "scikit-learn's own is as fast for so few rows" if len(X) < _FEW else ""


def _distances(X: torch.Tensor, metric: str) -> torch.Tensor:
    """Return the squared distances of all pairs in 32 bits, as scikit-learn's search takes them."""
    if metric == "precomputed":
        return (X * X).to(torch.float32)
    found = X.new_empty((len(X), len(X)), dtype=torch.float32)
    wide = X.double()
    if metric == "cosine":
        lengths = torch.linalg.vector_norm(wide, dim=1, keepdim=True)
        wide = wide / torch.where(lengths > 0, lengths, 1.0)
    for rows in _tsne.tiles(found):
        found[rows] = _SQUARED[metric](wide[rows], wide)
    return found
