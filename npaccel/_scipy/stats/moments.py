"""Moments and scores that SciPy computes on tensors itself, in NumPy for jitted functions.

SciPy warns where a sample's differences from its mean are lost in rounding; here that isn't seen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import traced


def _host_reason(bound: dict[str, Any]) -> str:
    """Leave what SciPy warns of, and samples without the missing values, to SciPy."""
    if bound.get("nan_policy", "propagate") != "propagate":
        return f"`nan_policy` is {bound['nan_policy']!r}"
    if bound.get("dtype") is not None:
        return "`dtype` is given"
    axis, sample = bound["axis"], next(iter(bound.values()))
    if not hasattr(sample, "ndim") or not isinstance(axis, int | None):
        return "the sample is no array, or has several axes"
    size = math.prod(sample.shape) if axis is None else sample.shape[axis]
    return "SciPy warns of samples so small" if math.prod(sample.shape) == 0 or size < 2 else ""


def _floats(a: Any, axis: int | None) -> tuple[Any, int]:
    """Return a sample as floats, and its axis."""
    a = a.astype(np.float64) if a.dtype.kind in "biu" else a
    return (a.ravel(), 0) if axis is None else (a, axis)


def _standardized(a: Any, order: int, axis: int, keepdims: bool) -> tuple[Any, Any]:
    """Return a central moment over the power of the variance, and where that's lost: NaN."""
    mean = np.mean(a, axis=axis, keepdims=True)
    centred = a - mean
    square = centred * centred
    spread = np.mean(square, axis=axis, keepdims=keepdims)
    moment = np.mean(
        square * centred if order == 3 else square * square, axis=axis, keepdims=keepdims
    )
    mean = mean if keepdims else np.squeeze(mean, axis=axis)
    lost = spread <= (np.finfo(a.dtype).eps * mean) ** 2
    return np.where(lost, np.nan, moment / np.where(lost, 1.0, spread) ** (order / 2)), lost


def _shaped(found: Any, a: Any, axis: int | None, keepdims: bool) -> Any:
    """Give a result of all elements as many axes as the sample has."""
    return found.reshape((1,) * a.ndim) if keepdims and axis is None else found[()]


@traced("stats.skew", arrays=("a",), host_reason=_host_reason)
def skew(
    a: Any, axis: int | None = 0, bias: bool = True, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """The third standardized moment."""
    sample, place = _floats(a, axis)
    found, lost = _standardized(sample, 3, place, keepdims)
    n = sample.shape[place]
    if not bias and n > 2:
        found = np.where(lost, found, ((n - 1.0) * n) ** 0.5 / (n - 2.0) * found)
    return _shaped(found, a, axis, keepdims)


@traced("stats.kurtosis", arrays=("a",), host_reason=_host_reason)
def kurtosis(
    a: Any, axis: int | None = 0, fisher: bool = True, bias: bool = True,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """The fourth standardized moment, less 3."""
    sample, place = _floats(a, axis)
    found, lost = _standardized(sample, 4, place, keepdims)
    n = sample.shape[place]
    if not bias and n > 3:
        better = ((n * n - 1.0) * found - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3.0
        found = np.where(lost, found, better)
    return _shaped(found - 3 if fisher else found, a, axis, keepdims)


def _scores(scores: Any, compare: Any, axis: int | None, ddof: int) -> tuple[Any, Any, Any]:
    mean = np.mean(compare, axis=axis, keepdims=True)
    spread = np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    return (scores - mean) / spread, mean, spread


@traced("stats.zscore", arrays=("a",), host_reason=_host_reason)
def zscore(a: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Number of standard deviations of each element from the mean; NaN where there are none."""
    a = a.astype(np.float64) if a.dtype.kind in "biu" else a
    found, mean, spread = _scores(a, a, axis, ddof)
    return np.where(spread <= np.abs(np.finfo(a.dtype).eps * mean), np.nan, found)


@traced("stats.zmap", arrays=("scores", "compare"), host_reason=_host_reason)
def zmap(
    scores: Any, compare: Any, axis: int | None = 0, ddof: int = 0,
    nan_policy: str = "propagate",
) -> Any:  # fmt: skip
    """Number of standard deviations of another sample from its mean to each element."""
    return _scores(scores, compare, axis, ddof)[0]


@traced("stats.sem", arrays=("a",), host_reason=_host_reason)
def sem(
    a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """The standard error of the mean."""
    count = a.size if axis is None else a.shape[axis]
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / count**0.5


@traced("stats.gmean", arrays=("a", "weights"), host_reason=_host_reason)
def gmean(
    a: Any, axis: int | None = 0, dtype: Any = None, weights: Any = None,
    *, nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The geometric mean."""
    logs = np.log(a)
    if weights is None:
        return np.exp(np.mean(logs, axis=axis, keepdims=keepdims))
    total = np.sum(weights + 0 * logs, axis=axis, keepdims=keepdims)
    return np.exp(np.sum(weights * logs, axis=axis, keepdims=keepdims) / total)
