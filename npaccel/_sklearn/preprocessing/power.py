"""``sklearn.preprocessing.PowerTransformer`` on the device."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import optimize
from sklearn import preprocessing
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.preprocessing.standard import StandardScaler


@kernel
def _yeo_johnson(X: Any, powers: Any) -> Any:
    """Return the transform of Yeo and Johnson (2000), a power for each column."""
    eps = np.finfo(np.float64).eps
    logs = np.log1p(np.abs(X))
    flat = np.abs(powers) < eps
    upper = np.where(flat, logs, np.expm1(powers * logs) / np.where(flat, 1.0, powers))
    other = 2.0 - powers
    flat = np.abs(other) <= eps
    lower = np.where(flat, -logs, -np.expm1(other * logs) / np.where(flat, 1.0, other))
    return np.where(X >= 0, upper, np.where(np.isnan(X), X, lower)).astype(X.dtype)


@kernel
def _yeo_johnson_back(X: Any, powers: Any) -> Any:
    eps = np.finfo(np.float64).eps
    flat = np.abs(powers) < eps
    safe = np.where(flat, 1.0, powers)
    positive = np.where(X >= 0, X, 0.0)
    upper = np.where(flat, np.expm1(positive), np.power(positive * safe + 1.0, 1.0 / safe) - 1.0)
    other = 2.0 - powers
    flat = np.abs(other) <= eps
    safe = np.where(flat, 1.0, other)
    negative = np.where(X < 0, X, 0.0)
    lower = np.where(flat, -np.expm1(-negative), 1.0 - np.power(1.0 - safe * negative, 1.0 / safe))
    return np.where(X >= 0, upper, np.where(np.isnan(X), X, lower)).astype(X.dtype)


@kernel
def _box_cox(X: Any, powers: Any) -> Any:
    """Return the transform of Box and Cox (1964), a power for each column."""
    logs = np.log(X)
    flat = powers == 0
    return np.where(flat, logs, np.expm1(powers * logs) / np.where(flat, 1.0, powers)).astype(
        X.dtype
    )


@kernel
def _box_cox_back(X: Any, powers: Any) -> Any:
    flat = powers == 0
    safe = np.where(flat, 1.0, powers)
    return np.where(flat, np.exp(X), np.exp(np.log1p(safe * X) / safe)).astype(X.dtype)


@kernel
def _yeo_johnson_variance(logs: Any, sign: Any, power: Any, other: Any) -> Any:
    """Return the variance of a transformed column; the powers aren't 0."""
    return np.var(
        np.where(sign >= 0, np.expm1(power * logs) / power, -np.expm1(other * logs) / other)
    )


@kernel
def _box_cox_variance(logs: Any, power: Any) -> Any:
    return np.var(np.expm1(power * logs) / power)


def _best_yeo_johnson(x: torch.Tensor) -> float:
    """Return the likeliest power; bounded as in ``scipy.stats.yeojohnson_normmax``."""
    wide = x.double()
    logs = torch.log1p(wide.abs())
    low, high, total = transfers.numbers(*torch.aminmax(wide), (wide.sign() * logs).sum())
    if low == high == 0:
        return 1.0
    limits = torch.finfo(x.dtype)
    most = math.log1p(20 * max(abs(low), abs(high)))
    lower = (math.log(limits.tiny) - math.log(limits.eps)) / 2 / most
    upper = (math.log(limits.max) + math.log(limits.eps)) / 2 / most
    if high < 0:
        lower, upper = 2 - upper, 2 - lower
    elif low < 0:
        lower, upper = max(2 - upper, lower), min(2 - lower, upper)

    def loss(power: float) -> float:
        safe, other = power or 1e-300, (2 - power) or 1e-300
        variance = transfers.number(_yeo_johnson_variance(logs, wide, safe, other))
        if not variance >= np.finfo(np.float64).tiny:
            return math.inf
        return len(x) / 2 * math.log(variance) - (power - 1) * total

    return float(optimize.fminbound(loss, lower, upper, xtol=1.48e-8))


