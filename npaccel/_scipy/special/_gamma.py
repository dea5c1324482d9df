"""Gamma and beta functions of real tensors of float64, by Stirling's series."""

from __future__ import annotations

import math

import scipy.special
import torch

from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.special._common import (
    HALF_LOG_2PI,
    Tensor,
    log1p_less,
    polynomial,
    sin_pi,
    stirling_error,
    xlogy,
)

#: Limit from which Stirling's series has all digits.
_LARGE = 10
#: Gamma is infinite beyond this.
_OVERFLOW = 171.7


def rising(x: Tensor) -> Tensor:
    """Return x (x + 1) ... (x + 9)."""
    found = x
    for k in range(1, _LARGE):
        found = found * (x + k)
    return found


def gamma_of_positive(x: Tensor, scale: float = 1.0) -> Tensor:
    """Gamma(x) / scale**x for x >= 0; the power is taken twice by half, for its digits."""
    low = x < _LARGE
    y = torch.where(low, x + _LARGE, x)
    half = torch.pow(y / scale, 0.5 * y - 0.25)
    found = half * torch.exp(-y) * half * (math.sqrt(2 * math.pi / scale))
    found = found * torch.exp(stirling_error(y))
    found = torch.where(low, found / rising(x) * scale**_LARGE, found)
    if scale != 1:
        return found
    found = torch.where((x == torch.floor(x)) & (found < 1e14), torch.round(found), found)
    return torch.where(x > _OVERFLOW, math.inf, found)


def is_pole(x: Tensor) -> Tensor:
    """Whether Gamma has a pole at x."""
    return (x <= 0) & (x == torch.floor(x))


def _gamma_slope(x: Tensor) -> Tensor:
    return gamma_of_real(x) * torch.special.digamma(x)


@with_slopes(_gamma_slope)
def gamma_of_real(x: Tensor) -> Tensor:
    """Gamma, by reflection for negative numbers; NaN at its poles, infinite at 0."""
    positive = gamma_of_positive(torch.where(x < 0, 1 - x, x))
    reflected = math.pi / (sin_pi(x) * positive)
    found = torch.where(x < 0, reflected, positive)
    found = torch.where(is_pole(x) | (x == -math.inf), math.nan, found)
    return torch.where(x == 0, torch.copysign(torch.full_like(x, math.inf), x), found)


def _slope_of_reciprocal(x: Tensor) -> Tensor:
    pole = is_pole(x)
    at_pole = gamma_of_positive(torch.where(pole, 1 - x, 1.0)) * (1 - 2 * torch.remainder(x, 2))
    inside = torch.where(pole, 1.0, x)
    return torch.where(pole, at_pole, -torch.special.digamma(inside) * reciprocal_gamma(inside))


@with_slopes(_slope_of_reciprocal)
def reciprocal_gamma(x: Tensor) -> Tensor:
    """1 / Gamma, 0 at the poles of Gamma."""
    positive = gamma_of_positive(torch.where(x < 0, 1 - x, x))
    found = torch.where(x < 0, sin_pi(x) * positive / math.pi, 1 / positive)
    return torch.where(is_pole(x), 0.0, torch.where(x == -math.inf, math.nan, found))


def sign_of_gamma(x: Tensor) -> Tensor:
    """The sign of Gamma, NaN where it has none."""
    below = torch.floor(x)
    odd = below - 2 * torch.floor(below / 2)
    found = torch.where(x > 0, 1.0, 1 - 2 * odd)
    found = torch.where((is_pole(x) & (x != 0)) | (x == -math.inf), math.nan, found)
    return torch.where(x == 0, torch.copysign(torch.ones_like(x), x), found)


def log_ratio(x: Tensor, m: Tensor) -> Tensor:
    """Return ln(Gamma(x + m) / Gamma(x)), for x and x + m of at least 10."""
    sum_ = x + m
    found = (x - 0.5) * torch.log1p(m / x) + m * torch.log(sum_) - m
    return found + stirling_error(sum_) - stirling_error(x)


