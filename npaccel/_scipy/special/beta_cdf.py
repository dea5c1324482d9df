"""Distributions of `scipy.special` that the incomplete beta function gives, and their inverses."""

from __future__ import annotations

import math

import torch

from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.special._common import Tensor, elementwise, on_cpu
from npaccel._scipy.special._incomplete import incomplete_beta, student_below, student_density
from npaccel._scipy.special._inverse import beta_quantile


@elementwise("betainc", host_reason=on_cpu)
def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The incomplete beta function, over B(a, b)."""
    return incomplete_beta(a, b, x, 1 - x)[0]


@elementwise("betaincc", host_reason=on_cpu)
def betaincc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """1 - betainc(a, b, x)."""
    return incomplete_beta(a, b, x, 1 - x)[1]


def _inverse(a: Tensor, b: Tensor, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Return x and 1 - x, with their limits, for p of 0 to 1."""
    x, y = beta_quantile(a, b, p, q)
    x = torch.where(p == 0, 0.0, torch.where(q == 0, 1.0, x))
    y = torch.where(p == 0, 1.0, torch.where(q == 0, 0.0, y))
    valid = (a > 0) & (b > 0) & (a + b < math.inf) & (p >= 0) & (q >= 0)
    return torch.where(valid, x, math.nan), torch.where(valid, y, math.nan)


@elementwise("betaincinv", tolerance=2048, host_reason=on_cpu)
def betaincinv(a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    """The x at which betainc(a, b, x) is y."""
    return _inverse(a, b, y, 1 - y)[0]


@elementwise("betainccinv", tolerance=2048, host_reason=on_cpu)
def betainccinv(a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    """The x at which betaincc(a, b, x) is y."""
    return _inverse(a, b, 1 - y, y)[0]


# -- Binomial ---------------------------------------------------------------------------------


def _binomial(k: Tensor, n: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Return both tails of the binomial distribution."""
    below = torch.floor(k)
    rest = n - below
    inside = (below >= 0) & (rest > 0)
    a, b = torch.where(inside, rest, 1.0), torch.where(inside, below + 1, 1.0)
    left, right = incomplete_beta(a, b, 1 - p, p)
    left = torch.where(rest == 0, 1.0, left)
    right = torch.where(rest == 0, 0.0, right)
    invalid = (p < 0) | (p > 1) | (rest < 0) | torch.isnan(p + k + n) | torch.isinf(n)
    return torch.where(invalid, math.nan, left), torch.where(invalid, math.nan, right)


@elementwise("bdtr", host_reason=on_cpu)
def bdtr(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    """The binomial distribution's cumulative distribution."""
    return torch.where(k < 0, math.nan, _binomial(k, n, p)[0])


@elementwise("bdtrc", host_reason=on_cpu)
def bdtrc(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    """1 - bdtr(k, n, p)."""
    found = _binomial(k, n, p)[1]
    return torch.where((k < 0) & ~torch.isnan(found), 1.0, found)


@elementwise("bdtri", tolerance=2048, host_reason=on_cpu)
def bdtri(k: Tensor, n: Tensor, y: Tensor) -> Tensor:
    """The p at which bdtr(k, n, p) is y."""
    below = torch.floor(k)
    rest = n - below
    inside = (below >= 0) & (rest > 0)
    a, b = torch.where(inside, rest, 1.0), torch.where(inside, below + 1, 1.0)
    found = _inverse(a, b, y, 1 - y)[1]
    at_zero = -torch.expm1(torch.log(y) / torch.where(rest > 0, rest, 1.0))
    found = torch.where(below == 0, at_zero, found)
    valid = inside & (y >= 0) & (y <= 1)
    return torch.where(valid, found, math.nan)


@elementwise("nbdtr", host_reason=on_cpu)
def nbdtr(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    """The negative binomial distribution's cumulative distribution."""
    return _negative_binomial(k, n, p, incomplete_beta(n, torch.floor(k) + 1, p, 1 - p)[0])


@elementwise("nbdtrc", host_reason=on_cpu)
def nbdtrc(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    """1 - nbdtr(k, n, p)."""
    return _negative_binomial(k, n, p, incomplete_beta(n, torch.floor(k) + 1, p, 1 - p)[1])


def _negative_binomial(k: Tensor, n: Tensor, p: Tensor, tail: Tensor) -> Tensor:
    return torch.where((p < 0) | (p > 1) | (k < 0) | (n <= 0), math.nan, tail)


@elementwise("nbdtri", tolerance=2048, host_reason=on_cpu)
def nbdtri(k: Tensor, n: Tensor, y: Tensor) -> Tensor:
    """The p at which nbdtr(k, n, p) is y."""
    found = _inverse(n, torch.floor(k) + 1, y, 1 - y)[0]
    return torch.where(k < 0, math.nan, found)


# -- F ------------------------------------------------------------------------------------------


def _f(dfn: Tensor, dfd: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return both tails of the F distribution."""
    above, below = dfn * x, dfd
    total = above + below
    share, rest = above / total, below / total
    share = torch.where(torch.isinf(above), 1.0, share)
    rest = torch.where(torch.isinf(above), 0.0, rest)
    p, q = incomplete_beta(dfn / 2, dfd / 2, share, rest)
    invalid = (dfn <= 0) | (dfd <= 0) | (x < 0) | torch.isinf(dfn)
    return torch.where(invalid, math.nan, p), torch.where(invalid, math.nan, q)


@elementwise("fdtr", host_reason=on_cpu)
def fdtr(dfn: Tensor, dfd: Tensor, x: Tensor) -> Tensor:
    """The F distribution's cumulative distribution."""
    return _f(dfn, dfd, x)[0]


@elementwise("fdtrc", host_reason=on_cpu)
def fdtrc(dfn: Tensor, dfd: Tensor, x: Tensor) -> Tensor:
    """1 - fdtr(dfn, dfd, x)."""
    return _f(dfn, dfd, x)[1]


@elementwise("fdtri", tolerance=2048, host_reason=on_cpu)
def fdtri(dfn: Tensor, dfd: Tensor, p: Tensor) -> Tensor:
    """The x at which fdtr(dfn, dfd, x) is p."""
    x, y = _inverse(dfn / 2, dfd / 2, p, 1 - p)
    found = dfd * x / (dfn * y)
    return torch.where((p <= 0) | (p > 1), math.nan, found)


# -- Student's t ----------------------------------------------------------------------------------


@elementwise("stdtr", host_reason=on_cpu)
def stdtr(df: Tensor, t: Tensor) -> Tensor:
    """Student's distribution's cumulative distribution (1908)."""
    found = student_below(torch.where(df > 0, df, 1.0), t)
    return torch.where((df <= 0) | torch.isnan(df) | torch.isnan(t), math.nan, found)


@elementwise("stdtrit", tolerance=2048, host_reason=on_cpu)
@with_slopes(None, lambda df, p: 1 / student_density(df, stdtrit(df, p)))
def stdtrit(df: Tensor, p: Tensor) -> Tensor:
    """The t at which stdtr(df, t) is p."""
    tail = torch.minimum(p, 1 - p)
    twice = 2 * tail
    x, y = beta_quantile(df / 2, torch.full_like(df, 0.5), twice, 1 - twice)
    size = torch.sqrt(df) * torch.sqrt(y / x)
    size = torch.where(torch.isinf(df), -torch.special.ndtri(tail), size)
    size = torch.where(tail == 0, math.inf, torch.where(tail == 0.5, 0.0, size))
    found = torch.where(p < 0.5, -size, size)
    return torch.where((df > 0) & (p >= 0) & (p <= 1), found, math.nan)
