"""A call's arguments as text, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


def describe(values: Sequence[Any], names: Sequence[str]) -> str:
    """Return a call's arguments as text for reports."""
    return ", ".join(
        f"{name}: {_describe(value)}" for name, value in zip(names, values, strict=True)
    )


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{value.device.type} {dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, bool | int | float | complex | str) or value is None:
        text = repr(value)
        return text if len(text) <= 24 else text[:21] + "..."
    return type(value).__name__
