"""``sklearn.impute.KNNImputer`` on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import impute
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.impute.simple import indicator, with_indicators


def _distances(
    X: torch.Tensor, missing_x: torch.Tensor, Y: torch.Tensor, missing_y: torch.Tensor
) -> torch.Tensor:
    """Return distances by what both rows have, infinite where that is nothing."""
    x, y = torch.where(missing_x, 0.0, X).double(), torch.where(missing_y, 0.0, Y).double()
    there_x, there_y = (~missing_x).double(), (~missing_y).double()
    squares = (x * x) @ there_y.T + there_x @ (y * y).T - 2 * (x @ y.T)
    shared = there_x @ there_y.T
    found = torch.sqrt(squares.clamp(min=0) / shared.clamp(min=1) * X.shape[1])
    return torch.where(shared == 0, torch.inf, found)


def _weighted(values: torch.Tensor, distances: torch.Tensor, weights: str) -> torch.Tensor:
    """Return the mean of each row's donors; the infinitely far ones don't count."""
    known = torch.isfinite(distances)
    if weights == "uniform":
        shares = known.double()
    else:
        same = distances == 0
        near = torch.where(known, 1 / torch.where(same, 1.0, distances), 0.0)
        shares = torch.where(same.any(dim=1, keepdim=True), same.double(), near)
    values = torch.where(shares > 0, values.double(), 0.0)
    return (values * shares).sum(dim=1) / shares.sum(dim=1)


@on_device(
    "impute.KNNImputer",
    refused="a function as `weights` or `metric`; `missing_values` that isn't a number; "
    "`copy=False`",
    tolerance=1e-8,
    note="of donors that are as far another one can be taken",
)
class KNNImputer(common.HostOnCpu, Accelerated, impute.KNNImputer):  # type: ignore[misc]
    __doc__ = impute.KNNImputer.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        self._fit_X = X = self._npaccel_checked(X, True)
        self._mask_fit_X = missing = self._npaccel_missing(X)
        self._valid_mask = ~missing.all(dim=0)
        self.indicator_ = indicator(self, missing.any(dim=0))
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._npaccel_checked(X, False)
        missing = self._npaccel_missing(X)
        known, valid = self._fit_X, self._valid_mask
        wanted, there, empty = np.split(
            np.array(transfers.numbers(missing.any(dim=0) & valid, valid, ~valid), bool), 3
        )
        found = X.clone()
        rows = torch.nonzero((missing & valid).any(dim=1))[:, 0]
        step = max(1, common.TILE // max(1, len(known)))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            distances = _distances(X[part], missing[part], known, self._mask_fit_X)
            for column in np.flatnonzero(wanted):
                filled = self._npaccel_filled(distances, int(column)).to(X.dtype)
                found[part, column] = torch.where(missing[part, column], filled, X[part, column])
        if self.keep_empty_features:
            found[:, self._moved(np.flatnonzero(empty))] = 0
        else:
            found = found[:, self._moved(np.flatnonzero(there))]
        return with_indicators(self, found, missing)

    def _npaccel_filled(self, distances: torch.Tensor, column: int) -> torch.Tensor:
        """Return what the nearest donors have in a column; its mean where there is no donor."""
        values, absent = self._fit_X[:, column], self._mask_fit_X[:, column]
        apart = torch.where(absent, torch.inf, distances)
        count = min(self.n_neighbors, len(values))
        near = torch.topk(apart, count, dim=1, largest=False)
        found = _weighted(values[near.indices], near.values, self.weights)
        mean = torch.where(absent, 0.0, values).sum(dtype=torch.float64) / (~absent).sum()
        return torch.where(torch.isfinite(near.values[:, 0]), found, mean)

    def _npaccel_checked(self, X: Any, reset: bool) -> torch.Tensor:
        finite = "allow-nan" if np.isnan(self.missing_values) else True
        found: torch.Tensor = self._validated(
            X, reset=reset, dtype=FLOATS, ensure_all_finite=finite
        )
        return found

    def _npaccel_missing(self, X: torch.Tensor) -> torch.Tensor:
        return torch.isnan(X) if np.isnan(self.missing_values) else self.missing_values == X

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if why:
            return why
        if not isinstance(self.missing_values, int | float | np.number):
            return "`missing_values` isn't a number"
        if callable(self.weights) or callable(self.metric):
            return "`weights` or `metric` is a function"
        return "" if self.copy else "`copy=False` writes into X"
