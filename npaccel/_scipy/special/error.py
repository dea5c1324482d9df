"""Dawson's, Faddeeva's, Voigt's and Fresnel's functions of `scipy.special`."""

from __future__ import annotations

import math

import torch

from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.special._common import (
    Tensor,
    elementwise,
    magnitude,
    on_cpu,
    polynomial,
    signed,
)
from npaccel._scipy.special._faddeeva import exp_of_square, faddeeva, real_line, upper_half

_ROOT_PI = math.sqrt(math.pi)


def _dawsn_slope(x: Tensor) -> Tensor:
    return 1 - 2 * x * dawsn(x)


@elementwise("dawsn", host_reason=on_cpu)
@with_slopes(_dawsn_slope)
def dawsn(x: Tensor) -> Tensor:
    """exp(-x**2) times the integral of exp(t**2) from 0 to x."""
    return _ROOT_PI / 2 * real_line(x)


@elementwise("erfi", host_reason=on_cpu)
@with_slopes(lambda z: 2 / _ROOT_PI * torch.exp(z * z))
def erfi(z: Tensor) -> Tensor:
    """-i erf(iz)."""
    found = exp_of_square(z, 1) * real_line(z)
    return torch.where(torch.abs(z) > 26.65, torch.copysign(torch.full_like(z, math.inf), z), found)


@elementwise("wofz", complex_too=True, host_reason=on_cpu)
def wofz(z: Tensor) -> Tensor:
    """Faddeeva's function."""
    return torch.complex(*faddeeva(z.real, z.imag))


@elementwise("voigt_profile", host_reason=on_cpu)
def voigt_profile(x: Tensor, sigma: Tensor, gamma: Tensor) -> Tensor:
    """The convolution of a normal distribution's density with a Cauchy distribution's."""
    scale = torch.where(sigma == 0, 1, sigma) * math.sqrt(2)
    found = upper_half(magnitude(x) / scale, gamma / scale)[0] / (scale * _ROOT_PI)
    square = (x / scale) ** 2
    normal = torch.exp(-square) / (scale * _ROOT_PI)
    cauchy = gamma / math.pi / (x * x + gamma * gamma)
    point = torch.where(x == 0, torch.full_like(x, math.inf), torch.zeros_like(x))
    at_zero = torch.where(gamma == 0, torch.where(torch.isnan(x), x, point), cauchy)
    found = torch.where(gamma == 0, normal, found)
    return torch.where(sigma == 0, at_zero, found)


# -- Fresnel ------------------------------------------------------------------------------------

_SINE = [(-1) ** n / (math.factorial(2 * n + 1) * (4 * n + 3)) for n in range(14)]
_COSINE = [(-1) ** n / (math.factorial(2 * n) * (4 * n + 1)) for n in range(14)]


def _quarter_turns(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return cos and sin of pi x**2 / 2.

    With x = 2 q + r the square is 4 q r + r**2 less a multiple of 4, and q r has no more bits than
    x has.
    """
    rest = torch.fmod(x, 2)
    product = (x - rest) / 2 * rest
    angle = (4 * (product - torch.floor(product)) + rest * rest) * (math.pi / 2)
    return torch.cos(angle), torch.sin(angle)


@elementwise("fresnel", host_reason=on_cpu)
def fresnel(z: Tensor) -> tuple[Tensor, Tensor]:
    """The integrals of sin and cos of pi t**2 / 2 from 0 to z."""
    x = magnitude(z)
    angle = math.pi / 2 * x * x
    square = torch.clamp(angle * angle, max=8)
    near = x * angle * polynomial(square, _SINE), x * polynomial(square, _COSINE)
    bounded = torch.clamp(x, min=0.5, max=1e15)
    part = _ROOT_PI / 2 * bounded
    real, imaginary = upper_half(part, part)
    cosine, sine = _quarter_turns(bounded)
    first = 1 - (cosine * real - sine * imaginary)
    second = -(cosine * imaginary + sine * real)
    far = (first + second) / 2, (first - second) / 2
    found = []
    for series, other in zip(near, far, strict=True):
        value = torch.where(x < 1.2, series, torch.where(x > 1e15, 0.5, other))
        found.append(signed(value, z))
    return found[0], found[1]
