"""Counting: histograms in one and more dimensions, bincount and digitize."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import call, probe
from npaccel._numpy.core.dtypes import (
    BOOL,
    COMPLEX128,
    FLOAT64,
    INT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    check_cast,
    dtype_of,
    narrow,
    result_dtype,
    to_numpy,
    to_torch,
)
from npaccel._numpy.core.known_differences import UNCHECKED
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.statistics.cumulative import diff
from npaccel._numpy.statistics.sorting import keys_of, ordered, search
from npaccel._runtime.torch.symbolic_sizes import holds_here, refuse_where, surely

#: Container in which `numpy.histogramdd` returns the edges.
_SEQUENCE: Any = type(np.histogramdd(np.zeros((1, 1)))[1])
#: Dtypes that weights are summed in, by kind.
_WIDEST = {"b": INT64, "i": INT64, "u": INT64, "f": FLOAT64, "c": COMPLEX128}


def _number_of_bins(bins: Any) -> int | None:
    """Return the number of equal bins, or None where edges were given."""
    if isinstance(bins, str):
        raise NotImplementedError(
            f"numpy.histogram: bins={bins!r} chooses their number by the data, which can't be "
            "compiled; pass a number of bins, or the edges"
        )
    if isinstance(bins, list | tuple) or (isinstance(bins, torch.Tensor) and bins.ndim):
        return None
    if isinstance(bins, torch.Tensor):
        raise NotImplementedError(
            "numpy.histogram: a number of bins that is an array's element can't be compiled; "
            "pass a Python int"
        )
    try:
        count = operator.index(bins)
    except TypeError as error:
        raise TypeError("`bins` must be an integer, a string, or an array") from error
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    return count


def _check_range(limits: Any) -> None:
    if any(isinstance(value, torch.Tensor) for value in limits):
        return
    first, last = limits
    if first > last:
        raise ValueError("max must be larger than min in range parameter.")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise ValueError(f"supplied range of [{first}, {last}] is not finite")


def _limits(a: torch.Tensor, limits: Any, dtype: DType) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the outer edges; equal ones are moved apart by half."""
    if limits is not None:
        _check_range(limits)
        first, last = (cast(as_tensor(value), dtype) for value in limits)
        text = "max must be larger than min in range parameter."
        refuse_where(first > last, ValueError(text))
    elif holds_here(a.shape[0] == 0, "there are no elements"):
        first, last = (cast(as_tensor(value), dtype) for value in (0.0, 1.0))
    else:
        first, last = (cast(call(pick, a), dtype) for pick in (np.min, np.max))
    text = "the range of the data, or the one supplied, is not finite"
    refuse_where(~(torch.isfinite(first) & torch.isfinite(last)), ValueError(text))
    equal = first == last
    return torch.where(equal, first - 0.5, first), torch.where(equal, last + 0.5, last)


def _even_edges(first: torch.Tensor, last: torch.Tensor, count: int) -> torch.Tensor:
    """Return count + 1 evenly spaced edges, the last one exact, as `numpy.linspace`."""
    steps = torch.arange(count, dtype=first.dtype, device=first.device)
    inner = steps * call(np.divide, last - first, count) + first
    return torch.cat([inner, last.reshape(1)])


def _edge_dtype(a: torch.Tensor, limits: Any) -> DType:
    """Return the dtype of computed edges: floating, and that of the data where it may be."""
    dtypes = [dtype_of(a), *(dtype_of(value) for value in (limits or ()))]
    found = result_dtype(a, *(limits or ()))
    return found if found.kind == "f" else narrow(FLOAT64, dtypes)


def _range_dtype(x: torch.Tensor, limits: Any) -> DType:
    """Return the dtype of `numpy.linspace` between two limits."""
    strong = any(isinstance(dtype_of(value), np.dtype) for value in limits)
    found = result_dtype(*limits) if strong else FLOAT64
    return found if found.kind == "f" and strong else narrow(FLOAT64, [to_numpy(x.dtype)])


