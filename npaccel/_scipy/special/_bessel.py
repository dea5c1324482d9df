"""Bessel's functions of order 0 and 1 on real tensors of float64, and what follows from them.

Up to 8 by Chebyshev's polynomials in x**2, beyond by Hankel's form, its two slow factors in 1 / x.
"""

from __future__ import annotations

import math

import torch

from npaccel._numpy.host.own_derivatives import with_slopes
from npaccel._scipy.special._common import Tensor, chebyshev

# Coefficients of Chebyshev's polynomials, computed with 40 digits: of J0, J1 / x and what the
# logarithm leaves of Y0 and Y1 / x, in x**2 / 32 - 1, and of Hankel's P and Q x / 8 in
# 128 / x**2 - 1 (Abramowitz and Stegun 9.2.5).
_J0 = (
    *(0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977),
    *(0.15806710233209725, -0.034893769411408884, 0.004819180069467605),
    *(-0.00046062616620627504, 3.246032882100508e-05, -1.7619469077621507e-06),
    *(7.608163592418782e-08, -2.679253530557673e-09, 7.848696314479465e-11),
    *(-1.9438346867370164e-12, 4.125320595634374e-14, -7.588508125447546e-16),
    *(1.2218515873961411e-17,),
)
_J1 = (
    *(0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791),
    *(0.022213639654966037, -0.003646940600769276, 0.0004050337728354822),
    *(-3.255554866857259e-05, 1.9858774049915165e-06, -9.521984756750436e-08),
    *(3.687133759097148e-09, -1.178026622695885e-10, 3.160154580348003e-12),
    *(-7.221755239651773e-14, 1.4232144003513942e-15, -2.4441972916190464e-17),
    *(3.6912682997929334e-19,),
)
_Y0 = (
    *(-0.03314611320328494, -0.2744743055297453, 0.17903431407718265, 0.26156734625504663),
    *(-0.17730201278114358, 0.04719668959576339, -0.007287962479552079),
    *(0.0007531135932577742, -5.632079141056987e-05, 3.206532537654801e-06),
    *(-1.44072332740187e-07, 5.248794787330516e-09, -1.5837552541812015e-10),
    *(4.02633081830612e-12, -8.747341203310769e-14, 1.6434898714919468e-15),
    *(-2.6977881152566837e-17, 3.9032584173475982e-19),
)
_Y1 = (
    *(0.0025380132357417816, -0.01608717304766875, -0.09591204536083074),
    *(0.08445197259652346, -0.028328123944594365, 0.005289897544167113),
    *(-0.0006414551451326356, 5.505982873338744e-05, -3.53808001868935e-06),
    *(1.7707804556154404e-07, -7.11055004989928e-09, 2.344337905911516e-10),
    *(-6.4651518414115946e-12, 1.51429151205002e-13, -3.0511859694473254e-15),
    *(5.34668038572867e-17, -8.224911372021585e-19),
)
_P0 = (
    *(0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06),
    *(-5.1705945376060975e-08, 1.6306464635151382e-09, -7.86409137723707e-11),
    *(5.168262387349193e-12, -4.3045788699253914e-13, 4.3265957431549404e-14),
    *(-5.069034095935236e-15, 6.748072215733873e-16, -1.0011513723467786e-16),
    *(1.6305919233744186e-17, -2.880866169482871e-18),
)
_Q0 = (
    *(-0.015555854605337009, 6.838519942611649e-05, -7.414498411060647e-07),
    *(1.7972457247968992e-08, -7.27191593686632e-10, 4.2201219046687385e-11),
    *(-3.206747420996635e-12, 3.006145125351706e-13, -3.336328185322427e-14),
    *(4.255225040245461e-15, -6.09993013164005e-16, 9.662128970303257e-17),
    *(-1.6686065214378146e-17, 3.1082440486738143e-18, -6.191115787358145e-19),
    *(1.3091448717220122e-19, -2.9211627152642775e-20),
)
_P1 = (
    *(1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06),
    *(6.177633960644299e-08, -1.8718907491063067e-09, 8.816898659582339e-11),
    *(-5.704863640395645e-12, 4.699195515230542e-13, -4.6842237839904895e-14),
    *(5.452674896044717e-15, -7.221180842274018e-16, 1.0667689114335412e-16),
    *(-1.7312313216116335e-17, 3.0492991197665872e-18),
)
_Q1 = (
    *(0.04677778706953532, -9.62772354915708e-05, 9.138615257955454e-07),
    *(-2.0959781384083424e-08, 8.229193327650554e-10, -4.686363688176945e-11),
    *(3.5152187949686082e-12, -3.2643156743279e-13, 3.5967765829165294e-14),
    *(-4.5612523950772974e-15, 6.508282957783384e-16, -1.0269147531823243e-16),
    *(1.767635548776479e-17, -3.2834519872981614e-18, 6.524081149589261e-19),
    *(-1.3765771484849487e-19,),
)

