"""``sklearn.feature_selection`` on the device: by variance, and by scores of single columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy import special, stats
from sklearn import feature_selection
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, routes, transfers, validation
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device


class _Selects(common.HostOnCpu):
    """The methods of all selectors; which columns are kept is scikit-learn's to say."""

    _npaccel_finite: Any = True

    def transform(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=None, ensure_all_finite=self._npaccel_finite)
        kept = self.get_support(indices=True)
        if not len(kept):
            warnings.warn(
                "No features were selected: either the data is too noisy or the selection test "
                "too strict.",
                UserWarning,
                stacklevel=2,
            )
        return X[:, self._moved(kept)]

    def inverse_transform(self: Any, X: Any) -> Any:
        kept = self.get_support()
        X = common.checked(self, X, dtype=None)
        if kept.sum() != X.shape[1]:
            raise ValueError("X has a different shape than during fitting.")
        found = torch.zeros((len(X), len(kept)), dtype=X.dtype, device=X.device)
        found[:, self._moved(np.flatnonzero(kept))] = X
        return found

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)  # type: ignore[misc]
        if not why and "transform" in method and hasattr(X, "iloc") and routes.gives_table(self):
            return "a table is wanted of a table, with its dtypes"
        return why


@on_device("feature_selection.VarianceThreshold", refused="sparse matrices", tolerance=1e-12)
class VarianceThreshold(_Selects, Accelerated, feature_selection.VarianceThreshold):  # type: ignore[misc]
    __doc__ = feature_selection.VarianceThreshold.__doc__
    _npaccel_finite = "allow-nan"

    def fit(self, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=np.float64, ensure_all_finite="allow-nan")
        there = ~torch.isnan(X)
        count = there.sum(dim=0)
        mean = torch.where(there, X, 0.0).sum(dim=0) / count
        found = torch.where(there, (X - mean) ** 2, 0.0).sum(dim=0) / count
        if self.threshold == 0:
            spread = X.amax(dim=0) - X.amin(dim=0)
            found = torch.fmin(found, spread)
        if not transfers.number((torch.isfinite(found) & (found > self.threshold)).any()):
            one = " (X contains only one sample)" if len(X) == 1 else ""
            raise ValueError(
                f"No feature in X meets the variance threshold {self.threshold:.5f}{one}"
            )
        self.variances_ = found
        return self


# -- Scores of columns --------------------------------------------------------------------------


@kernel
def _sums(X: Any, onehot: Any) -> Any:
    """Return the sums of the columns in each class, and those of their squares."""
    wide = X.astype(np.float64)
    return onehot.T @ wide, np.sum(wide * wide, axis=0)


@kernel
def _moments(X: Any, y: Any) -> Any:
    return np.mean(X, axis=0), np.sum(X * X, axis=0), y @ X, np.sum(y * y)


