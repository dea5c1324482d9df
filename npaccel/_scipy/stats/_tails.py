"""Standard forms of distributions whose tails are incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.special import log_ndtr, ndtri

from npaccel._numpy.core.context import has_values
from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.special._common import xlog1py, xlogy
from npaccel._scipy.special._gamma import beta_density, log_beta_of_positive
from npaccel._scipy.special._incomplete import (
    incomplete_beta,
    incomplete_gamma,
    student_below,
    student_density,
)
from npaccel._scipy.special._inverse import beta_quantile, gamma_quantile
from npaccel._scipy.stats._methods import Continuous, Discrete, both_hold, integral

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def _gamma_inverse(a: Any, p: Any, q: Any) -> Any:
    """The quantile of the gamma distribution with its limits, where p + q = 1."""
    found = gamma_quantile(a, p, q)
    found = torch.where(p == 0, 0.0, torch.where(q == 0, math.inf, found))
    return torch.where(torch.isnan(p + a), math.nan, found)


def _beta_inverse(a: Any, b: Any, p: Any, q: Any) -> tuple[Any, Any]:
    """The quantile of the beta distribution and 1 without it, where p + q = 1."""
    x, y = beta_quantile(a, b, p, q)
    x = torch.where(p == 0, 0.0, torch.where(q == 0, 1.0, x))
    y = torch.where(p == 0, 1.0, torch.where(q == 0, 0.0, y))
    bad = torch.isnan(p + a + b)
    return torch.where(bad, math.nan, x), torch.where(bad, math.nan, y)


class Gamma(Continuous):
    """y**(a - 1) exp(-y) / Gamma(a)."""

    shapes = ("a",)
    low, wide = 0, True

    def logpdf(self, y: Any, a: Any) -> Any:
        """The density's logarithm."""
        return xlogy(a - 1, y) - y - torch.lgamma(a)

    def cdf(self, y: Any, a: Any) -> Any:
        """P(a, y)."""
        return incomplete_gamma(a, y)[0]

    def sf(self, y: Any, a: Any) -> Any:
        """Q(a, y)."""
        return incomplete_gamma(a, y)[1]

    def ppf(self, q: Any, a: Any) -> Any:
        """The inverse of `cdf`."""
        return _gamma_inverse(a, q, 1 - q)

    def isf(self, q: Any, a: Any) -> Any:
        """The inverse of `sf`."""
        return _gamma_inverse(a, 1 - q, q)


class ChiSquare(Continuous):
    """The gamma distribution of half as many degrees, twice as wide."""

    shapes = ("df",)
    low, wide = 0, True
    _half = Gamma()

    def logpdf(self, y: Any, df: Any) -> Any:
        """The density's logarithm."""
        half = df / 2
        return xlogy(half - 1, y) - y / 2 - torch.lgamma(half) - math.log(2) * half

    def cdf(self, y: Any, df: Any) -> Any:
        """P(df / 2, y / 2)."""
        return self._half.cdf(y / 2, df / 2)

    def sf(self, y: Any, df: Any) -> Any:
        """Q(df / 2, y / 2)."""
        return self._half.sf(y / 2, df / 2)

    def ppf(self, q: Any, df: Any) -> Any:
        """The inverse of `cdf`."""
        return 2 * self._half.ppf(q, df / 2)

    def isf(self, q: Any, df: Any) -> Any:
        """The inverse of `sf`."""
        return 2 * self._half.isf(q, df / 2)


class InverseGamma(Continuous):
    """Distribution of 1 / y for a gamma distribution's y."""

    shapes = ("a",)
    low, open_ends, wide = 0, True, True
    _turned = Gamma()

    def logpdf(self, y: Any, a: Any) -> Any:
        """The density's logarithm."""
        return -(a + 1) * torch.log(y) - torch.lgamma(a) - 1 / y

    def cdf(self, y: Any, a: Any) -> Any:
        """Q(a, 1 / y)."""
        return self._turned.sf(1 / torch.abs(y), a)  # -0.0 is the end of the support too

    def sf(self, y: Any, a: Any) -> Any:
        """P(a, 1 / y)."""
        return self._turned.cdf(1 / torch.abs(y), a)

    def ppf(self, q: Any, a: Any) -> Any:
        """The inverse of `cdf`."""
        return 1 / self._turned.isf(q, a)

    def isf(self, q: Any, a: Any) -> Any:
        """The inverse of `sf`."""
        return 1 / self._turned.ppf(q, a)


