"""Splines through the elements of arrays, for the modules of `scipy.ndimage`, on tensors."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.context import has_values
from npaccel._scipy.ndimage import _common as parts

#: Extension of the elements for the splines' coefficients, by mode.
FILTERED = {
    "mirror": "mirror",
    "constant": "mirror",
    "grid-constant": "mirror",
    "wrap": "mirror",
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "nearest": "reflect",
    "grid-wrap": "wrap",
}
#: Extension of the coefficients, by mode.
TAKEN = {
    "mirror": "mirror",
    "constant": "mirror",
    "wrap": "mirror",
    "nearest": "nearest",
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "grid-wrap": "wrap",
    "grid-constant": "constant",
}
#: SciPy extends arrays by this much before it filters them, in modes that it has no border for.
_PADDED = 12
#: Number of elements of a line that one row of a matrix product filters.
_BLOCK = 64
#: Maximum number of elements around a place that are written out one by one in compiled code.
_FEW = 16
#: Number of elements that are read at once: what a CPU's cache has room for, and a GPU's memory.
_AT_ONCE = {"cpu": 1 << 16, "cuda": 1 << 27}


# -- Coefficients ---------------------------------------------------------------------------


def _poles(order: int) -> list[float]:
    """Return the zeros within the unit circle of a sampled B-spline (Unser 1999, table 2)."""
    if order == 2:
        return [math.sqrt(8.0) - 3.0]
    if order == 3:
        return [math.sqrt(3.0) - 2.0]
    if order == 4:
        root = math.sqrt(438976.0)
        near, far = math.sqrt(664.0 - root), math.sqrt(664.0 + root)
        return [near + math.sqrt(304.0) - 19.0, far - math.sqrt(304.0) - 19.0]
    root = math.sqrt(4436.25)
    near, far = math.sqrt(67.5 - root), math.sqrt(67.5 + root)
    return [near + math.sqrt(26.25) - 6.5, far - math.sqrt(26.25) - 6.5]


@functools.cache
def _inverse(order: int, smallest: float) -> np.ndarray[Any, Any]:
    """Return the filter that undoes a sampled B-spline, as far as its weights matter.

    Each pole z gives weights that fall as z^abs(k); their sum is 1.
    """
    found = np.ones(1)
    for pole in _poles(order):
        powers = pole ** np.abs(np.arange(-100, 101))
        gain = (1.0 - pole) * (1.0 - 1.0 / pole) * -pole / (1.0 - pole * pole)
        found = np.convolve(found, gain * powers)
    middle = len(found) // 2
    radius = int(np.flatnonzero(np.abs(found[middle:]) > smallest)[-1])
    return found[middle - radius : middle + radius + 1]


@functools.cache
def _bands(order: int, smallest: float) -> np.ndarray[Any, Any]:
    """Return the filter as a matrix: a block of elements and those around it to the block."""
    weights = _inverse(order, smallest)
    found = np.zeros((_BLOCK + len(weights) - 1, _BLOCK))
    for i in range(_BLOCK):
        found[i : i + len(weights), i] = weights
    return found


def coefficients(x: torch.Tensor, order: int, axes: Sequence[int], mode: str) -> torch.Tensor:
    """Return the coefficients of the splines through the elements, in x's floats.

    SciPy's recursion takes what isn't finite through the whole line.
    """
    kind = FILTERED[mode]
    for axis in axes:
        if x.shape[axis] > 1:
            least, most = torch.aminmax(x, dim=axis, keepdim=True)
            whole = torch.isfinite(least) & torch.isfinite(most)
            x = torch.where(whole, _filtered(x, order, axis, kind), torch.nan)
    return x


def _filtered(x: torch.Tensor, order: int, axis: int, kind: str) -> torch.Tensor:
    smallest = 1e-18 if x.dtype == torch.float64 else 1e-10
    bands = torch.from_numpy(_bands(order, smallest)).to(x.device, x.dtype)
    width, size = bands.shape[0], x.shape[axis]
    radius = (width - _BLOCK) // 2
    spare = -size % _BLOCK
    grown = extended(x, axis, radius, radius + spare, kind, 0.0)
    flat = grown.reshape(-1, size + spare + 2 * radius, _product(x.shape[axis + 1 :]))
    blocks = flat.unfold(1, width, _BLOCK)
    if flat.shape[2] == 1:
        found = torch.matmul(blocks.reshape(-1, width), bands)
    else:  # blocks overlap in memory: no element is copied
        found = torch.matmul(bands.T, blocks.transpose(-1, -2))
    return found.reshape(flat.shape[0], size + spare, -1)[:, :size].reshape(x.shape)


def _product(sizes: Sequence[int]) -> int:
    found = 1
    for size in sizes:
        found = found * size
    return found


def extended(
    x: torch.Tensor, axis: int, before: int, after: int, kind: str, cval: Any
) -> torch.Tensor:
    """Return an array with more elements at the ends of an axis."""
    if kind == "constant":
        pads = [0, 0] * (x.ndim - 1 - axis) + [before, after]
        return torch.constant_pad_nd(x, pads, cval)
    size = x.shape[axis]
    places = torch.arange(-before, size + after, device=x.device)
    return torch.index_select(x, axis, source(places, size, kind))


def source(places: Any, size: Any, kind: str) -> Any:
    """Return which elements those at places outside of an axis repeat."""
    if kind == "nearest":
        return places.clamp(0, size - 1)
    if kind == "wrap":
        return places % size
    if kind == "reflect":
        inside = places % (2 * size)
        return torch.minimum(inside, 2 * size - 1 - inside)
    if size == 1:
        return places * 0
    inside = places % (2 * size - 2)
    return torch.minimum(inside, 2 * size - 2 - inside)


def prepared(
    x: torch.Tensor, order: int, axes: Sequence[int], mode: str, cval: Any
) -> tuple[torch.Tensor, int]:
    """Return coefficients, and by how much they are extended on each side."""
    if order < 2:
        return x, 0
    kind = {"nearest": "nearest", "grid-constant": "constant"}.get(mode)
    if kind is None:
        return coefficients(x, order, axes, mode), 0
    for axis in axes:
        x = extended(x, axis, _PADDED, _PADDED, kind, cval)
    return coefficients(x, order, axes, mode), _PADDED


# -- Places ---------------------------------------------------------------------------------


#: Modes in which coordinates may be anywhere: all elements outside are alike.
_ANYWHERE = ("nearest", "grid-constant")


def _padding(order: int, mode: str) -> int:
    """Return by how much a table is extended, so that no spline reads beyond its ends."""
    return 2 * order + 4 if mode in _ANYWHERE else order // 2 + 2


def _table(x: torch.Tensor, rank: int, order: int, mode: str, cval: Any) -> torch.Tensor:
    """Return coefficients with a border on the last axes."""
    pad = _padding(order, mode)
    for axis in range(x.ndim - rank, x.ndim):
        x = extended(x, axis, pad, pad, TAKEN[mode], cval)
    return x


def _mapped(xp: Any, c: Any, size: Any, mode: str) -> tuple[Any, Any]:
    """Return coordinates that a table has room for, and which of them were right before."""
    last = size - 1
    if mode in _ANYWHERE:
        return c, None
    if mode == "constant":
        return c, (c >= 0) & (c <= last)
    if mode == "wrap":
        period = last if size > 1 else 1
        below = c + period * (xp.trunc(-c / period) + 1)
        above = c - period * xp.trunc(c / period)
    elif mode == "grid-wrap":
        below = c + size * (xp.trunc((-1 - c) / size) + 1)
        above = c - size * xp.trunc(c / size)
    else:
        below, above = _mirrored(xp, c, size, 1 if TAKEN[mode] == "reflect" else 0)
    found = xp.where(c < 0, below, xp.where(c > last, above, c))
    return found, found == found  # noqa: PLR0124 (a NaN isn't equal to itself)


def _mirrored(xp: Any, c: Any, size: Any, between: int) -> tuple[Any, Any]:
    """Return coordinates mirrored at the ends, in or between the elements."""
    period = 2 * size - 2 + 2 * between if size > 1 else 1
    below = c + period * xp.trunc(-c / period)
    turned = below < -size if between else below <= 1 - size
    below = xp.where(turned, below + period, -below - between)
    above = c - period * xp.trunc(c / period)
    return below, xp.where(above >= size, period - above - between, above)


@functools.cache
def _polynomials(order: int) -> tuple[tuple[float, ...], ...]:
    """Return the weights of uniform B-splines as polynomials, by the recursion of de Boor (1972).

    One for each element that a spline reads, the highest powers first.
    """
    pieces = [np.array([1.0])]
    for degree in range(1, order + 1):
        longer = [np.zeros(degree + 1) for _ in range(degree + 1)]
        for j, piece in enumerate(pieces):
            longer[j] += np.convolve(piece, [j + 1.0, -1.0]) / degree
            longer[j + 1] += np.convolve(piece, [degree - j - 1.0, 1.0]) / degree
        pieces = longer
    return tuple(tuple(map(float, piece[::-1])) for piece in pieces)


def _weighed(
    xp: Any, c: Any, size: Any, order: int, mode: str, floats: Any, weights: Any
) -> tuple[Any, list[Any]]:
    """Return the first element of a table that a spline reads, and all elements' weights."""
    shifted = c if order % 2 else c + 0.5
    base = xp.floor(shifted)
    u = xp.asarray(shifted - base, dtype=floats)
    found = [_polynomial(xp, u, one) for one in weights]
    far = order + 2.0 if mode in _ANYWHERE else 1.0
    base = xp.where(base > -far, xp.where(base < size - 1 + far, base, size - 1 + far), -far)
    return xp.asarray(base, dtype=xp.int64) + (_padding(order, mode) - order // 2), found


def _polynomial(xp: Any, u: Any, coefficients: Any) -> Any:
    value = xp.zeros_like(u) + coefficients[0]
    for factor in coefficients[1:]:
        value = value * u + factor
    return value


# -- Values ---------------------------------------------------------------------------------


def sampled(
    x: torch.Tensor, places: Sequence[torch.Tensor], order: int, mode: str, cval: Any
) -> torch.Tensor:
    """Return splines' values at any coordinates.

    Parameters
    ----------
    x : torch.Tensor
        Coefficients; axes before those of the places are of arrays of their own.
    places : sequence of torch.Tensor
        Coordinates, a tensor for each of the last axes of x, all of one shape.
    order : int
    mode : str
    cval : float
    """
    rank = len(places)
    many = x.shape[: x.ndim - rank]
    table = _table(x, rank, order, mode, cval).reshape(-1, *_table_shape(x, rank, order, mode))
    flat = torch.stack([c.reshape(-1) for c in places])
    outside = torch.full((), cval, dtype=x.dtype, device=x.device)
    few = (order + 1) ** rank <= parts.MANY
    read = _compiled() if few and has_values(x) else _read_tensors
    found: torch.Tensor = read(table, flat, outside, order, mode, _polynomials(order))
    return found.reshape(*many, *places[0].shape)


def _table_shape(x: torch.Tensor, rank: int, order: int, mode: str) -> list[int]:
    pad = _padding(order, mode)
    return [size + 2 * pad for size in x.shape[x.ndim - rank :]]


@functools.cache
def _compiled() -> Any:
    from npaccel._jit import jit

    names = ("order", "mode", "weights")
    return jit(
        _read_arrays,
        default_float="float64",
        strict=True,
        loops="unroll",
        static_argnames=names,
    )


def _read_arrays(table: Any, places: Any, outside: Any, order: int, mode: str, weights: Any) -> Any:
    return _read(np, table, places, outside, order, mode, weights)


def _read_tensors(
    table: Any, places: Any, outside: Any, order: int, mode: str, weights: Any
) -> Any:
    return _read(torch, table, places, outside, order, mode, weights)


def _read(
    xp: Any, table: Any, places: Any, outside: Any, order: int, mode: str, weights: Any
) -> Any:
    """Return values at coordinates in a row, for each of some tables."""
    pad = _padding(order, mode)
    axes, inside, base = [], None, 0
    for axis in range(places.shape[0]):
        size = table.shape[1 + axis] - 2 * pad
        c, right = _mapped(xp, places[axis], size, mode)
        start, factors = _weighed(xp, c, size, order, mode, table.dtype, weights)
        base = base * table.shape[1 + axis] + start
        axes.append((factors, table.shape[1 + axis]))
        inside = right if inside is None else inside & right
    table = table.reshape(table.shape[0], -1)
    many = xp is np and (order + 1) ** len(axes) > _FEW
    found = _sum_of_many(table, axes, base) if many else _summed(table, axes, base, 0)
    return found if inside is None else xp.where(inside, found, outside)


def _sum_of_many(table: Any, axes: Any, base: Any) -> Any:
    """Return the same as one sum: what is written out for each element takes long to compile."""
    *others, (last, width) = axes
    index, weights, step = base, np.ones(()), width
    for axis, (factors, size) in reversed(list(enumerate(others))):
        shape = [-1 if i == axis else 1 for i in range(len(others))]
        index = index + (np.arange(len(factors)) * step).reshape(*shape, 1)
        weights = weights * np.stack(factors).reshape(*shape, base.shape[0])
        step = step * size
    rows = sum(table[:, index + k] * factor for k, factor in enumerate(last))
    return (rows * weights).sum(axis=tuple(range(1, len(axes))))


def _summed(table: Any, axes: Any, base: Any, step: Any) -> Any:
    """Add the elements around each place, weighted along one axis after the other."""
    (factors, size), *rest = axes
    total = None
    for k, factor in enumerate(factors):
        further = step * size + k
        value = _summed(table, rest, base, further) if rest else table[:, base + further]
        total = value * factor if total is None else total + value * factor
    return total


def along(
    x: torch.Tensor, places: Sequence[torch.Tensor], order: int, mode: str, cval: Any
) -> torch.Tensor:
    """Return splines' values at coordinates that are a vector for each axis."""
    inside: Any = None
    pad = _padding(order, mode)
    for axis, given in enumerate(places):
        size, polynomials = x.shape[axis], _polynomials(order)
        c, right = _mapped(torch, given, size, mode)
        start, weights = _weighed(torch, c, size, order, mode, x.dtype, polynomials)
        table = extended(x, axis, pad, pad, TAKEN[mode], cval)
        shape = [1] * x.ndim
        shape[axis] = -1
        flat = table.reshape(-1, table.shape[axis], _product(x.shape[axis + 1 :]))
        mix = _mix_compiled() if has_values(x) else _mix
        found = mix(flat, start, torch.stack(weights))
        x = found.reshape(*x.shape[:axis], -1, *x.shape[axis + 1 :])
        if right is not None:
            right = right.reshape(shape)
            inside = right if inside is None else inside & right
    return x if inside is None else torch.where(inside, x, cval)


@functools.cache
def _mix_compiled() -> Any:
    from npaccel._jit import jit

    return jit(_mix, default_float="float64", strict=True, loops="unroll")


def _mix(table: Any, start: Any, weights: Any) -> Any:
    """Add elements of the middle axis, weighted."""
    total = None
    for k in range(weights.shape[0]):
        value = table[:, start + k] * weights[k][:, None]
        total = value if total is None else total + value
    return total


def rounded(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Cast splines' values: to the nearest integer, and not below an unsigned one's range."""
    if dtype.is_floating_point or dtype.is_complex:
        return x.to(dtype)
    if dtype == torch.bool:
        return x.to(torch.int64).to(torch.uint8) != 0
    if torch.iinfo(dtype).min < 0:
        return torch.where(x > 0, x + 0.5, x - 0.5).to(torch.int64).to(dtype)
    return (x + 0.5).clamp(0, torch.iinfo(dtype).max).to(torch.int64).to(dtype)


def work(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return an array in the floats to compute in: 32 bits only if all is so."""
    if x.dtype in (torch.float16, torch.bfloat16):
        raise RuntimeError(f"array type {x.dtype} not supported")
    return x if x.dtype == dtype == torch.float32 else x.to(torch.float64)


def dtype_of(x: torch.Tensor, output: Any) -> torch.dtype:
    """Return the dtype of a result: of a tensor, a dtype's name, or the input's."""
    if isinstance(output, torch.Tensor):
        return output.dtype
    default = torch.promote_types(x.dtype, torch.complex64) if x.is_complex() else x.dtype
    if output is None:
        return default
    found: torch.dtype = getattr(torch, parts.dtype_of(output, None).name)
    return found
