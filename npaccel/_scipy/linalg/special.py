"""Matrices of a pattern in `scipy.linalg`, and products and solutions with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._numpy.linalg.decompositions import conjugate, prepared
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import common_dtype, free_for_scipy, on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors, traced
from npaccel._scipy.linalg._common import at_least_1d, broadcast_shapes, check_stack, has_none, like

_copied = on_a_cpu("NumPy copies as fast")


def _joined(*arrays: torch.Tensor) -> Any:
    """Return arrays one after the other along the last axis, in one dtype and stack."""
    batch = broadcast_shapes(*(a.shape[:-1] for a in arrays))
    return torch.cat([a.expand(*batch, a.shape[-1]) for a in arrays], -1)


def _toeplitz(c: torch.Tensor, r: torch.Tensor) -> Any:
    """Return the matrices with first column c and first row r, but for r[0]."""
    check_stack(c, r, core=1)
    if not c.shape[-1] or not r.shape[-1]:
        raise ValueError("no elements")
    values = _joined(torch.flip(c, (-1,)), r[..., 1:])
    return torch.flip(values.unfold(-1, r.shape[-1], 1), (-2,))


@on_tensors("linalg.toeplitz", arrays=("c", "r"))
def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrices with constant diagonals."""
    c = at_least_1d(c)
    return _toeplitz(c, conjugate(c) if r is None else at_least_1d(r))


@on_tensors("linalg.circulant", arrays=("c",), host_reason=_copied)
def circulant(c: Any) -> Any:
    """Return the matrices each of whose columns is the one before, turned by one."""
    c = at_least_1d(c)
    return _toeplitz(c, torch.cat([c[..., :1], torch.flip(c[..., 1:], (-1,))], -1))


@on_tensors("linalg.hankel", arrays=("c", "r"), host_reason=_copied)
def hankel(c: Any, r: Any = None) -> Any:
    """Return the matrix with constant anti-diagonals."""
    r = torch.zeros_like(c) if r is None else r
    if c.ndim != 1 or r.ndim != 1 or has_none(c, r):
        raise ValueError("more than one dimension, of which SciPy warns, or no elements")
    return torch.cat([c, r[1:]]).unfold(-1, r.shape[-1], 1).clone()


@on_tensors("linalg.fiedler", arrays=("a",))
def fiedler(a: Any) -> Any:
    """Return the absolute differences of all pairs."""
    a = at_least_1d(a)
    if not a.numel():
        return torch.zeros(0, dtype=torch.float64, device=a.device)
    if a.numel() == 1:
        return torch.zeros(1, 1, dtype=torch.float64, device=a.device)
    return torch.abs(a.unsqueeze(-1) - a.unsqueeze(-2))


_mostly_zeros = on_a_cpu("NumPy's zeros cost nothing")


@on_tensors("linalg.leslie", arrays=("f", "s"), host_reason=_mostly_zeros)
def leslie(f: Any, s: Any) -> Any:
    """Return the matrices with a first row and a diagonal below the main one."""
    f, s = at_least_1d(f), at_least_1d(s)
    check_stack(f, s, core=1)
    if s.shape[-1] == 0 or f.shape[-1] != s.shape[-1] + 1:
        raise ValueError("s must be one shorter than f")
    dtype = common_dtype(f, s)
    batch = broadcast_shapes(f.shape[:-1], s.shape[:-1])
    below = torch.diag_embed(s.to(dtype), -1)
    return torch.cat(
        [
            f.to(dtype).expand(*batch, f.shape[-1]).unsqueeze(-2),
            below[..., 1:, :].expand(*batch, *below[..., 1:, :].shape[-2:]),
        ],
        -2,
    )


@on_tensors("linalg.companion", arrays=("a",), host_reason=_mostly_zeros)
def companion(a: Any) -> Any:
    """Return the matrices whose eigenvalues are the roots of polynomials."""
    a = at_least_1d(*prepared(a))
    if a.shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    checks.holds((a[..., 0] != 0).all(), "the first coefficient is zero")
    return _companion(-a[..., 1:] / a[..., :1])


def _companion(row: torch.Tensor) -> Any:
    n = row.shape[-1]
    below = torch.eye(n, dtype=row.dtype, device=row.device)[:-1]
    return torch.cat([row.unsqueeze(-2), below.expand(*row.shape[:-1], n - 1, n)], -2)


