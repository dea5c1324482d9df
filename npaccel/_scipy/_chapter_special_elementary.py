"""Functions of `scipy.special` that are made of elementary ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy._table import in_numpy


@in_numpy("special.exprel", arrays=("x",))
def exprel(x: Any) -> Any:
    """(exp(x) - 1) / x, 1 at 0."""
    x = np.asarray(x)
    safe = np.where(x == 0, 1, x)
    return np.where(x == 0, 1, np.where(np.isposinf(x), np.inf, np.expm1(safe) / safe))
