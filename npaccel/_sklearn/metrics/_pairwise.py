"""Kernels of pairs of rows, as ``sklearn.metrics.pairwise`` computes them, on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npaccel._sklearn.kernels import tiles

#: scikit-learn's names of the kernels that are here.
NAMES = ("linear", "rbf", "poly", "polynomial", "sigmoid", "cosine", "laplacian", "precomputed")


def squared_distances(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return the squared distances of rows from rows, in 64 bits."""
    found = tiles.squared_distances(X, Y)
    if X is Y or (X.data_ptr() == Y.data_ptr() and X.shape == Y.shape):
        found.fill_diagonal_(0)
    return found


def _inner(X: torch.Tensor, Y: torch.Tensor, gamma: float, coef0: float) -> torch.Tensor:
    X, Y = X.double(), Y.double()
    return torch.addmm(X.new_full((1,), coef0), X, Y.T, alpha=gamma)


def _laplacian(X: torch.Tensor, Y: torch.Tensor, gamma: float, **_: Any) -> torch.Tensor:
    return torch.exp(-gamma * torch.cdist(X.double(), Y.double(), p=1))


def _cosine(X: torch.Tensor, Y: torch.Tensor, **_: Any) -> torch.Tensor:
    def unit(Z: torch.Tensor) -> torch.Tensor:
        norms = torch.linalg.vector_norm(Z, dim=1, keepdim=True)
        return Z / torch.where(norms == 0, 1.0, norms)

    return unit(X.double()) @ unit(Y.double()).T


_KERNELS: dict[str, Callable[..., torch.Tensor]] = {
    "linear": lambda X, Y, **_: X.double() @ Y.double().T,
    "rbf": lambda X, Y, gamma, **_: squared_distances(X, Y).mul_(-gamma).exp_(),
    "poly": lambda X, Y, gamma, degree, coef0: _inner(X, Y, gamma, coef0).pow_(degree),
    "sigmoid": lambda X, Y, gamma, coef0, **_: _inner(X, Y, gamma, coef0).tanh_(),
    "cosine": _cosine,
    "laplacian": _laplacian,
    "precomputed": lambda X, Y, **_: X.double(),
}
_KERNELS["polynomial"] = _KERNELS["poly"]


def products(
    X: torch.Tensor, Y: torch.Tensor, kernel: str, gamma: Any, degree: Any, coef0: Any
) -> torch.Tensor:
    """Return the kernel of rows and rows, in 64 bits.

    Parameters
    ----------
    X, Y : torch.Tensor
    kernel : str
        One of `NAMES`.
    gamma : float or None
        None: one by the number of columns.
    degree, coef0 : float
    """
    gamma = 1.0 / X.shape[1] if gamma is None else float(gamma)
    return _KERNELS[kernel](X, Y, gamma=gamma, degree=degree, coef0=coef0)
