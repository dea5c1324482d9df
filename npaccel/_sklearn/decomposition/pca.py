"""``sklearn.decomposition.PCA`` on the device."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import torch
from sklearn import decomposition
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, IS_BLAS, IS_SMALL, Accelerated, is_small
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg


@on_device("decomposition.PCA", refused='sparse matrices; `svd_solver="arpack"`', tolerance=1e-5)
class PCA(Accelerated, decomposition.PCA):  # type: ignore[misc]
    __doc__ = decomposition.PCA.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        _fitted(self, self._validated(X, dtype=FLOATS))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS)
        U, S = _fitted(self, X)
        if U is None:
            return _projected(self, X)
        U = U[:, : self.n_components_]
        return U * math.sqrt(len(X) - 1) if self.whiten else U * S[: self.n_components_]

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        return _projected(self, self._validated(X, reset=False, dtype=FLOATS))

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        if not isinstance(X, torch.Tensor):
            X = check_array(X, input_name="X", dtype=FLOATS)
        components = self.components_
        if self.whiten:
            components = components * torch.sqrt(self.explained_variance_)[:, None]
        X = self._moved(X)
        return X @ components.to(X.dtype) + self.mean_.to(X.dtype)

    def score_samples(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        centred = X - self.mean_.to(X.dtype)
        precision = self.get_precision().to(X.dtype)
        squares = torch.sum(centred * (centred @ precision), dim=1)
        constant = X.shape[1] * math.log(2 * math.pi) - torch.logdet(precision)
        return -0.5 * (squares + constant)

    def score(self, X: Any, y: Any = None) -> Any:
        return transfers.number(self.score_samples(X).mean())

    def get_precision(self) -> Any:
        if _is_zero(self.noise_variance_) or not self.n_components_:
            return super().get_precision()
        width = self.components_.shape[1]
        scale = (
            self.components_
            if not self.whiten
            else self.components_ * torch.sqrt(self.explained_variance_)[:, None]
        )
        more = torch.clamp(self.explained_variance_ - self.noise_variance_, min=0.0)
        inner = scale @ scale.T / self.noise_variance_ + torch.diag(1 / more)
        identity = torch.eye(width, dtype=scale.dtype, device=scale.device)
        outer = scale.T @ torch.linalg.inv(inner) @ scale
        return identity / self.noise_variance_ - outer / self.noise_variance_**2

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        arpack = self.svd_solver == "arpack" and method.startswith("fit")
        return why or ('`svd_solver="arpack"` is Fortran\'s' if arpack else "")

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        if is_small(X):
            return IS_SMALL
        return IS_BLAS if not isinstance(X, torch.Tensor) and self.svd_solver != "full" else ""


def _is_zero(value: Any) -> bool:
    number = transfers.number(value) if isinstance(value, torch.Tensor) else value
    return bool(number == 0.0)


def _projected(self: Any, X: torch.Tensor) -> torch.Tensor:
    """Return rows in the space of the components."""
    components = self.components_.to(X.dtype).T
    found = X @ components - self.mean_.to(X.dtype) @ components
    if self.whiten:
        scale = torch.sqrt(self.explained_variance_).to(X.dtype)
        found = found / torch.clamp(scale, min=torch.finfo(X.dtype).eps)
    return found


def _fitted(self: Any, X: torch.Tensor) -> tuple[Any, Any]:
    """Set what is learnt, and return the left singular vectors, if any, and the values."""
    solver = self._fit_svd_solver = _solver(self, X)
    count = min(X.shape) if self.n_components is None else self.n_components
    _check_count(count, X, solver)
    self.mean_ = linalg.mean(X)
    self.n_samples_ = len(X)
    if solver == "randomized":
        return _randomized(self, X, int(count))
    if solver == "covariance_eigh":
        U, S, Vt, variances = _by_covariance(X, self.mean_)
    else:
        U, S, Vt = torch.linalg.svd(X - self.mean_, full_matrices=False)
        variances = S**2 / (len(X) - 1)
    signs = linalg.signs_of_rows(Vt)
    Vt = Vt * signs[:, None]
    ratios = variances / variances.sum()
    k = self.n_components_ = _chosen(count, variances, ratios, len(X))
    self.noise_variance_ = variances[k:].mean() if k < min(X.shape) else 0.0
    self.components_ = Vt[:k].clone()
    self.explained_variance_ = variances[:k].clone()
    self.explained_variance_ratio_ = ratios[:k].clone()
    self.singular_values_ = S[:k].clone()
    return None if U is None else U * signs, S


def _solver(self: Any, X: torch.Tensor) -> str:
    """Return the solver that scikit-learn would choose."""
    rows, columns = X.shape
    wanted = self.n_components
    if self.svd_solver != "auto":
        return str(self.svd_solver)
    if columns <= 1000 and rows >= 10 * columns:
        return "covariance_eigh"
    if max(rows, columns) <= 500 or wanted == "mle":
        return "full"
    wanted = min(rows, columns) if wanted is None else wanted
    return "randomized" if 1 <= wanted < 0.8 * min(rows, columns) else "full"


def _check_count(count: Any, X: torch.Tensor, solver: str) -> None:
    """Refuse numbers of components that can't be."""
    most = min(X.shape)
    if solver == "randomized":
        if isinstance(count, str):
            raise ValueError(
                f"n_components={count!r} cannot be a string with svd_solver='{solver}'"
            )
        if not 1 <= count <= most:
            raise ValueError(
                f"n_components={count!r} must be between 1 and min(n_samples, n_features)={most!r} "
                f"with svd_solver='{solver}'"
            )
    elif count == "mle":
        if len(X) < X.shape[1]:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
    elif not 0 <= count <= most:
        raise ValueError(
            f"n_components={count} must be between 0 and min(n_samples, n_features)={most} with "
            f"svd_solver={solver!r}"
        )


