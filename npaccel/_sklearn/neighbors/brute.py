"""``sklearn.neighbors``: the nearest rows by brute force on the device."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn import neighbors
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import transfers, validation
from npaccel._sklearn.dispatch.common import AS_FAST
from npaccel._sklearn.dispatch.estimator import Accelerated, shape_of
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.neighbors import _nearest as nearest
from npaccel._sklearn.neighbors._radius import Radius

_METRICS = {"euclidean", "l2", "sqeuclidean", "minkowski", "p", "cosine", *nearest.POWERS}
#: Maximum number of distances for which scikit-learn's own code is as fast on a CPU.
_FEW = 1 << 22
#: Maximum number of features for which scikit-learn takes a tree.
_FOR_TREES = 15
_REFUSED = (
    "sparse matrices; metrics other than the Euclidean, `minkowski`, `manhattan`, `chebyshev` and "
    "`cosine`; `metric_params`; trees asked for by `algorithm`"
)
_Base: Any = object


class _Neighbors(_Base):  # type: ignore[misc]
    """Base of the estimators."""

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)
        if not why and method.startswith("radius"):
            # The second argument that has no name is the radius.
            radius, y = more.get("radius", y), None
            why = "each row has a radius of its own" if np.ndim(radius) else ""
        return why or self._npaccel_refused(method, X, y)

    def _npaccel_refused(self, method: str, X: Any, y: Any) -> str:
        if isinstance(X, neighbors.KDTree | neighbors.BallTree) or hasattr(X, "_fit_X"):
            return "X is a fitted tree"
        if sparse.issparse(y) or getattr(getattr(y, "dtype", None), "kind", "") in ("c", "V"):
            return "y isn't an array of numbers or labels"
        if getattr(self, "_tree", None) is not None and not method.startswith("fit"):
            return "it was fitted with a tree"
        if self.algorithm not in ("auto", "brute"):
            return f"algorithm={self.algorithm!r} is a tree"
        if not isinstance(self.metric, str) or self.metric not in _METRICS:
            return f"metric={self.metric!r} is computed by scikit-learn alone"
        if self.metric_params:
            return "`metric_params` are read by scikit-learn alone"
        if callable(getattr(self, "weights", None)):
            return "`weights` is a function"
        return ""

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        if method == "fit":
            features = shape_of(X)[1:] or (0,)
            tree = self.algorithm == "auto" and features[0] <= _FOR_TREES
            return "a tree is faster on a CPU for few features" if tree else ""
        if method.startswith("radius"):
            return AS_FAST
        rows = self.n_samples_fit_ if X is None else len(X)
        few = rows * getattr(self, "n_samples_fit_", 0) <= _FEW
        return "scikit-learn's own is as fast for so few rows" if few else ""

    # -- Fit ---------------------------------------------------------------------------------

    def _npaccel_fit(self, X: Any, y: Any = None) -> Any:
        if y is None and not self.__sklearn_tags__().target_tags.required:
            X = self._validated(X)
        else:
            X, y = self._validated(X, y, multi_output=True)
            self._npaccel_targets(y)
        self._check_algorithm_metric()
        self.effective_metric_, self.effective_metric_params_ = self._npaccel_metric()
        self._fit_X, self._tree, self._fit_method = X, None, "brute"
        self.n_samples_fit_ = len(X)
        return self

    def _npaccel_metric(self) -> tuple[str, dict[str, Any]]:
        if self.metric != "minkowski":
            return self.metric, {}
        names = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        if self.p in names:
            return names[self.p], {}
        if self.p < 1:
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance"
                " metrics. Continuing the execution with `algorithm='brute'`.",
                stacklevel=6,
            )
        return "minkowski", {"p": self.p, "w": None}

    def _npaccel_targets(self, y: Any) -> None:
        if not is_classifier(self):
            self._y = self._moved(y)
            return
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change "
                "the shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=6,
            )
        self.outputs_2d_ = y.ndim == 2 and y.shape[1] != 1
        columns = y if self.outputs_2d_ else y.reshape(-1, 1)
        found = [validation.encoded(columns[:, n]) for n in range(columns.shape[1])]
        codes = [self._moved(codes) for _, codes in found]
        self.classes_ = [classes for classes, _ in found]
        self._y = torch.stack(codes, dim=1)
        if not self.outputs_2d_:
            self.classes_, self._y = self.classes_[0], codes[0]

    # -- Neighbours --------------------------------------------------------------------------

    def kneighbors(
        self, X: Any = None, n_neighbors: Any = None, return_distance: Any = True
    ) -> Any:
        check_is_fitted(self)
        k = self._npaccel_count(n_neighbors)
        alone = X is None
        X = self._fit_X if alone else self._validated(X, reset=False)
        self._npaccel_check_count(k, X, alone)
        distances, found = self._npaccel_nearest(X, k + alone)
        if alone:
            distances, found = _without_themselves(distances, found)
        return (distances, found) if return_distance else found

    def _npaccel_count(self, n_neighbors: Any) -> int:
        if n_neighbors is None:
            return self.n_neighbors  # type: ignore[no-any-return]
        if n_neighbors <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
        if not isinstance(n_neighbors, numbers.Integral):
            raise TypeError(
                f"n_neighbors does not take {type(n_neighbors)} value, enter integer value"
            )
        return int(n_neighbors)

    def _npaccel_check_count(self, k: int, X: torch.Tensor, alone: bool) -> None:
        if k + alone > self.n_samples_fit_:
            relation = "<" if alone else "<="
            raise ValueError(
                f"Expected n_neighbors {relation} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {self.n_samples_fit_}, n_samples = {len(X)}"
            )

    def _npaccel_nearest(self, X: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        metric, Y, dtype = self.effective_metric_, self._fit_X, X.dtype
        if metric == "cosine":
            units = nearest.unit(X.double()), nearest.unit(Y.double())
            distances, found = nearest.k_nearest(*units, k, nearest.cosine)
            return distances.to(torch.promote_types(dtype, torch.float32)), found
        if metric in ("euclidean", "l2", "sqeuclidean"):
            distances, found = nearest.k_nearest(X, Y, k, nearest.sqeuclidean)
            return (distances if metric == "sqeuclidean" else distances.sqrt_()), found
        p: Any = nearest.POWERS.get(metric) or self.effective_metric_params_.get("p", self.p)
        return nearest.k_nearest(X, Y, k, nearest.minkowski(float(p)))

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: Any = None, mode: Any = "connectivity"
    ) -> Any:
        check_is_fitted(self)
        if mode not in ("connectivity", "distance"):
            raise ValueError(
                'Unsupported mode, must be one of "connectivity", '
                f'or "distance" but got "{mode}" instead'
            )
        distances, found = self.kneighbors(X, n_neighbors)
        count, k = found.shape
        data = np.ones(count * k) if mode == "connectivity" else transfers.to_host(distances)
        # A plain matrix: scikit-learn's own function makes of it what its configuration says.
        parts = (data.ravel(), transfers.to_host(found).ravel(), np.arange(0, count * k + 1, k))
        return _sparse(parts, (count, self.n_samples_fit_))

    def _npaccel_weighted(self, X: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the neighbours of rows and their weights, None where they are the same."""
        distances, found = self.kneighbors(X)
        if self.weights != "distance":
            return found, None
        weights = 1.0 / distances
        endless = torch.isinf(weights)
        rows = endless.any(dim=1, keepdim=True)
        return found, torch.where(rows, endless.to(weights.dtype), weights)


