"""Diagonals, triangles and grids: matrices made from positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, check_placed, needs_array
from npaccel._numpy.core.context import settings
from npaccel._numpy.core.dtypes import (
    BOOL,
    INT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    check_cast,
    default_float,
    result_dtype,
    to_numpy,
    to_torch,
)
from npaccel._numpy.core.known_differences import UNCHECKED
from npaccel._numpy.core.layouts import lying_as_numpys
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.creation import shape_of
from npaccel._numpy.indexing.index_keys import bounded
from npaccel._numpy.ufuncs.integers import either
from npaccel._runtime.torch.symbolic_sizes import refuse_where, surely


def _positions(size: Any, device: torch.device | None = None) -> torch.Tensor:
    return torch.arange(size, device=settings().device if device is None else device)


def _float_or(dtype: Any) -> DType:
    """Return a dtype argument whose default is NumPy's `float`."""
    return default_float() if dtype in (None, float) else as_dtype(dtype)


def triangle(rows: Any, columns: Any, k: Any, device: torch.device | None = None) -> torch.Tensor:
    """Return a mask: True at and below the k-th diagonal."""
    return torch.ge(_positions(rows, device).unsqueeze(1) + k, _positions(columns, device))


@implements(np.eye)
def eye(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: Any = float,
    order: str = "C",
    *,
    device: str | None = None,
    like: Any = None,
) -> torch.Tensor:
    """`numpy.eye`."""
    check_placed(order, device, creates=True)
    (rows,) = shape_of(N)
    columns = rows if M is None else shape_of(M)[0]
    found = cast(_positions(rows).unsqueeze(1) + k == _positions(columns), _float_or(dtype))
    return lying_as_numpys(found, [found], "F") if order == "F" else found


@implements(np.identity)
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> torch.Tensor:
    """`numpy.identity`."""
    return eye(n, dtype=dtype)


@implements(np.tri)
def tri(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: Any = float,
    *,
    like: Any = None,
) -> torch.Tensor:
    """`numpy.tri`."""
    columns = N if M is None else M
    return cast(triangle(shape_of(N)[0], shape_of(columns)[0], k), _float_or(dtype))


def _part(m: Any, k: Any, upper: bool) -> torch.Tensor:
    x = as_tensor(m)
    if not x.ndim:
        raise TypeError("tril and triu take an array of at least one axis")
    rows, columns = x.shape[-1 if x.ndim == 1 else -2], x.shape[-1]
    below = triangle(rows, columns, k - 1 if upper else k, x.device)
    none = torch.zeros((), dtype=x.dtype, device=x.device)
    return either(below, none, x) if upper else either(below, x, none)


@implements(np.tril)
def tril(m: Any, k: Any = 0) -> torch.Tensor:
    """`numpy.tril`."""
    return _part(m, k, upper=False)


