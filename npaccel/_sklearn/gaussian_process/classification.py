"""``GaussianProcessClassifier`` on the device: Laplace's approximation of each two classes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn import gaussian_process, multiclass
from sklearn.base import clone
from sklearn.gaussian_process import _gpc, kernels
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.gaussian_process import _covariances


class Laplace(Accelerated, _gpc._BinaryGaussianProcessClassifierLaplace):  # type: ignore[misc]
    """The classifier of two classes, which is no public name of scikit-learn's."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    f_cached: Any

    def fit(self, X: Any, y: Any) -> Any:
        X = self._moved(X if isinstance(X, torch.Tensor) else np.asarray(X))
        self.kernel_ = _default() if self.kernel is None else clone(self.kernel)
        self.rng = check_random_state(self.random_state)
        self.X_train_ = X.clone() if self.copy_X_train else X
        codes = self._encoded(y)
        if len(self.classes_) == 1:
            raise ValueError(f"{_NAME} requires 2 classes; got 1 class")
        self.y_train_ = codes
        self.log_marginal_likelihood_value_ = self._npaccel_searched(X.double(), codes.double())
        K = _covariances.values(self.kernel_, X.double())[0]
        _, (self.pi_, self.W_sr_, self.L_, _) = self._npaccel_mode(K, codes.double())
        return self

    def _npaccel_searched(self, X: torch.Tensor, y: torch.Tensor) -> float:
        """Set the likeliest hyperparameters, and return the logarithm of their likelihood."""
        return _covariances.searched(
            self,
            lambda: self._npaccel_likelihood(X, y),
            lambda low, high: np.exp(self.rng.uniform(low, high)),
        )

    def _npaccel_mode(self, K: torch.Tensor, y: torch.Tensor) -> tuple[float, Any]:
        """Return the likelihood at the mode, and the mode.

        C. E. Rasmussen and C. K. I. Williams (2006), algorithm 3.1.
        """
        known = vars(self).get("f_cached")
        warm = self.warm_start and known is not None and known.shape == y.shape
        f = self.f_cached if warm else torch.zeros_like(y)
        best, parts = -math.inf, None
        identity = torch.eye(len(y), dtype=K.dtype, device=K.device)
        for _ in range(self.max_iter_predict):
            pi = torch.sigmoid(f)
            W = pi * (1 - pi)
            root = torch.sqrt(W)
            scaled = root[:, None] * K
            L = torch.linalg.cholesky_ex(identity + scaled * root).L
            b = W * f + (y - pi)
            a = b - root * torch.cholesky_solve((scaled @ b)[:, None], L)[:, 0]
            f = K @ a
            value = transfers.number(
                -0.5 * (a @ f)
                - torch.log1p(torch.exp(-(y * 2 - 1) * f)).sum()
                - torch.log(torch.diagonal(L)).sum()
            )
            parts = pi, root, L, a
            if value - best < 1e-10:
                break
            best = value
        self.f_cached = f
        return best, parts

    def _npaccel_likelihood(self, X: torch.Tensor, y: torch.Tensor) -> tuple[float, Any]:
        """Return the likelihood and its gradient, by their algorithm 5.1."""
        K, by = _covariances.values(self.kernel_, X, slopes=True)
        value, (pi, root, L, a) = self._npaccel_mode(K, y)
        R = root[:, None] * torch.cholesky_solve(torch.diag(root), L)
        C = torch.linalg.solve_triangular(L, root[:, None] * K, upper=False)
        spread = torch.diagonal(K) - (C * C).sum(dim=0)
        second = -0.5 * spread * (pi * (1 - pi) * (1 - 2 * pi))
        slopes = []
        for slope in by:
            first = 0.5 * (a @ slope @ a) - 0.5 * (R * slope).sum()
            b = slope @ (y - pi)
            slopes.append(first + second @ (b - K @ (R @ b)))
        return value, np.array(transfers.numbers(torch.stack(slopes)) if slopes else [])

    def _npaccel_latent(self, X: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean of the latent function, and the kernel of the rows fitted and X."""
        check_is_fitted(self)
        mixed = _covariances.values(self.kernel_, self.X_train_.double(), X)[0]
        return mixed.T @ (self.y_train_.double() - self.pi_), mixed

    def _npaccel_rows(self, X: Any) -> torch.Tensor:
        return self._moved(X if isinstance(X, torch.Tensor) else np.asarray(X)).double()

    def predict(self, X: Any) -> Any:
        mean, _ = self._npaccel_latent(self._npaccel_rows(X))
        if self.classes_.dtype.kind in "biuf":
            return self._labels((mean > 0).long())
        return np.where(transfers.to_host(mean > 0), self.classes_[1], self.classes_[0])

    def predict_proba(self, X: Any) -> Any:
        X = self._npaccel_rows(X)
        mean, mixed = self._npaccel_latent(X)
        v = torch.linalg.solve_triangular(self.L_, self.W_sr_[:, None] * mixed, upper=False)
        variance = _covariances.diagonal(self.kernel_, X) - (v * v).sum(dim=0)
        steep = self._moved(_gpc.LAMBDAS)
        shares = self._moved(_gpc.COEFS)
        alpha = 1 / (2 * variance)
        integrals = (
            torch.sqrt(math.pi / alpha)
            * torch.erf(steep * mean * torch.sqrt(alpha / (alpha + steep**2)))
            / (2 * torch.sqrt(variance * 2 * math.pi))
        )
        found = (shares * integrals).sum(dim=0) + 0.5 * shares.sum()
        return torch.stack([1 - found, found], dim=1)

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        with common.on_host(self):
            return super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)

    def latent_mean_and_variance(self, X: Any) -> Any:
        with common.on_host(self):
            return super().latent_mean_and_variance(X)


def _one_vs_rest(one: Any, parts: list[Any], classes: Any, n_jobs: Any) -> Any:
    """Return scikit-learn's estimator of estimators as its fit would leave it."""
    found = multiclass.OneVsRestClassifier(one, n_jobs=n_jobs)
    with call_stack.dispatching(False):
        found.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classes)
    found.classes_ = found.label_binarizer_.classes_
    found.estimators_ = parts
    return found


