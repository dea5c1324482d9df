"""Helpers of the modules of `scipy.linalg`: stacks of matrices, triangles, condition numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from scipy.linalg import LinAlgWarning

from npaccel._numpy.linalg.decompositions import conjugate, prepared, transposed
from npaccel._runtime.torch.symbolic_sizes import is_traced, surely
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.checks import is_finite, readable

Linear = Callable[[torch.Tensor], torch.Tensor]


def refuse_traced(x: torch.Tensor, why: str) -> None:
    """Leave a call in traced code to SciPy: its steps depend on values."""
    if is_traced(x):
        raise NotImplementedError(why)


def not_finite(*arrays: Any) -> str:
    """Say so where an array has a NaN or an infinity, which SciPy refuses: values are read."""
    known = [x for x in arrays if isinstance(x, torch.Tensor) and readable(x)]
    return "" if all(map(is_finite, known)) else "array must not contain infs or NaNs"


def like(value: Any, x: torch.Tensor) -> torch.Tensor:
    """Return an array that came within a tuple as a tensor beside another."""
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(np.asarray(value))
    found: torch.Tensor = value.to(x.device)
    return found


def check_stack(*arrays: torch.Tensor, core: int = 2) -> None:
    """Raise ValueError for stacks of nothing, and for what has too few dimensions."""
    for array in arrays:
        if array.ndim < core:
            raise ValueError(f"expected at least {core} dimensions, got {array.ndim}")
        if any(surely(size == 0) for size in array.shape[: array.ndim - core]):
            raise ValueError("stacks of no matrices are not supported")


def check_square(*arrays: torch.Tensor) -> None:
    """Raise ValueError where matrices aren't square."""
    for array in arrays:
        if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
            raise ValueError(f"expected square matrices, got the shape {tuple(array.shape)}")


def square(a: Any, *, check_finite: bool = True, name: str = "a") -> torch.Tensor:
    """Return square matrices in the dtype that LAPACK computes in."""
    (x,) = prepared(a)
    check_square(x)
    check_stack(x)
    checks.finite(x, check_finite=check_finite)
    return x


def matrices(*arrays: Any, check_finite: bool = True) -> list[torch.Tensor]:
    """Return matrices in one dtype that LAPACK computes in."""
    found = prepared(*arrays)
    check_stack(*found)
    checks.finite(*found, check_finite=check_finite)
    return found


def results(stacked: bool, *parts: Any) -> Any:
    """Return several results as SciPy does: in a list for a stack, else in a tuple."""
    return list(parts) if stacked else parts


def broadcast_shapes(*shapes: Any) -> Any:
    """Return the shape that arrays of these shapes have together."""
    return torch.broadcast_shapes(*shapes)


def at_least_1d(x: torch.Tensor) -> torch.Tensor:
    """Return an array with one dimension or more."""
    return x if x.ndim else x.unsqueeze(0)


def adjoint(x: torch.Tensor) -> torch.Tensor:
    """Return the conjugate transpose."""
    return conjugate(transposed(x))


def with_columns(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, bool]:
    """Return matrices and right-hand sides in one stack, and whether `b` is one vector."""
    vector = b.ndim == 1
    if vector:
        b = b.unsqueeze(-1)
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:]), vector


def has_none(*arrays: torch.Tensor) -> bool:
    """Whether one of the arrays has no element."""
    return any(surely(size == 0) for array in arrays for size in array.shape)


def diagonal(a: torch.Tensor) -> torch.Tensor:
    """Return the diagonals of matrices."""
    return torch.diagonal(a, 0, -2, -1)


def eye_of(a: torch.Tensor, n: int | None = None) -> torch.Tensor:
    """Return an identity matrix in the dtype and on the device of another."""
    return torch.eye(a.shape[-1] if n is None else n, dtype=a.dtype, device=a.device)


