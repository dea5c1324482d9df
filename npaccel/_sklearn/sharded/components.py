"""Principal components by the covariance of columns: PCA."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition._pca import _infer_dimension
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.sharded.calls import WholeArraysError, array, checked, kernel, sharded

#: From so many rows a column on scikit-learn takes the covariance, up to so many columns.
_ROWS, _COLUMNS = 10, 1000


@kernel
def _covariance(X: Any) -> Any:
    """Return the means of columns, and the sums of products of what they differ by."""
    mean = X.mean(axis=0)
    apart = X - mean
    return mean, apart.T @ apart


@kernel
def _projected(X: Any, mean: Any, components: Any, scale: Any) -> Any:
    return (X @ components.T - mean @ components.T) / scale


@kernel
def _back(X: Any, mean: Any, components: Any, scale: Any) -> Any:
    return (X * scale) @ components + mean


@sharded("decomposition.PCA", "fit")
def _fit(self: Any, X: Any, y: Any = None) -> Any:
    rows, columns = X.shape if X.ndim == 2 else (0, 0)
    is_tall = rows >= _ROWS * columns and columns <= _COLUMNS
    if self.svd_solver != "covariance_eigh" and not (self.svd_solver == "auto" and is_tall):
        raise WholeArraysError(f"svd_solver={self.svd_solver!r} for {rows} x {columns}")
    checked(self, X, fits=True)
    wanted = min(rows, columns) if self.n_components is None else self.n_components
    if not (wanted == "mle" or 0 <= wanted <= min(rows, columns)):
        raise WholeArraysError(f"n_components={self.n_components!r}")
    self._fit_svd_solver = "covariance_eigh"
    self.mean_, products = _covariance(X)
    values, vectors = np.linalg.eigh(products / (rows - 1))
    values = np.maximum(values[::-1], 0.0)
    _, components = svd_flip(None, vectors[:, ::-1].T, u_based_decision=False)
    ratio = values / values.sum()
    if wanted == "mle":
        wanted = _infer_dimension(values, rows)
    elif 0 < wanted < 1:
        wanted = int(np.searchsorted(np.cumsum(ratio), wanted, side="right")) + 1
    is_part = wanted < min(rows, columns)
    self.noise_variance_ = values[wanted:].mean() if is_part else 0.0
    self.n_samples_, self.n_components_ = rows, int(wanted)
    self.components_ = np.ascontiguousarray(components[:wanted])
    self.explained_variance_ = values[:wanted].copy()
    self.explained_variance_ratio_ = ratio[:wanted].copy()
    self.singular_values_ = np.sqrt(values * (rows - 1))[:wanted]
    return self


def _scale(self: Any, width: int, dtype: Any) -> Any:
    """Return by what components are divided."""
    check_is_fitted(self)
    if not self.whiten:
        return np.ones(width, dtype)
    scale = np.sqrt(array(self.explained_variance_))
    return np.maximum(scale, np.finfo(scale.dtype).eps)


@sharded("decomposition.PCA", "transform")
def _transform(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    X = checked(self, X, fits=False)
    mean, components = array(self.mean_), array(self.components_)
    return _projected(X, mean, components, _scale(self, len(components), components.dtype))


@sharded("decomposition.PCA", "fit_transform")
def _fit_transform(self: Any, X: Any, y: Any = None) -> Any:
    return _transform(_fit(self, X), X)


@sharded("decomposition.PCA", "inverse_transform")
def _inverse(self: Any, X: Any) -> Any:
    components = array(self.components_)
    scale = _scale(self, len(components), components.dtype)
    return _back(X, array(self.mean_), components, scale)
