"""Means and variances of columns: StandardScaler and GaussianNB."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing._data import _handle_zeros_in_scale, _is_constant_feature
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.sharded.calls import (
    WholeArraysError,
    array,
    checked,
    kernel,
    sharded,
    unweighted,
    whole,
)


@kernel
def _moments(X: Any) -> Any:
    """Return by column how many values there are, their mean and their variance, in 64 bits."""
    there = ~np.isnan(X)
    values = np.where(there, X, 0.0).astype(np.float64)
    count = there.sum(axis=0)
    mean = values.sum(axis=0) / count
    apart = np.where(there, values - mean, 0.0)
    shift = apart.sum(axis=0) / count
    return count, mean, (apart * apart).sum(axis=0) / count - shift * shift


@kernel
def _scaled(X: Any, mean: Any, scale: Any) -> Any:
    return (X - mean.astype(X.dtype)) / scale.astype(X.dtype)


@kernel
def _unscaled(X: Any, mean: Any, scale: Any) -> Any:
    return X * scale.astype(X.dtype) + mean.astype(X.dtype)


@sharded("preprocessing.StandardScaler", "fit")
def _fit_scaler(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    unweighted(sample_weight)
    checked(self, X, fits=True, nan=True)
    count, mean, variance = _moments(X)
    if (count == 0).any():
        raise WholeArraysError("a column has no values")
    same = count.min() == count.max()
    self.n_samples_seen_ = count[0] if same else count
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


@sharded("preprocessing.StandardScaler", "transform")
def _transform(self: Any, X: Any, copy: Any = None) -> Any:
    mean, scale = _columns(self)
    return _scaled(checked(self, X, fits=False, nan=True), mean, scale)


@sharded("preprocessing.StandardScaler", "inverse_transform")
def _inverse(self: Any, X: Any, copy: Any = None) -> Any:
    mean, scale = _columns(self)
    return _unscaled(checked(self, X, fits=False, nan=True), mean, scale)


@sharded("preprocessing.StandardScaler", "fit_transform")
def _fit_transform(self: Any, X: Any, y: Any = None, **params: Any) -> Any:
    return _transform(_fit_scaler(self, X, y, **params), X)


# -- GaussianNB ---------------------------------------------------------------


@kernel
def _by_class(X: Any, codes: Any, classes: Any) -> Any:
    """Return by class how many rows there are, their mean and variance; the largest variance."""
    own = (codes[:, None] == classes).astype(X.dtype)
    count = own.sum(axis=0)
    mean = (own.T @ X) / count[:, None]
    apart = X - own @ mean
    return count, mean, (own.T @ (apart * apart)) / count[:, None], X.var(axis=0).max()


@kernel
def _joint(X: Any, mean: Any, variance: Any, prior: Any) -> Any:
    """Return the logarithms of the chances of rows and classes together."""
    constant = np.log(prior) - 0.5 * np.log(2.0 * np.pi * variance).sum(axis=1)
    apart = (X[:, None] - mean) ** 2 / variance
    return constant - 0.5 * apart.sum(axis=2)


@kernel
def _normalised(joint: Any) -> Any:
    most = joint.max(axis=1, keepdims=True)
    return joint - (most + np.log(np.exp(joint - most).sum(axis=1, keepdims=True)))


@kernel
def _labels(joint: Any, classes: Any) -> Any:
    return classes[np.argmax(joint, axis=1)]


@sharded("naive_bayes.GaussianNB", "fit")
def _fit_bayes(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    unweighted(sample_weight)
    checked(self, X, fits=True)
    labels = np.asarray(whole(y))
    if self.priors is not None or labels.shape != (len(X),) or labels.dtype.kind not in "biu":
        raise WholeArraysError("priors are given, or y isn't one of integers for each row")
    self.classes_, codes = np.unique(labels, return_inverse=True)
    known = np.arange(len(self.classes_))
    count, mean, variance, most = _by_class(X, codes.astype(np.int64), known)
    self.epsilon_ = self.var_smoothing * most
    self.class_count_, self.theta_, self.var_ = count, mean, variance + self.epsilon_
    self.class_prior_ = count / count.sum()
    return self


def _joint_of(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    X = checked(self, X, fits=False)
    return _joint(X, array(self.theta_), array(self.var_), array(self.class_prior_))


@sharded("naive_bayes.GaussianNB", "predict")
def _predict_bayes(self: Any, X: Any) -> Any:
    return _labels(_joint_of(self, X), array(self.classes_))


@sharded("naive_bayes.GaussianNB", "predict_log_proba")
def _log_chances(self: Any, X: Any) -> Any:
    return _normalised(_joint_of(self, X))


@sharded("naive_bayes.GaussianNB", "predict_proba")
def _chances(self: Any, X: Any) -> Any:
    return _exponentials(_log_chances(self, X))


@kernel
def _exponentials(values: Any) -> Any:
    return np.exp(values)
