"""``sklearn.decomposition.FactorAnalysis`` on the device."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg

_SMALL = 1e-12


@on_device(
    "decomposition.FactorAnalysis",
    refused="`copy=False`",
    tolerance=1e-6,
    note="with `svd_method='lapack'` components can have other signs",
)
class FactorAnalysis(Accelerated, decomposition.FactorAnalysis):  # type: ignore[misc]
    __doc__ = decomposition.FactorAnalysis.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=np.float64)
        rows, columns = X.shape
        count = columns if self.n_components is None else self.n_components
        self.mean_ = X.mean(dim=0)
        X = X - self.mean_
        variances = X.var(dim=0, correction=0)
        noise = self._npaccel_noise(X)
        draws = check_random_state(self.random_state)
        constant = columns * math.log(2.0 * math.pi) + count
        self.loglike_ = []
        before = -math.inf
        for step in range(1, self.max_iter + 1):
            self.n_iter_ = step
            root = torch.sqrt(noise) + _SMALL
            s, Vt, rest = self._npaccel_svd(X / (root * math.sqrt(rows)), count, draws)
            s = s**2
            W = torch.sqrt(torch.clamp(s - 1.0, min=0.0))[:, None] * Vt * root
            likelihood = constant + torch.log(s).sum() + rest + torch.log(noise).sum()
            value = transfers.number(likelihood) * (-rows / 2.0)
            self.loglike_.append(value)
            if value - before < self.tol:
                break
            before = value
            noise = torch.clamp(variances - (W**2).sum(dim=0), min=_SMALL)
        else:
            warnings.warn(
                "FactorAnalysis did not converge. You might want to increase the number of "
                "iterations.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.components_ = W if self.rotation is None else self._npaccel_rotated(W)
        self.noise_variance_ = noise
        return self

    def _npaccel_noise(self, X: torch.Tensor) -> torch.Tensor:
        given = self.noise_variance_init
        if given is None:
            return torch.ones_like(X[0])
        if len(given) != X.shape[1]:
            raise ValueError(
                "noise_variance_init dimension does not with number of features : "
                f"{len(given)} != {X.shape[1]}"
            )
        return self._moved(given if isinstance(given, torch.Tensor) else np.array(given)).double()

    def _npaccel_svd(self, X: torch.Tensor, count: int, draws: Any) -> tuple[torch.Tensor, ...]:
        """Return the first singular values and right vectors, and the squares of the others."""
        if self.svd_method == "lapack":
            _, s, Vt = torch.linalg.svd(X, full_matrices=False)
            return s[:count], Vt[:count], (s[count:] ** 2).sum()
        width = min(X.shape)
        start = self._moved(draws.normal(size=(width, count + 10)))
        U, s, Vt = linalg.randomized_svd(X, start, count, self.iterated_power, "auto")
        Vt = Vt * linalg.signs_of_rows(U.T)[:, None]
        return s, Vt, (X**2).sum() - (s**2).sum()

    def _npaccel_rotated(self, W: torch.Tensor) -> torch.Tensor:
        """Return the few components turned by scikit-learn's own code."""
        with call_stack.dispatching(False):
            return self._moved(np.ascontiguousarray(self._rotate(transfers.to_host(W))))

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False).double()
        scaled = self.components_ / self.noise_variance_
        inner = scaled @ self.components_.T
        inner.diagonal().add_(1.0)
        return (X - self.mean_) @ scaled.T @ torch.linalg.inv(inner)

    def get_covariance(self) -> Any:
        check_is_fitted(self)
        found = self.components_.T @ self.components_
        found.diagonal().add_(self.noise_variance_)
        return found

    def get_precision(self) -> Any:
        check_is_fitted(self)
        noise, components = self.noise_variance_, self.components_
        if self.n_components == 0:
            return torch.diag(1.0 / noise)
        if self.n_components == components.shape[1]:
            return torch.linalg.inv(self.get_covariance())
        inner = (components / noise) @ components.T
        inner.diagonal().add_(1.0)
        found = components.T @ torch.linalg.inv(inner) @ components
        found = found / noise[:, None] / -noise[None, :]
        found.diagonal().add_(1.0 / noise)
        return found

    def score_samples(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False).double()
        apart = X - self.mean_
        precision = self.get_precision()
        squares = (apart * (apart @ precision)).sum(dim=1)
        constant = X.shape[1] * math.log(2.0 * math.pi) - torch.logdet(precision)
        return -0.5 * squares - 0.5 * constant

    def score(self, X: Any, y: Any = None) -> Any:
        return transfers.number(self.score_samples(X).mean())

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        return why or ("" if self.copy else "`copy=False` writes into X")
