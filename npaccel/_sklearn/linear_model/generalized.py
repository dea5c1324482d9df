"""Generalised linear models on the device: Poisson, gamma and Tweedie regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import linear_model
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import lbfgs


@kernel(static=("power", "log"))
def _loss(X: Any, y: Any, weights: Any, w: Any, b: Any, *, power: float, log: bool) -> Any:
    """Return the summed loss, and its gradients by the coefficients and the intercept."""
    raw = X @ w + b
    losses, slopes = _logarithmic(raw, y, power) if log else _direct(raw, y, power)
    if weights is not None:
        losses = losses * weights
        slopes = slopes * weights
    total = np.sum(losses, dtype=np.float64)
    return total, slopes @ X, np.sum(slopes, dtype=np.float64)


def _logarithmic(raw: Any, y: Any, power: float) -> tuple[Any, Any]:
    """Return half the deviance of the means ``exp(raw)`` without what is constant, and slopes."""
    mean = np.exp(raw)
    if power == 0:
        return 0.5 * (mean - y) ** 2, mean * (mean - y)
    if power == 1:
        return mean - y * raw, mean - y
    if power == 2:
        share = y * np.exp(-raw)
        return raw + share, 1 - share
    first, second = np.exp((2 - power) * raw), y * np.exp((1 - power) * raw)
    return first / (2 - power) - second / (1 - power), first - second


def _direct(raw: Any, y: Any, power: float) -> tuple[Any, Any]:
    """Return half the deviance of means, and slopes."""
    if power == 0:
        return 0.5 * (raw - y) ** 2, raw - y
    if power == 1:
        logs = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / raw), 0.0)
        return logs + raw - y, 1 - y / raw
    if power == 2:
        return np.log(raw / y) + y / raw - 1, (raw - y) / (raw * raw)
    constant = np.maximum(y, 0.0) ** (2 - power) / (1 - power) / (2 - power)
    second = raw ** (1 - power)
    found = constant - y * second / (1 - power) + raw * second / (2 - power)
    return found, second / raw * (raw - y)


@kernel(static=("power",))
def _deviances(mean: Any, y: Any, *, power: float) -> Any:
    """Return half the deviance of means."""
    return _direct(mean, y, power)[0]


class _Generalized(common.HostOnCpu):
    """Base of the models."""

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        X, y = self._validated(X, y, dtype=FLOATS, y_numeric=True)
        y = self._moved(y).to(X.dtype)
        weights = self._weights(sample_weight, X)
        self._base_loss = self._get_loss()
        self._npaccel_check(y)
        total = len(X) if weights is None else weights.sum(dtype=torch.float64)
        power, log = _power(self), _is_log(self)
        l2 = float(self.alpha)
        count = X.shape[1]

        def objective(vector: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            # In the width of X, the penalty too: what moves by less than a unit mustn't seem to.
            narrow = vector.to(X.dtype)
            w, b = narrow[:count], narrow[count:]
            offset = b if len(b) else narrow.new_zeros(1)
            value, by_w, by_b = _loss(X, y, weights, w, offset, power=power, log=log)
            gradient = by_w.to(vector.dtype) / total + l2 * w
            if len(b):
                gradient = torch.cat([gradient, by_b.reshape(1).to(vector.dtype) / total])
            value = value / total + 0.5 * l2 * torch.dot(w, w)
            return value.to(X.dtype).to(vector.dtype), gradient

        found = lbfgs.minimized(
            objective,
            self._npaccel_beginning(X, y, weights),
            maxiter=self.max_iter,
            gtol=self.tol,
            ftol=64 * np.finfo(float).eps,
            maxls=50,
        )
        self.n_iter_ = lbfgs.warn_unless_converged(found, self.max_iter)
        self.coef_ = found.x[:count].to(X.dtype)
        self.intercept_ = found.x[count].to(X.dtype) if self.fit_intercept else 0.0
        return self

    def _npaccel_check(self: Any, y: torch.Tensor) -> None:
        ends = np.array(transfers.numbers(*torch.aminmax(y)))
        if not self._base_loss.in_y_true_range(ends):
            raise ValueError(
                "Some value(s) of y are out of the valid range of the loss "
                f"{type(self._base_loss).__name__!r}."
            )

    def _npaccel_beginning(self: Any, X: torch.Tensor, y: torch.Tensor, weights: Any) -> Any:
        if self.warm_start and hasattr(self, "coef_"):
            known = [self.coef_.double()]
            if self.fit_intercept:
                known.append(torch.as_tensor(self.intercept_, device=X.device).double().reshape(1))
            return torch.cat(known)
        found = X.new_zeros(X.shape[1] + bool(self.fit_intercept), dtype=torch.float64)
        if self.fit_intercept:
            found[-1] = _linked(self, _average(y, weights))
        return found

    def _npaccel_raw(self: Any, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        return X @ self.coef_.to(X.dtype) + self.intercept_  # type: ignore[no-any-return]

    def predict(self: Any, X: Any) -> Any:
        raw = self._npaccel_raw(X)
        return torch.exp(raw) if _is_log(self) else raw

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        mean = self.predict(X).double()
        if not isinstance(y, torch.Tensor):
            y = np.asarray(y, dtype=np.float64)
        y = self._moved(y).double()
        weights = self._weights(sample_weight, mean[:, None])
        self._npaccel_check(y)
        power = _power(self)
        average = _average(y, weights).expand_as(y)
        own = _average(_deviances(mean, y, power=power), weights)
        null = _average(_deviances(average.contiguous(), y, power=power), weights)
        own, null = transfers.numbers(torch.stack([own, null]))
        return float(1 - own / null) if null else float(np.divide(0.0, 0.0) if not own else -np.inf)

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)  # type: ignore[misc]
        if not why and "fit" in method and self.solver != "lbfgs":
            return f"`solver={self.solver!r}`"
        if not why and "fit" in method and self.verbose:
            return "`verbose` prints what SciPy's own minimiser does"
        return why


def _average(values: torch.Tensor, weights: Any) -> torch.Tensor:
    wide = values.double()
    if weights is None:
        return wide.mean()
    return (wide * weights).sum() / weights.sum(dtype=torch.float64)


def _linked(self: Any, mean: torch.Tensor) -> torch.Tensor:
    return torch.log(mean) if _is_log(self) else mean


def _is_log(self: Any) -> bool:
    link = getattr(self, "link", "log")
    return link == "log" or (link == "auto" and self.power > 0)


def _power(self: Any) -> float:
    fixed = {"PoissonRegressor": 1.0, "GammaRegressor": 2.0}
    return fixed.get(type(self)._npaccel_original.__name__, getattr(self, "power", 0.0))


_REFUSED = 'sparse matrices; solvers but "lbfgs"; `verbose`'


@on_device("linear_model.PoissonRegressor", refused=_REFUSED, tolerance=1e-5)
class PoissonRegressor(_Generalized, Accelerated, linear_model.PoissonRegressor):  # type: ignore[misc]
    __doc__ = linear_model.PoissonRegressor.__doc__


@on_device("linear_model.GammaRegressor", refused=_REFUSED, tolerance=1e-5)
class GammaRegressor(_Generalized, Accelerated, linear_model.GammaRegressor):  # type: ignore[misc]
    __doc__ = linear_model.GammaRegressor.__doc__


@on_device("linear_model.TweedieRegressor", refused=_REFUSED, tolerance=1e-5)
class TweedieRegressor(_Generalized, Accelerated, linear_model.TweedieRegressor):  # type: ignore[misc]
    __doc__ = linear_model.TweedieRegressor.__doc__
