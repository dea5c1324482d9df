"""Elliptic integrals and functions of `scipy.special`.

The complete ones by the arithmetic-geometric mean, the others by Carlson's symmetric integrals,
with as many steps of his duplication as any argument needs.
"""

from __future__ import annotations

import math

import torch

from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.special._common import Tensor, elementwise, on_cpu

_STEPS = 10


def _mean(a: Tensor, b: Tensor, steps: int = 9) -> Tensor:
    """The arithmetic-geometric mean of positive numbers."""
    for _ in range(steps):
        a, b = (a + b) / 2, torch.sqrt(a) * torch.sqrt(b)
    return (a + b) / 2


def _mean_slope(a: Tensor, b: Tensor) -> Tensor:
    """The derivative of the mean of numbers of one sign by the first."""
    nothing = (a == 0) | (b == 0)
    a, b = (torch.where(nothing, 1.0, torch.abs(x)) for x in (a, b))
    rise, other = torch.ones_like(a), torch.zeros_like(b)
    for _ in range(14):
        root = torch.sqrt(a / b)
        rise, other = (rise + other) / 2, (rise / root + other * root) / 2
        a, b = (a + b) / 2, torch.sqrt(a) * torch.sqrt(b)
    return torch.where(nothing, math.nan, (rise + other) / 2)


@elementwise("agm", host_reason=on_cpu)
@with_slopes(_mean_slope, lambda a, b: _mean_slope(b, a))
def agm(a: Tensor, b: Tensor) -> Tensor:
    """The arithmetic-geometric mean, of two numbers of one sign."""
    found = torch.copysign(_mean(torch.abs(a), torch.abs(b), 14), a)
    found = torch.where((a == 0) | (b == 0), 0.0, found)
    found = torch.where(torch.isinf(a), a, torch.where(torch.isinf(b), b, found))
    found = torch.where(a == b, (a + b) / 2, found)
    sign = torch.sign(a) * torch.sign(b)
    lost = (sign < 0) | ((a == 0) & torch.isinf(b)) | ((b == 0) & torch.isinf(a))
    return torch.where(torch.isnan(a) | torch.isnan(b) | lost, math.nan, found)


@elementwise("ellipkm1", host_reason=on_cpu)
def ellipkm1(p: Tensor) -> Tensor:
    """The complete integral of the first kind of 1 - p."""
    found = math.pi / 2 / _mean(torch.ones_like(p), torch.sqrt(p), 14)
    return torch.where(p == math.inf, 0.0, torch.where(p == 0, math.inf, found))


@elementwise("ellipk", host_reason=on_cpu)
def ellipk(m: Tensor) -> Tensor:
    """The complete integral of the first kind."""
    found = math.pi / 2 / _mean(torch.ones_like(m), torch.sqrt(1 - m), 14)
    return torch.where(m == -math.inf, 0.0, torch.where(m == 1, math.inf, found))


@elementwise("ellipe", host_reason=on_cpu)
def ellipe(m: Tensor) -> Tensor:
    """The complete integral of the second kind: that of the first, less a sum (Gauss 1818)."""
    below = m < 0
    safe = torch.where(below, m / (m - 1), m)
    a, b = torch.ones_like(m), torch.sqrt(1 - safe)
    total, factor = 1 - safe / 2, 0.5
    for _ in range(9):
        c = (a - b) / 2
        a, b = (a + b) / 2, torch.sqrt(a * b)
        factor *= 2
        total = total - factor * c * c
    found = math.pi / 2 / a * total
    found = torch.where(safe == 1, 1.0, found) * torch.where(below, torch.sqrt(1 - m), 1)
    return torch.where(m == -math.inf, math.inf, found)


# -- Carlson (1995) -----------------------------------------------------------------------------


