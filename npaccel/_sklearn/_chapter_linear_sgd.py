"""Linear models of stochastic gradient descent on the device: scikit-learn's steps in its order.

What one step leaves to the next is computed for a block of rows at a time (`_parts_sgd`).
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
import torch
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.fixes import parse_version
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn import (
    _crossings,
    _frames,
    _parts,
    _parts_linalg,
    _parts_sgd,
    _running,
)
from npaccel._sklearn._device import FLOATS, Accelerated
from npaccel._sklearn._parts_sgd import Task, Weights
from npaccel._sklearn._parts_sgd_steps import Form
from npaccel._sklearn._table import on_device

#: The margins of the hinges; other losses have the parameter ``epsilon``.
_MARGINS = {"hinge": 1.0, "squared_hinge": 1.0, "perceptron": 0.0}
#: What scikit-learn draws seeds below.
_LAST = np.iinfo(np.int32).max
#: Whether the installed scikit-learn takes the steps that are written here.
_SAME_STEPS = parse_version(sklearn.__version__) >= parse_version("1.9")


_Base: Any = object


class _Descent(_parts.HostOnCpu):
    """What all share."""

    def _npaccel_form(
        self: Any, X: torch.Tensor, alpha: float, loss: str, rate: str, one_class: bool = False
    ) -> Form:
        penalised = self.penalty is not None
        sums = "objective" if (penalised or one_class) and rate not in ("pa1", "pa2") else "loss"
        return Form(
            loss=loss,
            parameter=_MARGINS.get(loss, float(self.epsilon)),
            rate=rate,
            alpha=float(alpha),
            eta0=float(self.eta0),
            power_t=float(self.power_t),
            penalised=penalised,
            fit_intercept=bool(self.fit_intercept),
            one_class=one_class,
            average=int(self.average),
            sums="" if self.early_stopping else sums,
            narrow=X.dtype == torch.float32,
        )

    def _npaccel_forget(self: Any) -> None:
        """Begin without coefficients, if none are to be gone on from."""
        if not (self.warm_start and getattr(self, "coef_", None) is not None):
            self.coef_ = None
            setattr(self, self._npaccel_offset, None)

    def _npaccel_allocate(
        self: Any, X: torch.Tensor, classes: int, coef: Any, intercept: Any, one_class: int = 0
    ) -> None:
        """Set the first coefficients by scikit-learn's own code, which checks those given."""
        given = [_running._array(one) for one in (coef, intercept)]
        with _parts.on_host(self):
            self._allocate_parameter_mem(
                n_classes=classes,
                n_features=X.shape[1],
                input_dtype=_parts.numpy_dtype(X.dtype),
                coef_init=given[0],
                intercept_init=given[1],
                one_class=one_class,
            )

    def _npaccel_held_out(self: Any, y: Callable[[], Any], weights: Any, rows: int) -> Any:
        """Return whether each row is held out to score by; None where none is."""
        if not self.early_stopping:
            return None
        known = np.ones(rows, bool) if weights is None else _crossings.to_host(weights) > 0
        with _frames.dispatching(False):
            return self._make_validation_split(y(), sample_mask=known)

    def _npaccel_learned(
        self: Any,
        X: torch.Tensor,
        rows: Any,
        form: Form,
        start: Weights,
        seeds: list[int],
        epochs: int,
        held_out: Any = None,
        score: Any = None,
    ) -> Weights:
        return _parts_sgd.learned(
            Task(
                X=X,
                rows=rows,
                form=form,
                seeds=seeds if self.shuffle else [],
                epochs=epochs,
                tol=self.tol,
                patience=int(self.n_iter_no_change),
                held_out=held_out,
                score=None if held_out is None else score,
            ),
            start,
        )

    def _npaccel_warn(self: Any) -> None:
        if self.tol is not None and self.tol > -np.inf and self.n_iter_ == self.max_iter:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing "
                "max_iter to improve the fit.",
                ConvergenceWarning,
                stacklevel=2,
            )
        if self.power_t < 0:
            warnings.warn(
                "Negative values for `power_t` are deprecated in version 1.8 and will raise an "
                "error in 1.10. Use values in the range [0.0, inf) instead.",
                FutureWarning,
                stacklevel=2,
            )

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)  # type: ignore[misc]
        if why or "fit" not in method:
            return why
        if not _SAME_STEPS:
            return "scikit-learn takes other steps before 1.9"
        if self.penalty not in (None, "l2"):
            return f"`penalty={self.penalty!r}` cuts off coefficients after each row"
        if self.verbose:
            return "`verbose` prints what scikit-learn's own code does"
        return "" if _compiles(X) else "there is no Triton to compile the steps for a GPU"


