"""The nearest rows: NearestNeighbors, KNeighborsClassifier and KNeighborsRegressor.

Each part finds its own nearest rows by scikit-learn's code, and of those of two parts the nearest
are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import neighbors
from sklearn.base import is_classifier
from sklearn.neighbors._base import _get_weights
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch.accelerate import to_host
from npaccel._sklearn.parts.calls import (
    array,
    by_parts,
    check_values,
    check_width,
    fitted,
    labels_of,
    parts_of,
    to_fit,
)
from npaccel._sklearn.parts.engine import WholeArraysError, engine_of

_ALL = "neighbors.NearestNeighbors neighbors.KNeighborsClassifier neighbors.KNeighborsRegressor"
_WITH_TARGETS = "neighbors.KNeighborsClassifier neighbors.KNeighborsRegressor"
_SETTINGS = ("algorithm", "leaf_size", "metric", "p", "metric_params")


def _near(X: Any, y: Any, queries: Any, count: int, settings: Any, *others: Any) -> Any:
    """Return the nearest rows of a part: how far, which, their targets; and how many it has."""
    own = min(count, len(X))
    if own and len(queries):
        model = neighbors.NearestNeighbors(n_neighbors=own, **settings).fit(X)
        apart, which = model.kneighbors(queries)
    else:
        apart = np.empty((len(queries), own))
        which = np.empty((len(queries), own), np.int64)
    return apart, which, None if y is None else y[which], len(X), count


def _nearer(one: Any, other: Any) -> Any:
    """Return the nearest of two parts' rows."""
    apart = np.concatenate([one[0], other[0]], axis=1)
    which = np.concatenate([one[1], other[1] + one[3]], axis=1)
    order = np.argsort(apart, axis=1, kind="stable")[:, : one[4]]
    rows = np.arange(len(apart))[:, None]
    y = None
    if one[2] is not None:
        y = np.concatenate([one[2], other[2]], axis=1)[rows, order]
    return apart[rows, order], which[rows, order], y, one[3] + other[3], one[4]


# -- What is made of the nearest rows -----------------------------------------------


def _both(found: Any, *constants: Any) -> Any:
    return found[0], found[1]


def _others(found: Any, numbers: Any, *constants: Any) -> Any:
    """Return the nearest rows but the row itself; or but the first of many that are the same."""
    apart, which, *_ = found
    kept = which != numbers[:, None]
    kept[kept.all(axis=1), 0] = False
    shape = len(which), max(which.shape[1] - 1, 0)
    return apart[kept].reshape(shape), which[kept].reshape(shape)


def _votes(found: Any, weights: Any, classes: Any) -> Any:
    """Return the weight of each class for each query."""
    apart, _, y, *_ = found
    each = _get_weights(apart, weights)
    each = np.ones(apart.shape) if each is None else each
    if len(each) and (each == 0).all(axis=1).any():
        raise ValueError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
            "avoid this case if you are using a user-defined function."
        )
    votes = np.zeros((len(apart), len(classes)))
    for column in range(apart.shape[1]):
        votes[np.arange(len(apart)), y[:, column]] += each[:, column]
    return votes


def _elected(found: Any, count: int, settings: Any, weights: Any, classes: Any) -> Any:
    return (classes[np.argmax(_votes(found, weights, classes), axis=1)],)


def _shared(found: Any, count: int, settings: Any, weights: Any, classes: Any) -> Any:
    votes = _votes(found, weights, classes)
    return (votes / votes.sum(axis=1, keepdims=True),)


def _averaged(found: Any, count: int, settings: Any, weights: Any, classes: Any) -> Any:
    apart, _, y, *_ = found
    each = _get_weights(apart, weights)
    if each is None:
        return (np.mean(y, axis=1),)
    own = each.reshape(each.shape + (1,) * (y.ndim - 2))
    return ((y * own).sum(axis=1) / own.sum(axis=1),)


# -- Fit ------------------------------------------------------------------------------


def _fit_rows(self: Any, X: Any, y: Any = None) -> None:
    if self.metric == "precomputed":
        raise WholeArraysError("X holds distances")
    parts = to_fit(self, X, y)
    check_values(self, parts)
    self._check_algorithm_metric()
    like = neighbors.NearestNeighbors(**_settings(self)).fit(np.zeros((2, parts.shape[1])))
    self.effective_metric_ = like.effective_metric_
    self.effective_metric_params_ = like.effective_metric_params_
    self._fit_method = "brute" if self.algorithm == "auto" else self.algorithm
    self._fit_X, self._tree = X, None
    self.n_samples_fit_ = int(parts.lengths().sum())


def _settings(self: Any) -> dict[str, Any]:
    return {name: getattr(self, name) for name in _SETTINGS}


@by_parts("neighbors.NearestNeighbors", "fit")
def _fit(self: Any, X: Any, y: Any = None) -> Any:
    _fit_rows(self, X)
    return self