class Beta(Continuous):
    """y**(a - 1) (1 - y)**(b - 1) / B(a, b)."""

    shapes = ("a", "b")
    low, high, wide = 0, 1, True

    def pdf(self, y: Any, a: Any, b: Any) -> Any:
        """The density; with a factor at its ends that may be infinite."""
        inner = beta_density(a, b, y, 1 - y) / (y * (1 - y))
        return torch.where((y > 0) & (y < 1), inner, torch.exp(self.logpdf(y, a, b)))

    def logpdf(self, y: Any, a: Any, b: Any) -> Any:
        """Logarithm of the density."""
        return xlog1py(b - 1, -y) + xlogy(a - 1, y) - log_beta_of_positive(a, b)

    def cdf(self, y: Any, a: Any, b: Any) -> Any:
        """I_y(a, b)."""
        return incomplete_beta(a, b, y, 1 - y)[0]

    def sf(self, y: Any, a: Any, b: Any) -> Any:
        """1 without it."""
        return incomplete_beta(a, b, y, 1 - y)[1]

    def ppf(self, q: Any, a: Any, b: Any) -> Any:
        """The inverse of `cdf`."""
        return _beta_inverse(a, b, q, 1 - q)[0]

    def isf(self, q: Any, a: Any, b: Any) -> Any:
        """The inverse of `sf`."""
        return _beta_inverse(a, b, 1 - q, q)[0]


def _student_slope(q: Any, df: Any) -> Any:
    return 1 / student_density(df, _student_quantile(q, df))


@with_slopes(_student_slope, None)
def _student_quantile(q: Any, df: Any) -> Any:
    """The quantile of Student's distribution, by the smaller tail."""
    known = torch.where(torch.isinf(df), 1.0, df)
    tail = torch.minimum(q, 1 - q)
    half = torch.full_like(known, 0.5)
    x, y = _beta_inverse(known / 2, half, 2 * tail, 1 - 2 * tail)
    size = torch.sqrt(known * y / x)
    size = torch.where(torch.isinf(df), -ndtri(tail), size)
    return torch.where(q < 0.5, -size, size)


class Student(Continuous):
    """(1 + y**2 / df)**(-(df + 1) / 2) / (sqrt(df) B(df / 2, 1 / 2))."""

    shapes = ("df",)
    wide = True

    def logpdf(self, y: Any, df: Any) -> Any:
        """The density's logarithm; the normal one for df of infinity."""
        known = torch.where(torch.isinf(df), 1.0, df)
        half = torch.full_like(known, 0.5)
        found = -0.5 * (known + 1) * torch.log1p(y * y / known)
        found = found - 0.5 * torch.log(known) - log_beta_of_positive(known / 2, half)
        return torch.where(torch.isinf(df), -0.5 * y * y - _LOG_SQRT_2PI, found)

    def cdf(self, y: Any, df: Any) -> Any:
        """Half of the beta tail that y**2 gives."""
        return student_below(df, y)

    def sf(self, y: Any, df: Any) -> Any:
        """The same from the right."""
        return self.cdf(-y, df)

    def ppf(self, q: Any, df: Any) -> Any:
        """The inverse of `cdf`, by the smaller tail."""
        return _student_quantile(q, df)

    def isf(self, q: Any, df: Any) -> Any:
        """The same from the right."""
        return -self.ppf(q, df)


