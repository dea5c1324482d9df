"""Samples made from samples: trimmed, transformed, counted."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import as_float, common_dtype, on_a_cpu
from npaccel._scipy.dispatch.listing import scipy_since
from npaccel._scipy.dispatch.sorting import in_order
from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.stats._samples import SORTS_LESS, floats, other_than, result

#: Tensors.
Tensor = Any


# -- Trimmed --------------------------------------------------------------------------------


def _cut(a: Tensor, low: int, high: int, axis: int) -> Tensor:
    """The elements from one rank to before another along an axis."""
    ordered = in_order(a, axis)
    return ordered.narrow(axis, low, high - low)


@on_tensors(
    "stats.trimboth",
    arrays=("a",),
    tolerance=0,
    host_reason=on_a_cpu(SORTS_LESS),
    note="sorted, where SciPy leaves the order of a partition",
)
def trimboth(a: Any, proportiontocut: Any, axis: Any = 0) -> Any:
    """Sample without its smallest and its largest."""
    if not a.numel():
        return a
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    n = a.shape[axis]
    low = int(proportiontocut * n)
    if low >= n - low or low < 0:
        raise ValueError("Proportion too big.")
    return _cut(a, low, n - low, axis)


@on_tensors(
    "stats.trim1",
    arrays=("a",),
    tolerance=0,
    host_reason=on_a_cpu(SORTS_LESS),
    note="sorted, where SciPy leaves the order of a partition",
)
def trim1(a: Any, proportiontocut: Any, tail: str = "right", axis: Any = 0) -> Any:
    """Sample without its smallest, or its largest."""
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    n = a.shape[axis]
    if proportiontocut >= 1:
        return []
    cut = int(proportiontocut * n)
    if not n or cut < 0 or tail.lower() not in ("left", "right"):
        raise ValueError("SciPy knows")
    left = tail.lower() == "left"
    return _cut(a, cut if left else 0, n if left else n - cut, axis)


# -- Transformed ----------------------------------------------------------------------------


def _given_power(bound: dict[str, Any]) -> str:
    return "" if bound["lmbda"] is not None else "SciPy looks for the best power"


@on_tensors("stats.boxcox", arrays=("x", "lmbda"), host_reason=_given_power)
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    """(x**lmbda - 1) / lmbda, or log(x): G. E. P. Box and D. R. Cox (1964)."""
    x, power = floats(x, lmbda)
    log = torch.log(x)
    small = power.abs() < 1e-19
    found = torch.expm1(power * log) / torch.where(small, 1.0, power)
    found = torch.where(small, log, found)
    at_zero = torch.where(power > 0, -1 / torch.where(small, 1.0, power), -math.inf)
    found = torch.where(x == 0, at_zero, found)
    return torch.where(x < 0, math.nan, found)


def _one_power(bound: dict[str, Any]) -> str:
    if bound["lmbda"] is None:
        return "SciPy looks for the best power"
    return "" if isinstance(bound["lmbda"], int | float) else "`lmbda` is no number"


@on_tensors("stats.yeojohnson", arrays=("x",), host_reason=_one_power)
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Transform of I. Yeo and R. A. Johnson (2000), for numbers of both signs."""
    if not x.numel():
        return x
    (x,) = floats(x)
    eps = torch.finfo(x.dtype).eps
    log = torch.log1p(x.abs())
    right = log if abs(lmbda) < eps else torch.expm1(lmbda * log) / lmbda
    other = 2 - lmbda
    left = -log if abs(lmbda - 2) <= eps else -torch.expm1(other * log) / other
    return torch.where(x >= 0, right, left)


@on_tensors("stats.obrientransform", arrays=())
def obrientransform(*samples: Any) -> Any:
    """Transform of R. G. O'Brien (1981)."""
    given = floats(*samples)
    shapes = {tuple(x.shape) for x in given}
    if len(shapes) != 1 or next(iter(shapes))[0] < 3:
        raise ValueError("SciPy knows")
    found = []
    for x in given:
        n = x.shape[0]
        square = (x - x.mean()) ** 2
        total = square.sum()
        one = ((n - 1.5) * n * square - 0.5 * total) / ((n - 1) * (n - 2))
        apart = (total / (n - 1) - one.mean()).abs()
        checks.holds(apart <= _TINY, "Lack of convergence in obrientransform.")
        found.append(one)
    return tuple(found) if scipy_since(1, 18) else torch.stack(found)


_TINY = math.sqrt(torch.finfo(torch.float64).eps)


# -- Counted --------------------------------------------------------------------------------


