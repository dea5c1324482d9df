"""Waves in `scipy.signal`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.signal import _common as parts

through_host("signal.unit_impulse", "takes no arrays", takes_arrays=False, is_pure=True)
through_host("signal.max_len_seq", "a register is shifted bit after bit")


def _sweep(t: Any, f0: float, t1: float, f1: float, method: str, vertex_zero: bool) -> Any:
    """Return the turns of a wave whose frequency changes."""
    if method in ("linear", "lin", "li"):
        return f0 * t + 0.5 * ((f1 - f0) / t1) * t * t
    if method in ("quadratic", "quad", "q"):
        rise = (f1 - f0) / t1**2
        if vertex_zero:
            return f0 * t + rise * t**3 / 3
        return f1 * t + rise * ((t1 - t) ** 3 - t1**3) / 3
    if method in ("logarithmic", "log", "lo"):
        if f0 * f1 <= 0:
            raise ValueError("f0 and f1 must be nonzero and have the same sign.")
        if f0 == f1:
            return f0 * t
        return t1 / math.log(f1 / f0) * f0 * (torch.pow(f1 / f0, t / t1) - 1)
    if method not in ("hyperbolic", "hyp") or f0 == 0 or f1 == 0:
        raise ValueError("no such method, or a hyperbolic chirp of frequency 0")
    if f0 == f1:
        return f0 * t
    pole = -f1 * t1 / (f0 - f1)
    return -pole * f0 * torch.log(torch.abs(1 - t / pole))


@on_tensors("signal.chirp", arrays=("t",), tolerance=2**13)
def chirp(
    t: Any,
    f0: Any,
    t1: Any,
    f1: Any,
    method: str = "linear",
    phi: Any = 0,
    vertex_zero: bool = True,
    *,
    complex: bool = False,
) -> Any:
    """A cosine whose frequency changes."""
    (t,) = parts.floats(t)
    turns = _sweep(t, float(f0), float(t1), float(f1), method, vertex_zero)
    angle = 2 * math.pi * turns + math.radians(phi)
    return torch.polar(torch.ones_like(angle), angle) if complex else torch.cos(angle)


@on_tensors("signal.sweep_poly", arrays=("t",), tolerance=2**13)
def sweep_poly(t: Any, poly: Any, phi: Any = 0) -> Any:
    """A cosine whose frequency is a polynomial."""
    given = poly.coeffs if isinstance(poly, np.poly1d) else poly
    t, coefficients = parts.floats(t, given)
    coefficients = torch.atleast_1d(coefficients)
    if coefficients.ndim != 1:
        raise ValueError("poly must be 1-D")
    count = coefficients.shape[0]
    turns = torch.zeros_like(t)
    for i in range(count):
        turns = (turns + coefficients[i] / (count - i)) * t
    return torch.cos(2 * math.pi * turns + phi * (math.pi / 180))


@on_tensors("signal.gausspulse", arrays=("t",), tolerance=2**13)
def gausspulse(
    t: Any,
    fc: float = 1000,
    bw: float = 0.5,
    bwr: float = -6,
    tpr: float = -60,
    retquad: bool = False,
    retenv: bool = False,
) -> Any:
    """A sine in a bell, and, if asked for, the one a quarter turn later and the bell."""
    if fc < 0 or bw <= 0 or bwr >= 0:
        raise ValueError("a center frequency below 0, no bandwidth or no level")
    (t,) = parts.floats(t)
    narrow = (math.pi * fc * bw) ** 2 / (4 * math.log(10 ** (bwr / 20)))
    bell, angle = torch.exp(narrow * t * t), 2 * math.pi * fc * t
    found: tuple[Any, ...] = (bell * torch.cos(angle),)
    if retquad:
        found = (*found, bell * torch.sin(angle))
    if retenv:
        found = (*found, bell)
    return found if len(found) > 1 else found[0]


def _in_period(t: Any, width: Any) -> tuple[Any, Any, Any, Any]:
    """Return the place in the period and the width, and where it's before it, and where not."""
    t, width = parts.floats(t, width)
    width = width + (t - t)
    t = t + (width - width)
    place = torch.remainder(t, 2 * math.pi)
    outside = (width > 1) | (width < 0)
    return place, width, outside, ~outside & (place < width * 2 * math.pi)


@on_tensors("signal.sawtooth", arrays=("t", "width"), fused=True)
def sawtooth(t: Any, width: Any = 1) -> Any:
    """A line that rises for a part of each period, and falls for the rest."""
    place, width, outside, rising = _in_period(t, width)
    # Where the other line is taken nothing is divided by 0, which derivatives would show.
    up = place / (math.pi * torch.where(rising, width, 1.0)) - 1
    down = (math.pi * (width + 1) - place) / (math.pi * torch.where(rising, 1.0, 1 - width))
    found = torch.where(rising, up, down)
    return torch.where(outside, math.nan, found).to(torch.float64)


@on_tensors("signal.square", arrays=("t", "duty"), fused=True)
def square(t: Any, duty: Any = 0.5) -> Any:
    """1 for a part of each period, -1 for the rest."""
    _, _, outside, high = _in_period(t, duty)
    found = torch.where(high, 1.0, -1.0)
    return torch.where(outside, math.nan, found).to(torch.float64)