class Fisher(Continuous):
    """Distribution of a quotient of two chi squares, each over its degrees."""

    shapes = ("dfn", "dfd")
    low, wide = 0, True

    def logpdf(self, y: Any, dfn: Any, dfd: Any) -> Any:
        """The density's logarithm."""
        found = dfd / 2 * torch.log(dfd) + dfn / 2 * torch.log(dfn) + xlogy(dfn / 2 - 1, y)
        found = found - (dfn + dfd) / 2 * torch.log(dfd + dfn * y)
        return found - log_beta_of_positive(dfn / 2, dfd / 2)

    def _tails(self, y: Any, dfn: Any, dfd: Any) -> tuple[Any, Any]:
        above = dfn * y
        large = torch.isinf(above)
        share = torch.where(large, 1.0, above / (above + dfd))
        rest = torch.where(large, 0.0, dfd / (above + dfd))
        found: tuple[Any, Any] = incomplete_beta(dfn / 2, dfd / 2, share, rest)
        return found

    def cdf(self, y: Any, dfn: Any, dfd: Any) -> Any:
        """The left tail."""
        return self._tails(y, dfn, dfd)[0]

    def sf(self, y: Any, dfn: Any, dfd: Any) -> Any:
        """The right tail."""
        return self._tails(y, dfn, dfd)[1]

    def ppf(self, q: Any, dfn: Any, dfd: Any) -> Any:
        """The inverse of `cdf`."""
        x, y = _beta_inverse(dfn / 2, dfd / 2, q, 1 - q)
        return dfd * x / (dfn * y)

    def isf(self, q: Any, dfn: Any, dfd: Any) -> Any:
        """The inverse of `sf`."""
        x, y = _beta_inverse(dfn / 2, dfd / 2, 1 - q, q)
        return dfd * x / (dfn * y)


# -- The truncated normal distribution --------------------------------------------------------


def _log_mass(a: Any, b: Any) -> Any:
    """log(Phi(b) - Phi(a)), on the side where both are smaller."""
    turn = a + b > 0
    low, high = torch.where(turn, -b, a), torch.where(turn, -a, b)
    left, right = log_ndtr(low), log_ndtr(high)
    apart = torch.where(left == -math.inf, -math.inf, left - right)
    return right + torch.log(-torch.expm1(apart))


def _log_ndtr_inverse(log_p: Any) -> Any:
    """The y at which log Phi(y) is given: Newton, from ndtri or the tail's first term."""
    small = log_p < -20
    far = torch.where(small, log_p, -20.0)
    found = -torch.sqrt(-2 * far - torch.log(-2 * far) - 2 * _LOG_SQRT_2PI)
    for _ in range(4):
        log = log_ndtr(found)
        found = found - (log - far) * torch.exp(log + 0.5 * found * found + _LOG_SQRT_2PI)
    near = ndtri(torch.exp(log_p))
    near = torch.where(log_p > -0.5, -ndtri(-torch.expm1(log_p)), near)
    found = torch.where(small, found, near)
    return torch.where(log_p == -math.inf, -math.inf, found)


