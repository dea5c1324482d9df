"""Standard forms of distributions that are made of elementary functions, erf and its inverse.

The formulas are those of N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous Univariate
Distributions", and "Univariate Discrete Distributions", written so that nothing cancels in the
tails.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.special import log_ndtr, ndtri

from npaccel._scipy.special._common import magnitude, xlog1py, xlogy
from npaccel._scipy.stats._methods import Continuous, Discrete, both_hold, integral

_SQRT_2PI = math.sqrt(2 * math.pi)
_LOG_SQRT_2PI = math.log(_SQRT_2PI)


def ndtr(y: Any) -> Any:
    """Phi(y); torch's own cancels in the left tail."""
    return torch.erfc(y * -math.sqrt(0.5)) * 0.5


class Norm(Continuous):
    """exp(-y**2 / 2) / sqrt(2 pi)."""

    def pdf(self, y: Any) -> Any:
        """The density."""
        return torch.exp(y * y * -0.5) * (1 / _SQRT_2PI)

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density."""
        return y * y * -0.5 - _LOG_SQRT_2PI

    def cdf(self, y: Any) -> Any:
        """Phi(y)."""
        return ndtr(y)

    def sf(self, y: Any) -> Any:
        """Phi(-y)."""
        return ndtr(-y)

    def logcdf(self, y: Any) -> Any:
        """Logarithm, right in the left tail too."""
        return log_ndtr(y)

    def logsf(self, y: Any) -> Any:
        """Logarithm, right in the right tail too."""
        return log_ndtr(-y)

    def ppf(self, q: Any) -> Any:
        """The inverse of Phi."""
        return ndtri(q)

    def isf(self, q: Any) -> Any:
        """The same from the right."""
        return -ndtri(q)


class Uniform(Continuous):
    """1 from 0 to 1."""

    low, high = 0, 1

    def pdf(self, y: Any) -> Any:
        """1, or NaN."""
        return y * 0 + 1

    def logpdf(self, y: Any) -> Any:
        """0, or NaN."""
        return y * 0

    def cdf(self, y: Any) -> Any:
        """The value itself."""
        return y

    def ppf(self, q: Any) -> Any:
        """The probability itself."""
        return q


class Expon(Continuous):
    """exp(-y)."""

    low = 0

    def pdf(self, y: Any) -> Any:
        """The density."""
        return torch.exp(-y)

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density."""
        return -y

    def cdf(self, y: Any) -> Any:
        """1 - exp(-y)."""
        return -torch.expm1(-y)

    def sf(self, y: Any) -> Any:
        """exp(-y)."""
        return torch.exp(-y)

    def logsf(self, y: Any) -> Any:
        """Logarithm of the survival function."""
        return -y

    def ppf(self, q: Any) -> Any:
        """-log(1 - q)."""
        return -torch.log1p(-q)

    def isf(self, q: Any) -> Any:
        """-log(q)."""
        return -torch.log(q)


