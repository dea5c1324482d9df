"""Faddeeva's function w(z) = exp(-z**2) erfc(-iz), by trapezoids with a term for the pole.

The method is Matta and Reichel's (1971), with the choice among its two rules of Al Azah and
Chandler-Wilde (2021): the nodes are halfway between multiples of the spacing, or on them where the
pole is close to the first ones.
"""

from __future__ import annotations

import math

import torch

from npaccel._scipy.special._common import Tensor

_COUNT = 11
_SPACING = math.sqrt(math.pi / (_COUNT + 1))
_BETWEEN = [((k + 0.5) * _SPACING) ** 2 for k in range(_COUNT + 1)]
_ON = [(k * _SPACING) ** 2 for k in range(_COUNT + 1)]
#: Beyond this w(z) is i / (sqrt(pi) z) in all digits.
_FAR = 1e8


def exp_of_square(x: Tensor, sign: int) -> Tensor:
    """exp(x**2) or exp(-x**2), without the error that rounding the square brings."""
    bounded = torch.clamp(x, -40, 40)
    coarse = torch.round(bounded * 1024) / 1024
    fine = (bounded - coarse) * (bounded + coarse)
    return torch.exp(sign * (coarse * coarse)) * torch.exp(sign * fine)


def _chosen(on: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the square of a node, and its weight."""
    squares = _BETWEEN[k], _ON[k]
    weights = math.exp(-squares[0]), math.exp(-squares[1]) * (1.0 if k else 0.5)
    zero = torch.zeros_like(on, dtype=torch.float64)
    return (
        torch.where(on, zero + squares[1], zero + squares[0]),
        torch.where(on, zero + weights[1], zero + weights[0]),
    )


def _near_node(x: Tensor) -> Tensor:
    """Whether nodes between multiples of the spacing are closer to x than those on them."""
    place = x / _SPACING
    return torch.abs(place - torch.floor(place) - 0.5) <= 0.25


def real_line(x: Tensor) -> Tensor:
    """The imaginary part of w(x) for real x, which is Dawson's integral times 2 / sqrt(pi)."""
    size = torch.abs(x)
    on = _near_node(size) & (size < 1e5)
    square = x * x
    total = torch.zeros_like(x)
    for k in range(_COUNT + 1):
        node, weight = _chosen(on, k)
        total = total + weight / (square - node)
    angle = torch.where(size < 30, size, 0.25 * _SPACING) * (math.pi / _SPACING)
    sine, cosine = torch.sin(angle), torch.cos(angle)
    pole = exp_of_square(size, -1) * torch.where(on, -cosine, sine) / torch.where(on, sine, cosine)
    found = torch.copysign(2 * _SPACING / math.pi * size * total + pole, x)
    safe = torch.where(x == 0, 1, x)
    return torch.where(size > _FAR, 1 / (math.sqrt(math.pi) * safe), found)


def upper_half(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the parts of w(x + iy), for x >= 0 and y >= 0."""
    on = (y < x) & _near_node(x)
    a, b, size = (x - y) * (x + y), 2 * x * y, x * x + y * y
    real, imaginary = torch.zeros_like(size), torch.zeros_like(size)
    for k in range(_COUNT + 1):
        node, weight = _chosen(on, k)
        share = weight / ((a - node) * (a - node) + b * b)
        real = real + share * (size + node)
        imaginary = imaginary + share * (size - node)
    factor = 2 * _SPACING / math.pi
    first, second = _pole(x, y, on)
    far = torch.maximum(x, y) > _FAR
    longest = torch.where(far, torch.maximum(x, y), 1)
    scaled = math.sqrt(math.pi) * ((x / longest) ** 2 + (y / longest) ** 2) * longest
    real = torch.where(far, y / longest / scaled, factor * y * real + first)
    imaginary = torch.where(far, x / longest / scaled, factor * x * imaginary + second)
    infinite = torch.isinf(x) | torch.isinf(y)
    return torch.where(infinite, 0.0, real), torch.where(infinite, 0.0, imaginary)


def _pole(x: Tensor, y: Tensor, on: Tensor) -> tuple[Tensor, Tensor]:
    """Return the parts of 2 exp(-z**2) / (1 +- exp(-2 pi i z / h)), - for nodes on multiples."""
    has = (y < torch.clamp(x, min=math.pi / _SPACING)) & (x < 30)
    x, y = torch.where(has, x, 0.0), torch.where(has, y, 0.5)
    height = torch.exp(y * (-2 * math.pi / _SPACING))
    angle = x * (2 * math.pi / _SPACING)
    sign = torch.where(on & has, -1.0, 1.0).to(x.dtype)
    cosine, sine = sign * torch.cos(angle), sign * torch.sin(angle)
    divisor = (height + cosine) ** 2 + sine**2
    size = 2 * exp_of_square(x, -1) * torch.exp(torch.clamp(y * y, max=600)) * height / divisor
    turn = 2 * x * y
    first, second = torch.cos(turn), -torch.sin(turn)
    real = size * (first * (height + cosine) - second * sine)
    imaginary = size * (first * sine + second * (height + cosine))
    return torch.where(has, real, 0.0), torch.where(has, imaginary, 0.0)


def faddeeva(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the parts of w(x + iy); below the real line by w(z) = 2 exp(-z**2) - w(-z)."""
    below = y < 0
    size_x, size_y = torch.where(x < 0, -x, x), torch.where(below, -y, y)
    real, imaginary = upper_half(size_x, size_y)
    size = 2 * torch.exp((y - x) * (y + x))
    turn = 2 * size_x * y
    real = torch.where(below, size * torch.cos(turn) - real, real)
    imaginary = torch.where(below, -size * torch.sin(turn) + imaginary, imaginary)
    return real, torch.where(x < 0, -imaginary, imaginary)
