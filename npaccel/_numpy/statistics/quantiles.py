"""Medians, quantiles and percentiles, also of data with NaN left out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import Axis, axes_of, call, deliver, probe, written_back
from npaccel._numpy.core.dtypes import (
    FLOAT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    dtype_of,
    full_scalar,
    narrow,
    strong,
    to_numpy,
)
from npaccel._numpy.core.known_differences import UNCHECKED
from npaccel._numpy.core.layouts import lying_as_reduced
from npaccel._numpy.core.table import implements, parameters_of, scalar_unless_kept
from npaccel._numpy.host import kernels as host
from npaccel._numpy.statistics.sorting import ordered, positions
from npaccel._numpy.ufuncs.dispatch import named
from npaccel._numpy.ufuncs.integers import as_bits, as_signed, elements_at
from npaccel._runtime.torch.symbolic_sizes import holds_here, refuse_where, surely


def gathered(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """Return x with the axes to reduce made one, and put first."""
    rest = [i for i in range(x.ndim) if i not in axes]
    if not axes:
        return x.unsqueeze(0)
    moved = x.permute([*axes, *rest])
    return moved.flatten(0, len(axes) - 1) if len(axes) > 1 else moved


def restored(found: torch.Tensor, axes: tuple[int, ...], before: int = 0) -> torch.Tensor:
    """Return a reduced tensor with axes of one put back, `before` more being in front."""
    for axis in sorted(axes):
        found = found.unsqueeze(axis + before)
    return found


def _picked(data: torch.Tensor, *index: torch.Tensor) -> list[torch.Tensor]:
    """Return the elements at positions in the order along axis 0: (q, ...) of (n, ...).

    Where the positions are the same in each column, NumPy's partition finds them; it takes a
    fifth of a sort's time.
    """
    alike = all(i.ndim == 1 or data.ndim == 1 or all(n == 1 for n in i.shape[1:]) for i in index)
    if not (alike and host.usable(data)):
        s = ordered(data, 0)
        return [_elements(s, i) for i in index]
    flat = [i.reshape(-1) for i in index]
    found = host.sorted_at(data, torch.cat(flat))
    return list(torch.split(found, [i.shape[0] for i in flat]))


def _place(n: Any, x: torch.Tensor) -> torch.Tensor:
    """Return a position, one number or one of each column, as an index of one row."""
    if isinstance(n, torch.Tensor):
        return torch.clamp(n, min=0).unsqueeze(0)
    return torch.full((1,), n, dtype=torch.int64, device=x.device)


def _halfway(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Return the mean of the two middle elements."""
    # Of equal ones no sum is halved, which may round or overflow; both have half the derivative.
    apart = torch.where(torch.isinf(low), 0.0, high - low)
    return torch.where(low == high, low + apart / 2, (low + high) / 2)  # A sum is never -0.0.


def _median_dtypes(x: torch.Tensor) -> tuple[DType, DType]:
    """Return the dtype that the two middle elements are added in, and the result's."""
    own = to_numpy(x.dtype)
    result = narrow(np.median(probe(x)).dtype, [own])
    return (np.dtype(np.float32) if own == np.float16 else result), result