class Laplace(Continuous):
    """exp(-abs(y)) / 2."""

    def pdf(self, y: Any) -> Any:
        """The density."""
        return torch.exp(-torch.abs(y)) * 0.5

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density."""
        return -torch.abs(y) - math.log(2)

    def cdf(self, y: Any) -> Any:
        """The smaller tail, and 1 without it."""
        above = y > 0
        tail = torch.exp(-torch.where(above, y, -y)) * 0.5  # Its derivative at 0 is that below.
        return torch.where(above, 1 - tail, tail)

    def sf(self, y: Any) -> Any:
        """The same from the right."""
        return self.cdf(-y)

    def ppf(self, q: Any) -> Any:
        """The logarithm of the smaller tail."""
        return torch.where(q > 0.5, -torch.log(2 * (1 - q)), torch.log(2 * q))

    def isf(self, q: Any) -> Any:
        """The same from the right."""
        return -self.ppf(q)


class Logistic(Continuous):
    """exp(-y) / (1 + exp(-y))**2."""

    def pdf(self, y: Any) -> Any:
        """Density, with a power that can't overflow."""
        power = torch.exp(-magnitude(y))
        return power / (1 + power) ** 2

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density."""
        size = magnitude(y)
        return -size - 2 * torch.log1p(torch.exp(-size))

    def cdf(self, y: Any) -> Any:
        """1 / (1 + exp(-y))."""
        return torch.sigmoid(y)

    def sf(self, y: Any) -> Any:
        """The same from the right."""
        return torch.sigmoid(-y)

    def logcdf(self, y: Any) -> Any:
        """Logarithm of the distribution function."""
        below = torch.where(torch.signbit(y), y, 0.0)
        return below - torch.log1p(torch.exp(-magnitude(y)))

    def logsf(self, y: Any) -> Any:
        """The same from the right."""
        return self.logcdf(-y)

    def ppf(self, q: Any) -> Any:
        """log(q / (1 - q))."""
        return torch.logit(q)

    def isf(self, q: Any) -> Any:
        """The same from the right."""
        return -torch.logit(q)


class Cauchy(Continuous):
    """1 / (pi (1 + y**2))."""

    def pdf(self, y: Any) -> Any:
        """The density."""
        return (1 / math.pi) / (1 + y * y)

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density; y**2 may be too large for a float."""
        return -2 * torch.log(torch.hypot(y, y.new_ones(()))) - math.log(math.pi)

    def cdf(self, y: Any) -> Any:
        """The angle of (-y, 1)."""
        return torch.atan2(y.new_ones(()), -y) * (1 / math.pi)

    def sf(self, y: Any) -> Any:
        """The angle of (y, 1)."""
        return torch.atan2(y.new_ones(()), y) * (1 / math.pi)

    def ppf(self, q: Any) -> Any:
        """The cotangent of the smaller tail, which is exact at both ends."""
        tail = torch.where(q < 0.5, q, 1 - q)
        distance = 1 / torch.abs(torch.tan(math.pi * tail))
        return torch.where(q < 0.5, -distance, distance)

    def isf(self, q: Any) -> Any:
        """The same from the right."""
        return -self.ppf(q)


class Rayleigh(Continuous):
    """y exp(-y**2 / 2)."""

    low, open_ends = 0, True

    def pdf(self, y: Any) -> Any:
        """The density."""
        return y * torch.exp(y * y * -0.5)

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density."""
        return torch.log(y) - 0.5 * y * y

    def cdf(self, y: Any) -> Any:
        """1 - exp(-y**2 / 2)."""
        return -torch.expm1(y * y * -0.5)

    def sf(self, y: Any) -> Any:
        """exp(-y**2 / 2)."""
        return torch.exp(y * y * -0.5)

    def logsf(self, y: Any) -> Any:
        """Logarithm of the survival function."""
        return y * y * -0.5

    def ppf(self, q: Any) -> Any:
        """The inverse of `cdf`."""
        return torch.sqrt(-2 * torch.log1p(-q))

    def isf(self, q: Any) -> Any:
        """The inverse of `sf`."""
        return torch.sqrt(-2 * torch.log(q))


class GumbelRight(Continuous):
    """exp(-(y + exp(-y))): of the largest of many."""

    def logpdf(self, y: Any) -> Any:
        """The density's logarithm."""
        return -y - torch.exp(-y)

    def cdf(self, y: Any) -> Any:
        """exp(-exp(-y))."""
        return torch.exp(-torch.exp(-y))

    def logcdf(self, y: Any) -> Any:
        """Logarithm of the distribution function."""
        return -torch.exp(-y)

    def sf(self, y: Any) -> Any:
        """1 without it."""
        return -torch.expm1(-torch.exp(-y))

    def ppf(self, q: Any) -> Any:
        """The inverse of `cdf`."""
        return -torch.log(-torch.log(q))

    def isf(self, q: Any) -> Any:
        """The inverse of `sf`."""
        return -torch.log(-torch.log1p(-q))


class GumbelLeft(Continuous):
    """exp(y - exp(y)): of the smallest of many."""

    def logpdf(self, y: Any) -> Any:
        """The density's logarithm."""
        return y - torch.exp(y)

    def cdf(self, y: Any) -> Any:
        """1 - exp(-exp(y))."""
        return -torch.expm1(-torch.exp(y))

    def sf(self, y: Any) -> Any:
        """exp(-exp(y))."""
        return torch.exp(-torch.exp(y))

    def logsf(self, y: Any) -> Any:
        """Logarithm of the survival function."""
        return -torch.exp(y)

    def ppf(self, q: Any) -> Any:
        """The inverse of `cdf`."""
        return torch.log(-torch.log1p(-q))

    def isf(self, q: Any) -> Any:
        """The inverse of `sf`."""
        return torch.log(-torch.log(q))


