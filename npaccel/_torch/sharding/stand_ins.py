"""Stand-ins for whole arrays of which each rank has a part: shapes and dtypes without memory.

Read from torch/_subclasses/fake_tensor.py of 2.13.
"""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.tensor import DTensor


def stand_in(value: DTensor) -> torch.Tensor:
    """Return a tensor of the whole shape, in C order, that has no elements to read."""
    with FakeTensorMode():
        return torch.empty(value.shape, dtype=value.dtype, device=value.device)


__all__ = ["stand_in"]
