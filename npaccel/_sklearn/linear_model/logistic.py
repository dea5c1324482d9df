"""``sklearn.linear_model.LogisticRegression`` on the device."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import linear_model
from sklearn.linear_model import _logistic
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, IS_BLAS, Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import lbfgs, linalg

#: Value of ``penalty`` where it isn't given: from 1.8 on it's deprecated.
_PENALTY = inspect.signature(linear_model.LogisticRegression).parameters["penalty"].default


def binary_loss(X: Any, y: Any, weights: Any, w: Any, b: Any) -> Any:
    """Return the summed loss, and its gradients by the coefficients and the intercept."""
    # Towards the other class, so that small errors aren't differences from 1.
    away = 1.0 - 2.0 * y
    raw = (X @ w + b) * away
    # The logistic function and its logarithm, of numbers that can't overflow.
    small = np.exp(-np.abs(raw))
    losses = np.maximum(raw, 0.0) + np.log1p(small)
    errors = away * np.where(raw >= 0.0, 1.0, small) / (1.0 + small)
    if weights is not None:
        losses = losses * weights
        errors = errors * weights
    total = np.sum(losses)
    return total, errors @ X, np.sum(errors, dtype=np.float64)


def multinomial_loss(X: Any, y: Any, weights: Any, w: Any, b: Any) -> Any:
    """Return the summed loss, and its gradients; `y` are codes, `w` has a row per class."""
    raw = X @ w.T + b
    raw = raw - np.max(raw, axis=1)[:, None]
    exponentials = np.exp(raw)
    sums = np.sum(exponentials, axis=1)
    own = y[:, None] == np.arange(w.shape[0])[None, :]
    losses = np.log(sums) - np.sum(np.where(own, raw, 0.0), axis=1)
    # Of the own class what the others have, not a difference from 1.
    others = np.sum(np.where(own, 0.0, exponentials), axis=1)
    errors = np.where(own, -others[:, None], exponentials) / sums[:, None]
    if weights is not None:
        losses = losses * weights
        errors = errors * weights[:, None]
    total = np.sum(losses)
    return total, errors.T @ X, np.sum(errors, axis=0, dtype=np.float64)


_binary, _multinomial = kernel(binary_loss), kernel(multinomial_loss)
#: The summed loss of coefficients and intercepts, and its gradients by these.
Loss = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor, torch.Tensor]]


def objective(
    loss: Loss, dtype: torch.dtype, total: Any, l2: Any, shape: tuple[int, ...]
) -> lbfgs.Objective:
    """Return the loss of a vector of all coefficients, and its gradient, as scikit-learn scales it.

    Parameters
    ----------
    loss : callable
    dtype : torch.dtype
        Of the rows.
    total : float or torch.Tensor
        The sum of the weights.
    l2 : float or torch.Tensor
    shape : tuple of int
        That of the coefficients without intercepts; the vector has those behind them, or none.
    """
    size = math.prod(shape)

    def both(vector: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # In the width of X, the penalty too: what moves by less than a unit of it must not seem to.
        narrow = vector.to(dtype)
        w, b = narrow[:size], narrow[size:]
        offset = b if len(b) else narrow.new_zeros(1)
        value, by_w, by_b = loss(w.reshape(shape), offset)
        gradient = by_w.reshape(-1).to(vector.dtype) / total + l2 * w
        if len(b):
            gradient = torch.cat([gradient, by_b.reshape(-1).to(vector.dtype) / total])
        value = value / total + 0.5 * l2 * torch.dot(w, w)
        return value.to(dtype).to(vector.dtype), gradient

    return both


def minimise(
    self: Any,
    loss: Loss,
    X: Any,
    total: Any,
    C: float,
    device: torch.device,
    begun: lbfgs.Reached | None = None,
    note: Callable[[lbfgs.Reached], None] | None = None,
) -> None:
    """Set what is fitted to where the loss with the penalty is the least.

    Parameters
    ----------
    self : LogisticRegression
        With its classes.
    loss : callable
    X : object
        With the shape of the rows, and their dtype as torch's.
    total : float or torch.Tensor
        The sum of the weights.
    C : float
    device : torch.device
    begun, note
        Those of `lbfgs.minimized`.
    """
    count = len(self.classes_)
    rows = (1, X.shape[1]) if count == 2 else (count, X.shape[1])
    found = lbfgs.minimized(
        objective(loss, X.dtype, total, 1.0 / (C * total), rows[1:] if count == 2 else rows),
        _beginning(self, rows, device),
        maxiter=self.max_iter,
        gtol=self.tol,
        ftol=64 * np.finfo(float).eps,
        maxls=50,
        begun=begun,
        note=note,
    )
    more = _logistic._LOGISTIC_SOLVER_CONVERGENCE_MSG
    nit = lbfgs.warn_unless_converged(found, self.max_iter, more)
    self.n_iter_ = np.array([nit], dtype=np.int32)
    size = math.prod(rows)
    self.coef_ = found.x[:size].reshape(rows).to(X.dtype)
    zeros = torch.zeros(rows[0], dtype=X.dtype, device=device)
    self.intercept_ = found.x[size:].to(X.dtype) if self.fit_intercept else zeros


@on_device(
    "linear_model.LogisticRegression",
    refused='sparse matrices; solvers but "lbfgs"; `verbose`',
    tolerance=1e-5,
)
class LogisticRegression(Accelerated, linear_model.LogisticRegression):  # type: ignore[misc]
    __doc__ = linear_model.LogisticRegression.__doc__

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        C = checked_C(self)
        X, y = self._validated(X, y, dtype=FLOATS)
        codes = self._encoded(y)
        check_classes(self)
        weights = _weights(self, sample_weight, X, codes)
        of_class = _binary if len(self.classes_) == 2 else _multinomial
        target = codes.to(X.dtype) if len(self.classes_) == 2 else codes
        total = len(X) if weights is None else weights.sum(dtype=torch.float64)
        minimise(self, lambda w, b: of_class(X, target, weights, w, b), X, total, C, X.device)
        return self

    def decision_function(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        raw = linalg.affine(X, self.coef_, self.intercept_)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> Any:
        raw = self.decision_function(X)
        return self._labels((raw > 0).long() if raw.ndim == 1 else torch.argmax(raw, dim=1))

    def predict_proba(self, X: Any) -> Any:
        raw = self.decision_function(X)
        if raw.ndim > 1:
            return torch.softmax(raw, dim=1)
        positive = torch.sigmoid(raw)
        return torch.stack([1 - positive, positive], dim=1)

    def predict_log_proba(self, X: Any) -> Any:
        return torch.log(self.predict_proba(X))

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if why or method != "fit":
            return why
        return refused_parameters(self)

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return "" if method == "fit" or isinstance(X, torch.Tensor) else IS_BLAS


def refused_parameters(self: Any) -> str:
    """Return which parameters only scikit-learn's own code does, or an empty string."""
    if self.solver != "lbfgs":
        return f"`solver={self.solver!r}`"
    if self.dual or self.penalty not in (_PENALTY, "l2", None) or self.l1_ratio not in (0, None):
        return "a penalty other than l2, or none"
    if getattr(self, "multi_class", "auto") not in ("auto", "deprecated"):  # gone since 1.8
        return f"`multi_class={self.multi_class!r}`"
    return "`verbose` prints what SciPy's own minimiser does" if self.verbose else ""


