"""Least squares: LinearRegression and Ridge."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, optimize
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.parts import moments
from npaccel._sklearn.parts.calls import array, by_parts, check_finite, fitted, to_fit, weights_of
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, kernel
from npaccel._sklearn.parts.triangles import triangle_of


@kernel
def _predicted(X: Any, coef: Any, intercept: Any) -> Any:
    return X @ coef.T + intercept


def _to_fit(self: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Parts, Any]:
    """Return the parts, and the weights of rows."""
    if getattr(y, "ndim", 0) not in (1, 2) or getattr(y, "dtype", None) is None:
        raise WholeArraysError("y isn't an array of a number, or several, for each row")
    if str(y.dtype).startswith(("complex", "torch.complex", "object", "<U", "str")):
        raise WholeArraysError(f"y has the dtype {y.dtype}")
    weights = weights_of(sample_weight)
    return to_fit(self, X, y, weights), weights


def _set(self: Any, parts: Parts, y: Any, coef: Any, mean: Any) -> Any:
    """Set coefficients, of which there is a column for each target, and intercepts."""
    width = parts.shape[1]
    if self.fit_intercept:
        intercept = (mean[width:] - mean[:width] @ coef).astype(parts.dtype)
        self.intercept_ = intercept if y.ndim == 2 else intercept[0]
    else:
        self.intercept_ = 0.0
    coef = coef.astype(parts.dtype)
    self.coef_ = coef.T if y.ndim == 2 else coef[:, 0]
    return self


@by_parts("linear_model.LinearRegression", "fit")
def _fit_least_squares(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    parts, _ = _to_fit(self, X, y, sample_weight)
    found = triangle_of(self, parts)
    factor = found.centred if self.fit_intercept else found.columns
    width = parts.shape[1]
    columns, target = factor[:, :width], factor[:, width:]
    if self.positive:
        coef = np.stack([optimize.nnls(columns, one)[0] for one in target.T], axis=1)
    else:
        # A factor in 64 bits doesn't say how exact the rows are.
        cond = getattr(self, "tol", None)
        coef, _, self.rank_, singular = linalg.lstsq(columns, target, cond=cond)
        self.singular_ = singular.astype(parts.dtype)
    return _set(self, parts, y, coef, found.mean)


@by_parts("linear_model.Ridge", "fit")
def _fit_ridge(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    if self.solver not in ("auto", "cholesky") or self.positive:
        raise WholeArraysError("a solver besides Cholesky's, or positive=True")
    alphas = np.ravel(array(self.alpha)).astype(np.float64)
    if len(alphas) not in (1, y.shape[1] if getattr(y, "ndim", 1) == 2 else 1):
        raise WholeArraysError(f"alpha has {len(alphas)} numbers, and y other columns")
    parts, _ = _to_fit(self, X, y, sample_weight)
    width = parts.shape[1]
    if parts.lengths().sum() < width:
        raise WholeArraysError("there are fewer rows than columns")
    mass, mean, products = parts.reduce(moments.of_products, moments.products)
    check_finite(self, parts, products)
    if not self.fit_intercept:
        products = products + mass * np.outer(mean, mean)
    gram, targets = products[:width, :width], products[:width, width:]
    try:
        if len(alphas) == 1:
            coef = _solved(gram, alphas[0], targets)
        else:
            each = zip(alphas, targets.T, strict=True)
            coef = np.stack([_solved(gram, alpha, one) for alpha, one in each], axis=1)
    except linalg.LinAlgError as error:
        raise WholeArraysError("columns depend on each other") from error
    self.n_iter_, self.solver_ = None, "cholesky"
    return _set(self, parts, y, coef, mean)


def _solved(gram: Any, alpha: float, targets: Any) -> Any:
    return linalg.solve(gram + np.eye(len(gram)) * alpha, targets, assume_a="pos")


@by_parts("linear_model.LinearRegression linear_model.Ridge", "predict")
def _predict(self: Any, X: Any) -> Any:
    check_is_fitted(self)
    parts = fitted(self, X)
    coef = array(self.coef_)
    intercept = np.asarray(array(self.intercept_), coef.dtype)
    return parts.map(_predicted, coef, intercept)
