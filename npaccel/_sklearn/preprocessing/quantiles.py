"""Scalers by quantiles on the device: ``RobustScaler``, ``QuantileTransformer``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy import stats
from sklearn import preprocessing
from sklearn.utils import check_random_state, resample
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device

#: Distance to the ends up to which values count as the ends (``sklearn/preprocessing/_data.py``).
_NEAR = 1e-7


@kernel
def _scaled(X: Any, center: Any, scale: Any) -> Any:
    found = X if center is None else X - center.astype(X.dtype)
    return found if scale is None else (found / scale).astype(X.dtype)


@kernel
def _unscaled(X: Any, center: Any, scale: Any) -> Any:
    found = X if scale is None else (X * scale).astype(X.dtype)
    return found if center is None else found + center.astype(X.dtype)


@on_device("preprocessing.RobustScaler", refused="sparse matrices; `copy=False`", tolerance=1e-12)
class RobustScaler(common.HostOnCpu, Accelerated, preprocessing.RobustScaler):  # type: ignore[misc]
    __doc__ = preprocessing.RobustScaler.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS, ensure_all_finite="allow-nan")
        low, high = self.quantile_range
        if not 0 <= low <= high <= 100:
            raise ValueError(f"Invalid quantile range: {self.quantile_range}")
        ordered = common.sorted_columns(X)
        self.center_ = common.medians_of(*ordered) if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            found = common.quantiles_of(*ordered, np.divide([low, high], 100))
            scale = found[1] - found[0]
            scale = torch.where(scale < 10 * torch.finfo(scale.dtype).eps, 1.0, scale)
            if self.unit_variance:
                scale = scale / (stats.norm.ppf(high / 100.0) - stats.norm.ppf(low / 100.0))
            self.scale_ = scale
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS, ensure_all_finite="allow-nan")
        return _scaled(X, *self._npaccel_parts())

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = common.checked(self, X, dtype=FLOATS, ensure_all_finite="allow-nan")
        return _unscaled(X, *self._npaccel_parts())

    def _npaccel_parts(self) -> tuple[Any, Any]:
        return self.center_ if self.with_centering else None, (
            self.scale_ if self.with_scaling else None
        )

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return super()._unsupported(method, X, y, **more) or common.writes_into(self, method, more)


def _interpolated(x: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return ``np.interp`` for each row of x, in 64 bits; `places` in order, by row."""
    last = places.shape[1] - 1
    right = torch.searchsorted(places, x, right=True)
    low = (right - 1).clamp(0, last)
    high = right.clamp(0, last)
    x0, y0 = torch.gather(places, 1, low), torch.gather(values, 1, low)
    x1, y1 = torch.gather(places, 1, high), torch.gather(values, 1, high)
    between = (low < high) & (x != x0)
    slope = torch.where(between, (y1 - y0) / torch.where(between, x1 - x0, 1.0), 0.0)
    return torch.where(between, slope * (x - x0) + y0, y0)


@on_device(
    "preprocessing.QuantileTransformer",
    refused="sparse matrices; `copy=False`; `ignore_implicit_zeros=True`",
    tolerance=1e-9,
)
class QuantileTransformer(  # type: ignore[misc]
    common.HostOnCpu, Accelerated, preprocessing.QuantileTransformer
):
    __doc__ = preprocessing.QuantileTransformer.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        if self.subsample is not None and self.n_quantiles > self.subsample:
            return common.by_scikit_learn(self, "fit", X)
        X = self._validated(X, dtype=FLOATS, ensure_all_finite="allow-nan")
        rows = len(X)
        if self.n_quantiles > rows:
            warnings.warn(
                f"n_quantiles ({self.n_quantiles}) is greater than the total number of samples "
                f"({rows}). n_quantiles is set to n_samples.",
                stacklevel=2,
            )
        self.n_quantiles_ = max(1, min(self.n_quantiles, rows))
        draws = check_random_state(self.random_state)
        references = np.linspace(0, 1, self.n_quantiles_, endpoint=True)
        if self.subsample is not None and self.subsample < rows:
            chosen = resample(
                np.arange(rows), replace=False, n_samples=self.subsample, random_state=draws
            )
            X = X[self._moved(chosen)]
        self.references_ = references
        self.quantiles_ = common.quantiles_of(*common.sorted_columns(X), references * 100 / 100)
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS, ensure_all_finite="allow-nan")
        return common.tiled(self._npaccel_forward, X, 8 * X.shape[1])

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = common.checked(self, X, dtype=FLOATS, ensure_all_finite="allow-nan")
        if X.shape[1] != self.n_features_in_:
            return common.by_scikit_learn(self, "inverse_transform", X)
        return common.tiled(self._npaccel_back, X, 8 * X.shape[1])

    def _npaccel_forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return values as shares of the data, or as values of a normal distribution."""
        places = self.quantiles_.T.contiguous()
        shares: Any = self.references_
        shares = shares.expand_as(places).contiguous()
        wide = X.T.double().contiguous()
        up = _interpolated(wide, places, shares)
        down = _interpolated(-wide, -places.flip(1), -shares.flip(1))
        found = (0.5 * (up - down)).T.to(X.dtype)
        found = self._npaccel_ends(X, found, self.quantiles_[0], self.quantiles_[-1], 0.0, 1.0)
        if self.output_distribution == "normal":
            edge = stats.norm.ppf(_NEAR - np.spacing(1))
            other = stats.norm.ppf(1 - (_NEAR - np.spacing(1)))
            found = torch.special.ndtri(found.double()).clamp(edge, other).to(X.dtype)
        return torch.where(torch.isnan(X), torch.nan, found)

    def _npaccel_back(self, X: torch.Tensor) -> torch.Tensor:
        wide = X.double()
        if self.output_distribution == "normal":
            wide = torch.special.ndtr(wide)
        values = self.quantiles_.T.contiguous()
        shares: Any = self.references_
        shares = shares.expand_as(values).contiguous()
        found = _interpolated(wide.T.contiguous(), shares, values).T
        ends = self.quantiles_[0], self.quantiles_[-1]
        found = self._npaccel_ends(wide, found, 0.0, 1.0, *ends)
        return torch.where(torch.isnan(X), torch.nan, found.to(X.dtype))

    def _npaccel_ends(
        self, x: torch.Tensor, found: torch.Tensor, low: Any, high: Any, first: Any, last: Any
    ) -> torch.Tensor:
        """Return values with those at and outside of the ends set to the ends."""
        if self.output_distribution == "normal":
            below, above = (x - _NEAR).double() < low, (x + _NEAR).double() > high
        else:
            below, above = x == low, x == high
        found = torch.where(above, last, found)
        return torch.where(below, first, found).to(found.dtype)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more) or common.writes_into(self, method, more)
        if not why and self.ignore_implicit_zeros:
            return "`ignore_implicit_zeros` is for sparse matrices"
        return why
