"""Functions of `scipy.special` that are made of elementary ones."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.host import powers
from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._numpy.signal import signals
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._common import Tensor, elementwise, floats, magnitude, on_cpu

#: exp of more than this is infinite.
_LARGEST = 709.78


def _exprel_slope(x: Tensor) -> Tensor:
    near = torch.abs(x) < 1e-3
    safe = torch.where(near, 1.0, x)
    far = (safe * torch.exp(safe) - torch.expm1(safe)) / (safe * safe)
    return torch.where(near, 0.5 + x / 3 + x * x / 8 + x**3 / 30, far)


@elementwise("exprel", wide=False)
@with_slopes(_exprel_slope)
def exprel(x: Tensor) -> Tensor:
    """(exp(x) - 1) / x, 1 at 0."""
    safe = torch.where(x == 0, 1, x)
    found = torch.where(x == math.inf, x, torch.expm1(safe) / safe)
    return torch.where(x == 0, 1, found)


@elementwise("expm1", wide=False)
def expm1(x: Tensor) -> Tensor:
    """exp(x) - 1."""
    return torch.expm1(x)


@elementwise("log1p", wide=False)
def log1p(x: Tensor) -> Tensor:
    """log(1 + x)."""
    return torch.log1p(x)


@elementwise("exp2", wide=False)
def exp2(x: Tensor) -> Tensor:
    """2**x."""
    return torch.exp2(x)


@elementwise("exp10", wide=False)
def exp10(x: Tensor) -> Tensor:
    """10**x."""
    return torch.pow(10, x)


@elementwise("cbrt", wide=False)
@with_slopes(lambda x: 1 / (3 * cbrt(x) ** 2))
def cbrt(x: Tensor) -> Tensor:
    """The cube root: a power, and a step of Newton's method."""
    size = torch.abs(x)
    root = torch.pow(size, 1 / 3)
    safe = torch.where((size == 0) | torch.isinf(size), 1, root)
    better = safe - (safe - size / (safe * safe)) / 3
    return torch.copysign(torch.where((size == 0) | torch.isinf(size), size, better), x)


@elementwise("cosm1")
def cosm1(x: Tensor) -> Tensor:
    """cos(x) - 1."""
    half = torch.sin(x / 2)
    return -2 * half * half


@elementwise("powm1", host_reason=on_cpu)
@with_slopes(powers.by_base, powers.by_exponent)
def powm1(x: Tensor, y: Tensor) -> Tensor:
    """x**y - 1, without cancellation where the power is near 1."""
    even = torch.fmod(y, 2) == 0
    exponent = y * torch.log(torch.where((x < 0) & even, -x, x))
    near = torch.abs(exponent) < 0.5
    found = torch.where(near, torch.expm1(exponent), torch.pow(x, y) - 1)
    found = torch.where((x < 0) & torch.isinf(y), math.nan, found)
    return torch.where((y == 0) | (x == 1), 0.0, found)


@elementwise("round", wide=False)
def round_half_even(x: Tensor) -> Tensor:
    """The nearest integer, the even one of two."""
    return torch.round(x)


@on_tensors("special.sinc", arrays=("x",))
def sinc(x: Any) -> Tensor:
    """sin(pi x) / (pi x)."""
    (value,) = floats(x)
    return _sinc(value)


@with_slopes(signals.sinc_slope)
def _sinc(x: Tensor) -> Tensor:
    angle = math.pi * torch.where(x == 0, 1e-20, x)
    return torch.sin(angle) / angle


@on_tensors("special.diric", arrays=("x", "n"))
def diric(x: Any, n: Any) -> Tensor:
    """The Dirichlet kernel sin(n x / 2) / (n sin(x / 2)); at multiples of 2 pi its limit."""
    x, n = torch.broadcast_tensors(*floats(x, n))
    smallest = 1e-7 if x.dtype == torch.float64 else 1e-3
    half = x / 2
    below = torch.sin(half)
    odd = torch.remainder(torch.round(half / math.pi) * (n - 1), 2) != 0
    limit = torch.where(odd, -1.0, 1.0).to(x.dtype)
    if wants_gradients(x, n):  # The limit with its second derivative.
        limit = limit * (1 - (n * n - 1) * below * below / 6)
    near = torch.abs(below) < smallest
    far = torch.sin(n * half) / (n * torch.where(near, 1.0, below))
    found = torch.where(near, limit, far)
    return torch.where((n <= 0) | (n != torch.floor(n)), math.nan, found)


# -- Angles in degrees -----------------------------------------------------------------------


def _sine_of_degrees(x: Tensor) -> Tensor:
    """Return the sine of an angle of up to 360 degrees, exact where the sine is 0, 1/2 or 1."""
    turned = torch.where(x > 180, x - 360, x)
    folded = torch.where(torch.abs(turned) > 90, torch.copysign(180 - turned.abs(), turned), turned)
    angle = torch.abs(folded) * (math.pi / 180)
    opposite = (90 - torch.abs(folded)) * (math.pi / 180)
    size = torch.where(torch.abs(folded) <= 45, torch.sin(angle), torch.cos(opposite))
    return torch.copysign(size, folded)


