"""Triangular factors in `scipy.linalg`: LU, Cholesky, QR."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from scipy.linalg import LinAlgWarning

from npaccel._numpy.linalg.decompositions import conjugate, prepared
from npaccel._runtime.torch.symbolic_sizes import is_traced
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import on_a_cpu, one_matrix
from npaccel._scipy.dispatch.checks import readable
from npaccel._scipy.dispatch.listing import scipy_since
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.linalg._common import (
    adjoint,
    at_least_1d,
    check_square,
    check_stack,
    has_none,
    like,
    matrices,
    refuse_traced,
    results,
    with_columns,
)


@on_tensors("linalg.lu", arrays=("a",))
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Return permutation, lower and upper triangles."""
    (a,) = prepared(a)
    checks.finite(a, check_finite=check_finite)
    if a.ndim < 2 or has_none(a):
        raise ValueError("no matrices")
    places, lower, upper = torch.linalg.lu(a)
    if not (permute_l or p_indices):
        return (places.real if places.is_complex() else places), lower, upper
    order = torch.argmax(torch.abs(places).to(a.real.dtype), -1)
    if permute_l:
        return torch.take_along_dim(lower, order.unsqueeze(-1), -2), upper
    # SciPy's indices have 32 bit, except those of one row.
    return (order if tuple(a.shape[-2:]) == (1, 1) else order.to(torch.int32)), lower, upper


@on_tensors("linalg.lu_factor", arrays=("a",))
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return both triangles in one matrix, and the rows that were swapped."""
    (a,) = matrices(a, check_finite=check_finite)
    if has_none(a):
        raise ValueError("no elements")
    factors, pivots, info = torch.linalg.lu_factor_ex(a)
    if is_traced(a):
        checks.holds((info <= 0).all(), "the matrix is singular")
    elif readable(a) and (info > 0).any():
        first = int(info[info > 0].flatten()[0])
        warnings.warn(
            f"Diagonal number {first} is exactly zero. Singular matrix.",
            LinAlgWarning,
            stacklevel=5,
        )
    return results(a.ndim > 2, factors, pivots - 1)


@on_tensors("linalg.lu_solve", arrays=("b",), tolerance=1024)
def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve with the factors of `lu_factor`."""
    given, swapped = lu_and_piv
    factors, b = prepared(like(given, b), b)
    check_square(factors)
    check_stack(factors)
    checks.finite(b, check_finite=check_finite)
    if trans not in (0, 1, 2) or b.shape[0 if b.ndim == 1 else -2] != factors.shape[-1]:
        raise ValueError("unknown trans, or shapes that don't fit")
    factors, b, vector = with_columns(factors, b)
    pivots = like(swapped, b).to(torch.int32) + 1
    pivots = pivots.expand(*b.shape[:-2], pivots.shape[-1]).contiguous()
    if trans == 1:  # The transpose is the conjugate of the adjoint.
        b = conjugate(b)
    found = torch.linalg.lu_solve(factors, pivots, b, adjoint=trans != 0)
    if trans == 1:
        found = conjugate(found)
    return found.squeeze(-1) if vector else found


