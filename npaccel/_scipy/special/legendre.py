"""Legendre's functions and spherical harmonics of `scipy.special`, of whole degrees and orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import cast, dtype_of, narrow
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._common import Tensor, constants, floats, integer, with_orders
from npaccel._scipy.special.polynomials import legendre

_LARGEST = 80


_DOUBLE, _COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)


def _wide(x: Any) -> Tensor:
    """Return a real argument as a tensor of float64."""
    return floats(x)[0].to(torch.float64)


def _no_derivatives(diff_n: Any) -> None:
    if diff_n != 0:
        raise NotImplementedError("npaccel has no derivatives of it")


def _derived(bound: dict[str, Any]) -> str:
    return "npaccel has no derivatives of it" if bound["diff_n"] != 0 else ""


@on_tensors("special.legendre_p", arrays=("z",), host_reason=_derived)
def legendre_p(n: Any, z: Any, /, *, diff_n: int = 0) -> Tensor:
    """Legendre's polynomial."""
    _no_derivatives(diff_n)
    if isinstance(n, int) and n < 0:
        raise NotImplementedError("negative degrees are SciPy's")
    found = legendre(integer(n, "n", _LARGEST), _wide(z))
    return cast(found[None], narrow(_DOUBLE, [dtype_of(z)]))


@on_tensors("special.legendre_p_all", arrays=("z",), host_reason=_derived)
def legendre_p_all(n: Any, z: Any, /, *, diff_n: int = 0) -> Tensor:
    """Legendre's polynomials up to a degree, along a new axis behind one for derivatives."""
    _no_derivatives(diff_n)
    (value,) = floats(z)
    wide = value.to(torch.float64)
    degree = _positive(n, "n")
    # Where derivatives are wanted no result may be written into another's memory.
    keeps = torch.is_grad_enabled() and wide.requires_grad
    room: Any = [None] * (degree + 1) if keeps else wide.new_empty((degree + 1, *wide.shape))
    found = [torch.ones_like(wide), wide][: degree + 1]
    for k in range(1, degree):
        new = torch.mul(wide, found[k], out=room[k + 1])
        found.append(new.mul_(2 * k + 1).sub_(found[k - 1], alpha=k).div_(k + 1))
    if keeps:
        return torch.stack(found)[None].to(value.dtype)
    for k, row in enumerate(found[:2]):
        room[k] = row
    return room[None].to(value.dtype)


def _positive(n: Any, name: str) -> int:
    found = integer(n, name, _LARGEST)
    if found < 0:
        raise NotImplementedError(f"npaccel has it for positive `{name}` only")
    return found


@with_orders("lpmv", ["m", "v"])
def lpmv(m: Any, v: Any, x: Tensor) -> Tensor:
    """The associated Legendre function, for whole degrees."""
    order, degree = integer(m, "m", _LARGEST), _positive(v, "v")
    size = abs(order)
    if not order:
        return legendre(degree, x)
    if size > degree:
        return torch.where(torch.abs(x) <= 1, 0 * x, math.nan)
    value = torch.ones_like(x)
    root = torch.sqrt(torch.clamp((1 - x) * (1 + x), min=0))
    for k in range(1, size + 1):
        value = value * root * (1 - 2 * k)
    before = torch.zeros_like(x)
    for k in range(size + 1, degree + 1):
        up = ((2 * k - 1) * x * value - (k + size - 1) * before) / (k - size)
        before, value = value, up
    if order < 0:
        ratio = math.factorial(degree - size) / math.factorial(degree + size)
        value = value * ((-1) ** size * ratio)
    return torch.where(torch.abs(x) <= 1, value, math.nan)


# -- Spherical harmonics --------------------------------------------------------------------------