class HalfNorm(Continuous):
    """exp(-y**2 / 2) sqrt(2 / pi)."""

    low = 0

    def pdf(self, y: Any) -> Any:
        """The density."""
        return torch.exp(y * y * -0.5) * math.sqrt(2 / math.pi)

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density."""
        return y * y * -0.5 + 0.5 * math.log(2 / math.pi)

    def cdf(self, y: Any) -> Any:
        """erf(y / sqrt(2))."""
        return torch.erf(y * math.sqrt(0.5))

    def sf(self, y: Any) -> Any:
        """Sum of both tails."""
        return 2 * ndtr(-y)

    def logsf(self, y: Any) -> Any:
        """Logarithm of the survival function."""
        return log_ndtr(-y) + math.log(2)

    def ppf(self, q: Any) -> Any:
        """Point whose right tail is (1 - q) / 2."""
        return ndtri((1 + q) * 0.5)

    def isf(self, q: Any) -> Any:
        """Point whose right tail is q / 2."""
        return -ndtri(q * 0.5)


class HalfCauchy(Continuous):
    """2 / (pi (1 + y**2))."""

    low = 0

    def pdf(self, y: Any) -> Any:
        """The density."""
        return (2 / math.pi) / (1 + y * y)

    def logpdf(self, y: Any) -> Any:
        """Logarithm of the density."""
        return math.log(2 / math.pi) - torch.log1p(y * y)

    def cdf(self, y: Any) -> Any:
        """The angle of (1, y)."""
        return torch.atan(y) * (2 / math.pi)

    def sf(self, y: Any) -> Any:
        """The angle of (y, 1)."""
        return torch.atan2(y.new_ones(()), y) * (2 / math.pi)

    def ppf(self, q: Any) -> Any:
        """The tangent, by the smaller angle: exact at both ends."""
        half = math.pi / 2
        return torch.where(q < 0.5, torch.tan(half * q), 1 / torch.tan(half * (1 - q)))

    def isf(self, q: Any) -> Any:
        """The same from the right."""
        half = math.pi / 2
        near = 1 / torch.abs(torch.tan(half * q))
        return torch.where(q < 0.5, near, torch.tan(half * (1 - q)))


class Triang(Continuous):
    """Rising from 0 to c, falling from c to 1."""

    shapes = ("c",)
    low, high = 0, 1

    def valid(self, c: Any) -> Any:
        """The ends are allowed."""
        return both_hold(c >= 0, c <= 1)

    def _rises(self, y: Any, c: Any) -> Any:
        return (y < c) | (c == 1)

    def pdf(self, y: Any, c: Any) -> Any:
        """The density: the lower one of two lines, of which there is one where c is 0 or 1."""
        left, right = (torch.where(width == 0, 1.0, width) for width in (c, 1 - c))
        rising = torch.addcdiv(torch.where(c == 0, math.inf, 0 * c), y, left, value=2)
        falling = torch.addcdiv(torch.where(c == 1, math.inf, 0 * c), 1 - y, right, value=2)
        return torch.minimum(rising, falling)

    def cdf(self, y: Any, c: Any) -> Any:
        """The area."""
        return torch.where(self._rises(y, c), y * y / c, (y - c + y * (1 - y)) / (1 - c))

    def sf(self, y: Any, c: Any) -> Any:
        """The rest of it."""
        return torch.where(self._rises(y, c), 1 - y * y / c, (1 - y) ** 2 / (1 - c))

    def logsf(self, y: Any, c: Any) -> Any:
        """The logarithm of the rest of it."""
        falling = torch.log1p(-y) * 2 - torch.log1p(-c)
        return torch.where(self._rises(y, c), torch.log1p(-y * y / c), falling)

    def ppf(self, q: Any, c: Any) -> Any:
        """The inverse of `cdf`."""
        return torch.where(q < c, torch.sqrt(c * q), 1 - torch.sqrt((1 - c) * (1 - q)))


class PowerLaw(Continuous):
    """a y**(a - 1)."""

    shapes = ("a",)
    low, high = 0, 1

    def pdf(self, y: Any, a: Any) -> Any:
        """The density."""
        return a * y ** (a - 1)

    def logpdf(self, y: Any, a: Any) -> Any:
        """Logarithm of the density."""
        return torch.log(a) + xlogy(a - 1, y)

    def cdf(self, y: Any, a: Any) -> Any:
        """y**a."""
        return y**a

    def logcdf(self, y: Any, a: Any) -> Any:
        """Logarithm of the distribution function."""
        return a * torch.log(y)

    def sf(self, y: Any, a: Any) -> Any:
        """1 - y**a."""
        return -torch.expm1(a * torch.log(y))

    def ppf(self, q: Any, a: Any) -> Any:
        """The root."""
        return q ** (1 / a)


class Pareto(Continuous):
    """b / y**(b + 1)."""

    shapes = ("b",)
    low = 1

    def pdf(self, y: Any, b: Any) -> Any:
        """The density."""
        return b * y ** (-b - 1)

    def cdf(self, y: Any, b: Any) -> Any:
        """1 - y**-b."""
        return 1 - y**-b

    def sf(self, y: Any, b: Any) -> Any:
        """y**-b."""
        return y**-b

    def ppf(self, q: Any, b: Any) -> Any:
        """The inverse of `cdf`."""
        return (1 - q) ** (-1 / b)

    def isf(self, q: Any, b: Any) -> Any:
        """The inverse of `sf`."""
        return q ** (-1 / b)


class WeibullMin(Continuous):
    """c y**(c - 1) exp(-y**c)."""

    shapes = ("c",)
    low = 0

    def pdf(self, y: Any, c: Any) -> Any:
        """The density."""
        return c * y ** (c - 1) * torch.exp(-(y**c))

    def logpdf(self, y: Any, c: Any) -> Any:
        """Logarithm of the density."""
        return torch.log(c) + xlogy(c - 1, y) - y**c

    def cdf(self, y: Any, c: Any) -> Any:
        """1 - exp(-y**c)."""
        return -torch.expm1(-(y**c))

    def sf(self, y: Any, c: Any) -> Any:
        """exp(-y**c)."""
        return torch.exp(-(y**c))

    def logsf(self, y: Any, c: Any) -> Any:
        """Logarithm of the survival function."""
        return -(y**c)

    def ppf(self, q: Any, c: Any) -> Any:
        """The inverse of `cdf`."""
        return (-torch.log1p(-q)) ** (1 / c)

    def isf(self, q: Any, c: Any) -> Any:
        """The inverse of `sf`."""
        return (-torch.log(q)) ** (1 / c)


class WeibullMax(Continuous):
    """`WeibullMin`, mirrored at 0."""

    shapes = ("c",)
    high = 0
    _mirrored = WeibullMin()

    def pdf(self, y: Any, c: Any) -> Any:
        """The density."""
        return self._mirrored.pdf(-y, c)

    def logpdf(self, y: Any, c: Any) -> Any:
        """Logarithm of the density."""
        return self._mirrored.logpdf(-y, c)

    def cdf(self, y: Any, c: Any) -> Any:
        """Tail, from the other side."""
        return self._mirrored.sf(-y, c)

    def logcdf(self, y: Any, c: Any) -> Any:
        """Logarithm of the distribution function."""
        return self._mirrored.logsf(-y, c)

    def sf(self, y: Any, c: Any) -> Any:
        """Tail, from the other side."""
        return self._mirrored.cdf(-y, c)

    def ppf(self, q: Any, c: Any) -> Any:
        """The inverse of `cdf`."""
        return -self._mirrored.isf(q, c)

    def isf(self, q: Any, c: Any) -> Any:
        """The inverse of `sf`."""
        return -self._mirrored.ppf(q, c)


class LogNorm(Continuous):
    """Distribution of exp(s z) for a normal z."""

    shapes = ("s",)
    low, open_ends = 0, True

    def logpdf(self, y: Any, s: Any) -> Any:
        """The density's logarithm."""
        log = torch.log(y)
        z = log / s
        return z * z * -0.5 - log - (torch.log(s) + _LOG_SQRT_2PI)

    def cdf(self, y: Any, s: Any) -> Any:
        """Phi of the logarithm."""
        return ndtr(torch.log(y) / s)

    def sf(self, y: Any, s: Any) -> Any:
        """The same from the right."""
        return ndtr(-torch.log(y) / s)

    def logcdf(self, y: Any, s: Any) -> Any:
        """Logarithm of the distribution function."""
        return log_ndtr(torch.log(y) / s)

    def logsf(self, y: Any, s: Any) -> Any:
        """The same from the right."""
        return log_ndtr(-torch.log(y) / s)

    def ppf(self, q: Any, s: Any) -> Any:
        """The inverse of `cdf`."""
        return torch.exp(s * ndtri(q))

    def isf(self, q: Any, s: Any) -> Any:
        """The inverse of `sf`."""
        return torch.exp(-s * ndtri(q))


