"""``sklearn.kernel_ridge.KernelRidge`` on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import kernel_ridge
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.metrics import _pairwise


@on_device(
    "kernel_ridge.KernelRidge",
    refused="sparse matrices; kernels that are functions, `chi2` and `additive_chi2`; singular "
    "matrices",
    tolerance=1e-6,
)
class KernelRidge(common.HostOnCpu, Accelerated, kernel_ridge.KernelRidge):  # type: ignore[misc]
    __doc__ = kernel_ridge.KernelRidge.__doc__

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        given = X, y
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        X = X if X.is_floating_point() else X.double()
        y = self._moved(y)
        root = None
        if sample_weight is not None:
            rows = torch.empty((len(X), 0), dtype=torch.float64, device=X.device)
            weights: Any = self._weights(sample_weight, rows)
            root = torch.sqrt(weights)
        kernel = self._npaccel_kernel(X, X)
        target = (y if y.ndim > 1 else y[:, None]).double()
        found = _solved(kernel, target, np.atleast_1d(_host(self.alpha)), root)
        if found is None:
            return common.by_scikit_learn(self, "fit", *given, sample_weight=sample_weight)
        kept = torch.float64 if self.kernel == "laplacian" else X.dtype
        wide = torch.promote_types(kept, y.dtype if y.is_floating_point() else torch.float64)
        self.dual_coef_ = (found if y.ndim > 1 else found[:, 0]).to(wide)
        self.X_fit_ = X
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        X = X if X.is_floating_point() else X.double()
        wide = torch.promote_types(X.dtype, self.dual_coef_.dtype)
        known, factors = self.X_fit_, self.dual_coef_.double()
        return common.tiled(
            lambda part: (self._npaccel_kernel(part, known) @ factors).to(wide), X, 3 * len(known)
        )

    def _npaccel_kernel(self, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        return _pairwise.products(X, Y, self.kernel, self.gamma, self.degree, self.coef0)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if not why and self.kernel not in _pairwise.NAMES:
            return "`kernel` is a function, or of histograms"
        return why


def _host(value: Any) -> Any:
    return transfers.to_host(value) if isinstance(value, torch.Tensor) else value


def _solved(
    kernel: torch.Tensor, target: torch.Tensor, alpha: Any, root: torch.Tensor | None
) -> torch.Tensor | None:
    """Return the coefficients, None where the matrix isn't positive."""
    if root is not None:
        target = target * root[:, None]
        kernel = kernel * root[:, None] * root
    columns = target.split(1, dim=1) if (alpha != alpha[0]).any() else (target,)
    if len(columns) > 1 and len(alpha) != len(columns):
        return None
    found = []
    for column, one in zip(columns, alpha, strict=False):
        shifted = kernel.clone()
        shifted.diagonal().add_(float(one))
        factor, info = torch.linalg.cholesky_ex(shifted)
        if transfers.number(info):
            return None
        found.append(torch.cholesky_solve(column, factor))
    whole = torch.cat(found, dim=1)
    return whole if root is None else whole * root[:, None]