_TWO_OVER_PI = 2 / math.pi


def _hankel(x: Tensor, p: tuple[float, ...], q: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Return Hankel's factors P and Q, times the root before them."""
    inverse = 8 / x
    place = 2 * inverse * inverse - 1
    root = torch.sqrt(1 / (math.pi * x))
    return root * chebyshev(place, p), root * inverse * chebyshev(place, q)


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """Clip x to up to 8 and from 8 on; at 8 the first has the derivative, as it's chosen there."""
    near = x <= 8
    return torch.where(near, x, 8.0), torch.where(near, 8.0, x)


def bessel_0(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return J0(x) and Y0(x) for x >= 0."""
    low, high = _parts(x)
    place = low**2 / 32 - 1
    near = chebyshev(place, _J0)
    singular = _TWO_OVER_PI * torch.log(low) * near + chebyshev(place, _Y0)
    p, q = _hankel(high, _P0, _Q0)
    sine, cosine = torch.sin(x), torch.cos(x)
    plus, minus = sine + cosine, sine - cosine
    j = torch.where(x <= 8, near, p * plus - q * minus)
    y = torch.where(x <= 8, singular, p * minus + q * plus)
    return torch.where(x == math.inf, math.nan, j), torch.where(x == math.inf, math.nan, y)


def bessel_1(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return J1(x) and Y1(x) for x >= 0."""
    low, high = _parts(x)
    place = low**2 / 32 - 1
    near = low * chebyshev(place, _J1)
    singular = _TWO_OVER_PI * (torch.log(low) * near - 1 / low) + low * chebyshev(place, _Y1)
    singular = torch.where(x == 0, -math.inf, singular)
    p, q = _hankel(high, _P1, _Q1)
    sine, cosine = torch.sin(x), torch.cos(x)
    plus, minus = sine + cosine, sine - cosine
    j = torch.where(x <= 8, near, p * minus + q * plus)
    y = torch.where(x <= 8, singular, q * minus - p * plus)
    return torch.where(x == math.inf, math.nan, j), torch.where(x == math.inf, math.nan, y)


def _depth(n: int) -> int:
    """Return the order from which on the ratios of neighbours may be taken for 0, for x up to n."""
    return n + 18 + int(6 * n ** (1 / 3))


def bessel_j(n: int, x: Tensor) -> Tensor:
    """J_n(x) for n >= 0, x >= 0: upwards while the order is below x, then by ratios.

    The ratios of neighbours come from their continued fraction (A. and S. 9.1.73).
    """
    before, value = bessel_0(x)[0], bessel_1(x)[0]
    if n < 2:
        return value if n else before
    safe = torch.where(x == 0, 1.0, x)
    ratio, ratios = torch.zeros_like(x), {}
    for k in range(_depth(n), 1, -1):
        ratio = x / (2 * k - x * ratio)
        ratios[k] = ratio
    for k in range(2, n + 1):
        up = (2 * (k - 1)) / safe * value - before
        before, value = value, torch.where(x > k, up, value * ratios[k])
    return value


def bessel_y(n: int, x: Tensor) -> Tensor:
    """Y_n(x) for n >= 0, x >= 0, upwards."""
    before, value = bessel_0(x)[1], bessel_1(x)[1]
    if n < 2:
        return value if n else before
    for k in range(1, n):
        up = torch.where(torch.isinf(value), value, 2 * k / x * value - before)
        before, value = value, up
    return value


# K' of order 0 and 1, by A. and S. 9.6.27 and 9.6.26.


def _slope_0(x: Tensor) -> Tensor:
    return -bessel_k1(x)


def _slope_1(x: Tensor) -> Tensor:
    return -bessel_k0(x) - bessel_k1(x) / x


def _scaled_slope_0(x: Tensor) -> Tensor:
    return scaled_k0(x) - scaled_k1(x)


def _scaled_slope_1(x: Tensor) -> Tensor:
    return (1 - 1 / x) * scaled_k1(x) - scaled_k0(x)


@with_slopes(_slope_0)
def bessel_k0(x: Tensor) -> Tensor:
    """K_0(x)."""
    return torch.special.modified_bessel_k0(x)


@with_slopes(_slope_1)
def bessel_k1(x: Tensor) -> Tensor:
    """K_1(x)."""
    return torch.special.modified_bessel_k1(x)


@with_slopes(_scaled_slope_0)
def scaled_k0(x: Tensor) -> Tensor:
    """K_0(x) exp(x)."""
    return torch.special.scaled_modified_bessel_k0(x)


@with_slopes(_scaled_slope_1)
def scaled_k1(x: Tensor) -> Tensor:
    """K_1(x) exp(x)."""
    return torch.special.scaled_modified_bessel_k1(x)


def bessel_k(n: int, x: Tensor, scaled: bool) -> Tensor:
    """K_n(x) for n >= 0, upwards; `scaled` by exp(x)."""
    before = scaled_k0(x) if scaled else bessel_k0(x)
    value = scaled_k1(x) if scaled else bessel_k1(x)
    if n < 2:
        return value if n else before
    for k in range(1, n):
        before, value = value, 2 * k / x * value + before
    return torch.where(x == math.inf, 0.0, value)


def bessel_i(v: float, x: Tensor, scaled: bool) -> Tensor:
    """I_v(x) for v >= 0, x >= 0: its series, or Hankel's for large x; `scaled` by exp(-x)."""
    limit = max(30.0, v * v / 2)
    low = torch.clamp(x, max=limit)
    terms = int(1.5 * limit) + 16
    factors = [1.0]
    for k in range(1, terms):
        factors.append(factors[-1] * (limit / 2) ** 2 / (k * (k + v)))
    while factors[-1] < 1e-18 * max(factors):
        factors.pop()
    found = torch.full_like(x, factors[-1])
    square = (low / limit) ** 2
    for c in reversed(factors[:-1]):
        found = found * square + c
    lead = torch.exp(v * torch.log(low / 2) - math.lgamma(v + 1)) if v else torch.ones_like(x)
    near = lead * found * (torch.exp(-low) if scaled else 1)
    high = torch.clamp(x, min=limit)
    total, factor = torch.ones_like(x), 1.0
    series = []
    for k in range(1, 60):
        factor *= -(4 * v * v - (2 * k - 1) ** 2) / (8 * k * limit)
        series.append(factor)
        if abs(factor) < 1e-18 or (k > v and abs(factor) > abs(series[-2] if k > 1 else 2)):
            break
    inverse = limit / high
    total = torch.zeros_like(x)
    for c in reversed(series):
        total = (total + c) * inverse
    far = (1 + total) / torch.sqrt(2 * math.pi * high)
    if not scaled:
        half = torch.exp(high / 2)
        far = far * half * half
    found = torch.where(x <= limit, near, far)
    return torch.where(x == math.inf, math.nan, found)