_NAME = _gpc._BinaryGaussianProcessClassifierLaplace.__name__


def _default() -> Any:
    one = kernels.ConstantKernel(1.0, constant_value_bounds="fixed")
    return one * kernels.RBF(1.0, length_scale_bounds="fixed")


@on_device(
    "gaussian_process.GaussianProcessClassifier",
    refused="kernels of the user's, `CompoundKernel`, `PairwiseKernel`, Matérn of other orders; "
    "`multi_class='one_vs_one'`",
    tolerance=1e-4,
)
class GaussianProcessClassifier(  # type: ignore[misc]
    common.HostOnCpu, Accelerated, gaussian_process.GaussianProcessClassifier
):
    __doc__ = gaussian_process.GaussianProcessClassifier.__doc__

    def fit(self, X: Any, y: Any) -> Any:
        given = X, y
        X, y = self._validated(X, y)
        codes = self._encoded(y)
        self.n_classes_ = len(self.classes_)
        if self.n_classes_ == 1:
            return common.by_scikit_learn(self, "fit", *given)
        one = Laplace(
            kernel=self.kernel,
            optimizer=self.optimizer,
            n_restarts_optimizer=self.n_restarts_optimizer,
            max_iter_predict=self.max_iter_predict,
            warm_start=self.warm_start,
            copy_X_train=self.copy_X_train,
            random_state=self.random_state,
        )
        if self.n_classes_ == 2:
            self.base_estimator_ = one.fit(X, self.classes_[transfers.to_host(codes)])
            value = one.log_marginal_likelihood_value_
        else:
            parts = [clone(one).fit(X, (codes == i).long()) for i in range(self.n_classes_)]
            self.base_estimator_ = _one_vs_rest(one, parts, self.classes_, self.n_jobs)
            value = np.mean([part.log_marginal_likelihood_value_ for part in parts])
        self.log_marginal_likelihood_value_ = value
        return self

    def _npaccel_shares(self, X: Any) -> torch.Tensor:
        """Return the chances of the classes."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if self.n_classes_ == 2:
            return self._moved(self.base_estimator_.predict_proba(X))
        parts = self.base_estimator_.estimators_
        return torch.stack([self._moved(part.predict_proba(X))[:, 1] for part in parts], dim=1)

    def predict(self, X: Any) -> Any:
        if self.n_classes_ == 2:
            check_is_fitted(self)
            return self.base_estimator_.predict(self._validated(X, reset=False))
        return self._labels(torch.argmax(self._npaccel_shares(X), dim=1))

    def predict_proba(self, X: Any) -> Any:
        found = self._npaccel_shares(X)
        if self.n_classes_ == 2:
            return found
        total = found.sum(dim=1, keepdim=True)
        return found / torch.where(total == 0, 1.0, total)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if why:
            return why
        if self.kernel is not None and not _covariances.is_known(self.kernel):
            return "`kernel` is one that npaccel doesn't know"
        if self.multi_class != "one_vs_rest":
            return f"`multi_class={self.multi_class!r}`"
        base = vars(self).get("base_estimator_")
        parts = getattr(base, "estimators_", [base])
        if "fit" not in method and not all(isinstance(part, Laplace) for part in parts):
            return "it was fitted by scikit-learn's own code"
        return ""