def _median(x: torch.Tensor, axes: tuple[int, ...], skip_nan: bool) -> torch.Tensor:
    acc, result = _median_dtypes(x)
    data = gathered(x, axes)
    if holds_here(data.shape[0] == 0, "there are no elements"):
        shape = tuple(data.shape[1:])
        nan = complex("nan+nanj") if result.kind == "c" else float("nan")
        return full_scalar(nan, result, x.device, shape).clone()
    n: Any = data.shape[0]
    if not (x.dtype.is_floating_point or x.is_complex()):
        low, high = _picked(data, _place((n - 1) // 2, x), _place(n // 2, x))
        return cast(_halfway(cast(low[0], acc), cast(high[0], acc)), result)
    count: Any = torch.sum(~torch.isnan(data), 0) if skip_nan else n
    middle = (_place((count - 1) // 2, x), _place(count // 2, x), _place(n - 1, x))
    low, high, last = (cast(part[0], acc) for part in _picked(data, *middle))
    gone = count == 0 if skip_nan else torch.isnan(last)
    return cast(torch.where(gone, last, _halfway(low, high)), result)


@implements(np.median, zero_d="scalar", zero_d_of=scalar_unless_kept)
def median(
    a: Any,
    axis: Axis = None,
    out: torch.Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> torch.Tensor:
    """`numpy.median`, by a sort; NaN where there is one."""
    del overwrite_input  # a permission to spoil the input, which isn't needed
    x = as_tensor(a)
    axes = axes_of(axis, x.ndim)
    found = _median(x, axes, skip_nan=False)
    return deliver(_as_medians_lie(found, x, axes, keepdims), out)


@implements(np.nanmedian, zero_d="scalar", zero_d_of=scalar_unless_kept)
def nanmedian(
    a: Any,
    axis: Axis = None,
    out: torch.Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> torch.Tensor:
    """`numpy.nanmedian`; NaN where nothing is left."""
    del overwrite_input
    x = as_tensor(a)
    axes = axes_of(axis, x.ndim)
    found = _median(x, axes, skip_nan=True)
    return deliver(_as_medians_lie(found, x, axes, keepdims), out)


def _as_medians_lie(
    found: torch.Tensor, x: torch.Tensor, axes: tuple[int, ...], keepdims: bool
) -> torch.Tensor:
    """Return medians with their axes, as they lie in NumPy's: several axes are made one there."""
    found = lying_as_reduced(found, [x], axes) if len(axes) == 1 else found
    return restored(found, axes) if keepdims else found


def _at(alpha: float, beta: float) -> Callable[[Any, torch.Tensor], torch.Tensor]:
    """Return Hyndman and Fan's position in the sorted data for a continuous method."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _closest(n: Any, q: torch.Tensor) -> torch.Tensor:
    place = n * q - 1.5
    whole = torch.floor(place)
    stays = (place == whole) & (torch.remainder(whole, 2) == 1)
    return torch.clamp(torch.where(stays, whole, whole + 1), min=0)


def _inverted(n: Any, q: torch.Tensor) -> torch.Tensor:
    place = n * q - 1
    whole = torch.floor(place)
    return torch.clamp(torch.where(place == whole, whole, whole + 1), min=0)


def _midpoint(n: Any, q: torch.Tensor) -> torch.Tensor:
    place = (n - 1) * q
    return 0.5 * (torch.floor(place) + torch.ceil(place))


#: Place of a quantile in the sorted data, counted from 0, by method.
_PLACES: dict[str, Callable[[Any, torch.Tensor], torch.Tensor]] = {
    "inverted_cdf": _inverted,
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _at(0, 1),
    "hazen": _at(0.5, 0.5),
    "weibull": _at(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _at(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _at(3 / 8.0, 3 / 8.0),
    "lower": lambda n, q: torch.floor((n - 1) * q),
    "higher": lambda n, q: torch.ceil((n - 1) * q),
    "midpoint": _midpoint,
    "nearest": lambda n, q: torch.round((n - 1) * q),
}
#: Methods whose place is always a whole number: the element itself, nothing between.
_WHOLE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


def _weight(method: str, place: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """Return how much of the next element a quantile takes."""
    part = place - whole
    if method == "averaged_inverted_cdf":
        return torch.where(part == 0, 0.5, 1.0).to(part.dtype)
    if method == "midpoint":
        return torch.where(torch.remainder(place, 1) == 0, 0.0, 0.5).to(part.dtype)
    return part


def _interpolated(
    low: torch.Tensor, high: torch.Tensor, weight: torch.Tensor, result: DType
) -> torch.Tensor:
    """Interpolate in the result's dtype; floats are subtracted in their own, as NumPy does."""
    t, start, end = (cast(x, result) for x in (weight, low, high))
    apart = cast(high - low, result) if low.is_floating_point() else end - start
    low, high = start, end
    return torch.where(t >= 0.5, high - apart * (1 - t), low + apart * t)


def _elements(s: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return the elements at positions along axis 0: (q, ...) of (n, ...)."""
    if s.ndim == 1 or all(n == 1 for n in index.shape[1:]):
        return elements_at(s, index.reshape(-1))
    return _taken(s, index.expand(index.shape[0], *s.shape[1:]))


def _taken(s: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Gather along axis 0, unsigned integers by their bits."""
    return as_bits(torch.gather(as_signed(s), 0, index), s.dtype)


def _between(
    data: torch.Tensor, q: torch.Tensor, n: Any, method: str, is_whole: bool, result: DType
) -> torch.Tensor:
    """Return quantiles of data: q.shape[0] of them along a new first axis; NaN for NaN."""
    levels = q.reshape([-1] + [1] * (data.ndim - 1))
    place = _PLACES[method](n, levels)
    highest = n - 1 if isinstance(n, torch.Tensor) else _place(n - 1, data)[0]
    last = torch.clamp(highest, min=0)
    whole = torch.floor(place)
    index = torch.minimum(torch.clamp(whole.to(torch.int64), min=0), last)
    final = _place(data.shape[0] - 1, data)
    if is_whole:
        found, largest = _picked(data, index, final)
    else:
        after = torch.minimum(torch.clamp(whole.to(torch.int64) + 1, min=0), last)
        weight = torch.where(place < 0, 0, _weight(method, place, whole))
        weight = torch.where(place >= last, 0, weight)
        low, high, largest = _picked(data, index, after, final)
        found = _interpolated(low, high, weight, result)
    if not data.dtype.is_floating_point:
        return found
    missing = n == 0 if isinstance(n, torch.Tensor) else torch.isnan(largest)
    return torch.where(missing, float("nan"), found)


def _is_whole(q: Any) -> bool:
    return strong(dtype_of(q)).kind in "biu"


def _takes_elements(method: str, q: Any, scale: int) -> bool:
    """Whether quantiles are elements of the data, with nothing between them."""
    return method in _WHOLE or (method == "linear" and scale == 1 and _is_whole(q))


def _quantile_result(x: torch.Tensor, q: Any, method: str, scale: int) -> DType:
    """Return NumPy's result dtype, asked of NumPy itself."""
    own = to_numpy(x.dtype)
    kind: Any = dtype_of(q)
    if scale != 1 and _is_whole(q):
        kind = FLOAT64 if isinstance(kind, np.dtype) else float
    level = kind(0) if isinstance(kind, type) else np.zeros((1,) * min(as_tensor(q).ndim, 1), kind)
    ask: Any = np.quantile  # whose stubs name the methods
    answer = ask(probe(x), level, method=method)
    return narrow(as_dtype(np.asarray(answer).dtype), [own, dtype_of(q)])


def _levels(q: Any, scale: int) -> torch.Tensor:
    """Return q between 0 and 1 in float64; values that are known are checked."""
    levels = cast(as_tensor(q), FLOAT64) / scale
    if levels.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    name = "Quantiles" if scale == 1 else "Percentiles"
    error = ValueError(f"{name} must be in the range [0, {scale}]")
    if _contains_tensor(q):
        refuse_where(~((levels >= 0) & (levels <= 1)), error)
    elif not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= scale)):
        raise error
    return levels


def _contains_tensor(q: Any) -> bool:
    if isinstance(q, list | tuple):
        return any(_contains_tensor(item) for item in q)
    return isinstance(q, torch.Tensor | torch.SymFloat | torch.SymInt)


def _weighted(
    data: torch.Tensor, weights: torch.Tensor, levels: torch.Tensor, skip_nan: bool
) -> torch.Tensor:
    """Return the first elements whose share of the weight reaches each level."""
    if skip_nan:
        weights = torch.where(torch.isnan(data), 0, weights)
    order = positions(data, 0)
    s = _taken(data, order)
    refuse_where(weights < 0, ValueError("Weights must be non-negative."))
    share = torch.cumsum(torch.gather(weights, 0, order), 0, dtype=torch.float64)
    # Not finite is what NumPy calls it, with one text for all.
    total = share[-1]
    text = "Weights included NaN, inf or were all zero."
    refuse_where(~torch.isfinite(total) | (total == 0), ValueError(text))
    share = share / share[-1:]
    share = torch.where(share == 0, -1.0, share).movedim(0, -1).contiguous()
    at = levels.reshape(-1).expand(*share.shape[:-1], -1).contiguous()
    index = torch.clamp(torch.searchsorted(share, at), max=s.shape[0] - 1).movedim(-1, 0)
    return _taken(s, index)


def _check_weighted(method: str, weights: Any) -> None:
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")


def _check_method(method: str) -> None:
    if method not in _PLACES:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {_PLACES.keys()}")


def shaped_weights(
    weights: Any, x: torch.Tensor, axes: tuple[int, ...], all_axes: bool
) -> torch.Tensor:
    """Return weights with an axis for each of the data's, of size 1 where all have the same."""
    w = as_tensor(weights)
    if tuple(w.shape) == tuple(x.shape):
        return w
    if all_axes:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if tuple(w.shape) != tuple(x.shape[i] for i in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = w.permute(sorted(range(len(axes)), key=lambda i: axes[i]))
    shape = [x.shape[i] if i in axes else 1 for i in range(x.ndim)]
    return w.reshape(shape)


@functools.cache
def _needs_elements() -> bool:
    """Whether NumPy refuses empty arrays where it reduces no axis: up to some version."""
    try:
        np.quantile(np.zeros((2, 0)), 0.5, axis=())
    except ValueError:
        return True
    return False


def _quantiles(
    a: Any, q: Any, axis: Axis, method: str, keepdims: bool, weights: Any, scale: int, skip: bool
) -> torch.Tensor:
    x = as_tensor(a)
    if x.is_complex():
        raise TypeError("a must be an array of real numbers")
    levels = _levels(q, scale)
    _check_weighted(method, weights)
    if skip and surely(x.numel() == 0):  # whatever the method
        return call(np.nanmean, x, axis, keepdims=keepdims)  # type: ignore[no-any-return]
    _check_method(method)
    axes = axes_of(axis, x.ndim)
    if not axes and x.ndim and surely(x.numel() == 0) and _needs_elements():
        raise ValueError(f"cannot reshape array of size 0 into shape {tuple(x.shape)}, newaxis")
    data = gathered(x, axes)
    skip = skip and x.dtype.is_floating_point
    if holds_here(data.shape[0] == 0, "there are no elements"):
        raise IndexError(f"index -1 is out of bounds for axis 0 with size {data.shape[0]}")
    if weights is not None:
        spread = gathered(shaped_weights(weights, x, axes, axis is None).expand(x.shape), axes)
        found = _weighted(data, spread, levels, skip)
        found = _with_nan(found, ordered(data, 0), skip)
    else:
        n: Any = torch.sum(~torch.isnan(data), 0) if skip else data.shape[0]
        whole = _takes_elements(method, q, scale)
        found = _between(data, levels, n, method, whole, _quantile_result(x, q, method, scale))
    found = found.reshape([*levels.shape, *found.shape[1:]])
    return restored(found, axes, levels.ndim) if keepdims else found


def _with_nan(found: torch.Tensor, s: torch.Tensor, skip: bool) -> torch.Tensor:
    """Return quantiles with NaN where the data have one (skip: have nothing else)."""
    if not s.dtype.is_floating_point:
        return found
    missing = torch.isnan(s[0] if skip else s[-1])
    return torch.where(missing, float("nan"), found)


def _declare(name: str, scale: int, skip: bool) -> None:
    def function(
        a: Any,
        q: Any,
        axis: Axis = None,
        out: torch.Tensor | None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> torch.Tensor:
        """Quantiles by NumPy's 13 methods, of sorted data; NaN where there is one."""
        del overwrite_input
        found = _quantiles(a, q, axis, method, bool(keepdims), weights, scale, skip)
        taken = weights is None and _takes_elements(method, q, scale)
        return written_back(found, out) if taken else deliver(found, out)

    theirs = getattr(np, name)
    # NumPy before 2.4 has an older name of `method`.
    unsupported = parameters_of(theirs, "interpolation")
    globals()[name] = implements(
        theirs,
        zero_d="scalar",
        unsupported=unsupported,
        note=UNCHECKED,
        zero_d_of=scalar_unless_kept,
    )(
        named(function, name, __name__)  # so that a printed graph can be imported
    )


_declare("quantile", scale=1, skip=False)
_declare("percentile", scale=100, skip=False)
_declare("nanquantile", scale=1, skip=True)
_declare("nanpercentile", scale=100, skip=True)
