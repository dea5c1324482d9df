"""The incomplete gamma and beta functions, on real tensors of float64.

Below the mean of the distribution, the integral up to x is the density at x times that of
exp(-E), where E of the distance from x, in the logarithm of the variable (of its odds), is convex
and begins at 0. Gauss's rule takes it up to where E is 37. The tail above the mean is the same with
other signs. So both tails keep all their digits, however small they are.
"""

from __future__ import annotations

import math

import torch

from npaccel._numpy.host.own_derivatives import pair_with_slopes, with_slopes
from npaccel._scipy.special._common import (
    HALF_LOG_2PI,
    Tensor,
    constants,
    expm1_less,
    gauss_legendre,
    log1p_less,
    stirling_error,
    xlogy,
)
from npaccel._scipy.special._gamma import beta_density, log_beta_of_positive, log_gamma_less

_END = 36.7
_NODES, _WEIGHTS = gauss_legendre(42)


def _integral(exponent: Tensor, end: Tensor) -> Tensor:
    """The integral of exp(-exponent), given at the nodes between 0 and the end."""
    return end * (torch.exp(-exponent) * constants(_WEIGHTS, end)).sum(-1)


def _at_nodes(end: Tensor, *others: Tensor) -> list[Tensor]:
    """Return the nodes between 0 and the end, along a new axis, and others beside them."""
    return [end.unsqueeze(-1) * constants(_NODES, end), *(t.unsqueeze(-1) for t in others)]


def _closer(end: Tensor, exponent: Tensor, slope: Tensor) -> Tensor:
    """Bring the end closer to where the exponent is as it should be: Newton, in logarithms."""
    exponent = torch.clamp(exponent, min=1)
    return end * torch.exp(-torch.log(exponent / _END) * exponent / (end * slope))


# -- Gamma --------------------------------------------------------------------------------------


def gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """x**a exp(-x) / Gamma(a + 1); by the deviance for large a (Loader 2000)."""
    large = torch.clamp(a, min=10)
    apart = (x - large) / large
    near = torch.abs(apart) < 0.4
    share = torch.where(near, log1p_less(apart), torch.log(x / large) - apart)
    deviance = torch.exp(large * share - stirling_error(large)) / torch.sqrt(2 * math.pi * large)
    small = torch.exp(xlogy(a, x) - x - torch.lgamma(a + 1))
    return torch.where(a < 10, small, deviance)


def _gamma_remainder(a: Tensor, x: Tensor, below: Tensor) -> Tensor:
    """The integral of t**(a-1) exp(-t) below or above x, over x**a exp(-x), on x's side of a."""
    side = torch.where(below, -1.0, 1.0).to(x.dtype)
    gap = torch.clamp(torch.abs(a - x), min=1e-300)
    curved = torch.sqrt(110 / x)
    end = torch.where(below & (curved > 1), math.inf, curved)
    end = torch.minimum(_END / gap, end)
    last = torch.where(below, (_END + x) / a, torch.log1p((_END + a * end) / x))
    end = torch.minimum(end, last)
    for _ in range(2):
        power = torch.expm1(side * end)
        end = _closer(end, x * power - a * side * end, side * (x * power + x - a))
    down, x, gap, side = _at_nodes(end, x, gap, side)
    return _integral(gap * down + x * expm1_less(side * down), end)