def _columns(degree: int, order: int, theta: Tensor) -> list[Tensor]:
    """The normalised functions of one order m >= 0 and of degrees m to `degree`."""
    cosine, sine = torch.cos(theta), torch.abs(torch.sin(theta))
    factor = math.sqrt(1 / (4 * math.pi))
    for k in range(1, order + 1):
        factor *= -math.sqrt((2 * k + 1) / (2 * k))
    value, before = factor * sine**order, torch.zeros_like(theta)
    found = [value]
    for n in range(order + 1, degree + 1):
        scale = math.sqrt((4 * n * n - 1) / (n * n - order * order))
        past = math.sqrt(((n - 1) ** 2 - order * order) / (4 * (n - 1) ** 2 - 1))
        before, value = value, scale * (cosine * value - past * before)
        found.append(value)
    return found


def _normalised(degree: int, order: int, theta: Tensor) -> Tensor:
    """The normalised associated Legendre function of cos(theta)."""
    size = abs(order)
    if size > degree:
        return torch.zeros_like(theta)
    found = _columns(degree, size, theta)[-1]
    return -found if order < 0 and size % 2 else found


def _table_of(degree: int, order: int, theta: Tensor) -> Tensor:
    """Return all of them: degrees along the first axis, orders 0, 1, ..., -1 along the second."""
    none = torch.zeros_like(theta)
    right = []
    for m in range(order + 1):
        column = _columns(degree, m, theta) if m <= degree else []
        right.append(torch.stack([none] * (degree + 1 - len(column)) + column))
    left = [-right[m] if m % 2 else right[m] for m in range(order, 0, -1)]
    return torch.stack([*right, *left], 1)


@on_tensors("special.sph_legendre_p", arrays=("theta",), host_reason=_derived)
def sph_legendre_p(n: Any, m: Any, theta: Any, /, *, diff_n: int = 0) -> Tensor:
    """The associated Legendre function of cos(theta), normalised for the sphere."""
    _no_derivatives(diff_n)
    found = _normalised(_positive(n, "n"), integer(m, "m", _LARGEST), _wide(theta))
    return cast(found[None], narrow(_DOUBLE, [dtype_of(theta)]))


@on_tensors("special.sph_legendre_p_all", arrays=("theta",), host_reason=_derived)
def sph_legendre_p_all(n: Any, m: Any, theta: Any, /, *, diff_n: int = 0) -> Tensor:
    """The same of all degrees and orders."""
    _no_derivatives(diff_n)
    (value,) = floats(theta)
    found = _table_of(_positive(n, "n"), _positive(m, "m"), value.to(torch.float64))
    return found[None].to(value.dtype)


def _angles(given: Sequence[Tensor]) -> Sequence[Tensor]:
    """Return angles as arrays of float64 of one shape."""
    found: Sequence[Tensor] = torch.broadcast_tensors(*(t.to(torch.float64) for t in given))
    return found


def _turned(size: Tensor, angle: Tensor) -> Tensor:
    """Return size exp(i angle)."""
    return torch.complex(size * torch.cos(angle), size * torch.sin(angle))


@on_tensors("special.sph_harm_y", arrays=("theta", "phi"), host_reason=_derived)
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, /, *, diff_n: int = 0) -> Tensor:
    """The spherical harmonic."""
    _no_derivatives(diff_n)
    polar, azimuth = _angles(floats(theta, phi))
    order = integer(m, "m", _LARGEST)
    size = _normalised(_positive(n, "n"), order, polar)
    return cast(_turned(size, order * azimuth), narrow(_COMPLEX, [dtype_of(theta), dtype_of(phi)]))


@on_tensors("special.sph_harm_y_all", arrays=("theta", "phi"), host_reason=_derived)
def sph_harm_y_all(n: Any, m: Any, theta: Any, phi: Any, /, *, diff_n: int = 0) -> Tensor:
    """Spherical harmonics of all degrees and orders."""
    _no_derivatives(diff_n)
    given = floats(theta, phi)
    polar, azimuth = _angles(given)
    order = _positive(m, "m")
    size = _table_of(_positive(n, "n"), order, polar)
    orders = constants([*range(order + 1), *range(-order, 0)], azimuth)
    orders = orders.reshape(-1, *[1] * azimuth.ndim)
    narrow_ones = given[0].dtype == torch.float32
    found = _turned(size, orders * azimuth)
    return found.to(torch.complex64) if narrow_ones else found
