"""``Lasso`` and ``ElasticNet``: the products of columns on the device, the descent on the host.

Coordinate descent changes one coefficient after the other. All that it needs of the data are the
products of the columns with each other and with y; they are what takes time, and they are few. From
them scikit-learn's own descent goes on.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn import linear_model
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg

#: Maximum number of columns for which there are products of all with all.
_WIDEST = 1 << 13


def products(
    X: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None, center: bool
) -> tuple[torch.Tensor, ...]:
    """Return the products of columns, those with y and those of y, and what was subtracted."""
    columns = X.shape[1]
    means = X.new_zeros(columns + y.shape[1], dtype=torch.float64)
    size = len(linalg.tiles(X)[0])
    shares = torch.split(weights, size) if weights is not None else None

    def pieces() -> Any:
        for i, (part, target) in enumerate(
            zip(torch.split(X, size), torch.split(y, size), strict=True)
        ):
            wide = torch.cat([part.double(), target.double()], dim=1)
            yield wide, (shares[i].double()[:, None] if shares is not None else None)

    if center:
        for wide, share in pieces():
            means += (wide if share is None else wide * share).sum(dim=0)
        means /= len(X) if weights is None else weights.sum(dtype=torch.float64)
    found = means.new_zeros((len(means), len(means)))
    for wide, share in pieces():
        apart = wide - means
        found.addmm_(apart.T, apart if share is None else apart * share)
    inner, mixed = found[:columns, :columns], found[:columns, columns:]
    return inner, mixed, torch.diagonal(found)[columns:], means[:columns], means[columns:]


def paths(
    self: Any,
    rows: int,
    inner: Any,
    mixed: Any,
    square: Any,
    alphas: Any,
    l1_ratio: float,
    beginning: Any = None,
) -> tuple[Any, Any, Any]:
    """Return coefficients by penalty, dual gaps and numbers of iterations: scikit-learn's descent.

    Parameters
    ----------
    self : estimator
        What says how to descend.
    rows : int
    inner, mixed, square : ndarray
        The products of columns, those with y and that of y with itself.
    alphas : sequence of float
    l1_ratio : float
    beginning : ndarray, optional
    """
    # Of X only the shape is asked for, and of y its product with itself.
    shape = np.broadcast_to(np.zeros(1), (rows, len(inner)))
    found = linear_model.enet_path(
        shape,
        np.sqrt(square),
        l1_ratio=l1_ratio,
        alphas=alphas,
        precompute=np.ascontiguousarray(inner),
        Xy=np.ascontiguousarray(mixed),
        coef_init=beginning,
        return_n_iter=True,
        positive=self.positive,
        check_input=False,
        tol=self.tol,
        max_iter=self.max_iter,
        random_state=self.random_state,
        selection=self.selection,
    )
    return found[1], found[2], found[3]


class Sparse:
    """Base of the two; one is the other with ``l1_ratio=1``."""

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        if self.alpha == 0:
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the "
                "LinearRegression estimator",
                stacklevel=2,
            )
        X, y = self._validated(X, y, dtype=FLOATS, multi_output=True, y_numeric=True)
        y = self._moved(y).to(X.dtype)
        weights = self._weights(sample_weight, X)
        if weights is not None:
            weights = weights * (len(X) / weights.sum())
        targets = y if y.ndim > 1 else y[:, None]
        *moments, x_mean, y_mean = products(X, targets, weights, self.fit_intercept)
        found = self._npaccel_descent(
            len(X), *map(transfers.to_host, moments), self._npaccel_beginning(X, y)
        )
        coefficients = self._moved(np.array([one[0] for one in found])).double()
        intercept = y_mean - coefficients @ x_mean
        gaps, counts = [one[1] for one in found], [one[2] for one in found]
        if y.ndim == 1 or y.shape[1] == 1:
            coefficients = coefficients[0]
            dtype = common.numpy_dtype(X.dtype).type
            self.dual_gap_, self.n_iter_ = dtype(gaps[0]), counts[0]
        else:
            self.dual_gap_ = self._moved(np.array(gaps)).to(X.dtype)
            self.n_iter_ = counts
        self.coef_ = coefficients.to(X.dtype)
        one = y.ndim == 1
        self.intercept_ = (intercept[0] if one else intercept).to(X.dtype)
        if not self.fit_intercept:
            self.intercept_ = 0.0
        if not transfers.number(torch.isfinite(intercept).all()):
            raise ValueError(
                "Coordinate descent iterations resulted in non-finite parameter values. The input "
                "data may contain large values and need to be preprocessed."
            )
        return self

    def _npaccel_beginning(self: Any, X: torch.Tensor, y: torch.Tensor) -> Any:
        """Return the coefficients to begin with, by target, on the host."""
        count = 1 if y.ndim == 1 else y.shape[1]
        if not (self.warm_start and hasattr(self, "coef_")):
            return np.zeros((count, X.shape[1]))
        known = self.coef_
        known = transfers.to_host(known) if isinstance(known, torch.Tensor) else known
        return np.atleast_2d(known).astype(np.float64)

    def _npaccel_descent(
        self: Any, rows: int, inner: Any, mixed: Any, squares: Any, beginning: Any
    ) -> list[tuple[Any, Any, Any]]:
        """Return of each target the coefficients, the dual gap and the number of iterations."""
        found = []
        with common.on_host(self):
            for target, first in enumerate(beginning):
                parts = inner, mixed[:, target], squares[target : target + 1]
                path, gaps, counts = paths(
                    self, rows, *parts, [self.alpha], self.l1_ratio, first.copy()
                )
                found.append((path[:, 0], gaps[0], counts[0]))
        return found

    def predict(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        wide = torch.promote_types(X.dtype, self.coef_.dtype)
        coefficients = self.coef_.to(wide)
        found = X.to(wide) @ (coefficients.T if coefficients.ndim > 1 else coefficients)
        return found + self.intercept_

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)  # type: ignore[misc]
        if why or "fit" not in method:
            return why
        if not isinstance(self.precompute, bool | str):
            return "`precompute` is a matrix"
        if more.get("check_input") is False:
            return "`check_input=False`"
        shape: Any = getattr(X, "shape", ())
        if len(shape) == 2 and (shape[1] >= shape[0] or shape[1] > _WIDEST):
            return "the products of all columns are more than X is"
        return ""

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return common.AS_FAST


_REFUSED = "sparse matrices; more columns than rows; `precompute` as a matrix"


@on_device("linear_model.Lasso", refused=_REFUSED, tolerance=1e-6)
class Lasso(Sparse, Accelerated, linear_model.Lasso):  # type: ignore[misc]
    __doc__ = linear_model.Lasso.__doc__


@on_device("linear_model.ElasticNet", refused=_REFUSED, tolerance=1e-6)
class ElasticNet(Sparse, Accelerated, linear_model.ElasticNet):  # type: ignore[misc]
    __doc__ = linear_model.ElasticNet.__doc__
