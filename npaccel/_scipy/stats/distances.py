"""Distances between samples: of their distributions, and Kolmogorov's and Smirnov's."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch import checks, sorting
from npaccel._scipy.dispatch.arguments import as_float, on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.stats._samples import floats, other_than, result

#: Tensors.
Tensor = Any


def _weighted(values: Any, weights: Any) -> tuple[Tensor, Tensor | None]:
    (x,) = floats(values)
    if x.ndim != 1 or not x.numel():
        raise ValueError("Distribution can't be empty.")
    if weights is None:
        return x, None
    weights = as_float(weights, x.dtype, x.device)
    if weights.shape != x.shape:
        raise ValueError("Value and weight array-likes must have the same size.")
    total = weights.sum()
    known = (weights >= 0).all() & (total > 0) & torch.isfinite(total)
    checks.holds(known, "All weights must be non-negative.")
    return x, weights


def _apart(p: int, u: Any, v: Any, u_weights: Any, v_weights: Any) -> Tensor:
    """The p-norm of the difference of two distribution functions."""
    samples = _weighted(u, u_weights), _weighted(v, v_weights)
    everything = torch.cat([x for x, _ in samples])
    places = sorting.order(everything)
    width = torch.diff(everything[places])
    shares = []
    start = 0
    for x, weights in samples:
        end = start + len(x)
        if weights is None:
            mine = (places >= start) & (places < end)
        else:
            mine = weights.new_zeros(len(everything)).index_copy(
                0, torch.arange(start, end, device=x.device), weights
            )[places]
        # Of equal values only the last one's share is right: no width follows the others.
        passed = torch.cumsum(mine, 0).to(x.dtype)
        shares.append(passed[:-1] / passed[-1])
        start = end
    apart = (shares[0] - shares[1]).abs()
    return torch.dot(apart, width) if p == 1 else torch.sqrt(torch.dot(apart**2, width))


@on_tensors("stats.wasserstein_distance", arrays=("u_values", "v_values", "u_weights", "v_weights"))
def wasserstein_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Earth mover's distance."""
    return _apart(1, u_values, v_values, u_weights, v_weights)


@on_tensors("stats.energy_distance", arrays=("u_values", "v_values", "u_weights", "v_weights"))
def energy_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Distance of H. Cramer, twice."""
    return math.sqrt(2) * _apart(2, u_values, v_values, u_weights, v_weights)


# -- Kolmogorov and Smirnov -----------------------------------------------------------------


def _side(alternative: str) -> str:
    known = {"t": "two-sided", "g": "greater", "l": "less"}.get(alternative.lower()[:1])
    if known is None:
        raise ValueError(f"Unexpected value {alternative=}")
    return known


def _tail(distribution: str, *numbers: Any) -> Tensor:
    """A p-value of SciPy's own distribution, for a statistic that the host reads."""
    import scipy.stats

    statistic, *rest = numbers
    found = getattr(scipy.stats, distribution).sf(statistic.cpu().numpy(), *rest)
    return torch.as_tensor(found, dtype=statistic.dtype, device=statistic.device)