def _duplicated(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Take one step that brings three arguments of a symmetric integral closer to each other."""
    roots = torch.sqrt(x), torch.sqrt(y), torch.sqrt(z)
    shift = roots[0] * roots[1] + roots[0] * roots[2] + roots[1] * roots[2]
    return (x + shift) / 4, (y + shift) / 4, (z + shift) / 4


def carlson_f(x: Tensor, y: Tensor, z: Tensor, steps: int = _STEPS) -> Tensor:
    """Carlson's integral of the first kind."""
    for _ in range(steps):
        x, y, z = _duplicated(x, y, z)
    mean = (x + y + z) / 3
    first, second = 1 - x / mean, 1 - y / mean
    third = -(first + second)
    e2, e3 = first * second - third * third, first * second * third
    series = 1 - e2 / 10 + e3 / 14 + e2 * e2 / 24 - 3 * e2 * e3 / 44
    series = series - 5 * e2**3 / 208 + 3 * e3 * e3 / 104 + e2 * e2 * e3 / 16
    return series / torch.sqrt(mean)


def carlson_d(x: Tensor, y: Tensor, z: Tensor, steps: int = _STEPS) -> Tensor:
    """Carlson's integral of the second kind."""
    total, power = torch.zeros_like(x + y + z), 1.0
    for _ in range(steps):
        after = _duplicated(x, y, z)
        total = total + power / (torch.sqrt(z) * after[2] * 4)
        power /= 4
        x, y, z = after
    mean = (x + y + 3 * z) / 5
    first, second = 1 - x / mean, 1 - y / mean
    third = -(first + second) / 3
    product, square = first * second, third * third
    e2, e3 = product - 6 * square, (3 * product - 8 * square) * third
    e4, e5 = 3 * (product - square) * square, product * third * square
    return power * _series(e2, e3, e4, e5) / (mean * torch.sqrt(mean)) + 3 * total


def _series(e2: Tensor, e3: Tensor, e4: Tensor, e5: Tensor) -> Tensor:
    """The integrals R_D and R_J of arguments that are close to their mean 1 (DLMF 19.36.2)."""
    found = 1 - 3 * e2 / 14 + e3 / 6 + 9 * e2 * e2 / 88 - 3 * e4 / 22 - 9 * e2 * e3 / 52
    found = found + 3 * e5 / 26 - e2**3 / 16 + 3 * e3 * e3 / 40 + 3 * e2 * e4 / 20
    return found + 45 * e2 * e2 * e3 / 272 - 9 * (e3 * e4 + e2 * e5) / 68


def _negative(*arguments: Tensor) -> Tensor:
    """Whether any argument is negative, or no number."""
    found = arguments[0] != arguments[0]
    for x in arguments:
        found = found | (x < 0) | torch.isnan(x)
    return found


@elementwise("elliprf", host_reason=on_cpu)
def elliprf(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Carlson's symmetric integral of the first kind."""
    found = carlson_f(x, y, z, 16)
    zeros = (x == 0).to(x.dtype) + (y == 0).to(x.dtype) + (z == 0).to(x.dtype)
    found = torch.where(torch.isinf(x) | torch.isinf(y) | torch.isinf(z), 0.0, found)
    found = torch.where(zeros > 1, math.inf, found)
    return torch.where(_negative(x, y, z), math.nan, found)


@elementwise("elliprd", host_reason=on_cpu)
def elliprd(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Carlson's symmetric integral of the second kind."""
    found = carlson_d(x, y, z, 16)
    found = torch.where(torch.isinf(x) | torch.isinf(y) | torch.isinf(z), 0.0, found)
    found = torch.where((z == 0) | ((x == 0) & (y == 0)), math.inf, found)
    return torch.where(_negative(x, y, z), math.nan, found)


@elementwise("elliprc")
def elliprc(x: Tensor, y: Tensor) -> Tensor:
    """Carlson's degenerate integral: arcs, or logarithms; a principal value for y < 0."""
    turned = y < 0
    top, bottom = torch.where(turned, x - y, x), torch.abs(y)
    share = (bottom - top) / torch.where(top == 0, 1, top)
    near = torch.abs(share) < 1e-2
    series = 1 + share * (-1 / 3 + share * (1 / 5 + share * (-1 / 7 + share * (1 / 9))))
    series = series + share**5 * (-1 / 11 + share * (1 / 13 + share * (-1 / 15 + share / 17)))
    root = torch.sqrt(torch.abs(share))
    logarithm = torch.log((1 + root) * torch.sqrt(top / bottom))
    arc = torch.where(share > 0, torch.atan(root), logarithm) / root
    found = torch.where(near, series, arc) / torch.sqrt(top)
    found = torch.where(top == 0, math.pi / 2 / torch.sqrt(bottom), found)
    found = torch.where(turned, found * torch.sqrt(x / top), found)
    found = torch.where(torch.isinf(x) | torch.isinf(y), 0.0, found)
    invalid = (x < 0) | (y == 0) | (turned & torch.isinf(x))
    return torch.where(invalid | torch.isnan(x) | torch.isnan(y), math.nan, found)


def _ordered(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The smaller and the larger; of equal ones each is one of them, with its derivatives."""
    above = x > y
    return torch.where(above, y, x), torch.where(above, x, y)


@elementwise("elliprg", host_reason=on_cpu)
def elliprg(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Carlson's completely symmetric integral of the second kind."""
    low, middle = _ordered(x, y)
    middle, high = _ordered(middle, z)
    low, middle = _ordered(low, middle)
    first = (high - low) * (high - middle) / 3 * carlson_d(low, middle, high, 16)
    found = high * carlson_f(low, middle, high, 16) - first
    found = (found + torch.sqrt(low * middle / high)) / 2
    found = torch.where(middle == 0, torch.sqrt(high) / 2, found)
    found = torch.where(high == math.inf, high, found)
    return torch.where(_negative(x, y, z), math.nan, found)


# -- Legendre's incomplete integrals ------------------------------------------------------------


def _reduced(phi: Tensor) -> tuple[Tensor, Tensor]:
    """Return an angle less its nearest multiple of pi, and that multiple."""
    turns = torch.round(phi / math.pi)
    rest = (phi - turns * 3.140625) - turns * 9.676535897932384e-4
    return rest, turns


def _root(phi: Tensor, m: Tensor) -> Tensor:
    """The derivative of the second kind by the angle."""
    return torch.sqrt(1 - m * torch.sin(phi) ** 2)


def _difference(phi: Tensor, m: Tensor) -> Tensor:
    """The first kind less the second, divided by m."""
    rest, turns = _reduced(phi)
    sine, cosine = torch.sin(rest), torch.cos(rest)
    other, one = 1 - m * sine * sine, torch.ones_like(rest + m)
    found = sine**3 * carlson_d(cosine * cosine, other, one) / 3
    quarter = carlson_d(torch.zeros_like(one), torch.where(turns == 0, 1.0, 1 - m), one) / 3
    return found + torch.where(turns == 0, 0.0, 2 * turns * quarter)


def _first_kind_by_m(phi: Tensor, m: Tensor) -> Tensor:
    apart = ellipkinc(phi, m) - _difference(phi, m)
    return (apart - torch.sin(2 * phi) / (2 * _root(phi, m))) / (2 * (1 - m))


@elementwise("ellipkinc", host_reason=on_cpu)
@with_slopes(lambda phi, m: 1 / _root(phi, m), _first_kind_by_m)
def ellipkinc(phi: Tensor, m: Tensor) -> Tensor:
    """The incomplete integral of the first kind."""
    rest, turns = _reduced(phi)
    sine, cosine = torch.sin(rest), torch.cos(rest)
    square = cosine * cosine
    found = sine * carlson_f(square, 1 - m * sine * sine, torch.ones_like(rest))
    whole = torch.where(turns == 0, 0.0, 2 * turns * ellipk(m))
    found = found + whole
    at_one = torch.where(torch.abs(phi) >= math.pi / 2, math.inf, torch.asinh(torch.tan(phi)))
    found = torch.where(m == 1, torch.copysign(torch.abs(at_one), phi), found)
    found = torch.where(m == 0, phi, torch.where(m == -math.inf, 0.0, found))
    found = torch.where(torch.isinf(phi) & (m <= 1) & (m > -math.inf), phi, found)
    invalid = (m > 1) | torch.isnan(phi) | torch.isnan(m) | (torch.isinf(phi) & torch.isinf(m))
    return torch.where(invalid, math.nan, found)


@elementwise("ellipeinc", host_reason=on_cpu)
@with_slopes(_root, lambda phi, m: -_difference(phi, m) / 2)
def ellipeinc(phi: Tensor, m: Tensor) -> Tensor:
    """The incomplete integral of the second kind."""
    rest, turns = _reduced(phi)
    sine, cosine = torch.sin(rest), torch.cos(rest)
    square, other, one = cosine * cosine, 1 - m * sine * sine, torch.ones_like(rest)
    found = sine * carlson_f(square, other, one)
    found = found - m * sine**3 * carlson_d(square, other, one) / 3
    whole = torch.where(turns == 0, 0.0, 2 * turns * ellipe(m))
    found = torch.where(m == 1, sine + 2 * turns, found + whole)
    found = torch.where(m == 0, phi, torch.where(m == -math.inf, math.inf, found))
    found = torch.where(torch.isinf(phi) & (m > -math.inf), phi, found)
    invalid = (m > 1) | torch.isnan(phi) | torch.isnan(m) | (torch.isinf(phi) & torch.isinf(m))
    return torch.where(invalid, math.nan, found)


# -- Jacobi's functions -------------------------------------------------------------------------


def _at_one(u: Tensor, rest: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Jacobi's functions at m = 1, with their derivatives by m (A. and S. 16.15)."""
    bounded = torch.clamp(u, -300, 300)
    share = torch.where(rest == 0, rest, 0.0) / 4
    sine, root = torch.tanh(u), 1 / torch.cosh(u)
    below = torch.sinh(bounded) - bounded * root
    above = torch.sinh(bounded) + bounded * root
    angle = 2 * torch.atan(torch.exp(u)) - math.pi / 2
    return (
        sine + share * below * root,
        root - share * below * sine,
        root + share * above * sine,
        angle + share * below,
    )


@elementwise("ellipj", host_reason=on_cpu)
def ellipj(u: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Jacobi's sn, cn, dn and am: by Landen's descending transformation."""
    inner = torch.where(m == 1, 0.5, m)  # The root's derivative is infinite at 1.
    a, b = torch.ones_like(u + m), torch.sqrt(1 - inner + 0 * u)
    ratios, scale = [], 1.0
    for _ in range(8):
        c = (a - b) / 2
        a, b = (a + b) / 2, torch.sqrt(a * b)
        ratios.append(c / a)
        scale *= 2
    angle = scale * a * u
    before = angle
    for ratio in reversed(ratios):
        before, angle = angle, (angle + torch.asin(ratio * torch.sin(angle))) / 2
    sine, cosine = torch.sin(angle), torch.cos(angle)
    apart = torch.cos(before - angle)
    dn = torch.where(torch.abs(apart) < 0.1, torch.sqrt(1 - inner * sine * sine), cosine / apart)
    at_one = _at_one(u, 1 - m)
    sine, cosine = torch.where(m == 1, at_one[0], sine), torch.where(m == 1, at_one[1], cosine)
    dn, angle = torch.where(m == 1, at_one[2], dn), torch.where(m == 1, at_one[3], angle)
    invalid = (m < 0) | (m > 1) | torch.isnan(m) | torch.isnan(u)
    parts = sine, cosine, dn, angle
    sn, cn, dn, am = (torch.where(invalid, math.nan, part) for part in parts)
    return sn, cn, dn, am
