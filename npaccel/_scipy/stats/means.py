"""Tests of whether means or variances of samples differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from npaccel._scipy.dispatch.arguments import as_float, on_a_cpu
from npaccel._scipy.dispatch.checks import is_near, left_to_scipy
from npaccel._scipy.dispatch.sorting import in_order
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.stats._samples import (
    SORTS_LESS,
    along,
    chi_square,
    fisher,
    floats,
    kept,
    mean,
    normal,
    number_of,
    other_than,
    result,
    student,
    variance,
)

#: Tensors.
Tensor = Any
#: Reason why SciPy makes a call whose degrees of freedom are integers.
_OTHER_DTYPE = "a value is NaN, for which SciPy's degrees of freedom are floats"


def _spread(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance along the last axis; SciPy warns where nothing is left of it."""
    centre = mean(x)
    size = (x - centre.unsqueeze(-1)).abs().amax(-1) / centre.abs()
    left_to_scipy(size < 10 * torch.finfo(x.dtype).eps, "the data are nearly identical")
    return centre, variance(x)


def _degrees(missing: Tensor, df: int) -> int | float:
    """Return degrees of freedom: floats where a value is NaN, as far as it's known by now.

    On a GPU they stay integers: to know it the call would wait for the device.
    """
    left_to_scipy(missing, _OTHER_DTYPE)
    return float(df) if is_near(missing) and bool(missing) else df


def _tested(
    t: Tensor,
    df: Any,
    error: Tensor,
    estimate: Tensor,
    alternative: str,
    keep: tuple[Any, bool, Tensor],
) -> Any:
    """Return SciPy's result of a t-test."""
    axis, keepdims, like = keep
    if not t.numel():
        raise ValueError("SciPy knows")
    dtype = torch.int64 if isinstance(df, int | torch.SymInt) else t.dtype
    df = as_float(df, dtype, t.device).expand(t.shape)
    p = student(t, df.to(t.dtype), alternative)
    if dtype.is_floating_point:
        df = torch.where(torch.isnan(estimate), math.nan, df)
    found = [t, p, df, error, estimate]
    t, p, df, error, estimate = (kept(v, axis, keepdims, like) for v in found)
    return result("TtestResult")(
        t,
        p,
        df=df,
        alternative=number_of(alternative),
        standard_error=error,
        estimate=estimate,
    )


@on_tensors(
    "stats.ttest_1samp", arrays=("a", "popmean"), host_reason=other_than(nan_policy="propagate")
)
def ttest_1samp(
    a: Any,
    popmean: Any,
    axis: Any = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> Any:
    """Student's test of one mean."""
    x, expected = floats(a, popmean)
    if expected.ndim and axis is not None:
        if expected.shape[axis] != 1:
            raise ValueError("`popmean.shape[axis]` must equal 1.")
        expected = expected.squeeze(axis)
    (x,) = along(axis, x)
    n = x.shape[-1]
    if n < 2:
        raise ValueError("SciPy knows")
    df = _degrees(torch.isnan(x).any(), n - 1)
    centre, spread = _spread(x)
    error = torch.sqrt(spread / n)
    apart = centre - expected
    return _tested(apart / error, df, error, centre, alternative, (axis, keepdims, a))


@on_tensors("stats.ttest_rel", arrays=("a", "b"), host_reason=other_than(nan_policy="propagate"))
def ttest_rel(
    a: Any,
    b: Any,
    axis: Any = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> Any:
    """The same of the differences of pairs."""
    first, second = along(axis, *floats(a, b))
    n = first.shape[-1]
    if n != second.shape[-1] or n < 2:
        raise ValueError("SciPy knows")
    apart = first - second
    df = _degrees(torch.isnan(apart).any(), n - 1)
    centre = mean(apart)
    error = torch.sqrt(variance(apart) / n)
    return _tested(centre / error, df, error, centre, alternative, (axis, keepdims, a))


@on_tensors(
    "stats.ttest_ind",
    arrays=("a", "b"),
    host_reason=other_than(nan_policy="propagate", trim=0, method=None),
)
def ttest_ind(
    a: Any,
    b: Any,
    *,
    axis: Any = 0,
    equal_var: bool = True,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    trim: float = 0,
    method: Any = None,
    keepdims: bool = False,
) -> Any:
    """Student's and Welch's test of two means."""
    first, second = along(axis, *floats(a, b))
    n, m = first.shape[-1], second.shape[-1]
    if n < 2 or m < 2:
        raise ValueError("SciPy knows")
    (centre, spread), (other, others) = _spread(first), _spread(second)
    df, error = _error(spread, n, others, m, equal_var)
    apart = centre - other
    return _tested(apart / error, df, error, apart, alternative, (axis, keepdims, a))


def _error(v: Any, n: Any, w: Any, m: Any, equal: bool) -> tuple[Any, Any]:
    """The degrees of freedom and the standard error of a difference of means."""
    if equal:
        df = (n + m - 2) * 1.0
        pooled = ((n - 1) * v + (m - 1) * w) / df
        return df, torch.sqrt(pooled * (1 / n + 1 / m))
    first, second = v / n, w / m
    df = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))
    return torch.where(torch.isnan(df), 1.0, df), torch.sqrt(first + second)


