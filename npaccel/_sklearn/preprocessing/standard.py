"""``sklearn.preprocessing.StandardScaler`` on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import preprocessing
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, IS_SMALL, Accelerated, is_small
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device


@kernel(static=("nans",))
def _sums(X: Any, weights: Any, *, nans: bool) -> Any:
    """Return by column the sum and the weight of what is there, in 64 bits."""
    there = ~np.isnan(X) if nans else None
    values = X.astype(np.float64)
    if there is not None:
        values = np.where(there, values, 0.0)
    if weights is None:
        total = np.sum(values, axis=0)
        count = (
            np.full(X.shape[1], X.shape[0], dtype=np.float64)
            if there is None
            else np.sum(there, axis=0).astype(np.float64)
        )
        return total, count
    wide = weights.astype(np.float64)
    if there is None:
        return wide @ values, np.full(X.shape[1], 1.0, dtype=np.float64) * np.sum(wide)
    return wide @ values, wide @ there.astype(np.float64)


@kernel(static=("nans",))
def _squares(X: Any, weights: Any, mean: Any, *, nans: bool) -> Any:
    """Return by column the sum of the differences from a mean, and of their squares."""
    apart = X.astype(np.float64) - mean
    if nans:
        apart = np.where(np.isnan(apart), 0.0, apart)
    if weights is None:
        return np.sum(apart, axis=0), np.sum(apart * apart, axis=0)
    wide = weights.astype(np.float64)
    return wide @ apart, wide @ (apart * apart)


@kernel
def _scaled(X: Any, mean: Any, scale: Any) -> Any:
    if mean is not None:
        X = X - mean.astype(X.dtype)
    return X if scale is None else X / scale.astype(X.dtype)


@kernel
def _unscaled(X: Any, mean: Any, scale: Any) -> Any:
    if scale is not None:
        X = X * scale.astype(X.dtype)
    return X if mean is None else X + mean.astype(X.dtype)


def _merged(
    mean: Any, variance: Any, count: Any, new_sum: Any, new_count: Any, apart: Any, squares: Any
) -> Any:
    """Merge the moments of two parts of the data (Chan, Golub and LeVeque, 1983)."""
    total = count + new_count
    new_mean = new_sum / new_count
    merged = (mean * count + new_sum) / total
    if variance is None:
        return merged, None, total
    within = squares - apart * apart / new_count
    between = (mean - new_mean) ** 2 * count * new_count / total
    known = torch.where(count > 0, variance * count + between, 0.0)
    return merged, (known + within) / total, total


@on_device("preprocessing.StandardScaler", refused="sparse matrices")
class StandardScaler(Accelerated, preprocessing.StandardScaler):  # type: ignore[misc]
    __doc__ = preprocessing.StandardScaler.__doc__

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        self._reset()
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        first = not hasattr(self, "n_samples_seen_")
        X = self._validated(X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=first)
        weights = self._weights(sample_weight, X)
        sums = _sums(X, weights, nans=False)
        nans = bool(transfers.number(torch.isnan(sums[0].sum())))
        if nans:
            sums = _sums(X, weights, nans=True)
        count = _known_count(self, X, first)
        if self.with_mean or self.with_std:
            self._npaccel_moments(X, weights, count, sums, nans, first)
        else:
            self.mean_ = self.var_ = None
            self.n_samples_seen_ = count + _sums(X, None, nans=nans)[1]
        low, high = transfers.numbers(*torch.aminmax(self.n_samples_seen_))
        if low == high:
            whole = weights is None
            self.n_samples_seen_ = np.int64(low) if whole else np.float64(low)
        elif weights is None and not self.with_std and not self.with_mean:
            self.n_samples_seen_ = self.n_samples_seen_.to(torch.int64)
        self.scale_ = _scale(self.var_, self.mean_, self.n_samples_seen_) if self.with_std else None
        return self

    def _npaccel_moments(
        self, X: Any, weights: Any, count: Any, sums: Any, nans: bool, first: bool
    ) -> None:
        """Set the moments of the data so far."""
        new_sum, new_count = sums
        zeros = torch.zeros_like(new_sum)
        mean = zeros if first else self.mean_
        variance = (zeros if first else self.var_) if self.with_std else None
        apart = squares = None
        if self.with_std:
            apart, squares = _squares(X, weights, new_sum / new_count, nans=nans)
        self.mean_, self.var_, self.n_samples_seen_ = _merged(
            mean, variance, count, new_sum, new_count, apart, squares
        )

    def transform(self, X: Any, copy: Any = None) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS, ensure_all_finite="allow-nan")
        return _scaled(X, *self._npaccel_parts())

    def inverse_transform(self, X: Any, copy: Any = None) -> Any:
        from sklearn.utils import check_array

        check_is_fitted(self)
        if not isinstance(X, torch.Tensor):
            X = check_array(X, dtype=FLOATS, ensure_all_finite="allow-nan")
        return _unscaled(self._moved(X), *self._npaccel_parts())

    def _npaccel_parts(self) -> tuple[Any, Any]:
        return self.mean_ if self.with_mean else None, self.scale_ if self.with_std else None

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if not why and (more.get("copy") is False or self.copy is False) and "transform" in method:
            return "`copy=False` writes into X"
        return why

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return IS_SMALL if is_small(X) else ""


def _known_count(self: Any, X: torch.Tensor, first: bool) -> torch.Tensor:
    """Return by column how many rows were seen before."""
    zeros = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    return zeros if first else zeros + torch.as_tensor(self.n_samples_seen_, device=X.device)


def _scale(variance: Any, mean: Any, count: Any) -> torch.Tensor:
    """Return the deviations; 1 for columns whose variance is nothing but rounding."""
    eps = torch.finfo(torch.float64).eps
    count = torch.as_tensor(count, device=variance.device)
    constant = variance <= count * eps * variance + (count * mean * eps) ** 2
    return torch.where(constant, 1.0, torch.sqrt(variance))