def _cholesky(a: Any, lower: bool, check_finite: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the matrices and their Cholesky factors, of the triangle that was asked for."""
    (a,) = prepared(a)
    a = a if a.ndim > 1 else at_least_1d(a).unsqueeze(0)
    check_square(a)
    check_stack(a)
    checks.finite(a, check_finite=check_finite)
    if has_none(a):
        return a, a
    if lower:
        return a, torch.linalg.cholesky(a)
    return a, adjoint(torch.linalg.cholesky(adjoint(a)))


@on_tensors("linalg.cholesky", arrays=("a",), host_reason=one_matrix)
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return triangular square roots of positive definite matrices."""
    return _cholesky(a, lower, check_finite)[1]


_with_lapack = on_a_cpu("LAPACK does it in place")


@on_tensors("linalg.cho_factor", arrays=("a",), host_reason=_with_lapack)
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the factor; before SciPy 1.18 the other triangle is the matrix's."""
    a, factor = _cholesky(a, lower, check_finite)
    if scipy_since(1, 18):
        return torch.tril(factor) if lower else torch.triu(factor), _flags(a, lower)
    found = torch.tril(factor) + torch.triu(a, 1) if lower else torch.triu(factor) + a.tril(-1)
    if a.ndim == 2:
        return found, lower
    return [found, _flags(a, lower)]


def _flags(a: Any, lower: bool) -> Any:
    return torch.full(a.shape[:-2], bool(lower), device=a.device)


@on_tensors("linalg.cho_solve", arrays=("b",), host_reason=_with_lapack, tolerance=1024)
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve with the factor of `cho_factor`."""
    given, lower = c_and_lower
    if isinstance(lower, torch.Tensor):
        if lower.ndim:
            raise ValueError("one flag for each of a stack")
        lower = bool(lower)
    factor, b = prepared(like(given, b), b)
    check_square(factor)
    check_stack(factor)
    checks.finite(factor, b, check_finite=check_finite)
    if b.shape[0 if b.ndim == 1 else -2] != factor.shape[-1]:
        raise ValueError("the shapes of c and b don't fit")
    factor, b, vector = with_columns(factor, b)
    if not has_none(factor, b):
        factor = torch.tril(factor) if lower else adjoint(torch.triu(factor))
        b = torch.cholesky_solve(b, factor)
    return b.squeeze(-1) if vector else b


_PIVOTS = "torch has no QR decomposition with pivoting"


def _pivoting(bound: dict[str, Any]) -> str:
    return _PIVOTS if bound["pivoting"] else ""


@on_tensors("linalg.qr", arrays=("a",), host_reason=_pivoting)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return an orthonormal matrix and a triangle, by Householder's reflections."""
    if mode not in ("full", "qr", "r", "economic", "raw"):
        raise ValueError(f"unknown mode {mode!r}")
    (a,) = matrices(a, check_finite=check_finite)
    if has_none(a) or (mode == "raw" and a.ndim > 2):
        raise ValueError("no elements, or a stack of raw factors")
    if mode == "raw":
        return _reflections(a)
    if mode == "r":
        triangle = torch.linalg.qr(a, mode="r").R
        below = triangle.new_zeros(*a.shape[:-2], a.shape[-2] - triangle.shape[-2], a.shape[-1])
        triangle = torch.cat([triangle, below], -2)
        return triangle if a.ndim > 2 else (triangle,)
    found = torch.linalg.qr(a, mode="reduced" if mode == "economic" else "complete")
    return results(a.ndim > 2, found.Q, found.R)


def _reflections(a: torch.Tensor) -> Any:
    """Return what Householder's reflections are made of, and the triangle."""
    refuse_traced(a, "torch doesn't trace the reflections of a QR decomposition")
    if a.device.type == "meta":
        found, scales = torch.empty_like(a), a.new_empty(min(a.shape))
    else:
        found, scales = torch.geqrf(a)
    return (found, scales), torch.triu(found)[: min(a.shape)]


@on_tensors("linalg.rq", arrays=("a",))
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """Return a triangle and an orthonormal matrix: QR of what is turned round and transposed."""
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"unknown mode {mode!r}")
    (a,) = matrices(a, check_finite=check_finite)
    if has_none(a):
        raise ValueError("no elements")
    turned = adjoint(torch.flip(a, (-2, -1)))
    shape = "reduced" if mode == "economic" else "complete"
    left, right = torch.linalg.qr(turned, mode=shape)
    triangle = torch.flip(adjoint(right), (-2, -1))
    if mode == "r":
        return triangle
    return results(a.ndim > 2, triangle, torch.flip(adjoint(left), (-2, -1)))


def _pivoting_or_square(bound: dict[str, Any]) -> str:
    if bound["pivoting"]:
        return _PIVOTS
    if bound["overwrite_c"]:
        return "`overwrite_c` changes what shapes fit"
    return one_matrix(bound)


@on_tensors("linalg.qr_multiply", arrays=("a", "c"), host_reason=_pivoting_or_square)
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """Return ``q @ c`` or ``c @ q``, and the triangle."""
    if mode not in ("left", "right"):
        raise ValueError(f"unknown mode {mode!r}")
    a, c = prepared(a, c)
    check_stack(a)
    checks.finite(a, c)
    vector = c.ndim < 2
    if vector:
        c = c.unsqueeze(-1 if mode == "left" else 0)
    if has_none(a, c) or c.shape[-2 if mode == "left" else -1] != (
        min(a.shape[-2:]) if mode == "left" else a.shape[-2]
    ):
        raise ValueError("no elements, or shapes that don't fit")
    q, triangle = torch.linalg.qr(a, mode="reduced")
    if conjugate and q.is_complex():
        q = torch.conj_physical(q)
    found = q @ c if mode == "left" else c @ q
    triangle = triangle.expand(*found.shape[:-2], *triangle.shape[-2:])
    return results(found.ndim > 2, found.flatten(-2) if vector else found, triangle)
