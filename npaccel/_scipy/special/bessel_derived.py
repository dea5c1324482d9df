"""Hankel's functions, derivatives of Bessel's and spherical ones of `scipy.special`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.core.dtypes import as_tensor, cast, dtype_of, narrow
from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._numpy.ufuncs import dispatch
from npaccel._scipy.dispatch import listing
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._bessel import bessel_i
from npaccel._scipy.special._common import Tensor, integer, number, on_cpu
from npaccel._scipy.special.bessel import real_i, whole_j, whole_k, whole_y

_LARGEST = 50
Family = Callable[[int, Tensor], Tensor]


def _wide(z: Any) -> Tensor:
    """Return a real argument as a tensor of float64."""
    value = as_tensor(z)
    if value.is_complex():
        raise NotImplementedError("npaccel has it for real numbers only")
    return value.to(torch.float64)


def _of_loop(name: str, v: Any, z: Any, found: Tensor) -> Tensor:
    """Return a result in the dtype that SciPy's ufunc gives."""
    ufunc = listing.find(f"special.{name}")
    dtypes = [dtype_of(number(v, "v")), dtype_of(as_tensor(z))]
    loop = dispatch.loop_dtypes(ufunc, dtypes, (None,), dispatch.Request())
    return cast(found, loop[-1])


# -- Hankel ---------------------------------------------------------------------------------------


def _hankel(v: Any, z: Any, kind: int, scaled: bool) -> Tensor:
    """H_v of a kind; on the negative half line as from above (A. and S. 9.1.35, 9.1.36)."""
    n, x = integer(v, "v", _LARGEST), _wide(z)
    size = torch.abs(x)
    j, y = whole_j(n, size), whole_y(n, size)
    sign = 1.0 if kind == 1 else -1.0
    parity = -1.0 if n % 2 else 1.0
    turned = parity * (j - 2 * j if kind == 1 else j + 2 * j)
    real = torch.where(x < 0, turned, j)
    imaginary = sign * torch.where(x < 0, parity * y, y)
    if scaled:
        sine, cosine = -sign * torch.sin(x), torch.cos(x)
        real, imaginary = real * cosine - imaginary * sine, real * sine + imaginary * cosine
    real = torch.where(x == 0, math.nan, real)
    at_zero = math.inf if kind == 2 and not (n or scaled) else math.nan
    return torch.complex(real, torch.where(x == 0, at_zero, imaginary))


@on_tensors("special.hankel1", arrays=("z",), host_reason=on_cpu)
def hankel1(v: Any, z: Any, /) -> Tensor:
    """J_v + i Y_v."""
    return _of_loop("hankel1", v, z, _hankel(v, z, 1, scaled=False))


@on_tensors("special.hankel2", arrays=("z",), host_reason=on_cpu)
def hankel2(v: Any, z: Any, /) -> Tensor:
    """J_v - i Y_v."""
    return _of_loop("hankel2", v, z, _hankel(v, z, 2, scaled=False))


@on_tensors("special.hankel1e", arrays=("z",), host_reason=on_cpu)
def hankel1e(v: Any, z: Any, /) -> Tensor:
    """H_v of the first kind times exp(-iz)."""
    return _of_loop("hankel1e", v, z, _hankel(v, z, 1, scaled=True))


@on_tensors("special.hankel2e", arrays=("z",), host_reason=on_cpu)
def hankel2e(v: Any, z: Any, /) -> Tensor:
    """H_v of the second kind times exp(iz)."""
    return _of_loop("hankel2e", v, z, _hankel(v, z, 2, scaled=True))


# -- Derivatives ----------------------------------------------------------------------------------


def _derivative(family: Family, v: Any, z: Any, n: Any, sign: int) -> Tensor:
    """The n-th derivative of a family of Bessel functions (A. and S. 9.1.31)."""
    order, times, x = integer(v, "v", 30), integer(n, "n", 20), _wide(z)
    if times < 0:
        raise ValueError("the derivative's order isn't positive")
    total = torch.zeros_like(x)
    for k in range(times + 1):
        total = total + sign**k * math.comb(times, k) * family(order - times + 2 * k, x)
    if not times:
        return _of_loop("jv", v, z, total)
    return cast(total / 2.0**times, narrow(np.dtype(np.float64), [dtype_of(as_tensor(z))]))


@on_tensors("special.jvp", arrays=("z",), by_element=True, host_reason=on_cpu)
def jvp(v: Any, z: Any, n: Any = 1) -> Tensor:
    """The n-th derivative of J_v."""
    return _derivative(whole_j, v, z, n, -1)


@on_tensors("special.yvp", arrays=("z",))
def yvp(v: Any, z: Any, n: Any = 1) -> Tensor:
    """The n-th derivative of Y_v."""
    return _derivative(whole_y, v, z, n, -1)


@on_tensors("special.ivp", arrays=("z",))
def ivp(v: Any, z: Any, n: Any = 1) -> Tensor:
    """The n-th derivative of I_v."""
    return _derivative(real_i, v, z, n, 1)


@on_tensors("special.kvp", arrays=("z",))
def kvp(v: Any, z: Any, n: Any = 1) -> Tensor:
    """The n-th derivative of K_v."""
    found = _derivative(whole_k, v, z, n, 1)
    return -found if integer(n, "n", 20) % 2 else found


# -- Spherical ------------------------------------------------------------------------------------