#: Beyond this many degrees SciPy says 0: the angle's fraction is lost.
_LOST = 1e14


@elementwise("sindg", host_reason=on_cpu)
@with_slopes(lambda x: cosdg(x) * (math.pi / 180))
def sindg(x: Tensor) -> Tensor:
    """The sine of degrees."""
    size = _sine_of_degrees(torch.fmod(torch.abs(x), 360))
    return torch.where(torch.abs(x) > _LOST, 0.0, torch.where(x < 0, -size, size))


@elementwise("cosdg", host_reason=on_cpu)
@with_slopes(lambda x: sindg(x) * (-math.pi / 180))
def cosdg(x: Tensor) -> Tensor:
    """The cosine of degrees."""
    turned = torch.fmod(torch.abs(x), 360)
    shifted = torch.where(turned >= 270, turned - 270, turned + 90)
    return torch.where(torch.abs(x) > _LOST, 0.0, _sine_of_degrees(shifted))


def _tangent(x: Tensor, inverse: bool) -> Tensor:
    """The tangent or cotangent of degrees; infinite where there is none."""
    turned = torch.fmod(torch.abs(x), 180)
    angle = torch.where(turned > 90, turned - 180, turned)
    size = torch.abs(angle)
    low = torch.tan(torch.where(size <= 45, size, 90 - size) * (math.pi / 180))
    found = torch.where((size <= 45) != inverse, low, 1 / low)
    found = torch.where((angle < 0) != (x < 0), -found, found)
    infinite = size == (0 if inverse else 90)
    return torch.where(torch.abs(x) > _LOST, 0.0, torch.where(infinite, math.inf, found))


@elementwise("tandg", host_reason=on_cpu)
@with_slopes(lambda x: (1 + tandg(x) ** 2) * (math.pi / 180))
def tandg(x: Tensor) -> Tensor:
    """The tangent of degrees."""
    return _tangent(x, inverse=False)


@elementwise(
    "cotdg", tolerance=8192, note="SciPy loses digits where it's large", host_reason=on_cpu
)
@with_slopes(lambda x: (1 + cotdg(x) ** 2) * (-math.pi / 180))
def cotdg(x: Tensor) -> Tensor:
    """The cotangent of degrees."""
    return _tangent(x, inverse=True)


@elementwise("radian")
def radian(d: Tensor, m: Tensor, s: Tensor) -> Tensor:
    """Degrees, minutes and seconds in radians."""
    return ((d * 60 + m) * 60 + s) * (math.pi / 648000)


# -- Box and Cox (1964) -----------------------------------------------------------------------


def _power_transform(log: Tensor, lmbda: Tensor) -> Tensor:
    """(exp(lmbda log) - 1) / lmbda, which may be finite where exp isn't."""
    exponent = lmbda * log
    safe = torch.where(lmbda == 0, 1, lmbda)
    far = torch.sign(lmbda) * torch.exp(exponent - torch.log(torch.abs(safe))) - 1 / safe
    found = torch.where(exponent < _LARGEST, torch.expm1(exponent) / safe, far)
    return torch.where(torch.isnan(exponent), math.nan, found)


def _at_zero(log: Tensor, lmbda: Tensor) -> Tensor:
    """Return the logarithm where lmbda is about 0, with the derivative by lmbda."""
    small = torch.where((torch.abs(lmbda) < 1e-19) & torch.isfinite(log), lmbda, 0.0)
    return log + small * torch.where(torch.isfinite(log), log * log / 2, 0.0)


@elementwise("boxcox")
def boxcox(x: Tensor, lmbda: Tensor) -> Tensor:
    """(x**lmbda - 1) / lmbda, log(x) for lmbda = 0."""
    log = torch.log(x)
    return torch.where(torch.abs(lmbda) < 1e-19, _at_zero(log, lmbda), _power_transform(log, lmbda))


@elementwise("boxcox1p")
def boxcox1p(x: Tensor, lmbda: Tensor) -> Tensor:
    """((1 + x)**lmbda - 1) / lmbda, log(1 + x) for lmbda = 0."""
    log = torch.log1p(x)
    linear = (torch.abs(lmbda) < 1e-19) | ((torch.abs(log) < 1e-289) & (torch.abs(lmbda) < 1e273))
    return torch.where(linear, _at_zero(log, lmbda), _power_transform(log, lmbda))


def _log_of_inverse(x: Tensor, lmbda: Tensor) -> Tensor:
    """log(1 + lmbda x) / lmbda, also where the product is too large for a float."""
    safe = torch.where(lmbda == 0, 1, lmbda)
    product = lmbda * x
    far = torch.log(torch.sign(lmbda) * (x + 1 / safe)) + torch.log(torch.abs(safe))
    return torch.where(product < 1.79e308, torch.log1p(product), far) / safe


