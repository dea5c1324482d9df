"""`numpy.linalg`: solvers, matrix functions, and its names of the products.

A singular matrix raises `torch.linalg.LinAlgError` when the compiled code runs.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any, Literal

import numpy as np
import torch
from numpy.linalg import LinAlgError

from npaccel._numpy.core.axes import NO_VALUE, axis_of, call
from npaccel._numpy.core.dtypes import as_tensor, to_numpy
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.host import linalg as host_linalg
from npaccel._numpy.linalg.decompositions import (
    AT_RUN_TIME,
    check_square,
    check_stacked,
    conjugate,
    for_numpys_lapack,
    prepared,
    square,
    svd,
    transposed,
)
from npaccel._numpy.linalg.norms import norm
from npaccel._numpy.linalg.products import exactly, promoted, tensordot, trace
from npaccel._numpy.ufuncs.gufuncs import matmul

_SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


def _is_small(x: torch.Tensor, *others: torch.Tensor) -> bool:
    """Whether NumPy computes a stack of small matrices."""
    return host_linalg.stack_usable(x.shape[-1] ** 3, x, *others)


@implements(np.linalg.solve, note=AT_RUN_TIME)
def solve(a: Any, b: Any) -> torch.Tensor:
    """`numpy.linalg.solve`; only a 1-D `b` is a vector."""
    check_square(as_tensor(a))
    x, y = prepared(a, b)
    vector = y.ndim == 1
    if vector:
        y = y.unsqueeze(-1)
    if y.ndim < 2 or y.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"solve: `b` of shape {tuple(as_tensor(b).shape)} doesn't fit `a` of shape "
            f"{tuple(x.shape)}: core dimension 0 differs"
        )
    # With as many dimensions as `a`, torch can't take a stack of vectors for a matrix.
    y = y.reshape((1,) * (x.ndim - y.ndim) + tuple(y.shape))
    found: torch.Tensor = (host_linalg.solve if _is_small(x, y) else torch.linalg.solve)(x, y)
    return found.squeeze(-1) if vector else found.contiguous()


@implements(np.linalg.inv, note=AT_RUN_TIME)
def inv(a: Any) -> torch.Tensor:
    """`numpy.linalg.inv`."""
    x = square(a)
    found: torch.Tensor = (host_linalg.inv if _is_small(x) else torch.linalg.inv)(x)
    return found.contiguous()


@implements(np.linalg.det, zero_d="scalar")
def det(a: Any) -> torch.Tensor:
    """`numpy.linalg.det`."""
    x = square(a)
    found: torch.Tensor = (host_linalg.det if _is_small(x) else torch.linalg.det)(x)
    return found


@implements(np.linalg.slogdet, zero_d="scalar")
def slogdet(a: Any) -> Any:
    """`numpy.linalg.slogdet`."""
    sign, logarithm = torch.linalg.slogdet(square(a))
    return _SlogdetResult(sign, logarithm)


def _eps(x: torch.Tensor) -> float:
    return float(torch.finfo(x.dtype).eps)


def _cutoff(tolerance: Any, values: torch.Tensor) -> torch.Tensor:
    """Return the least singular value that counts, per matrix, with a last axis of one."""
    largest = torch.amax(values, -1, True)
    if isinstance(tolerance, torch.Tensor):
        tolerance = tolerance.to(values.dtype).unsqueeze(-1)
    least: torch.Tensor = tolerance * largest
    return least


def _check_inexact(a: torch.Tensor) -> None:
    if to_numpy(a.dtype).kind not in "fc":
        raise ValueError(f"data type {to_numpy(a.dtype)} not inexact; pass rtol as a number")


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> Any:
    """`numpy.linalg.pinv`, by the singular values above `rcond` times the largest."""
    given = as_tensor(a)
    check_stacked(given)
    if rcond is not None and rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is NO_VALUE else rtol
        if rcond is None:
            _check_inexact(given)
            rcond = max(given.shape[-2:]) * _eps(given)
    if given.shape[-1] == 0 or given.shape[-2] == 0:  # of any dtype
        return given.new_zeros([*given.shape[:-2], given.shape[-1], given.shape[-2]])
    (x,) = prepared(given)
    if isinstance(rcond, int | float) and host.usable(x):
        return host_linalg.pinv(for_numpys_lapack(given, x), float(rcond), bool(hermitian))
    left, values, right = svd(x, full_matrices=False, hermitian=hermitian)
    cutoff = _cutoff(rcond, values)
    if cutoff.ndim > values.ndim:
        raise ValueError("rcond has more dimensions than the stack of matrices")
    large = values > cutoff
    inverse = torch.where(large, 1 / torch.where(large, values, 1), 0).unsqueeze(-2)
    right, left = conjugate(transposed(right)), conjugate(transposed(left))
    return torch.matmul(right * inverse, left)


def _kind_of_rank(A: Any, *args: Any, **kwargs: Any) -> Literal["scalar", "python"]:
    """Say what `matrix_rank` gives: of a vector a number of Python's."""
    depth, part = 0, A
    while isinstance(part, list | tuple):
        depth, part = depth + 1, part[0] if part else None
    return "python" if depth + getattr(part, "ndim", 0) < 2 else "scalar"


