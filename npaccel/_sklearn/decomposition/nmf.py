"""``sklearn.decomposition.NMF`` on the device."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels import linalg

#: Smaller numbers are taken for this one (``sklearn/decomposition/_nmf.py``).
_SMALL = float(np.finfo(np.float32).eps)
_EPS = float(np.finfo(np.float64).eps)


# -- Where it begins ----------------------------------------------------------------------------


def _beginning(X: torch.Tensor, count: int, init: str | None, random_state: Any) -> Any:
    """Return W and H to begin with (C. Boutsidis and E. Gallopoulos, 2008)."""
    if init not in (None, "random") and count > min(X.shape):
        raise ValueError(
            f"init = '{init}' can only be used when n_components <= min(n_samples, n_features)"
        )
    if init is None:
        init = "nndsvda" if count <= min(X.shape) else "random"
    draws = check_random_state(random_state)
    if init == "random":
        average = torch.sqrt(X.mean() / count)
        H = draws.standard_normal(size=(count, X.shape[1]))
        W = draws.standard_normal(size=(len(X), count))
        return (average * _moved(W, X)).abs(), (average * _moved(H, X)).abs()
    start = _moved(draws.normal(size=(min(X.shape), count + 10)), X)
    steps = 7 if count < 0.1 * min(X.shape) else 4
    W, H = _parts_of_svd(*linalg.randomized_svd(X, start, count, steps, "auto"))
    W, H = torch.where(W < 1e-6, 0.0, W), torch.where(H < 1e-6, 0.0, H)
    if init == "nndsvda":
        return torch.where(W == 0, X.mean(), W), torch.where(H == 0, X.mean(), H)
    if init == "nndsvdar":
        # scikit-learn draws these again from the same seed.
        draws = check_random_state(random_state)
        return tuple(_filled(part, X.mean(), draws) for part in (W, H))
    return W, H


def _parts_of_svd(U: torch.Tensor, S: torch.Tensor, Vt: torch.Tensor) -> Any:
    """Return the positive or the negative parts of singular vectors, whichever are larger."""
    first_u, first_v = U[:, 0].abs(), Vt[0].abs()
    positive = U.clamp(min=0), Vt.clamp(min=0)
    negative = (-U).clamp(min=0), (-Vt).clamp(min=0)
    sizes = [
        (torch.linalg.vector_norm(u, dim=0), torch.linalg.vector_norm(v, dim=1))
        for u, v in (positive, negative)
    ]
    products = [u * v for u, v in sizes]
    larger = products[0] > products[1]
    scale = torch.sqrt(S * torch.where(larger, products[0], products[1]))
    W = torch.where(larger, positive[0], negative[0])
    W = scale * W / torch.where(larger, sizes[0][0], sizes[1][0])
    H = torch.where(larger[:, None], positive[1], negative[1])
    H = scale[:, None] * H / torch.where(larger, sizes[0][1], sizes[1][1])[:, None]
    W[:, 0], H[0] = torch.sqrt(S[0]) * first_u, torch.sqrt(S[0]) * first_v
    return W, H


def _filled(part: torch.Tensor, average: torch.Tensor, draws: Any) -> torch.Tensor:
    """Return a factor with small random numbers where it is 0."""
    empty = part == 0
    count = int(transfers.number(empty.sum()))
    part[empty] = (average * _moved(draws.standard_normal(size=count), part) / 100).abs()
    return part


def _moved(array: Any, like: torch.Tensor) -> torch.Tensor:
    return transfers.to_device(np.ascontiguousarray(array), like.device).to(like.dtype)


# -- Coordinate descent -------------------------------------------------------------------------


def _descended(
    X: torch.Tensor, W: torch.Tensor, Ht: torch.Tensor, l1: float, l2: float, order: Any
) -> torch.Tensor:
    """Change W column by column, in place, and return how far it was from the optimum.

    A. Cichocki and A.-H. Phan (2009).
    """
    inner = Ht.T @ Ht
    if l2:
        inner.diagonal().add_(l2)
    mixed = X @ Ht
    if l1:
        mixed -= l1
    violation = W.new_zeros(())
    curvatures = torch.diagonal(inner)
    for t in order:
        column = W[:, t]
        gradient = W @ inner[t] - mixed[:, t]
        violation += torch.where(column == 0, gradient.clamp(max=0), gradient).abs().sum()
        step = torch.where(curvatures[t] != 0, gradient / curvatures[t], 0.0)
        W[:, t] = (column - step).clamp(min=0)
    return violation


def _by_descent(self: Any, X: Any, W: Any, H: Any, update_H: bool) -> tuple[Any, Any, int]:
    l1_w, l1_h, l2_w, l2_h = self._compute_regularization(X)
    Ht = H.T.contiguous()
    draws = check_random_state(self.random_state)
    count = W.shape[1]

    def order() -> Any:
        return draws.permutation(count) if self.shuffle else range(count)

    first = 0.0
    step = 0
    for step in range(1, self.max_iter + 1):
        violation = _descended(X, W, Ht, l1_w, l2_w, order())
        if update_H:
            violation = violation + _descended(X.T, Ht, W, l1_h, l2_h, order())
        value = transfers.number(violation)
        if step == 1:
            first = value
        if first == 0 or value / first <= self.tol:
            break
    return W, Ht.T.contiguous(), step


# -- Multiplicative updates ---------------------------------------------------------------------


@kernel(static=("beta",))
def _ratios(X: Any, product: Any, *, beta: float) -> Any:
    """Return what the numerator and the denominator of an update are made of."""
    safe = np.maximum(product, _SMALL) if beta < 2 else product
    if beta == 1:
        return X / safe, safe
    if beta == 0:
        return X / (safe * safe), 1 / np.maximum(product, _SMALL)
    lower = np.maximum(product, _SMALL) if beta < 1 else product
    return X * safe ** (beta - 2), lower ** (beta - 1)


def _multiplied(
    X: torch.Tensor, W: torch.Tensor, H: torch.Tensor, beta: float, l1: float, l2: float
) -> torch.Tensor:
    """Return W after an update (C. Févotte and J. Idier, 2011)."""
    if beta == 2:
        above, below = X @ H.T, W @ (H @ H.T)
    else:
        numerators, denominators = _ratios(X, W @ H, beta=beta)
        above = numerators @ H.T
        below = H.sum(dim=1)[None, :] if beta == 1 else denominators @ H.T
    if l1 > 0:
        below = below + l1
    if l2 > 0:
        below = below + l2 * W
    change = above / torch.where(below == 0, _SMALL, below)
    if beta < 1:
        change = change ** (1.0 / (2.0 - beta))
    elif beta > 2:
        change = change ** (1.0 / (beta - 1.0))
    return W * change


def _by_multiplying(self: Any, X: Any, W: Any, H: Any, update_H: bool) -> tuple[Any, Any, int]:
    l1_w, l1_h, l2_w, l2_h = self._compute_regularization(X)
    beta = float(self._beta_loss)
    first = before = transfers.number(_distance(X, W, H, beta))
    step = 0
    for step in range(1, self.max_iter + 1):
        W = _multiplied(X, W, H, beta, l1_w, l2_w)
        if beta < 1:
            W = torch.where(W < _EPS, 0.0, W)
        if update_H:
            H = _multiplied(X.T, H.T, W.T, beta, l1_h, l2_h).T
            if beta <= 1:
                H = torch.where(H < _EPS, 0.0, H)
        if self.tol > 0 and step % 10 == 0:
            error = transfers.number(_distance(X, W, H, beta))
            if (before - error) / first < self.tol:
                break
            before = error
    return W, H.contiguous(), step


def _distance(X: torch.Tensor, W: torch.Tensor, H: torch.Tensor, beta: float) -> torch.Tensor:
    """Return the root of twice the beta divergence of a product from X."""
    product = W @ H
    if beta == 2:
        return torch.linalg.vector_norm(X - product)
    there = X > _SMALL
    x = torch.where(there, X, 1.0)
    p = torch.where(there, product.clamp(min=_SMALL), 1.0)
    if beta == 1:
        found = torch.where(there, x * torch.log(x / p) - x, 0.0).sum() + W.sum(0) @ H.sum(1)
    elif beta == 0:
        found = torch.where(there, x / p - torch.log(x / p), 0.0).sum() - math.prod(X.shape)
    else:
        found = torch.where(there, x**beta - beta * x * p ** (beta - 1), 0.0).sum()
        found = (found + (product**beta).sum() * (beta - 1)) / (beta * (beta - 1))
    return torch.sqrt(2 * found.clamp(min=0))


@on_device(
    "decomposition.NMF",
    refused="sparse matrices; `init='custom'`; `verbose`",
    tolerance=1e-5,
)
class NMF(Accelerated, decomposition.NMF):  # type: ignore[misc]
    __doc__ = decomposition.NMF.__doc__
    _n_components: Any

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS)
        lowest = transfers.number(X.min())
        with call_stack.dispatching(False):
            self._check_params(X)
        if lowest == 0 and self._beta_loss <= 0:
            raise ValueError(
                "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add "
                "small values to X, or use a positive beta_loss."
            )
        if lowest < 0:
            raise ValueError("Negative values in data passed to NMF initialization.")
        if W is not None or H is not None:
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set  init='custom' to use them "
                "as initialization.",
                RuntimeWarning,
                stacklevel=2,
            )
        if self._n_components == "auto":
            self._n_components = X.shape[1]
        W, H = _beginning(X, self._n_components, self.init, self.random_state)
        W, H, self.n_iter_ = self._npaccel_solved(X, W, H, True)
        self.reconstruction_err_ = transfers.number(_distance(X, W, H, float(self._beta_loss)))
        self.n_components_ = len(H)
        self.components_ = H
        return W

    def _npaccel_solved(self, X: Any, W: Any, H: Any, update_H: bool) -> Any:
        solver = _by_descent if self.solver == "cd" else _by_multiplying
        found = solver(self, X, W, H, update_H)
        if found[2] == self.max_iter and self.tol > 0:
            warnings.warn(
                f"Maximum number of iterations {self.max_iter} reached. Increase it to improve "
                "convergence.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return found

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=FLOATS, ensure_non_negative=True)
        with call_stack.dispatching(False):
            self._check_params(X)
        H = self.components_.to(X.dtype)
        self._n_components = count = len(H)
        begin = 0.0 if self.solver == "cd" else torch.sqrt(X.mean() / count)
        W = X.new_zeros((len(X), count)) + begin
        return self._npaccel_solved(X, W, H, False)[0]

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._moved(X if isinstance(X, torch.Tensor) else np.asarray(X))
        wide = torch.promote_types(X.dtype, self.components_.dtype)
        return X.to(wide) @ self.components_.to(wide)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if not why and self.init == "custom":
            return "`init='custom'`"
        return why or (
            "`verbose` prints what scikit-learn's own solver does" if self.verbose else ""
        )
