"""Exponential, sine and other integrals of `scipy.special`, and Spence's function."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.special._common import (
    Tensor,
    elementwise,
    gauss_legendre,
    half_line,
    integer,
    magnitude,
    on_cpu,
    polynomial,
    signed,
    with_orders,
)

_EULER = 0.5772156649015329
_NODES, _WEIGHTS = half_line(0.2, -3.8, 4.0)
#: The weights of the sum that stands for the integral of exp(-t) f(t) over (0, inf).
_SHARES = [w * math.exp(-t) for t, w in zip(_NODES, _WEIGHTS, strict=True)]


# -- Exponential integrals ------------------------------------------------------------------------


def _generalised(n: int, x: Tensor) -> Tensor:
    """E_n(x) for n > 1 and x >= 0: its series up to 1, else a continued fraction.

    A. and S. 5.1.12 and 5.1.22. The fraction of x = 1 is the longest: its error falls with the
    square root of its length, and with n.
    """
    near = torch.clamp(x, max=1)
    coefficients = [
        0.0 if k == n - 1 else (-1) ** k / ((n - 1 - k) * math.factorial(k)) for k in range(22)
    ]
    digamma = sum(1 / k for k in range(1, n)) - _EULER
    power = near ** (n - 1) * ((-1) ** (n - 1) / math.factorial(n - 1))
    logarithm = torch.log(torch.where(near == 0, 1, near))
    series = polynomial(near, coefficients) + power * (digamma - logarithm)
    far = torch.clamp(x, min=1)
    length = 100 if n < 7 else 80 if n < 20 else 40
    fraction = far + (n + 2 * length)
    for k in reversed(range(length)):
        fraction = far + (n + 2 * k) - (k + 1) * (n + k) / fraction
    return torch.where(x <= 1, series, torch.exp(-far) / fraction)


_E1_SERIES = [-((-1) ** k) / (k * math.factorial(k)) for k in range(1, 22)]


def _exp1(x: Tensor) -> Tensor:
    """E_1(x) for x > 0: its series up to 1, else a sum for its integral."""
    near = torch.clamp(x, max=1)
    series = near * polynomial(near, _E1_SERIES) - _EULER - torch.log(x)
    total = torch.zeros_like(x)
    bounded = torch.clamp(x, min=1)
    for t, share in zip(_NODES, _SHARES, strict=True):
        if share > 1e-22:
            total = total + share / (bounded + t)
    return torch.where(x <= 1, series, torch.exp(-x) * total)


@elementwise("exp1")
def exp1(z: Tensor) -> Tensor:
    """The integral of exp(-t) / t from z to infinity."""
    found = torch.where(z == 0, math.inf, _exp1(torch.where(z == 0, 1, z)))
    found = torch.where(z == math.inf, 0.0, found)
    return torch.where(z < 0, math.nan, found)


_EI_TERMS = 112
_EI_SERIES = [1 / (k * math.factorial(k)) for k in range(1, _EI_TERMS)]
_EI_FAR = [math.factorial(k) / 40.0**k for k in range(36)]


def _expi(x: Tensor) -> Tensor:
    """Ei(x) for x > 0: its series up to 40, else the asymptotic one."""
    near = torch.clamp(x, max=40)
    series = near * polynomial(near, _EI_SERIES) + _EULER + torch.log(torch.clamp(x, max=40))
    far = torch.clamp(x, min=40)
    half = torch.exp(far / 2)
    asymptotic = half / far * polynomial(40 / far, _EI_FAR) * half
    found = torch.where(x <= 40, series, asymptotic)
    found = torch.where(x == math.inf, x, found)
    return torch.where(x == 0, -math.inf, found)


@elementwise("expi", host_reason=on_cpu)
def expi(x: Tensor) -> Tensor:
    """The integral of exp(t) / t from -infinity to x, its principal value."""
    safe = torch.where(x < 0, -x, 1)
    negative = torch.where(x == -math.inf, 0.0, -_exp1(safe))
    return torch.where(x < 0, negative, torch.where(x == math.inf, x, _expi(x)))


@with_orders("expn", ["n"], host_reason=on_cpu)
def expn(n: Any, x: Tensor) -> Tensor:
    """The integral of exp(-x t) / t**n from 1 to infinity."""
    order = integer(n, "n")
    if order < 0:
        return torch.full_like(x, math.nan)
    if order == 0:
        found = torch.where(x == 0, math.inf, torch.exp(-x) / x)
    elif order == 1:
        found = torch.where(x == 0, math.inf, _exp1(torch.where(x > 0, x, 1)))
    else:
        found = _generalised(order, torch.clamp(x, min=0))
    found = torch.where(x == math.inf, 0.0, found)
    return torch.where((x < 0) | torch.isnan(x), math.nan, found)


# -- Sine and cosine integrals --------------------------------------------------------------------

_SI = [(-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(12)]
_CI = [(-1) ** k / (2 * k * math.factorial(2 * k)) for k in range(1, 13)]
_SHI = [1 / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(56)]
_CHI = [1 / (2 * k * math.factorial(2 * k)) for k in range(1, 57)]


@elementwise("sici", host_reason=on_cpu)
def sici(x: Tensor) -> tuple[Tensor, Tensor]:
    """Si and Ci: series up to 3, else by their auxiliary functions (A. and S. 5.2.12, 5.2.13)."""
    size = magnitude(x)
    near = torch.clamp(size, max=3) ** 2
    small = size * polynomial(near, _SI), near * polynomial(near, _CI) + _EULER + torch.log(size)
    far = torch.clamp(size, min=3)
    square = far * far
    f, g = torch.zeros_like(x), torch.zeros_like(x)
    for t, share in zip(_NODES, _SHARES, strict=True):
        if share > 1e-22:
            part = share / (square + t * t)
            f, g = f + part, g + t * part
    f = torch.where(far > 1e16, 1 / far, f * far)
    sine, cosine = torch.sin(far), torch.cos(far)
    large = math.pi / 2 - f * cosine - g * sine, f * sine - g * cosine
    si = torch.where(size <= 3, small[0], large[0])
    ci = torch.where(size <= 3, small[1], large[1])
    si = torch.where(torch.isinf(x), math.pi / 2, si)
    ci = torch.where(x == math.inf, 0.0, torch.where(x == -math.inf, math.nan, ci))
    return signed(si, x), ci


@elementwise("shichi", host_reason=on_cpu)
def shichi(x: Tensor) -> tuple[Tensor, Tensor]:
    """Shi and Chi: series up to 40, where exp(-x) is lost beside exp(x)."""
    size = magnitude(x)
    near = torch.clamp(size, max=40)
    square = near * near
    far = _expi(torch.clamp(size, min=40)) / 2
    shi = torch.where(size <= 40, near * polynomial(square, _SHI), far)
    chi = square * polynomial(square, _CHI) + _EULER + torch.log(size)
    return signed(shi, x), torch.where(size <= 40, chi, far)


# -- Spence ---------------------------------------------------------------------------------------

_BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798),
    -174611 / 330,
)
_DEBYE = [b / math.factorial(2 * k + 3) for k, b in enumerate(_BERNOULLI)]


@elementwise("spence", host_reason=on_cpu)
def spence(z: Tensor) -> Tensor:
    """The dilogarithm of 1 - z, by Bernoulli's numbers in the logarithm of z."""
    inverted = z > 2
    small = torch.where(inverted, 1 / z, z)
    turned = small < 0.5
    log = torch.log(small)
    u = torch.where(turned, -torch.log1p(-torch.where(turned, small, 0)), -log)
    square = u * u
    found = u - square / 4 + u * square * polynomial(square, _DEBYE)
    product = torch.where(small == 0, 0.0, log * torch.log1p(-torch.where(turned, small, 0)))
    found = torch.where(turned, math.pi**2 / 6 - product - found, found)
    found = torch.where(inverted, -0.5 * log * log - found, found)
    return torch.where((z < 0) | (z == math.inf), math.nan, found)