@on_tensors(
    "stats.ttest_ind_from_stats",
    arrays=("mean1", "std1", "nobs1", "mean2", "std2", "nobs2"),
)
def ttest_ind_from_stats(
    mean1: Any,
    std1: Any,
    nobs1: Any,
    mean2: Any,
    std2: Any,
    nobs2: Any,
    equal_var: bool = True,
    alternative: str = "two-sided",
) -> Any:
    """The same of what is known of two samples."""
    first, spread, n, second, other, m = floats(mean1, std1, nobs1, mean2, std2, nobs2)
    df, error = _error(spread**2, n, other**2, m, equal_var)
    t = (first - second) / error
    return result("Ttest_indResult")(t, student(t, df, alternative))


# -- Several samples ------------------------------------------------------------------------


def _groups(samples: Sequence[Any], axis: Any) -> list[Tensor]:
    if len(samples) < 2:
        raise TypeError("at least two inputs are required")
    return along(axis, *floats(*samples))


@on_tensors("stats.f_oneway", arrays=(), host_reason=other_than(nan_policy="propagate"))
def f_oneway(
    *samples: Any,
    axis: Any = 0,
    equal_var: bool = True,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Fisher's analysis of variance, and Welch's."""
    if not isinstance(equal_var, bool):
        raise TypeError("Expected a boolean value for 'equal_var'")
    groups = _groups(samples, axis)
    sizes = [g.shape[-1] for g in groups]
    if min(sizes) == 0 or all(n == 1 for n in sizes):
        raise ValueError("SciPy knows")
    f, dfn, dfd = _fisher(groups) if equal_var else _welch(groups)
    still = torch.stack([(g == g[..., :1]).all(-1) for g in groups]).all(0)
    f = torch.where(still, math.inf, f)
    everything = torch.cat(groups, dim=-1)
    f = torch.where((everything == everything[..., :1]).all(-1), math.nan, f)
    found = f, fisher(f, dfn, dfd)
    return result("F_onewayResult")(*(kept(v, axis, keepdims, samples[0]) for v in found))


def _fisher(groups: list[Tensor]) -> tuple[Tensor, Any, Any]:
    everything = torch.cat(groups, dim=-1)
    total = everything.shape[-1]
    centre = mean(everything).unsqueeze(-1)
    between = sum(g.shape[-1] * (mean(g - centre)) ** 2 for g in groups)
    within = sum(((g - mean(g).unsqueeze(-1)) ** 2).sum(-1) for g in groups)
    dfn, dfd = len(groups) - 1, total - len(groups)
    return (between / dfn) / (within / dfd), dfn, dfd


def _welch(groups: list[Tensor]) -> tuple[Tensor, Any, Any]:
    """B. L. Welch (1951)."""
    k = len(groups)
    sizes = [g.shape[-1] for g in groups]
    centres = torch.stack([mean(g) for g in groups])
    weights = torch.stack([n / variance(g) for n, g in zip(sizes, groups, strict=True)])
    total = weights.sum(0)
    centre = (weights * centres).sum(0) / total
    rest = sum((1 - w / total) ** 2 / (n - 1) for w, n in zip(weights, sizes, strict=True))
    f = (weights * (centres - centre) ** 2).sum(0) / (k - 1)
    f = f / (1 + 2 * (k - 2) / (k**2 - 1) * rest)
    return f, k - 1, (k**2 - 1) / (3 * rest)


def _median(x: Tensor) -> Tensor:
    """The median along the last axis, kept; NaN where there is one."""
    n = x.shape[-1]
    ordered = in_order(x)
    found = (ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2
    return torch.where(torch.isnan(x).any(-1), math.nan, found).unsqueeze(-1)


def _trimmed(x: Tensor, share: float) -> Tensor:
    cut = int(share * x.shape[-1])
    return in_order(x)[..., cut : x.shape[-1] - cut].mean(-1, keepdim=True)


@on_tensors(
    "stats.levene", arrays=(), host_reason=on_a_cpu(SORTS_LESS, other_than(nan_policy="propagate"))
)
def levene(
    *samples: Any,
    center: str = "median",
    proportiontocut: float = 0.05,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The analysis of variance of distances from the centre: H. Levene (1960)."""
    centres = {
        "median": _median,
        "mean": lambda x: x.mean(-1, keepdim=True),
        "trimmed": lambda x: _trimmed(x, proportiontocut),
    }
    if len(samples) < 2 or center not in centres:
        raise ValueError("SciPy knows")
    groups = _groups(samples, axis)
    if any(g.shape[-1] < 1 for g in groups):
        raise ValueError("SciPy knows")
    f, dfn, dfd = _fisher([(g - centres[center](g)).abs() for g in groups])
    found = f, fisher(f, dfn, dfd)
    return result("LeveneResult")(*(kept(v, axis, keepdims, samples[0]) for v in found))


@on_tensors(
    "stats.combine_pvalues",
    arrays=("pvalues", "weights"),
    host_reason=on_a_cpu("NumPy's logarithms are as fast", other_than(nan_policy="propagate")),
)
def combine_pvalues(
    pvalues: Any,
    method: str = "fisher",
    weights: Any = None,
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """One p-value of many."""
    given = floats(pvalues) if weights is None else floats(pvalues, weights)
    p, w = (*along(axis, *given), None)[:2]
    n = p.shape[-1]
    if not n or method not in _COMBINED:
        raise ValueError("SciPy knows")
    found = _COMBINED[method](p, w, n)
    return result("SignificanceResult")(*(kept(v, axis, keepdims, pvalues) for v in found))


def _by_fisher(p: Tensor, w: Any, n: int) -> tuple[Tensor, Tensor]:
    statistic = -2 * torch.log(p).sum(-1)
    return statistic, chi_square(statistic, 2 * n)


def _by_pearson(p: Tensor, w: Any, n: int) -> tuple[Tensor, Tensor]:
    statistic = 2 * torch.log1p(-p).sum(-1)
    return statistic, chi_square(-statistic, 2 * n, right=False)


def _by_mudholkar(p: Tensor, w: Any, n: int) -> tuple[Tensor, Tensor]:
    statistic = torch.log1p(-p).sum(-1) - torch.log(p).sum(-1)
    nu = 5 * n + 4
    scale = math.sqrt(3 / n) / math.pi * math.sqrt(nu / (nu - 2))
    return statistic, student(statistic * scale, nu, "greater")


def _by_tippett(p: Tensor, w: Any, n: int) -> tuple[Tensor, Tensor]:
    statistic = p.amin(-1)
    return statistic, -torch.expm1(n * torch.log1p(-statistic))


def _by_stouffer(p: Tensor, w: Any, n: int) -> tuple[Tensor, Tensor]:
    z = -torch.special.ndtri(p)
    if w is None:
        statistic = z.sum(-1) / math.sqrt(n)
    else:
        statistic = (w * z).sum(-1) / torch.linalg.vector_norm(w, dim=-1)
    return statistic, normal(statistic, "greater")


_COMBINED = {
    "fisher": _by_fisher,
    "pearson": _by_pearson,
    "mudholkar_george": _by_mudholkar,
    "tippett": _by_tippett,
    "stouffer": _by_stouffer,
}