class TruncNorm(Continuous):
    """The normal distribution between a and b."""

    shapes = ("a", "b")
    wide = True

    def valid(self, a: Any, b: Any) -> Any:
        """Whether something lies between the bounds."""
        return a < b

    def support(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The shapes themselves."""
        return a, b

    def logpdf(self, y: Any, a: Any, b: Any) -> Any:
        """The density's logarithm."""
        return y * y * -0.5 - _LOG_SQRT_2PI - _log_mass(a, b)

    def cdf(self, y: Any, a: Any, b: Any) -> Any:
        """The share of the mass to the left."""
        return torch.exp(self.logcdf(y, a, b))

    def sf(self, y: Any, a: Any, b: Any) -> Any:
        """The share of the mass to the right."""
        return torch.exp(self.logsf(y, a, b))

    def logcdf(self, y: Any, a: Any, b: Any) -> Any:
        """Logarithm, by the other tail where that is small."""
        whole = _log_mass(a, b)
        left, right = _log_mass(a, y) - whole, _log_mass(y, b) - whole
        return torch.where(left > -0.1, torch.log1p(-torch.exp(right)), left)

    def logsf(self, y: Any, a: Any, b: Any) -> Any:
        """Logarithm, by the other tail where that is small."""
        whole = _log_mass(a, b)
        left, right = _log_mass(a, y) - whole, _log_mass(y, b) - whole
        return torch.where(right > -0.1, torch.log1p(-torch.exp(left)), right)

    def ppf(self, q: Any, a: Any, b: Any) -> Any:
        """The normal quantile of the mass up to there, from the side of the tail."""
        whole = _log_mass(a, b)
        turn = a >= 0
        start = torch.where(turn, -b, a)
        share = torch.where(turn, torch.log1p(-q), torch.log(q))
        found = _log_ndtr_inverse(torch.logaddexp(log_ndtr(start), share + whole))
        found = torch.where(turn, -found, found)
        return torch.where(q == 0, a, torch.where(q == 1, b, found))

    def isf(self, q: Any, a: Any, b: Any) -> Any:
        """The mirrored one."""
        return -self.ppf(q, -b, -a)


# -- Integers -------------------------------------------------------------------------------


class Poisson(Discrete):
    """exp(-mu) mu**k / k!."""

    shapes = ("mu",)
    wide = True

    def valid(self, mu: Any) -> Any:
        """0 is allowed."""
        return mu >= 0

    def logpmf(self, k: Any, mu: Any) -> Any:
        """The logarithm of k's probability."""
        return xlogy(k, mu) - torch.lgamma(k + 1) - mu

    def cdf(self, k: Any, mu: Any) -> Any:
        """Q(k + 1, mu)."""
        return incomplete_gamma(k + 1, mu)[1]

    def sf(self, k: Any, mu: Any) -> Any:
        """P(k + 1, mu)."""
        return incomplete_gamma(k + 1, mu)[0]

    def _about(self, mu: Any) -> tuple[Any, Any]:
        return mu, torch.sqrt(mu)

    def ppf(self, q: Any, mu: Any) -> Any:
        """The least k that is enough."""
        return _least(self, q, False, mu)

    def isf(self, q: Any, mu: Any) -> Any:
        """The same from the right."""
        return _least(self, q, True, mu)


class Binom(Discrete):
    """Number of times that one of p happens in n trials."""

    shapes = ("n", "p")
    wide = True

    def valid(self, n: Any, p: Any) -> Any:
        """A number of trials, and a probability."""
        return both_hold(n >= 0, integral(n), p >= 0, p <= 1)

    def support(self, n: Any, p: Any) -> tuple[Any, Any]:  # noqa: ARG002 (SciPy's shapes)
        """Bounds: none and all."""
        return 0, n

    def pmf(self, k: Any, n: Any, p: Any) -> Any:
        """The probability of k: C. Loader (2000)."""
        rest = n - k
        edge = (k == 0) | (rest == 0)
        one = torch.where(edge, 1.0, k)
        other = torch.where(edge, 1.0, rest)
        inner = beta_density(one, other, p, 1 - p) * n / (one * other)
        outer = torch.exp(xlogy(k, p) + xlog1py(rest, -p))
        return torch.where(edge, outer, inner)

    def logpmf(self, k: Any, n: Any, p: Any) -> Any:
        """Logarithm of the probability."""
        ways = torch.lgamma(n + 1) - (torch.lgamma(k + 1) + torch.lgamma(n - k + 1))
        return ways + xlogy(k, p) + xlog1py(n - k, -p)

    def cdf(self, k: Any, n: Any, p: Any) -> Any:
        """I_(1-p)(n - k, k + 1)."""
        return incomplete_beta(torch.clamp(n - k, min=0), k + 1, 1 - p, p)[0]

    def sf(self, k: Any, n: Any, p: Any) -> Any:
        """1 without it."""
        return incomplete_beta(torch.clamp(n - k, min=0), k + 1, 1 - p, p)[1]

    def _about(self, n: Any, p: Any) -> tuple[Any, Any]:
        return n * p, torch.sqrt(n * p * (1 - p))

    def ppf(self, q: Any, n: Any, p: Any) -> Any:
        """The least k that is enough."""
        return _least(self, q, False, n, p)

    def isf(self, q: Any, n: Any, p: Any) -> Any:
        """The same from the right."""
        return _least(self, q, True, n, p)


class NegativeBinom(Discrete):
    """Number of times that the other happens before the n-th one of p."""

    shapes = ("n", "p")
    wide = True

    def valid(self, n: Any, p: Any) -> Any:
        """Whether n is valid: not only whole numbers are."""
        return both_hold(n > 0, p > 0, p <= 1)

    def pmf(self, k: Any, n: Any, p: Any) -> Any:
        """The probability of k: C. Loader (2000)."""
        first = k == 0
        known = torch.where(first, 1.0, k)
        inner = beta_density(n, known, p, 1 - p) / known
        return torch.where(first, p**n, inner)

    def logpmf(self, k: Any, n: Any, p: Any) -> Any:
        """Logarithm of the probability."""
        ways = torch.lgamma(n + k) - torch.lgamma(k + 1) - torch.lgamma(n)
        return ways + n * torch.log(p) + xlog1py(k, -p)

    def cdf(self, k: Any, n: Any, p: Any) -> Any:
        """I_p(n, k + 1)."""
        return incomplete_beta(n, k + 1, p, 1 - p)[0]

    def sf(self, k: Any, n: Any, p: Any) -> Any:
        """1 without it."""
        return incomplete_beta(n, k + 1, p, 1 - p)[1]

    def logcdf(self, k: Any, n: Any, p: Any) -> Any:
        """Logarithm, by the smaller tail."""
        left, right = incomplete_beta(n, k + 1, p, 1 - p)
        return torch.where(left > 0.5, torch.log1p(-right), torch.log(left))

    def _about(self, n: Any, p: Any) -> tuple[Any, Any]:
        return n * (1 - p) / p, torch.sqrt(n * (1 - p)) / p

    def ppf(self, q: Any, n: Any, p: Any) -> Any:
        """The least k that is enough."""
        return _least(self, q, False, n, p)

    def isf(self, q: Any, n: Any, p: Any) -> Any:
        """The same from the right."""
        return _least(self, q, True, n, p)


#: Maximum number of times that the interval of a quantile is halved.
_HALVINGS = 60


def _halvings(width: Any) -> int:
    """Number of halvings of the widest interval; the host reads it where there is one."""
    if not width.numel() or not has_values(width):
        return _HALVINGS
    widest = float(torch.nan_to_num(width, nan=2.0).max())
    return min(_HALVINGS, math.ceil(math.log2(max(widest, 2.0))) + 1)


def _least(family: Any, q: Any, right: bool, *given: Any) -> Any:
    """The least k of which the left tail is at least q, or the right one at most q.

    Bisection from the mean and standard deviation; the interval grows by itself.
    """
    centre, spread = family._about(*given)
    low, high = family.support(*given)
    parts = [centre, spread, q, *given]
    centre, spread, q, *shapes = torch.broadcast_tensors(*parts)
    reach = 40 * (spread + 1) + 800
    top = torch.floor(centre + reach * torch.clamp(spread, min=1))
    top = torch.minimum(top, torch.as_tensor(high, dtype=q.dtype, device=q.device))
    bottom = torch.full_like(q, low - 1)
    for _ in range(_halvings(top - bottom)):
        middle = torch.floor((bottom + top) / 2)
        inside = torch.clamp(middle, min=low)
        if right:
            enough = family.sf(inside, *shapes) <= q
        else:
            enough = family.cdf(inside, *shapes) >= q
        enough = enough & (middle >= low)
        top = torch.where(enough, middle, top)
        bottom = torch.where(enough, bottom, middle)
    return torch.where(torch.isnan(q), math.nan, top)


OF_TAILS: dict[str, Continuous] = {
    "gamma": Gamma(),
    "chi2": ChiSquare(),
    "invgamma": InverseGamma(),
    "beta": Beta(),
    "t": Student(),
    "f": Fisher(),
    "truncnorm": TruncNorm(),
    "poisson": Poisson(),
    "binom": Binom(),
    "nbinom": NegativeBinom(),
}
