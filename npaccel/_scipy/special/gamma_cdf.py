"""Distributions of `scipy.special` that the incomplete gamma function gives, and their inverses."""

from __future__ import annotations

import math

import torch

from npaccel._scipy.special._common import Tensor, elementwise, on_cpu
from npaccel._scipy.special._incomplete import incomplete_gamma
from npaccel._scipy.special._inverse import gamma_quantile


def lower(a: Tensor, x: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function."""
    return incomplete_gamma(a, x)[0]


def upper(a: Tensor, x: Tensor) -> Tensor:
    """The regularised upper incomplete gamma function."""
    return incomplete_gamma(a, x)[1]


@elementwise("gammainc", host_reason=on_cpu)
def gammainc(a: Tensor, x: Tensor) -> Tensor:
    """The lower incomplete gamma function, over Gamma(a)."""
    return lower(a, x)


@elementwise("gammaincc", host_reason=on_cpu)
def gammaincc(a: Tensor, x: Tensor) -> Tensor:
    """The upper incomplete gamma function, over Gamma(a)."""
    return upper(a, x)


def _inverse(a: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """The quantile, with its limits, for p of 0 to 1."""
    found = gamma_quantile(a, p, q)
    found = torch.where(p == 0, 0.0, torch.where(q == 0, math.inf, found))
    valid = (a > 0) & (a < math.inf) & (p >= 0) & (q >= 0)
    return torch.where(valid, found, math.nan)


@elementwise("gammaincinv", tolerance=2048, host_reason=on_cpu)
def gammaincinv(a: Tensor, y: Tensor) -> Tensor:
    """The x at which gammainc(a, x) is y."""
    return _inverse(a, y, 1 - y)


@elementwise("gammainccinv", tolerance=2048, host_reason=on_cpu)
def gammainccinv(a: Tensor, y: Tensor) -> Tensor:
    """The x at which gammaincc(a, x) is y."""
    return _inverse(a, 1 - y, y)


# -- Chi square, gamma and Poisson ----------------------------------------------------------------


@elementwise("chdtr", host_reason=on_cpu)
def chdtr(v: Tensor, x: Tensor) -> Tensor:
    """The chi square distribution's cumulative distribution."""
    return torch.where(x < 0, math.nan, lower(v / 2, x / 2))


@elementwise("chdtrc", host_reason=on_cpu)
def chdtrc(v: Tensor, x: Tensor) -> Tensor:
    """1 - chdtr(v, x)."""
    return torch.where(x < 0, 1.0, upper(v / 2, x / 2))


@elementwise("chdtri", tolerance=2048, host_reason=on_cpu)
def chdtri(v: Tensor, p: Tensor) -> Tensor:
    """The x at which chdtrc(v, x) is p."""
    return torch.where(v == 0, 0.0, 2 * _inverse(v / 2, 1 - p, p))


@elementwise("gdtr", host_reason=on_cpu)
def gdtr(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The gamma distribution's cumulative distribution, of rate a and shape b."""
    return torch.where(x < 0, math.nan, lower(b, a * x))


@elementwise("gdtrc", host_reason=on_cpu)
def gdtrc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """1 - gdtr(a, b, x)."""
    return torch.where(x < 0, math.nan, upper(b, a * x))


def _of_shape(b: Tensor, p: Tensor) -> Tensor:
    """The quantile of shape b, 0 for no shape."""
    return torch.where((b == 0) & (p >= 0) & (p <= 1), 0.0, _inverse(b, p, 1 - p))


@elementwise("gdtria", tolerance=2048, host_reason=on_cpu)
def gdtria(p: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The a at which gdtr(a, b, x) is p."""
    return torch.where((x > 0) | (x < 0), _of_shape(b, p) / x, math.nan)


@elementwise("gdtrix", tolerance=2048, host_reason=on_cpu)
def gdtrix(a: Tensor, b: Tensor, p: Tensor) -> Tensor:
    """The x at which gdtr(a, b, x) is p."""
    return torch.where(torch.abs(a) < math.inf, _of_shape(b, p) / a, math.nan)


def _poisson(k: Tensor, m: Tensor, tail: Tensor, at_zero: float) -> Tensor:
    """A tail of the Poisson distribution, 0 or 1 for a mean of 0."""
    found = torch.where(m == 0, at_zero, tail)
    return torch.where((k < 0) | (m < 0) | torch.isnan(k) | torch.isnan(m), math.nan, found)


@elementwise("pdtr", host_reason=on_cpu)
def pdtr(k: Tensor, m: Tensor) -> Tensor:
    """The Poisson distribution's cumulative distribution."""
    return _poisson(k, m, upper(torch.floor(k) + 1, m), 1.0)


@elementwise("pdtrc", host_reason=on_cpu)
def pdtrc(k: Tensor, m: Tensor) -> Tensor:
    """1 - pdtr(k, m)."""
    return _poisson(k, m, lower(torch.floor(k) + 1, m), 0.0)


@elementwise("pdtri", tolerance=2048, host_reason=on_cpu)
def pdtri(k: Tensor, y: Tensor) -> Tensor:
    """The m at which pdtr(k, m) is y."""
    found = _inverse(torch.floor(k) + 1, 1 - y, y)
    return torch.where((k < 0) | (y < 0) | (y >= 1), math.nan, found)
