"""Means and variances of columns: StandardScaler."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing._data import _handle_zeros_in_scale, _is_constant_feature
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.parts import moments
from npaccel._sklearn.parts.calls import array, by_parts, check_finite, fitted, to_fit, weights_of
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, kernel


@kernel
def _scaled(X: Any, mean: Any, scale: Any) -> Any:
    return (X - mean.astype(X.dtype)) / scale.astype(X.dtype)


@kernel
def _unscaled(X: Any, mean: Any, scale: Any) -> Any:
    return X * scale.astype(X.dtype) + mean.astype(X.dtype)


@by_parts("preprocessing.StandardScaler", "fit")
def _fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    weights = weights_of(sample_weight)
    return _learn(self, to_fit(self, X, weights), weights is not None, None)


@by_parts("preprocessing.StandardScaler", "partial_fit")
def _partial_fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    if not hasattr(self, "n_samples_seen_"):
        return _fit(self, X, sample_weight=sample_weight)
    weights = weights_of(sample_weight)
    self._validate_params()
    parts = fitted(self, X, weights)
    mass = np.broadcast_to(array(self.n_samples_seen_), parts.shape[1:]).astype(np.float64)
    # Without a scale nothing is asked of variances, and maybe none were kept.
    nothing = np.zeros(parts.shape[1])
    mean = nothing if self.mean_ is None else array(self.mean_)
    squares = nothing if self.var_ is None else array(self.var_) * mass
    return _learn(self, parts, weights is not None, (mass, mean, squares))


def _learn(self: Any, parts: Parts, is_weighted: bool, before: Any) -> Any:
    """Set means and variances of rows, and of those before: their number, mean and squares."""
    found = parts.reduce(moments.of_columns, moments.squares)
    check_finite(self, parts, *found[1:], nan=True)
    mass, mean, squares = found if before is None else moments.squares(before, found)
    if (mass == 0).any():
        raise WholeArraysError("a column has no values")
    mass = mass.astype(parts.dtype if is_weighted else np.int64)
    variance = squares / mass
    self.n_samples_seen_ = mass[0] if mass.min() == mass.max() else mass
    self.mean_ = mean if self.with_mean or self.with_std else None
    self.var_ = self.scale_ = None
    if self.with_std:
        self.var_ = variance
        constant = _is_constant_feature(variance, mean, self.n_samples_seen_)
        self.scale_ = _handle_zeros_in_scale(np.sqrt(variance), False, constant_mask=constant)
    return self


def _columns(self: Any) -> tuple[Any, Any]:
    """Return by column what is taken off and what is divided by."""
    check_is_fitted(self)
    width = self.n_features_in_
    mean = array(self.mean_) if self.with_mean else np.zeros(width)
    scale = array(self.scale_) if self.with_std else np.ones(width)
    return mean, scale


@by_parts("preprocessing.StandardScaler", "transform")
def _transform(self: Any, X: Any, copy: Any = None) -> Any:
    return fitted(self, X).map(_scaled, *_columns(self), nan=True)


@by_parts("preprocessing.StandardScaler", "inverse_transform")
def _inverse(self: Any, X: Any, copy: Any = None) -> Any:
    return fitted(self, X).map(_unscaled, *_columns(self), nan=True)


@by_parts("preprocessing.StandardScaler", "fit_transform")
def _fit_transform(self: Any, X: Any, y: Any = None, **params: Any) -> Any:
    return _transform(_fit(self, X, y, **params), X)
