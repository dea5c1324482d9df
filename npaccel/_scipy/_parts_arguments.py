"""Arguments that are numbers, lists or tensors."""

from __future__ import annotations

from typing import Any

import torch


def as_float(value: Any, dtype: torch.dtype, device: torch.device) -> Any:
    """Return a number, a list or a tensor as a tensor of that dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(device=device, dtype=dtype)
    return torch.as_tensor(value, dtype=dtype, device=device)
