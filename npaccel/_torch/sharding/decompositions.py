"""Operations on whole arrays as several that go along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

aten = torch.ops.aten


def _axes(x: torch.Tensor, dims: Any) -> list[int]:
    given = range(x.ndim) if dims is None or dims == [] else dims
    given = [given] if isinstance(given, int) else list(given)
    return [dim % x.ndim for dim in given] if x.ndim else []


def _count(x: torch.Tensor, axes: Sequence[int]) -> int:
    return math.prod(x.shape[axis] for axis in axes)


def _mean(
    x: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    axes = _axes(x, dim)
    total: torch.Tensor = aten.sum.dim_IntList(x, axes, keepdim, dtype=dtype)
    return total / _count(x, axes)


def _variance(
    x: torch.Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> torch.Tensor:
    return _moments(x, dim, correction, keepdim)[0]


def _deviation(
    x: torch.Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> torch.Tensor:
    return _variance(x, dim, correction=correction, keepdim=keepdim).sqrt()


def _variance_and_mean(
    x: torch.Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    return _moments(x, dim, correction, keepdim)


def _moments(
    x: torch.Tensor, dim: Any, correction: float | None, keepdim: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    axes = _axes(x, dim)
    mean = _mean(x, axes, True)
    offset = x - mean
    square = offset * offset.conj()
    square = square.real if square.is_complex() else square
    freedom = max(0, _count(x, axes) - (1 if correction is None else correction))
    variance = aten.sum.dim_IntList(square, axes, keepdim) / freedom
    return variance, mean if keepdim else mean.sum(axes)


def _addmm(
    bias: torch.Tensor, x: torch.Tensor, y: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    product = x @ y
    product = product if alpha == 1 else product * alpha
    return product + (bias if beta == 1 else bias * beta)


def _stack(arrays: Sequence[torch.Tensor], dim: int = 0) -> torch.Tensor:
    return torch.cat([one.unsqueeze(dim) for one in arrays], dim)


#: Decompositions for the graph of whole arrays, before it's partitioned.
DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.mean.default: _mean,
    aten.mean.dim: _mean,
    aten.var.correction: _variance,
    aten.std.correction: _deviation,
    aten.var_mean.correction: _variance_and_mean,
    aten.addmm.default: _addmm,
    aten.baddbmm.default: _addmm,
    aten.addmv.default: _addmm,
    aten.stack.default: _stack,
} | torch._decomp.get_decompositions(
    [
        aten.linalg_vector_norm,
        aten.logsumexp,
        aten.tril,
        aten.triu,
        aten.lerp,
        aten.linspace,
        aten.rsub,
        aten.addcmul,
        aten.addcdiv,
        aten.count_nonzero,
        aten.nansum,
        aten.cross,
        aten.linalg_cross,
        aten.trace,
        aten.repeat,
        aten.take,
        aten.diag_embed,
    ]
)

__all__ = ["DECOMPOSITIONS"]