def gamma_tails(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return P(a, x) and Q(a, x) for 0 < a < inf and 0 <= x < inf."""
    a, x = torch.broadcast_tensors(a, x)
    below = x < a + 1
    positive = torch.clamp(x, min=1e-300)
    rest = _gamma_remainder(torch.where(below, a + 1, a), positive, below)
    density = gamma_density(a, x)
    p = density * torch.where(below, 1 + x * rest, 0)
    q = density * torch.where(below, 0, a * rest)
    p = torch.clamp(torch.where(below, p, 1 - q), max=1.0)
    return p, torch.where(below, torch.where(x < 1, _small_upper(a, x, p), 1 - p), q)


def _small_upper(a: Tensor, x: Tensor, p: Tensor) -> Tensor:
    """Q(a, x) for x < 1, which is small where a is (Gautschi 1979)."""
    a = torch.clamp(a, max=1.0)
    log = torch.log(x)
    total = torch.zeros_like(x)
    for k in range(18, 0, -1):
        total = ((-1) ** k / math.factorial(k)) / (a + k) + x * total
    lead = -torch.expm1(a * log - log_gamma_less(a))
    series = lead - a * torch.exp(a * log - log_gamma_less(a)) * x * total
    return torch.where((a < 0.9) & (x > 0), series, 1 - p)


def _gamma_slope(a: Tensor, x: Tensor) -> Tensor:
    return torch.exp(xlogy(a - 1, x) - x - torch.lgamma(a))


@pair_with_slopes(None, _gamma_slope)
def incomplete_gamma(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return P(a, x) and Q(a, x), with their limits; they have no derivative by a."""
    a, x = torch.broadcast_tensors(a, x)
    ordinary = (a > 0) & (a < math.inf) & (x >= 0) & (x < math.inf)
    p, q = gamma_tails(torch.where(ordinary, a, 1), torch.where(ordinary, x, 1))
    one = (a >= 0) & (a < math.inf) & ((x == math.inf) | (a == 0)) & (x > 0)
    zero = (a == math.inf) & (x >= 0) & (x < math.inf)
    p = torch.where(ordinary, p, torch.where(one, 1.0, torch.where(zero, 0.0, math.nan)))
    q = torch.where(ordinary, q, torch.where(one, 0.0, torch.where(zero, 1.0, math.nan)))
    return p, q


# -- Beta ---------------------------------------------------------------------------------------


def _beta_remainder(a: Tensor, b: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The integral of t**(a-1) (1-t)**(b-1) from 0 to x, over x**a y**b, for x below a's share."""
    total = a + b
    gap = torch.clamp(a * y - b * x, min=1e-300)
    curved = torch.sqrt(206 / (total * x * y))
    end = torch.minimum(_END / gap, (_END - total * torch.log(y)) / a)
    right = torch.clamp(2 * torch.log(x / y), min=1.0)
    end = torch.where(curved <= right, torch.minimum(end, curved), end)
    for _ in range(2):
        fall = torch.exp(-end)
        exponent = a * end + total * torch.log1p(x * torch.expm1(-end))
        end = _closer(end, exponent, a - total * x * fall / (y + x * fall))
    low = x <= 0.5
    side, share = torch.where(low, -1.0, 1.0).to(x.dtype), torch.where(low, x, y)
    slope = torch.where(low, a, -b)
    down, total, gap, side, share, slope = _at_nodes(end, total, gap, side, share, slope)
    change = share * torch.expm1(side * down)
    near = gap * down + total * (log1p_less(change) + share * expm1_less(side * down))
    far = total * torch.log1p(change) + slope * down
    return _integral(torch.where(torch.abs(change) < 0.4, near, far), end)


def beta_tails(a: Tensor, b: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return I_x(a, b) and 1 - I_x(a, b), where x + y = 1, for a, b > 0."""
    a, b, x, y = torch.broadcast_tensors(a, b, x, y)
    below = x <= (a + 1) / (a + 1 + b + torch.clamp(b + 0.1, max=1.0))
    first, second = torch.where(below, a, b), torch.where(below, b, a)
    near, far = torch.where(below, x, y), torch.where(below, y, x)
    positive = torch.clamp(near, min=1e-300)
    rest = 1 + near * (first + second) * _beta_remainder(first + 1, second, positive, far)
    found = torch.clamp(beta_density(first, second, near, far) / first * rest, max=1.0)
    found = torch.where(near == 0, 0.0, found)
    return torch.where(below, found, 1 - found), torch.where(below, 1 - found, found)


def _beta_slope(a: Tensor, b: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.exp(xlogy(a - 1, x) + xlogy(b - 1, y) - log_beta_of_positive(a, b))


def no_slope(*tensors: Tensor) -> Tensor:
    """Return no derivative by a parameter that is 1 less another one, which has its part in it."""
    return torch.zeros_like(tensors[-1])


@pair_with_slopes(None, None, _beta_slope, no_slope)
def incomplete_beta(a: Tensor, b: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return I_x(a, b) and 1 - I_x(a, b), with their limits, where x + y = 1.

    They have no derivative by a and b, and that by x has y's in it.
    """
    a, b, x, y = torch.broadcast_tensors(a, b, x, y)
    ordinary = (a > 0) & (b > 0) & (a < math.inf) & (b < math.inf) & (x >= 0) & (y >= 0)
    safe = [
        torch.where(ordinary, t, v) for t, v in zip((a, b, x, y), (1, 1, 0.5, 0.5), strict=True)
    ]
    p, q = beta_tails(*safe)
    inside = (x >= 0) & (y >= 0)
    one = (((a == 0) & (b > 0)) | ((b == math.inf) & (a < math.inf))) & inside
    zero = (((b == 0) & (a > 0)) | ((a == math.inf) & (b < math.inf))) & inside
    p = torch.where(ordinary, p, torch.where(one, 1.0, torch.where(zero, 0.0, math.nan)))
    q = torch.where(ordinary, q, torch.where(one, 0.0, torch.where(zero, 1.0, math.nan)))
    return p, q


# -- Student's distribution -----------------------------------------------------------------------


def student_density(df: Tensor, t: Tensor) -> Tensor:
    """The density of Student's distribution at t."""
    known = torch.where(torch.isinf(df), 1.0, df)
    log = -(known + 1) / 2 * torch.log1p(t * t / known) - torch.log(known) / 2
    log = log - log_beta_of_positive(known / 2, torch.full_like(known, 0.5))
    return torch.exp(torch.where(torch.isinf(df), -t * t / 2 - HALF_LOG_2PI, log))


@with_slopes(None, student_density)
def student_below(df: Tensor, t: Tensor) -> Tensor:
    """The probability of less than t for df > 0: half of the beta tail that t**2 gives."""
    known = torch.where(torch.isinf(df), 1.0, df)
    square = t * t
    large = torch.isinf(square)
    share = torch.where(large, 0.0, known / (known + square))
    rest = torch.where(large, 1.0, square / (known + square))
    tail = incomplete_beta(known / 2, torch.full_like(known, 0.5), share, rest)[0] / 2
    normal = 0.5 * torch.special.erfc(torch.abs(t) * math.sqrt(0.5))
    tail = torch.where(torch.isinf(df), normal, tail)
    return torch.where(torch.isnan(t), math.nan, torch.where(t > 0, 1 - tail, tail))