def _log_or_line(x: Tensor, lmbda: Tensor) -> Tensor:
    zero = lmbda == 0
    bend = torch.where(zero & torch.isfinite(x), x * x / 2, 0.0)
    return torch.where(zero, x - lmbda * bend, _log_of_inverse(x, lmbda))


@elementwise("inv_boxcox", host_reason=on_cpu)
def inv_boxcox(x: Tensor, lmbda: Tensor) -> Tensor:
    """The inverse of boxcox."""
    return torch.exp(_log_or_line(x, lmbda))


@elementwise("inv_boxcox1p", host_reason=on_cpu)
def inv_boxcox1p(x: Tensor, lmbda: Tensor) -> Tensor:
    """The inverse of boxcox1p."""
    log = _log_or_line(x, lmbda)
    tiny = (lmbda != 0) & (torch.abs(lmbda * x) < 1e-154)
    return torch.where(tiny, x, torch.expm1(log))


# -- Logistic ---------------------------------------------------------------------------------


@elementwise("logit", wide=False, host_reason=on_cpu)
def logit(x: Tensor) -> Tensor:
    """log(x / (1 - x)); around 1/2 by the logarithm's odd part."""
    away = 2 * (x - 0.5)
    near = torch.log1p(away) - torch.log1p(-away)
    far = torch.log(x / (1 - x))
    return torch.where((x > 0.3) & (x < 0.65), near, far)


@elementwise("expit", wide=False)
def expit(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return torch.sigmoid(x)


@elementwise("log_expit", wide=False)
def log_expit(x: Tensor) -> Tensor:
    """log(1 / (1 + exp(-x)))."""
    return torch.where(torch.signbit(x), x, 0) - torch.log1p(torch.exp(-magnitude(x)))


@on_tensors("special.softplus", arrays=("x",))
def softplus(x: Any) -> Tensor:
    """log(1 + exp(x))."""
    (value,) = floats(x)
    return torch.where(torch.signbit(value), 0, value) + torch.log1p(torch.exp(-magnitude(value)))


# -- Information and losses ---------------------------------------------------------------------


@elementwise("entr", wide=False)
def entr(x: Tensor) -> Tensor:
    """-x log(x), which is 0 at 0."""
    return torch.special.entr(x)


def _relative_entropy(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(x / y) for positive numbers, also where the ratio isn't a float."""
    ratio = x / y
    usable = (ratio > 1e-300) & (ratio < 1e300)
    near = torch.abs(ratio - 1) < 0.5
    log = torch.where(near, torch.log1p((x - y) / y), torch.log(ratio))
    return x * torch.where(usable, log, torch.log(x) - torch.log(y))


@elementwise("rel_entr", host_reason=on_cpu)
def rel_entr(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(x / y), 0 for x = 0, infinite outside of the domain."""
    inside = (x > 0) & (y > 0)
    found = torch.where(inside, _relative_entropy(x, y), math.inf)
    found = torch.where((x == 0) & (y >= 0), 0.0, found)
    return torch.where(torch.isnan(x) | torch.isnan(y), math.nan, found)


@elementwise("kl_div", host_reason=on_cpu)
def kl_div(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(x / y) - x + y, infinite outside of the domain."""
    inside = (x > 0) & (y > 0)
    found = torch.where(inside, x * torch.log(x / y) - x + y, math.inf)
    found = torch.where((x == 0) & (y >= 0), y, found)
    return torch.where(torch.isnan(x) | torch.isnan(y), math.nan, found)


@elementwise("huber", host_reason=on_cpu)
def huber(delta: Tensor, r: Tensor) -> Tensor:
    """Huber's loss (1964): a parabola, and lines beyond delta."""
    size = torch.abs(r)
    found = torch.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return torch.where(delta < 0, math.inf, found)


@elementwise("pseudo_huber")
def pseudo_huber(delta: Tensor, r: Tensor) -> Tensor:
    """delta**2 (sqrt(1 + (r / delta)**2) - 1)."""
    ratio = r / torch.where(delta == 0, 1, delta)
    square = ratio * ratio
    found = delta * (delta * (square / (torch.sqrt(1 + square) + 1)))
    found = torch.where(square == math.inf, delta * torch.abs(r), found)
    found = torch.where((delta == 0) | (r == 0), 0.0, found)
    found = torch.where(delta < 0, math.inf, found)
    return torch.where(torch.isnan(delta) | torch.isnan(r), math.nan, found)


@elementwise("xlogy", wide=False)
def xlogy(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(y), 0 for x = 0."""
    return torch.special.xlogy(x, y)


@elementwise("xlog1py", wide=False, host_reason=on_cpu)
def xlog1py(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(1 + y), 0 for x = 0."""
    return torch.special.xlog1py(x, y)
