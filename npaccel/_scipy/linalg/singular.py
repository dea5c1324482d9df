"""Singular values in `scipy.linalg`, and what is made of them."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._numpy.linalg.decompositions import prepared
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.linalg._common import (
    adjoint,
    check_stack,
    common_rank,
    has_none,
    matrices,
    results,
)

_SIGNS = "vectors may differ from SciPy's by a sign (complex: by a phase), as between BLAS builds"
_SIZE = "the size of the result depends on the rank"


def _svd(a: torch.Tensor, full: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    left, values, right = torch.linalg.svd(a, full_matrices=full)
    return left, values, right


@on_tensors("linalg.svd", arrays=("a",), note=_SIGNS, tolerance=1024)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return the singular value decompositions."""
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f"unknown driver {lapack_driver!r}")
    (a,) = matrices(a, check_finite=check_finite)
    if not compute_uv:
        return torch.linalg.svdvals(a)
    return results(a.ndim > 2, *_svd(a, bool(full_matrices)))


@on_tensors("linalg.svdvals", arrays=("a",))
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the singular values, descending."""
    (a,) = matrices(a, check_finite=check_finite)
    return torch.linalg.svdvals(a)


@on_tensors("linalg.diagsvd", arrays=("s",))
def diagsvd(s: Any, M: int, N: int) -> Any:
    """Return the M x N matrices with singular values on their diagonals."""
    check_stack(s, core=1)
    size = s.shape[-1]
    pad: tuple[int, ...]
    if size == M and N >= M:
        pad = (0, N - M)
    elif size == N and M >= N:
        pad = (0, 0, 0, M - N)
    else:
        raise ValueError("Length of s must be M or N.")
    return torch.nn.functional.pad(torch.diag_embed(s), pad)


def _counted(values: torch.Tensor, size: int, rcond: float | None) -> Any:
    """Return which singular values aren't taken for zero."""
    rcond = torch.finfo(values.dtype).eps * size if rcond is None else rcond
    return values > torch.amax(values, -1, True) * rcond


def _range(a: torch.Tensor, rcond: float | None = None) -> Any:
    """Return an orthonormal basis of the range."""
    if has_none(a):
        raise ValueError("no elements")
    left, values, _ = _svd(a, full=False)
    return left[..., : common_rank(_counted(values, max(a.shape[-2:]), rcond), _SIZE)]


@on_tensors("linalg.orth", arrays=("A",), note=_SIGNS, tolerance=1024)
def orth(A: Any, rcond: float | None = None) -> Any:
    """Return an orthonormal basis of the range."""
    return _range(matrices(A)[0], rcond)


@on_tensors("linalg.null_space", arrays=("A",), note=_SIGNS, tolerance=1024)
def null_space(
    A: Any,
    rcond: float | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return an orthonormal basis of what is mapped to zero."""
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f"unknown driver {lapack_driver!r}")
    (a,) = matrices(A, check_finite=check_finite)
    if has_none(a):
        raise ValueError("no elements")
    _, values, right = _svd(a, full=True)
    rank = common_rank(_counted(values, max(a.shape[-2:]), rcond), _SIZE)
    return adjoint(right[..., rank:, :])


@on_tensors("linalg.polar", arrays=("a",), tolerance=1024)
def polar(a: Any, side: str = "right") -> Any:
    """Return a unitary and a positive semidefinite factor."""
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    (a,) = matrices(a)
    if has_none(a):
        raise ValueError("no elements")
    left, values, right = _svd(a, full=False)
    scaled = values.unsqueeze(-2)
    square = (
        (adjoint(right) * scaled) @ right if side == "right" else (left * scaled) @ adjoint(left)
    )
    return results(a.ndim > 2, left @ right, square)


@on_tensors("linalg.subspace_angles", arrays=("A", "B"), tolerance=1024)
def subspace_angles(A: Any, B: Any) -> Any:
    """Return the angles, descending: of sines where they're small (Knyazev, Argentati 2002)."""
    a, b = prepared(A, B)
    check_stack(a, b)
    checks.finite(a, b)
    if a.shape[-2] != b.shape[-2]:
        raise ValueError("A and B must have the same number of rows")
    first, second = _range(a), _range(b)
    if first.shape[-1] < second.shape[-1]:
        first, second = second, first
    common = adjoint(first) @ second
    cosines = torch.flip(torch.linalg.svdvals(common), (-1,))
    sines = torch.linalg.svdvals(second - first @ common)
    large = torch.arccos(torch.clamp(cosines, -1, 1))
    return torch.where(cosines**2 >= 0.5, torch.arcsin(torch.clamp(sines, -1, 1)), large)
