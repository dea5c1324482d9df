"""Base of the linear models of stochastic gradient descent (`_sgd` takes the steps)."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.fixes import parse_version

from npaccel._sklearn.dispatch import call_stack, common, routes, transfers
from npaccel._sklearn.kernels import linalg
from npaccel._sklearn.linear_model import _sgd
from npaccel._sklearn.linear_model._sgd import Task, Weights
from npaccel._sklearn.linear_model._sgd_steps import Form

#: The margins of the hinges; other losses have the parameter ``epsilon``.
_MARGINS = {"hinge": 1.0, "squared_hinge": 1.0, "perceptron": 0.0}
#: Bound below which scikit-learn draws seeds.
LAST = np.iinfo(np.int32).max
#: Whether the installed scikit-learn takes the steps that are written here.
_SAME_STEPS = parse_version(sklearn.__version__) >= parse_version("1.9")


_Base: Any = object


class Descent(common.HostOnCpu):
    """Base of all."""

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
        given = [routes._array(one) for one in (coef, intercept)]
        with common.on_host(self):
            self._allocate_parameter_mem(
                n_classes=classes,
                n_features=X.shape[1],
                input_dtype=common.numpy_dtype(X.dtype),
                coef_init=given[0],
                intercept_init=given[1],
                one_class=one_class,
            )

    def _npaccel_held_out(self: Any, y: Callable[[], Any], weights: Any, rows: int) -> Any:
        """Return whether each row is held out to score by; None where none is."""
        if not self.early_stopping:
            return None
        known = np.ones(rows, bool) if weights is None else transfers.to_host(weights) > 0
        with call_stack.dispatching(False):
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
        return _sgd.learned(
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


class Chosen(_Base):  # type: ignore[misc]
    """Base of the models whose loss, rate and penalty are parameters."""

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


def raw_of(self: Any, X: Any, intercept: Any) -> torch.Tensor:
    X = self._validated(X, reset=False)
    if not X.is_floating_point():
        X = X.double()
    return linalg.affine(X, self.coef_, intercept)


def held_weights(weights: Any, held_out: Any, X: torch.Tensor) -> Any:
    if weights is None:
        return np.ones(int(held_out.sum()), common.numpy_dtype(X.dtype))
    return transfers.to_host(weights)[held_out]


def rate_of(self: Any) -> str:
    return "pa2" if self.loss.startswith("squared") else "pa1"


REFUSED = "sparse matrices; penalties with l1; `verbose`"
NOTE = (
    "where large rates magnify rounding from step to step (`learning_rate='optimal'` with squared "
    "losses, say), at ties and in 32 bits, scikit-learn's own result changes with the last bits of "
    "the data, and so does this one"
)
