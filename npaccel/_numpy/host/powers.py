"""Powers of floats by exponents that are floats too, with derivatives of any order."""

from __future__ import annotations

import torch

from npaccel._numpy.host.own_derivatives import with_slopes


def by_base(base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Return the derivative of a power by its base."""
    # Of a constant 1 beside a base of 0, where the power would be infinite.
    is_constant = (base == 0) & (exponent == 0)
    return exponent * power(torch.where(is_constant, 1.0, base), exponent - 1)


def by_exponent(base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Return the derivative of a power by its exponent."""
    is_zero = (base == 0) & (exponent >= 0)
    safe = torch.where(is_zero, 1.0, base)
    return power(safe, exponent) * torch.log(safe)


@with_slopes(by_base, by_exponent)
def power(base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Raise to powers: torch's derivative by the base is a constant 0 where the exponent is 0."""
    return torch.pow(base, exponent)


__all__ = ["by_base", "by_exponent", "power"]
