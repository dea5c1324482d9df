"""Solutions of linear equations in `scipy.linalg`, inverses and determinants."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._numpy.linalg.decompositions import prepared, transposed
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import free_for_scipy, one_matrix
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.linalg._common import (
    adjoint,
    at_least_1d,
    check_square,
    common_rank,
    diagonal,
    eye_of,
    from_triangle,
    has_none,
    matrices,
    nonsingular,
    norm1,
    reciprocal_condition,
    results,
    square,
    warn_if_ill_conditioned,
    with_columns,
)

_KINDS: dict[Any, str] = {
    None: "general",
    **dict.fromkeys(("general", "gen"), "general"),
    **dict.fromkeys(("symmetric", "sym"), "symmetric"),
    **dict.fromkeys(("hermitian", "her"), "hermitian"),
    **dict.fromkeys(("positive definite", "pos"), "positive"),
    "diagonal": "diagonal",
    "upper triangular": "upper",
    "lower triangular": "lower",
    "tridiagonal": "tridiagonal",
    "banded": "general",
}
#: `scipy.linalg.inv` knows fewer names.
_KINDS_OF_INV = {
    name: _KINDS[name]
    for name in (None, "general", "gen", "diagonal", "upper triangular", "lower triangular")
} | {"pos": "positive", "sym": "symmetric", "her": "hermitian"}
_WARNINGS = "compiled for a GPU, nothing warns of ill-conditioned matrices"
_BANDS = "on a CPU, LAPACK's routine for bands takes fewer steps"


def _bands_on_cpu(bound: dict[str, Any]) -> str:
    few = bound["assume_a"] in ("tridiagonal", "banded")
    return _BANDS if few and free_for_scipy(bound) else one_matrix(bound)


def _whole(a: torch.Tensor, kind: str, lower: bool) -> Any:
    """Return the matrices that SciPy means: it reads only a part of some kinds."""
    if kind in ("symmetric", "hermitian", "positive"):
        return from_triangle(a, lower, conjugated=kind != "symmetric")
    if kind == "diagonal":
        return torch.diag_embed(diagonal(a))
    if kind in ("upper", "lower"):
        return torch.triu(a) if kind == "upper" else torch.tril(a)
    if kind == "tridiagonal":
        return torch.triu(torch.tril(a, 1), -1)
    return a


@on_tensors(
    "linalg.solve", arrays=("a", "b"), host_reason=_bands_on_cpu, note=_WARNINGS, tolerance=1024
)
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    """Solve ``a @ x = b`` by the LU or the Cholesky factors, or by substitution."""
    kind = _KINDS[assume_a]
    a, b = (at_least_1d(x) for x in prepared(a, b))
    a = a if a.ndim > 1 else a.unsqueeze(0)
    check_square(a)
    checks.finite(a, b, check_finite=check_finite)
    if transposed and a.is_complex():
        raise NotImplementedError("the transposed system of a complex matrix")
    if a.numel() == 1:
        nonsingular(a)
        return b / a.reshape(())
    if b.shape[0 if b.ndim == 1 else -2] != a.shape[-1]:
        raise ValueError("the shapes of a and b don't fit")
    a, b, vector = with_columns(a, b)
    if has_none(a, b):
        found = torch.zeros_like(b)
    else:
        found = _solved(_whole(a, kind, lower), b, kind, transposed)
    return found.squeeze(-1) if vector else found


def _solved(a: torch.Tensor, b: torch.Tensor, kind: str, flipped: bool) -> Any:
    """Solve with whole matrices, and say which are ill-conditioned."""
    if flipped:
        a = transposed(a)
        kind = {"upper": "lower", "lower": "upper"}.get(kind, kind)
    if kind == "diagonal":
        return _by_diagonal(a, b)
    if kind in ("upper", "lower"):
        return _by_substitution(a, b, kind == "upper")
    if kind == "positive":
        factor = torch.linalg.cholesky(a)

        def again(y: torch.Tensor) -> Any:
            return torch.cholesky_solve(y, factor)

        warn_if_ill_conditioned(reciprocal_condition(a, again, again))
        return again(b)
    factors, pivots = torch.linalg.lu_factor(a)

    def forward(y: torch.Tensor) -> Any:
        return torch.linalg.lu_solve(factors, pivots, y)

    def backward(y: torch.Tensor) -> Any:
        return torch.linalg.lu_solve(factors, pivots, y, adjoint=True)

    nonsingular(diagonal(factors))
    warn_if_ill_conditioned(reciprocal_condition(a, forward, backward))
    return forward(b)


def _by_diagonal(a: torch.Tensor, b: torch.Tensor) -> Any:
    sizes = torch.abs(diagonal(a))
    nonsingular(sizes)
    warn_if_ill_conditioned(torch.amin(sizes, -1) / torch.amax(sizes, -1))
    return b / diagonal(a).unsqueeze(-1)


def _by_substitution(a: torch.Tensor, b: torch.Tensor, upper: bool) -> Any:
    def forward(y: torch.Tensor) -> Any:
        return torch.linalg.solve_triangular(a, y, upper=upper)

    def backward(y: torch.Tensor) -> Any:
        return torch.linalg.solve_triangular(adjoint(a), y, upper=not upper)

    nonsingular(diagonal(a))
    warn_if_ill_conditioned(reciprocal_condition(a, forward, backward))
    return forward(b)


@on_tensors("linalg.inv", arrays=("a",), note=_WARNINGS, tolerance=1024)
def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: Any = None,
    lower: bool = False,
) -> Any:
    """Return the inverses."""
    kind = _KINDS_OF_INV[assume_a]
    (a,) = prepared(a)
    check_square(a)
    checks.finite(a, check_finite=check_finite)
    if has_none(a):
        return torch.zeros_like(a)
    a = _whole(a, kind, lower)
    found = _inverse(a, kind)
    warn_if_ill_conditioned(1 / (norm1(a) * norm1(found)))
    return found


def _inverse(a: torch.Tensor, kind: str) -> Any:
    if kind in ("diagonal", "upper", "lower"):
        nonsingular(diagonal(a))
    if kind == "diagonal":
        return torch.diag_embed(1 / diagonal(a))
    if kind in ("upper", "lower"):
        identity = eye_of(a).expand(a.shape)
        return torch.linalg.solve_triangular(a, identity, upper=kind == "upper")
    if kind == "positive":
        return torch.cholesky_inverse(torch.linalg.cholesky(a))
    return torch.linalg.inv(a)


@on_tensors("linalg.det", arrays=("a",))
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinants, multiplied up in 64 bit so that none overflows on the way."""
    (a,) = prepared(a)
    check_square(a)
    checks.finite(a, check_finite=check_finite)
    if has_none(a):
        return torch.ones(a.shape[:-2], dtype=a.dtype, device=a.device)
    factors, pivots, _ = torch.linalg.lu_factor_ex(a)
    wide = torch.complex128 if a.is_complex() else torch.float64
    places = torch.arange(1, a.shape[-1] + 1, device=a.device)
    swaps = torch.sum(pivots != places, -1)
    return (torch.prod(diagonal(factors).to(wide), -1) * (1 - 2 * (swaps % 2))).to(a.dtype)


_TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


@on_tensors("linalg.solve_triangular", arrays=("a", "b"))
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve with one triangle of the matrices, by substitution."""
    way = _TRANSPOSED[trans]
    a, b = prepared(a, b)
    check_square(a)
    checks.finite(a, b, check_finite=check_finite)
    if b.shape[0 if b.ndim == 1 else -2] != a.shape[-1]:
        raise ValueError("the shapes of a and b don't fit")
    a, b, vector = with_columns(a, b)
    if not has_none(a, b):
        if not unit_diagonal:
            nonsingular(diagonal(a))
        a = (a, transposed(a), adjoint(a))[way]
        upper = bool(lower) == (way != 0)
        b = torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=bool(unit_diagonal))
    return b.squeeze(-1) if vector else b


@on_tensors("linalg.solve_circulant", arrays=("c", "b"))
def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: Any = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """Solve with circulant matrices, which the Fourier transform makes diagonal."""
    c, b = (at_least_1d(x) for x in prepared(c, b))
    if c.shape[caxis] != b.shape[baxis]:
        raise ValueError("the shapes of c and b don't fit")
    values = torch.fft.fft(c.movedim(caxis, -1))
    sizes = torch.abs(values)
    if tol is None:
        tol = torch.amax(sizes, -1, True) * (c.shape[caxis] * torch.finfo(torch.float64).eps)
    small = sizes <= tol
    if singular == "raise":
        checks.holds(~small.any(), "near singular circulant matrix")
    quotient = torch.fft.fft(b.movedim(baxis, -1)) / torch.where(small, 1, values)
    found = torch.fft.ifft(torch.where(small, 0, quotient))
    if not (c.is_complex() or b.is_complex()):
        found = found.real
    return found.movedim(-1, outaxis)


_RESIDUES = "whether there are residuals depends on the rank"


@on_tensors("linalg.lstsq", arrays=("a", "b"), tolerance=4096)
def lstsq(
    a: Any,
    b: Any,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    """Return solution, sums of squared errors, rank and singular values, by the latter."""
    if lapack_driver not in (None, "gelsd", "gelsy", "gelss"):
        raise ValueError(f"unknown driver {lapack_driver!r}")
    a, b = prepared(a, b)
    a, b, vector = with_columns(*_checked(a, b, check_finite))
    m, n = a.shape[-2:]
    if has_none(a) or (lapack_driver == "gelsy" and a.ndim > 2):
        raise ValueError("no elements, or a stack without singular values")
    left, values, right = torch.linalg.svd(a, full_matrices=False)
    cond = torch.finfo(a.dtype).eps if cond is None else cond
    counts = values > cond * values[..., :1]
    weights = torch.where(counts, 1 / torch.where(counts, values, 1), 0).unsqueeze(-1)
    found = adjoint(right) @ ((adjoint(left) @ b) * weights)
    if lapack_driver != "gelsy" and m > n and _all_count(counts):
        errors = torch.sum(torch.abs(b - a @ found) ** 2, -2)
        errors = errors.squeeze(-1) if vector else errors
    else:
        errors = a.new_zeros((*a.shape[:-2], 0))
    rank = torch.sum(counts, -1)
    found = found.squeeze(-1) if vector else found
    values = None if lapack_driver == "gelsy" else values
    return results(a.ndim > 2, found, errors, rank, values)


def _checked(a: torch.Tensor, b: torch.Tensor, check_finite: bool) -> list[torch.Tensor]:
    (a,) = matrices(a, check_finite=check_finite)
    checks.finite(b, check_finite=check_finite)
    if b.shape[0 if b.ndim == 1 else -2] != a.shape[-2]:
        raise ValueError("a and b should have the same number of rows")
    return [a, b]


def _all_count(counts: torch.Tensor) -> bool:
    """Whether the ranks are full: read, else assumed as in `common_rank`."""
    return common_rank(counts, _RESIDUES) == counts.shape[-1]


def _least(values: torch.Tensor, size: int, atol: Any, rtol: Any) -> Any:
    """Return the least singular value that counts."""
    atol = 0.0 if atol is None else atol
    rtol = size * torch.finfo(values.dtype).eps if rtol is None else rtol
    if atol < 0 or rtol < 0:
        raise ValueError("atol and rtol must not be negative")
    return atol + torch.amax(values, -1, True) * rtol


@on_tensors("linalg.pinv", arrays=("a",), tolerance=1024)
def pinv(
    a: Any,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the pseudo-inverses by the singular values."""
    (a,) = matrices(a, check_finite=check_finite)
    if has_none(a):
        raise ValueError("no elements")
    left, values, right = torch.linalg.svd(a, full_matrices=False)
    counts = values > _least(values, max(a.shape[-2:]), atol, rtol)
    weights = torch.where(counts, 1 / torch.where(counts, values, 1), 0).unsqueeze(-2)
    found = adjoint((left * weights) @ right)
    return results(a.ndim > 2, found, torch.sum(counts, -1)) if return_rank else found


@on_tensors("linalg.pinvh", arrays=("a",), tolerance=1024)
def pinvh(
    a: Any,
    atol: float | None = None,
    rtol: float | None = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the pseudo-inverses of Hermitian matrices by the eigenvalues."""
    a = square(a, check_finite=check_finite)
    if has_none(a):
        raise ValueError("no elements")
    values, vectors = torch.linalg.eigh(a, UPLO="L" if lower else "U")
    sizes = torch.abs(values)
    counts = sizes > _least(sizes, a.shape[-1], atol, rtol)
    weights = torch.where(counts, 1 / torch.where(counts, values, 1), 0).unsqueeze(-2)
    found = (vectors * weights) @ adjoint(vectors)
    return results(a.ndim > 2, found, torch.sum(counts, -1)) if return_rank else found
