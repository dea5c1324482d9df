"""Integrals of samples that SciPy computes on tensors itself, in NumPy for jitted functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import traced


def _areas(y: Any, x: Any, dx: Any) -> Any:
    """Return the areas between samples along the last axis."""
    steps = dx if x is None else np.diff(x)
    return steps * (y[..., 1:] + y[..., :-1]) / 2.0


@traced("integrate.trapezoid", arrays=("y", "x", "dx"))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The trapezoidal rule, in floats as wide as y's."""
    y, x = np.asarray(y), None if x is None else np.asarray(x)
    if x is not None and x.ndim > 1:
        x = np.moveaxis(np.broadcast_to(x, y.shape), axis, -1)
    wide = y.dtype if y.dtype.kind in "fc" else np.float64
    return np.sum(_areas(np.moveaxis(y, axis, -1), x, dx), axis=-1, dtype=wide)


@traced("integrate.cumulative_trapezoid", arrays=("y", "x", "dx"))
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The integrals up to each sample."""
    y = np.moveaxis(np.asarray(y), axis, -1)
    if y.shape[-1] == 0:
        raise ValueError("At least one point is required along `axis`.")
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    if x is not None:
        x = np.asarray(x)
        if x.ndim not in (1, y.ndim):
            raise ValueError("If given, shape of x must be 1-D or the same as y.")
        x = np.moveaxis(x, axis, -1) if x.ndim > 1 else x
        if x.shape[-1] != y.shape[-1]:
            raise ValueError("If given, length of x along axis must be the same as y.")
    found = np.cumsum(_areas(y, x, dx), axis=-1)
    if initial is not None:
        found = np.concatenate([np.zeros_like(found, shape=(*found.shape[:-1], 1)), found], axis=-1)
    return np.moveaxis(found, -1, axis)


def _shown(bound: dict[str, Any]) -> str:
    return "it prints a table" if bound["show"] else ""


@traced("integrate.romb", arrays=("y", "dx"), host_reason=_shown)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: Any = False) -> Any:
    """Romberg's rule: trapezoidal sums of halved steps, extrapolated."""
    y = np.moveaxis(np.asarray(y), axis, -1)
    intervals = y.shape[-1] - 1
    if intervals < 1 or intervals & (intervals - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    step, dx = intervals, np.asarray(dx, dtype=np.float64)
    row = [(y[..., 0] + y[..., -1]) / 2.0 * (step * dx)]
    while step > 1:
        halved = [0.5 * (row[0] + step * dx * np.sum(y[..., step // 2 :: step], axis=-1))]
        for k, before in enumerate(row, start=1):
            halved.append(halved[-1] + (halved[-1] - before) / (4**k - 1))
        row, step = halved, step // 2
    return row[-1]
