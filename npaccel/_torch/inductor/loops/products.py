"""Products of small matrices in the body of a scan, as loops that fuse with what is around them.

A call of BLAS takes microseconds, a product of two by two matrices nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_aten = torch.ops.aten
#: Maximum size of an axis of a matrix that is multiplied so.
_MAX_SIZE = 8


def _is_small(*tensors: torch.Tensor) -> bool:
    sizes = [size for one in tensors for size in one.shape]
    return all(type(size) is int and size <= _MAX_SIZE for size in sizes) and all(
        one.device.type == "cpu" and one.dtype.is_floating_point for one in tensors
    )


def _mm(first: torch.Tensor, second: torch.Tensor) -> Any:
    if not _is_small(first, second):
        return NotImplemented
    return (first.unsqueeze(2) * second.unsqueeze(0)).sum(1)


def _mv(matrix: torch.Tensor, vector: torch.Tensor) -> Any:
    return (matrix * vector).sum(1) if _is_small(matrix, vector) else NotImplemented


def _dot(first: torch.Tensor, second: torch.Tensor) -> Any:
    return (first * second).sum() if _is_small(first, second) else NotImplemented


#: Decompositions by operators, for `make_fx`.
SMALL_PRODUCTS: dict[Any, Callable[..., Any]] = {
    _aten.dot.default: _dot,
    _aten.mm.default: _mm,
    _aten.mv.default: _mv,
}

__all__ = ["SMALL_PRODUCTS"]
