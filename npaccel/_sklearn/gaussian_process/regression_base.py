"""``GaussianProcessRegressor`` on the device; its few hyperparameters are searched by SciPy."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from sklearn import gaussian_process
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.gaussian_process import _covariances


def _factor(kernel: Any, X: torch.Tensor, alpha: Any, slopes: bool) -> tuple[Any, ...]:
    """Return Cholesky's factor of the covariances, whether there is none, and gradients."""
    found, by = _covariances.values(kernel, X, slopes=slopes)
    found.diagonal().add_(alpha)
    return (*torch.linalg.cholesky_ex(found), by)


def _likelihood(kernel: Any, X: torch.Tensor, y: torch.Tensor, alpha: Any) -> tuple[float, Any]:
    """Return the logarithm of the marginal likelihood, and its gradient.

    C. E. Rasmussen and C. K. I. Williams (2006), algorithm 2.1 and equation 5.9.
    """
    L, info, by = _factor(kernel, X, alpha, True)
    weights = torch.cholesky_solve(y, L)
    value = -0.5 * (y * weights).sum() - y.shape[1] * torch.log(torch.diagonal(L)).sum()
    inverse = torch.cholesky_solve(torch.eye(len(X), dtype=X.dtype, device=X.device), L)
    inner = weights @ weights.T - y.shape[1] * inverse
    slopes = [0.5 * (inner * one).sum() for one in by]
    failed, value, *slopes = transfers.numbers(torch.stack([info.double(), value, *slopes]))
    if failed:
        return -math.inf, np.zeros(len(slopes))
    constant = len(X) * y.shape[1] / 2 * math.log(2 * math.pi)
    return value - constant, np.array(slopes)


@on_device(
    "gaussian_process.GaussianProcessRegressor",
    refused="kernels of the user's, `CompoundKernel`, `PairwiseKernel`, Matérn of other orders; "
    "predictions before a fit",
    tolerance=1e-4,
)
class GaussianProcessRegressor(  # type: ignore[misc]
    common.HostOnCpu, Accelerated, gaussian_process.GaussianProcessRegressor
):
    __doc__ = gaussian_process.GaussianProcessRegressor.__doc__
    _y_train_mean: Any
    _y_train_std: Any

    def fit(self, X: Any, y: Any) -> Any:
        given = X, y
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        y = self._moved(y)
        alpha = _alpha(self.alpha)
        wrong = self.n_targets is not None and self.n_targets != (y.shape[1] if y.ndim > 1 else 1)
        if wrong or (alpha.ndim and len(alpha) != len(X)):
            return common.by_scikit_learn(self, "fit", *given)
        noise = self._moved(alpha) if alpha.ndim else float(alpha)
        self.kernel_ = _default() if self.kernel is None else clone(self.kernel)
        self._rng = check_random_state(self.random_state)
        target = self._npaccel_normalised(y)
        self.X_train_ = X.clone() if self.copy_X_train else X
        self.y_train_ = target.clone() if self.copy_X_train else target
        wide, columns = X.double(), _columns(target.double())
        value = self._npaccel_searched(wide, columns, noise)
        L, info, _ = _factor(self.kernel_, wide, noise, False)
        if transfers.number(info):
            return common.by_scikit_learn(self, "fit", *given)
        self.log_marginal_likelihood_value_ = value
        self.L_ = L
        weights = torch.cholesky_solve(columns, L)
        self.alpha_ = weights if y.ndim > 1 else weights[:, 0]
        return self

    def _npaccel_normalised(self, y: torch.Tensor) -> torch.Tensor:
        """Set the mean and the deviation of the targets, and return these without them."""
        shape = y.shape[1:] if y.ndim > 1 else (1,)
        if not self.normalize_y:
            self._y_train_mean = np.zeros(shape)
            self._y_train_std = np.ones(shape)
            return y
        y = y.double() if not y.is_floating_point() else y
        deviation = y.std(dim=0, correction=0)
        deviation = torch.where(deviation < 10 * torch.finfo(y.dtype).eps, 1.0, deviation)
        self._y_train_mean, self._y_train_std = y.mean(dim=0), deviation
        return (y - self._y_train_mean) / self._y_train_std

    def _npaccel_searched(self, X: torch.Tensor, y: torch.Tensor, alpha: Any) -> float:
        """Set the likeliest hyperparameters, and return the logarithm of their likelihood."""
        kernel = self.kernel_
        return _covariances.searched(
            self, lambda: _likelihood(kernel, X, y, alpha), self._rng.uniform
        )

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        check_is_fitted(self)
        X = self._validated(X, reset=False).double()
        mixed = _covariances.values(self.kernel_, X, self.X_train_.double())[0]
        scale = torch.as_tensor(self._y_train_std, device=X.device).double()
        mean = mixed @ self.alpha_
        mean = scale * mean + torch.as_tensor(self._y_train_mean, device=X.device)
        if mean.ndim > 1 and mean.shape[1] == 1:
            mean = mean[:, 0]
        if not (return_std or return_cov):
            return mean
        explained = torch.linalg.solve_triangular(self.L_, mixed.T, upper=False)
        squares = scale.reshape(-1) ** 2
        if return_cov:
            covariance = _covariances.values(self.kernel_, X)[0] - explained.T @ explained
            found = covariance[..., None] * squares
            return mean, found[..., 0] if found.shape[-1] == 1 else found
        variance = _covariances.diagonal(self.kernel_, X) - (explained**2).sum(dim=0)
        if transfers.number((variance < 0).any()):
            warnings.warn(
                "Predicted variances smaller than 0. Setting those variances to 0.", stacklevel=2
            )
        found = torch.sqrt(variance.clamp(min=0)[:, None] * squares)
        return mean, found[:, 0] if found.shape[1] == 1 else found

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Any:
        draws = check_random_state(random_state)
        mean, covariance = map(transfers.to_host, self.predict(X, return_cov=True))
        if mean.ndim == 1:
            return self._moved(draws.multivariate_normal(mean, covariance, n_samples).T)
        found = [
            draws.multivariate_normal(mean[:, i], covariance[..., i], n_samples).T[:, np.newaxis]
            for i in range(mean.shape[1])
        ]
        return self._moved(np.hstack(found))

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        with common.on_host(self):
            return super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if not why and self.kernel is not None and not _covariances.is_known(self.kernel):
            return "`kernel` is one that npaccel doesn't know"
        if not why and "fit" not in method and not hasattr(self, "X_train_"):
            return "it isn't fitted"
        return why


def _default() -> Any:
    """Return the kernel that the installed scikit-learn takes where none is given."""
    one = gaussian_process.GaussianProcessRegressor(optimizer=None)
    with call_stack.dispatching(False):
        return one.fit(np.zeros((1, 1)), np.zeros(1)).kernel_


def _columns(y: torch.Tensor) -> torch.Tensor:
    return y if y.ndim > 1 else y[:, None]


def _alpha(value: Any) -> Any:
    array = transfers.to_host(value) if isinstance(value, torch.Tensor) else np.asarray(value)
    return array[0] if array.shape == (1,) else array
