"""NumPy's products of matrices and its LAPACK as torch operators; see `kernels`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.host import measured_products
from npaccel._numpy.host.blocked import MANY
from npaccel._numpy.host.registration import Array, Form, kernel, operator, several, usable, writing

#: Maximum number of multiplications of each matrix of stacks that are NumPy's: torch's threads wait
#: for each other at every one of them.
_SMALL = 4096


def stack_usable(multiplications: Any, *stacks: torch.Tensor) -> bool:
    """Whether NumPy's loop over a stack of small matrices is the faster one.

    Parameters
    ----------
    multiplications : int or torch.SymInt
        How many one matrix takes.
    *stacks : torch.Tensor
        The operands, with more than two dimensions one of them.
    """
    small = isinstance(multiplications, int) and multiplications <= _SMALL
    return small and any(x.ndim > 2 for x in stacks) and usable(*stacks)


#: Dtypes that NumPy's BLAS multiplies.
_OF_BLAS = (torch.float32, torch.float64, torch.complex64, torch.complex128)
#: Least size of each axis of matrices that the choice was measured for.
_LEAST_AXIS = 9


def product_usable(multiplications: Any, a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether NumPy's product is the faster one: of small matrices in stacks, or by its BLAS.

    Parameters
    ----------
    multiplications : int or torch.SymInt
        How many the product of two matrices takes.
    a, b : torch.Tensor
        Matrices or stacks of them, of one dtype.
    """
    return stack_usable(multiplications, a, b) or has_faster_blas(a, b)


