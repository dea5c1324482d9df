"""Integrals of samples that SciPy computes on tensors itself, in NumPy for jitted functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import traced


@traced("integrate.trapezoid", arrays=("y", "x", "dx"))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The trapezoidal rule, in floats as wide as y's."""
    y = np.moveaxis(np.asarray(y), axis, -1)
    if x is not None:
        x = np.asarray(x)
        if x.ndim > 1:
            x = np.broadcast_to(x, np.moveaxis(y, -1, axis).shape)
            x = np.moveaxis(x, axis, -1)
        dx = x[..., 1:] - x[..., :-1]
    wide = y.dtype if y.dtype.kind in "fc" else np.float64
    return np.sum(dx * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1, dtype=wide)


def _steps(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """Return the distances of samples, to broadcast."""
    if x is None:
        return dx
    x = np.asarray(x)
    if x.ndim not in (1, y.ndim):
        raise ValueError("If given, shape of x must be 1-D or the same as y.")
    place = axis % y.ndim if x.ndim > 1 else 0
    if x.shape[place] != y.shape[axis]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    steps = np.diff(x, axis=place)
    if x.ndim == 1:
        steps = steps.reshape(tuple(-1 if i == axis % y.ndim else 1 for i in range(y.ndim)))
    return steps


@traced("integrate.cumulative_trapezoid", arrays=("y", "x", "dx"))
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The integrals up to each sample."""
    y = np.asarray(y)
    if y.shape[axis] == 0:
        raise ValueError("At least one point is required along `axis`.")
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    moved = np.moveaxis(y, axis, -1)
    steps = _steps(y, x, dx, axis)
    if x is not None:
        steps = np.moveaxis(steps, axis, -1)
    found = np.cumsum(steps * (moved[..., 1:] + moved[..., :-1]) / 2.0, axis=-1)
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