class Geom(Discrete):
    """(1 - p)**(k - 1) p."""

    shapes = ("p",)
    low = 1

    def valid(self, p: Any) -> Any:
        """Whether p is valid, which 0 isn't."""
        return both_hold(p > 0, p <= 1)

    def pmf(self, k: Any, p: Any) -> Any:
        """The probability of k."""
        return (1 - p) ** (k - 1) * p

    def logpmf(self, k: Any, p: Any) -> Any:
        """Logarithm of the probability."""
        return xlog1py(k - 1, -p) + torch.log(p)

    def cdf(self, k: Any, p: Any) -> Any:
        """1 - (1 - p)**k."""
        return -torch.expm1(torch.log1p(-p) * k)

    def sf(self, k: Any, p: Any) -> Any:
        """(1 - p)**k."""
        return torch.exp(self.logsf(k, p))

    def logsf(self, k: Any, p: Any) -> Any:
        """Logarithm of the survival function."""
        return k * torch.log1p(-p)

    def ppf(self, q: Any, p: Any) -> Any:
        """The formula's, or one less where that is enough."""
        found = torch.ceil(torch.log1p(-q) / torch.log1p(-p))
        enough = (self.cdf(found - 1, p) >= q) & (found > 0)
        return torch.where(enough, found - 1, found)