def _sparse(parts: Any, shape: tuple[int, int]) -> Any:
    try:
        from sklearn.utils import _align_api_if_sparse
    except ImportError:  # scikit-learn 1.8 and before
        return sparse.csr_matrix(parts, shape=shape)
    return _align_api_if_sparse(sparse.csr_array(parts, shape=shape))


def _without_themselves(
    distances: torch.Tensor, found: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Drop each row from its own neighbours, or the first of more duplicates than neighbours."""
    others = found != torch.arange(len(found), device=found.device)[:, None]
    others[:, 0] &= ~others.all(dim=1)
    shape = (len(found), found.shape[1] - 1)
    return distances[others].reshape(shape), found[others].reshape(shape)


@on_device("neighbors.NearestNeighbors", refused=_REFUSED)
class NearestNeighbors(  # type: ignore[misc]
    Radius, _Neighbors, Accelerated, neighbors.NearestNeighbors
):
    __doc__ = neighbors.NearestNeighbors.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        return self._npaccel_fit(X)


@on_device("neighbors.KNeighborsClassifier", refused=f"{_REFUSED}; `weights` that is a function")
class KNeighborsClassifier(  # type: ignore[misc]
    _Neighbors, Accelerated, neighbors.KNeighborsClassifier
):
    __doc__ = neighbors.KNeighborsClassifier.__doc__

    #: scikit-learn's own has it again, for its docstring.
    score = ClassifierMixin.score

    def fit(self, X: Any, y: Any) -> Any:
        return self._npaccel_fit(X, y)

    def predict(self, X: Any) -> Any:
        check_is_fitted(self, "_fit_method")
        return _elected(self, self._npaccel_votes(X))

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self, "_fit_method")
        return _shared(self, self._npaccel_votes(X))

    def _npaccel_votes(self, X: Any) -> list[torch.Tensor]:
        """Return for each output the weight of each class for each row."""
        found, weights = self._npaccel_weighted(X)
        weights = torch.ones_like(found, dtype=torch.float64) if weights is None else weights
        weights = weights.double()
        columns = self._y if self.outputs_2d_ else self._y[:, None]
        classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        votes = []
        for n, kinds in enumerate(classes):
            empty = weights.new_zeros((len(found), len(kinds)))
            votes.append(empty.scatter_add_(1, columns[found, n], weights))
        return votes


def _elected(self: Any, votes: list[torch.Tensor]) -> Any:
    """Return the labels with the largest votes of each output, of several the first."""
    classes = self.classes_ if self.outputs_2d_ else [self.classes_]
    labels = [validation.labels(c, _first_largest(v)) for c, v in zip(classes, votes, strict=True)]
    if not self.outputs_2d_:
        return labels[0]
    if isinstance(labels[0], torch.Tensor):
        return torch.stack(labels, dim=1).to(labels[0].dtype)
    return np.stack(labels, axis=1)


def _shared(self: Any, votes: list[torch.Tensor]) -> Any:
    """Return which part of the votes each class has, for each output."""
    found = [one / one.sum(dim=1, keepdim=True) for one in votes]
    return found if self.outputs_2d_ else found[0]


def _first_largest(votes: torch.Tensor) -> torch.Tensor:
    """Return the number of the largest of each row, of several the first."""
    numbers = torch.arange(votes.shape[1], device=votes.device)
    largest = votes == votes.amax(dim=1, keepdim=True)
    return torch.where(largest, numbers, votes.shape[1] - 1).amin(dim=1)


class _OfNumbers(_Neighbors):
    """Base of the regressions."""

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)
        kind = getattr(getattr(y, "dtype", None), "kind", "f")
        return why or ("" if method != "fit" or kind in "biuf" else f"y has the dtype {y.dtype}")


@on_device("neighbors.KNeighborsRegressor", refused=f"{_REFUSED}; `weights` that is a function")
class KNeighborsRegressor(  # type: ignore[misc]
    _OfNumbers, Accelerated, neighbors.KNeighborsRegressor
):
    __doc__ = neighbors.KNeighborsRegressor.__doc__

    def fit(self, X: Any, y: Any) -> Any:
        return self._npaccel_fit(X, y)

    def predict(self, X: Any) -> Any:
        found, weights = self._npaccel_weighted(X)
        y = self._y if self._y.is_floating_point() else self._y.double()
        columns = y[:, None] if y.ndim == 1 else y
        near = columns[found]
        if weights is None:
            predicted = near.mean(dim=1)
        else:
            weights = weights.double()
            total = (near.double() * weights[:, :, None]).sum(dim=1)
            predicted = total / weights.sum(dim=1, keepdim=True)
        return predicted[:, 0] if y.ndim == 1 else predicted
