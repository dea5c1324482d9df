"""Correlations and lines, with their p-values."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch

from npaccel._scipy.dispatch.checks import holds, is_near, left_to_scipy, readable
from npaccel._scipy.dispatch.listing import scipy_since
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.stats._samples import (
    along,
    constant,
    floats,
    kept,
    mean,
    number_of,
    other_than,
    ranks,
    result,
    student,
)


def _warn(*conditions: Any) -> None:
    """Warn of constant samples, where that can be known without waiting for a device.

    Traced code leaves them to SciPy.
    """
    import scipy.stats

    for condition in conditions:
        left_to_scipy(condition, "an input array is constant")
        if is_near(condition) and bool(condition.any()):
            warnings.warn(
                "An input array is constant; the correlation coefficient is not defined.",
                scipy.stats.ConstantInputWarning,
                stacklevel=3,
            )
            return


def _unit(sample: Any) -> Any:
    """Return a sample around its mean, of length 1; scaled first, so that squares are finite."""
    centre = mean(sample).unsqueeze(-1)
    apart = sample - centre
    largest = apart.abs().amax(-1, keepdim=True)
    scaled = apart / largest
    length = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    small = torch.finfo(sample.dtype).eps ** 0.75 * centre.abs()
    left_to_scipy(length * largest < small, "an input array is nearly constant")
    return scaled / length


def _correlation(x: Any, y: Any) -> Any:
    """Pearson's coefficient along the last axis; NaN where a sample is constant."""
    flat = torch.logical_or(*constant(x, y))
    _warn(flat)
    r = torch.clamp(torch.linalg.vecdot(_unit(x), _unit(y)), -1, 1)
    if x.shape[-1] == 2:
        r = torch.round(r)
    return torch.where(flat, math.nan, r)


def _p_value(r: Any, n: int, alternative: str) -> Any:
    """Student (1908): r is symmetric about 0, as a beta distribution of (n - 2) / 2."""
    number_of(alternative)
    if n == 2:
        return torch.where(torch.isnan(r), math.nan, torch.ones_like(r))
    t = r * torch.sqrt((n - 2) / ((1 - r) * (1 + r)))
    return student(t, n - 2, alternative)


@on_tensors("stats.pearsonr", arrays=("x", "y"), host_reason=other_than(method=None))
def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0
) -> Any:
    """Pearson's coefficient."""
    first, second = _pair(x, y, axis)
    n = first.shape[-1]
    r = _correlation(first, second)
    p = _p_value(r, n, alternative)
    size = torch.full((), n, dtype=r.dtype, device=r.device)
    return result("PearsonRResult")(
        statistic=r, pvalue=p, n=size, alternative=alternative, x=first, y=second, axis=-1
    )


def _pair(x: Any, y: Any, axis: Any) -> tuple[Any, Any]:
    first, second = along(axis, *floats(x, y))
    if first.shape[-1] != second.shape[-1] or first.shape[-1] < 2:
        raise ValueError("`x` and `y` must have the same length, at least 2.")
    return first, second


