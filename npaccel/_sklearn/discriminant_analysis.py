"""Discriminant analysis on the device; the linear one by scikit-learn's code for tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import discriminant_analysis
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device


@on_device(
    "discriminant_analysis.QuadraticDiscriminantAnalysis",
    refused="`solver='eigen'`",
    tolerance=1e-8,
    note="`rotations_` can have other signs",
)
class QuadraticDiscriminantAnalysis(  # type: ignore[misc]
    Accelerated, discriminant_analysis.QuadraticDiscriminantAnalysis
):
    __doc__ = discriminant_analysis.QuadraticDiscriminantAnalysis.__doc__

    def fit(self, X: Any, y: Any) -> Any:
        given = X, y
        X, y = self._validated(X, y)
        X = X if X.is_floating_point() else X.double()
        codes = self._encoded(y)
        count = len(self.classes_)
        members = torch.bincount(codes, minlength=count)
        counts = np.array(transfers.numbers(members))
        wrong = count < 2 or counts.min() < 2
        if wrong or self.shrinkage is not None or self.covariance_estimator is not None:
            return common.by_scikit_learn(self, "fit", *given)
        own = counts / float(len(X)) if self.priors is None else np.array(self.priors)
        found = [self._npaccel_class(X[codes == one]) for one in range(count)]
        means, scalings, rotations = map(list, zip(*found, strict=True))
        least = transfers.numbers(torch.stack([(s > self.tol).sum() for s in scalings]))
        if min(least) < X.shape[1]:
            return common.by_scikit_learn(self, "fit", *given)
        self.priors_ = self._moved(own)
        if self.store_covariance:
            self.covariance_ = [
                (scaling * rotation) @ rotation.T
                for scaling, rotation in zip(scalings, rotations, strict=True)
            ]
        self.means_ = torch.stack(means)
        self.scalings_, self.rotations_ = scalings, rotations
        return self

    def _npaccel_class(self, X: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the mean of a class, the variances along its axes, and the axes."""
        mean = X.mean(dim=0)
        _, S, Vt = torch.linalg.svd(X - mean, full_matrices=False)
        scaling = (1 - self.reg_param) * (S**2 / len(X)) + self.reg_param
        return mean, scaling, Vt.T

    def _npaccel_scores(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        X = X if X.is_floating_point() else X.double()
        return common.tiled(self._npaccel_tile, X, 3 * X.shape[1])

    def _npaccel_tile(self, X: torch.Tensor) -> torch.Tensor:
        found = []
        parts = zip(self.means_, self.rotations_, self.scalings_, strict=True)
        for mean, rotation, scaling in parts:
            apart = (X - mean) @ (rotation * scaling**-0.5)
            found.append((apart * apart).sum(dim=1) + torch.log(scaling).sum())
        return -0.5 * torch.stack(found, dim=1) + torch.log(self.priors_)

    def decision_function(self, X: Any) -> Any:
        scores = self._npaccel_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Any:
        return self._labels(torch.argmax(self._npaccel_scores(X), dim=1))

    def predict_log_proba(self, X: Any) -> Any:
        return torch.log_softmax(self._npaccel_scores(X), dim=1)

    def predict_proba(self, X: Any) -> Any:
        return torch.exp(self.predict_log_proba(X))

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        return why or (
            f"`solver={self.solver!r}`" if getattr(self, "solver", "svd") != "svd" else ""
        )


@on_device(
    "discriminant_analysis.LinearDiscriminantAnalysis",
    refused="solvers but 'svd'; `store_covariance=True`",
    tolerance=1e-6,
    note="`scalings_` can have other signs",
)
class LinearDiscriminantAnalysis(  # type: ignore[misc]
    common.HostOnCpu, Accelerated, discriminant_analysis.LinearDiscriminantAnalysis
):
    __doc__ = discriminant_analysis.LinearDiscriminantAnalysis.__doc__

    def fit(self, X: Any, y: Any) -> Any:
        given = X, y
        X, y = self._validated(X, y, ensure_min_samples=2, dtype=FLOATS)
        codes = self._encoded(y)
        classes = self.classes_
        if len(classes) == 1 or len(classes) == len(X) or self.shrinkage is not None:
            return common.by_scikit_learn(self, "fit", *given)
        names = getattr(self, "feature_names_in_", None)
        super().fit(X, codes)
        self.classes_ = classes
        if names is not None:
            self.feature_names_in_ = names
        return self

    def decision_function(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        found = X.to(self.coef_.dtype) @ self.coef_.T + self.intercept_
        return found[:, 0] if found.shape[1] == 1 else found

    def predict(self, X: Any) -> Any:
        scores = self.decision_function(X)
        codes = (scores > 0).long() if scores.ndim == 1 else torch.argmax(scores, dim=1)
        return self._labels(codes)

    def predict_proba(self, X: Any) -> Any:
        scores = self.decision_function(X)
        if scores.ndim > 1:
            return torch.softmax(scores, dim=1)
        chance = torch.sigmoid(scores)
        return torch.stack([1 - chance, chance], dim=1)

    def predict_log_proba(self, X: Any) -> Any:
        found = self.predict_proba(X)
        least = torch.finfo(found.dtype).smallest_normal
        return torch.log(torch.where(found == 0.0, least, found))

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        found = (X.to(self.coef_.dtype) - self.xbar_) @ self.scalings_
        return found[:, : self._max_components]

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if not why and self.solver != "svd":
            return f"`solver={self.solver!r}`"
        if not why and (self.store_covariance or self.covariance_estimator is not None):
            return "covariances are estimated by scikit-learn's own code"
        return why
