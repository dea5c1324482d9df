"""``LinearRegression`` and ``Ridge`` of ``sklearn.linear_model`` on the device."""

from __future__ import annotations

from typing import Any

import torch
from sklearn import linear_model
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, IS_BLAS, IS_SMALL, Accelerated, is_small
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg


def _prepared(self: Any, X: Any, y: Any, sample_weight: Any, **params: Any) -> tuple[Any, ...]:
    """Return X, y with a column per target, the weights, and whether y was a vector."""
    X, y = self._validated(X, y, dtype=FLOATS, y_numeric=True, multi_output=True)
    y = self._moved(y).to(X.dtype)
    weights = self._weights(sample_weight, X, **params)
    return X, (y[:, None] if y.ndim == 1 else y), weights, y.ndim == 1


def _predicted(self: Any, X: Any) -> torch.Tensor:
    check_is_fitted(self)
    X = self._validated(X, reset=False, dtype=FLOATS)
    return linalg.affine(X, self.coef_, self.intercept_)


def _set_intercept(self: Any, at: torch.Tensor, of: torch.Tensor, vector: bool) -> None:
    if not self.fit_intercept:
        self.intercept_ = 0.0
        return
    coefficients = self.coef_ if self.coef_.ndim > 1 else self.coef_[None]
    intercept = of.to(torch.float64) - coefficients.to(torch.float64) @ at.to(torch.float64)
    intercept = intercept.to(self.coef_.dtype)
    self.intercept_ = intercept[0] if vector else intercept


@on_device(
    "linear_model.LinearRegression", refused="sparse matrices; `positive=True`", tolerance=1e-7
)
class LinearRegression(Accelerated, linear_model.LinearRegression):  # type: ignore[misc]
    __doc__ = linear_model.LinearRegression.__doc__

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        X, y, weights, vector = _prepared(self, X, y, sample_weight, ensure_non_negative=True)
        at, of = linalg.means(X, y, weights, self.fit_intercept)
        found, self.singular_, self.rank_ = _least_squares(
            *linalg.rescaled(X, y, weights, at, of), getattr(self, "tol", 1e-6)
        )
        self.coef_ = found[:, 0].contiguous() if vector else found.T.contiguous()
        _set_intercept(self, at, of, vector)
        return self

    def predict(self, X: Any) -> Any:
        return _predicted(self, X)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        return why or ("`positive=True`" if self.positive and method == "fit" else "")

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        if is_small(X):
            return IS_SMALL
        return "" if method == "fit" or isinstance(X, torch.Tensor) else IS_BLAS


def _least_squares(
    X: torch.Tensor, y: torch.Tensor, tol: float
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Return the shortest solution, the singular values, and how many aren't as good as zero."""
    width = X.shape[1]
    if len(X) > width + y.shape[1]:
        # The triangle has the same singular values, and the same solution.
        triangle = torch.linalg.qr(torch.cat([X, y], dim=1), mode="r").R[:width]
        X, y = triangle[:, :width], triangle[:, width:]
    U, values, Vt = torch.linalg.svd(X, full_matrices=False)
    kept = values > tol * values.max()
    inverse = torch.where(kept, 1 / values, 0.0)
    return Vt.T @ (inverse[:, None] * (U.T @ y)), values, int(transfers.number(kept.sum()))


@on_device(
    "linear_model.Ridge",
    refused='sparse matrices; `positive=True`; solvers but "auto", "cholesky" and "svd"',
)
class Ridge(Accelerated, linear_model.Ridge):  # type: ignore[misc]
    __doc__ = linear_model.Ridge.__doc__

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        X, y, weights, vector = _prepared(self, X, y, sample_weight)
        alpha = self._moved(_alphas(self.alpha, y.shape[1])).to(torch.float64)
        self.solver_ = "svd" if self.solver == "svd" else "cholesky"
        self.n_iter_ = None
        found = None
        if self.solver_ == "cholesky" and X.shape[1] <= len(X):
            gram, right, at, of = linalg.centred_products(X, y, weights, self.fit_intercept)
            found = _by_products(gram, right, alpha)
        else:
            at, of = linalg.means(X, y, weights, self.fit_intercept)
            rows, target = linalg.rescaled(X, y, weights, at, of)
            if self.solver_ == "cholesky":
                wide = rows.to(torch.float64)
                dual = _by_products(wide @ wide.T, target.to(torch.float64), alpha)
                found = None if dual is None else wide.T @ dual
        if found is None:
            self.solver_ = "svd"
            rows, target = linalg.rescaled(X, y, weights, at, of)
            found = _by_values(rows.to(torch.float64), target.to(torch.float64), alpha)
        found = found.to(X.dtype)
        self.coef_ = found[:, 0].contiguous() if y.shape[1] == 1 else found.T.contiguous()
        _set_intercept(self, at, of, vector)
        return self

    def predict(self, X: Any) -> Any:
        return _predicted(self, X)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if why or method != "fit":
            return why
        if self.positive:
            return "`positive=True`"
        return "" if self.solver in ("auto", "cholesky", "svd") else f"`solver={self.solver!r}`"

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return "" if isinstance(X, torch.Tensor) else IS_BLAS


def _alphas(alpha: Any, targets: int) -> Any:
    """Return a penalty per target."""
    import numpy as np

    found = np.asarray(alpha, dtype=np.float64).ravel()
    if len(found) not in (1, targets):
        raise ValueError(
            "Number of targets and number of penalties do not correspond: "
            f"{targets} != {len(found)}"
        )
    return np.broadcast_to(found, (targets,)).copy()


def _by_products(
    gram: torch.Tensor, right: torch.Tensor, alpha: torch.Tensor
) -> torch.Tensor | None:
    """Solve the equations of each target with its penalty; None if that can't be done."""
    eye = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    if len(alpha) == 1:
        return linalg.solved_positive(gram + alpha * eye, right)
    stack = gram + alpha[:, None, None] * eye
    factor, failed = torch.linalg.cholesky_ex(stack)
    if transfers.number(failed.max()):
        return None
    return torch.cholesky_solve(right.T[:, :, None], factor)[:, :, 0].T


def _by_values(X: torch.Tensor, y: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """Solve by singular values."""
    U, values, Vt = torch.linalg.svd(X, full_matrices=False)
    scale = values[:, None] / (values[:, None] ** 2 + alpha)
    scale = torch.where(values[:, None] > 1e-15, scale, 0.0)
    return Vt.T @ (scale * (U.T @ y))
