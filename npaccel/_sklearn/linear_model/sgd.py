"""Classifiers of stochastic gradient descent on the device: scikit-learn's steps in its order.

What one step leaves to the next is computed for a block of rows at a time (`_sgd`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import linear_model
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, routes, transfers
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
from npaccel._sklearn.linear_model._sgd_steps import Form


def _coded(y: Any) -> tuple[Any, Any]:
    """Return the labels that there are, on the host, and their numbers in the rows."""
    if isinstance(y, torch.Tensor):
        labels, codes = torch.unique(y, return_inverse=True)
        return transfers.to_host(labels), codes
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    return labels, codes.astype(np.int64, copy=False)


class _Classes(Descent):
    """Base of the classifiers."""

    _npaccel_offset = "intercept_"

    def _npaccel_fit(
        self: Any, X: Any, y: Any, alpha: float, loss: str, rate: str, weights: Any, *init: Any
    ) -> Any:
        """Fit, from coefficients if they are given."""
        self._more_validate_params()
        if hasattr(self, "classes_"):
            del self.classes_
        self._npaccel_forget()
        if self.coef_ is not None:
            begun = self.coef_, self.intercept_
            init = tuple(own if one is None else one for own, one in zip(begun, init, strict=True))
        self.t_ = 1.0
        self._npaccel_learn(X, y, alpha, loss, rate, self.max_iter, weights, None, init)
        self._npaccel_warn()
        return self

    def _npaccel_go_on(
        self: Any, X: Any, y: Any, alpha: float, loss: str, rate: str, classes: Any, weights: Any
    ) -> Any:
        """Take one pass over the rows."""
        if not hasattr(self, "classes_"):
            self._more_validate_params(for_partial_fit=True)
            if self.class_weight == "balanced":
                # It raises.
                return common.by_scikit_learn(self, "partial_fit", X, y, routes._array(classes))
        classes = (routes._array(classes),)
        return self._npaccel_learn(X, y, alpha, loss, rate, 1, weights, classes, (None, None))

    def _npaccel_learn(
        self: Any,
        X: Any,
        y: Any,
        alpha: float,
        loss: str,
        rate: str,
        epochs: int,
        weights: Any,
        classes: Any,
        init: Any,
    ) -> Any:
        given = X, y
        X, y = self._validated(X, y, dtype=FLOATS, reset=not hasattr(self, "classes_"))
        labels, codes = _coded(y)
        with call_stack.dispatching(False):
            _check_partial_fit_first_call(self, labels if classes is None else classes[0])
        costs, codes = self._npaccel_costs(labels, codes)
        weights = self._weights(weights, X, allow_all_zero_weights=self.early_stopping)
        count = len(self.classes_)
        if getattr(self, "coef_", None) is None or init[0] is not None:
            self._npaccel_allocate(X, count, *init)
        elif X.shape[1] != self.coef_.shape[-1]:
            raise ValueError(
                f"Number of features {X.shape[1]} does not match previous data "
                f"{self.coef_.shape[-1]}."
            )
        self._loss_function_ = self._get_loss_function(loss)
        if not hasattr(self, "t_"):
            self.t_ = 1.0
        if count < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {count} class")
        form = self._npaccel_form(X, alpha, loss, rate)
        problem = _OneAgainstRest(self, X, self._moved(codes), weights, costs, form)
        if problem.start.coef.dtype != X.dtype:  # it raises
            more = {} if classes is None else {"classes": classes[0]}
            return common.by_scikit_learn(self, "partial_fit", *given, **more)
        self._npaccel_set(X, problem.learned(epochs))
        return self

    def _npaccel_costs(self: Any, labels: Any, codes: Any) -> tuple[Any, Any]:
        """Return the weights of the classes, and the labels of rows as numbers of classes."""
        y = labels
        if self.class_weight == "balanced":
            y = labels[routes._array(codes)]
        with call_stack.dispatching(False):
            costs = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        self._expanded_class_weight = costs
        places = np.searchsorted(self.classes_, labels)
        if isinstance(codes, torch.Tensor):
            return costs, self._moved(places)[codes]
        return costs, places[codes]

    def _npaccel_set(self: Any, X: torch.Tensor, found: Weights) -> None:
        """Set what was learnt, in scikit-learn's shapes and dtypes."""
        several = len(self.classes_) > 2
        before = self.t_
        self.n_iter_ = max(found.epochs)
        self.t_ += self.n_iter_ * len(X)
        coef, mean = found.coef.to(X.dtype), found.mean.to(X.dtype)
        # That of two classes is a number in scikit-learn's loop.
        intercept = found.intercept.to(X.dtype) if several else found.intercept
        if not self.average:
            self.coef_, self.intercept_ = coef, intercept
            return
        self._standard_coef = coef if several else coef[0]
        self._average_coef = mean if several else mean[0]
        self._average_intercept = found.mean_intercept.to(X.dtype)
        if several:
            # scikit-learn writes them into the array that was `intercept_` before.
            was_mean = self.average <= before - 1.0
            kept = "_average_intercept" if was_mean else "_standard_intercept"
            setattr(self, kept, intercept)
        if self.average <= self.t_ - 1.0:
            self.coef_, self.intercept_ = mean, self._average_intercept
        else:
            self.coef_, self.intercept_ = coef, intercept
            self._standard_intercept = intercept

    def decision_function(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        raw = raw_of(self, X, self.intercept_)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self: Any, X: Any) -> Any:
        raw = self.decision_function(X)
        return self._labels((raw > 0).long() if raw.ndim == 1 else torch.argmax(raw, dim=1))


