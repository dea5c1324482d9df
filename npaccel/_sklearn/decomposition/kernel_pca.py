"""``sklearn.decomposition.KernelPCA`` on the device, by all eigenvectors of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import decomposition
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_psd_eigenvalues, check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg
from npaccel._sklearn.metrics import _pairwise

#: The fewest rows of which scikit-learn takes ARPACK, and up to how many components.
_ROWS, _COMPONENTS = 200, 10


@on_device(
    "decomposition.KernelPCA",
    refused="sparse matrices; kernels that are functions; `eigen_solver='randomized'`; a `tol` "
    "for ARPACK",
    note="all eigenvectors are computed, also where scikit-learn takes ARPACK for some",
)
class KernelPCA(common.HostOnCpu, Accelerated, decomposition.KernelPCA):  # type: ignore[misc]
    __doc__ = decomposition.KernelPCA.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        given = X
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        X = self._validated(X)
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        kernel = self._npaccel_kernel(X, X)
        if kernel.shape[0] != kernel.shape[1]:
            return common.by_scikit_learn(self, "fit", given)
        dtype = torch.float32 if X.dtype == torch.float32 else torch.float64
        rows = kernel.mean(dim=0)
        whole = rows.mean()
        self._centerer = _centerer(rows.to(dtype), whole.to(dtype))
        # A copy: a kernel that was given is the caller's.
        centred = kernel - rows
        centred -= kernel.mean(dim=1, keepdim=True) - whole
        self._npaccel_decompose(centred, dtype)
        if self.fit_inverse_transform:
            self._npaccel_fit_inverse(X, dtype)
        # scikit-learn centres a kernel that it was given in its place.
        self.X_fit_ = centred.to(dtype) if self.kernel == "precomputed" else X
        return self

    def _npaccel_decompose(self, centred: torch.Tensor, dtype: torch.dtype) -> None:
        count = min(len(centred), self.n_components or len(centred))
        if self._npaccel_solver(len(centred), count) == "arpack":
            # scikit-learn draws a vector to begin with.
            check_random_state(self.random_state).uniform(-1, 1, len(centred))
        values, vectors = torch.linalg.eigh(centred)
        # scikit-learn's test of what is too small, or too far below zero.
        kept = _check_psd_eigenvalues(
            transfers.to_host(values[-count:].to(dtype)), enable_warnings=False
        )
        vectors = vectors[:, -count:]
        order = kept.argsort()[::-1].copy()
        if self.remove_zero_eig or self.n_components is None:
            order = order[kept[order] > 0]
        vectors = vectors[:, self._moved(order)]
        signs = linalg.signs_of_rows(vectors.T)
        self.eigenvalues_ = self._moved(kept[order])
        self.eigenvectors_ = (vectors * signs).to(dtype)

    def _npaccel_solver(self, rows: int, count: int) -> str:
        if self.eigen_solver != "auto":
            return self.eigen_solver  # type: ignore[no-any-return]
        return "arpack" if rows > _ROWS and count < _COMPONENTS else "dense"

    def _npaccel_fit_inverse(self, X: torch.Tensor, dtype: torch.dtype) -> None:
        found = self.eigenvectors_ * torch.sqrt(self.eigenvalues_)
        kernel = self._npaccel_kernel(found, found)
        kernel.diagonal().add_(float(self.alpha))
        solved = torch.linalg.solve(kernel, X.double())
        self.dual_coef_, self.X_transformed_fit_ = solved.to(dtype), found

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        self.fit(X, **params)
        return self.eigenvectors_ * torch.sqrt(self.eigenvalues_)

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        known, values, vectors = self.X_fit_, self.eigenvalues_.double(), self.eigenvectors_
        rows = self._moved(np.asarray(self._centerer.K_fit_rows_)).double()
        whole = float(self._centerer.K_fit_all_)
        scale = torch.where(values != 0, 1 / torch.sqrt(values), 0.0)
        scaled = vectors.double() * scale
        single = X.dtype == torch.float32 and vectors.dtype == torch.float32

        def part(X: torch.Tensor) -> torch.Tensor:
            kernel = self._npaccel_kernel(X, known)
            middle = kernel.sum(dim=1, keepdim=True) / len(rows) - whole
            found = (kernel - rows).sub_(middle) @ scaled
            return found.float() if single else found

        return common.tiled(part, X, 4 * len(known))

    def inverse_transform(self, X: Any) -> Any:
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not"
                " set to True when instantiating and hence "
                "the inverse transform is not available."
            )
        X = common.checked(self, X)
        known, factors = self.X_transformed_fit_, self.dual_coef_
        dtype = torch.promote_types(X.dtype, factors.dtype)
        return common.tiled(
            lambda rows: (self._npaccel_kernel(rows, known) @ factors.double()).to(dtype),
            X,
            3 * len(known),
        )

    def _npaccel_kernel(self, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        return _pairwise.products(X, Y, self.kernel, self.gamma_, self.degree, self.coef0)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)
        if why:
            return why
        if self.kernel not in _pairwise.NAMES:
            return "`kernel` is a function"
        if self.eigen_solver == "randomized" and "fit" in method:
            return "`eigen_solver='randomized'` is an approximation of scikit-learn's own"
        return "`tol` is ARPACK's" if self.tol and "fit" in method else ""


def _centerer(rows: torch.Tensor, whole: torch.Tensor) -> KernelCenterer:
    """Return what scikit-learn's own code centres kernels with."""
    found = KernelCenterer().set_output(transform="default")
    found.K_fit_rows_ = transfers.to_host(rows)
    found.K_fit_all_ = transfers.to_host(whole)[()]
    found.n_features_in_ = len(rows)
    return found