class _Chosen(_Base):  # type: ignore[misc]
    """What the models share whose loss, rate and penalty are parameters."""

    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        how = self.alpha, self.loss, self.learning_rate
        return self._npaccel_fit(X, y, *how, sample_weight, coef_init, intercept_init)


def _compiles(X: Any) -> bool:
    """Whether the steps can be taken where X may be."""
    on_gpu = X.is_cuda if isinstance(X, torch.Tensor) else torch.cuda.is_available()
    return not on_gpu or importlib.util.find_spec("triton") is not None


def _raw(self: Any, X: Any, intercept: Any) -> torch.Tensor:
    X = self._validated(X, reset=False)
    if not X.is_floating_point():
        X = X.double()
    return _parts_linalg.affine(X, self.coef_, intercept)


# -- Classes ------------------------------------------------------------------------------------


def _coded(y: Any) -> tuple[Any, Any]:
    """Return the labels that there are, on the host, and their numbers in the rows."""
    if isinstance(y, torch.Tensor):
        labels, codes = torch.unique(y, return_inverse=True)
        return _crossings.to_host(labels), codes
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    return labels, codes.astype(np.int64, copy=False)


class _Classes(_Descent):
    """What the classifiers share."""

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
                return _parts.by_scikit_learn(self, "partial_fit", X, y, _running._array(classes))
        classes = (_running._array(classes),)
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
        with _frames.dispatching(False):
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
            return _parts.by_scikit_learn(self, "partial_fit", *given, **more)
        self._npaccel_set(X, problem.learned(epochs))
        return self

    def _npaccel_costs(self: Any, labels: Any, codes: Any) -> tuple[Any, Any]:
        """Return the weights of the classes, and the labels of rows as numbers of classes."""
        y = labels
        if self.class_weight == "balanced":
            y = labels[_running._array(codes)]
        with _frames.dispatching(False):
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
        raw = _raw(self, X, self.intercept_)
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
            source.randint(1, _LAST)
            held_out = own._npaccel_held_out(self._signs_on_host, self.weights, rows)
            seeds = [int(source.randint(_LAST))]
        else:
            held_out = own._npaccel_held_out(self._labels_on_host, self.weights, rows)
            seeds = [_second_draw(seed) for seed in source.randint(_LAST, size=len(self.targets))]
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
        return self.estimator.classes_[_crossings.to_host(self.codes)]

    def _signs_on_host(self) -> Any:
        dtype = _parts.numpy_dtype(self.X.dtype)
        return np.where(_crossings.to_host(self.codes) == 1, 1.0, self.negative).astype(dtype)

    def _score(self, held_out: Any) -> Callable[[int, Any], float]:
        """Return scikit-learn's score of predictions: the share of the right ones."""
        codes = _crossings.to_host(self.codes)[held_out]
        weights = _held_weights(self.weights, held_out, self.X)

        def score(lane: int, raw: Any) -> float:
            # It takes what it predicts as 1 and -1 whatever the loss takes the classes as.
            y = np.where(codes == self.targets[lane], 1.0, self.negative)
            return float(np.average(np.where(raw > 0, 1.0, -1.0) == y, weights=weights))

        return score


def _second_draw(seed: int) -> int:
    source = check_random_state(seed)
    source.randint(1, _LAST)
    return int(source.randint(_LAST))


def _held_weights(weights: Any, held_out: Any, X: torch.Tensor) -> Any:
    if weights is None:
        return np.ones(int(held_out.sum()), _parts.numpy_dtype(X.dtype))
    return _crossings.to_host(weights)[held_out]


_REFUSED = "sparse matrices; penalties with l1; `verbose`"
_NOTE = (
    "where large rates magnify rounding from step to step (`learning_rate='optimal'` with squared "
    "losses, say), at ties and in 32 bits, scikit-learn's own result changes with the last bits of "
    "the data, and so does this one"
)