def _spherical(name: str, family: Family, n: Any, z: Any, derivative: Any) -> Tensor:
    """Return a spherical function or its derivative (A. and S. 10.1.20)."""
    order, x = integer(n, "n", _LARGEST), _wide(z)
    if order < 0 or type(n) is float:
        raise NotImplementedError("npaccel has it for whole `n` of 0 or more")
    found = family(order, x)
    if derivative:
        sign = -1 if name == "spherical_kn" else 1
        first = {"spherical_in": 1}.get(name, -1)
        if order == 0:
            found = first * family(1, x)
        elif name in ("spherical_jn", "spherical_in") and wants_gradients(x):
            below, above = order * family(order - 1, x), (order + 1) * family(order + 1, x)
            found = (below + first * above) / (2 * order + 1)
        else:
            found = sign * family(order - 1, x) - (order + 1) / x * found
            if name in ("spherical_jn", "spherical_in"):
                found = torch.where(x == 0, 1 / 3 if order == 1 else 0.0, found)
    return cast(found, narrow(np.dtype(np.float64), [dtype_of(as_tensor(z))]))


def spherical_j(n: int, x: Tensor) -> Tensor:
    """j_n."""
    return _j_of(n)(x)


@functools.cache
def _j_of(n: int) -> Callable[[Tensor], Tensor]:
    """Return j_n, whose derivative is the neighbours' (A. and S. 10.1.19)."""

    def slope(x: Tensor) -> Tensor:
        above = (n + 1) * spherical_j(n + 1, x)
        return ((n * spherical_j(n - 1, x) if n else 0) - above) / (2 * n + 1)

    def steps(x: Tensor) -> Tensor:
        return _spherical_j(n, x)

    steps.__qualname__ = f"spherical_j_{n}"
    return with_slopes(slope)(steps)


def _spherical_j(n: int, x: Tensor) -> Tensor:
    """j_n, upwards while the order is below x, then by the ratios of neighbours."""
    size = torch.abs(x)
    safe = torch.where(size == 0, 1.0, size)
    sine, cosine = torch.sin(safe), torch.cos(safe)
    value = torch.where(size == 0, 1.0, sine / safe)
    before, ratio, ratios = cosine / safe, torch.zeros_like(x), {}
    for k in range(n + 18 + int(6 * n ** (1 / 3)), 0, -1):
        ratio = size / (2 * k + 1 - size * ratio)
        ratios[k] = ratio
    for k in range(1, n + 1):
        up = (2 * k - 1) / safe * value - before
        before, value = value, torch.where(size > k, up, value * ratios[k])
    value = torch.where(torch.isinf(x), 0.0, value)
    return torch.where(x < 0, -value, value) if n % 2 else value


def spherical_y(n: int, x: Tensor) -> Tensor:
    """y_n, upwards."""
    size = torch.abs(x)
    before, value = torch.sin(size) / size, -torch.cos(size) / size
    for k in range(1, n + 1):
        up = torch.where(torch.isinf(value), value, (2 * k - 1) / size * value - before)
        before, value = value, up
    value = torch.where(torch.isinf(x), 0.0, torch.where(x == 0, -math.inf, value))
    return torch.where(x < 0, value, value) if n % 2 else torch.where(x < 0, -value, value)


def spherical_i(n: int, x: Tensor) -> Tensor:
    """i_n."""
    if n > 19:
        raise NotImplementedError("npaccel has it up to `n` = 19")
    return _i_of(n)(x)


@functools.cache
def _i_of(n: int) -> Callable[[Tensor], Tensor]:
    """Return i_n, whose derivative is the neighbours' (A. and S. 10.2.20)."""

    def slope(x: Tensor) -> Tensor:
        above = (n + 1) * _i_of(n + 1)(x)
        return ((n * _i_of(n - 1)(x) if n else 0) + above) / (2 * n + 1)

    def steps(x: Tensor) -> Tensor:
        return _spherical_i(n, x)

    steps.__qualname__ = f"spherical_i_{n}"
    return with_slopes(slope)(steps)


def _spherical_i(n: int, x: Tensor) -> Tensor:
    """i_n, by the modified Bessel function of order n + 1/2."""
    size = torch.abs(x)
    found = torch.sqrt(math.pi / 2 / size) * bessel_i(n + 0.5, size, scaled=False)
    found = torch.where(x == 0, 0.0 if n else 1.0, torch.where(torch.isinf(x), math.inf, found))
    return torch.where(x < 0, -found, found) if n % 2 else found


def spherical_k(n: int, x: Tensor) -> Tensor:
    """k_n, upwards; the same sum of elementary functions for negative x."""
    before = math.pi / 2 * torch.exp(-x) / x
    value = before
    if n:
        value = before * (1 + 1 / x)
    for k in range(2, n + 1):
        up = torch.where(torch.isinf(value), value, (2 * k - 1) / x * value + before)
        before, value = value, up
    found = torch.where(x == math.inf, 0.0, torch.where(x == 0, math.inf, value))
    return torch.where(x == -math.inf, -math.inf, found)


@on_tensors(
    "special.spherical_jn", arrays=("z",), tolerance=4096, by_element=True, host_reason=on_cpu
)
def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The spherical Bessel function of the first kind."""
    return _spherical("spherical_jn", spherical_j, n, z, derivative)


@on_tensors("special.spherical_yn", arrays=("z",))
def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The spherical Bessel function of the second kind."""
    return _spherical("spherical_yn", spherical_y, n, z, derivative)


@on_tensors("special.spherical_in", arrays=("z",))
def spherical_in(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The modified spherical Bessel function of the first kind."""
    return _spherical("spherical_in", spherical_i, n, z, derivative)


@on_tensors("special.spherical_kn", arrays=("z",))
def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The modified spherical Bessel function of the second kind."""
    return _spherical("spherical_kn", spherical_k, n, z, derivative)