def _by_covariance(X: torch.Tensor, center: torch.Tensor) -> tuple[Any, Any, Any, Any]:
    """Return nothing, singular values and vectors, and variances, by the covariances."""
    values, vectors = torch.linalg.eigh(linalg.scatter(X, center))
    squares = torch.clamp(values.flip(0), min=0.0)
    variances = squares / (len(X) - 1)
    Vt = vectors.flip(1).T.to(X.dtype)
    return None, torch.sqrt(squares).to(X.dtype), Vt, variances.to(X.dtype)


def _chosen(count: Any, variances: torch.Tensor, ratios: torch.Tensor, rows: int) -> int:
    """Return the number of components to keep."""
    if count == "mle":
        from sklearn.decomposition._pca import _infer_dimension

        return int(_infer_dimension(transfers.to_host(variances), rows))
    if isinstance(count, numbers.Integral) or not 0 < count < 1:
        return int(count)
    share = torch.tensor([count], dtype=ratios.dtype, device=ratios.device)
    place = torch.searchsorted(torch.cumsum(ratios, dim=0), share, right=True)
    return int(transfers.number(place)) + 1


def _randomized(self: Any, X: torch.Tensor, count: int) -> tuple[Any, Any]:
    """Fit by a subspace of random vectors, which are drawn as scikit-learn draws them."""
    iterations = self.iterated_power
    if iterations == "auto":
        iterations = 7 if count < 0.1 * min(X.shape) else 4
    shape = (min(X.shape), count + self.n_oversamples)
    drawn = check_random_state(self.random_state).normal(size=shape)
    start = self._moved(drawn.astype(np.float32 if X.dtype == torch.float32 else np.float64))
    centred = X - self.mean_
    U, S, Vt = linalg.randomized_svd(
        centred, start, count, iterations, self.power_iteration_normalizer
    )
    signs = linalg.signs_of_rows(Vt)
    total = (torch.sum(centred**2, dtype=torch.float64) / (len(X) - 1)).to(X.dtype)
    self.components_ = Vt * signs[:, None]
    self.n_components_ = count
    self.explained_variance_ = S**2 / (len(X) - 1)
    self.explained_variance_ratio_ = self.explained_variance_ / total
    self.singular_values_ = S.clone()
    rest = min(X.shape) - count
    left = total - self.explained_variance_.sum()
    self.noise_variance_ = left / rest if rest else 0.0
    return U * signs, S
