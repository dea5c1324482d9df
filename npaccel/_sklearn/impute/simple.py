"""``sklearn.impute.SimpleImputer`` on the device."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
import torch
from sklearn import impute
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device


def _modes(ordered: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Return the most frequent number of sorted columns, the smallest of several."""
    columns = torch.nan_to_num(ordered.T, nan=torch.inf).contiguous()
    runs = torch.searchsorted(columns, columns, right=True) - torch.searchsorted(columns, columns)
    place = torch.arange(columns.shape[1], device=columns.device)
    runs = torch.where(place < count[:, None], runs, -1)
    best = torch.argmax(runs, dim=1)
    return torch.gather(columns, 1, best[:, None])[:, 0].double()


def indicator(self: Any, some: torch.Tensor) -> Any:
    """Return the indicator of the columns in which something is missing, if one is wanted."""
    if not self.add_indicator:
        return None
    with call_stack.dispatching(False):
        found = impute.MissingIndicator(missing_values=self.missing_values, error_on_new=False)
        found._fit(np.array([transfers.numbers(some)], bool), precomputed=True)
    return found


def with_indicators(self: Any, found: torch.Tensor, missing: torch.Tensor) -> torch.Tensor:
    """Return imputed data with the columns that say where it was missing, if they are wanted."""
    if not self.add_indicator:
        return found
    features = torch.as_tensor(self.indicator_.features_, device=found.device)
    return torch.cat([found, missing[:, features].to(found.dtype)], dim=1)


@on_device(
    "impute.SimpleImputer",
    refused="sparse matrices; strings; `missing_values` and `fill_value` that aren't numbers; "
    "a function as `strategy`; `copy=False`; integers where they stay integers",
    tolerance=1e-12,
)
class SimpleImputer(common.HostOnCpu, Accelerated, impute.SimpleImputer):  # type: ignore[misc]
    __doc__ = impute.SimpleImputer.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        X = self._npaccel_checked(X, True)
        self._fit_dtype = self._fill_dtype = common.numpy_dtype(X.dtype)
        missing = self._npaccel_missing(X)
        some = missing.any(dim=0)
        self.indicator_ = indicator(self, some)
        if self.strategy == "constant":
            self.statistics_ = self._npaccel_constants(missing)
        else:
            self.statistics_ = self._npaccel_statistics(X, missing)
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._npaccel_checked(X, False)
        missing = self._npaccel_missing(X)
        statistics = self._npaccel_numbers(X.device)
        kept, known = X, missing
        if not self.keep_empty_features:
            lost = np.array(transfers.numbers(torch.isnan(statistics)), bool)
            if lost.any():
                self._npaccel_warn(lost)
                columns = self._moved(np.flatnonzero(~lost))
                kept, known, statistics = X[:, columns], missing[:, columns], statistics[columns]
        found = torch.where(known, statistics.to(X.dtype), kept)
        return with_indicators(self, found, missing)

    def _npaccel_checked(self, X: Any, reset: bool) -> Any:
        finite = "allow-nan" if np.isnan(self.missing_values) else True
        try:
            return self._validated(X, reset=reset, dtype=FLOATS, ensure_all_finite=finite)
        except ValueError:
            # scikit-learn's own text names the strategy.
            return common.by_scikit_learn(self, "fit" if reset else "transform", X)

    def _npaccel_missing(self, X: torch.Tensor) -> torch.Tensor:
        return torch.isnan(X) if np.isnan(self.missing_values) else self.missing_values == X

    def _npaccel_statistics(self, X: torch.Tensor, missing: torch.Tensor) -> torch.Tensor:
        """Return the number that stands for what is missing, by column."""
        there = ~missing
        count = there.sum(dim=0)
        if self.strategy == "mean":
            total = torch.where(there, X, 0.0).sum(dim=0, dtype=torch.float64)
            found = total / count
        else:
            ordered = torch.sort(torch.where(there, X, torch.nan), dim=0).values
            made = common.medians_of if self.strategy == "median" else _modes
            found = made(ordered, count)
        return torch.where(count > 0, found, 0.0 if self.keep_empty_features else torch.nan)

    def _npaccel_constants(self, missing: torch.Tensor) -> Any:
        found = np.full(missing.shape[1], self.fill_value or 0, dtype=np.object_)
        if self.fill_value is not None:
            found[:] = self.fill_value
        if not self.keep_empty_features:
            found[np.array(transfers.numbers(missing.all(dim=0)), bool)] = np.nan
        return found

    def _npaccel_numbers(self, device: torch.device) -> torch.Tensor:
        """Return the statistics as numbers, those of constants too."""
        found = self.statistics_
        if isinstance(found, torch.Tensor):
            return found

        def made(value: Any) -> torch.Tensor:
            return transfers.to_device(np.asarray(value, np.float64), device)

        return common.kept(self, "statistics_", device, made)

    def _npaccel_warn(self, lost: Any) -> None:
        names = np.flatnonzero(lost)
        if hasattr(self, "feature_names_in_"):
            names = self.feature_names_in_[lost]
        warnings.warn(
            f"Skipping features without any observed values: {names}. At least one non-missing "
            f"value is needed for imputation with strategy='{self.strategy}'.",
            stacklevel=2,
        )

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        return why or _refused(self, X)


def _refused(self: Any, X: Any) -> str:
    """Return which parameter isn't done on the device."""
    if not isinstance(self.missing_values, numbers.Real):
        return "`missing_values` isn't a number"
    if self.strategy not in ("mean", "median", "most_frequent", "constant"):
        return "`strategy` is a function"
    if not self.copy:
        return "`copy=False` writes into X"
    if self.strategy == "constant" and not (
        self.fill_value is None or type(self.fill_value) in (int, float)
    ):
        return "`fill_value` isn't Python's number"
    if getattr(self, "_fit_dtype", np.dtype(float)).kind != "f":
        return "it was fitted with numbers that aren't floats"
    if self.strategy in ("most_frequent", "constant") and not _is_floating(X):
        return f"X isn't of floats, and `strategy={self.strategy!r}` keeps its dtype"
    return ""


def _is_floating(X: Any) -> bool:
    if isinstance(X, torch.Tensor):
        return X.dtype in (torch.float32, torch.float64)
    return getattr(X, "dtype", None) in FLOATS
