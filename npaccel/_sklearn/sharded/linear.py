"""Least squares: LinearRegression and Ridge."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.sharded.calls import (
    WholeArraysError,
    array,
    checked,
    kernel,
    sharded,
    unweighted,
)


@kernel
def _means(X: Any, y: Any) -> Any:
    return X.mean(axis=0), y.mean(axis=0)


@kernel
def _gram(X: Any, y: Any, mean: Any, centre: Any) -> Any:
    """Return the products of centred columns with each other and with the target."""
    X = X - mean
    return X.T @ X, X.T @ (y - centre)


@kernel
def _second(X: Any, mean: Any, inverse: Any) -> Any:
    """Return the products of columns that an inverse has made nearly orthonormal."""
    Q = (X - mean) @ inverse
    return Q.T @ Q


@kernel
def _projected(X: Any, y: Any, mean: Any, centre: Any, inverse: Any) -> Any:
    return ((X - mean) @ inverse).T @ (y - centre)


@kernel
def _predicted(X: Any, coef: Any, intercept: Any) -> Any:
    return X @ coef.T + intercept


def _given(self: Any, X: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return the target, and what is taken off columns and target."""
    checked(self, X, fits=True)
    shape = tuple(getattr(y, "shape", ()))
    if len(shape) not in (1, 2) or shape[:1] != tuple(X.shape[:1]):
        raise WholeArraysError("y isn't an array of a number, or several, for each row")
    if not hasattr(y, "full_tensor"):
        y = np.asarray(y).astype(str(X.dtype).removeprefix("torch."))
    elif y.dtype != X.dtype:
        raise WholeArraysError(f"y has the dtype {y.dtype}, and X {X.dtype}")
    mean, centre = _means(X, y)
    if not np.isfinite(centre).all():
        raise WholeArraysError("y has infinite or missing values")
    if not self.fit_intercept:
        mean, centre = np.zeros_like(mean), np.zeros_like(centre)
    return y, mean, centre


def _set(self: Any, coef: Any, mean: Any, centre: Any) -> Any:
    self.coef_ = coef.T
    self.intercept_ = centre - mean @ coef if self.fit_intercept else 0.0
    return self


@sharded("linear_model.LinearRegression", "fit")
def _fit_least_squares(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Solve by two passes of Cholesky's factors, as exact as a factorisation by Householder's."""
    unweighted(sample_weight)
    if self.positive:
        raise WholeArraysError("positive=True")
    y, mean, centre = _given(self, X, y)
    try:
        first = linalg.cholesky(_gram(X, y, mean, centre)[0])
        inverse = linalg.solve_triangular(first, np.eye(len(first), dtype=first.dtype))
        second = linalg.cholesky(_second(X, mean, inverse))
        R = second @ first
        inverse = linalg.solve_triangular(R, np.eye(len(R), dtype=R.dtype))
    except linalg.LinAlgError as error:
        raise WholeArraysError("columns depend on each other") from error
    target = _projected(X, y, mean, centre, inverse)
    coef, _, self.rank_, self.singular_ = linalg.lstsq(R, target, cond=self.tol)
    return _set(self, coef, mean, centre)


@sharded("linear_model.Ridge", "fit")
def _fit_ridge(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    unweighted(sample_weight)
    if self.solver not in ("auto", "cholesky") or self.positive or np.ndim(self.alpha):
        raise WholeArraysError("a solver besides Cholesky's, positive=True or several alphas")
    if X.ndim == 2 and X.shape[0] < X.shape[1]:
        raise WholeArraysError("there are fewer rows than columns")
    y, mean, centre = _given(self, X, y)
    gram, target = _gram(X, y, mean, centre)
    gram = gram + np.eye(len(gram), dtype=gram.dtype) * np.asarray(self.alpha, gram.dtype)
    try:
        coef = linalg.solve(gram, target, assume_a="pos")
    except linalg.LinAlgError as error:
        raise WholeArraysError("columns depend on each other") from error
    self.n_iter_, self.solver_ = None, "cholesky"
    return _set(self, coef, mean, centre)


@sharded("linear_model.LinearRegression linear_model.Ridge", "predict")
def _predict(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    X = checked(self, X, fits=False)
    return _predicted(X, array(self.coef_), np.asarray(array(self.intercept_), np.float64))
