"""Norms of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.lib.array_utils import normalize_axis_tuple

from npaccel._numpy.core.axes import axes_of, axis_of
from npaccel._numpy.core.dtypes import as_tensor, cast, narrow, to_numpy
from npaccel._numpy.core.layouts import lying_as_reduced
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.host import linalg as host_linalg
from npaccel._runtime.torch.symbolic_sizes import surely


def as_inexact(x: Any) -> torch.Tensor:
    """Return a tensor of floats or complex numbers; integers become float64 (narrow: float32)."""
    tensor = as_tensor(x)
    own = to_numpy(tensor.dtype)
    return tensor if own.kind in "fc" else cast(tensor, narrow(np.dtype(np.float64), [own]))


def _squares(x: torch.Tensor) -> torch.Tensor:
    if x.is_complex():
        return torch.square(x.real) + torch.square(x.imag)
    # One read of x: the product x * x counts as two, and enough strided reads
    # keep Inductor from vectorising.
    return torch.square(x)


def euclidean(x: torch.Tensor, axes: tuple[int, ...], keepdims: bool) -> torch.Tensor:
    """Return the root of the sum of squares, in x's precision."""
    if not axes:
        return torch.abs(x)
    return torch.sqrt(torch.sum(_squares(x), axes, keepdims))


def _largest(x: torch.Tensor, axis: int, keepdims: bool = False) -> torch.Tensor:
    """Return the largest of numbers that aren't negative: 0 of none."""
    if surely(x.shape[axis] == 0):
        np.linalg.norm(np.zeros(0), ord=np.inf)  # Older versions of NumPy raise.
        return torch.sum(x, axis, keepdims)
    return torch.amax(x, axis, keepdims)


def _along(x: torch.Tensor, order: Any, axis: int, keepdims: bool) -> torch.Tensor:
    """Return the norm of vectors along one axis."""
    if order is None or order == 2:
        return euclidean(x, (axis,), keepdims)
    if order == np.inf:
        return _largest(torch.abs(x), axis, keepdims)
    if order == -np.inf:
        return torch.amin(torch.abs(x), axis, keepdims)
    if order == 0:
        return torch.sum((x != 0).to(x.real.dtype if x.is_complex() else x.dtype), axis, keepdims)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order == 1:
        return torch.sum(torch.abs(x), axis, keepdims)
    found: torch.Tensor = torch.sum(torch.abs(x) ** order, axis, keepdims) ** (1 / order)
    return found


def singular_values(x: torch.Tensor) -> torch.Tensor:
    """Return the singular values of matrices; on a CPU NumPy's LAPACK is the faster one."""
    return host_linalg.svdvals(x) if host.usable(x) else torch.linalg.svdvals(x)


def _singular(
    x: torch.Tensor, axes: tuple[int, int], pick: Callable[..., torch.Tensor]
) -> torch.Tensor:
    return pick(singular_values(check_float(x.movedim(axes, (-2, -1)))), -1)


def check_float(x: torch.Tensor) -> torch.Tensor:
    """Return x, or raise NumPy's TypeError for float16."""
    if x.dtype == torch.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    return x


_SUMS_OF_COLUMNS: dict[Any, tuple[Callable[..., torch.Tensor], int]] = {
    1: (_largest, 0),
    -1: (torch.amin, 0),
    np.inf: (_largest, 1),
    -np.inf: (torch.amin, 1),
}
_SINGULAR_VALUES: dict[Any, Callable[..., torch.Tensor]] = {
    2: _largest,
    -2: torch.amin,
    "nuc": torch.sum,
}


def _of_matrices(
    x: torch.Tensor, order: Any, axes: tuple[int, int], keepdims: bool
) -> torch.Tensor:
    """Return the norm of the matrices at two axes."""
    if order in (None, "fro", "f"):
        return euclidean(x, axes, keepdims)
    if order in _SINGULAR_VALUES:
        found = _singular(x, axes, _SINGULAR_VALUES[order])
    elif order in _SUMS_OF_COLUMNS:
        pick, which = _SUMS_OF_COLUMNS[order]
        sums = torch.sum(torch.abs(x), axes[which], True)
        found = pick(sums, axes[1 - which], True)
        return found if keepdims else found.squeeze(axes)
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        for axis in sorted(axes):
            found = found.unsqueeze(axis)
    return found


@implements(np.linalg.norm, zero_d="scalar")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
    """`numpy.linalg.norm`.

    Raises
    ------
    ValueError
        If the order doesn't exist for vectors or matrices, or there are more than two axes.
    """
    x = as_inexact(x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            return euclidean(x, tuple(range(x.ndim)), keepdims)
        axes = tuple(range(x.ndim))
    else:
        axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    if len(axes) == 1:
        axis = axis_of(axes[0], x.ndim)
        return lying_as_reduced(_along(x, ord, axis, keepdims), [x], (axis,))
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    first, second = (axis_of(i, x.ndim) for i in axes)
    if first == second:
        raise ValueError("Duplicate axes given.")
    return lying_as_reduced(_of_matrices(x, ord, (first, second), keepdims), [x], (first, second))


@implements(np.linalg.matrix_norm, zero_d="scalar")
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> torch.Tensor:
    """`numpy.linalg.matrix_norm`, of the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm, zero_d="scalar")
def vector_norm(
    x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> torch.Tensor:
    """`numpy.linalg.vector_norm`; of several axes together, as of one long vector."""
    x = as_inexact(x)
    axes = axes_of(axis, x.ndim)
    if ord is None or ord == 2:
        found = euclidean(x, axes, keepdims)
        return lying_as_reduced(found, [x], axes) if len(axes) == 1 else found
    if axis is None:
        found = _along(x.reshape(-1), ord, 0, False)
    elif isinstance(axis, tuple):
        rest = [i for i in range(x.ndim) if i not in normalize_axis_tuple(axis, x.ndim)]
        moved = x.permute([*axes, *rest]).flatten(0, len(axes) - 1)
        found = _along(moved, ord, 0, False)
    else:
        return lying_as_reduced(_along(x, ord, axes[0], keepdims), [x], axes)
    if keepdims:
        for i in sorted(axes):
            found = found.unsqueeze(i)
    return found
