"""Dask's reductions of a block, with NumPy's functions alone, so that they can be compiled.

Each function stands for the one of the same name in `dask.array.reductions`, and gives what that
gives. The blocks' results are combined by Dask.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def numel(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = np.float64) -> Any:
    """Return the number of elements along axes, as an array."""
    given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [i % x.ndim for i in given]
    count = math.prod([x.shape[i] for i in axes])
    if keepdims:
        shape = tuple([1 if i in axes else x.shape[i] for i in range(x.ndim)])
    else:
        shape = tuple([x.shape[i] for i in range(x.ndim) if i not in axes])
    return np.full(shape, count, dtype=dtype)


def nannumel(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Return the number of elements along axes that aren't NaN."""
    return np.sum(~np.isnan(x), axis=axis, keepdims=keepdims, dtype=dtype)


def mean_chunk(x: Any, dtype: Any = "f8", axis: Any = None, keepdims: bool = False) -> Any:
    """Return a block's part of a mean."""
    n = numel(x, axis, keepdims, dtype)
    return {"n": n, "total": np.sum(x, axis=axis, keepdims=keepdims, dtype=dtype)}


def nanmean_chunk(x: Any, dtype: Any = "f8", axis: Any = None, keepdims: bool = False) -> Any:
    """Return a block's part of a mean without NaNs."""
    n = nannumel(x, axis, keepdims, dtype)
    return {"n": n, "total": np.nansum(x, axis=axis, keepdims=keepdims, dtype=dtype)}


def moment_chunk(
    x: Any,
    order: int = 2,
    dtype: Any = "f8",
    axis: Any = None,
    keepdims: bool = False,
    implicit_complex_dtype: bool = False,
) -> Any:
    """Return a block's part of a variance, or of a higher moment."""
    n = numel(x, axis, keepdims).astype(np.int64)
    of = None if implicit_complex_dtype else dtype
    return _moments(x, n, np.sum, order, dtype, of, axis, keepdims)


def nanmoment_chunk(
    x: Any,
    order: int = 2,
    dtype: Any = "f8",
    axis: Any = None,
    keepdims: bool = False,
    implicit_complex_dtype: bool = False,
) -> Any:
    """Return a block's part of a variance, or of a higher moment, without NaNs."""
    n = nannumel(x, axis, keepdims).astype(np.int64)
    of = None if implicit_complex_dtype else dtype
    return _moments(x, n, np.nansum, order, dtype, of, axis, keepdims)


def _moments(
    x: Any, n: Any, add: Any, order: int, dtype: Any, of: Any, axis: Any, keepdims: bool
) -> Any:
    """Return sums of powers of differences from the mean; `of` is the dtype of the mean's sum."""
    total = add(x, axis=axis, keepdims=keepdims, dtype=of)
    with np.errstate(divide="ignore", invalid="ignore"):
        d = x - total / n
    if np.iscomplexobj(x):
        d = np.abs(d)
    xs = [add(d**i, axis=axis, keepdims=keepdims, dtype=dtype) for i in range(2, order + 1)]
    return {"total": total, "n": n, "M": np.stack(xs, axis=-1)}


def chunk_min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the minimum of a block, an empty array of an empty one."""
    if x.size == 0:
        return np.array([], dtype=x.dtype, ndmin=x.ndim)
    return np.min(x, axis=axis, keepdims=keepdims)


def chunk_max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the maximum of a block, an empty array of an empty one."""
    if x.size == 0:
        return np.array([], dtype=x.dtype, ndmin=x.ndim)
    return np.max(x, axis=axis, keepdims=keepdims)


def nanmin_chunk(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the minimum of a block without NaNs, an empty array of an empty one."""
    if x.size == 0:
        return np.array([], dtype=x.dtype)
    return np.nanmin(x, axis=axis, keepdims=keepdims)


def nanmax_chunk(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the maximum of a block without NaNs, an empty array of an empty one."""
    if x.size == 0:
        return np.array([], dtype=x.dtype)
    return np.nanmax(x, axis=axis, keepdims=keepdims)


#: Square root of variances, whose blocks may be masked arrays of no dimensions.
sqrt = np.sqrt

__all__ = [
    "chunk_max",
    "chunk_min",
    "mean_chunk",
    "moment_chunk",
    "nanmax_chunk",
    "nanmean_chunk",
    "nanmin_chunk",
    "nanmoment_chunk",
    "nannumel",
    "numel",
    "sqrt",
]
