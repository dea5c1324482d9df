"""Interpolation by splines in `scipy.ndimage`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.ndimage import _common as parts
from npaccel._scipy.ndimage import _splines as spline


def _by_parts(
    compute: Callable[[torch.Tensor, Any], torch.Tensor], x: torch.Tensor, output: Any, cval: Any
) -> torch.Tensor:
    """Compute in floats, for complex numbers with their parts, and cast."""
    dtype = spline.dtype_of(x, output)
    if dtype.is_complex != x.is_complex():
        raise RuntimeError("output must be complex where the input is")
    if x.is_complex():
        real = torch.float32 if dtype == torch.complex64 else torch.float64
        pieces = ((x.real, complex(cval).real), (x.imag, complex(cval).imag))
        a, b = (compute(spline.work(piece, real), value) for piece, value in pieces)
        return _returned(torch.complex(a, b).to(dtype), output)
    if isinstance(cval, complex):
        raise TypeError("a complex cval needs complex data")
    return _returned(spline.rounded(compute(spline.work(x, dtype), cval), dtype), output)


def _returned(found: torch.Tensor, output: Any) -> torch.Tensor:
    if not isinstance(output, torch.Tensor):
        return found
    if output.shape != found.shape:
        raise RuntimeError("output shape not correct")
    return output.copy_(found)


def _order(order: int, smallest: int = 0) -> None:
    if not smallest <= order <= 5:
        raise RuntimeError("spline order not supported")


_recursive = on_a_cpu("SciPy goes along lines as fast")


@on_tensors("ndimage.spline_filter1d", arrays=("input",), host_reason=_recursive)
def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Any:
    """The coefficients of splines along one axis."""
    _order(order)
    along = [parts.axis_of(axis, input.ndim)] if order > 1 else []
    return _coefficients(input, order, along, output, mode)


@on_tensors("ndimage.spline_filter", arrays=("input",), host_reason=_recursive)
def spline_filter(
    input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> Any:
    """The coefficients of splines along all axes."""
    _order(order, 2)
    return _coefficients(input, order, range(input.ndim), output, mode)


def _coefficients(
    x: torch.Tensor, order: int, axes: Sequence[int], output: Any, mode: str
) -> torch.Tensor:
    if x.is_complex() and not isinstance(output, torch.Tensor):
        output = None
    dtype = spline.dtype_of(x, output)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise NotImplementedError("SciPy cuts to integers after each axis")

    def compute(real: torch.Tensor, value: Any) -> torch.Tensor:
        return spline.coefficients(real, order, axes, mode)

    return _by_parts(compute, x, output, 0.0)


def _interpolated(
    x: torch.Tensor,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
    output: Any,
    values: Callable[[torch.Tensor, int, Any], torch.Tensor],
    axes: Sequence[int] | None = None,
) -> Any:
    """Prepare coefficients and let `values` sample them, moved by what they are extended."""
    _order(order)
    if x.ndim < 1 or mode not in spline.TAKEN:
        raise RuntimeError("boundary mode not supported")
    if 0 in x.shape:
        raise RuntimeError("there are no elements")
    along = range(x.ndim) if axes is None else axes

    def compute(real: torch.Tensor, value: Any) -> torch.Tensor:
        pad = 0
        if prefilter:
            real, pad = spline.prepared(real, order, along, mode, value)
        return values(real, pad, value)

    return _by_parts(compute, x, output, cval)


@on_tensors("ndimage.map_coordinates", arrays=("input", "coordinates"))
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Values of splines at any coordinates."""
    if coordinates.is_complex():
        raise TypeError("Complex type not supported")
    if coordinates.ndim < 2 or coordinates.shape[0] != input.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    if coordinates.dtype != torch.float32:
        coordinates = coordinates.to(torch.float64)

    def values(table: torch.Tensor, pad: int, value: Any) -> torch.Tensor:
        places = [c + pad if pad else c for c in coordinates.unbind()]
        return spline.sampled(table, places, order, mode, value)

    return _interpolated(input, order, mode, cval, prefilter, output, values)


def _separate(places: list[torch.Tensor], order: int, mode: str) -> Any:
    """Return a function that samples on a grid that is parallel to the axes."""

    def values(table: torch.Tensor, pad: int, value: Any) -> torch.Tensor:
        return spline.along(table, [c + pad for c in places], order, mode, value)

    return values


