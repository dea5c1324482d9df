"""Gamma, beta and binomials of `scipy.special`."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._numpy.core.dtypes import as_tensor, cast, dtype_of, narrow
from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.dispatch import checks, table
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._common import Tensor, elementwise, floats, integer, on_cpu, sin_pi
from npaccel._scipy.special._gamma import (
    beta_of_positive,
    digamma_difference,
    gamma_of_positive,
    gamma_of_real,
    is_pole,
    log_beta_of_positive,
    log_beta_slope,
    log_ratio,
    reciprocal_gamma,
    sign_of_gamma,
)


@elementwise("gamma", host_reason=on_cpu)
def gamma(z: Tensor) -> Tensor:
    """The gamma function."""
    return gamma_of_real(z)


@elementwise("rgamma", host_reason=on_cpu)
def rgamma(z: Tensor) -> Tensor:
    """1 / Gamma."""
    return reciprocal_gamma(z)


@elementwise("gammasgn", host_reason=on_cpu)
def gammasgn(x: Tensor) -> Tensor:
    """The sign of Gamma."""
    return sign_of_gamma(x)


@on_tensors("special.multigammaln", arrays=("a",))
def multigammaln(a: Any, d: Any) -> Tensor:
    """The logarithm of the multivariate gamma function."""
    (value,) = floats(a)
    order = integer(d, "d")
    if order < 1:
        raise NotImplementedError("npaccel has it for positive `d` only")
    checks.holds((value > 0.5 * (order - 1)).all(), "condition a > 0.5 * (d-1) not met")
    found = torch.full_like(value, order * (order - 1) / 4 * math.log(math.pi))
    for j in range(order):
        found = found + torch.lgamma(value - j / 2)
    return found


# -- Beta -------------------------------------------------------------------------------------


def _mirrored(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return where B(a, b) is finite for a negative integer, and B of which positive numbers."""
    pole = is_pole(a)
    whole, bottom = torch.where(pole, b, a), torch.where(pole, a, b)
    other = 1 - bottom - whole
    finite = (is_pole(a) | is_pole(b)) & (whole == torch.floor(whole)) & (whole > 0) & (other > 0)
    return finite, torch.where(finite, other, 1.0), torch.where(finite, whole, 1.0)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    """Return ln |B(a, b)| for numbers that aren't both positive, nor poles."""
    low, high = torch.minimum(a, b), torch.maximum(a, b)
    large = (high >= 10) & (a + b >= 10)
    ratio = log_ratio(torch.where(large, high, 10), torch.where(large, low, 0))
    near = torch.lgamma(high) - torch.lgamma(a + b)
    return torch.lgamma(low) + torch.where(large, -ratio, near)


@elementwise("beta", host_reason=on_cpu)
@with_slopes(
    lambda a, b: beta(a, b) * log_beta_slope(a, b),
    lambda a, b: beta(a, b) * log_beta_slope(b, a),
)
def beta(a: Tensor, b: Tensor) -> Tensor:
    """Gamma(a) Gamma(b) / Gamma(a + b)."""
    positive = beta_of_positive(torch.where(a > 0, a, 1), torch.where(b > 0, b, 1))
    moderate = (torch.abs(a) < 80) & (torch.abs(b) < 80)
    direct = gamma_of_real(a) * gamma_of_real(b) * reciprocal_gamma(a + b)
    sign = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b)
    any_sign = torch.where(moderate, direct, sign * torch.exp(_log_beta(a, b)))
    finite, first, second = _mirrored(a, b)
    sign = 1 - 2 * torch.remainder(second, 2)
    at_pole = torch.where(finite, sign * beta_of_positive(first, second), math.inf)
    found = torch.where(is_pole(a) | is_pole(b), at_pole, any_sign)
    found = torch.where((a > 0) & (b > 0), positive, found)
    found = torch.where((a > 0) & (b > 0) & (a + b == math.inf), 0.0, found)
    return torch.where(torch.isnan(a) | torch.isnan(b), math.nan, found)


