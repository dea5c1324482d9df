"""Logistic regression, whose loss and gradients are sums over rows: LogisticRegression."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.kernels import lbfgs
from npaccel._sklearn.linear_model import logistic
from npaccel._sklearn.parts.calls import (
    array,
    by_parts,
    check_finite,
    fitted,
    labels_of,
    on_device,
    to_fit,
    weights_of,
)
from npaccel._sklearn.parts.checkpoints import Checkpoints
from npaccel._sklearn.parts.engine import WholeArraysError, kernel, sums

_binary_loss, _multinomial_loss = logistic.binary_loss, logistic.multinomial_loss


@kernel
def _counts(X: Any, y: Any, weights: Any, classes: Any) -> Any:
    """Return the weight of the rows of each class; and sums of X, that are finite if X is."""
    own = (y[:, None] == classes).astype(np.float64)
    if weights is not None:
        own = own * weights.astype(np.float64)[:, None]
    return own.sum(axis=0), X.sum(axis=0, dtype=np.float64)


@kernel
def _of_two(X: Any, y: Any, weights: Any, classes: Any, factors: Any, w: Any, b: Any) -> Any:
    """Return the loss of a part, and its gradients, for two classes."""
    codes = (y == classes[1]).astype(np.int64)
    each = _weights(X, weights, factors, codes)
    return _binary_loss(X, codes.astype(X.dtype), each, w, b)


@kernel
def _of_several(X: Any, y: Any, weights: Any, classes: Any, factors: Any, w: Any, b: Any) -> Any:
    """Return the loss of a part, and its gradients."""
    codes = np.argmax(y[:, None] == classes, axis=1)
    return _multinomial_loss(X, codes, _weights(X, weights, factors, codes), w, b)


def _weights(X: Any, weights: Any, factors: Any, codes: Any) -> Any:
    """Return the weights of rows with those of their classes, or None."""
    if factors is None:
        return None if weights is None else weights.astype(X.dtype)
    own = factors.astype(X.dtype)[codes]
    return own if weights is None else own * weights.astype(X.dtype)


@dataclasses.dataclass
class _Like:
    """Shape and dtype of the rows."""

    shape: Any
    dtype: torch.dtype


@by_parts("linear_model.LogisticRegression", "fit")
def _fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    self._validate_params()
    why = logistic.refused_parameters(self)
    if why:
        raise WholeArraysError(why)
    C = logistic.checked_C(self)
    parts = to_fit(self, X, y, weights_of(sample_weight))
    self.classes_ = labels_of(self, y)
    logistic.check_classes(self)
    counts, columns = parts.reduce(_counts, sums, self.classes_)
    check_finite(self, parts, columns)
    total, factors = counts.sum(), None
    if self.class_weight is not None:
        factors = np.asarray(logistic.class_factors(self, counts), np.float64)
        total = (counts * factors).sum()
    kernel = _of_two if len(self.classes_) == 2 else _of_several
    classes = array(self.classes_)

    def loss(w: torch.Tensor, b: torch.Tensor) -> Any:
        constants = classes, factors, w.cpu().numpy(), b.cpu().numpy()
        return tuple(map(torch.as_tensor, parts.reduce(kernel, sums, *constants)))

    kept = Checkpoints(self, parts, (counts, columns))
    begun = kept.load()

    def note(reached: lbfgs.Reached) -> None:
        kept.save(reached=reached)

    with on_device(self, None) as device:
        like = _Like(parts.shape, getattr(torch, parts.dtype.name))
        reached = None if begun is None else begun["reached"]
        logistic.minimise(self, loss, like, float(total), C, device, reached, note)
    return self


@kernel
def _decided(X: Any, coef: Any, intercept: Any) -> Any:
    raw = X @ coef.T + intercept
    return raw[:, 0] if len(coef) == 1 else raw


@kernel
def _chances(X: Any, coef: Any, intercept: Any) -> Any:
    raw = X @ coef.T + intercept
    if len(coef) == 1:
        small = np.exp(-np.abs(raw[:, 0]))
        positive = np.where(raw[:, 0] >= 0.0, 1.0, small) / (1.0 + small)
        return np.stack([1.0 - positive, positive], axis=1)
    exponentials = np.exp(raw - raw.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


@kernel
def _logarithms(X: Any, coef: Any, intercept: Any) -> Any:
    return np.log(_chances(X, coef, intercept))


@kernel
def _labels(X: Any, coef: Any, intercept: Any, classes: Any) -> Any:
    raw = X @ coef.T + intercept
    if len(coef) == 1:
        return classes[(raw[:, 0] > 0.0).astype(np.int64)]
    return classes[np.argmax(raw, axis=1)]


def _found(self: Any) -> tuple[Any, Any]:
    check_is_fitted(self)
    return array(self.coef_), array(self.intercept_)


@by_parts("linear_model.LogisticRegression", "decision_function")
def _decide(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_decided, *_found(self))


@by_parts("linear_model.LogisticRegression", "predict")
def _predict(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_labels, *_found(self), array(self.classes_))


@by_parts("linear_model.LogisticRegression", "predict_proba")
def _predict_chances(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_chances, *_found(self))


@by_parts("linear_model.LogisticRegression", "predict_log_proba")
def _predict_logarithms(self: Any, X: Any) -> Any:
    return fitted(self, X).map(_logarithms, *_found(self))
