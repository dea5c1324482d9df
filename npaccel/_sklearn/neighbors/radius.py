"""``RadiusNeighborsClassifier`` and ``RadiusNeighborsRegressor`` by brute force on the device."""

from __future__ import annotations

from typing import Any

import torch
from sklearn import neighbors
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.neighbors._radius import Pairs, Radius
from npaccel._sklearn.neighbors.brute import _REFUSED, _elected, _Neighbors, _OfNumbers, _shared

_MORE = "`weights` that is a function; rows that have no neighbour"


class _Within(common.HostOnCpu, Radius, _Neighbors):
    """Base of the two. On a CPU scikit-learn's fit builds a tree where that pays."""

    def _npaccel_shares(self, pairs: Pairs) -> torch.Tensor:
        """Return the weight of each pair."""
        if self.weights == "distance":
            return pairs.weights()
        return torch.ones_like(pairs.rows, dtype=torch.float64)


@on_device("neighbors.RadiusNeighborsClassifier", refused=f"{_REFUSED}; {_MORE}")
class RadiusNeighborsClassifier(  # type: ignore[misc]
    _Within, Accelerated, neighbors.RadiusNeighborsClassifier
):
    __doc__ = neighbors.RadiusNeighborsClassifier.__doc__

    _on_host = ("classes_", "feature_names_in_", "outlier_label_")
    #: scikit-learn's own has it again, for its docstring.
    score = ClassifierMixin.score

    def fit(self, X: Any, y: Any) -> Any:
        if self.outlier_label not in (None, "most_frequent"):
            # scikit-learn's checks of labels.
            return common.by_scikit_learn(self, "fit", X, y)
        self._npaccel_fit(X, y)
        self.outlier_label_ = None
        if self.outlier_label is not None:
            columns = self._y if self.outputs_2d_ else self._y[:, None]
            classes = self.classes_ if self.outputs_2d_ else [self.classes_]
            most = [torch.argmax(torch.bincount(column)) for column in columns.T]
            found = transfers.numbers(*most)
            self.outlier_label_ = [kinds[n] for kinds, n in zip(classes, found, strict=True)]
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self, "_fit_method")
        votes = self._npaccel_votes(X)
        if votes is None:
            return common.by_scikit_learn(self, "predict", X)
        return _elected(self, votes)

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self, "_fit_method")
        votes = self._npaccel_votes(X)
        if votes is None:
            return common.by_scikit_learn(self, "predict_proba", X)
        return _shared(self, votes)

    def _npaccel_votes(self, X: Any) -> list[torch.Tensor] | None:
        """Return for each output the weight of each class for each row, None if a row is alone."""
        pairs = self._npaccel_pairs(X, self.radius)
        if not pairs.all_have_some():
            return None
        weights = self._npaccel_shares(pairs)
        columns = self._y if self.outputs_2d_ else self._y[:, None]
        votes = []
        for n, kinds in enumerate(self.classes_ if self.outputs_2d_ else [self.classes_]):
            places = pairs.rows * len(kinds) + columns[pairs.numbers, n]
            found = torch.bincount(places, weights, len(pairs.counts) * len(kinds))
            votes.append(found.reshape(-1, len(kinds)))
        return votes


@on_device("neighbors.RadiusNeighborsRegressor", refused=f"{_REFUSED}; {_MORE}")
class RadiusNeighborsRegressor(  # type: ignore[misc]
    _Within, _OfNumbers, Accelerated, neighbors.RadiusNeighborsRegressor
):
    __doc__ = neighbors.RadiusNeighborsRegressor.__doc__

    def fit(self, X: Any, y: Any) -> Any:
        return self._npaccel_fit(X, y)

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        pairs = self._npaccel_pairs(X, self.radius)
        if not pairs.all_have_some():
            return common.by_scikit_learn(self, "predict", X)
        y = self._y if self._y.is_floating_point() else self._y.double()
        columns = (y[:, None] if y.ndim == 1 else y).double()
        weights = self._npaccel_shares(pairs)
        sums = columns.new_zeros((len(pairs.counts), columns.shape[1]))
        sums.index_add_(0, pairs.rows, columns[pairs.numbers] * weights[:, None])
        total = torch.zeros_like(sums[:, 0]).index_add_(0, pairs.rows, weights)
        found = sums / total[:, None]
        # Where each row has its like, scikit-learn's weights are truth values, which widen nothing.
        if self.weights != "distance" or transfers.number(pairs.touching().all()):
            found = found.to(y.dtype)
        return found[:, 0] if y.ndim == 1 else found