@elementwise("betaln", host_reason=on_cpu)
@with_slopes(log_beta_slope, lambda a, b: log_beta_slope(b, a))
def betaln(a: Tensor, b: Tensor) -> Tensor:
    """Return ln |B(a, b)|."""
    positive = log_beta_of_positive(torch.where(a > 0, a, 1), torch.where(b > 0, b, 1))
    finite, first, second = _mirrored(a, b)
    at_pole = torch.where(finite, log_beta_of_positive(first, second), math.inf)
    found = torch.where(is_pole(a) | is_pole(b), at_pole, _log_beta(a, b))
    found = torch.where((a > 0) & (b > 0), positive, found)
    found = torch.where((a > 0) & (b > 0) & (a + b == math.inf), -math.inf, found)
    return torch.where(torch.isnan(a) | torch.isnan(b), math.nan, found)


# -- Binomials and factorials -------------------------------------------------------------------


def _product(n: Tensor, k: Tensor) -> Tensor:
    """The binomial coefficient for a whole k of less than 20."""
    above, below = torch.ones_like(n + k), torch.ones_like(n + k)
    for i in range(1, 20):
        above = torch.where(i <= k, above * (n - k + i), above)
        below = torch.where(i <= k, below * i, below)
    return above / below


@elementwise("binom", host_reason=on_cpu)
@with_slopes(
    lambda n, k: binom(n, k) * digamma_difference(n + 1, n - k + 1),
    lambda n, k: binom(n, k) * digamma_difference(n - k + 1, k + 1),
)
def binom(n: Tensor, k: Tensor) -> Tensor:
    """The binomial coefficient of real numbers."""
    below = torch.floor(k)
    mirror = (n == torch.floor(n)) & (n > 0) & (below > n / 2)
    fewer = torch.where(mirror, n - below, below)
    whole = (k == below) & ((torch.abs(n) > 1e-8) | (n == 0))
    exact = whole & (fewer >= 0) & (fewer < 20) & (torch.abs(n) < 1e15)
    above = 1 + n - k
    inside = (above > 0) & (k > -1)
    top, bottom = torch.where(inside, above, 1), torch.where(inside, 1 + k, 1)
    log = -log_beta_of_positive(top, bottom) - torch.log(torch.abs(n + 1))
    direct = 1 / ((n + 1) * beta_of_positive(top, bottom))
    found = torch.where((n > 1e10 * k) & (k > 0), torch.exp(log), direct)
    found = torch.where(inside, found, _outside(n, k))
    found = torch.where(exact, _product(n, torch.where(exact, fewer, 0)), found)
    return torch.where((n < 0) & (n == torch.floor(n)), math.nan, found)


def _outside(n: Tensor, k: Tensor) -> Tensor:
    """The binomial coefficient where k isn't between -1 and n + 1, by reflection."""
    near = gamma_of_real(n + 1) * reciprocal_gamma(1 + n - k) * reciprocal_gamma(1 + k)
    top = torch.where(k > 0, k - n, -k)
    bottom = torch.where(k > 0, k + 1, n - k + 1)
    log = torch.lgamma(top) - torch.lgamma(bottom)
    large = (top > 10) & (bottom > 10)
    ratio = -log_ratio(torch.clamp(top, min=10), torch.where(large, bottom - top, 0))
    log = torch.lgamma(n + 1) + torch.where(large, ratio, log)
    sine = torch.where(k > 0, sin_pi(k - n), -sin_pi(k)) * sign_of_gamma(n + 1)
    far = torch.where(sine == 0, 0.0, sine / math.pi * torch.exp(log))
    return torch.where((torch.abs(k) < 100) & (torch.abs(n) < 100), near, far)


