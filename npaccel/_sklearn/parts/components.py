"""Principal components and singular vectors of columns: PCA and TruncatedSVD."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import decomposition
from sklearn.decomposition._pca import _infer_dimension
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.parts import moments
from npaccel._sklearn.parts.calls import array, by_parts, check_finite, fitted, to_fit
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, kernel
from npaccel._sklearn.parts.triangles import triangle_of

#: Rows a column from which scikit-learn takes the covariance, up to so many columns; up to so
#: many rows it takes all singular values, and where this part of them is wanted.
_ROWS, _COLUMNS, _SMALL, _MOST = 10, 1000, 500, 0.8


@kernel
def _projected(X: Any, mean: Any, components: Any, scale: Any) -> Any:
    return (X @ components.T - mean @ components.T) / scale


@kernel
def _back(X: Any, mean: Any, components: Any, scale: Any) -> Any:
    return (X * scale) @ components + mean


@kernel
def _product(X: Any, other: Any) -> Any:
    return X @ other


# -- PCA ---------------------------------------------------------------------


def _solver(self: Any, rows: int, columns: int) -> str:
    """Return the solver that scikit-learn takes."""
    if self.svd_solver != "auto":
        return self.svd_solver  # type: ignore[no-any-return]
    if columns <= _COLUMNS and rows >= _ROWS * columns:
        return "covariance_eigh"
    if max(rows, columns) <= _SMALL or self.n_components == "mle":
        return "full"
    wanted = min(rows, columns) if self.n_components is None else self.n_components
    return "randomized" if 1 <= wanted < _MOST * min(rows, columns) else "full"


@by_parts("decomposition.PCA", "fit")
def _fit(self: Any, X: Any, y: Any = None) -> Any:
    parts = to_fit(self, X, None, None)
    rows, columns = int(parts.lengths().sum()), parts.shape[1]
    if rows <= columns:
        raise WholeArraysError("there are fewer rows than columns")
    wanted = columns if self.n_components is None else self.n_components
    if not (wanted == "mle" or 0 <= wanted <= columns):
        raise WholeArraysError(f"n_components={self.n_components!r}")
    self._fit_svd_solver = solver = _solver(self, rows, columns)
    self.n_samples_ = rows
    if solver == "covariance_eigh":
        _, mean, products = parts.reduce(moments.of_products, moments.products)
        check_finite(self, parts, products)
        values, vectors = np.linalg.eigh(products / (rows - 1))
        values = np.maximum(values[::-1], 0.0)
        _set(self, parts, mean, values, vectors[:, ::-1].T)
    else:
        found = triangle_of(self, parts)
        if solver == "full":
            _, singular, vectors = np.linalg.svd(found.centred, full_matrices=False)
            _set(self, parts, found.mean, singular * singular / (rows - 1), vectors)
        else:
            _set_as_of(self, parts, found, solver)
    return self


def _set(self: Any, parts: Parts, mean: Any, values: Any, vectors: Any) -> None:
    """Set what is fitted to the variances along all components."""
    wanted = len(values) if self.n_components is None else self.n_components
    _, components = svd_flip(None, vectors, u_based_decision=False)
    ratio = values / values.sum()
    if wanted == "mle":
        wanted = _infer_dimension(values, self.n_samples_)
    elif 0 < wanted < 1:
        wanted = int(np.searchsorted(np.cumsum(ratio), wanted, side="right")) + 1
    dtype = parts.dtype
    self.mean_ = mean.astype(dtype)
    self.noise_variance_ = values[wanted:].mean().astype(dtype) if wanted < len(values) else 0.0
    self.n_components_ = int(wanted)
    self.components_ = np.ascontiguousarray(components[:wanted]).astype(dtype)
    self.explained_variance_ = values[:wanted].astype(dtype)
    self.explained_variance_ratio_ = ratio[:wanted].astype(dtype)
    self.singular_values_ = np.sqrt(values * (self.n_samples_ - 1))[:wanted].astype(dtype)


def _set_as_of(self: Any, parts: Parts, found: Any, solver: str) -> None:
    """Set what scikit-learn's own solver finds of rows with the same products and no means."""
    like = np.concatenate([found.centred, -found.centred]) / np.sqrt(2.0)
    params = {**self.get_params(deep=False), "svd_solver": solver, "copy": True}
    fitted_one = decomposition.PCA(**params).fit(like)
    scale = (len(like) - 1) / (self.n_samples_ - 1)
    dtype = parts.dtype
    self.mean_ = found.mean.astype(dtype)
    self.noise_variance_ = dtype.type(fitted_one.noise_variance_ * scale)
    self.n_components_ = fitted_one.n_components_
    self.components_ = fitted_one.components_.astype(dtype)
    self.explained_variance_ = (fitted_one.explained_variance_ * scale).astype(dtype)
    self.explained_variance_ratio_ = fitted_one.explained_variance_ratio_.astype(dtype)
    self.singular_values_ = fitted_one.singular_values_.astype(dtype)


def _scale(self: Any, width: int, dtype: Any) -> Any:
    """Return by what components are divided."""
    if not self.whiten:
        return np.ones(width, dtype)
    scale = np.sqrt(array(self.explained_variance_))
    return np.maximum(scale, np.finfo(scale.dtype).eps)


@by_parts("decomposition.PCA", "transform")
def _transform(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    mean, components = array(self.mean_), array(self.components_)
    scale = _scale(self, len(components), components.dtype)
    return fitted(self, X).map(_projected, mean, components, scale)


@by_parts("decomposition.PCA", "fit_transform")
def _fit_transform(self: Any, X: Any, y: Any = None) -> Any:
    return _transform(_fit(self, X), X)


@by_parts("decomposition.PCA", "inverse_transform")
def _inverse(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    components = array(self.components_)
    scale = _scale(self, len(components), components.dtype)
    return fitted(self, X, width=len(components)).map(_back, array(self.mean_), components, scale)


# -- TruncatedSVD --------------------------------------------------------------


@by_parts("decomposition.TruncatedSVD", "fit")
def _fit_truncated(self: Any, X: Any, y: Any = None) -> Any:
    parts = to_fit(self, X)
    found = triangle_of(self, parts)
    # Only left singular vectors of the rows differ from those of their factor.
    of_factor = decomposition.TruncatedSVD(**self.get_params(deep=False)).fit(found.columns)
    apart = found.centred @ of_factor.components_.T
    variance = (apart * apart).sum(axis=0) / found.count
    total = (found.centred**2).sum() / found.count
    self.components_ = of_factor.components_.astype(parts.dtype)
    self.singular_values_ = of_factor.singular_values_.astype(parts.dtype)
    self.explained_variance_ = variance.astype(parts.dtype)
    self.explained_variance_ratio_ = (variance / total).astype(parts.dtype)
    return self


@by_parts("decomposition.TruncatedSVD", "transform")
def _transform_truncated(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    return fitted(self, X).map(_product, array(self.components_).T)


@by_parts("decomposition.TruncatedSVD", "fit_transform")
def _fit_transform_truncated(self: Any, X: Any, y: Any = None) -> Any:
    return _transform_truncated(_fit_truncated(self, X), X)


@by_parts("decomposition.TruncatedSVD", "inverse_transform")
def _inverse_truncated(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    components = array(self.components_)
    return fitted(self, X, width=len(components)).map(_product, components)
