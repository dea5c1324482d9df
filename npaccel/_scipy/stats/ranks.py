"""Ranks, and tests that are made of them."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.listing import scipy_since
from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.stats._samples import (
    along,
    floats,
    kept,
    normal,
    other_than,
    ranks,
    result,
    student,
    tied,
)


@on_tensors("stats.rankdata", arrays=("a",))
def rankdata(
    a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate"
) -> Any:
    """Ranks by one stable sort."""
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method {method!r}")
    if nan_policy not in ("propagate", "omit", "raise") or (not a.ndim and axis is not None):
        raise ValueError("SciPy knows")
    (x,) = along(axis, a)
    found = ranks(x, method)
    if x.is_floating_point() and x.numel():
        missing = torch.isnan(x)
        if nan_policy == "raise":
            checks.holds(~missing.any(), "The input contains nan values")
        if method == "average" or bool(missing.any()):
            bad = missing if nan_policy == "omit" else missing.any(-1, keepdim=True)
            found = torch.where(bad, math.nan, found.to(torch.float64))
    if scipy_since(1, 18):
        found = found.to(torch.float64)
    return found if axis is None else found.movedim(-1, axis)


@on_tensors("stats.tiecorrect", arrays=("rankvals",), host_reason=on_a_cpu("NumPy sorts sooner"))
def tiecorrect(rankvals: Any) -> Any:
    """1 less the share of what is tied."""
    if rankvals.ndim != 1:
        raise ValueError("SciPy knows")
    n = float(rankvals.shape[0])
    if n < 2:
        return torch.ones((), dtype=torch.float64, device=rankvals.device)
    return 1 - tied(rankvals) / (n**3 - n)


@on_tensors("stats.ranksums", arrays=("x", "y"), host_reason=other_than(nan_policy="propagate"))
def ranksums(
    x: Any,
    y: Any,
    alternative: str = "two-sided",
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Wilcoxon's rank sum."""
    first, second = along(axis, *floats(x, y))
    n, m = first.shape[-1], second.shape[-1]
    if not n or not m:
        raise ValueError("SciPy knows")
    both = torch.cat([first, second], dim=-1)
    total = ranks(both)[..., :n].sum(-1)
    z = (total - n * (n + m + 1) / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    z = torch.where(torch.isnan(both).any(-1), math.nan, z)
    return result("RanksumsResult")(
        *(kept(found, axis, keepdims, x) for found in (z, normal(z, alternative)))
    )


@on_tensors(
    "stats.brunnermunzel", arrays=("x", "y"), host_reason=other_than(nan_policy="propagate")
)
def brunnermunzel(
    x: Any,
    y: Any,
    alternative: str = "two-sided",
    distribution: str = "t",
    nan_policy: str = "propagate",
    *,
    axis: Any = 0,
    keepdims: bool = False,
) -> Any:
    """The test of E. Brunner and U. Munzel (2000)."""
    if distribution not in ("t", "normal"):
        raise ValueError("distribution should be 't' or 'normal'")
    first, second = along(axis, *floats(x, y))
    n, m = first.shape[-1], second.shape[-1]
    if n < 2 or m < 2:
        raise ValueError("SciPy knows")
    both = torch.cat([first, second], dim=-1)
    together = ranks(both)
    ours, theirs = together[..., :n], together[..., n:]
    spread = [_spread(ours, first), _spread(theirs, second)]
    wide = n * spread[0] + m * spread[1]
    statistic = n * m * (theirs.mean(-1) - ours.mean(-1)) / ((n + m) * torch.sqrt(wide))
    missing = torch.isnan(both).any(-1)
    statistic = torch.where(missing, math.nan, statistic)
    if distribution == "normal":
        p = normal(-statistic, alternative)
    else:
        df = wide**2 / ((n * spread[0]) ** 2 / (n - 1) + (m * spread[1]) ** 2 / (m - 1))
        p = student(-statistic, df, alternative)
    return result("BrunnerMunzelResult")(
        *(kept(found, axis, keepdims, x) for found in (statistic, p))
    )


def _spread(together: Any, sample: Any) -> Any:
    """The variance of how a sample's ranks in both differ from those in itself."""
    apart = together - ranks(sample)
    apart = apart - apart.mean(-1, keepdim=True)
    return (apart * apart).sum(-1) / (sample.shape[-1] - 1)


through_host("stats.kendalltau stats.weightedtau stats.somersd", "counts pairs in order")
through_host(
    "stats.mannwhitneyu stats.wilcoxon stats.ansari stats.cramervonmises_2samp",
    "an exact p-value counts orders, which SciPy's code does for small samples",
)
