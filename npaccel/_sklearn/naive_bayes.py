"""Naive Bayes of counts on the device."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import torch
from sklearn import naive_bayes
from sklearn.naive_bayes import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, transfers, validation
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device


@kernel
def _counts(X: Any, codes: Any, weights: Any, classes: Any) -> Any:
    """Return the sums of the rows of each class, in 64 bits, and how many these are."""
    own = (codes[:, None] == classes[None, :]).astype(np.float64)
    if weights is not None:
        own = own * weights[:, None]
    return own.T @ X.astype(np.float64), np.sum(own, axis=0)


class _Discrete:
    """Base of the estimators of counts."""

    #: Whether scikit-learn takes no negative numbers.
    _npaccel_positive = True

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        given = X, y
        X, y = self._validated(X, y)
        if getattr(y, "ndim", 1) != 1:
            return common.by_scikit_learn(self, "fit", *given)
        try:
            codes = self._encoded(y)
        except ValueError:
            # scikit-learn's text is of its binarizer.
            return common.by_scikit_learn(self, "fit", *given)
        self._npaccel_begin(X)
        return self._npaccel_add(X, codes, sample_weight)

    def partial_fit(
        self: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Any:
        first = not hasattr(self, "classes_")
        given = X, y
        X, y = self._validated(X, y, reset=first)
        if getattr(y, "ndim", 1) != 1:
            return common.by_scikit_learn(
                self, "partial_fit", *given, classes=classes, sample_weight=sample_weight
            )
        with call_stack.dispatching(False):
            if _check_partial_fit_first_call(self, _on_host(classes)):
                self._npaccel_begin(X)
        return self._npaccel_add(X, self._npaccel_codes(y), sample_weight)

    def _npaccel_begin(self: Any, X: torch.Tensor) -> None:
        shape = len(self.classes_), X.shape[1]
        self.feature_count_ = X.new_zeros(shape, dtype=torch.float64)
        self.class_count_ = X.new_zeros(shape[:1], dtype=torch.float64)

    def _npaccel_codes(self: Any, y: Any) -> torch.Tensor:
        """Return the places of labels among the classes; -1 where there are none."""
        labels, codes = validation.encoded(y)
        places = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        places = np.where(self.classes_[places] == labels, places, -1)
        return self._moved(places)[self._moved(codes)]  # type: ignore[no-any-return]

    def _npaccel_add(self: Any, X: torch.Tensor, codes: torch.Tensor, sample_weight: Any) -> Any:
        """Count rows, and set what follows from the counts."""
        name = type(self).__name__
        if self._npaccel_positive and transfers.number((X < 0).any()):
            raise ValueError(f"Negative values in data passed to {name} (input X).")
        rows = torch.empty((len(X), 0), dtype=torch.float64, device=X.device)
        weights = self._weights(sample_weight, rows)
        classes = torch.arange(len(self.classes_), device=X.device)
        sums, counts = _counts(self._npaccel_values(X), codes, weights, classes)
        self.feature_count_ = self.feature_count_ + sums
        self.class_count_ = self.class_count_ + counts
        self.feature_log_prob_ = self._npaccel_chances(self._npaccel_alpha())
        self.class_log_prior_ = self._npaccel_prior()
        return self

    def _npaccel_values(self, X: torch.Tensor) -> torch.Tensor:
        return X

    def _npaccel_alpha(self: Any) -> Any:
        """Return the smoothing, checked as scikit-learn does."""
        with call_stack.dispatching(False):
            alpha = self._check_alpha()
        return alpha if isinstance(alpha, Real) else self._moved(np.asarray(alpha, np.float64))

    def _npaccel_prior(self: Any) -> torch.Tensor:
        count = len(self.classes_)
        if self.class_prior is not None:
            if len(self.class_prior) != count:
                raise ValueError("Number of priors must match number of classes.")
            return torch.log(self._moved(np.asarray(_on_host(self.class_prior), np.float64)))
        if self.fit_prior:
            return torch.log(self.class_count_) - torch.log(self.class_count_.sum())
        return torch.full_like(self.class_count_, -math.log(count))

    def _npaccel_joint(self: Any, X: Any) -> torch.Tensor:
        """Return the logarithms of the chances of rows and classes together."""
        check_is_fitted(self)
        X = self._npaccel_values(self._validated(X, reset=False))
        factors, offset = self._npaccel_linear()
        return common.tiled(lambda part: part.double() @ factors.T + offset, X, X.shape[1])

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        # What is slow in scikit-learn is the binarizer of the labels.
        return "" if "fit" in method else common.AS_FAST

    def predict_joint_log_proba(self: Any, X: Any) -> Any:
        return self._npaccel_joint(X)

    def predict_log_proba(self: Any, X: Any) -> Any:
        found = self._npaccel_joint(X)
        return found - torch.logsumexp(found, dim=1, keepdim=True)

    def predict_proba(self: Any, X: Any) -> Any:
        return torch.exp(self.predict_log_proba(X))

    def predict(self: Any, X: Any) -> Any:
        return self._labels(torch.argmax(self._npaccel_joint(X), dim=1))


def _on_host(value: Any) -> Any:
    return transfers.to_host(value) if isinstance(value, torch.Tensor) else value


@on_device("naive_bayes.MultinomialNB", refused="sparse matrices", tolerance=1e-12)
class MultinomialNB(_Discrete, Accelerated, naive_bayes.MultinomialNB):  # type: ignore[misc]
    __doc__ = naive_bayes.MultinomialNB.__doc__

    def _npaccel_chances(self, alpha: Any) -> torch.Tensor:
        smooth = self.feature_count_ + alpha
        return torch.log(smooth) - torch.log(smooth.sum(dim=1, keepdim=True))

    def _npaccel_linear(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.feature_log_prob_, self.class_log_prior_


@on_device("naive_bayes.ComplementNB", refused="sparse matrices", tolerance=1e-12)
class ComplementNB(_Discrete, Accelerated, naive_bayes.ComplementNB):  # type: ignore[misc]
    __doc__ = naive_bayes.ComplementNB.__doc__

    def _npaccel_chances(self, alpha: Any) -> torch.Tensor:
        self.feature_all_ = self.feature_count_.sum(dim=0)
        others = self.feature_all_ + alpha - self.feature_count_
        logs = torch.log(others / others.sum(dim=1, keepdim=True))
        return logs / logs.sum(dim=1, keepdim=True) if self.norm else -logs

    def _npaccel_linear(self) -> tuple[torch.Tensor, torch.Tensor]:
        alone = len(self.classes_) == 1
        prior = self.class_log_prior_
        return self.feature_log_prob_, prior if alone else torch.zeros_like(prior)


@on_device("naive_bayes.BernoulliNB", refused="sparse matrices", tolerance=1e-12)
class BernoulliNB(_Discrete, Accelerated, naive_bayes.BernoulliNB):  # type: ignore[misc]
    __doc__ = naive_bayes.BernoulliNB.__doc__
    _npaccel_positive = False

    def _npaccel_values(self, X: torch.Tensor) -> torch.Tensor:
        return X if self.binarize is None else (self.binarize < X).to(torch.float32)

    def _npaccel_chances(self, alpha: Any) -> torch.Tensor:
        counts = self.class_count_[:, None] + alpha * 2
        return torch.log(self.feature_count_ + alpha) - torch.log(counts)

    def _npaccel_linear(self) -> tuple[torch.Tensor, torch.Tensor]:
        chances = self.feature_log_prob_
        absent = torch.log(1 - torch.exp(chances))
        return chances - absent, self.class_log_prior_ + absent.sum(dim=1)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        return why or ("" if isinstance(self.alpha, Real) else "`alpha` is an array")
