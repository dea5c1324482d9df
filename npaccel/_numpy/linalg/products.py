"""Products: dot and the like, tensordot, einsum, kron, cross and trace."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, call, deliver
from npaccel._numpy.core.dtypes import as_tensor, cast, result_dtype
from npaccel._numpy.core.table import implements
from npaccel._numpy.ufuncs.gufuncs import matmul
from npaccel._runtime.torch.symbolic_sizes import holds_here, surely

#: Dtypes that BLAS multiplies, for whose results NumPy takes an `out` of the same dtype only.
_OF_BLAS = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def promoted(*operands: Any) -> list[torch.Tensor]:
    """Return the operands as tensors of their common dtype; no scalar is weak here."""
    tensors = [as_tensor(x) for x in operands]
    dtype = result_dtype(*tensors)
    return [cast(x, dtype) for x in tensors]


def _aligned(a: torch.Tensor, b: torch.Tensor, i: int, j: int) -> None:
    """Raise NumPy's ValueError where two contracted axes differ in length."""
    if holds_here(a.shape[i] != b.shape[j], "the lengths differ"):
        raise ValueError(
            f"shapes {tuple(a.shape)} and {tuple(b.shape)} not aligned: "
            f"{a.shape[i]} (dim {i % a.ndim}) != {b.shape[j]} (dim {j % b.ndim})"
        )


def _are_single(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether NumPy multiplies two elements, where other sums of products begin with zero."""
    flat = a.dtype in _OF_BLAS and max(a.ndim, b.ndim) <= 2
    return flat and surely(a.numel() == 1) and surely(b.numel() == 1)


def _single(a: torch.Tensor, b: torch.Tensor, behind: Sequence[Any]) -> torch.Tensor:
    return (a.reshape(()) * b.reshape(())).reshape((*a.shape[:-1], *behind))


@implements(np.dot, zero_d="scalar")
def dot(a: Any, b: Any, out: torch.Tensor | None = None) -> torch.Tensor:
    """`numpy.dot`, by the ranks of its operands."""
    a, b = promoted(a, b)
    if a.ndim == 0 or b.ndim == 0:
        found = call(np.multiply, a, b)
        by_blas = found.dtype in _OF_BLAS and max(a.ndim, b.ndim) <= 2
        if by_blas or out is None:
            return exactly(found, out)
        return call(np.multiply, a, b, out=out)  # type: ignore[no-any-return]
    _aligned(a, b, -1, max(b.ndim - 2, 0))
    if _are_single(a, b):
        return exactly(_single(a, b, b.shape[:-2] + b.shape[-1:] if b.ndim > 1 else ()), out)
    if a.ndim <= 2 and b.ndim <= 2:
        return exactly(matmul(a, b), out)
    if b.ndim == 1:
        return exactly(_contract(a, b, [a.ndim - 1], [0]), out)
    return exactly(_contract(a, b, [a.ndim - 1], [b.ndim - 2]), out)


def exactly(found: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Return a result, written to an `out` that must be what `dot` would have made."""
    if out is not None and not (out.dtype == found.dtype and out.is_contiguous()):
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, "
            "and be a C-Array)"
        )
    return deliver(found, out)


implements("numpy.ndarray.dot", zero_d="scalar")(dot)


@implements(np.vdot, zero_d="scalar")
def vdot(a: Any, b: Any, /) -> torch.Tensor:
    """`numpy.vdot`: of the flattened operands, the first one conjugated."""
    a, b = promoted(a, b)
    a, b = a.reshape(-1), b.reshape(-1)
    if holds_here(a.shape[0] != b.shape[0], "the lengths differ"):
        raise ValueError("cannot reshape array: vdot takes operands of one size")
    return matmul(torch.conj_physical(a) if a.is_complex() else a, b)