def from_triangle(a: torch.Tensor, lower: bool, conjugated: bool = True) -> torch.Tensor:
    """Return Hermitian (or symmetric) matrices of which one triangle is given."""
    part = torch.tril(a, -1) if lower else torch.triu(a, 1)
    other = adjoint(part) if conjugated else transposed(part)
    middle = diagonal(a)
    if conjugated and a.is_complex():
        middle = middle.real.to(a.dtype)
    return part + other + torch.diag_embed(middle)


def norm1(a: torch.Tensor) -> torch.Tensor:
    """Return the largest sum of the absolute values of a column."""
    return torch.amax(torch.sum(torch.abs(a), -2), -1)


def nonsingular(diagonals: torch.Tensor) -> None:
    """Leave triangular matrices with a zero on the diagonal to SciPy, which raises."""
    checks.holds((diagonals != 0).all(), "singular matrix")


def reciprocal_condition(a: torch.Tensor, solve: Linear, solve_transposed: Linear) -> torch.Tensor:
    """Estimate 1 / (|A| |A^-1|) in the 1-norm by a few solutions (Hager 1984, Higham 1988)."""
    n = a.shape[-1]
    start = torch.full((*a.shape[:-1], 1), 1 / n, dtype=a.dtype, device=a.device)
    first = solve(start)
    signs = torch.where(first == 0, 1, torch.sgn(first))
    slopes = torch.abs(solve_transposed(signs))
    steepest = torch.argmax(slopes, -2, keepdim=True)
    index = torch.arange(n, device=a.device).unsqueeze(-1)
    second = solve((index == steepest).to(a.dtype))
    steps = torch.arange(n, device=a.device, dtype=a.real.dtype).unsqueeze(-1)
    ramp = (1 - 2 * (index % 2)) * (1 + steps / max(n - 1, 1))
    third = solve(ramp.to(a.dtype).expand(start.shape)) * (2 / (3 * n))
    sizes = [torch.sum(torch.abs(x), (-2, -1)) for x in (first, second, third)]
    inverse = torch.maximum(torch.maximum(sizes[0], sizes[1]), sizes[2])
    return 1 / (norm1(a) * inverse)


def warn_if_ill_conditioned(reciprocal: torch.Tensor) -> None:
    """Warn as SciPy does; code compiled for a CPU lets SciPy run, and warn, where it would."""
    good = reciprocal >= torch.finfo(reciprocal.dtype).eps / 2
    if is_traced(reciprocal):
        checks.holds(good.all(), "the matrix is ill-conditioned")
    elif readable(reciprocal) and not good.all():
        found = enumerate(zip(good.flatten().tolist(), reciprocal.flatten().tolist(), strict=True))
        told = ",".join(f"slice {i} has rcond = {value}" for i, (fine, value) in found if not fine)
        warnings.warn(f"An ill-conditioned matrix detected: {told}.", LinAlgWarning, stacklevel=6)


def common_rank(counted: torch.Tensor, why: str) -> int:
    """Return how many values count in each of a stack: read, or all of them on a meta device.

    Traced code for a CPU assumes all of them, and runs in SciPy where there are fewer.
    """
    whole = int(counted.shape[-1])
    if is_traced(counted):
        if counted.device.type != "cpu":
            raise NotImplementedError(why)
        checks.holds(counted.all(), "the rank isn't full")
        return whole
    if counted.device.type == "meta" or not counted.numel():
        return whole
    ranks = set(counted.sum(-1).flatten().tolist())
    if len(ranks) > 1:
        raise ValueError("the matrices of the stack differ in rank")
    return int(ranks.pop())


def banded(bands: torch.Tensor, lower: bool) -> torch.Tensor:
    """Return Hermitian matrices whose diagonals are the rows of `bands`."""
    count, n = bands.shape[-2:]
    rows: Iterator[tuple[int, torch.Tensor]] = (
        (k, bands[..., k, : n - k] if lower else bands[..., count - 1 - k, k:])
        for k in range(min(count, n))
    )
    found = None
    for k, row in rows:
        part = torch.diag_embed(row, -k if lower else k)
        found = part if found is None else found + part
    assert found is not None
    return from_triangle(found, lower)