def _histogram(a: Tensor, bins: int, limits: Any, weights: Any) -> tuple[Tensor, ...]:
    """Counts between limits, the lower limit, the width of a bin, how many are outside."""
    (values,) = floats(a.reshape(-1))
    values = values.to(torch.float64)
    if bins < 2 or not values.numel():
        raise ValueError("SciPy knows")
    if limits is None:
        low, high = values.min(), values.max()
        margin = (high - low) / (2.0 * (bins - 1.0))
        low, high = low - margin, high + margin
    else:
        low, high = (as_float(v, torch.float64, a.device) for v in limits)
        checks.holds(low <= high, "max must be larger than min in range parameter.")
    wide = torch.where(high == low, 0.5, 0.0)
    left, right = low - wide, high + wide
    step = (right - left) / bins
    edges = left + torch.arange(bins + 1, device=a.device) * step
    edges[-1] = right
    place = torch.bucketize(values, edges, right=True) - 1
    place = torch.where(values == right, bins - 1, place)
    inside = (values >= left) & (values <= right)
    if weights is None:
        weights = torch.ones_like(values)
    weights = weights.reshape(-1).to(torch.float64)
    counts = torch.zeros(bins + 2, dtype=torch.float64, device=a.device)
    counts = counts.index_add(0, torch.where(inside, place + 1, 0), weights * inside)
    outside = ((values < low) | (values > high)).sum()
    given = limits is not None and not scipy_since(1, 18)
    return counts[1:-1], limits[0] if given else low, edges[1] - edges[0], outside


@on_tensors("stats.cumfreq", arrays=("a", "weights"))
def cumfreq(a: Any, numbins: int = 10, defaultreallimits: Any = None, weights: Any = None) -> Any:
    """Number of elements in a bin or in one before it."""
    counts, *rest = _histogram(a, numbins, defaultreallimits, weights)
    return result("CumfreqResult")(torch.cumsum(counts, 0), *rest)


@on_tensors("stats.relfreq", arrays=("a", "weights"))
def relfreq(a: Any, numbins: int = 10, defaultreallimits: Any = None, weights: Any = None) -> Any:
    """The share of each bin; of all weights since SciPy 1.18, of the number of values before."""
    counts, *rest = _histogram(a, numbins, defaultreallimits, weights)
    of_weights = weights is not None and scipy_since(1, 18)
    return result("RelfreqResult")(counts / (weights.sum() if of_weights else a.shape[0]), *rest)


# -- Percentiles ----------------------------------------------------------------------------


@on_tensors(
    "stats.percentileofscore", arrays=("a", "score"), host_reason=other_than(nan_policy="propagate")
)
def percentileofscore(a: Any, score: Any, kind: str = "rank", nan_policy: str = "propagate") -> Any:
    """The share of values below a score."""
    if a.ndim != 1 or kind not in ("rank", "strict", "weak", "mean"):
        raise ValueError("SciPy knows")
    n = a.shape[0]
    if not isinstance(score, torch.Tensor):
        score = as_float(score, torch.float64, a.device)
    both = common_dtype(a, score)
    ordered, score = in_order(a.to(both)), score.to(both).contiguous()
    below = torch.searchsorted(ordered, score, right=False)
    at_most = torch.searchsorted(ordered, score, right=True)
    if kind == "rank":
        found = (below + at_most + (below < at_most)) * (50.0 / n if n else math.nan)
    elif kind == "mean":
        found = (below + at_most) * (50.0 / n if n else math.nan)
    else:
        counts = below if kind == "strict" else at_most
        found = counts * (100.0 / n if n else math.nan)
    missing = torch.isnan(score) | torch.isnan(a).any()
    return torch.where(missing, math.nan, found.to(torch.float64))


def _numbers(bound: dict[str, Any]) -> str:
    if len(bound["limit"]):
        return "`limit` leaves out as many values as there are"
    return "" if isinstance(bound["per"], int | float) else "`per` is no number"


@on_tensors(
    "stats.scoreatpercentile", arrays=("a",), host_reason=on_a_cpu("NumPy sorts sooner", _numbers)
)
def scoreatpercentile(
    a: Any,
    per: Any,
    limit: Any = (),
    interpolation_method: str = "fraction",
    axis: Any = None,
) -> Any:
    """The value at a percentile, between two others."""
    if not a.numel() or not 0 <= per <= 100:
        raise ValueError("SciPy knows")
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    ordered = in_order(a, axis)
    place = per / 100.0 * (ordered.shape[axis] - 1)
    low = int(place)
    if low != place and interpolation_method in ("lower", "higher"):
        place = low = int(
            math.floor(place) if interpolation_method == "lower" else math.ceil(place)
        )
    elif low != place and interpolation_method != "fraction":
        raise ValueError("SciPy knows")
    if low == place:
        return (
            ordered.select(axis, low) if a.is_floating_point() else 1.0 * _wide(ordered, axis, low)
        )
    share = place - low
    below, above = (_wide(ordered, axis, k) for k in (low, low + 1))
    return below * (1 - share) + above * share


def _wide(ordered: Tensor, axis: int, place: int) -> Tensor:
    found = ordered.select(axis, place)
    return found if found.is_floating_point() else found.to(torch.float64)


through_host(
    "stats.boxcox_normmax stats.boxcox_normplot stats.yeojohnson_normmax"
    " stats.yeojohnson_normplot stats.ppcc_max stats.ppcc_plot stats.probplot stats.fit",
    "SciPy looks for the best parameter, one number at a time",
)