@elementwise("poch", host_reason=on_cpu)
@with_slopes(
    lambda z, m: poch(z, m) * digamma_difference(z + m, z),
    lambda z, m: poch(z, m) * torch.special.digamma(z + m),
)
def poch(z: Tensor, m: Tensor) -> Tensor:
    """Gamma(z + m) / Gamma(z)."""
    top = z + m
    large = (z >= 10) & (top >= 10)
    far = torch.exp(log_ratio(torch.clamp(z, min=10), torch.where(large, m, 0)))
    moderate = (torch.abs(z) < 170) & (torch.abs(top) < 170)
    near = gamma_of_real(top) * reciprocal_gamma(z)
    log = torch.exp(torch.lgamma(top) - torch.lgamma(z))
    other = torch.where(moderate, near, sign_of_gamma(top) * sign_of_gamma(z) * log)
    found = torch.where(large, far, other)
    odd = torch.remainder(m, 2) != 0
    safe = torch.where(is_pole(z) & is_pole(top), z, 0)
    both = gamma_of_real(1 - safe) * reciprocal_gamma(1 - safe - torch.where(safe != 0, m, 0))
    found = torch.where(
        is_pole(z), torch.where(is_pole(top), torch.where(odd, -both, both), 0.0), found
    )
    found = torch.where(is_pole(top) & ~is_pole(z), math.inf, found)
    whole = (z == torch.floor(z)) & (m == torch.floor(m)) & (m > 0) & (torch.abs(found) < 1e14)
    found = torch.where(whole, torch.round(found), found)
    found = torch.where((m == math.inf) & (z > 0), m, found)
    return torch.where(m == 0, 1.0, torch.where(torch.isnan(z + m), math.nan, found))


def _native(name: str) -> Any:
    """Return npaccel's form of another function."""
    row = table.row(f"scipy.special.{name}")
    assert row is not None
    return row.implementation


def _exact(bound: dict[str, Any]) -> str:
    return "exact integers are Python's" if bound["exact"] else on_cpu(bound)


def _refuse_exact(exact: Any) -> None:
    if exact:
        raise NotImplementedError("exact integers are Python's")


@on_tensors("special.comb", arrays=("N", "k"), host_reason=_exact)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Tensor:
    """Number of ways to choose k of N."""
    _refuse_exact(exact)
    n, k = as_tensor(N), as_tensor(k)
    if repetition:
        found = _native("binom")(n + k - 1, k)
        return torch.where((k == 0) & (n >= 0), 1, found)
    found = _native("binom")(n, k)
    return torch.where((k <= n) & (n >= 0) & (k >= 0), found, 0)


@on_tensors("special.perm", arrays=("N", "k"), host_reason=_exact)
def perm(N: Any, k: Any, exact: bool = False) -> Tensor:
    """Number of ways to choose k of N one after the other."""
    _refuse_exact(exact)
    n, k = as_tensor(N), as_tensor(k)
    found = _native("poch")(n - k + 1, k)
    return torch.where((k <= n) & (n >= 0) & (k >= 0), found, 0)


def _exact_or_complex(bound: dict[str, Any]) -> str:
    if bound["extend"] != "zero":
        return "npaccel has `extend='zero'` only"
    return _exact(bound)


def _factorial_of(n: Any, exact: Any, extend: Any) -> tuple[Tensor, Any]:
    """Return an argument of a factorial, and its result's dtype."""
    _refuse_exact(exact)
    if extend != "zero":
        raise NotImplementedError("npaccel has `extend='zero'` only")
    value = as_tensor(n)
    dtype = dtype_of(value)
    if dtype.kind not in "iuf":  # type: ignore[union-attr]
        raise ValueError("factorials are of integers and floats")
    import numpy as np

    return value, narrow(np.dtype(np.float64), [dtype])


@on_tensors("special.factorial", arrays=("n",), host_reason=_exact_or_complex)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Tensor:
    """Gamma(n + 1), 0 for negative numbers."""
    value, dtype = _factorial_of(n, exact, extend)
    if not value.numel():
        return value.clone()
    wide = value.to(torch.float64)
    found = gamma_of_positive(torch.clamp(wide, min=0) + 1)
    return cast(torch.where(wide < 0, 0.0, found), dtype)


