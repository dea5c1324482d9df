"""Statistics of values in bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import as_float, common_dtype, free_for_scipy
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.stats._samples import result

#: Tensors.
Tensor = Any


# -- Bins -----------------------------------------------------------------------------------


def _edges(sample: Tensor, bins: Sequence[Any], limits: Any) -> list[Tensor]:
    """The edges in each dimension."""
    dtype = sample.dtype if sample.is_floating_point() else torch.float64
    found = []
    for i, column in enumerate(sample.unbind(1)):
        if not isinstance(bins[i], int):
            found.append(as_float(bins[i], dtype, sample.device))
            continue
        if limits is None:
            low, high = column.min().to(torch.float64), column.max().to(torch.float64)
        else:
            low, high = (as_float(v, torch.float64, sample.device) for v in limits[i])
            checks.holds(low <= high, "start must be <= stop")
        apart = torch.where(low == high, 0.5, 0.0)
        low, high = low - apart, high + apart
        steps = torch.arange(bins[i] + 1, dtype=torch.float64, device=sample.device)
        line = low + steps * ((high - low) / bins[i])
        found.append(torch.cat([line[:-1], high[None]]).to(dtype))
    return found


def _places(sample: Tensor, edges: list[Tensor]) -> list[Tensor]:
    """The bin of each element in each dimension; 0 and the last are for those outside."""
    found = []
    for column, line in zip(sample.unbind(1), edges, strict=True):
        width = torch.diff(line).min()
        checks.holds(width != 0, "The smallest edge difference is numerically 0.")
        place = torch.searchsorted(line, column.to(line.dtype).contiguous(), right=True)
        # What is on the last edge, but for rounding, is in the last bin.
        digits = 10 ** (torch.trunc(-torch.log10(width.to(torch.float64))) + 6)
        same = torch.round(column * digits) == torch.round(line[-1] * digits)
        found.append(place - ((column >= line[-1]) & same).long())
    return found


# -- Statistics -----------------------------------------------------------------------------


class _Groups:
    """Elements by their bin.

    Parameters
    ----------
    place : Tensor
        The number of each element's bin.
    total : int
        How many bins there are.
    """

    def __init__(self, place: Tensor, total: int) -> None:
        self.place, self.total = place, total
        self.counts = self.sums(torch.ones_like(place, dtype=torch.float64))

    def sums(self, values: Tensor) -> Tensor:
        """The sum in each bin."""
        found = torch.zeros(self.total, dtype=torch.float64, device=values.device)
        return found.index_add(0, self.place, values)

    def known(self, found: Tensor) -> Tensor:
        """NaN where a bin is empty."""
        return torch.where(self.counts > 0, found, math.nan)

    def mean(self, values: Tensor) -> Tensor:
        """Mean of each bin."""
        return self.known(self.sums(values) / self.counts)

    def std(self, values: Tensor) -> Tensor:
        """Standard deviation of each bin."""
        apart = values - (self.sums(values) / self.counts)[self.place]
        return self.known(torch.sqrt(self.sums(apart * apart) / self.counts))

    def max(self, values: Tensor) -> Tensor:
        """Maximum of each bin; NaN is the largest."""
        start = torch.full((self.total,), -math.inf, dtype=torch.float64, device=values.device)
        return self.known(start.scatter_reduce(0, self.place, values, "amax"))

    def min(self, values: Tensor) -> Tensor:
        """Minimum of each bin; NaN is the largest."""
        missing = torch.isnan(values)
        least = -self.max(torch.where(missing, -math.inf, -values))
        only = self.sums(missing.to(torch.float64)) == self.counts
        return torch.where(only, math.nan, least)

    def median(self, values: Tensor) -> Tensor:
        """Median of each bin, by two stable sorts."""
        order = torch.sort(values, stable=True).indices
        order = order[torch.sort(self.place[order], stable=True).indices]
        ordered = values[order]
        first = torch.cumsum(self.counts, 0) - self.counts
        middle = first + (self.counts - 1) / 2
        last = max(values.numel() - 1, 0)
        below, above = (
            ordered[torch.clamp(m.long(), 0, last)]
            for m in (torch.floor(middle), torch.ceil(middle))
        )
        return self.known((below + above) / 2)


#: Maximum number of values for which SciPy's own code is as fast on a CPU.
_FEW = 1 << 14
_STATISTICS = ("mean", "median", "count", "sum", "std", "min", "max")


def _host_reason(bound: dict[str, Any]) -> str:
    if bound["statistic"] not in _STATISTICS:
        return "`statistic` is a function of the values in one bin"
    if bound.get("binned_statistic_result") is not None:
        return "the bins are those of another result"
    values = bound["values"]
    if isinstance(values, torch.Tensor) and values.is_complex():
        return "the values are complex"
    few = isinstance(values, torch.Tensor) and values.numel() < _FEW and free_for_scipy(bound)
    return "on a CPU, few values are SciPy's sooner" if few else ""


def _binned(
    sample: Tensor, values: Any, statistic: str, bins: Sequence[Any], limits: Any
) -> tuple[Tensor, list[Tensor], list[Tensor], tuple[int, ...]]:
    """The statistic, the edges, and the bins of the elements with their numbers."""
    dimensions = sample.shape[1]
    if len(bins) != dimensions or (limits is not None and len(limits) != dimensions):
        raise AttributeError("The dimension of bins must be equal to that of the sample.")
    if any(isinstance(b, int) for b in bins) and sample.is_floating_point():
        checks.holds(torch.isfinite(sample).all(), "the sample contains non-finite values")
    edges = _edges(sample, bins, limits)
    places = _places(sample, edges)
    sizes = tuple(line.numel() + 1 for line in edges)
    flat = torch.zeros_like(places[0])
    for place, size in zip(places, sizes, strict=True):
        flat = flat * size + place
    groups = _Groups(flat, math.prod(sizes))
    core = tuple(slice(1, -1) for _ in sizes)
    if statistic == "count":
        shape = values.shape[:-1] if isinstance(values, torch.Tensor) else ()
        found = groups.counts.reshape(sizes)[core]
        return found.expand(*shape, *found.shape).clone(), edges, [flat, *places], sizes
    values = as_float(values, torch.float64, sample.device)
    if not values.ndim or values.shape[-1] != sample.shape[0]:
        raise AttributeError("The number of `values` must match the length of the sample.")
    rows = values.reshape(-1, values.shape[-1])
    compute = groups.sums if statistic == "sum" else getattr(groups, statistic)
    found = torch.stack([compute(row).reshape(sizes)[core] for row in rows])
    return found.reshape(*values.shape[:-1], *found.shape[1:]), edges, [flat, *places], sizes


def _each(bins: Any, count: int) -> list[Any]:
    """The bins of each dimension; numbers as integers."""
    if isinstance(bins, int):
        return [bins] * count
    found = list(bins)
    return [int(b) if not hasattr(b, "__len__") else b for b in found]


@on_tensors("stats.binned_statistic", arrays=("x", "values"), host_reason=_host_reason)
def binned_statistic(
    x: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None
) -> Any:
    """Bins of one variable."""
    if x.ndim != 1:
        raise ValueError("SciPy knows")
    each = [bins] if isinstance(bins, int) or len(bins) > 1 else list(bins)
    limits = [range] if range is not None and len(range) == 2 else range
    found, edges, numbers, _ = _binned(x[:, None], values, statistic, each, limits)
    return result("BinnedStatisticResult")(found, edges[0], numbers[0])


@on_tensors("stats.binned_statistic_2d", arrays=("x", "y", "values"), host_reason=_host_reason)
def binned_statistic_2d(
    x: Any,
    y: Any,
    values: Any,
    statistic: Any = "mean",
    bins: Any = 10,
    range: Any = None,
    expand_binnumbers: bool = False,
) -> Any:
    """Bins of two variables."""
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError("SciPy knows")
    if isinstance(bins, int) or len(bins) > 2:
        bins = [bins, bins]
    each = _each(bins, 2)
    sample = torch.stack([one.to(common_dtype(x, y)) for one in (x, y)], dim=1)
    found, edges, numbers, _ = _binned(sample, values, statistic, each, range)
    number = torch.stack(numbers[1:]) if expand_binnumbers else numbers[0]
    return result("BinnedStatistic2dResult")(found, *edges, number)


@on_tensors("stats.binned_statistic_dd", arrays=("sample", "values"), host_reason=_host_reason)
def binned_statistic_dd(
    sample: Any,
    values: Any,
    statistic: Any = "mean",
    bins: Any = 10,
    range: Any = None,
    expand_binnumbers: bool = False,
    binned_statistic_result: Any = None,
) -> Any:
    """Bins of any number of variables."""
    if sample.ndim != 2:
        raise ValueError("SciPy knows")
    each = _each(bins, sample.shape[1])
    found, edges, numbers, sizes = _binned(sample, values, statistic, each, range)
    several = expand_binnumbers and len(sizes) > 1
    number = torch.stack(numbers[1:]) if several else numbers[0]
    return result("BinnedStatisticddResult")(found, edges, number)