# -- Kolmogorov, Owen, Wright ---------------------------------------------------------------------


def _kolmogorov(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return both tails of Kolmogorov's distribution (1933) and its density, for x > 0."""
    rate = torch.exp(-(math.pi**2) / (8 * x * x))
    powers = [rate ** ((2 * k - 1) ** 2) for k in range(1, 5)]
    root = math.sqrt(2 * math.pi) / x
    cdf = root * (powers[0] + powers[1] + powers[2] + powers[3])
    slopes = [(2 * k - 1) ** 2 * p for k, p in enumerate(powers, 1)]
    slope = slopes[0] + slopes[1] + slopes[2] + slopes[3]
    low_density = root / x * (math.pi**2 / (4 * x * x) * slope) - cdf / x
    rate = torch.exp(-2 * x * x)
    powers = [rate ** (k * k) for k in range(1, 6)]
    sf = 2 * (powers[0] - powers[1] + powers[2] - powers[3] + powers[4])
    slopes = [k * k * p for k, p in enumerate(powers, 1)]
    slope = slopes[0] - slopes[1] + slopes[2] - slopes[3] + slopes[4]
    low = x < 0.8
    density = torch.where(low, low_density, 8 * x * slope)
    return torch.where(low, cdf, 1 - sf), torch.where(low, 1 - cdf, sf), density


@elementwise("kolmogorov", host_reason=on_cpu)
def kolmogorov(y: Tensor) -> Tensor:
    """The limit of the probability of a larger Kolmogorov-Smirnov statistic, times sqrt(n)."""
    found = _kolmogorov(torch.clamp(y, min=0.03))[1]
    return torch.where(y <= 0.03, 1.0, found)


@elementwise("kolmogi", host_reason=on_cpu)
def kolmogi(p: Tensor) -> Tensor:
    """The inverse of kolmogorov: Newton's method on the logarithm of the smaller tail."""
    inside = (p > 0) & (p < 1)
    sf = torch.where(inside, p, 0.5)
    lower = sf > 0.5
    target = torch.log(torch.where(lower, 1 - sf, sf))
    low = math.pi / torch.sqrt(8 * torch.clamp(1 - target, min=1.6))
    x = torch.where(lower, low, torch.sqrt(-torch.log(sf / 2) / 2))
    for _ in range(8):
        cdf, tail, density = _kolmogorov(x)
        tail = torch.where(lower, cdf, tail)
        step = (torch.log(tail) - target) * tail / density
        x = x - torch.clamp(torch.where(lower, step, -step), -0.2, 0.2)
    found = torch.where(p == 1, 0.0, torch.where(p == 0, math.inf, x))
    return torch.where((p >= 0) & (p <= 1), found, math.nan)


_PLACES, _OWEN_WEIGHTS = gauss_legendre(40)


def _owens_t(h: Tensor, a: Tensor) -> Tensor:
    """Owen's integral for h >= 0 and a of 0 to 1, up to where its integrand has vanished."""
    end = torch.minimum(a, 8.8 / torch.clamp(h, min=1))
    half = h * h / 2
    total = torch.zeros_like(half + end)
    for place, weight in zip(_PLACES, _OWEN_WEIGHTS, strict=True):
        square = (end * place) ** 2
        total = total + weight * torch.exp(-half * square) / (1 + square)
    return torch.exp(-half) * end * total / (2 * math.pi)


@elementwise("owens_t", host_reason=on_cpu)
def owens_t(h: Tensor, a: Tensor) -> Tensor:
    """Owen's T (1956): the probability of X > h and 0 < Y < a X of two normal numbers."""
    size, slope = torch.abs(h), magnitude(a)
    steep = slope > 1
    safe = torch.where(steep, slope, 1)
    product = torch.where(steep & (size > 0), size * safe, size)
    found = _owens_t(torch.clamp(product, max=1e3), torch.where(steep, 1 / safe, slope))
    one = 0.5 * torch.special.erfc(size * math.sqrt(0.5))
    other = 0.5 * torch.special.erfc(product * math.sqrt(0.5))
    found = torch.where(steep, 0.5 * (one + other) - one * other - found, found)
    found = torch.where(torch.isinf(h), 0.0, found)
    found = torch.where(torch.isnan(h) | torch.isnan(a), math.nan, found)
    return signed(found, a)


@elementwise("wrightomega", host_reason=on_cpu)
def wrightomega(z: Tensor) -> Tensor:
    """The solution of w + log(w) = z (Lawrence, Corless and Jeffrey 2012)."""
    bounded = torch.clamp(z, -50, 1e20)
    middle = torch.exp(2 * (torch.clamp(bounded, max=5) - 1) / 3)
    large = bounded - torch.log(torch.clamp(bounded, min=1))
    w = torch.where(bounded < -2, torch.exp(bounded), torch.where(bounded < 3, middle, large))
    for _ in range(3):
        residue = bounded - w - torch.log(w)
        after = w + 1
        twice = 2 * after * (after + 2 / 3 * residue)
        w = w * (1 + residue / after * (twice - residue) / (twice - 2 * residue))
    found = torch.where(z > 1e20, z, torch.where(z < -50, torch.exp(z), w))
    return torch.where(torch.isnan(z), z, found)
