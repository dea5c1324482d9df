"""The inverses of the incomplete gamma and beta functions, on real tensors of float64.

Newton's method on the logarithm of the smaller tail, as a function of the variable's logarithm
(that of its odds): there it's concave, so that it converges from everywhere.
"""

from __future__ import annotations

import torch

from npaccel._numpy.host.own_derivatives import pair_with_slopes, with_slopes
from npaccel._scipy.special._common import Tensor, xlogy
from npaccel._scipy.special._gamma import beta_density, log_beta_of_positive
from npaccel._scipy.special._incomplete import beta_tails, gamma_density, gamma_tails, no_slope

#: Maximum number of steps of Newton's method.
_GAMMA_STEPS, _BETA_STEPS = 7, 9


def _normal(p: Tensor, q: Tensor) -> Tensor:
    """The normal quantile of p = 1 - q."""
    z = torch.special.ndtri(torch.minimum(p, q))
    return torch.where(p < q, z, -z)


def _step(tail: Tensor, target: Tensor, density: Tensor) -> Tensor:
    """Newton's step for the logarithm of a tail, none where it isn't a number."""
    step = (torch.log(tail) - target) * tail / density
    return torch.where(torch.isfinite(step), step, 0.0)


def _gamma_guess(a: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """A start for the quantile's logarithm: Wilson and Hilferty (1931), or a tail's first term."""
    base = 1 - 1 / (9 * a) + _normal(p, q) / (3 * torch.sqrt(a))
    middle = torch.log(a) + 3 * torch.log(torch.clamp(base, min=1e-3))
    low = (torch.log(p) + torch.lgamma(a + 1)) / a
    rate = torch.clamp(-torch.log(q) - torch.lgamma(a), min=1.0)
    high = torch.log(torch.clamp(rate + (a - 1) * torch.log(rate), min=0.1))
    guess = torch.where((low < torch.log(0.2 * (a + 1))) | (base < 0.05), low, middle)
    return torch.where((a < 1) & (q < 0.1), torch.maximum(high, low), guess)


def _gamma_quantile_slope(a: Tensor, p: Tensor, q: Tensor) -> Tensor:
    x = gamma_quantile(a, p, q)
    return torch.exp(torch.lgamma(a) + x - xlogy(a - 1, x))


@with_slopes(None, _gamma_quantile_slope, no_slope)
def gamma_quantile(a: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Return the x at which P(a, x) = p, where q = 1 - p."""
    a, p, q = torch.broadcast_tensors(a, p, q)
    inside = (a > 0) & (p > 0) & (q > 0)
    a, p, q = (torch.where(inside, t, 0.5) for t in (a, p, q))
    lower = p <= q
    target = torch.log(torch.minimum(p, q))
    log_x = _gamma_guess(a, p, q)
    for _ in range(_GAMMA_STEPS):
        x = torch.exp(log_x)
        both = gamma_tails(a, x)
        tail = torch.where(lower, both[0], both[1])
        step = _step(tail, target, a * gamma_density(a, x))
        log_x = log_x - torch.where(lower, step, -step)
    return torch.exp(log_x)


def _skewed_guess(a: Tensor, b: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """A start for log(x / (1 - x)): for b > a, -log(1 - x) has about a gamma distribution."""
    turned = a > b
    shape, rate = torch.minimum(a, b), torch.maximum(a, b)
    rate = torch.clamp(rate + (shape - 1) / 2, min=0.1)
    log = _gamma_guess(shape, torch.where(turned, q, p), torch.where(turned, p, q))
    odds = torch.expm1(torch.clamp(torch.exp(log) / rate, max=700))
    found = torch.log(torch.clamp(odds, min=1e-300))
    return torch.where(turned, -found, found)


def _beta_guess(a: Tensor, b: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """A start for log(x / (1 - x)): the normal approximation, or a tail's first term."""
    log_beta = log_beta_of_positive(a, b)
    middle = torch.log(a / b) + _normal(p, q) * torch.sqrt(1 / a + 1 / b)
    low = (torch.log(p) + torch.log(a) + log_beta) / a
    high = (torch.log(q) + torch.log(b) + log_beta) / -b
    is_low = low < -torch.log(2 * (1 + b))
    is_high = high > torch.log(2 * (1 + a))
    other = torch.where(is_low, low, torch.where(is_high, high, _skewed_guess(a, b, p, q)))
    return torch.where((a > 8) & (b > 8), middle, other)


def _beta_quantile_slope(a: Tensor, b: Tensor, p: Tensor, q: Tensor) -> Tensor:
    x, y = beta_quantile(a, b, p, q)
    return torch.exp(log_beta_of_positive(a, b) - xlogy(a - 1, x) - xlogy(b - 1, y))


@pair_with_slopes(None, None, _beta_quantile_slope, no_slope)
def beta_quantile(a: Tensor, b: Tensor, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Return the x at which I_x(a, b) = p, where q = 1 - p, and 1 - x."""
    a, b, p, q = torch.broadcast_tensors(a, b, p, q)
    inside = (a > 0) & (b > 0) & (p > 0) & (q > 0)
    a, b, p, q = (torch.where(inside, t, 0.5) for t in (a, b, p, q))
    lower = p <= q
    target = torch.log(torch.minimum(p, q))
    logit = _beta_guess(a, b, p, q)
    for _ in range(_BETA_STEPS):
        x, y = torch.sigmoid(logit), torch.sigmoid(-logit)
        both = beta_tails(a, b, x, y)
        tail = torch.where(lower, both[0], both[1])
        step = _step(tail, target, beta_density(a, b, x, y))
        logit = logit - torch.where(lower, step, -step)
    return torch.sigmoid(logit), torch.sigmoid(-logit)
