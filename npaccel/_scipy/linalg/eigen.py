"""Eigenvalues in `scipy.linalg`."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._numpy.linalg.decompositions import prepared, transposed
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.checks import readable
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.linalg._common import (
    adjoint,
    banded,
    check_square,
    check_stack,
    common_rank,
    from_triangle,
    has_none,
    matrices,
    refuse_traced,
    results,
    square,
)

_SIGNS = "vectors may differ from SciPy's by a sign (complex: by a phase), as between BLAS builds"
_REAL = "whether the vectors of a real matrix are real depends on its values"
_VALUES = "how many eigenvalues are within bounds depends on the values"
_bands_on_cpu = on_a_cpu("LAPACK's routine for bands takes fewer steps")
_SAME = on_a_cpu("LAPACK's other driver is faster")


def _eig_host_reason(bound: dict[str, Any]) -> str:
    if bound["b"] is not None:
        return "torch has no eigenvalues of two general matrices"
    return "torch has no left eigenvectors" if bound.get("left") else ""


def _homogeneous(values: torch.Tensor, wanted: bool) -> Any:
    """Return eigenvalues as pairs of numerators and denominators, if that's asked for."""
    return torch.stack([values, torch.ones_like(values)], -2) if wanted else values


@on_tensors(
    "linalg.eig", arrays=("a", "b"), host_reason=_eig_host_reason, note=_SIGNS, tolerance=1024
)
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Return eigenvalues and right eigenvectors."""
    if b is not None or left:
        raise NotImplementedError(
            "npaccel has no eigenvalues of two matrices, and no left eigenvectors"
        )
    a = square(a, check_finite=check_finite)
    if not right:
        return _homogeneous(torch.linalg.eigvals(a), homogeneous_eigvals)
    if not a.is_complex():
        refuse_traced(a, _REAL)
    values, vectors = torch.linalg.eig(a)
    if not a.is_complex() and readable(a) and bool((values.imag == 0).all()):
        vectors = vectors.real
    return results(a.ndim > 2, _homogeneous(values, homogeneous_eigvals), vectors)


@on_tensors(
    "linalg.eigvals",
    arrays=("a", "b"),
    host_reason=on_a_cpu("LAPACK is called with less around it", _eig_host_reason),
    tolerance=1024,
)
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Return the eigenvalues."""
    if b is not None:
        raise NotImplementedError("npaccel has no eigenvalues of two general matrices")
    a = square(a, check_finite=check_finite)
    return _homogeneous(torch.linalg.eigvals(a), homogeneous_eigvals)


_DRIVERS = {None, "ev", "evd", "evr", "evx", "gv", "gvd", "gvx"}


def _check_driver(driver: str | None, generalized: bool, subset: bool) -> None:
    """Raise ValueError for drivers that LAPACK doesn't have for the problem."""
    if driver not in _DRIVERS:
        raise ValueError(f"unknown driver {driver!r}")
    if driver is not None and (driver[0] == "g") != generalized:
        raise ValueError(f"{driver} is for other problems")
    if subset and driver in ("ev", "evd", "gv", "gvd"):
        raise ValueError(f"{driver} cannot compute subsets of eigenvalues")