@on_tensors(
    "stats.pointbiserialr", arrays=("x", "y"), host_reason=other_than(nan_policy="propagate")
)
def pointbiserialr(
    x: Any, y: Any, *, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The same, of numbers of which one is a truth value."""
    first, second = _pair(x, y, axis)
    r = _correlation(first, second)
    found = [kept(v, axis, keepdims, x) for v in (r, _p_value(r, first.shape[-1], "two-sided"))]
    return _correlated(*found)


def _correlated(r: Any, p: Any) -> Any:
    return result("SignificanceResult")(r, p).adding(correlation=r)


@on_tensors(
    "stats.spearmanrho",
    arrays=("x", "y"),
    host_reason=other_than(method=None, nan_policy="propagate"),
)
def spearmanrho(
    x: Any,
    y: Any,
    /,
    *,
    alternative: str = "two-sided",
    method: Any = None,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Pearson's coefficient of the ranks."""
    first, second = _pair(x, y, axis)
    missing = torch.isnan(first).any(-1) | torch.isnan(second).any(-1)
    r = torch.where(missing, math.nan, _correlation(ranks(first), ranks(second)))
    p = _p_value(r, first.shape[-1], alternative)
    return result("SignificanceResult")(*(kept(v, axis, keepdims, x) for v in (r, p)))


@on_tensors("stats.spearmanr", arrays=("a", "b"), host_reason=other_than(nan_policy="propagate"))
def spearmanr(
    a: Any,
    b: Any = None,
    axis: Any = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
) -> Any:
    """Pearson's coefficients of the ranks of all variables; a number for two of them."""
    rows = _variables(a, b, axis)
    n = rows.shape[1]
    if n < 2 or rows.shape[0] < 2:
        raise ValueError("SciPy knows")
    missing = torch.isnan(rows).any(-1)
    flat = (rows[:2] == rows[:2, :1]).all(-1).any()
    _warn(flat)
    apart = ranks(rows)
    apart = apart - apart.mean(-1, keepdim=True)
    products = apart @ apart.T / (n - 1)
    # As `numpy.corrcoef` divides, so that ranks in the same order give exactly 1.
    deviation = torch.sqrt(torch.diagonal(products))
    r = torch.clamp(products / deviation[:, None] / deviation, -1, 1)
    t = r * torch.sqrt(torch.clamp((n - 2) / ((r + 1) * (1 - r)), min=0))
    p = student(t, n - 2, alternative)
    if rows.shape[0] == 2:
        left_to_scipy(missing.any(), "a value is NaN, for which SciPy gives numbers of Python's")
        bad = missing.any() | flat
        return _correlated(*(torch.where(bad, math.nan, v[1, 0]) for v in (r, p)))
    if readable(flat) and bool(flat):
        nothing = torch.full((), math.nan, dtype=r.dtype, device=r.device)
        return _correlated(nothing, nothing)
    r, p = (torch.where(missing[:, None] | missing, math.nan, v) for v in (r, p))
    return _correlated(r, p)


def _variables(a: Any, b: Any, axis: Any) -> Any:
    """The variables as rows."""
    given = floats(a) if b is None else floats(a, b)
    if axis is None:
        given, axis = [v.reshape(-1) for v in given], 0
    if axis not in (0, 1) or any(not 0 < v.ndim < 3 for v in given):
        raise ValueError("SciPy knows")
    if len(given) == 2 and any(v.ndim == 1 for v in given) and axis == 1:
        raise ValueError("SciPy knows")
    tables = [v[None] if v.ndim == 1 else v.T if axis == 0 else v for v in given]
    return torch.cat(tables)


@on_tensors("stats.linregress", arrays=("x", "y"), host_reason=other_than(nan_policy="propagate"))
def linregress(
    x: Any,
    y: Any,
    alternative: str = "two-sided",
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """A line through points; batches of them along an axis."""
    given = floats(x, y)
    # Of floats of 32 bits, too, NumPy's products are of 64.
    first, second = along(axis, *(v.to(torch.float64) for v in given))
    n = first.shape[-1]
    if n != second.shape[-1] or n < 3:
        raise ValueError("SciPy knows")
    if scipy_since(1, 18):
        dtype = given[0].dtype
        for one in constant(first, second):
            holds(~one.any(), "SciPy warns of numbers that are all the same")
    else:
        dtype = torch.float64
        holds(~constant(first)[0].any(), "all x values are identical")
    centres = mean(first), mean(second)
    dx, dy = first - centres[0].unsqueeze(-1), second - centres[1].unsqueeze(-1)
    xx, xy, yy = ((p * q).mean(-1) for p, q in ((dx, dx), (dx, dy), (dy, dy)))
    nothing = (xx == 0) | (yy == 0)
    r = torch.clamp(xy / torch.sqrt(xx * yy), -1, 1)
    r = torch.where(nothing, torch.where(xy == 0, math.nan, 0.0), r)
    slope = xy / xx
    t = r * torch.sqrt((n - 2) / ((1 - r + 1e-20) * (1 + r + 1e-20)))
    error = torch.sqrt((1 - r**2) * yy / xx / (n - 2))
    found = {
        "slope": slope,
        "intercept": centres[1] - slope * centres[0],
        "rvalue": r,
        "pvalue": student(t, n - 2, alternative),
        "stderr": error,
        "intercept_stderr": error * torch.sqrt(xx + centres[0] ** 2),
    }
    return result("LinregressResult")(
        **{name: kept(value.to(dtype), axis, keepdims, x) for name, value in found.items()}
    )