def has_faster_blas(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether NumPy's product is the faster one by its BLAS; see `product_usable`."""
    if a.dtype not in _OF_BLAS or not usable(a, b):
        return False
    sizes: list[Any] = [*a.shape[-2:], b.shape[-1]]
    if not all(type(n) is int and n >= _LEAST_AXIS for n in sizes):
        return False
    # Small matrices of stacks are multiplied by all threads in torch.
    is_stack = max(a.ndim, b.ndim) > 2
    return measured_products.is_numpys(a.dtype, *sizes, is_stack=is_stack)


#: Inductor is not to bring their operands into memory: that is for their lowering to decide.
_FREE = (torch.Tag.pt2_compliant_tag, torch.Tag.flexible_layout)


def vector_usable(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether a product of which one operand is a vector is `of_vector` or `of_row`."""
    if {a.ndim, b.ndim} not in ({1}, {1, 2}) or a.dtype != b.dtype:
        return False
    sizes: list[Any] = [*a.shape, *b.shape]
    if a.dtype not in (torch.float32, torch.float64) or not all(type(n) is int for n in sizes):
        return False
    return bool(a.shape[-1] == b.shape[0]) and max(a.numel(), b.numel()) >= MANY and usable(a, b)


#: The product of a matrix, or a vector, with a vector. Inductor writes a kernel in its place, or a
#: loop where an operand is computed by it (`vector_products.py`).
of_vector = operator("of_vector(Tensor m, Tensor x) -> Tensor", torch.matmul, torch.matmul, _FREE)
#: The product of a vector with a matrix.
of_row = operator("of_row(Tensor x, Tensor m) -> Tensor", torch.matmul, torch.matmul, _FREE)


def _product(a: torch.Tensor, b: torch.Tensor) -> Form:
    found = torch.matmul(a, b)
    return found.shape, found.dtype


@kernel("matmul(Tensor a, Tensor b) -> Tensor", _product)
def matmul(a: Array, b: Array) -> Array:
    """`numpy.matmul` of matrices of one dtype, or of stacks of them."""
    return np.matmul(a, b)  # type: ignore[no-any-return]


@writing("matmul_to(Tensor(a!) out, Tensor a, Tensor b) -> ()")
def matmul_to(out: Array, a: Array, b: Array) -> None:
    """`numpy.matmul` into an array that may be one of the operands."""
    np.matmul(a, b, out=out)


def _solution(a: torch.Tensor, b: torch.Tensor) -> Form:
    stack = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # type: ignore[no-untyped-call]
    return (*stack, *b.shape[-2:]), b.dtype


@kernel("solve(Tensor a, Tensor b) -> Tensor", _solution)
def solve(a: Array, b: Array) -> Array:
    """`numpy.linalg.solve` of stacks of matrices."""
    return np.linalg.solve(a, b)


@kernel("inv(Tensor x) -> Tensor", lambda x: (x.shape, x.dtype))
def inv(x: Array) -> Array:
    """`numpy.linalg.inv`."""
    return np.linalg.inv(x)


@kernel("det(Tensor x) -> Tensor", lambda x: (x.shape[:-2], x.dtype))
def det(x: Array) -> Array:
    """`numpy.linalg.det` of stacks of matrices."""
    return np.linalg.det(x)  # type: ignore[no-any-return]


def _spectrum(x: torch.Tensor, *_: Any) -> Form:
    shorter: Any = torch.sym_min(x.shape[-2], x.shape[-1])  # type: ignore[no-untyped-call]
    return (*x.shape[:-2], shorter), x.dtype.to_real()


@kernel("eigvalsh(Tensor x, str uplo) -> Tensor", _spectrum)
def eigvalsh(x: Array, uplo: Any) -> Array:
    """`numpy.linalg.eigvalsh`."""
    return np.linalg.eigvalsh(x, uplo)


def _lapack_dtype(x: torch.Tensor) -> torch.dtype:
    return x.dtype if x.is_floating_point() or x.is_complex() else torch.float64


def _eigenvectors(x: torch.Tensor, _: str) -> list[Form]:
    dtype = _lapack_dtype(x)
    return [(x.shape[:-1], dtype.to_real()), (x.shape, dtype)]


@several("eigh(Tensor x, str uplo) -> Tensor[]", _eigenvectors)
def eigh(x: Array, uplo: Any) -> Sequence[Array]:
    """`numpy.linalg.eigh`."""
    return np.linalg.eigh(x, uplo)


@kernel("svdvals(Tensor x) -> Tensor", _spectrum)
def svdvals(x: Array) -> Array:
    """`numpy.linalg.svd` without vectors."""
    return np.linalg.svd(x, compute_uv=False)


def _singular(x: torch.Tensor, full: bool) -> list[Form]:
    *stack, m, n = x.shape
    shorter: Any = torch.sym_min(m, n)  # type: ignore[no-untyped-call]
    dtype = _lapack_dtype(x)
    left, right = (*stack, m, m if full else shorter), (*stack, n if full else shorter, n)
    return [(left, dtype), ((*stack, shorter), dtype.to_real()), (right, dtype)]


@several("svd(Tensor x, bool full) -> Tensor[]", _singular)
def svd(x: Array, full: bool) -> Sequence[Array]:
    """`numpy.linalg.svd`."""
    return np.linalg.svd(x, full)


def _transposed(x: torch.Tensor, *_: Any) -> Form:
    return (*x.shape[:-2], x.shape[-1], x.shape[-2]), _lapack_dtype(x)


@kernel("pinv(Tensor x, float rcond, bool hermitian) -> Tensor", _transposed)
def pinv(x: Array, rcond: float, hermitian: bool) -> Array:
    """`numpy.linalg.pinv`."""
    return np.linalg.pinv(x, rcond, hermitian)


def _least_squares(a: torch.Tensor, b: torch.Tensor, _: float | None) -> list[Form]:
    dtype = torch.promote_types(_lapack_dtype(a), _lapack_dtype(b))
    (m, n), k = a.shape, b.shape[1]
    shorter: Any = torch.sym_min(m, n)  # type: ignore[no-untyped-call]
    real = dtype.to_real()
    return [((n, k), dtype), ((k,), real), ((), torch.int32), ((shorter,), real)]


@several("lstsq(Tensor a, Tensor b, float? rcond) -> Tensor[]", _least_squares)
def lstsq(a: Array, b: Array, rcond: float | None) -> Sequence[Array]:
    """`numpy.linalg.lstsq` of matrices; zeros where it leaves sums of squared errors out."""
    found, sums, rank, values = np.linalg.lstsq(a, b, rcond)
    sums = sums if sums.size == b.shape[1] else np.zeros(b.shape[1], sums.dtype)
    return found, sums, np.asarray(rank, np.int32), values


def _condition(x: torch.Tensor, _: bool) -> Form:
    return x.shape[:-2], _lapack_dtype(x).to_real()


@kernel("cond(Tensor x, bool smallest) -> Tensor", _condition)
def cond(x: Array, smallest: bool) -> Array:
    """`numpy.linalg.cond` by singular values: the largest by the smallest, or the reverse."""
    return np.linalg.cond(x, -2 if smallest else 2)  # type: ignore[no-any-return]


def _squared(x: torch.Tensor, dtype: str, *_: Any) -> Form:
    return (x.shape[0], x.shape[0]), getattr(torch, dtype)


@kernel("covariance(Tensor x, str dtype, SymInt divisor) -> Tensor", _squared)
def covariance(x: Array, dtype: str, divisor: int) -> Array:
    """Covariances of the rows: `numpy.cov`, whose product BLAS computes one half of only.

    Integers are cast here as well: threads of a loop before it would spin beside BLAS's.
    """
    x = x.astype(dtype, copy=False)
    x = x - x.mean(1, keepdims=True)
    found = np.dot(x, x.T)
    with np.errstate(all="ignore"):
        found *= np.true_divide(1, divisor)
    return found  # type: ignore[no-any-return]


@kernel("correlation(Tensor x, str dtype) -> Tensor", _squared)
def correlation(x: Array, dtype: str) -> Array:
    """`numpy.corrcoef` of rows of real numbers."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.atleast_2d(np.corrcoef(x, dtype=dtype))
