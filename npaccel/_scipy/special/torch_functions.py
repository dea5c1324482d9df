"""Functions of `scipy.special` that torch has."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._bessel import bessel_k0, bessel_k1, scaled_k0, scaled_k1
from npaccel._scipy.special._common import Tensor, elementwise, integer, number, on_cpu

special = torch.special


@elementwise("erf", wide=False)
def erf(x: Tensor) -> Tensor:
    """The error function."""
    return special.erf(x)


@elementwise("erfc", wide=False)
def erfc(x: Tensor) -> Tensor:
    """1 - erf(x)."""
    return special.erfc(x)


@elementwise("erfcx")
def erfcx(x: Tensor) -> Tensor:
    """exp(x**2) erfc(x)."""
    return special.erfcx(x)


@elementwise("erfinv", wide=False)
def erfinv(y: Tensor) -> Tensor:
    """The inverse of erf."""
    return special.erfinv(y)


@elementwise("erfcinv", host_reason=on_cpu)
def erfcinv(y: Tensor) -> Tensor:
    """The inverse of erfc; by the normal quantile where erfc is far from 1."""
    tail = torch.where(y > 1, 2 - y, y)
    far = special.ndtri(tail / 2) * -math.sqrt(0.5)
    far = torch.where(y > 1, -far, far)
    near = special.erfinv(1 - y)
    found = torch.where((y > 0.5) & (y < 1.5), near, far)
    return torch.where((y < 0) | (y > 2), math.nan, found)


@elementwise("ndtr")
def ndtr(x: Tensor) -> Tensor:
    """The normal distribution's cumulative distribution."""
    return 0.5 * special.erfc(x * -math.sqrt(0.5))


@elementwise("ndtri")
def ndtri(y: Tensor) -> Tensor:
    """The inverse of ndtr."""
    return special.ndtri(y)


@elementwise("log_ndtr")
def log_ndtr(x: Tensor) -> Tensor:
    """The logarithm of ndtr."""
    return special.log_ndtr(x)


@elementwise("ndtri_exp", host_reason=on_cpu)
def ndtri_exp(y: Tensor) -> Tensor:
    """The inverse of log_ndtr; in the lower tail by Newton's method, from its leading term."""
    upper = -special.ndtri(-torch.expm1(torch.clamp(y, min=-1)))
    middle = special.ndtri(torch.exp(y))
    x = -torch.sqrt(-2 * torch.clamp(y, max=-1))
    for _ in range(7):
        slope = math.sqrt(2 / math.pi) / special.erfcx(x * -math.sqrt(0.5))
        x = x - (special.log_ndtr(x) - y) / slope
    found = torch.where(y > -0.01, upper, torch.where(y > -2, middle, x))
    return torch.where(y == -math.inf, y, torch.where(y > 0, math.nan, found))


@elementwise("nrdtrimn")
def nrdtrimn(p: Tensor, std: Tensor, x: Tensor) -> Tensor:
    """The mean of the normal distribution that has x at its p-th quantile."""
    found = x - std * special.ndtri(p)
    return torch.where((p > 0) & (p < 1) & (std > 0), found, math.nan)


@elementwise("nrdtrisd")
def nrdtrisd(mn: Tensor, p: Tensor, x: Tensor) -> Tensor:
    """The standard deviation of the normal distribution that has x at its p-th quantile."""
    found = (x - mn) / special.ndtri(p)
    return torch.where((p > 0) & (p < 1), found, math.nan)


@elementwise("gammaln", wide=False)
def gammaln(x: Tensor) -> Tensor:
    """Return ln |Gamma(x)|."""
    return torch.where(x == -math.inf, x, torch.lgamma(x))


@elementwise("loggamma", wide=False)
def loggamma(z: Tensor) -> Tensor:
    """Ln Gamma, which no negative number has without an imaginary part."""
    return torch.where(z < 0, math.nan, torch.lgamma(z))


@elementwise("psi")
def psi(z: Tensor) -> Tensor:
    """The derivative of ln Gamma."""
    return special.digamma(z)


@on_tensors("special.polygamma", arrays=("x",))
def polygamma(n: Any, x: Any) -> Tensor:
    """The n-th derivative of digamma: (-1)**(n + 1) n! zeta(n + 1, x)."""
    order = integer(n, "n")
    value = _double(x)
    if order < 0:
        raise NotImplementedError("npaccel has it for positive `n` only")
    if not order:
        return special.digamma(value)
    return special.zeta(torch.full_like(value, order + 1.0), value) * (
        (-1.0) ** (order + 1) * math.gamma(order + 1.0)
    )


def _double(x: Any) -> Tensor:
    """Return a real tensor of float64."""
    if isinstance(x, Tensor) and x.is_complex():
        raise NotImplementedError("npaccel has it for real numbers only")
    value = x if isinstance(x, Tensor) else torch.tensor(float(number(x, "x")), dtype=torch.float64)
    return value.to(torch.float64)


@elementwise("i0", host_reason=on_cpu)
def i0(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""
    return special.i0(x)


@elementwise("i0e")
def i0e(x: Tensor) -> Tensor:
    """I0(x) exp(-|x|)."""
    return special.i0e(x)


@elementwise("i1")
def i1(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, order 1."""
    return special.i1(x)


@elementwise("i1e")
def i1e(x: Tensor) -> Tensor:
    """I1(x) exp(-|x|)."""
    return special.i1e(x)


@elementwise("k0")
def k0(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, order 0."""
    return bessel_k0(x)


@elementwise("k0e", host_reason=on_cpu)
def k0e(x: Tensor) -> Tensor:
    """K0(x) exp(x)."""
    return scaled_k0(x)


@elementwise("k1")
def k1(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, order 1."""
    return bessel_k1(x)


@elementwise("k1e")
def k1e(x: Tensor) -> Tensor:
    """K1(x) exp(x)."""
    return scaled_k1(x)
