"""``sklearn.random_projection`` on the device; the random numbers are scikit-learn's."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from sklearn import random_projection
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn import _frames, _parts
from npaccel._sklearn._device import FLOATS, Accelerated
from npaccel._sklearn._table import on_device, through_host


@on_device("random_projection.GaussianRandomProjection", refused="sparse matrices", tolerance=1e-10)
class GaussianRandomProjection(  # type: ignore[misc]
    Accelerated, random_projection.GaussianRandomProjection
):
    __doc__ = random_projection.GaussianRandomProjection.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS)
        self.n_components_ = self._npaccel_count(*X.shape)
        with _frames.dispatching(False):
            found = self._make_random_matrix(self.n_components_, X.shape[1])
        found = found.astype(_parts.numpy_dtype(X.dtype), copy=False)
        self.components_ = self._moved(found)
        if self.compute_inverse_components:
            self.inverse_components_ = torch.linalg.pinv(self.components_)
        self._n_features_out = self.n_components
        return self

    def _npaccel_count(self, rows: int, columns: int) -> int:
        """Return how many components there are, checked as scikit-learn does."""
        count = self.n_components
        if count != "auto":
            if count > columns:
                warnings.warn(
                    "The number of components is higher than the number of features: n_features < "
                    f"n_components ({columns} < {count}).The dimensionality of the problem will "
                    "not be reduced.",
                    DataDimensionalityWarning,
                    stacklevel=2,
                )
            return int(count)
        count = int(random_projection.johnson_lindenstrauss_min_dim(rows, eps=self.eps))
        much = f"eps={self.eps:f} and n_samples={rows} lead to a target dimension of {count} which"
        if count <= 0:
            raise ValueError(f"{much} is invalid")
        if count > columns:
            raise ValueError(f"{much} is larger than the original space with n_features={columns}")
        return count

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        wide = torch.promote_types(X.dtype, self.components_.dtype)
        return X.to(wide) @ self.components_.T.to(wide)

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = _parts.checked(self, X, dtype=FLOATS)
        inverse = (
            self.inverse_components_
            if self.compute_inverse_components
            else torch.linalg.pinv(self.components_)
        )
        wide = torch.promote_types(X.dtype, inverse.dtype)
        return X.to(wide) @ inverse.T.to(wide)


through_host("random_projection.SparseRandomProjection", "its components are a sparse matrix")
