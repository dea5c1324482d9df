"""Regressions of stochastic gradient descent, and the one-class machine, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import linear_model
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.linear_model._sgd import Weights
from npaccel._sklearn.linear_model._sgd_models import (
    LAST,
    NOTE,
    REFUSED,
    Chosen,
    Descent,
    held_weights,
    rate_of,
    raw_of,
)


class _Numbers(Descent):
    """Base of the regressions and the one-class machine: one row of coefficients."""

    _npaccel_offset = "intercept_"

    def _npaccel_start(self: Any, X: torch.Tensor, intercept: torch.Tensor) -> Weights:
        """Return what to begin with, from the coefficients that there are."""
        if not self.average:
            coef = self.coef_
            none = torch.zeros_like(coef), torch.zeros_like(intercept)
            return Weights(coef[None], intercept, none[0][None], none[1], self.t_)
        if getattr(self, "_average_coef", None) is None:
            self._average_coef = X.new_zeros(X.shape[1])
            self._average_intercept = X.new_zeros(1)
        return Weights(
            self._standard_coef[None],
            self._standard_intercept,
            self._average_coef[None],
            self._average_intercept,
            self.t_,
        )

    def _npaccel_set(self: Any, X: torch.Tensor, found: Weights) -> torch.Tensor:
        """Set the coefficients, and return the intercept."""
        self.n_iter_ = found.epochs[0]
        self.t_ += self.n_iter_ * len(X)
        coef, mean = found.coef[0].to(X.dtype), found.mean[0].to(X.dtype)
        if not self.average:
            self.coef_ = coef
            return found.intercept
        self._standard_coef, self._average_coef = coef, mean
        self._standard_intercept = found.intercept
        self._average_intercept = found.mean_intercept
        if self.average <= self.t_ - 1.0:
            self.coef_ = mean
            return found.mean_intercept
        self.coef_ = coef
        return found.intercept


class _Regression(_Numbers):
    """Base of the regressions."""

    def _npaccel_fit(
        self: Any, X: Any, y: Any, alpha: float, loss: str, rate: str, weights: Any, *init: Any
    ) -> Any:
        self._more_validate_params()
        self._npaccel_forget()
        self.t_ = 1.0
        self._npaccel_learn(X, y, alpha, loss, rate, self.max_iter, weights, init)
        self._npaccel_warn()
        return self

    def _npaccel_go_on(
        self: Any, X: Any, y: Any, alpha: float, loss: str, rate: str, weights: Any
    ) -> Any:
        if not hasattr(self, "coef_"):
            self._more_validate_params(for_partial_fit=True)
        return self._npaccel_learn(X, y, alpha, loss, rate, 1, weights, (None, None))

    def _npaccel_learn(
        self: Any,
        X: Any,
        y: Any,
        alpha: float,
        loss: str,
        rate: str,
        epochs: int,
        weights: Any,
        init: Any,
    ) -> Any:
        given = X, y
        first = getattr(self, "coef_", None) is None
        X, y = self._validated(X, y, dtype=FLOATS, reset=first)
        if not isinstance(y, torch.Tensor):
            y = np.asarray(y).astype(common.numpy_dtype(X.dtype), copy=False)
        y = self._moved(y).to(X.dtype)
        weights = self._weights(weights, X)
        if first:
            self._npaccel_allocate(X, 1, *init)
        if not hasattr(self, "t_"):
            self.t_ = 1.0
        start = self._npaccel_start(X, self.intercept_)
        if start.coef.dtype != X.dtype:  # it raises
            return common.by_scikit_learn(self, "partial_fit", *given)
        held_out = self._npaccel_held_out(lambda: transfers.to_host(y), weights, len(X))
        source = check_random_state(self.random_state)
        seeds = [int(source.randint(0, LAST))]
        source.randint(1, LAST)
        form = self._npaccel_form(X, alpha, loss, rate)
        score = None if held_out is None else _determined(X, y, weights, held_out)
        found = self._npaccel_learned(
            X, _rows(y, weights), form, start, seeds, epochs, held_out, score
        )
        self.intercept_ = self._npaccel_set(X, found)
        return self

    def predict(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        return raw_of(self, X, self.intercept_)


def _rows(
    y: torch.Tensor, weights: Any
) -> Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    def rows(lanes: torch.Tensor, order: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        own = y[order].double()
        return own, torch.ones_like(own) if weights is None else weights[order].double()

    return rows


def _determined(
    X: torch.Tensor, y: torch.Tensor, weights: Any, held_out: Any
) -> Callable[[int, Any], float]:
    """Return scikit-learn's score of predicted numbers."""
    wanted = transfers.to_host(y)[held_out]
    weights = held_weights(weights, held_out, X)

    def score(lane: int, predicted: Any) -> float:
        with call_stack.dispatching(False):
            return float(r2_score(wanted, predicted, sample_weight=weights))

    return score