def check_classes(self: Any) -> None:
    """Refuse a single class as scikit-learn does."""
    if len(self.classes_) < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data "
            f"contains only one class: {self.classes_[0]!r}"
        )


def checked_C(self: Any) -> float:  # noqa: N802 (the parameter's name)
    """Warn of deprecated parameters as scikit-learn does, and return the C that is meant."""
    C = float(self.C)
    if self.penalty is None and C != 1.0:
        warnings.warn(
            "Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=5
        )
    if _PENALTY == "deprecated":
        if self.penalty != _PENALTY:
            text = "'penalty' was deprecated in version 1.8 and will be removed in 1.10."
            warnings.warn(f"{text} Use 'l1_ratio' or 'C' instead.", FutureWarning, stacklevel=5)
        elif self.l1_ratio is None:
            text = (
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10."
            )
            warnings.warn(f"{text} Use 0<=l1_ratio<=1 instead.", FutureWarning, stacklevel=5)
        if self.n_jobs is not None:
            text = "'n_jobs' has no effect since 1.8 and will be removed in 1.10."
            warnings.warn(text, FutureWarning, stacklevel=5)
    return math.inf if self.penalty is None else C


def _weights(self: Any, sample_weight: Any, X: torch.Tensor, codes: torch.Tensor) -> Any:
    """Return the weights of the rows with those of the classes."""
    weights = self._weights(sample_weight, X)
    if self.class_weight is None:
        return weights
    counts = torch.bincount(codes, weights, minlength=len(self.classes_)).to(torch.float64)
    factors = self._moved(class_factors(self, transfers.to_host(counts))).to(X.dtype)[codes]
    return factors if weights is None else weights * factors


def class_factors(self: Any, counts: np.ndarray[Any, Any]) -> Any:
    """Return the weight of each class, given the weights of their rows."""
    if self.class_weight == "balanced":
        return counts.sum() / (len(self.classes_) * counts)
    from sklearn.utils import compute_class_weight

    return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)


def _beginning(self: Any, rows: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """Return the vector of all coefficients to begin with."""
    size = math.prod(rows)
    length = size + rows[0] if self.fit_intercept else size
    if not (self.warm_start and hasattr(self, "coef_")):
        return torch.zeros(length, dtype=torch.float64, device=device)
    if tuple(self.coef_.shape) != rows:
        raise ValueError(
            f"Initialization coef is of shape {tuple(self.coef_.shape)}, expected shape {rows}"
        )
    parts = [self.coef_.reshape(-1)] + ([self.intercept_] if self.fit_intercept else [])
    return torch.cat(parts).to(torch.float64)