@on_tensors("ndimage.shift", arrays=("input",))
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Values of splines beside the elements."""
    shifts = _per_axis(shift, input.ndim)
    places = [_count(n, input) - one for n, one in zip(input.shape, shifts, strict=True)]
    return _interpolated(
        input, order, mode, cval, prefilter, output, _separate(places, order, mode)
    )


def _count(size: int, x: torch.Tensor) -> torch.Tensor:
    return torch.arange(size, dtype=torch.float64, device=x.device)


def _per_axis(value: Any, rank: int) -> list[Any]:
    """Return a float per axis, of a number, a sequence or a tensor."""
    if isinstance(value, torch.Tensor) and value.ndim:
        value = value.to(torch.float64).unbind()
    elif isinstance(value, np.ndarray) and value.ndim:
        value = value.tolist()
    return parts.each(value, rank)


@on_tensors("ndimage.zoom", arrays=("input",))
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """Values of splines on a finer or coarser grid."""
    if input.ndim < 1:
        raise RuntimeError("input and output rank must be > 0")
    factors = [float(factor) for factor in _per_axis(zoom, input.ndim)]
    shape = [round(n * factor) for n, factor in zip(input.shape, factors, strict=True)]
    if prefilter and all(factor == 1 for factor in factors):
        _order(order)
        return _returned(input.clone().to(spline.dtype_of(input, output)), output)
    if grid_mode and mode in ("constant", "wrap"):
        raise ValueError("SciPy warns of this mode")
    if isinstance(output, torch.Tensor) and list(output.shape) != shape:
        raise RuntimeError("output shape not correct")
    places = []
    for old, new in zip(input.shape, shape, strict=True):
        inner, outer = (old, new) if grid_mode else (old - 1, new - 1)
        step = inner / outer if outer else 1.0
        c = _count(new, input)
        places.append((c + 0.5) * step - 0.5 if grid_mode else c * step)
    return _interpolated(
        input, order, mode, cval, prefilter, output, _separate(places, order, mode)
    )


def _homogeneous(bound: dict[str, Any]) -> str:
    """A matrix of homogeneous coordinates has to end in zeros and a one."""
    matrix, x = bound["matrix"], bound["input"]
    if isinstance(matrix, torch.Tensor) and matrix.device.type != "cpu":
        return ""
    rank = x.ndim if isinstance(x, torch.Tensor) else np.ndim(x)
    rows = np.asarray(matrix)
    if rows.shape != (rank + 1, rank + 1):
        return ""
    return "" if np.array_equal(rows[rank], [0] * rank + [1]) else "the last row isn't 0, ..., 1"


@on_tensors("ndimage.affine_transform", arrays=("input", "matrix"), host_reason=_homogeneous)
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Values of splines at coordinates that a matrix gives."""
    if isinstance(output, torch.Tensor):
        if output_shape is not None and tuple(output_shape) != output.shape:
            raise RuntimeError("output shape not correct")
        output_shape = output.shape
    shape = tuple(input.shape if output_shape is None else output_shape)
    rank = input.ndim
    matrix = matrix.to(torch.float64)
    if matrix.ndim == 2 and matrix.shape[1] == rank + 1 and matrix.shape[0] in (rank, rank + 1):
        offset, matrix = matrix[:rank, rank], matrix[:rank, :rank]
    if matrix.ndim not in (1, 2) or matrix.shape[0] != rank:
        raise RuntimeError("affine matrix has wrong number of rows")
    if matrix.shape[-1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    offsets = _per_axis(offset, rank)
    if matrix.ndim == 1:
        settings = zip(shape, offsets, matrix.unbind(), strict=True)
        along = [(_count(n, input) + one / factor) * factor for n, one, factor in settings]
        values = _separate(along, order, mode)
    else:
        rows = [row.unbind() for row in matrix.unbind()]
        values = _together(_turned(rows, offsets, shape, input), order, mode)
    return _interpolated(input, order, mode, cval, prefilter, output, values)


def _together(places: list[torch.Tensor], order: int, mode: str) -> Any:
    """Return a function that samples at coordinates that belong to elements."""

    def values(table: torch.Tensor, pad: int, value: Any) -> torch.Tensor:
        return spline.sampled(table, [c + pad if pad else c for c in places], order, mode, value)

    return values


def _turned(rows: Any, offsets: Any, shape: Sequence[int], x: torch.Tensor) -> list[torch.Tensor]:
    """Return the coordinates that a matrix makes of the elements', summed as SciPy does."""
    grids = []
    for axis, size in enumerate(shape):
        along = [1] * len(shape)
        along[axis] = -1
        grids.append(_count(size, x).reshape(along))
    found = []
    for row, offset in zip(rows, offsets, strict=True):
        total = grids[0] * row[0]
        for grid, factor in zip(grids[1:], row[1:], strict=True):
            total = total + grid * factor
        found.append((total + offset).expand(tuple(shape)))
    return found


@on_tensors("ndimage.rotate", arrays=("input",))
def rotate(
    input: Any,
    angle: float,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Values of splines in a plane that is turned."""
    from scipy import special

    rank = input.ndim
    if rank < 2 or len(axes) != 2 or any(float(axis) != int(axis) for axis in axes):
        raise ValueError("input array should be at least 2D")
    first, second = sorted(parts.axis_of(int(axis), rank) for axis in axes)
    if first == second:
        raise ValueError("invalid rotation plane specified")
    cos, sin = float(special.cosdg(float(angle))), float(special.sindg(float(angle)))
    plane = (input.shape[first], input.shape[second])
    shape = _bounds(plane, cos, sin) if reshape else plane
    middle = [(n - 1) / 2 for n in shape]
    offsets = [
        (plane[0] - 1) / 2 - (cos * middle[0] + sin * middle[1]),
        (plane[1] - 1) / 2 - (cos * middle[1] - sin * middle[0]),
    ]
    places = _turned([[cos, sin], [-sin, cos]], offsets, shape, input)
    values = _together(places, order, mode)

    def turned(table: torch.Tensor, pad: int, value: Any) -> torch.Tensor:
        table = table.movedim((first, second), (-2, -1))
        found: torch.Tensor = values(table, pad, value)
        return found.movedim((-2, -1), (first, second))

    return _interpolated(input, order, mode, cval, prefilter, output, turned, axes=(first, second))


def _bounds(plane: Sequence[int], cos: float, sin: float) -> tuple[int, int]:
    """Return the shape that a turned plane fits into."""
    rows = (0.0, cos * plane[0]), (0.0, sin * plane[1])
    columns = (0.0, -sin * plane[0]), (0.0, cos * plane[1])
    corners = [[a + b for a in down for b in across] for down, across in (rows, columns)]
    first, second = (int(max(one) - min(one) + 0.5) for one in corners)
    return first, second
