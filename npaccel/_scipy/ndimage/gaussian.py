"""Filters of `scipy.ndimage` with Gaussians and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._runtime.torch.symbolic_sizes import traced_as_constant
from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.ndimage import _common as parts
from npaccel._scipy.ndimage import _linear as linear


@in_numpy("ndimage.gaussian_filter1d", arrays=("input", "output"))
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Any:
    """Correlate with a Gaussian or one of its derivatives along one axis."""
    x = np.asarray(input)
    step = (parts.axis_of(axis, x.ndim), _radius(sigma, truncate, radius), sigma, order, mode)
    default = np.promote_types(x.dtype, np.complex64) if x.dtype.kind == "c" else x.dtype
    dtype = parts.dtype_of(output, default)
    return parts.finished(_filtered(x, dtype, cval, [step]), dtype, output)


@in_numpy("ndimage.gaussian_filter", arrays=("input", "output"))
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Correlate with a Gaussian or its derivatives along several axes."""
    x = np.asarray(input)
    dtype = parts.dtype_of(output, x.dtype)
    steps = _steps(parts.axes_of(axes, x.ndim), sigma, order, mode, truncate, radius)
    return parts.finished(_filtered(x, dtype, cval, steps), dtype, output)


@in_numpy("ndimage.gaussian_laplace", arrays=("input", "output"))
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    truncate: float = 4.0,
    radius: Any = None,
) -> Any:
    """The Laplacian of the data after a Gaussian."""
    x = np.asarray(input)
    chosen = parts.axes_of(axes, x.ndim)
    sigmas = [0] * x.ndim
    for axis, one in zip(chosen, parts.each(sigma, len(chosen)), strict=True):
        sigmas[axis] = one
    dtype = parts.dtype_of(output, x.dtype)
    terms = _derivatives(x, dtype, chosen, sigmas, 2, mode, cval, truncate, radius)
    total = x if not terms else terms[0]
    for term in terms[1:]:
        total = total | term if dtype.kind == "b" else total + term
    return parts.finished(total, dtype, output)


@in_numpy("ndimage.gaussian_gradient_magnitude", arrays=("input", "output"))
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    truncate: float = 4.0,
    radius: Any = None,
) -> Any:
    """The length of the gradient of the data after a Gaussian."""
    x = np.asarray(input)
    chosen = parts.axes_of(axes, x.ndim)
    dtype = parts.dtype_of(output, x.dtype)
    terms = _derivatives(x, dtype, chosen, sigma, 1, mode, cval, truncate, radius)
    return parts.finished(length(terms, dtype) if terms else x, dtype, output)


def length(terms: Any, dtype: Any) -> Any:
    """Return the root of the sum of squares, which are taken in the result's dtype."""
    if dtype.kind == "b":
        found = terms[0]
        for term in terms[1:]:
            found = found | term
        return found
    total = terms[0] * terms[0]
    for term in terms[1:]:
        total = total + term * term
    return np.sqrt(total.astype(np.float64) if dtype.kind in "iu" else total)


def _derivatives(
    x: Any,
    dtype: Any,
    chosen: list[int],
    sigma: Any,
    order: int,
    mode: Any,
    cval: Any,
    truncate: float,
    radius: Any,
) -> list[Any]:
    """Return a derivative along each axis; all axes are smoothed."""
    found = []
    everywhere = list(range(x.ndim))
    for axis, one in zip(chosen, parts.each(mode, len(chosen)), strict=True):
        orders = [order if other == axis else 0 for other in everywhere]
        steps = _steps(everywhere, sigma, orders, one, truncate, radius)
        found.append(parts.finished(_filtered(x, dtype, cval, steps), dtype, None))
    return found


def _steps(
    axes: list[int], sigma: Any, order: Any, mode: Any, truncate: float, radius: Any
) -> list[Any]:
    """Return what is done along each axis."""
    count = len(axes)
    settings = zip(
        axes,
        parts.each(sigma, count),
        parts.each(order, count),
        parts.each(mode, count),
        parts.each(radius, count),
        strict=True,
    )
    return [(a, _radius(s, truncate, r), s, o, m) for a, s, o, m, r in settings if s > 1e-15]


def _radius(sigma: Any, truncate: float, radius: Any) -> int:
    found = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not isinstance(found, int) or found < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    return found


def _filtered(x: Any, dtype: Any, cval: Any, steps: list[Any]) -> Any:
    """Filter along axes one after the other, each time rounded to the result's dtype."""
    if x.dtype.kind == "c":
        if dtype.kind != "c":
            raise RuntimeError("output must have complex dtype")
        real = np.dtype("float32") if dtype == np.complex64 else np.dtype("float64")
        parts_of_cval = complex(cval).real, complex(cval).imag
        a, b = (
            _filtered(piece, real, value, steps)
            for piece, value in zip((x.real, x.imag), parts_of_cval, strict=True)
        )
        return parts.joined(a, b, dtype)
    if dtype.kind == "c":
        raise RuntimeError("output must have a real dtype")
    x = parts.given(x)
    for axis, radius, sigma, order, mode in steps:
        weights = [float(text) for text in _weights(sigma, order, radius).split()]
        x = parts.stored(linear.known_line(x, weights, axis, mode, cval, dtype), dtype)
    return x


@traced_as_constant
def _weights(sigma: float, order: int, radius: int) -> str:
    """Return the weights of a derivative of a Gaussian, NumPy's to the last bit, as a text.

    The derivative is a polynomial times the Gaussian: q' + q p', where p' = -x / sigma^2.
    """
    if order < 0:
        raise ValueError("order must be non-negative")
    places = np.arange(-radius, radius + 1)
    bell = np.exp(-0.5 / (sigma * sigma) * places**2)
    bell = bell / bell.sum()
    factors = np.zeros(order + 1)
    factors[0] = 1
    for _ in range(order):
        slope = np.zeros(order + 1)
        slope[:-1] = factors[1:] * np.arange(1, order + 1)
        slope[1:] -= factors[:-1] / (sigma * sigma)
        factors = slope
    if order:
        bell = (places[:, None] ** np.arange(order + 1)).dot(factors) * bell
    return " ".join(repr(float(one)) for one in bell[::-1])
