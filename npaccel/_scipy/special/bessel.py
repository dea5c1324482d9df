"""Bessel's functions of `scipy.special`, of whole orders (some of all real ones).

The order is a Python number: it says how long the recurrences are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.special._bessel import (
    bessel_0,
    bessel_1,
    bessel_i,
    bessel_j,
    bessel_k,
    bessel_y,
)
from npaccel._scipy.special._common import (
    Tensor,
    elementwise,
    integer,
    number,
    on_cpu,
    signed,
    with_orders,
)

_LARGEST = 50
_TURNING = "the recurrence loses digits where the order passes x"


@elementwise("j0", host_reason=on_cpu)
@with_slopes(lambda x: -j1(x))
def j0(x: Tensor) -> Tensor:
    """The Bessel function of the first kind, order 0."""
    return bessel_0(torch.abs(x))[0]


@elementwise("j1", host_reason=on_cpu)
@with_slopes(lambda x: (j0(x) - whole_j(2, x)) / 2)
def j1(x: Tensor) -> Tensor:
    """The Bessel function of the first kind, order 1."""
    return signed(bessel_1(torch.abs(x))[0], x)


def _positive_only(x: Tensor, found: Tensor) -> Tensor:
    return torch.where(x == 0, -math.inf, torch.where(x < 0, math.nan, found))


@elementwise("y0", host_reason=on_cpu)
def y0(x: Tensor) -> Tensor:
    """The Bessel function of the second kind, order 0."""
    return _positive_only(x, bessel_0(x)[1])


@elementwise("y1", host_reason=on_cpu)
def y1(x: Tensor) -> Tensor:
    """The Bessel function of the second kind, order 1."""
    return _positive_only(x, bessel_1(x)[1])


def _order(v: Any) -> int:
    return integer(v, "v", _LARGEST)


def _sign(n: int) -> int:
    return -1 if n % 2 else 1


def whole_j(n: int, x: Tensor) -> Tensor:
    """J_n(x) for all whole n and real x."""
    found = _j_of(abs(n))(x)
    return found * _sign(n) if n < 0 else found


@functools.cache
def _j_of(n: int) -> Callable[[Tensor], Tensor]:
    """Return J_n for n >= 0, whose derivative is the neighbours' (A. and S. 9.1.27)."""

    def steps(x: Tensor) -> Tensor:
        found = bessel_j(n, torch.abs(x))
        return torch.where(x < 0, -found, found) if n % 2 else found

    steps.__qualname__ = f"j_{n}"
    return with_slopes(lambda x: (whole_j(n - 1, x) - whole_j(n + 1, x)) / 2)(steps)


def whole_y(n: int, x: Tensor) -> Tensor:
    """Y_n(x) for all whole n and x >= 0."""
    found = bessel_y(abs(n), x)
    found = torch.where(x == 0, -math.inf, torch.where(x < 0, math.nan, found))
    return found * (_sign(n) if n < 0 else 1)


def whole_k(n: int, x: Tensor, scaled: bool = False) -> Tensor:
    """K_n(x) for all whole n and x >= 0."""
    found = bessel_k(abs(n), x, scaled)
    return torch.where(x == 0, math.inf, torch.where(x < 0, math.nan, found))


def real_i(v: float, x: Tensor, scaled: bool = False) -> Tensor:
    """I_v(x) for v >= 0 and whole ones; for x < 0 only these."""
    whole = v == int(v)
    if abs(v) > 20 or (v < 0 and not whole):
        raise NotImplementedError("npaccel has it for `v` of 0 to 20, and whole ones from -20 on")
    return _i_of(abs(v), scaled)(x)


@functools.cache
def _i_of(v: float, scaled: bool) -> Callable[[Tensor], Tensor]:
    """Return I_v for v >= 0, whose derivative is the neighbours' (A. and S. 9.6.26)."""

    def steps(x: Tensor) -> Tensor:
        found = bessel_i(v, torch.abs(x), scaled)
        if v != int(v):
            return torch.where(x < 0, math.nan, found)
        return torch.where(x < 0, -found, found) if v % 2 else found

    def slope(x: Tensor) -> Tensor:
        above = _i_of(v + 1, scaled)(x)
        if v == int(v):
            found = (_i_of(abs(v - 1), scaled)(x) + above) / 2
        else:
            found = above + v / x * steps_with_slopes(x)
        return found - torch.sign(x) * steps_with_slopes(x) if scaled else found

    steps.__qualname__ = f"{'scaled_' if scaled else ''}i_{v}"
    steps_with_slopes = with_slopes(slope)(steps)
    return steps_with_slopes


@with_orders("jv", ["v"], tolerance=4096, note=_TURNING, host_reason=on_cpu)
def jv(v: Any, z: Tensor) -> Tensor:
    """The Bessel function of the first kind."""
    return whole_j(_order(v), z)


@with_orders("jve", ["v"], tolerance=4096, note=_TURNING, host_reason=on_cpu)
def jve(v: Any, z: Tensor) -> Tensor:
    """J_v, scaled by exp(-|Im z|), which is 1."""
    return whole_j(_order(v), z)


@with_orders("yv", ["v"], host_reason=on_cpu)
def yv(v: Any, z: Tensor) -> Tensor:
    """The Bessel function of the second kind."""
    return whole_y(_order(v), z)


@with_orders("yve", ["v"], host_reason=on_cpu)
def yve(v: Any, z: Tensor) -> Tensor:
    """Y_v, scaled by exp(-|Im z|), which is 1."""
    return torch.where(z == 0, math.nan, whole_y(_order(v), z))


@with_orders("yn", ["n"], host_reason=on_cpu)
def yn(n: Any, x: Tensor) -> Tensor:
    """The Bessel function of the second kind, of whole order."""
    return whole_y(_order(n), x)


@with_orders("iv", ["v"])
def iv(v: Any, z: Tensor) -> Tensor:
    """The modified Bessel function of the first kind."""
    return real_i(number(v, "v"), z)


@with_orders("ive", ["v"], host_reason=on_cpu)
def ive(v: Any, z: Tensor) -> Tensor:
    """I_v(z) exp(-|z|)."""
    return real_i(number(v, "v"), z, scaled=True)


@with_orders("kv", ["v"])
def kv(v: Any, z: Tensor) -> Tensor:
    """The modified Bessel function of the second kind."""
    return whole_k(_order(v), z)


@with_orders("kve", ["v"])
def kve(v: Any, z: Tensor) -> Tensor:
    """K_v(z) exp(z)."""
    return torch.where(z == math.inf, math.nan, whole_k(_order(v), z, scaled=True))


@with_orders("kn", ["n"])
def kn(n: Any, x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of whole order."""
    return whole_k(_order(n), x)