@by_parts(_WITH_TARGETS, "fit")
def _fit_with_targets(self: Any, X: Any, y: Any) -> Any:
    of_classes = is_classifier(self)
    if np.ndim(y) != 1 and (of_classes or np.ndim(y) != 2):
        raise WholeArraysError(f"y has {np.ndim(y)} dimensions")
    _fit_rows(self, X, y)
    self._y = y
    if of_classes:
        self.outputs_2d_ = False
        self.classes_ = classes = labels_of(self, y)
        if engine_of(y) is None:
            self._y = _codes(np.asarray(y), classes)
        else:
            self._y = parts_of(self, "labels", y, ()).map(_codes, classes)
    return self


def _codes(y: Any, classes: Any) -> Any:
    return np.searchsorted(classes, y)


# -- Queries ----------------------------------------------------------------------------


def _across(
    self: Any, X: Any, name: str, count: int, finish: Any, likes: Any, *constants: Any
) -> Any:
    """Return what a function makes of the nearest rows, as arrays with the rows of X.

    Parameters
    ----------
    self : Accelerated
    X : array
        Queries, in parts or not.
    name : str
        The method.
    count : int
        How many rows are wanted for each query.
    finish : callable
        Returns a tuple of arrays.
    likes : sequence of ndarray
        Arrays of one row with the dtypes and sizes of those.
    *constants : object
    """
    check_is_fitted(self, "_fit_method")
    if X is None:
        raise WholeArraysError("X is None")
    rows = vars(self)["_fit_X"]
    if engine_of(rows) is None:  # What was fitted is whole, and may be a tree.
        plain = to_host(self)
        return fitted(self, X).map(_asked, plain, name, count, like=likes)
    if count > self.n_samples_fit_:
        raise ValueError(
            f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {count}, n_samples_fit = "
            f"{self.n_samples_fit_}, n_samples = {np.shape(X)[0]}"
        )
    parts = parts_of(self, "of what was fitted", rows, (vars(self).get("_y"),))
    constants = (count, _settings(self), *constants)
    if engine_of(X) is not None:
        return parts.across(fitted(self, X), _near, _nearer, finish, likes, *constants)
    queries = check_array(X, dtype=None, input_name="X", estimator=self)
    check_width(self, queries)
    return finish(parts.reduce(_near, _nearer, queries, *constants), *constants)


def _asked(X: Any, model: Any, name: str, count: int) -> Any:
    """Return what an estimator of scikit-learn's says of rows."""
    if name == "kneighbors":
        return model.kneighbors(X, count)
    return (getattr(model, name)(X),)


def _count(self: Any, n_neighbors: Any) -> int:
    if n_neighbors is None:
        return int(self.n_neighbors)
    if n_neighbors <= 0:
        raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
    return int(n_neighbors)


@by_parts(_ALL, "kneighbors")
def _kneighbors(
    self: Any, X: Any = None, n_neighbors: Any = None, return_distance: bool = True
) -> Any:
    count = _count(self, n_neighbors)
    likes = np.empty((1, count)), np.empty((1, count), np.int64)
    if X is None:
        found = _of_rows_themselves(self, count, likes)
    else:
        found = _across(self, X, "kneighbors", count, _both, likes)
    return found if return_distance else found[1]


def _of_rows_themselves(self: Any, count: int, likes: Any) -> Any:
    """Return the nearest rows of each that was fitted, which isn't one of its own."""
    check_is_fitted(self, "_fit_method")
    rows, size = vars(self)["_fit_X"], self.n_samples_fit_
    if count >= size:
        raise ValueError(
            f"Expected n_neighbors < n_samples_fit, but n_neighbors = {count}, n_samples_fit = "
            f"{size}, n_samples = {size}"
        )
    parts = parts_of(self, "of what was fitted", rows, (None,))
    numbered = parts_of(self, "of what was fitted", rows, (range(size),))
    settings = _settings(self)
    return parts.across(numbered, _near, _nearer, _others, likes, count + 1, settings)


def _of_classes(self: Any, X: Any, name: str, finish: Any, like: Any) -> Any:
    if self.outputs_2d_:
        raise WholeArraysError("there are several targets")
    classes = array(self.classes_)
    likes = (like(classes),)
    count = int(self.n_neighbors)
    return _across(self, X, name, count, finish, likes, self.weights, classes)[0]


@by_parts("neighbors.KNeighborsClassifier", "predict")
def _predict_classes(self: Any, X: Any) -> Any:
    return _of_classes(self, X, "predict", _elected, lambda classes: classes[:1])


@by_parts("neighbors.KNeighborsClassifier", "predict_proba")
def _predict_chances(self: Any, X: Any) -> Any:
    return _of_classes(
        self, X, "predict_proba", _shared, lambda classes: np.empty((1, len(classes)))
    )


@by_parts("neighbors.KNeighborsRegressor", "predict")
def _predict_numbers(self: Any, X: Any) -> Any:
    y = vars(self)["_y"]
    dtype = np.dtype(str(y.dtype).removeprefix("torch."))
    if dtype.kind != "f" or self.weights != "uniform":
        dtype = np.dtype(np.float64)
    likes = (np.empty((1, *y.shape[1:]), dtype),)
    count = int(self.n_neighbors)
    return _across(self, X, "predict", count, _averaged, likes, self.weights, None)[0]
