"""Filters of `scipy.ndimage` that multiply a Fourier transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.table import in_numpy, on_tensors
from npaccel._scipy.ndimage import _common as parts

_FLOATS = ("float32", "float64", "complex64", "complex128")


def _dtype(x: Any, output: Any, only_complex: bool) -> Any:
    """Return the dtype of a result, of the few that SciPy has here."""
    allowed = _FLOATS[2:] if only_complex else _FLOATS
    default = np.dtype("complex128" if only_complex else "float64")
    if output is None:
        return x if x.name in allowed else default
    if isinstance(output, str | np.dtype):
        raise RuntimeError("output type not supported")
    found = parts.dtype_of(output, default)
    if found.name not in allowed:
        raise RuntimeError("output type not supported")
    return found


def _along(x: Any, n: int, axis: int) -> list[tuple[int, Any, Any, Any]]:
    """Return each axis, its whole frequencies, its length and a shape to broadcast them.

    With `n`, the data are half of a transform of n real numbers along one axis.
    """
    axis = parts.axis_of(axis, x.ndim)
    found = []
    for one in range(x.ndim):
        count = x.shape[one]
        places = np.arange(count, dtype=np.float64)
        size = count
        if one == axis and n >= 0:
            size = n
        else:
            places = np.where(places < (count + 1) // 2, places, places - count)
        shape = [1] * x.ndim
        shape[one] = -1
        found.append((one, places, size, shape))
    return found


def _multiplied(
    x: Any, values: Any, n: int, axis: int, output: Any, factor: Callable[[Any, float], Any]
) -> Any:
    """Multiply by one factor per axis, given frequencies per element and a value."""
    dtype = _dtype(x.dtype, output, False)
    given = parts.each(values, x.ndim)
    found = x
    for one, places, size, shape in _along(x, n, axis):
        factors = factor(places / size, given[one]).reshape(shape)
        real = np.float32 if dtype.itemsize == 8 and dtype.kind == "c" else np.float64
        real = np.float32 if dtype == np.float32 else real
        found = _scaled(found, factors.astype(real))
    return parts.finished(_real_if(found, dtype), dtype, output)


def _scaled(x: Any, factors: Any) -> Any:
    if x.dtype.kind != "c":
        return x * factors
    dtype = np.result_type(x.dtype, factors.dtype)
    return parts.joined(x.real * factors, x.imag * factors, dtype)


def _real_if(x: Any, dtype: Any) -> Any:
    return x.real if x.dtype.kind == "c" and dtype.kind != "c" else x


@in_numpy("ndimage.fourier_gaussian", arrays=("input", "output"))
def fourier_gaussian(
    input: Any, sigma: Any, n: int = -1, axis: int = -1, output: Any = None
) -> Any:
    """Multiply by the transform of a Gaussian."""

    def factor(frequencies: Any, one: float) -> Any:
        return np.exp(-2.0 * (np.pi * one) ** 2 * frequencies * frequencies)

    return _multiplied(np.asarray(input), sigma, n, axis, output, factor)


@in_numpy("ndimage.fourier_uniform", arrays=("input", "output"))
def fourier_uniform(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """Multiply by the transform of a box."""

    def factor(frequencies: Any, one: float) -> Any:
        return np.sinc(one * frequencies)

    return _multiplied(np.asarray(input), size, n, axis, output, factor)


@in_numpy("ndimage.fourier_shift", arrays=("input", "output"))
def fourier_shift(input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """Turn phases so that what is transformed is shifted."""
    x = np.asarray(input)
    dtype = _dtype(x.dtype, output, True)
    given = parts.each(shift, x.ndim)
    phase = np.zeros((1,) * x.ndim, dtype=np.float64)
    for one, places, size, shape in _along(x, n, axis):
        phase = phase - (2.0 * np.pi * given[one] / size) * places.reshape(shape)
    cos, sin = np.cos(phase), np.sin(phase)
    if x.dtype.kind != "c":
        return parts.finished(parts.joined(x * cos, x * sin, dtype), dtype, output)
    real, imag = x.real * cos - x.imag * sin, x.real * sin + x.imag * cos
    return parts.finished(parts.joined(real, imag, dtype), dtype, output)


@on_tensors(
    "ndimage.fourier_ellipsoid",
    arrays=("input",),
    tolerance=2.0**31,
    note="of two dimensions: the Bessel function in SciPy has seven digits",
)
def fourier_ellipsoid(
    input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None
) -> Any:
    """Multiply by the transform of an interval, an ellipse or an ellipsoid."""
    x = input
    if not 1 <= x.ndim <= 3:
        raise NotImplementedError("Only 1d, 2d and 3d inputs are supported")
    given = parts.each(size, x.ndim)
    squares = torch.zeros((1,) * x.ndim, dtype=torch.float64, device=x.device)
    for one, places, count, shape in _along(x, n, axis) if x.numel() else ():
        angle = torch.from_numpy(np.pi * given[one] / count * places).to(x.device)
        squares = squares + (angle * angle).reshape(shape)
    far = torch.sqrt(squares)
    safe = torch.where(far > 0, far, 1.0)
    if x.ndim == 1:
        factors = torch.sin(safe) / safe
    elif x.ndim == 2:
        factors = 2.0 * torch.special.bessel_j1(safe) / safe
    else:
        factors = 3.0 * (torch.sin(safe) - safe * torch.cos(safe)) / safe**3
    factors = torch.where(far > 0, factors, 1.0)
    kind = _dtype_of_tensor(x, output)
    found = x * factors
    found = found.real if found.is_complex() and not kind.is_complex else found
    if isinstance(output, torch.Tensor):
        if output.shape != x.shape:
            raise RuntimeError("output shape not correct")
        return output.copy_(found)
    return found.to(kind)


def _dtype_of_tensor(x: torch.Tensor, output: Any) -> torch.dtype:
    if isinstance(output, torch.Tensor):
        return output.dtype
    named = parts.numpy_dtype(x.dtype)
    found: torch.dtype = getattr(torch, _dtype(named, output, False).name)
    return found