def _pencil(
    a: torch.Tensor, b: torch.Tensor, lower: bool, kind: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the standard problem that has the eigenvalues of a pair, and the factor of b."""
    whole = from_triangle(a, lower)
    factor = torch.linalg.cholesky(from_triangle(b, lower))
    if kind == 1:
        half = torch.linalg.solve_triangular(factor, whole, upper=False)
        return torch.linalg.solve_triangular(factor, adjoint(half), upper=False), factor
    return adjoint(factor) @ whole @ factor, factor


def _back(vectors: torch.Tensor, factor: torch.Tensor, kind: int) -> Any:
    """Return the eigenvectors of a pair of matrices."""
    if kind == 3:
        return factor @ vectors
    return torch.linalg.solve_triangular(adjoint(factor), vectors, upper=True)


def _within(values: torch.Tensor, low: float, high: float) -> slice:
    """Return which ascending eigenvalues are in a half-open interval: read from them."""
    refuse_traced(values, _VALUES)
    counts = (values > low) & (values <= high)
    first = 0 if values.device.type == "meta" else int((values <= low).sum(-1).amin())
    return slice(first, first + common_rank(counts, _VALUES))


def _chosen(values: torch.Tensor, by_index: Any, by_value: Any) -> slice:
    """Return which eigenvalues are wanted."""
    if by_index is not None and by_value is not None:
        raise ValueError("Either index or value subset can be requested.")
    if by_index is not None:
        low, high = (int(i) for i in by_index)
        if not 0 <= low <= high < values.shape[-1]:
            raise ValueError("Requested eigenvalue indices are not valid.")
        return slice(low, high + 1)
    if by_value is not None:
        least, most = (float(x) for x in by_value)
        if not -math.inf <= least < most <= math.inf:
            raise ValueError("Requested eigenvalue bounds are not valid.")
        return _within(values, least, most)
    return slice(None)


@on_tensors("linalg.eigh", arrays=("a", "b"), host_reason=_SAME, note=_SIGNS, tolerance=1024)
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Return ascending eigenvalues, and eigenvectors, of Hermitian matrices."""
    subset = subset_by_index is not None or subset_by_value is not None
    _check_driver(driver, b is not None, subset)
    factor, uplo = None, "L" if lower else "U"
    if b is None:
        a = square(a, check_finite=check_finite)
    else:
        a, b = matrices(a, b, check_finite=check_finite)
        check_square(a, b)
        if a.shape[-1] != b.shape[-1] or type not in (1, 2, 3):
            raise ValueError("matrices of different sizes, or an unknown type")
        a, factor = _pencil(a, b, lower, type)
        uplo = "L"
    if eigvals_only:
        values = torch.linalg.eigvalsh(a, UPLO=uplo)
        return values[..., _chosen(values, subset_by_index, subset_by_value)]
    values, vectors = torch.linalg.eigh(a, UPLO=uplo)
    some = _chosen(values, subset_by_index, subset_by_value)
    vectors = vectors[..., some]
    vectors = vectors if factor is None else _back(vectors, factor, type)
    return results(a.ndim > 2, values[..., some], vectors)


@on_tensors("linalg.eigvalsh", arrays=("a", "b"), host_reason=_SAME, tolerance=1024)
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Return ascending eigenvalues of Hermitian matrices."""
    return eigh(
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        check_finite=check_finite,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
        driver=driver,
    )


_SELECT = {0: "a", 1: "v", 2: "i", "all": "a", "value": "v", "index": "i"}


def _selected(values: torch.Tensor, select: Any, select_range: Any) -> slice:
    """Return which eigenvalues `select` and `select_range` mean."""
    select = select.lower() if isinstance(select, str) else select
    select = _SELECT.get(select, select)
    if select not in ("a", "v", "i"):
        raise ValueError("invalid argument for select")
    if select == "a":
        return slice(None)
    low, high = select_range
    if high < low or (select == "i" and not isinstance(low, int)):
        raise ValueError("select_range isn't a range")
    if select == "v":
        return _within(values, float(low), float(high))
    return _chosen(values, (low, high), None)


def _of_matrix(whole: torch.Tensor, eigvals_only: bool, select: Any, select_range: Any) -> Any:
    if eigvals_only:
        values = torch.linalg.eigvalsh(whole)
        return values[..., _selected(values, select, select_range)]
    values, vectors = torch.linalg.eigh(whole)
    some = _selected(values, select, select_range)
    return results(whole.ndim > 2, values[..., some], vectors[..., some])


@on_tensors("linalg.eig_banded", arrays=("a_band",), host_reason=_bands_on_cpu, note=_SIGNS)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Return eigenvalues of Hermitian matrices that are given by their diagonals."""
    (bands,) = matrices(a_band, check_finite=check_finite)
    if has_none(bands):
        raise ValueError("no elements")
    return _of_matrix(banded(bands, lower), eigvals_only, select, select_range)


@on_tensors("linalg.eigvals_banded", arrays=("a_band",), host_reason=_bands_on_cpu)
def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return eigenvalues of Hermitian matrices that are given by their diagonals."""
    return eig_banded(a_band, lower, True, False, select, select_range, 0, check_finite)


_TRIDIAGONAL = ("auto", "stemr", "sterf", "stebz", "stev", "stevd")


@on_tensors("linalg.eigh_tridiagonal", arrays=("d", "e"), host_reason=_bands_on_cpu, note=_SIGNS)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Return eigenvalues of symmetric matrices with three diagonals."""
    d, e = prepared(d, e)
    check_stack(d, e, core=1)
    checks.finite(d, e, check_finite=check_finite)
    if lapack_driver not in _TRIDIAGONAL or d.is_complex() or d.shape[-1] != e.shape[-1] + 1:
        raise ValueError("an unknown driver, complex numbers, or sizes that don't fit")
    partial = lapack_driver in ("sterf", "stev", "stevd") and select not in ("a", "all", 0)
    if partial or (lapack_driver == "sterf" and not eigvals_only):
        raise ValueError(f"{lapack_driver} gives all eigenvalues")
    whole = torch.diag_embed(d) + torch.diag_embed(e, -1) + torch.diag_embed(e, 1)
    return _of_matrix(whole, eigvals_only, select, select_range)


@on_tensors("linalg.eigvalsh_tridiagonal", arrays=("d", "e"), host_reason=_bands_on_cpu)
def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Return eigenvalues of symmetric matrices with three diagonals."""
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite, tol, lapack_driver)


@on_tensors("linalg.cdf2rdf", arrays=("w", "v"))
def cdf2rdf(w: Any, v: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a real form of complex eigenvalues and vectors: blocks for conjugate pairs."""
    w, v = prepared(w, v)
    if w.ndim < 1 or v.ndim != w.ndim + 1 or v.shape[-2:] != (w.shape[-1], w.shape[-1]):
        raise ValueError("shapes that don't fit")
    if not w.is_complex():
        return torch.diag_embed(w), v
    paired = w.imag != 0
    count = torch.cumsum(paired, -1)
    checks.holds((count[..., -1:] % 2 == 0).all(), "expected complex-conjugate pairs")
    first, second = paired & (count % 2 == 1), paired & (count % 2 == 0)
    joined = (count.unsqueeze(-1) + 1 == count.unsqueeze(-2)) & first.unsqueeze(-1)
    joined = joined & second.unsqueeze(-2)
    above = torch.where(joined, w.imag.unsqueeze(-1), 0)
    below = torch.where(transposed(joined), w.imag.unsqueeze(-1), 0)
    blocks = torch.diag_embed(w.real) + above + below
    # A pair x + iy, x - iy of columns becomes -y, x.
    mix = torch.diag_embed(torch.where(paired, torch.where(first, 0.5j, 0.5), 1.0))
    mix = mix + torch.where(joined, 0.5, 0) + torch.where(transposed(joined), -0.5j, 0)
    return blocks, (v @ mix.to(v.dtype)).real
