"""Arguments that are numbers, lists or tensors, and whether SciPy can have them."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._scipy import _containers


def as_float(value: Any, dtype: torch.dtype, device: torch.device) -> Any:
    """Return a number, a list or a tensor as a tensor of that dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(device=device, dtype=dtype)
    return torch.as_tensor(value, dtype=dtype, device=device)


def free_for_scipy(bound: dict[str, Any]) -> bool:
    """Whether SciPy can have a call's tensors: on a CPU, and nobody wants their gradients."""
    grads = torch.is_grad_enabled()
    return all(
        tensor.device.type == "cpu" and not (grads and tensor.requires_grad)
        for tensor in _containers.tensors(bound)
    )