@on_tensors(
    "stats.ks_1samp",
    arrays=("x",),
    host_reason=other_than(axis=0, nan_policy="propagate", keepdims=False),
)
def ks_1samp(
    x: Any,
    cdf: Any,
    args: Any = (),
    alternative: str = "two-sided",
    method: str = "auto",
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The largest distance from a distribution function; `cdf` gets a tensor."""
    (sample,) = floats(x)
    if not callable(cdf):
        raise TypeError("SciPy knows")
    if sample.ndim != 1 or not sample.numel() or method not in ("auto", "exact", "approx", "asymp"):
        raise ValueError("SciPy knows")
    side = _side(alternative)
    ordered = sorting.in_order(sample)
    n = ordered.numel()
    known = torch.as_tensor(cdf(ordered, *args))
    steps = torch.arange(n + 1, dtype=ordered.dtype, device=ordered.device) / n
    above, below = torch.max(steps[1:] - known, 0), torch.max(known - steps[:-1], 0)
    upper = side == "greater" or (side == "two-sided" and bool(above.values > below.values))
    distance, place = above if upper else below
    if side != "two-sided":
        p = _tail("ksone", distance, n)
    elif method == "asymp":
        p = _tail("kstwobign", distance * math.sqrt(n))
    elif method == "approx":
        p = 2 * _tail("ksone", distance, n)
    else:
        p = _tail("kstwo", distance, n)
    sign = torch.tensor(1 if upper else -1, dtype=torch.int8, device=ordered.device)
    p = torch.clamp(p, 0, 1) if side == "two-sided" else p
    return result("KstestResult")(
        distance, p, statistic_location=ordered[place], statistic_sign=sign
    )


def _few(bound: dict[str, Any]) -> str:
    sizes = [len(bound[name]) for name in ("data1", "data2")]
    if bound["method"] != "asymp" and (max(sizes) <= 10_000 or bound["method"] == "exact"):
        return "an exact p-value counts paths"
    return other_than(axis=0, nan_policy="propagate", keepdims=False)(bound)


@on_tensors(
    "stats.ks_2samp", arrays=("data1", "data2"), host_reason=on_a_cpu("NumPy sorts sooner", _few)
)
def ks_2samp(
    data1: Any,
    data2: Any,
    alternative: str = "two-sided",
    method: str = "auto",
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The largest distance of two samples' distribution functions."""
    first, second = (sorting.in_order(v) for v in floats(data1, data2))
    if first.ndim != 1 or second.ndim != 1 or method not in ("auto", "asymp"):
        raise ValueError("SciPy knows")
    side = _side(alternative)
    n, m = sorted([first.numel(), second.numel()], reverse=True)
    everything = torch.cat([first, second])
    shares = [
        torch.searchsorted(s, everything, right=True).double() / s.numel() for s in (first, second)
    ]
    apart = shares[0] - shares[1]
    most, least = torch.max(apart, 0), torch.max(-apart, 0)
    lower = side == "less" or (side == "two-sided" and bool(least.values > most.values))
    distance, place = least if lower else most
    distance = torch.clamp(distance, 0, 1) if lower else distance
    en = n * m / (n + m)
    if side == "two-sided":
        p = _tail("kstwo", distance, round(en))
    else:
        z = math.sqrt(en) * distance
        p = torch.exp(-2 * z**2 - 2 * z * (n + 2 * m) / math.sqrt(n * m * (n + m)) / 3)
    sign = torch.tensor(-1 if lower else 1, dtype=torch.int8, device=first.device)
    return result("KstestResult")(
        distance,
        torch.clamp(p, 0, 1),
        statistic_location=everything[place],
        statistic_sign=sign,
    )


def _one_or_two(bound: dict[str, Any]) -> str:
    if not isinstance(bound["rvs"], torch.Tensor):
        return "SciPy draws the sample"
    if isinstance(bound["cdf"], torch.Tensor):
        return _few({**bound, "data1": bound["rvs"], "data2": bound["cdf"]})
    if not callable(bound["cdf"]) and not isinstance(bound["cdf"], str):
        return "`cdf` is no tensor"
    return other_than(axis=0, nan_policy="propagate", keepdims=False)(bound)


@on_tensors("stats.kstest", arrays=("rvs",), host_reason=_one_or_two)
def kstest(
    rvs: Any,
    cdf: Any,
    args: Any = (),
    N: int = 20,
    alternative: str = "two-sided",
    method: str = "auto",
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Test of one sample or of two."""
    from npaccel._scipy.dispatch import mirror

    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError(f"Unexpected alternative: {alternative}")
    if isinstance(cdf, torch.Tensor):
        return ks_2samp(rvs, cdf, alternative, method)
    if isinstance(cdf, str):
        cdf = mirror._public("stats", cdf).cdf
    return ks_1samp(rvs, cdf, args, alternative, method)


through_host("stats.wasserstein_distance_nd", "solves a linear programme")
