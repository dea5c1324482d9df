"""``TruncatedSVD`` and ``IncrementalPCA`` on the device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from sklearn import decomposition
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg


def _floating(X: torch.Tensor) -> torch.Tensor:
    return X if X.is_floating_point() else X.double()


def _variances(X: torch.Tensor) -> torch.Tensor:
    return X.double().var(dim=0, correction=0)


@on_device(
    "decomposition.TruncatedSVD",
    refused="sparse matrices; `algorithm='arpack'`",
    tolerance=1e-6,
)
class TruncatedSVD(Accelerated, decomposition.TruncatedSVD):  # type: ignore[misc]
    __doc__ = decomposition.TruncatedSVD.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        X = _floating(self._validated(X, ensure_min_features=2))
        count = self.n_components
        if count > X.shape[1]:
            raise ValueError(f"n_components({count}) must be <= n_features({X.shape[1]}).")
        draws = check_random_state(self.random_state)
        start = draws.normal(size=(min(X.shape), count + self.n_oversamples))
        normalizer = self.power_iteration_normalizer
        _, values, right = linalg.randomized_svd(
            X, self._moved(start).to(X.dtype), count, self.n_iter, normalizer
        )
        self.components_ = right * linalg.signs_of_rows(right)[:, None]
        found = X @ self.components_.T
        variances = _variances(found)
        self.explained_variance_ = variances.to(X.dtype)
        self.explained_variance_ratio_ = (variances / _variances(X).sum()).to(X.dtype)
        self.singular_values_ = values
        return found

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = _floating(self._validated(X, reset=False))
        wide = torch.promote_types(X.dtype, self.components_.dtype)
        return X.to(wide) @ self.components_.T.to(wide)

    def inverse_transform(self, X: Any) -> Any:
        X = _floating(common.checked(self, X))
        wide = torch.promote_types(X.dtype, self.components_.dtype)
        return X.to(wide) @ self.components_.to(wide)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        return why or ("`algorithm='arpack'` is Fortran's" if self.algorithm == "arpack" else "")


@on_device(
    "decomposition.IncrementalPCA", refused="sparse matrices; `check_input=False`", tolerance=1e-6
)
class IncrementalPCA(common.HostOnCpu, Accelerated, decomposition.IncrementalPCA):  # type: ignore[misc]
    __doc__ = decomposition.IncrementalPCA.__doc__
    # None and 0 before the first batch.
    components_: Any
    singular_values_: Any
    mean_: Any
    var_: Any
    n_samples_seen_: Any

    def fit(self, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS)
        self._npaccel_begin()
        self.batch_size_ = 5 * X.shape[1] if self.batch_size is None else self.batch_size
        for rows in gen_batches(len(X), self.batch_size_, min_batch_size=self.n_components or 0):
            self._npaccel_add(X[rows], False)
        return self

    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True) -> Any:
        first = not hasattr(self, "components_")
        X = self._validated(X, dtype=FLOATS, reset=first)
        if first:
            self._npaccel_begin()
        return self._npaccel_add(X, first)

    def _npaccel_begin(self) -> None:
        self.components_ = self.singular_values_ = None
        self.n_samples_seen_, self.mean_, self.var_ = 0, 0.0, 0.0

    def _npaccel_add(self, X: torch.Tensor, first: bool) -> Any:
        """Add a batch (D. A. Ross, J. Lim, R.-S. Lin and M.-H. Yang, 2008)."""
        rows, columns = X.shape
        self.n_components_ = self._npaccel_count(rows, columns, first)
        seen = int(self.n_samples_seen_)
        total = seen + rows
        sums = X.sum(dim=0, dtype=torch.float64)
        center = sums / rows
        variance = ((X.double() - center) ** 2).sum(dim=0)
        if seen:
            mean, spread = self.mean_, self.var_
            variance = variance + spread * seen + (mean - center) ** 2 * (seen * rows / total)
            sums = sums + mean * seen
        stacked = X - center.to(X.dtype)
        if seen:
            shift = math.sqrt(seen / total * rows) * (self.mean_ - center.to(X.dtype))
            stacked = torch.cat(
                [self.singular_values_[:, None] * self.components_, stacked, shift[None]]
            )
        _, S, Vt = torch.linalg.svd(stacked, full_matrices=False)
        Vt = Vt * linalg.signs_of_rows(Vt)[:, None]
        count = self.n_components_
        variances = S**2 / (total - 1)
        self.mean_, self.var_ = sums / total, variance / total
        self.n_samples_seen_ = np.float64(total)
        self.components_, self.singular_values_ = Vt[:count].clone(), S[:count].clone()
        self.explained_variance_ = variances[:count].clone()
        self.explained_variance_ratio_ = S[:count] ** 2 / variance.sum()
        whole = count in (rows, columns)
        self.noise_variance_ = 0.0 if whole else variances[count:].mean()
        return self

    def _npaccel_count(self, rows: int, columns: int, first: bool) -> int:
        """Return how many components there are, checked as scikit-learn does."""
        wanted, known = self.n_components, self.components_
        if wanted is None:
            return min(rows, columns) if known is None else len(known)
        if wanted > columns:
            raise ValueError(
                f"n_components={wanted!r} invalid for n_features={columns}, need more rows than "
                "columns for IncrementalPCA processing"
            )
        if wanted > rows and first:
            raise ValueError(
                f"n_components={wanted} must be less or equal to the batch number of samples "
                f"{rows} for the first partial_fit call."
            )
        if known is not None and len(known) != wanted:
            raise ValueError(
                f"Number of input features has changed from {len(known)} to {wanted} between calls "
                "to partial_fit! Try setting n_components to a fixed value."
            )
        return int(wanted)

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        components = self.components_
        wide = torch.promote_types(X.dtype, components.dtype)
        found = X.to(wide) @ components.T.to(wide)
        found = found - (self.mean_ @ components.T.double()).to(wide)
        if self.whiten:
            scale = torch.sqrt(self.explained_variance_)
            found = found / scale.clamp(min=torch.finfo(scale.dtype).eps).to(wide)
        return found

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = common.checked(self, X, input_name="X", dtype=FLOATS)
        components = self.components_
        if self.whiten:
            components = torch.sqrt(self.explained_variance_)[:, None] * components
        wide = torch.promote_types(X.dtype, components.dtype)
        return X.to(wide) @ components.to(wide) + self.mean_

    def get_covariance(self) -> Any:
        return common.by_scikit_learn(self, "get_covariance")

    def get_precision(self) -> Any:
        return common.by_scikit_learn(self, "get_precision")

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if not why and more.get("check_input") is False:
            return "`check_input=False`"
        return why
