"""Derivatives of operators that torch differentiates as constants: Bessel's K.

Their gradient would be zero without a word (torch/tools/autograd/derivatives.yaml of 2.11 to 2.15:
``self: non_differentiable``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Slope = Callable[[torch.Tensor], torch.Tensor]

_aten = torch.ops.aten


def _with_slope(operator: Any, slope: Slope) -> Slope:
    """Return an operator on one tensor with its derivative, which has one itself."""

    class Function(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = operator(x)
            return found

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, cotangent: torch.Tensor) -> torch.Tensor:
            return cotangent * slope(*ctx.saved_tensors)

        @staticmethod
        def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
            return tangent * slope(*ctx.saved_tensors)

    def call(x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = Function.apply(x)  # type: ignore[no-untyped-call]
        return found

    return call


_K0, _K1 = _aten.special_modified_bessel_k0.default, _aten.special_modified_bessel_k1.default
_SCALED_K0 = _aten.special_scaled_modified_bessel_k0.default
_SCALED_K1 = _aten.special_scaled_modified_bessel_k1.default

#: Operators by what has their derivative (Abramowitz and Stegun 9.6.26).
WITH_DERIVATIVES: dict[Any, Slope] = {
    _K0: _with_slope(_K0, lambda x: -call(_K1, x)),
    _K1: _with_slope(_K1, lambda x: -call(_K0, x) - call(_K1, x) / x),
    _SCALED_K0: _with_slope(_SCALED_K0, lambda x: call(_SCALED_K0, x) - call(_SCALED_K1, x)),
    _SCALED_K1: _with_slope(
        _SCALED_K1, lambda x: (1 - 1 / x) * call(_SCALED_K1, x) - call(_SCALED_K0, x)
    ),
}


def call(operator: Any, x: torch.Tensor) -> torch.Tensor:
    """Compute an operator of `WITH_DERIVATIVES` where torch, or a transform, differentiates."""
    return WITH_DERIVATIVES[operator](x)


def of_tensor(operator: Any, x: torch.Tensor) -> torch.Tensor:
    """Compute an operator of `WITH_DERIVATIVES`, which autograd may differentiate.

    Where a graph is captured the operator itself is what stands in it.
    """
    if torch.is_grad_enabled() and x.requires_grad:
        return call(operator, x)
    found: torch.Tensor = operator(x)
    return found


__all__ = ["WITH_DERIVATIVES", "call", "of_tensor"]
