"""Kernels of the ufuncs that take floats apart: fraction, mantissa, exponent, neighbours."""

from __future__ import annotations

import math

import numpy as np
import torch

from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.ufuncs.kernel_selection import in_float32

# Parts of floats


@in_float32
def modf(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the fraction and the whole part, both with the operand's sign."""
    whole = torch.trunc(x)
    if wants_gradients(x):  # Of a fraction of 0 `copysign` has none.
        none = torch.copysign(torch.zeros_like(x), x)
        return torch.where(torch.isinf(x), none, torch.fmod(x, 1.0)), whole
    fraction = torch.where(torch.isinf(x), torch.zeros_like(x), x - whole)
    return torch.copysign(fraction, x), whole


#: The integer dtype of a float's bits, bits of the mantissa, and the exponent's bias.
_LAYOUT: dict[torch.dtype, tuple[torch.dtype, int, int]] = {
    torch.float32: (torch.int32, 23, 127),
    torch.float64: (torch.int64, 52, 1023),
}


def frexp(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mantissa and exponent from the bits; the exponent of NaN and infinity is 0.

    Inductor compiles `torch.frexp` of float64 to C++ that doesn't build where
    the exponent is used further (torch 2.13).
    """
    if x.dtype == torch.float16:
        mantissa, exponent = frexp(x.to(torch.float32))
        return mantissa.to(torch.float16), exponent
    whole, digits, bias = _LAYOUT[x.dtype]
    # a subnormal number is scaled into the normal range first
    small = torch.abs(x) < torch.finfo(x.dtype).tiny
    bits = torch.where(small, x * 2.0 ** (digits + 2), x).view(whole)
    places = 2 * bias + 1
    exponent = ((bits >> digits) & places) - (bias - 1)
    exponent = torch.where(small, exponent - (digits + 2), exponent)
    mantissa = ((bits & ~(places << digits)) | ((bias - 1) << digits)).view(x.dtype)
    ordinary = torch.isfinite(x) & (x != 0)
    if wants_gradients(x):
        mantissa = _scaled(x, -exponent)
    exponent = torch.where(ordinary, exponent, torch.zeros_like(exponent))
    return torch.where(ordinary, mantissa, x), exponent.to(torch.int32)


def _two_to_the(exponent: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a power of two from its bits, exactly; exponents in the normal range."""
    whole, digits, bias = _LAYOUT[dtype]
    return ((exponent.to(whole) + bias) << digits).view(dtype)


def _scaled(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Return ``x * 2**exponent`` by operations that have a derivative."""
    first = torch.div(exponent, 2, rounding_mode="floor")
    powers = [torch.exp2(one.to(x.dtype)) for one in (first, exponent - first)]
    return x * powers[0] * powers[1]


def ldexp(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Return ``x * 2**exponent``, rounded once, even where the power overflows."""
    if wants_gradients(x):
        return _scaled(x, exponent)
    if x.dtype == torch.float16:
        return ldexp(x.to(torch.float32), exponent).to(torch.float16)
    last = _LAYOUT[x.dtype][2]
    mantissa, own = frexp(x)
    total = torch.clamp(exponent.to(torch.int64), -(2**31), 2**31) + own
    total = torch.clamp(total, -last - 60, last + 60)
    first = torch.clamp(total, -last + 2, last)
    scaled = mantissa * _two_to_the(first, x.dtype)
    return scaled * _two_to_the(total - first, x.dtype)


#: Whether float16's nextafter(-0.0, 0.0) is C's answer, 0.0, as from NumPy 2.5 on.
_EQUAL_GIVES_SECOND = not np.signbit(np.nextafter(np.float16(-0.0), np.float16(0.0)))


def nextafter(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the next float towards the second operand.

    That of float16 is found from the bits: compiled code widens float16.
    """
    if a.dtype != torch.float16:
        return torch.nextafter(a, b)
    bits = a.view(torch.int16).to(torch.int32)
    moved = torch.where((a < b) == (a > 0), bits + 1, bits - 1)
    smallest = torch.copysign(torch.full_like(a, 2.0**-24), b)
    found = torch.where(a == 0, smallest, moved.to(torch.int16).view(torch.float16))
    return torch.where(
        a == b,
        b if _EQUAL_GIVES_SECOND else a,
        torch.where(torch.isnan(a) | torch.isnan(b), a + b, found),
    )


def spacing(x: torch.Tensor) -> torch.Tensor:
    """Return the distance to the next float: away from 0, or upwards for float16."""
    up = torch.full_like(x, math.inf)
    if x.dtype != torch.float16:
        up = torch.copysign(up, x)
        # NumPy takes the smallest number, not its negative, for -0.0
        up = torch.where(x == 0, torch.full_like(x, math.inf), up)
    return torch.where(torch.isinf(x), torch.full_like(x, math.nan), nextafter(x, up) - x)
