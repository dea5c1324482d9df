"""Means and variances of columns by class: GaussianNB."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import _check_partial_fit_first_call
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
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, kernel


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
    parts = to_fit(self, X, y, weights_of(sample_weight))
    classes = labels_of(self, y)
    found = _counted(self, parts, classes)
    if (found[0] == 0.0).any():
        raise WholeArraysError("the rows of a class have no weight")
    self.classes_ = classes
    return _set(self, parts, *found)


@by_parts("naive_bayes.GaussianNB", "partial_fit")
def _partial_fit(self: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
    weights = weights_of(sample_weight)
    is_first = getattr(self, "classes_", None) is None
    parts = to_fit(self, X, y, weights) if is_first else fitted(self, X, y, weights)
    if is_first and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    known = np.unique(classes) if is_first else array(self.classes_)
    labels = labels_of(self, y)
    if not np.isin(labels, known).all():
        raise ValueError(
            f"The target label(s) {labels[~np.isin(labels, known)]} in y do not exist in the "
            f"initial classes {known}"
        )
    mass, mean, squares, epsilon = _counted(self, parts, known)
    _check_partial_fit_first_call(self, classes)
    if is_first:
        return _set(self, parts, mass, mean, squares, epsilon)
    old, theta, variance = map(array, (self.class_count_, self.theta_, self.var_))
    # As scikit-learn does: the new number is taken off what the old one was added to.
    before = (variance.astype(np.float64) - epsilon) * old[:, None]
    mass, mean, squares = moments.by_group((old, theta, before), (mass, mean, squares))
    _set(self, parts, mass, mean, squares, epsilon)
    nothing = mass == 0.0
    self.theta_[nothing], self.var_[nothing] = theta[nothing], variance[nothing]
    return self


def _counted(self: Any, parts: Parts, classes: Any) -> tuple[Any, Any, Any, Any]:
    """Return weights, means and sums of squares of classes, and what is added to variances."""
    if self.priors is not None:
        raise WholeArraysError("priors are given")
    mass, mean, squares = parts.reduce(_by_class, moments.by_group, classes)
    check_finite(self, parts, mean, squares)
    epsilon = self.var_smoothing * (squares[-1] / mass[-1]).astype(parts.dtype).max()
    return mass[:-1], mean[:-1], squares[:-1], epsilon


def _set(self: Any, parts: Parts, mass: Any, mean: Any, squares: Any, epsilon: Any) -> Any:
    self.epsilon_ = epsilon
    self.class_count_ = mass.astype(parts.dtype)
    self.theta_ = mean.astype(parts.dtype)
    variance = squares / np.where(mass > 0.0, mass, 1.0)[:, None]
    self.var_ = variance.astype(parts.dtype) + epsilon
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
