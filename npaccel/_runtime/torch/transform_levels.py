"""Levels of `torch.func` at which a tensor is differentiated, or one of a batch.

Read from torch/_functorch/pyfunctorch.py of 2.11 to 2.15.
"""

from __future__ import annotations

import torch
from torch._C import _functorch


def is_differentiated(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a gradient."""
    while True:
        if tensor.requires_grad:
            return True
        if not _functorch.is_functorch_wrapped_tensor(tensor):
            return False
        tensor = _functorch.get_unwrapped(tensor)


def is_transformed(tensor: torch.Tensor) -> bool:
    """Whether a tensor is one of a batch, or has a tangent."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        if not _functorch.is_functionaltensor(tensor):
            return True
        tensor = _functorch.get_unwrapped(tensor)
    return False


__all__ = ["is_differentiated", "is_transformed"]
