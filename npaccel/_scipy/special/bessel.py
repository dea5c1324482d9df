"""Bessel's functions of `scipy.special`, of whole orders (some of all real ones).

The order is a Python number: it says how long the recurrences are.
"""

from __future__ import annotations

import math
from typing import Any

import torch

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
    magnitude,
    number,
    on_cpu,
    signed,
    with_orders,
)

_LARGEST = 50
_TURNING = "the recurrence loses digits where the order passes x"


@elementwise("j0", host_reason=on_cpu)
def j0(x: Tensor) -> Tensor:
    """The Bessel function of the first kind, order 0."""
    return bessel_0(torch.abs(x))[0]


@elementwise("j1", host_reason=on_cpu)
def j1(x: Tensor) -> Tensor:
    """The Bessel function of the first kind, order 1."""
    return signed(bessel_1(magnitude(x))[0], x)


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
    found = bessel_j(abs(n), torch.abs(x)) * (_sign(n) if n < 0 else 1)
    return torch.where(x < 0, -found, found) if n % 2 else found


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
    found = bessel_i(abs(v), torch.abs(x), scaled)
    if not whole:
        return torch.where(x < 0, math.nan, found)
    return torch.where(x < 0, -found, found) if v % 2 else found


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
