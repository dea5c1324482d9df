"""``sklearn.decomposition.FastICA`` on the device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device


@kernel
def _logcosh(x: Any, alpha: Any) -> Any:
    """Return a contrast's first derivative, and the mean of its second."""
    found = np.tanh(x * alpha)
    return found, np.mean(alpha * (1 - found * found), axis=-1)


@kernel
def _exp(x: Any, alpha: Any) -> Any:
    falling = np.exp(-(x * x) / 2)
    return x * falling, np.mean((1 - x * x) * falling, axis=-1)


@kernel
def _cube(x: Any, alpha: Any) -> Any:
    return x * x * x, np.mean(3 * x * x, axis=-1)


_CONTRASTS: dict[str, Callable[..., Any]] = {"logcosh": _logcosh, "exp": _exp, "cube": _cube}


def _apart(W: torch.Tensor) -> torch.Tensor:
    """Return the nearest matrix with orthonormal rows."""
    s, u = torch.linalg.eigh(W @ W.T)
    s = s.clamp(min=torch.finfo(W.dtype).tiny)
    return (u / torch.sqrt(s)) @ (u.T @ W)


def _parallel(
    X: torch.Tensor, W: torch.Tensor, contrast: Any, alpha: float, tol: float, max_iter: int
) -> tuple[torch.Tensor, int]:
    """Find all components at once (A. Hyvärinen and E. Oja, 2000)."""
    W = _apart(W)
    for step in range(max_iter):
        first, second = contrast(W @ X, alpha)
        new = _apart(first @ X.T / float(X.shape[1]) - second[:, None] * W)
        change = transfers.number((((new * W).sum(dim=1)).abs() - 1).abs().max())
        W = new
        if change < tol:
            return W, step + 1
    warnings.warn(
        "FastICA did not converge. Consider increasing tolerance or the maximum number of "
        "iterations.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return W, max_iter


def _one_by_one(
    X: torch.Tensor, beginning: torch.Tensor, contrast: Any, alpha: float, tol: float, max_iter: int
) -> tuple[torch.Tensor, int]:
    """Find one component after the other."""
    W = torch.zeros_like(beginning)
    most = 0
    for j, w in enumerate(beginning):
        w = w / torch.linalg.vector_norm(w)
        steps = 0
        while steps < max_iter:
            first, second = contrast(w @ X, alpha)
            new = (X @ first) / X.shape[1] - second * w
            new = new - W[:j].T @ (W[:j] @ new)
            new = new / torch.linalg.vector_norm(new)
            change = transfers.number(((new @ w).abs() - 1).abs())
            w, steps = new, steps + 1
            if change < tol:
                break
        most = max(most, steps)
        W[j] = w
    return W, most


@on_device(
    "decomposition.FastICA",
    refused="a function as `fun`; `copy=False`",
    tolerance=1e-5,
)
class FastICA(Accelerated, decomposition.FastICA):  # type: ignore[misc]
    __doc__ = decomposition.FastICA.__doc__

    def fit(self, X: Any, y: Any = None) -> Any:
        self._npaccel_fit(X, False)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self._npaccel_fit(X, True)

    def _npaccel_fit(self, X: Any, sources: bool) -> torch.Tensor | None:
        X = self._validated(X, dtype=FLOATS, ensure_min_samples=2)
        alpha = (self.fun_args or {}).get("alpha", 1.0)
        if not 1 <= alpha <= 2:
            raise ValueError("alpha must be in [1,2]")
        draws = check_random_state(self.random_state)
        count = self._npaccel_count(X)
        mean, K, inner = self._npaccel_whitened(X, count)
        beginning = self._npaccel_beginning(draws, count, inner)
        solver = _parallel if self.algorithm == "parallel" else _one_by_one
        contrast = _CONTRASTS[self.fun]
        W, self.n_iter_ = solver(inner, beginning, contrast, alpha, self.tol, self.max_iter)
        unmixing = W if K is None else W @ K
        found = None
        if sources or self.whiten == "unit-variance":
            found = (X if mean is None else X - mean) @ unmixing.T
        if K is None:
            self.components_ = W
        else:
            if found is not None and self.whiten == "unit-variance":
                deviation = found.std(dim=0, correction=0)
                found, W = found / deviation, W / deviation[:, None]
            self.components_, self.mean_, self.whitening_ = W @ K, mean, K
        self.mixing_ = torch.linalg.pinv(self.components_)
        self._unmixing = W
        return found

    def _npaccel_count(self, X: torch.Tensor) -> int:
        most = min(X.shape)
        count = self.n_components
        if not self.whiten and count is not None:
            count = None
            warnings.warn("Ignoring n_components with whiten=False.", stacklevel=2)
        if count is not None and count > most:
            warnings.warn(f"n_components is too large: it will be set to {most}", stacklevel=2)
        return most if count is None else min(int(count), most)

    def _npaccel_whitened(self, X: torch.Tensor, count: int) -> tuple[Any, Any, torch.Tensor]:
        """Return the mean, what whitens, and the data with components as rows."""
        if not self.whiten:
            return None, None, X.T.contiguous()
        mean = X.mean(dim=0)
        apart = (X - mean).T
        if self.whiten_solver == "eigh":
            squares, u = torch.linalg.eigh(apart @ apart.T)
            least = torch.finfo(squares.dtype).eps * 10
            if transfers.number((squares < least).any()):
                warnings.warn(
                    "There are some small singular values, using whiten_solver = 'svd' might lead "
                    "to more accurate results.",
                    stacklevel=2,
                )
            d, u = torch.sqrt(squares.clamp(min=least)).flip(0), u.flip(1)
        else:
            u, d, _ = torch.linalg.svd(apart, full_matrices=False)
        signs = torch.where(u[0] < 0, -1.0, 1.0).to(u.dtype)  # of a constant column none is known
        K = (u * signs / d).T[:count].contiguous()
        return mean, K, (K @ apart) * len(X) ** 0.5

    def _npaccel_beginning(self, draws: Any, count: int, like: torch.Tensor) -> torch.Tensor:
        if self.w_init is None:
            start = draws.normal(size=(count, count))
        else:
            start = (
                self.w_init if isinstance(self.w_init, torch.Tensor) else np.asarray(self.w_init)
            )
            if tuple(start.shape) != (count, count):
                raise ValueError(f"w_init has invalid shape -- should be {(count, count)}")
        return self._moved(start).to(like.dtype)

    def transform(self, X: Any, copy: bool = True) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS)
        wide = torch.promote_types(X.dtype, self.components_.dtype)
        X = X - self.mean_.to(X.dtype) if self.whiten else X
        return X.to(wide) @ self.components_.T.to(wide)

    def inverse_transform(self, X: Any, copy: bool = True) -> Any:
        check_is_fitted(self)
        X = common.checked(self, X, dtype=FLOATS)
        wide = torch.promote_types(X.dtype, self.mixing_.dtype)
        found = X.to(wide) @ self.mixing_.T.to(wide)
        return found + self.mean_.to(wide) if self.whiten else found

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if not why and callable(self.fun):
            return "`fun` is a function"
        if not why and more.get("copy") is False:
            return "`copy=False` writes into X"
        return why