def _given_edges(bins: Any) -> torch.Tensor:
    edges = as_tensor(bins)
    if edges.ndim != 1:
        raise ValueError("`bins` must be 1d, when an array")
    error = ValueError("`bins` must increase monotonically, when an array")
    known = [] if isinstance(bins, torch.Tensor) else list(bins)
    if not all(isinstance(value, int | float) for value in known) or not known:
        refuse_where(edges[:-1] > edges[1:], error)
    elif any(x > y for x, y in itertools.pairwise(known)):
        raise error
    return edges


def _edges(
    a: torch.Tensor, bins: Any, limits: Any, dtype: DType | None = None
) -> tuple[torch.Tensor, int | None]:
    """Return the edges, and the number of bins where they are even."""
    if any(_is_complex(value) for value in (a, bins, *(limits or ()))):
        raise NotImplementedError(
            "numpy.histogram: complex data can't be compiled; take the real parts or the sizes"
        )
    count = _number_of_bins(bins)
    if count is None:
        return _given_edges(bins), None
    dtype = _edge_dtype(a, limits) if dtype is None else dtype
    first, last = _limits(a, limits, dtype)
    return _even_edges(first, last, count), count


def _is_complex(value: Any) -> bool:
    dtype = dtype_of(value) if not isinstance(value, str) else None
    return dtype is complex or (isinstance(dtype, np.dtype) and dtype.kind == "c")


def _even_places(a: torch.Tensor, edges: torch.Tensor, count: int) -> torch.Tensor:
    """Return each value's bin among even ones by arithmetic, set right by the edges."""
    x = cast(a, to_numpy(edges.dtype))
    first, last = edges[0], edges[-1]
    guess = (x - first) / (last - first) * count
    place = torch.clamp(torch.nan_to_num(guess, 0, count - 1, 0).to(torch.int64), 0, count - 1)
    place = place - ((x < edges[place]) & (place > 0)).to(torch.int64)
    return place + ((x >= edges[place + 1]) & (place != count - 1)).to(torch.int64)


def _common(a: torch.Tensor, edges: torch.Tensor) -> DType:
    return as_dtype(np.result_type(to_numpy(a.dtype), to_numpy(edges.dtype)))