@on_tensors("linalg.fiedler_companion", arrays=("a",), host_reason=_mostly_zeros)
def fiedler_companion(a: Any) -> Any:
    """Return the companion matrices with five diagonals."""
    if a.ndim < 1 or a.shape[-1] < 2:
        raise ValueError("no polynomial")
    (a,) = prepared(a)
    checks.holds((a[..., 0] != 0).all(), "the leading coefficient is zero")
    a = a / a[..., :1]
    n = a.shape[-1] - 1
    if n == 1:
        return -a[..., -1:].unsqueeze(-1)
    place = torch.arange(n, device=a.device)
    even = place % 2 == 0
    # The coefficients 2, 4, ... are above the diagonal, 3, 5, ... below it; ones two away.
    inner = torch.nn.functional.pad(-a[..., 2:], (1, 0))
    shifted = torch.roll(inner, -1, -1)
    above = torch.diag_embed(torch.where(even, shifted, 0)[..., :-1], 1)
    below = torch.diag_embed(torch.where(even, 0, shifted)[..., :-1], -1)
    ones = torch.ones(n, dtype=a.dtype, device=a.device)
    far_above = torch.diag_embed(torch.where(even, ones, 0)[: n - 2], 2)
    far_below = torch.diag_embed(torch.where(even, 0, ones)[: n - 2], -2)
    corner = torch.zeros(n, n, dtype=a.dtype, device=a.device)
    corner[1, 0] = 1
    first = torch.diag_embed(torch.nn.functional.pad(-a[..., 1:2], (0, n - 1)))
    return above + below + far_above + far_below + corner + first


@on_tensors("linalg.convolution_matrix", arrays=("a",), host_reason=_mostly_zeros)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Return the matrices that convolve with a sequence."""
    if n <= 0 or a.ndim < 1 or a.shape[-1] == 0 or mode not in ("full", "valid", "same"):
        raise ValueError("an unknown mode, or nothing to convolve")
    padded = torch.nn.functional.pad(a, (n - 1, n - 1))
    # Row i is the sequence backwards, its last element at column i - size + 1.
    whole = torch.flip(padded.unfold(-1, n, 1), (-1,))
    size = a.shape[-1]
    cut = {"full": 0, "same": min(n, size) - 1, "valid": 2 * (min(n, size) - 1)}[mode]
    return whole[..., cut // 2 : whole.shape[-2] - (cut - cut // 2), :].contiguous()


def _column_and_row(given: Any, beside: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return first column and first row of what may be a pair of them."""
    if isinstance(given, tuple):
        c, r = given
        return like(c, beside), like(r, beside)
    c = like(given, beside)
    return c, conjugate(c)


def _on_cpu(bound: dict[str, Any]) -> str:
    return (
        "Levinson's recursion goes row by row, which a CPU does best"
        if free_for_scipy(bound)
        else ""
    )


@on_tensors("linalg.solve_toeplitz", arrays=("b",), host_reason=_on_cpu, tolerance=2**14)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve with matrices of constant diagonals, by LU."""
    c, r, b = prepared(*_column_and_row(c_or_cr, b), b)
    checks.finite(c, r, b, check_finite=check_finite)
    vector = b.ndim == 1
    if c.shape[-1] != r.shape[-1] or c.shape[-1] != b.shape[0 if vector else -2] or has_none(b):
        raise ValueError("sizes that don't fit, or no elements")
    found = torch.linalg.solve(_toeplitz(c, r), b.unsqueeze(-1) if vector else b)
    return found.squeeze(-1) if vector else found


@on_tensors("linalg.matmul_toeplitz", arrays=("x",), tolerance=1024)
def matmul_toeplitz(
    c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None
) -> Any:
    """Multiply by matrices of constant diagonals: they are parts of circulant ones."""
    c, r, x = prepared(*_column_and_row(c_or_cr, x), x)
    checks.finite(c, r, x, check_finite=check_finite)
    check_stack(c, r, core=1)
    vector = x.ndim == 1
    x = x.unsqueeze(-1) if vector else x
    if x.shape[-2] != r.shape[-1] or has_none(x, c):
        raise ValueError("sizes that don't fit, or no elements")
    whole = _joined(c, torch.flip(r[..., 1:], (-1,))).unsqueeze(-1)
    size, rows = whole.shape[-2], c.shape[-1]
    if whole.is_complex():
        product = torch.fft.ifft(
            torch.fft.fft(whole, dim=-2) * torch.fft.fft(x, size, -2), size, -2
        )
    else:
        product = torch.fft.irfft(
            torch.fft.rfft(whole, dim=-2) * torch.fft.rfft(x, size, -2), size, -2
        )
    found = product[..., :rows, :]
    return found.squeeze(-1) if vector else found


@traced("linalg.block_diag", arrays=("arrs",))
def block_diag(*arrs: Any) -> Any:
    """Matrices, one below and beside the other."""
    blocks = [np.atleast_2d(one) for one in arrs] or [np.zeros((1, 0))]
    if any(one.ndim != 2 for one in blocks):
        raise ValueError("arguments in the following positions have dimension greater than 2")
    columns = sum(one.shape[1] for one in blocks)
    rows, before = [], 0
    for one in blocks:
        rows.append(np.pad(one, ((0, 0), (before, columns - before - one.shape[1]))))
        before += one.shape[1]
    return np.concatenate(rows)
