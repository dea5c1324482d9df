"""Rosenbrock's function and its derivatives, which SciPy computes on tensors itself, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import traced


@traced("optimize.rosen", arrays=("x",))
def rosen(x: Any) -> Any:
    """The function."""
    x = np.asarray(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


@traced("optimize.rosen_der", arrays=("x",))
def rosen_der(x: Any) -> Any:
    """Gradient of the function."""
    x = np.asarray(x)
    x = x.astype(np.float64) if x.dtype.kind in "biu" else x
    found = np.zeros_like(x)
    over = x[1:] - x[:-1] ** 2
    found[:-1] = -400 * x[:-1] * over - 2 * (1 - x[:-1])
    found[1:] += 200 * over
    return found