def _best_box_cox(x: torch.Tensor) -> float:
    """Return the likeliest power, found as ``scipy.stats.boxcox_normmax`` does."""
    logs = torch.log(x.double())
    total = transfers.number(logs.sum())

    def loss(power: float) -> float:
        if power == 0:
            variance = transfers.number(logs.var(correction=0))
        else:
            variance = transfers.number(_box_cox_variance(logs, power))
        if not variance > 0:
            return math.inf
        return len(x) / 2 * math.log(variance) - (power - 1) * total

    return float(optimize.brent(loss, brack=(-2.0, 2.0)))


_BEST: dict[str, Callable[[torch.Tensor], float]] = {
    "yeo-johnson": _best_yeo_johnson,
    "box-cox": _best_box_cox,
}
_FORWARD = {"yeo-johnson": _yeo_johnson, "box-cox": _box_cox}
_BACK = {"yeo-johnson": _yeo_johnson_back, "box-cox": _box_cox_back}


@on_device(
    "preprocessing.PowerTransformer",
    refused="`copy=False`",
    tolerance=1e-6,
    note="the likelihoods are computed in 64 bits; scikit-learn's of float32 are in 32 bits",
)
class PowerTransformer(  # type: ignore[misc]
    common.HostOnCpu, Accelerated, preprocessing.PowerTransformer
):
    __doc__ = preprocessing.PowerTransformer.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        given = X
        X = self._validated(X, dtype=FLOATS, ensure_all_finite="allow-nan")
        self._npaccel_check(X)
        there = ~torch.isnan(X)
        powers = np.empty(X.shape[1], common.numpy_dtype(X.dtype))
        constant = self._npaccel_constant(X)
        whole = transfers.numbers(there.all(dim=0), there.any(dim=0))
        for i, column in enumerate(X.T):
            if not whole[X.shape[1] + i]:
                return common.by_scikit_learn(self, "fit_transform", given, y)
            if self.method == "yeo-johnson" and constant[i]:
                powers[i] = 1.0
            else:
                known = column if whole[i] else column[there[:, i]]
                powers[i] = _BEST[self.method](known.contiguous())
        self.lambdas_ = self._moved(powers)
        found = _FORWARD[self.method](X, self.lambdas_)
        if self.standardize:
            self._scaler = StandardScaler().set_output(transform="default")
            found = self._scaler.fit_transform(found)
        return found

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS, ensure_all_finite="allow-nan")
        self._npaccel_check(X)
        found = _FORWARD[self.method](X, self.lambdas_)
        return self._scaler.transform(found) if self.standardize else found

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = common.checked(self, X, dtype=FLOATS, ensure_all_finite="allow-nan")
        if X.shape[1] != self.n_features_in_:
            return common.by_scikit_learn(self, "inverse_transform", X)
        if self.standardize:
            X = self._scaler.inverse_transform(X)
        found = _BACK[self.method](X, self.lambdas_)
        if self.method == "yeo-johnson":
            lost = transfers.numbers((torch.isnan(found) & ~torch.isnan(X)).any(dim=0))
            for i in np.flatnonzero(lost):
                warnings.warn(
                    f"Some values in column {i} of the inverse-transformed data are NaN. This may "
                    "be caused by numerical issues in the transformation process, e.g. extremely "
                    "skewed data. Consider inspecting the input data or preprocessing it before "
                    "applying the transformation.",
                    UserWarning,
                    stacklevel=2,
                )
        return found

    def _npaccel_check(self, X: torch.Tensor) -> None:
        if self.method == "box-cox" and transfers.number((X <= 0).any()):
            raise ValueError(
                "The Box-Cox transformation can only be applied to strictly positive data"
            )

    def _npaccel_constant(self, X: torch.Tensor) -> list[bool]:
        """Return of each column whether it's nothing but rounding apart from its mean."""
        wide = X.double()
        mean, variance = wide.mean(dim=0), wide.var(dim=0, correction=0)
        eps = torch.finfo(torch.float64).eps
        bound = len(X) * eps * variance + (len(X) * mean * eps) ** 2
        return transfers.numbers(variance <= bound)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return super()._unsupported(method, X, y, **more) or (
            "`copy=False` writes into X" if not self.copy else ""
        )
