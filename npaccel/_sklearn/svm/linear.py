"""``LinearSVC`` and ``LinearSVR`` with squared losses on the device.

Their objective has one minimum, which liblinear nears coordinate by coordinate. Here Newton's
method finds it (S. S. Keerthi and D. DeCoste, 2005): each step solves for the rows that are within
the margin, and takes a handful of passes over the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg
from npaccel._sklearn.linear_model.logistic import _weights

#: Maximum number of columns for which there is a Hessian.
_WIDEST = 1 << 12
#: Share of its first size to which the gradient has to fall.
_END = 1e-11


@kernel
def _hinge(raw: Any, y: Any, weights: Any, margin: Any) -> Any:
    """Return the losses' sum, their slopes by the raw values, and half their curvatures."""
    short = np.maximum(1.0 - y * raw, 0.0)
    loss = np.sum(weights * short * short)
    return loss, -2.0 * weights * y * short, weights * (short > 0.0)


@kernel
def _tube(raw: Any, y: Any, weights: Any, margin: Any) -> Any:
    apart = raw - y
    outside = np.maximum(np.abs(apart) - margin, 0.0)
    loss = np.sum(weights * outside * outside)
    return loss, 2.0 * weights * outside * np.sign(apart), weights * (outside > 0.0)


def _minimum(
    X: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, loss: Callable[..., Any], margin: float
) -> tuple[torch.Tensor, int]:
    """Return the coefficients with the least half square and loss, and how many steps it took."""
    w = X.new_zeros(X.shape[1])
    value, slopes, active = loss(X @ w, y, weights, margin)
    gradient = X.T @ slopes
    first = size = transfers.number(torch.linalg.vector_norm(gradient))
    steps = 0
    while size > _END * max(first, 1.0) and steps < 200:
        step = torch.linalg.solve(_hessian(X, active), -gradient)
        slope = torch.dot(gradient, step)
        length, before = 1.0, value + 0.5 * torch.dot(w, w)
        while True:
            there = w + length * step
            value, slopes, active = loss(X @ there, y, weights, margin)
            after = value + 0.5 * torch.dot(there, there)
            new = there + X.T @ slopes
            falls, size = transfers.numbers(
                (after - before - 1e-4 * length * slope).reshape(1),
                torch.linalg.vector_norm(new).reshape(1),
            )
            if falls <= 1e-12 * abs(float(first)) or length < 1e-9:
                break
            length /= 2
        w, gradient = there, new
        steps += 1
        if length < 1e-9:
            break
    return w, steps


def _hessian(X: torch.Tensor, active: torch.Tensor) -> torch.Tensor:
    found = torch.eye(X.shape[1], dtype=X.dtype, device=X.device)
    size = len(linalg.tiles(X)[0])
    for part, share in zip(torch.split(X, size), torch.split(active, size), strict=True):
        found.addmm_(part.T, part * share[:, None], alpha=2.0)
    return found


class _Linear(common.HostOnCpu):
    """Base of the two."""

    def _npaccel_extended(self: Any, X: torch.Tensor) -> torch.Tensor:
        """Return X with a column for the intercept, which has its share in the penalty."""
        if not self.fit_intercept:
            return X
        scale = float(self.intercept_scaling)
        return torch.cat([X, X.new_full((len(X), 1), scale)], dim=1)

    def _npaccel_set(self: Any, found: torch.Tensor, steps: int) -> None:
        """Set the coefficients from a row for each problem."""
        if self.fit_intercept:
            self.coef_ = found[:, :-1].clone()
            self.intercept_ = float(self.intercept_scaling) * found[:, -1]
        else:
            self.coef_, self.intercept_ = found, 0.0
        self.n_iter_ = steps
        if steps >= self.max_iter:
            warnings.warn(
                "Liblinear failed to converge, increase the number of iterations.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)  # type: ignore[misc]
        if why or "fit" not in method:
            return why
        if not self.loss.startswith("squared"):
            return f"`loss={self.loss!r}` has corners, which liblinear takes one row at a time"
        if getattr(self, "penalty", "l2") != "l2":
            return f"`penalty={self.penalty!r}` has corners"
        if getattr(self, "multi_class", "ovr") != "ovr":
            return f"`multi_class={self.multi_class!r}`"
        if self.verbose:
            return "`verbose` prints what liblinear does"
        shape: Any = getattr(X, "shape", ())
        if len(shape) == 2 and shape[1] > _WIDEST:
            return "there are too many columns for a matrix of all with all"
        return ""


_REFUSED = "sparse matrices; losses with corners"
_NOTE = (
    "the optimum is found to more digits than liblinear's `tol`; `n_iter_` counts Newton's steps"
)


@on_device(
    "svm.LinearSVC",
    refused=f"{_REFUSED}; `penalty='l1'`; `multi_class='crammer_singer'`",
    tolerance=1e-2,
    note=_NOTE,
)
class LinearSVC(_Linear, Accelerated, svm.LinearSVC):  # type: ignore[misc]
    __doc__ = svm.LinearSVC.__doc__

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        given = X, y
        X, y = self._validated(X, y, dtype=np.float64)
        codes = self._encoded(y)
        count = len(self.classes_)
        if count < 2 or (self.fit_intercept and self.intercept_scaling <= 0):
            return common.by_scikit_learn(self, "fit", *given)
        plain = self._weights(sample_weight, X)
        plain = torch.ones_like(X[:, 0]) if plain is None else plain
        weights = plain if self.class_weight is None else _weights(self, sample_weight, X, codes)
        extended = self._npaccel_extended(X)
        found = []
        for one in [1] if count == 2 else range(count):
            own = codes == one
            # Of several classes liblinear weighs the one, and not the rest.
            costs = weights if count == 2 else torch.where(own, weights, plain)
            found.append(_minimum(extended, own.double() * 2 - 1, costs * self.C, _hinge, 0.0))
        self._npaccel_set(torch.stack([w for w, _ in found]), max(n for _, n in found))
        return self

    def decision_function(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        found = X.to(torch.float64) @ self.coef_.T + self.intercept_
        return found[:, 0] if found.shape[1] == 1 else found

    def predict(self, X: Any) -> Any:
        raw = self.decision_function(X)
        return self._labels((raw > 0).long() if raw.ndim == 1 else torch.argmax(raw, dim=1))


@on_device("svm.LinearSVR", refused=_REFUSED, tolerance=1e-2, note=_NOTE)
class LinearSVR(_Linear, Accelerated, svm.LinearSVR):  # type: ignore[misc]
    __doc__ = svm.LinearSVR.__doc__

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        given = X, y
        X, y = self._validated(X, y, dtype=np.float64)
        if self.fit_intercept and self.intercept_scaling <= 0:
            return common.by_scikit_learn(self, "fit", *given)
        y = self._moved(y).double()
        weights = self._weights(sample_weight, X)
        weights = torch.ones_like(y) if weights is None else weights
        found, steps = _minimum(
            self._npaccel_extended(X), y, weights * self.C, _tube, float(self.epsilon)
        )
        self._npaccel_set(found[None], steps)
        self.coef_ = self.coef_[0]
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return X.to(torch.float64) @ self.coef_ + self.intercept_