def _onehot(codes: torch.Tensor, count: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(codes, count).double()


def _codes(self: Any, y: Any) -> tuple[torch.Tensor, int]:
    classes, codes = validation.encoded(y)
    return self._moved(codes), len(classes)


def _f_classif(self: Any, X: torch.Tensor, y: Any) -> tuple[torch.Tensor, Any]:
    """Return the F-values of the analysis of variance, and their probabilities."""
    codes, classes = _codes(self, y)
    onehot = _onehot(codes, classes)
    sums, squares = _sums(X, onehot)
    rows = len(X)
    all_squared = sums.sum(dim=0) ** 2 / float(rows)
    between = (sums**2 / onehot.sum(dim=0)[:, None]).sum(dim=0) - all_squared
    within = squares - all_squared - between
    mean_between, mean_within = between / float(classes - 1), within / float(rows - classes)
    flat = np.array(transfers.numbers(mean_within == 0, mean_between != 0), bool)
    constant, varies = np.split(flat, 2)
    if constant.any() and not varies.all():
        warnings.warn(
            f"Features {np.flatnonzero(constant)} are constant.", UserWarning, stacklevel=2
        )
    found = mean_between / mean_within
    return found, lambda f: special.fdtrc(classes - 1, rows - classes, f)


def _correlations(X: torch.Tensor, y: Any, center: bool = True) -> torch.Tensor:
    wide, y = X.double(), y.double()
    if center:
        y = y - y.mean()
    mean, squares, product, norm = _moments(wide, y)
    norms = torch.sqrt(squares - len(X) * mean**2) if center else torch.sqrt(squares)
    return torch.nan_to_num(product / norms / torch.sqrt(norm), nan=0.0, posinf=None)


def _r_regression(self: Any, X: torch.Tensor, y: Any) -> torch.Tensor:
    return _correlations(X, self._moved(y))


def _f_regression(self: Any, X: torch.Tensor, y: Any) -> tuple[torch.Tensor, Any]:
    squared = _correlations(X, self._moved(y)) ** 2
    freedom = len(X) - 2
    found = squared / (1 - squared) * freedom
    unknown = torch.isnan(found)
    found = torch.where(torch.isinf(found), torch.finfo(found.dtype).max, found)
    found = torch.where(unknown, 0.0, found)

    def chance(f: Any) -> Any:
        return stats.f.sf(np.where(f == np.finfo(f.dtype).max, np.inf, f), 1, freedom)

    return found, chance


def _chi2(self: Any, X: torch.Tensor, y: Any) -> tuple[torch.Tensor, Any]:
    if transfers.number((X < 0).any()):
        raise ValueError("Input X must be non-negative.")
    codes, classes = _codes(self, y)
    onehot = _onehot(codes, classes)
    if classes == 1:
        onehot = torch.cat([onehot, 1 - onehot], dim=1)
    observed = _sums(X, onehot)[0]
    expected = onehot.mean(dim=0)[:, None] * observed.sum(dim=0)
    found = ((observed - expected) ** 2 / expected).sum(dim=0)
    return found, lambda c: special.chdtrc(max(classes, 2) - 1, c)


_SCORES: dict[Any, Any] = {
    feature_selection.f_classif: _f_classif,
    feature_selection.f_regression: _f_regression,
    feature_selection.r_regression: _r_regression,
    feature_selection.chi2: _chi2,
}


class _Filters(_Selects):
    """Selectors by scores: their probabilities are scipy.special's, of few numbers."""

    def fit(self: Any, X: Any, y: Any = None) -> Any:
        given = X, y
        X, y = self._validated(X, y, multi_output=True)
        if getattr(y, "ndim", 1) != 1 or len(X) < 3:
            return common.by_scikit_learn(self, "fit", *given)
        with call_stack.dispatching(False):
            self._check_params(X, y)
        found = _SCORES[self.score_func](self, X, y)
        scores, chance = found if isinstance(found, tuple) else (found, None)
        self.scores_, self.pvalues_ = scores, None
        if chance is not None:
            self.pvalues_ = self._moved(np.asarray(chance(transfers.to_host(scores))))
        return self

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)
        if not why and self.score_func not in _SCORES:
            return "`score_func` isn't f_classif, f_regression, r_regression or chi2"
        if not why and "fit" in method and y is None:
            return "there is no y"
        return why


_REFUSED = "sparse matrices; other functions than f_classif, f_regression, r_regression, chi2"


@on_device("feature_selection.SelectKBest", refused=_REFUSED, tolerance=1e-8)
class SelectKBest(_Filters, Accelerated, feature_selection.SelectKBest):  # type: ignore[misc]
    __doc__ = feature_selection.SelectKBest.__doc__


@on_device("feature_selection.SelectPercentile", refused=_REFUSED, tolerance=1e-8)
class SelectPercentile(_Filters, Accelerated, feature_selection.SelectPercentile):  # type: ignore[misc]
    __doc__ = feature_selection.SelectPercentile.__doc__


@on_device("feature_selection.SelectFpr", refused=_REFUSED, tolerance=1e-8)
class SelectFpr(_Filters, Accelerated, feature_selection.SelectFpr):  # type: ignore[misc]
    __doc__ = feature_selection.SelectFpr.__doc__


@on_device("feature_selection.SelectFdr", refused=_REFUSED, tolerance=1e-8)
class SelectFdr(_Filters, Accelerated, feature_selection.SelectFdr):  # type: ignore[misc]
    __doc__ = feature_selection.SelectFdr.__doc__


@on_device("feature_selection.SelectFwe", refused=_REFUSED, tolerance=1e-8)
class SelectFwe(_Filters, Accelerated, feature_selection.SelectFwe):  # type: ignore[misc]
    __doc__ = feature_selection.SelectFwe.__doc__


@on_device("feature_selection.GenericUnivariateSelect", refused=_REFUSED, tolerance=1e-8)
class GenericUnivariateSelect(_Filters, Accelerated, feature_selection.GenericUnivariateSelect):  # type: ignore[misc]
    __doc__ = feature_selection.GenericUnivariateSelect.__doc__
