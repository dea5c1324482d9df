"""Norms and properties of matrices in `scipy.linalg`."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._numpy.linalg.decompositions import transposed
from npaccel._numpy.linalg.norms import norm as numpy_norm
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.linalg._common import adjoint, eye_of


@on_tensors("linalg.norm", arrays=("a",))
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Return a norm, of NumPy's definition."""
    checks.finite(a, check_finite=check_finite)
    if isinstance(ord, torch.Tensor):
        raise ValueError("the order is a number or a name")
    if ord is None and axis is None and not keepdims and a.is_floating_point():
        # One pass, where NumPy's formula takes two.
        return torch.linalg.vector_norm(a)
    return numpy_norm(a, ord, axis, keepdims)


def _check_square(a: torch.Tensor) -> None:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("not a square matrix")


def _equal(a: torch.Tensor, b: torch.Tensor, atol: Any, rtol: Any) -> Any:
    if atol is None and rtol is None:
        return (a == b).all()
    least = 0.0 if atol is None else atol
    part = 0.0 if rtol is None else rtol
    return torch.isclose(a, b, rtol=part, atol=least).all()


@on_tensors("linalg.issymmetric", arrays=("a",))
def issymmetric(a: Any, atol: float | None = None, rtol: float | None = None) -> Any:
    """Tell whether a matrix is its transpose."""
    _check_square(a)
    return _equal(a, transposed(a), atol, rtol)


@on_tensors("linalg.ishermitian", arrays=("a",))
def ishermitian(a: Any, atol: float | None = None, rtol: float | None = None) -> Any:
    """Tell whether a matrix is its conjugate transpose."""
    _check_square(a)
    return _equal(a, adjoint(a), atol, rtol)


@on_tensors("linalg.bandwidth", arrays=("a",))
def bandwidth(a: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Tell how far below and above the diagonal a matrix has other elements than zeros."""
    if a.ndim != 2 or 0 in a.shape:
        raise ValueError("not a matrix")
    below = torch.arange(a.shape[0], device=a.device).unsqueeze(1)
    distance = below - torch.arange(a.shape[1], device=a.device)
    used = a != 0
    return torch.where(used, distance, 0).amax(), torch.where(used, -distance, 0).amax()


def _direct(bound: dict[str, Any]) -> str:
    method, a = bound["method"], bound["a"]
    size = a.shape[-1] if isinstance(a, torch.Tensor) and a.ndim else 0
    if method is None:
        method = "bilinear" if size >= 10 else "direct"
    if method.lower() == "direct" and size <= 30:
        return ""
    return "it goes by a Schur form, which torch doesn't have"


@on_tensors(
    "linalg.solve_discrete_lyapunov", arrays=("a", "q"), host_reason=_direct, tolerance=2**14
)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Solve ``a x a^H - x + q = 0`` as one system of linear equations."""
    from npaccel._scipy.linalg._common import check_square, check_stack, matrices

    a, q = matrices(a, q)
    check_square(a, q)
    check_stack(a, q)
    n = a.shape[-1]
    product = torch.einsum("...ij,...kl->...ikjl", a, a.conj()).reshape(*a.shape[:-2], n * n, n * n)
    whole = eye_of(product) - product
    flat = q.reshape(*q.shape[:-2], n * n, 1)
    found = torch.linalg.solve(whole, flat.expand(*whole.shape[:-1], 1))
    return found.reshape(*found.shape[:-2], n, n)