class Bernoulli(Discrete):
    """p for 1, else 0."""

    shapes = ("p",)
    high = 1

    def valid(self, p: Any) -> Any:
        """The ends are allowed."""
        return both_hold(p >= 0, p <= 1)

    def logpmf(self, k: Any, p: Any) -> Any:
        """The logarithm of k's probability."""
        return xlogy(k, p) + xlog1py(1 - k, -p)

    def pmf(self, k: Any, p: Any) -> Any:
        """The probability of k."""
        return torch.where(k > 0.5, p, 1 - p) + k * 0

    def cdf(self, k: Any, p: Any) -> Any:
        """Probability of 0."""
        return 1 - p + k * 0

    def sf(self, k: Any, p: Any) -> Any:
        """Probability of 1."""
        return p + k * 0

    def ppf(self, q: Any, p: Any) -> Any:
        """1 where 0 isn't enough."""
        return torch.where(q > 1 - p, 1.0, q * 0)

    def isf(self, q: Any, p: Any) -> Any:
        """The same from the right."""
        return torch.where(q < p, 1.0, q * 0)


class RandInt(Discrete):
    """The same for all from `low` to before `high`."""

    shapes = ("low", "high")

    def valid(self, low: Any, high: Any) -> Any:
        """Integers, at least one of which lies between."""
        return both_hold(high > low, integral(low), integral(high))

    def support(self, low: Any, high: Any) -> tuple[Any, Any]:
        """The ends of the support."""
        return low, high - 1

    def pmf(self, k: Any, low: Any, high: Any) -> Any:
        """One of them."""
        return k * 0 + 1 / (high - low)

    def cdf(self, k: Any, low: Any, high: Any) -> Any:
        """Share of what is at most k."""
        return (k - low + 1) / (high - low)

    def ppf(self, q: Any, low: Any, high: Any) -> Any:
        """The formula's, or one less where that is enough."""
        found = torch.ceil(q * (high - low) + low) - 1
        less = torch.minimum(torch.maximum(found - 1, low), high)
        return torch.where(self.cdf(less, low, high) >= q, less, found)


ELEMENTARY: dict[str, Continuous] = {
    "norm": Norm(),
    "uniform": Uniform(),
    "expon": Expon(),
    "laplace": Laplace(),
    "logistic": Logistic(),
    "cauchy": Cauchy(),
    "rayleigh": Rayleigh(),
    "gumbel_r": GumbelRight(),
    "gumbel_l": GumbelLeft(),
    "halfnorm": HalfNorm(),
    "halfcauchy": HalfCauchy(),
    "triang": Triang(),
    "powerlaw": PowerLaw(),
    "pareto": Pareto(),
    "weibull_min": WeibullMin(),
    "weibull_max": WeibullMax(),
    "lognorm": LogNorm(),
    "geom": Geom(),
    "bernoulli": Bernoulli(),
    "randint": RandInt(),
}