@implements(np.linalg.matrix_rank, zero_d="scalar", zero_d_of=_kind_of_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """`numpy.linalg.matrix_rank`."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = as_tensor(A)
    if x.ndim < 2:
        return torch.any(x != 0).to(torch.int64)
    values = svd(x, compute_uv=False, hermitian=hermitian)
    if values.shape[-1] == 0:
        return torch.zeros(values.shape[:-1], dtype=torch.int64, device=values.device)
    if tol is None:
        rtol = max(x.shape[-2:]) * _eps(values) if rtol is None else rtol
        least = _cutoff(rtol, values)
    else:
        least = tol.unsqueeze(-1) if isinstance(tol, torch.Tensor) else tol
    return torch.sum(values > least, -1)


def _inverse_or_inf(x: torch.Tensor) -> torch.Tensor:
    """Return the inverse; infinities where there is none."""
    inverse, failed = torch.linalg.inv_ex(x)
    return torch.where(failed[..., None, None] != 0, torch.inf, inverse)


@implements(np.linalg.cond, zero_d="scalar")
def cond(x: Any, p: Any = None) -> torch.Tensor:
    """`numpy.linalg.cond`; infinite for a singular matrix."""
    (a,) = prepared(x)
    if a.numel() == 0 and a.shape[-1] * a.shape[-2] == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        check_stacked(a)
        if host.usable(a):
            return host_linalg.cond(for_numpys_lapack(x, a), p == -2)
        values = svd(a, compute_uv=False)
        first, last = values[..., 0], values[..., -1]
        found = last / first if p == -2 else first / last
    else:
        check_square(a)
        found = norm(a, p, (-2, -1)) * norm(_inverse_or_inf(a), p, (-2, -1))
    clean = ~torch.any(torch.isnan(a).flatten(-2), -1)
    return torch.where(torch.isnan(found) & clean, torch.inf, found)


@implements(np.linalg.lstsq, zero_d="scalar", data_dependent=True)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """`numpy.linalg.lstsq`, by singular values.

    Returns
    -------
    tuple of tensors
        Solution, residuals (none unless the rank is full and there are more
        rows than columns), rank, and singular values.
    """
    x, y = prepared(a, b)
    given = for_numpys_lapack(a, x), for_numpys_lapack(b, y)
    solution, rank, values, sums = least_squares(*given, rcond)
    if sums is None:
        columns, fitted = (one.unsqueeze(-1) if y.ndim == 1 else one for one in (y, solution))
        error = torch.abs(columns - torch.matmul(x, fitted))
        sums = torch.sum(error * error, 0)
    if x.shape[0] <= x.shape[1]:
        sums = sums[:0]
    else:
        sums = sums[(rank == x.shape[1]).expand(sums.shape)]
    return solution, sums, rank.to(torch.int32), values


def least_squares(
    a: torch.Tensor, b: torch.Tensor, rcond: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return what has static shapes: the solution, the rank and the singular values.

    The last result are the sums of squared errors, if they're there at once. They aren't any
    where the rank isn't full.
    """
    if a.ndim != 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    vector = b.ndim == 1
    if vector:
        b = b.unsqueeze(-1)
    if b.ndim != 2:
        raise LinAlgError(f"{b.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = a.shape
    if m != b.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    if host.usable(a, b) and not isinstance(rcond, torch.Tensor):
        solution, sums, rank, values = host_linalg.lstsq(a, b, rcond)
        return solution.squeeze(-1) if vector else solution, rank, values, sums
    x, y = prepared(a, b)
    if rcond is None:
        rcond = _eps(x) * max(n, m)
    elif not isinstance(rcond, torch.Tensor) and rcond < 0:
        rcond = _eps(x)  # LAPACK's reading of a negative bound
    if all(isinstance(size, int) for size in x.shape) and 0 < 2 * n <= m:  # LAPACK's way, faster
        q, x = torch.linalg.qr(x)
        y = torch.matmul(conjugate(transposed(q)), y)
    left, values, right = torch.linalg.svd(x, full_matrices=False)
    large = values > rcond * values[:1]
    inverse = torch.where(large, 1 / torch.where(large, values, 1), 0)
    parts = torch.matmul(conjugate(transposed(left)), y) * inverse.unsqueeze(-1)
    solution = torch.matmul(conjugate(transposed(right)), parts)
    return solution.squeeze(-1) if vector else solution, torch.sum(large), values, None


@implements(np.linalg.matrix_power, note=AT_RUN_TIME)
def matrix_power(a: Any, n: int) -> torch.Tensor:
    """`numpy.linalg.matrix_power` by repeated squaring."""
    x = as_tensor(a)
    check_square(x)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        eye = torch.eye(x.shape[-1], dtype=torch.int8, device=x.device).to(x.dtype)
        return eye.expand(x.shape).clone()
    found, doubled = None, x
    while n > 0:
        if n & 1:
            found = doubled if found is None else matmul(found, doubled)
        n >>= 1
        doubled = matmul(doubled, doubled) if n else doubled
    assert found is not None
    return found


@implements(np.linalg.multi_dot, zero_d="scalar")
def multi_dot(arrays: Any, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """`numpy.linalg.multi_dot`, in the cheapest order."""
    tensors = promoted(*(arrays.unbind(0) if isinstance(arrays, torch.Tensor) else arrays))
    if len(tensors) < 2:
        raise ValueError("Expecting at least two arrays.")
    for i, x in enumerate(tensors):
        if x.ndim != 2 and (x.ndim != 1 or 0 < i < len(tensors) - 1):
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    for x, y in itertools.pairwise(tensors):
        if x.shape[-1] != y.shape[0]:
            raise ValueError(f"shapes {tuple(x.shape)} and {tuple(y.shape)} not aligned")
    first, *others = tensors
    sizes = [first.shape[0] if first.ndim == 2 else 1, *(x.shape[0] for x in others)]
    sizes.append(others[-1].shape[-1] if others[-1].ndim == 2 else 1)
    if all(isinstance(size, int) for size in sizes):
        return exactly(_multiplied(tensors, _parting(sizes), 0, len(others)), out)
    if first.dtype.is_floating_point or first.is_complex():
        return exactly(torch.linalg.multi_dot(tensors), out)
    return exactly(functools.reduce(matmul, tensors), out)


def _parting(sizes: list[Any]) -> dict[tuple[int, int], int]:
    """Return where the product of matrices i to j is parted for the fewest multiplications.

    Cormen et al., Introduction to Algorithms, "Matrix-chain multiplication".
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    parting = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            ways = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], parting[i, j] = min(ways)
    return parting


def _multiplied(
    tensors: list[torch.Tensor], parting: dict[tuple[int, int], int], i: int, j: int
) -> torch.Tensor:
    if i == j:
        return tensors[i]
    k = parting[i, j]
    return matmul(_multiplied(tensors, parting, i, k), _multiplied(tensors, parting, k + 1, j))


@implements(np.linalg.tensorsolve, note=AT_RUN_TIME)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> torch.Tensor:
    """`numpy.linalg.tensorsolve`."""
    x, y = as_tensor(a), as_tensor(b)
    if axes is not None:
        moved = [axis_of(i, x.ndim) for i in axes]
        x = x.permute([i for i in range(x.ndim) if i not in moved] + moved)
    rest = x.shape[y.ndim :]
    size = math.prod(rest)
    if math.prod(x.shape[: y.ndim]) != size:
        raise LinAlgError(
            "Input arrays must satisfy the requirement "
            "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return solve(x.reshape(size, size), y.reshape(-1)).reshape(rest)


@implements(np.linalg.tensorinv, note=AT_RUN_TIME)
def tensorinv(a: Any, ind: int = 2) -> torch.Tensor:
    """`numpy.linalg.tensorinv`."""
    x = as_tensor(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = math.prod(x.shape[ind:])
    shape = list(x.shape[ind:]) + list(x.shape[:ind])
    return inv(x.reshape(rows, -1)).reshape(shape)


@implements(np.linalg.matmul, zero_d="scalar")
def _matmul(x1: Any, x2: Any, /) -> torch.Tensor:
    return call(np.matmul, x1, x2)  # type: ignore[no-any-return]


@implements(np.linalg.tensordot)
def _tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> torch.Tensor:
    return tensordot(x1, x2, axes)


@implements(np.linalg.vecdot, zero_d="scalar")
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> torch.Tensor:
    """`numpy.linalg.vecdot`: the first operand is conjugated."""
    return call(np.vecdot, x1, x2, axis=axis)  # type: ignore[no-any-return]


@implements(np.linalg.outer)
def _outer(x1: Any, x2: Any, /) -> torch.Tensor:
    a, b = as_tensor(x1), as_tensor(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={a.ndim} and x2.ndim={b.ndim}."
        )
    return call(np.outer, a, b)  # type: ignore[no-any-return]


@implements(np.linalg.cross)
def _cross(x1: Any, x2: Any, /, *, axis: int = -1) -> torch.Tensor:
    a, b = as_tensor(x1), as_tensor(x2)
    if a.shape[axis_of(axis, a.ndim)] != 3 or b.shape[axis_of(axis, b.ndim)] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[axis]} and {b.shape[axis]} dimensional instead."
        )
    return call(np.cross, a, b, axis=axis)  # type: ignore[no-any-return]


@implements(np.linalg.diagonal)
def _diagonal(x: Any, /, *, offset: int = 0) -> torch.Tensor:
    a = as_tensor(x)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    return torch.diagonal(a, offset, -2, -1)


@implements(np.linalg.trace, zero_d="scalar")
def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> torch.Tensor:
    return trace(x, offset, -2, -1, dtype)


@implements(np.linalg.matrix_transpose)
def _matrix_transpose(x: Any, /) -> torch.Tensor:
    a = as_tensor(x)
    if a.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {a.ndim}")
    return transposed(a)
