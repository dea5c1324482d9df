"""Correlations, convolutions and means of `scipy.ndimage`."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.ndimage import _common as parts
from npaccel._scipy.ndimage import _linear as linear


@in_numpy("ndimage.correlate1d", arrays=("input", "weights", "output"))
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Correlate along one axis."""
    return _line(input, np.conj(np.asarray(weights)), axis, output, mode, cval, origin)


@in_numpy("ndimage.convolve1d", arrays=("input", "weights", "output"))
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Convolve along one axis."""
    weights = np.flip(np.asarray(weights))
    origin = -origin if weights.shape[0] % 2 else -origin - 1
    return _line(input, weights, axis, output, mode, cval, origin)


def _line(
    input: Any, weights: Any, axis: int, output: Any, mode: str, cval: Any, origin: int
) -> Any:
    x = parts.given(input)
    axis = parts.axis_of(axis, x.ndim)

    def apply(real: Any, real_weights: Any, value: Any) -> Any:
        return linear.line(real, real_weights, axis, mode, value, origin, dtype)

    if x.dtype.kind == "c" or weights.dtype.kind == "c":
        wanted = parts.complex_dtype(output, input.dtype)
        dtype = None if wanted == np.complex64 else wanted
        return parts.finished(linear.by_parts(apply, x, weights, cval, wanted), wanted, output)
    dtype = parts.dtype_of(output, input.dtype)
    return parts.finished(apply(x, weights, cval), dtype, output)


@in_numpy("ndimage.correlate", arrays=("input", "weights", "output"))
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Correlate along all axes."""
    x, weights = parts.given(input), np.asarray(weights)
    weights, origins = _block_of(x.ndim, np.conj(weights), origin, axes)
    return _block(input, x, weights, output, mode, cval, origins)


@in_numpy("ndimage.convolve", arrays=("input", "weights", "output"))
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Convolve along all axes."""
    x, weights = parts.given(input), np.asarray(weights)
    weights, origins = _block_of(x.ndim, weights, origin, axes)
    origins = [
        -one if size % 2 else -one - 1 for one, size in zip(origins, weights.shape, strict=True)
    ]
    return _block(input, x, np.flip(weights), output, mode, cval, origins)


def _block_of(rank: int, weights: Any, origin: Any, axes: Any) -> tuple[Any, list[int]]:
    """Return weights with all axes of the data, and an origin for each."""
    chosen = parts.axes_of(axes, rank)
    given = parts.each(origin, len(chosen))
    origins = [0] * rank
    for axis, one in zip(chosen, given, strict=True):
        origins[axis] = one
    if weights.ndim != len(chosen) or rank == 0:
        raise RuntimeError("weights.ndim must match the number of axes")
    if len(chosen) < rank:
        sizes = iter(weights.shape)
        weights = weights.reshape([next(sizes) if axis in chosen else 1 for axis in range(rank)])
    return weights, origins


def _block(
    input: Any, x: Any, weights: Any, output: Any, mode: str, cval: Any, origins: list[int]
) -> Any:
    if mode not in parts.MODES:
        raise RuntimeError("boundary mode not supported")

    def apply(real: Any, real_weights: Any, value: Any) -> Any:
        return linear.block(real, real_weights, mode, value, origins, dtype)

    if x.dtype.kind == "c" or weights.dtype.kind == "c":
        wanted = parts.complex_dtype(output, input.dtype)
        dtype = None if wanted == np.complex64 else wanted
        return parts.finished(linear.by_parts(apply, x, weights, cval, wanted), wanted, output)
    dtype = parts.dtype_of(output, input.dtype)
    return parts.finished(apply(x, weights, cval), dtype, output)


@in_numpy("ndimage.uniform_filter1d", arrays=("input", "output"))
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Mean of a window along one axis."""
    x = np.asarray(input)
    return _means(x, output, cval, [(parts.axis_of(axis, x.ndim), size, origin, mode)])


@in_numpy("ndimage.uniform_filter", arrays=("input", "output"))
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Mean of a window along all axes."""
    x = np.asarray(input)
    chosen = parts.axes_of(axes, x.ndim)
    settings = zip(
        chosen,
        parts.each(size, len(chosen)),
        parts.each(origin, len(chosen)),
        parts.each(mode, len(chosen)),
        strict=True,
    )
    return _means(x, output, cval, [(a, int(n), o, m) for a, n, o, m in settings if n > 1])


def _means(x: Any, output: Any, cval: Any, steps: list[Any]) -> Any:
    """Take means along axes one after the other, each rounded to the result's dtype."""
    if x.dtype.kind == "c":
        wanted = parts.complex_dtype(output, x.dtype)
        dtype = np.dtype("float32") if wanted == np.complex64 else np.dtype("float64")
        values = complex(cval).real, complex(cval).imag
        real, imag = (
            _steps(piece, dtype, value, steps)
            for piece, value in zip((x.real, x.imag), values, strict=True)
        )
        return parts.finished(parts.joined(real, imag, wanted), wanted, output)
    dtype = parts.dtype_of(output, x.dtype)
    return parts.finished(_steps(parts.given(x), dtype, cval, steps), dtype, output)


def _steps(x: Any, dtype: Any, cval: Any, steps: list[Any]) -> Any:
    for axis, size, origin, mode in steps:
        x = parts.stored(linear.mean(x, size, axis, mode, cval, origin, dtype), dtype)
    return x
