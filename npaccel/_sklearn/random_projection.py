"""``sklearn.random_projection`` on the device; the random numbers are scikit-learn's."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from scipy import sparse
from sklearn import random_projection
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device

#: Maximum number of elements of sparse components as a dense matrix.
_LARGEST = 1 << 27


class _Projection:
    """Base of the two."""

    def fit(self: Any, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS)
        self.n_components_ = self._npaccel_count(*X.shape)
        with call_stack.dispatching(False):
            found = self._make_random_matrix(self.n_components_, X.shape[1])
        found = found.astype(common.numpy_dtype(X.dtype), copy=False)
        self.components_ = found if sparse.issparse(found) else self._moved(found)
        if self.compute_inverse_components:
            self.inverse_components_ = torch.linalg.pinv(self._npaccel_components(X.device))
        self._n_features_out = self.n_components
        return self

    def _npaccel_components(self: Any, device: torch.device) -> torch.Tensor:
        """Return the components as a dense matrix."""
        if not sparse.issparse(self.components_):
            return self.components_  # type: ignore[no-any-return]
        return common.kept(  # type: ignore[no-any-return]
            self, "components_", device, lambda m: transfers.to_device(m.toarray(), device)
        )

    def _npaccel_count(self: Any, rows: int, columns: int) -> int:
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

    def transform(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        components = self._npaccel_components(X.device)
        wide = torch.promote_types(X.dtype, components.dtype)
        return X.to(wide) @ components.T.to(wide)

    def inverse_transform(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = common.checked(self, X, dtype=FLOATS)
        inverse = (
            self.inverse_components_
            if self.compute_inverse_components
            else torch.linalg.pinv(self._npaccel_components(X.device))
        )
        wide = torch.promote_types(X.dtype, inverse.dtype)
        return X.to(wide) @ inverse.T.to(wide)


@on_device("random_projection.GaussianRandomProjection", refused="sparse matrices", tolerance=1e-10)
class GaussianRandomProjection(  # type: ignore[misc]
    common.HostOnCpu, _Projection, Accelerated, random_projection.GaussianRandomProjection
):
    __doc__ = random_projection.GaussianRandomProjection.__doc__


@on_device(
    "random_projection.SparseRandomProjection",
    refused="sparse matrices; components of more than 2**27 numbers, zeros counted",
    tolerance=1e-10,
    note="`components_` is sparse, as scikit-learn's; the device has a dense copy of them",
)
class SparseRandomProjection(  # type: ignore[misc]
    _Projection, Accelerated, random_projection.SparseRandomProjection
):
    __doc__ = random_projection.SparseRandomProjection.__doc__

    _npaccel_sparse = ("components_",)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        known = getattr(self, "components_", None)
        if why or method == "fit" or known is None or math.prod(known.shape) <= _LARGEST:
            return why
        return "its components are too many for a dense matrix"

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return "scikit-learn's own code leaves out the zeros of the components"
