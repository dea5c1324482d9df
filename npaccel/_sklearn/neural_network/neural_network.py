"""``MLPClassifier`` and ``MLPRegressor`` on the device, with scikit-learn's random numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn import neural_network
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import _check_partial_fit_first_call
from sklearn.neural_network._stochastic_optimizers import AdamOptimizer, SGDOptimizer
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_random_state, gen_batches, shuffle
from sklearn.utils.validation import check_is_fitted, column_or_1d

from npaccel._sklearn.dispatch import call_stack, common, transfers, validation
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device, through_host
from npaccel._sklearn.kernels import lbfgs
from npaccel._sklearn.neural_network import _layers


class _Perceptron(common.HostOnCpu):
    """Base of the two."""

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return self._npaccel_fit("fit", X, y, sample_weight, False)

    def _npaccel_fit(self: Any, name: str, X: Any, y: Any, weights: Any, more: bool) -> Any:
        sizes = self.hidden_layer_sizes
        sizes = list(sizes) if hasattr(sizes, "__iter__") else [sizes]
        if any(size <= 0 for size in sizes):
            raise ValueError(f"hidden_layer_sizes must be > 0, got {sizes}.")
        first = not hasattr(self, "coefs_") or not (self.warm_start or more)
        checks = {"multi_output": True, "dtype": FLOATS, "y_numeric": self._npaccel_numeric}
        given = X, y
        X, y = self._validated(X, y, reset=first, **checks)
        y = self._npaccel_targets(X, y, more)
        if y is None:
            return common.by_scikit_learn(self, name, *given, sample_weight=weights)
        weights = self._weights(weights, X)
        units = [X.shape[1], *sizes, y.shape[1]]
        self._random_state = check_random_state(self.random_state)
        if first:
            self._npaccel_begin(X, y, units)
        flat = _layers.packed([*self.coefs_, *self.intercepts_])
        if self.solver == "lbfgs":
            flat = self._npaccel_minimised(X, y, weights, units, flat)
        else:
            flat = self._npaccel_stepped(X, y, weights, units, flat, more)
        self.coefs_, self.intercepts_ = _layers.unpacked(flat.clone(), units)
        if not transfers.number(torch.isfinite(flat).all()):
            raise ValueError(
                "Solver produced non-finite parameter weights. The input data may contain large "
                "values and need to be preprocessed."
            )
        return self

    def _npaccel_begin(self: Any, X: torch.Tensor, y: torch.Tensor, units: list[int]) -> None:
        """Draw the coefficients by scikit-learn's own code."""
        like = np.empty((0, y.shape[1]))
        with common.on_host(self):
            self._initialize(like, units, common.numpy_dtype(X.dtype))

    def _npaccel_net(self: Any) -> _layers.Net:
        return _layers.Net(self.activation, self.out_activation_, self.loss, float(self.alpha))

    def _npaccel_minimised(
        self: Any, X: torch.Tensor, y: torch.Tensor, weights: Any, units: list[int], flat: Any
    ) -> torch.Tensor:
        net = self._npaccel_net()

        def objective(vector: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            loss, slopes = net.backward(X, y, weights, *_layers.unpacked(vector.to(X.dtype), units))
            return loss.double(), _layers.packed(slopes).double()

        found = lbfgs.minimized(
            objective,
            flat.double(),
            maxiter=self.max_iter,
            gtol=self.tol,
            ftol=2.220446049250313e-09,
            maxls=20,
        )
        self.n_iter_ = lbfgs.warn_unless_converged(found, self.max_iter)
        self.loss_ = found.fun
        return found.x.to(X.dtype)

    def _npaccel_stepped(
        self: Any,
        X: torch.Tensor,
        y: torch.Tensor,
        weights: Any,
        units: list[int],
        flat: torch.Tensor,
        more: bool,
    ) -> torch.Tensor:
        """Return the parameters after epochs of batches."""
        if not (more and hasattr(self, "_optimizer")):
            self._optimizer = _optimizer(self)
        steps = _layers.Steps(self._optimizer, flat, units)
        rows = len(X)
        size = _batch_size(self, rows)
        order = np.arange(rows) if self.shuffle else None
        self.n_iter_ = 0
        while self.n_iter_ < self.max_iter:
            if order is not None:
                with call_stack.dispatching(False):
                    order = shuffle(order, random_state=self._random_state)
            flat, loss = self._npaccel_epoch(X, y, weights, flat, steps, size, order)
            self.n_iter_ += 1
            self.loss_ = loss / rows
            self.t_ += rows
            self.loss_curve_.append(self.loss_)
            self._npaccel_compare()
            self._optimizer.iteration_ends(self.t_)
            if self._no_improvement_count > self.n_iter_no_change:
                if self._optimizer.trigger_stopping("", False):
                    break
                self._no_improvement_count = 0
            if more:
                break
            if self.n_iter_ == self.max_iter:
                warnings.warn(
                    f"Stochastic Optimizer: Maximum iterations ({self.max_iter}) reached and the "
                    "optimization hasn't converged yet.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        steps.keep()
        return flat

    def _npaccel_compare(self: Any) -> None:
        """Count the epochs that didn't make the loss smaller."""
        worse = self.loss_ > self.best_loss_ - self.tol
        self._no_improvement_count = self._no_improvement_count + 1 if worse else 0
        self.best_loss_ = min(self.loss_, self.best_loss_)

    def _npaccel_epoch(
        self: Any,
        X: Any,
        y: Any,
        weights: Any,
        flat: Any,
        steps: _layers.Steps,
        size: int,
        order: Any,
    ) -> tuple[torch.Tensor, float]:
        """Return the parameters after each row was learnt from once, and the summed loss."""
        net = self._npaccel_net()
        places = None if order is None else transfers.to_device(order, X.device)
        total = X.new_zeros(())
        for batch in gen_batches(len(X), size):
            chosen = batch if places is None else places[batch]
            own = None if weights is None else weights[chosen]
            loss, slopes = net.backward(
                X[chosen], y[chosen], own, *_layers.unpacked(flat, steps.units)
            )
            total = total + loss * (batch.stop - batch.start)
            flat = flat + steps.step(_layers.packed(slopes))
        return flat, transfers.number(total)

    def _npaccel_output(self: Any, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        wide = torch.promote_types(X.dtype, self.coefs_[0].dtype)
        coefs = [one.to(wide) for one in self.coefs_]
        intercepts = [one.to(wide) for one in self.intercepts_]
        net = self._npaccel_net()
        width = sum(map(len, intercepts))
        return common.tiled(
            lambda part: net.forward(part.to(wide), coefs, intercepts)[-1], X, width
        )

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)  # type: ignore[misc]
        if why or "fit" not in method:
            return why
        if self.early_stopping:
            return "`early_stopping=True` scores by scikit-learn's metrics"
        if self.verbose:
            return "`verbose` prints what scikit-learn's own code does"
        if self.solver == "lbfgs" and self.max_fun != 15_000:
            return "`max_fun`"
        return ""


def _batch_size(self: Any, rows: int) -> int:
    if self.batch_size == "auto":
        return min(200, rows)
    if self.batch_size > rows:
        warnings.warn(
            "Got `batch_size` less than 1 or larger than sample size. It is going to be clipped",
            stacklevel=2,
        )
    return int(np.clip(self.batch_size, 1, rows))


def _optimizer(self: Any) -> Any:
    """Return scikit-learn's own optimizer, which knows its rates."""
    if self.solver == "adam":
        return AdamOptimizer([], self.learning_rate_init, self.beta_1, self.beta_2, self.epsilon)
    return SGDOptimizer(
        [],
        self.learning_rate_init,
        self.learning_rate,
        self.momentum,
        self.nesterovs_momentum,
        self.power_t,
    )


_REFUSED = "sparse matrices; `early_stopping`; `verbose`; `max_fun`"
_NOTE = "rounding grows from step to step"


@on_device(
    "neural_network.MLPClassifier",
    refused=f"{_REFUSED}; several labels a row",
    tolerance=1e-4,
    note=_NOTE,
)
class MLPClassifier(_Perceptron, Accelerated, neural_network.MLPClassifier):  # type: ignore[misc]
    __doc__ = neural_network.MLPClassifier.__doc__
    _npaccel_numeric = False

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
        with call_stack.dispatching(False):
            known = transfers.to_host(classes) if isinstance(classes, torch.Tensor) else classes
            if _check_partial_fit_first_call(self, known):
                self._label_binarizer = LabelBinarizer().fit(known)
        return self._npaccel_fit("partial_fit", X, y, sample_weight, True)

    def _npaccel_targets(self, X: torch.Tensor, y: Any, more: bool) -> torch.Tensor | None:
        """Return the classes of rows as columns; None if scikit-learn is to refuse them."""
        if y.ndim == 2 and y.shape[1] > 1:
            return None
        try:
            labels, codes = validation.encoded(y)
        except ValueError:
            return None
        if not hasattr(self, "classes_") or not (self.warm_start or more):
            self._npaccel_learn(labels)
        count = len(self.classes_)
        places = np.searchsorted(self.classes_, labels).clip(max=count - 1)
        unknown = (self.classes_[places] != labels).any()
        if unknown or (self.warm_start and len(labels) != count):
            return None
        codes = self._moved(places)[self._moved(codes)]
        if count > 2:
            return torch.nn.functional.one_hot(codes, count).to(X.dtype)
        return codes.to(X.dtype)[:, None]

    def _npaccel_learn(self, labels: Any) -> None:
        with call_stack.dispatching(False):
            self._label_binarizer = LabelBinarizer().fit(labels)
        self.classes_ = labels

    def predict_proba(self, X: Any) -> Any:
        found = self._npaccel_output(X)
        if found.shape[1] > 1:
            return found
        return torch.cat([1 - found, found], dim=1)

    def predict_log_proba(self, X: Any) -> Any:
        return torch.log(self.predict_proba(X))

    def predict(self, X: Any) -> Any:
        found = self._npaccel_output(X)
        if found.shape[1] > 1:
            return self._labels(torch.argmax(found, dim=1))
        codes = (found[:, 0] > 0.5).long()
        return self._labels(codes.clamp(max=len(self.classes_) - 1))

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        binarizer = vars(self).get("_label_binarizer")
        if not why and binarizer is not None and binarizer.y_type_.startswith("multilabel"):
            return "there are several labels a row"
        return why


@on_device("neural_network.MLPRegressor", refused=_REFUSED, tolerance=1e-4, note=_NOTE)
class MLPRegressor(_Perceptron, Accelerated, neural_network.MLPRegressor):  # type: ignore[misc]
    __doc__ = neural_network.MLPRegressor.__doc__
    _npaccel_numeric = True

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return self._npaccel_fit("partial_fit", X, y, sample_weight, True)

    def _npaccel_targets(self, X: torch.Tensor, y: Any, more: bool) -> torch.Tensor:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        y = self._moved(y).to(X.dtype)
        return y if y.ndim > 1 else y[:, None]

    def predict(self, X: Any) -> Any:
        found = self._npaccel_output(X)
        return found[:, 0] if found.shape[1] == 1 else found


through_host("neural_network.BernoulliRBM", "it learns by random draws, batch after batch")