class _OneAgainstRest:
    """The problems of a classifier: each class against the rest, or the second against the first.

    Parameters
    ----------
    estimator : _Classes
    X, codes, weights : torch.Tensor
    costs : array
        Of the classes.
    form : Form
    """

    def __init__(
        self,
        estimator: Any,
        X: torch.Tensor,
        codes: torch.Tensor,
        weights: Any,
        costs: Any,
        form: Form,
    ) -> None:
        self.estimator, self.X, self.codes, self.weights = estimator, X, codes, weights
        self.form = form
        count = len(costs)
        self.targets = [1] if count == 2 else list(range(count))
        self.negative = 0.0 if form.loss == "log_loss" else -1.0
        self.target = torch.tensor(self.targets, device=X.device)
        against = np.ones(count) if count > 2 else costs[:1]
        self.costs = torch.tensor(
            np.stack([costs[self.targets], against]), dtype=X.dtype, device=X.device
        )
        self.start = self._start()

    def _start(self) -> Weights:
        own = self.estimator
        lanes = len(self.targets)
        if own.average:
            names = ("_standard_coef", "_standard_intercept", "_average_coef", "_average_intercept")
            coef, intercept, mean, mean_intercept = (getattr(own, name) for name in names)
        else:
            coef, intercept = own.coef_, own.intercept_
            mean, mean_intercept = torch.zeros_like(coef), torch.zeros_like(intercept)
        shape = (lanes, -1)
        return Weights(coef.reshape(shape), intercept, mean.reshape(shape), mean_intercept, own.t_)

    def learned(self, epochs: int) -> Weights:
        own, rows = self.estimator, len(self.X)
        source = check_random_state(own.random_state)
        if len(self.targets) == 1:
            source.randint(1, LAST)
            held_out = own._npaccel_held_out(self._signs_on_host, self.weights, rows)
            seeds = [int(source.randint(LAST))]
        else:
            held_out = own._npaccel_held_out(self._labels_on_host, self.weights, rows)
            seeds = [_second_draw(seed) for seed in source.randint(LAST, size=len(self.targets))]
        score = None if held_out is None else self._score(held_out)
        return own._npaccel_learned(  # type: ignore[no-any-return]
            self.X, self.rows, self.form, self.start, seeds, epochs, held_out, score
        )

    def rows(self, lanes: torch.Tensor, order: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the true values and the weights of rows for each problem."""
        own = self.codes[order] == self.target[lanes][:, None]
        y = torch.where(own, 1.0, self.negative).double()
        costs = self.costs[:, lanes][:, :, None]
        weights = torch.where(own, costs[0], costs[1])
        if self.weights is not None:
            weights = weights * self.weights[order]
        return y, weights.double()

    def _labels_on_host(self) -> Any:
        return self.estimator.classes_[transfers.to_host(self.codes)]

    def _signs_on_host(self) -> Any:
        dtype = common.numpy_dtype(self.X.dtype)
        return np.where(transfers.to_host(self.codes) == 1, 1.0, self.negative).astype(dtype)

    def _score(self, held_out: Any) -> Callable[[int, Any], float]:
        """Return scikit-learn's score of predictions: the share of the right ones."""
        codes = transfers.to_host(self.codes)[held_out]
        weights = held_weights(self.weights, held_out, self.X)

        def score(lane: int, raw: Any) -> float:
            # It takes what it predicts as 1 and -1 whatever the loss takes the classes as.
            y = np.where(codes == self.targets[lane], 1.0, self.negative)
            return float(np.average(np.where(raw > 0, 1.0, -1.0) == y, weights=weights))

        return score


def _second_draw(seed: int) -> int:
    source = check_random_state(seed)
    source.randint(1, LAST)
    return int(source.randint(LAST))


class _ChosenClasses(Chosen, _Classes):
    """Base of the classifiers among them."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        how = self.alpha, self.loss, self.learning_rate
        return self._npaccel_go_on(X, y, *how, classes, sample_weight)


@on_device("linear_model.SGDClassifier", refused=REFUSED, tolerance=1e-6, note=NOTE)
class SGDClassifier(_ChosenClasses, Accelerated, linear_model.SGDClassifier):  # type: ignore[misc]
    __doc__ = linear_model.SGDClassifier.__doc__

    @available_if(linear_model.SGDClassifier._check_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        raw = self.decision_function(X)
        if self.loss == "log_loss":
            positive = torch.sigmoid(raw)
        else:
            positive = (raw.clamp(-1.0, 1.0) + 1.0) / 2.0
        if raw.ndim == 1:
            if self.loss == "modified_huber":
                positive = positive.double()
            return torch.stack([1.0 - positive, positive], dim=1)
        sums = positive.sum(dim=1, keepdim=True)
        # Where no class has any, all have the same.
        same = torch.full_like(positive, 1.0 / positive.shape[1])
        return torch.where(sums == 0.0, same, positive / sums)

    @available_if(linear_model.SGDClassifier._check_proba)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        return torch.log(self.predict_proba(X))


@on_device("linear_model.Perceptron", refused=REFUSED, tolerance=1e-6, note=NOTE)
class Perceptron(_ChosenClasses, Accelerated, linear_model.Perceptron):  # type: ignore[misc]
    __doc__ = linear_model.Perceptron.__doc__


# -- Passive-aggressive models, which scikit-learn is to drop ------------------------------------

if hasattr(linear_model, "PassiveAggressiveClassifier"):

    @on_device(
        "linear_model.PassiveAggressiveClassifier", refused=REFUSED, tolerance=1e-6, note=NOTE
    )
    class PassiveAggressiveClassifier(  # type: ignore[misc]
        _Classes, Accelerated, linear_model.PassiveAggressiveClassifier
    ):
        __doc__ = linear_model.PassiveAggressiveClassifier.__doc__

        def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None) -> Any:
            how = 1.0, "hinge", rate_of(self)
            return self._npaccel_fit(X, y, *how, None, coef_init, intercept_init)

        def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
            return self._npaccel_go_on(X, y, 1.0, "hinge", rate_of(self), classes, None)
