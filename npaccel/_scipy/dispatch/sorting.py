"""Sorting: on a CPU by NumPy, whose vector kernels take a third to a tenth of torch's time."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._numpy.host import kernels

#: Tensors.
Tensor = Any


def in_order(x: Tensor, dim: int = -1) -> Tensor:
    """Return the values along an axis in the order of size; NaN are last."""
    if _numpy_may(x):
        return kernels.sort(x, dim, False)
    return torch.sort(x, dim=dim).values


def order(x: Tensor, dim: int = -1) -> Tensor:
    """Return places in the order of the values' size; equal values stand in any order."""
    if _numpy_may(x):
        return kernels.argsort(x, dim, False)
    return torch.argsort(x, dim=dim)


def _numpy_may(x: Tensor) -> bool:
    return x.dtype != torch.bfloat16 and x.ndim > 0 and kernels.worth(x)