def _edge_places(a: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """Return each value's bin; values at the last edge belong to the last bin."""
    dtype = _common(a, edges)
    x, limits = cast(a, dtype), cast(edges, dtype)
    place = search(limits, x, right=True) - 1
    return torch.where(x == limits[-1], edges.shape[0] - 2, place)


def tally(place: torch.Tensor, size: Any, weights: torch.Tensor | None) -> torch.Tensor:
    """Return how often each place occurs, or the sum of the weights there."""
    if weights is None and host.worth(place):
        return host.tally(place, size)
    if weights is None:
        weights = torch.ones((), dtype=torch.int64, device=place.device).expand(place.shape)
    return weights.new_zeros((size,)).index_add(0, place, weights)


def _flat_weights(weights: Any, x: torch.Tensor) -> torch.Tensor | None:
    if weights is None:
        return None
    w = as_tensor(weights)
    if tuple(w.shape) != tuple(x.shape):
        raise ValueError("weights should have the same shape as a.")
    return w.reshape(-1)


def counted_in_order(x: torch.Tensor, edges: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Return how many numbers are in each bin, from where the edges stand among sorted numbers.

    On a GPU additions to few bins wait for each other: of a million numbers for 7 ms.
    """
    s, limits = ordered(cast(x, dtype), 0), cast(edges, dtype)
    inner, last = search(s, limits[:-1], right=False), search(s, limits[-1:], right=True)
    return torch.diff(torch.cat([inner, last]))


def _counted(
    x: torch.Tensor, edges: torch.Tensor, count: int | None, w: torch.Tensor | None
) -> torch.Tensor:
    """Return how many numbers are in each bin, or the sum of their weights."""
    size = edges.shape[0] - 1
    if w is None and x.device.type != "cpu" and surely(size > 0):
        dtype = _common(x, edges) if count is None else to_numpy(edges.dtype)
        return counted_in_order(x, edges, dtype)
    if count is None:
        place = _edge_places(x, edges)
        inside = (place >= 0) & (place < size)
    else:
        place = _even_places(x, edges, count)
        inside = (x >= edges[0]) & (x <= edges[-1])
    own = None if w is None else to_numpy(w.dtype)
    w = w if own is None else cast(w, _WIDEST[own.kind])  # type: ignore[arg-type]
    found = tally(torch.where(inside, place, size), size + 1, w)[:size]
    return found if own is None else cast(found, own)


@implements(np.histogram, note=UNCHECKED)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """`numpy.histogram` with a number of bins, or their edges."""
    x = as_tensor(a)
    w = _flat_weights(weights, x)
    x = x.reshape(-1)
    x = x.to(torch.uint8) if x.dtype == torch.bool else x
    edges, count = _edges(x, bins, range)
    own = None if w is None else to_numpy(w.dtype)
    if own == BOOL and count is None:
        np.add(np.zeros(0, INT64), 0, out=np.zeros(0, BOOL))  # raises: such sums stay integers
    if count is None and host.worth(x, edges, *(() if w is None else (w,))):
        found = host.histogram(x, edges, w)
    else:
        found = _counted(x, edges, count, w)
    if density:
        widths = cast(diff(edges), narrow(FLOAT64, [to_numpy(t.dtype) for t in (x, edges, found)]))
        found = call(np.true_divide, call(np.true_divide, found, widths), call(np.sum, found))
    return found, edges


@implements(np.histogram_bin_edges, note=UNCHECKED)
def histogram_bin_edges(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None
) -> torch.Tensor:
    """`numpy.histogram_bin_edges` for a number of bins."""
    x = as_tensor(a)
    _flat_weights(weights, x)
    return _edges(x.reshape(-1), bins, range)[0]


def _columns(sample: Any) -> list[torch.Tensor]:
    """Return the coordinates: columns of an array, or the items of a list."""
    if isinstance(sample, torch.Tensor):
        x = sample if sample.ndim > 1 else sample.reshape(-1, 1)
        return list(x.unbind(1))
    rows = as_tensor(sample)
    return list((rows if rows.ndim > 1 else rows.reshape(1, -1)).unbind(0))


def _per_axis(bins: Any, dimensions: int) -> list[Any]:
    if isinstance(bins, list | tuple) or (isinstance(bins, torch.Tensor) and bins.ndim):
        if len(bins) != dimensions:
            raise ValueError(
                "The dimension of bins must be equal to the dimension of the sample x."
            )
        return list(bins)
    return [bins] * dimensions


@implements(np.histogramdd, note=UNCHECKED)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
    """`numpy.histogramdd`."""
    columns = _columns(sample)
    dimensions = len(columns)
    if range is not None and len(range) != dimensions:
        raise ValueError("range argument must have one entry per dimension")
    ranges = [None] * dimensions if range is None else list(range)
    dtypes = [to_numpy(x.dtype) for x in columns]
    w = None if weights is None else as_tensor(weights)
    dtypes += [] if w is None else [to_numpy(w.dtype)]
    edges, place, inside = [], None, None
    for x, axis_bins, limits in zip(columns, _per_axis(bins, dimensions), ranges, strict=True):
        # Edges of a range have its precision here, those of the data alone have theirs.
        wide = None if limits is None else _range_dtype(x, limits)
        own, _ = _edges(x, axis_bins, limits, wide)
        at = _edge_places(x, own)
        size = own.shape[0] - 1
        fits = (at >= 0) & (at < size)
        at = torch.clamp(at, 0, size - 1)
        place = at if place is None else place * size + at
        inside = fits if inside is None else inside & fits
        edges.append(own)
    shape = [own.shape[0] - 1 for own in edges]
    total = math.prod(shape)
    result = narrow(FLOAT64, dtypes)
    w = None if w is None else cast(w, result)
    found = tally(torch.where(inside, place, total), total + 1, w)[:total]  # type: ignore[arg-type]
    found = cast(found, result).reshape(shape)
    return _per_volume(found, edges) if density else _inner(found), _SEQUENCE(edges)


def _inner(found: torch.Tensor) -> torch.Tensor:
    """Return counts as NumPy does: as the inner part of an array that counts outliers, too."""
    whole = torch.nn.functional.pad(found, (1, 1) * found.ndim)
    return whole[(slice(1, -1),) * found.ndim]


def _per_volume(found: torch.Tensor, edges: list[torch.Tensor]) -> torch.Tensor:
    total = torch.sum(found)
    for i, own in enumerate(edges):
        widths = (own[1:] - own[:-1]).to(found.dtype)
        found = found / widths.reshape([-1 if k == i else 1 for k in range(found.ndim)])
    return found / total


@implements(np.histogram2d, note=UNCHECKED)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`numpy.histogram2d`."""
    first, second = as_tensor(x), as_tensor(y)
    if first.shape[0] != second.shape[0]:
        raise ValueError("x and y must have the same length.")
    edges = isinstance(bins, list | tuple) or (isinstance(bins, torch.Tensor) and bins.ndim)
    if edges and len(bins) not in (1, 2):
        bins = [as_tensor(bins)] * 2
    found, both = histogramdd([first, second], bins, range, density, weights)
    return found, both[0], both[1]


@implements(np.bincount, data_dependent=True)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> torch.Tensor:
    """`numpy.bincount`; a negative number raises when the code runs.

    Raises
    ------
    ValueError
        If the array isn't 1-D, the weights don't fit, or `minlength` is negative.
    TypeError
        If the array isn't of integers.
    """
    values = as_tensor(x)
    if values.ndim != 1:
        raise ValueError("object of too small depth for desired array: bincount takes a 1-d array")
    np.bincount(
        probe(values, (0 if holds_here(values.shape[0] == 0, "there are no elements") else 1,))
    )  # raises NumPy's TypeError
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if surely(values.shape[0] == 0):  # whatever the weights are
        return torch.zeros(minlength, dtype=torch.int64, device=values.device)
    values = cast(values, INT64)
    if weights is None:
        if host.usable(values):
            return host.bincount(values, minlength)
        return torch.bincount(values, minlength=minlength)
    w = as_tensor(weights)
    check_cast(to_numpy(w.dtype), FLOAT64, "safe")
    if tuple(w.shape) != tuple(values.shape):
        raise ValueError("The weights and list don't have the same length.")
    result = narrow(FLOAT64, [to_numpy(w.dtype)])
    if host.usable(values, w):
        return cast(host.weighted_bincount(values, w, minlength), result)
    refuse_where(values < 0, ValueError("'list' argument must have no negative elements"))
    # torch's own sum of weights is taken for integers by the compiler of some versions.
    size = torch.bincount(values, minlength=minlength).shape[0]
    return torch.zeros(size, dtype=to_torch(result), device=w.device).index_add(
        0, values, cast(w, result)
    )


@implements(np.digitize, zero_d="scalar", note=UNCHECKED)
def digitize(x: Any, bins: Any, right: bool = False) -> torch.Tensor:
    """`numpy.digitize` in bins that rise or fall."""
    values, edges = as_tensor(x), as_tensor(bins)
    if values.is_complex():
        raise TypeError("x may not be complex")
    if edges.ndim != 1:
        raise ValueError("object of too small depth for desired array: bins must be 1-d")
    dtype = as_dtype(np.result_type(to_numpy(values.dtype), to_numpy(edges.dtype)))
    values, edges = cast(values, dtype), cast(edges, dtype)
    if edges.shape[0] == 0:
        return torch.zeros(values.shape, dtype=torch.int64, device=values.device)
    if dtype.kind != "f":
        values, edges = keys_of(values), keys_of(edges)
    # Which way they go is known at run time only.
    falling = edges[0] > edges[-1]
    error = ValueError("bins must be monotonically increasing or decreasing")
    refuse_where(torch.where(falling, edges[1:] > edges[:-1], edges[:-1] > edges[1:]), error)
    rising = torch.where(falling, edges.flip(0), edges)
    found = search(rising, values, right=not right)
    return torch.where(falling, edges.shape[0] - found, found).contiguous()