@on_device("linear_model.SGDRegressor", refused=REFUSED, tolerance=1e-6, note=NOTE)
class SGDRegressor(Chosen, _Regression, Accelerated, linear_model.SGDRegressor):  # type: ignore[misc]
    __doc__ = linear_model.SGDRegressor.__doc__

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        how = self.alpha, self.loss, self.learning_rate
        return self._npaccel_go_on(X, y, *how, sample_weight)


@on_device("linear_model.SGDOneClassSVM", refused=REFUSED, tolerance=1e-6, note=NOTE)
class SGDOneClassSVM(_Numbers, Accelerated, linear_model.SGDOneClassSVM):  # type: ignore[misc]
    __doc__ = linear_model.SGDOneClassSVM.__doc__
    _npaccel_offset = "offset_"

    def fit(
        self: Any,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        offset_init: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        self._more_validate_params()
        self._npaccel_forget()
        if self.coef_ is not None:
            coef_init = self.coef_ if coef_init is None else coef_init
            offset_init = self.offset_ if offset_init is None else offset_init
        self.t_ = 1.0
        self._npaccel_learn(X, sample_weight, self.max_iter, coef_init, offset_init)
        self._npaccel_warn()
        return self

    def partial_fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        if not hasattr(self, "coef_"):
            self._more_validate_params(for_partial_fit=True)
        return self._npaccel_learn(X, sample_weight, 1, None, None)

    def _npaccel_learn(self: Any, X: Any, weights: Any, epochs: int, coef: Any, offset: Any) -> Any:
        given = X
        first = getattr(self, "coef_", None) is None
        X = self._validated(X, dtype=FLOATS, reset=first)
        weights = self._weights(weights, X)
        if first or coef is not None:
            self._npaccel_allocate(X, 1, coef, offset, 1)
        self._loss_function_ = self._get_loss_function(self.loss)
        if not hasattr(self, "t_"):
            self.t_ = 1.0
        start = self._npaccel_start(X, 1 - self.offset_)
        if start.coef.dtype != X.dtype:  # it raises
            return common.by_scikit_learn(self, "partial_fit", given)
        # For a seed that it doesn't use scikit-learn draws from NumPy's own generator.
        check_random_state(None).randint(1, LAST)
        seeds = [int(check_random_state(self.random_state).randint(0, LAST))]
        form = self._npaccel_form(X, self.nu, self.loss, self.learning_rate, one_class=True)
        rows = _rows(X.new_ones(len(X)), weights)
        found = self._npaccel_learned(X, rows, form, start, seeds, epochs)
        self.offset_ = 1 - self._npaccel_set(X, found)
        return self

    def decision_function(self, X: Any) -> Any:
        check_is_fitted(self, "coef_")
        return raw_of(self, X, -self.offset_)

    def score_samples(self, X: Any) -> Any:
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        return torch.where(self.decision_function(X) >= 0, 1, -1).to(torch.int32)


# -- Passive-aggressive models, which scikit-learn is to drop ------------------------------------

if hasattr(linear_model, "PassiveAggressiveRegressor"):

    @on_device(
        "linear_model.PassiveAggressiveRegressor", refused=REFUSED, tolerance=1e-6, note=NOTE
    )
    class PassiveAggressiveRegressor(  # type: ignore[misc]
        _Regression, Accelerated, linear_model.PassiveAggressiveRegressor
    ):
        __doc__ = linear_model.PassiveAggressiveRegressor.__doc__

        def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None) -> Any:
            how = 1.0, "epsilon_insensitive", rate_of(self)
            return self._npaccel_fit(X, y, *how, None, coef_init, intercept_init)

        def partial_fit(self, X: Any, y: Any) -> Any:
            return self._npaccel_go_on(X, y, 1.0, "epsilon_insensitive", rate_of(self), None)