def digamma_difference(x: Tensor, y: Tensor) -> Tensor:
    """The derivative of ln(Gamma(x) / Gamma(y)) by both; NaN at poles of Gamma."""
    return torch.special.digamma(x) - torch.special.digamma(y)


def log_beta_slope(a: Tensor, b: Tensor) -> Tensor:
    """The derivative of ln B(a, b) by a."""
    return digamma_difference(a, a + b)


@with_slopes(log_beta_slope, lambda a, b: log_beta_slope(b, a))
def log_beta_of_positive(a: Tensor, b: Tensor) -> Tensor:
    """Return ln B(a, b) for positive numbers (DiDonato and Morris 1992)."""
    low, high = torch.minimum(a, b), torch.maximum(a, b)
    both = torch.lgamma(low) + torch.lgamma(high) - torch.lgamma(low + high)
    safe_high = torch.clamp(high, min=_LARGE)
    one = torch.lgamma(low) - log_ratio(safe_high, low)
    safe_low = torch.clamp(low, min=_LARGE)
    ratio = safe_low / safe_high
    series = stirling_error(safe_low) + stirling_error(safe_high)
    none = (safe_low - 0.5) * torch.log(ratio / (1 + ratio)) - safe_high * torch.log1p(ratio)
    none = none - 0.5 * torch.log(safe_high) + HALF_LOG_2PI
    none = none + series - stirling_error(safe_low + safe_high)
    return torch.where(low >= _LARGE, none, torch.where(high >= _LARGE, one, both))


def _beta_slope(a: Tensor, b: Tensor) -> Tensor:
    return beta_of_positive(a, b) * log_beta_slope(a, b)


@with_slopes(_beta_slope, lambda a, b: _beta_slope(b, a))
def beta_of_positive(a: Tensor, b: Tensor) -> Tensor:
    """B(a, b) for positive numbers."""
    high = torch.maximum(a, b)
    direct = gamma_of_positive(high) / gamma_of_positive(a + b)
    direct = direct * gamma_of_positive(torch.minimum(a, b))
    return torch.where(a + b < 170, direct, torch.exp(log_beta_of_positive(a, b)))


def beta_density(a: Tensor, b: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x**a y**b / B(a, b) with x + y = 1; by the deviance for large numbers (Loader 2000)."""
    small = torch.minimum(a, b) < _LARGE
    log = xlogy(a, x) + xlogy(b, y) - log_beta_of_positive(a, b)
    large_a, large_b = torch.clamp(a, min=_LARGE), torch.clamp(b, min=_LARGE)
    total = large_a + large_b
    apart = large_b * x - large_a * y
    deviance = large_a * _less(apart / large_a, total * x / large_a)
    deviance = deviance + large_b * _less(-apart / large_b, total * y / large_b)
    series = stirling_error(total) - stirling_error(large_a) - stirling_error(large_b)
    root = torch.sqrt(large_a / total * large_b / (2 * math.pi))
    return torch.where(small, torch.exp(log), root * torch.exp(deviance + series))


def _less(x: Tensor, sum_: Tensor) -> Tensor:
    """log(1 + x) - x, where 1 + x is known as well."""
    near = torch.abs(x) < 0.4
    return torch.where(near, log1p_less(torch.where(near, x, 0)), torch.log(sum_) - x)


#: (zeta(k) - 1) / k for k = 2, 3, ...
_ZETA = [float(scipy.special.zetac(k)) / k for k in range(2, 42)]


def log_gamma_less(a: Tensor) -> Tensor:
    """Return ln Gamma(1 + a) for a of 0 to 1, also small ones (Abramowitz and Stegun 6.1.33)."""
    signed = [(-1) ** k * z for k, z in enumerate(_ZETA)]
    return a * (a * polynomial(a, signed) + (1 - 0.5772156649015329)) - torch.log1p(a)