@implements(np.triu)
def triu(m: Any, k: Any = 0) -> torch.Tensor:
    """`numpy.triu`."""
    return _part(m, k, upper=True)


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> torch.Tensor:
    """`numpy.diagonal`: a view."""
    x = as_tensor(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    return torch.diagonal(x, int(offset), first, second)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> torch.Tensor:
    """`numpy.diag`: the diagonal of a matrix, or a matrix with this diagonal."""
    x = as_tensor(v)
    if x.ndim == 1:
        return torch.diag_embed(x, int(k))
    if x.ndim == 2:
        return diagonal(x, k)
    raise ValueError("Input must be 1- or 2-d.")


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> torch.Tensor:
    """`numpy.diagflat`."""
    return torch.diag_embed(as_tensor(v).reshape(-1), int(k))


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> torch.Tensor:
    """`numpy.vander`: powers by repeated products, as NumPy computes them."""
    v = as_tensor(x)
    if v.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = v.shape[0] if N is None else shape_of(N)[0]
    kind = result_dtype(v, INT64)
    factors = cast(v, kind).unsqueeze(1).expand(v.shape[0], columns)
    one = torch.ones((), dtype=factors.dtype, device=v.device)
    first = _positions(columns, v.device) == 0
    powers = torch.cumprod(torch.where(first, one, factors), 1).to(to_torch(kind))
    return powers if increasing else powers.flip(1)


# -- grids


@implements(np.meshgrid)
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[torch.Tensor, ...]:
    """`numpy.meshgrid`."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    lines = [as_tensor(x).reshape(-1) for x in xi]
    axes = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        axes[:2] = [1, 0]
    grid = [
        line.reshape((1,) * axis + (-1,) + (1,) * (len(lines) - 1 - axis))
        for line, axis in zip(lines, axes, strict=True)
    ]
    if not sparse and grid:
        grid = list(torch.broadcast_tensors(*grid))  # type: ignore[no-untyped-call]
    return (
        tuple(part.clone(memory_format=torch.contiguous_format) for part in grid)
        if copy
        else tuple(grid)
    )


@implements(np.indices)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """`numpy.indices`."""
    sizes = shape_of(tuple(dimensions))
    if sparse and dtype is None:
        dtype = int  # as `numpy.arange` takes it
    if as_dtype(dtype) == BOOL and any(surely(size > 2) for size in sizes):
        raise TypeError(
            "arange() is only supported for booleans when the result has at most length 2."
        )
    lines = [cast(_positions(size), as_dtype(dtype)) for size in sizes]
    grid = meshgrid(*lines, sparse=True, indexing="ij", copy=False)
    if sparse:
        return grid
    if not grid:
        return torch.zeros((0,), dtype=to_torch(as_dtype(dtype)), device=settings().device)
    return torch.stack([part.expand(sizes) for part in grid])


@implements(np.ix_)
def ix_(*args: Any) -> tuple[torch.Tensor, ...]:
    """`numpy.ix_`; a mask stands for the positions of its True elements."""
    lines = []
    for position, arg in enumerate(args):
        line = as_tensor(arg)
        if line.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if not isinstance(arg, torch.Tensor) and not len(arg):
            line = cast(line, INT64)
        if line.dtype == torch.bool:
            (line,) = torch.nonzero(line).unbind(1)
        lines.append(line.reshape((1,) * position + (-1,) + (1,) * (len(args) - position - 1)))
    return tuple(lines)


# -- index arrays


def _static(x: Any, name: str) -> int:
    if isinstance(x, torch.Tensor):
        raise NotImplementedError(
            f"`{name}` that is computed from array values can't be compiled; pass a Python int"
        )
    return int(x)


def _triangle_indices(n: Any, k: Any, m: Any, function: Callable[..., torch.Tensor]) -> Any:
    rows, offset = _static(n, "n"), _static(k, "k")
    columns = rows if m is None else _static(m, "m")
    found = function(rows, columns, offset, dtype=torch.int64, device=settings().device)
    return tuple(found.unbind(0))


@implements(np.tril_indices)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[torch.Tensor, ...]:
    """`numpy.tril_indices` of Python ints."""
    return _triangle_indices(n, k, m, torch.tril_indices)  # type: ignore[no-any-return]


@implements(np.triu_indices)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[torch.Tensor, ...]:
    """`numpy.triu_indices` of Python ints."""
    return _triangle_indices(n, k, m, torch.triu_indices)  # type: ignore[no-any-return]


def _matrix(arr: Any) -> torch.Tensor:
    x = as_tensor(arr)
    if x.ndim != 2:
        raise ValueError("input array must be 2-d")
    return x


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: Any = 0) -> tuple[torch.Tensor, ...]:
    """`numpy.tril_indices_from`."""
    x = _matrix(needs_array(arr))
    return tril_indices(x.shape[0], k, x.shape[1])


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: Any = 0) -> tuple[torch.Tensor, ...]:
    """`numpy.triu_indices_from`."""
    x = _matrix(needs_array(arr))
    return triu_indices(x.shape[0], k, x.shape[1])


@implements(np.diag_indices)
def diag_indices(n: Any, ndim: int = 2) -> tuple[torch.Tensor, ...]:
    """`numpy.diag_indices`."""
    return (_positions(shape_of(n)[0]),) * ndim


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[torch.Tensor, ...]:
    """`numpy.diag_indices_from`."""
    x = needs_array(arr)
    if x.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if any(size != x.shape[0] for size in x.shape[1:]):
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(x.shape[0], x.ndim)


def _index_array(x: Any) -> torch.Tensor:
    found = as_tensor(x)
    if found.is_floating_point() or found.is_complex() or found.dtype == torch.bool:
        raise TypeError("only int indices permitted")
    check_cast(to_numpy(found.dtype), INT64, "same_kind")
    return cast(found, INT64)


def split_index(flat: torch.Tensor, shape: Sequence[Any], order: str = "C") -> list[torch.Tensor]:
    """Return the positions along each axis of positions in the flattened array."""
    found = []
    for size in reversed(shape) if order == "C" else shape:
        found.append(flat % size)
        flat = torch.div(flat, size, rounding_mode="floor")
    return found[::-1] if order == "C" else found


def _order(order: str | None) -> str:
    """Return the order of elements, "C" where none is given."""
    if order not in ("C", "F", None):
        raise ValueError("only 'C' or 'F' order is permitted")
    return order or "C"


@implements(
    np.unravel_index,
    zero_d="scalar",
    note=UNCHECKED,
)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[torch.Tensor, ...]:
    """`numpy.unravel_index`."""
    order = _order(order)
    sizes = shape_of(shape)
    if isinstance(indices, int):
        total = math.prod(sizes)
        if not 0 <= indices < total:
            raise ValueError(f"index {indices} is out of bounds for array with size {total}")
    places = _index_array(indices)
    text = f"an index is out of bounds for array with size {math.prod(sizes)}"
    refuse_where((places < 0) | (places >= math.prod(sizes)), ValueError(text))
    found = split_index(places, sizes, order)
    # Columns of one array, as NumPy's are.
    return torch.stack(found, -1).unbind(-1) if len(found) > 1 else tuple(found)


@implements(
    np.ravel_multi_index,
    zero_d="scalar",
    note=UNCHECKED,
)
def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C"
) -> torch.Tensor:
    """`numpy.ravel_multi_index`."""
    order = _order(order)
    sizes = shape_of(dims)
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    parts = [_index_array(part) for part in multi_index]
    if len(parts) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    flat, stride = torch.zeros((), dtype=torch.int64, device=parts[0].device), 1
    triples = list(zip(parts, sizes, modes, strict=True))
    for part, size, rule in reversed(triples) if order == "C" else triples:
        if rule == "raise":
            outside = (part < 0) | (part >= size)
            refuse_where(outside, ValueError("invalid entry in coordinates array"))
        flat = flat + bounded(part, size, rule) * stride
        stride = stride * size
    return flat
