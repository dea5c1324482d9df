"""Windows of signal processing: bartlett, blackman, hamming, hanning, kaiser."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import call
from npaccel._numpy.core.context import settings
from npaccel._numpy.core.dtypes import as_tensor, default_float, to_torch
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.creation import shape_of


def _range(start: Any, stop: Any, step: int) -> torch.Tensor:
    dtype = to_torch(default_float())
    return torch.arange(start, stop, step, dtype=dtype, device=settings().device)


def _places(M: Any) -> torch.Tensor | None:
    """Return the places from 1 - M to M - 1, or None where there is at most one."""
    if isinstance(M, torch.Tensor):
        shape_of(M)
    return None if M <= 1 else _range(1 - M, M, 2)


def _short(M: Any) -> torch.Tensor:
    """Return the window of at most one place."""
    dtype = to_torch(default_float())
    return torch.ones(1 if M == 1 else 0, dtype=dtype, device=settings().device)


def _cosines(M: Any, weights: tuple[float, ...]) -> torch.Tensor:
    n = _places(M)
    if n is None:
        return _short(M)
    found: Any = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        found = found + weight * torch.cos(k * math.pi * n / (M - 1))
    window: torch.Tensor = found
    return window


@implements(np.bartlett)
def bartlett(M: Any) -> torch.Tensor:
    """`numpy.bartlett`."""
    n = _places(M)
    return _short(M) if n is None else 1 - torch.abs(n / (M - 1))


@implements(np.blackman)
def blackman(M: Any) -> torch.Tensor:
    """`numpy.blackman`."""
    return _cosines(M, (0.42, 0.5, 0.08))


@implements(np.hamming)
def hamming(M: Any) -> torch.Tensor:
    """`numpy.hamming`."""
    return _cosines(M, (0.54, 0.46))


@implements(np.hanning)
def hanning(M: Any) -> torch.Tensor:
    """`numpy.hanning`."""
    return _cosines(M, (0.5, 0.5))


@implements(np.kaiser, tolerance=64)
def kaiser(M: Any, beta: Any) -> torch.Tensor:
    """`numpy.kaiser`."""
    if isinstance(M, torch.Tensor):
        shape_of(M)
    if M <= 1:
        return _short(M)
    middle = (M - 1) / 2.0
    n = _range(0, M, 1)
    shape = as_tensor(beta, default_float()).to(n.device)
    inner = shape * torch.sqrt(1 - ((n - middle) / middle) ** 2)
    window: torch.Tensor = call(np.i0, inner) / call(np.i0, shape)
    return window