@on_tensors("special.factorial2", arrays=("n",), host_reason=_exact_or_complex)
def factorial2(n: Any, exact: bool = False, extend: str = "zero") -> Tensor:
    """Return n (n - 2) (n - 4) ..., 0 for negative numbers."""
    return factorialk(n, 2, exact, extend)


@on_tensors("special.factorialk", arrays=("n",), host_reason=_exact_or_complex)
def factorialk(n: Any, k: Any, exact: bool = False, extend: str = "zero") -> Tensor:
    """Return n (n - k) (n - 2 k) ..., 0 for negative numbers."""
    value, dtype = _factorial_of(n, exact, extend)
    if type(k) is not int or k < 1 or value.is_floating_point():
        raise ValueError("factorialk is of integers, in positive steps")
    if not value.numel():
        return value.clone()
    wide = torch.clamp(value.to(torch.float64), min=0)
    rest = torch.remainder(wide, k)
    found = torch.pow(float(k), (wide - rest) / k) * gamma_of_positive(wide / k + 1)
    found = found / gamma_of_positive(rest / k + 1) * torch.clamp(rest, min=1)
    found = torch.where(found < 1e14, torch.round(found), found)
    return cast(torch.where(value < 0, 0.0, found), dtype)


# -- Riemann's zeta -----------------------------------------------------------------------------

#: Bernoulli's B_2k / (2k)! of the Euler-Maclaurin sum.
_BERNOULLI = (
    *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160),
    *(-691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000),
)


def _zeta_less_one(s: Tensor) -> Tensor:
    """zeta(s) - 1 for s > -1: nine terms, and the Euler-Maclaurin sum for the rest."""
    p2, p3, p5, p7 = (torch.pow(float(p), -s) for p in (2, 3, 5, 7))
    p4, p10 = p2 * p2, p2 * p5
    terms = p2 + p3 + p4 + p5 + p2 * p3 + p7 + p4 * p2 + p3 * p3
    found = terms + p10 / 2 + p10 * 10 / (s - 1)
    power = p10 * s / 10
    for k, b in enumerate(_BERNOULLI):
        found = found + b * power
        power = power * (s + 2 * k + 1) * (s + 2 * k + 2) / 100
    return found


def _riemann(s: Tensor, less: float) -> Tensor:
    """zeta(s) - less, by reflection for negative numbers."""
    turned = s < -0.5
    right = _zeta_less_one(torch.clamp(torch.where(turned, 1 - s, s), max=1e3))
    size = gamma_of_positive(torch.where(turned, torch.clamp(1 - s, max=1e3), 1.0), 2 * math.pi)
    left = sin_pi(s / 2) * torch.clamp(size, max=1.7e308) * 2 * (1 + right)
    left = left + 0.0  # At its zeros 0, not -0, with their derivative.
    found = torch.where(turned, left - less, right + (1 - less))
    found = torch.where(s == 1, math.inf, torch.where(s > 1e3, 1 - less, found))
    return torch.where(s == -math.inf, math.nan, found)


@elementwise("zetac", host_reason=on_cpu)
def zetac(x: Tensor) -> Tensor:
    """Riemann's zeta function less 1."""
    return _riemann(x, 1.0)


@on_tensors("special.zeta", arrays=("x", "q"), by_element=True, host_reason=on_cpu)
def zeta(x: Any, q: Any = None, out: Any = None) -> Tensor:
    """Riemann's zeta function, and that of Hurwitz."""
    if out is not None:
        raise NotImplementedError("npaccel doesn't write to `out` here")
    if q is None:
        (value,) = floats(x)
        return _riemann(value.to(torch.float64), 0.0).to(value.dtype)
    value, start = torch.broadcast_tensors(*floats(x, q))
    wide = torch.special.zeta(value.to(torch.float64), start.to(torch.float64))
    return wide.to(value.dtype)