class _ChosenClasses(_Chosen, _Classes):
    """What the classifiers among them share."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        how = self.alpha, self.loss, self.learning_rate
        return self._npaccel_go_on(X, y, *how, classes, sample_weight)


@on_device("linear_model.SGDClassifier", refused=_REFUSED, tolerance=1e-6, note=_NOTE)
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


@on_device("linear_model.Perceptron", refused=_REFUSED, tolerance=1e-6, note=_NOTE)
class Perceptron(_ChosenClasses, Accelerated, linear_model.Perceptron):  # type: ignore[misc]
    __doc__ = linear_model.Perceptron.__doc__


# -- Numbers ------------------------------------------------------------------------------------


class _Numbers(_Descent):
    """What the regressions and the one-class machine share: one row of coefficients."""

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
    """What the regressions share."""

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
            y = np.asarray(y).astype(_parts.numpy_dtype(X.dtype), copy=False)
        y = self._moved(y).to(X.dtype)
        weights = self._weights(weights, X)
        if first:
            self._npaccel_allocate(X, 1, *init)
        if not hasattr(self, "t_"):
            self.t_ = 1.0
        start = self._npaccel_start(X, self.intercept_)
        if start.coef.dtype != X.dtype:  # it raises
            return _parts.by_scikit_learn(self, "partial_fit", *given)
        held_out = self._npaccel_held_out(lambda: _crossings.to_host(y), weights, len(X))
        source = check_random_state(self.random_state)
        seeds = [int(source.randint(0, _LAST))]
        source.randint(1, _LAST)
        form = self._npaccel_form(X, alpha, loss, rate)
        score = None if held_out is None else _determined(X, y, weights, held_out)
        found = self._npaccel_learned(
            X, _rows(y, weights), form, start, seeds, epochs, held_out, score
        )
        self.intercept_ = self._npaccel_set(X, found)
        return self

    def predict(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        return _raw(self, X, self.intercept_)


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
    wanted = _crossings.to_host(y)[held_out]
    weights = _held_weights(weights, held_out, X)

    def score(lane: int, predicted: Any) -> float:
        with _frames.dispatching(False):
            return float(r2_score(wanted, predicted, sample_weight=weights))

    return score


@on_device("linear_model.SGDRegressor", refused=_REFUSED, tolerance=1e-6, note=_NOTE)
class SGDRegressor(_Chosen, _Regression, Accelerated, linear_model.SGDRegressor):  # type: ignore[misc]
    __doc__ = linear_model.SGDRegressor.__doc__

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        how = self.alpha, self.loss, self.learning_rate
        return self._npaccel_go_on(X, y, *how, sample_weight)


@on_device("linear_model.SGDOneClassSVM", refused=_REFUSED, tolerance=1e-6, note=_NOTE)
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
            return _parts.by_scikit_learn(self, "partial_fit", given)
        # For a seed that it doesn't use scikit-learn draws from NumPy's own generator.
        check_random_state(None).randint(1, _LAST)
        seeds = [int(check_random_state(self.random_state).randint(0, _LAST))]
        form = self._npaccel_form(X, self.nu, self.loss, self.learning_rate, one_class=True)
        rows = _rows(X.new_ones(len(X)), weights)
        found = self._npaccel_learned(X, rows, form, start, seeds, epochs)
        self.offset_ = 1 - self._npaccel_set(X, found)
        return self

    def decision_function(self, X: Any) -> Any:
        check_is_fitted(self, "coef_")
        return _raw(self, X, -self.offset_)

    def score_samples(self, X: Any) -> Any:
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        return torch.where(self.decision_function(X) >= 0, 1, -1).to(torch.int32)


# -- Passive-aggressive models, which scikit-learn is to drop ------------------------------------

if hasattr(linear_model, "PassiveAggressiveClassifier"):

    @on_device(
        "linear_model.PassiveAggressiveClassifier", refused=_REFUSED, tolerance=1e-6, note=_NOTE
    )
    class PassiveAggressiveClassifier(  # type: ignore[misc]
        _Classes, Accelerated, linear_model.PassiveAggressiveClassifier
    ):
        __doc__ = linear_model.PassiveAggressiveClassifier.__doc__

        def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None) -> Any:
            how = 1.0, "hinge", _rate(self)
            return self._npaccel_fit(X, y, *how, None, coef_init, intercept_init)

        def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
            return self._npaccel_go_on(X, y, 1.0, "hinge", _rate(self), classes, None)

    @on_device(
        "linear_model.PassiveAggressiveRegressor", refused=_REFUSED, tolerance=1e-6, note=_NOTE
    )
    class PassiveAggressiveRegressor(  # type: ignore[misc]
        _Regression, Accelerated, linear_model.PassiveAggressiveRegressor
    ):
        __doc__ = linear_model.PassiveAggressiveRegressor.__doc__

        def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None) -> Any:
            how = 1.0, "epsilon_insensitive", _rate(self)
            return self._npaccel_fit(X, y, *how, None, coef_init, intercept_init)

        def partial_fit(self, X: Any, y: Any) -> Any:
            return self._npaccel_go_on(X, y, 1.0, "epsilon_insensitive", _rate(self), None)


def _rate(self: Any) -> str:
    return "pa2" if self.loss.startswith("squared") else "pa1"
