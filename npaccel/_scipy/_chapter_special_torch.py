"""Functions of `scipy.special` that torch has."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._scipy._table import on_tensors


@on_tensors("special.erfinv", arrays=("y",))
def erfinv(y: Any) -> Any:
    """The inverse of erf."""
    return torch.special.erfinv(y)
