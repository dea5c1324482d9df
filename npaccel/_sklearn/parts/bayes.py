"""Means and variances of columns by class: GaussianNB."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.parts import moments
from npaccel._sklearn.parts.calls import (
    array,
    by_parts,
    check_finite,
    fitted,
    labels_of,
    to_fit,
    weights_of,
)
from npaccel._sklearn.parts.engine import WholeArraysError, kernel


@kernel
def _by_class(X: Any, y: Any, weights: Any, classes: Any) -> Any:
    """Return the weight, means and sums of squares of each class; of all rows without weights."""
    X = X.astype(np.float64)
    own = (y[:, None] == classes).astype(np.float64)
    everyone = np.ones((len(X), 1))
    mass = own if weights is None else own * weights.astype(np.float64)[:, None]
    mass = np.concatenate([mass, everyone], axis=1)
    total = mass.sum(axis=0)
    mean = (mass.T @ X) / np.where(total != 0.0, total, 1.0)[:, None]
    apart = X - own @ mean[:-1]
    squares = mass[:, :-1].T @ (apart * apart)
    apart = X - mean[-1:]
    return total, mean, np.concatenate([squares, (apart * apart).sum(axis=0, keepdims=True)])


@kernel
def _joint(X: Any, mean: Any, variance: Any, prior: Any) -> Any:
    """Return the logarithms of the chances of rows and classes together."""
    constant = np.log(prior) - 0.5 * np.log(2.0 * np.pi * variance).sum(axis=1)
    apart = (X[:, None] - mean) ** 2 / variance
    return constant - 0.5 * apart.sum(axis=2)


@kernel
def _logarithms(X: Any, mean: Any, variance: Any, prior: Any) -> Any:
    joint = _joint(X, mean, variance, prior)
    most = joint.max(axis=1, keepdims=True)
    return joint - (most + np.log(np.exp(joint - most).sum(axis=1, keepdims=True)))


@kernel
def _chances(X: Any, mean: Any, variance: Any, prior: Any) -> Any:
    return np.exp(_logarithms(X, mean, variance, prior))


@kernel
def _labels(X: Any, mean: Any, variance: Any, prior: Any, classes: Any) -> Any:
    return classes[np.argmax(_joint(X, mean, variance, prior), axis=1)]


@by_parts("naive_bayes.GaussianNB", "fit")
def _fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    if self.priors is not None:
        raise WholeArraysError("priors are given")
    parts = to_fit(self, X, y, weights_of(sample_weight))
    self.classes_ = labels_of(self, y)
    mass, mean, squares = parts.reduce(_by_class, moments.by_group, self.classes_)
    check_finite(self, parts, mean, squares)
    if (mass == 0.0).any():
        raise WholeArraysError("the rows of a class have no weight")
    variance = (squares / mass[:, None]).astype(parts.dtype)
    self.epsilon_ = self.var_smoothing * variance[-1].max()
    self.class_count_ = mass[:-1].astype(parts.dtype)
    self.theta_ = mean[:-1].astype(parts.dtype)
    self.var_ = variance[:-1] + self.epsilon_
    self.class_prior_ = self.class_count_ / self.class_count_.sum()
    return self


def _found(self: Any) -> tuple[Any, Any, Any]:
    check_is_fitted(self)
    return array(self.theta_), array(self.var_), array(self.class_prior_)


@by_parts("naive_bayes.GaussianNB", "predict")
def _predict(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_labels, *_found(self), array(self.classes_))


@by_parts("naive_bayes.GaussianNB", "predict_joint_log_proba")
def _predict_joint(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_joint, *_found(self))


@by_parts("naive_bayes.GaussianNB", "predict_log_proba")
def _predict_logarithms(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_logarithms, *_found(self))


@by_parts("naive_bayes.GaussianNB", "predict_proba")
def _predict_chances(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_chances, *_found(self))