@implements(np.inner, zero_d="scalar")
def inner(a: Any, b: Any, /) -> torch.Tensor:
    """`numpy.inner`: over the last axes of both."""
    a, b = promoted(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return call(np.multiply, a, b)  # type: ignore[no-any-return]
    _aligned(a, b, -1, -1)
    if _are_single(a, b):
        return _single(a, b, b.shape[:-1])
    if a.ndim == 1 and b.ndim == 1:
        return matmul(a, b)
    return _contract(a, b, [a.ndim - 1], [b.ndim - 1])


@implements(np.outer)
def outer(a: Any, b: Any, out: torch.Tensor | None = None) -> torch.Tensor:
    """`numpy.outer` of the flattened operands."""
    left, right = as_tensor(a).reshape(-1, 1), as_tensor(b).reshape(1, -1)
    return deliver(call(np.multiply, left, right), out)


def _contract(
    a: torch.Tensor, b: torch.Tensor, axes_a: list[int], axes_b: list[int]
) -> torch.Tensor:
    """Return the sum of products over pairs of axes, one matrix product."""
    free_a = [i for i in range(a.ndim) if i not in axes_a]
    free_b = [i for i in range(b.ndim) if i not in axes_b]
    rows = [a.shape[i] for i in free_a]
    columns = [b.shape[i] for i in free_b]
    inside = math.prod(a.shape[i] for i in axes_a)
    left = a.permute(free_a + axes_a).reshape(math.prod(rows), inside)
    right = b.permute(axes_b + free_b).reshape(inside, math.prod(columns))
    return matmul(left, right).reshape(rows + columns)


def _axis_list(axes: Any) -> list[int]:
    return [operator.index(i) for i in axes] if isinstance(axes, list | tuple) else [axes]


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> torch.Tensor:
    """`numpy.tensordot`.

    Raises
    ------
    ValueError
        If the axes to sum over differ in number or length.
    """
    a, b = promoted(a, b)
    if isinstance(axes, list | tuple):
        axes_a, axes_b = _axis_list(axes[0]), _axis_list(axes[1])
    else:
        axes_a, axes_b = list(range(-axes, 0)), list(range(axes))
    if len(axes_a) != len(axes_b) or any(
        a.shape[i] != b.shape[j] for i, j in zip(axes_a, axes_b, strict=True)
    ):
        raise ValueError("shape-mismatch for sum")
    axes_a = [axis_of(i, a.ndim) for i in axes_a]
    axes_b = [axis_of(j, b.ndim) for j in axes_b]
    if len(set(axes_a)) != len(axes_a) or len(set(axes_b)) != len(axes_b):
        raise ValueError("axes are repeated in tensordot; name each axis once")
    return _contract(a, b, axes_a, axes_b)


@implements(np.kron, zero_d="scalar")
def kron(a: Any, b: Any) -> torch.Tensor:
    """`numpy.kron`."""
    a, b = as_tensor(a), as_tensor(b)
    ndim = max(a.ndim, b.ndim)
    first = (1,) * (ndim - a.ndim) + tuple(a.shape)
    second = (1,) * (ndim - b.ndim) + tuple(b.shape)
    spread = call(
        np.multiply,
        a.reshape([n for size in first for n in (size, 1)]),
        b.reshape([n for size in second for n in (1, size)]),
    )
    return spread.reshape([m * n for m, n in zip(first, second, strict=True)])  # type: ignore[no-any-return]


@implements(np.trace, zero_d="scalar")
@implements("numpy.ndarray.trace", zero_d="scalar")
def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """`numpy.trace`, summed as `numpy.sum` sums."""
    x = as_tensor(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1, axis2 = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    found = call(np.sum, torch.diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)
    return deliver(found, out)


def _cross_parts(x: torch.Tensor, axis: int) -> tuple[list[torch.Tensor], int]:
    x = x.movedim(axis_of(axis, x.ndim), -1)
    length = x.shape[-1]
    if length not in (2, 3):
        raise ValueError(
            "incompatible dimensions for cross product\n(dimension must be 2 or 3): "
            f"an operand has {length}"
        )
    return [x[..., i] for i in range(int(length))], int(length)


def _cross_component(a: list[torch.Tensor], b: list[torch.Tensor], i: int) -> torch.Tensor:
    """Return one component of a cross product; a 2-D vector has no third component."""
    j, k = (i + 1) % 3, (i + 2) % 3
    terms = []
    for left, right in ((j, k), (k, j)):
        present = left < len(a) and right < len(b)
        terms.append(call(np.multiply, a[left], b[right]) if present else None)
    plus, minus = terms
    if minus is None:
        return plus  # type: ignore[return-value]
    if plus is None:
        return call(np.negative, minus)  # type: ignore[no-any-return]
    return call(np.subtract, plus, minus)  # type: ignore[no-any-return]


#: Plane vectors are refused from NumPy 2.5 on.
_CROSS_NEEDS_THREE = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> torch.Tensor:
    """`numpy.cross`, of vectors of 2 or 3 components."""
    if axis is not None:
        axisa = axisb = axisc = axis
    first, second = promoted(a, b)
    if first.ndim < 1 or second.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    parts_a, n = _cross_parts(first, axisa)
    parts_b, m = _cross_parts(second, axisb)
    if first.dtype == torch.bool:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    if _CROSS_NEEDS_THREE and (n == 2 or m == 2):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {n} and {m} dimensional instead."
        )
    if n == 2 and m == 2:
        return _cross_component(parts_a, parts_b, 2)
    components = [_cross_component(parts_a, parts_b, i) for i in range(3)]
    found = torch.stack(
        list(torch.broadcast_tensors(*components)),  # type: ignore[no-untyped-call]
        -1,
    )
    return found.movedim(-1, axis_of(axisc, found.ndim))
