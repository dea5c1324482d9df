"""Functions of matrices by products and inverses only, so that they run on any device."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from npaccel._scipy.dispatch.checks import readable
from npaccel._scipy.linalg._common import eye_of, norm1, refuse_traced

_WHY = "its steps go on until the values have settled"
_MOST_STEPS = 30


def settled(
    x: torch.Tensor, step: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
) -> None:
    """Repeat a step that converges quadratically until what it tells is as small as rounding.

    Raises
    ------
    ArithmeticError
        If that never happens.
    """
    refuse_traced(x, _WHY)
    enough = 10 * x.shape[-1] * torch.finfo(x.dtype).eps
    for _ in range(_MOST_STEPS):
        x, error = step(x)
        if not readable(x):
            return
        size = float(error.max())
        if size <= enough:
            return
        if not math.isfinite(size):
            break
    raise ArithmeticError("the iteration doesn't settle")


def _scale(m: torch.Tensor, power: float) -> torch.Tensor:
    """Return a power of |det m|, which makes the steps fewer (Byers 1987)."""
    logarithm = torch.linalg.slogdet(m)[1] / m.shape[-1]
    return torch.exp(power * logarithm)[..., None, None]


def square_root(a: torch.Tensor) -> torch.Tensor:
    """Return the principal square root: the product form of Denman and Beavers' iteration.

    Cheng, Higham, Kenney and Laub, "Approximating the logarithm of a matrix to specified
    accuracy" (2001).
    """
    eye = eye_of(a)
    root = a

    def step(m: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal root
        far = norm1(m - eye).amax() > 0.1 if readable(m) else True
        mu = _scale(m, -0.5) if far else torch.ones_like(m[..., :1, :1].real)
        inverse = torch.linalg.inv(m) / mu**2
        root = (root + root @ inverse) * (mu / 2)
        m = (eye + (mu**2 * m + inverse) / 2) / 2
        return m, norm1(m - eye)

    settled(a, step)
    return root


def sign(a: torch.Tensor) -> torch.Tensor:
    """Return the sign of matrices by Newton's iteration, scaled by the determinant."""
    found = a

    def step(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal found
        mu = _scale(x, -1.0)
        following = (mu * x + torch.linalg.inv(x) / mu) / 2
        found = following
        return following, norm1(following - x) / norm1(following)

    settled(a, step)
    return found


#: Number of points of the quadrature, and distance to the identity up to which they're enough.
_POINTS, _NEAR = 12, 0.56


def logarithm(a: torch.Tensor) -> torch.Tensor:
    """Return the principal logarithm: square roots, then a Pade approximant by quadrature.

    Higham, "Functions of Matrices" (2008), chapter 11, without a Schur form.
    """
    refuse_traced(a, _WHY)
    eye = eye_of(a)
    doublings = 0
    while doublings < 60 and readable(a) and float(norm1(a - eye).max()) > _NEAR:
        a = square_root(a)
        doublings += 1
    rest = a - eye
    points, weights = np.polynomial.legendre.leggauss(_POINTS)
    found = torch.zeros_like(a)
    for point, weight in zip((1 + points) / 2, weights / 2, strict=True):
        found = found + float(weight) * torch.linalg.solve(eye + float(point) * rest, rest)
    return found * 2.0**doublings
