"""`numpy.pad` in all its modes, and `numpy.trim_zeros`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import Axis, axes_of, call, reversed_axes
from npaccel._numpy.core.dtypes import as_tensor, cast, is_scalar, to_numpy
from npaccel._numpy.core.layouts import is_fortran, lying_as_allocated
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.ranges import linspace
from npaccel._numpy.indexing.indexing import flipped, selected, value_for
from npaccel._numpy.statistics.reductions import nonzero_mask
from npaccel._runtime.torch.symbolic_sizes import assume, holds_here, surely

_KEYWORDS: dict[str, tuple[str, ...]] = {
    "empty": (),
    "edge": (),
    "wrap": (),
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}
_STATISTICS: dict[str, Any] = {
    "maximum": np.max,
    "mean": np.mean,
    "median": np.median,
    "minimum": np.min,
}


@implements(np.pad, note="a function as the mode is refused")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> torch.Tensor:
    """`numpy.pad`."""
    x = as_tensor(array)
    widths = _widths(x, pad_width)
    if callable(mode):
        raise NotImplementedError("pad: a function as the mode can't be compiled; name a mode")
    if mode not in _KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = set(kwargs) - set(_KEYWORDS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    value = kwargs.get("constant_values", 0)
    if mode == "constant" and x.ndim and is_scalar(value):
        if is_fortran(x):
            return reversed_axes(_framed(reversed_axes(x), widths[::-1], value))
        return _framed(x, widths, value)
    if mode in ("reflect", "symmetric"):
        found = _mirrored(x, widths, mode, kwargs.get("reflect_type", "even"))
    elif mode in ("edge", "wrap"):
        found = _by_place(x, widths, mode)
    else:
        found = _by_strips(x, widths, mode, kwargs)
    return lying_as_allocated(found, x)


def _pairs(value: Any, rank: int) -> list[tuple[Any, Any]]:
    """Return one pair per axis of what NumPy broadcasts to shape (rank, 2)."""
    if isinstance(value, dict):
        raise TypeError("`pad_width` must be of integral type.")
    if not isinstance(value, Sequence):
        return [(value, value)] * rank
    if len(value) == 1 and not isinstance(value[0], Sequence):
        return [(value[0], value[0])] * rank
    if not any(isinstance(item, Sequence) for item in value):
        if len(value) == 2:
            return [(value[0], value[1])] * rank
        raise ValueError(f"operands could not be broadcast together with shape ({rank},2)")
    pairs = [(p[0], p[-1]) for p in value]
    if len(pairs) not in (1, rank) or any(len(p) > 2 for p in value):
        raise ValueError(f"operands could not be broadcast together with shape ({rank},2)")
    return pairs * rank if len(pairs) == 1 else pairs


def _widths(x: torch.Tensor, pad_width: Any) -> list[tuple[Any, Any]]:
    if isinstance(pad_width, dict):
        given = {axis % x.ndim: width for axis, width in pad_width.items()}
        pad_width = [_pairs(given.get(axis, 0), 1)[0] for axis in range(x.ndim)]
    pairs = _pairs(pad_width, x.ndim)
    for size in (size for pair in pairs for size in pair):
        if not isinstance(size, int | np.integer | torch.SymInt):
            raise TypeError("`pad_width` must be of integral type.")
        if size < 0:
            raise ValueError("index can't contain negative values")
    return pairs


# -- modes that read other elements of the array


def _by_place(x: torch.Tensor, widths: list[tuple[Any, Any]], mode: str) -> torch.Tensor:
    for axis, (before, after) in _padded_axes(x, widths, mode):
        size = x.shape[axis]
        places = torch.arange(-before, size + after, device=x.device)
        if mode == "edge":
            places = places.clamp(0, size - 1)
        else:
            places = torch.remainder(places, size)
        x = selected(x, axis, places)
    return x.clone() if not any(any(pair) for pair in widths) else x


def _padded_axes(
    x: torch.Tensor, widths: list[tuple[Any, Any]], mode: str
) -> list[tuple[int, tuple[Any, Any]]]:
    """Return the axes that grow; an empty axis has nothing to be filled from."""
    found = []
    for axis, (before, after) in enumerate(widths):
        grows = not (surely(before == 0) and surely(after == 0))
        if grows and holds_here(x.shape[axis] == 0, "there are no elements"):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
        if grows:
            found.append((axis, (before, after)))
    return found


def _mirrored(x: torch.Tensor, widths: list[tuple[Any, Any]], mode: str, kind: str) -> torch.Tensor:
    """Mirror at the ends, in or between the elements; "odd" mirrors the values too."""
    grown = x
    for axis, (before, after) in _padded_axes(x, widths, mode):
        size = x.shape[axis]
        # NumPy mirrors a single element as if between the elements.
        period = torch.sym_max(size - 1, 1) if mode == "reflect" else size  # type: ignore[no-untyped-call]
        last = size - 1 if mode == "reflect" else period - 1
        places = torch.arange(-before, size + after, device=x.device)
        turn = torch.div(places, period, rounding_mode="floor")
        inside = places - turn * period
        odd_turn = torch.remainder(turn, 2) == 1
        source = torch.where(odd_turn, last - inside, inside)
        found = selected(grown, axis, source.clamp(0, size - 1))
        grown = _reversed_values(grown, found, turn, odd_turn, axis) if kind == "odd" else found
    return grown.clone() if grown is x else grown


def _reversed_values(
    x: torch.Tensor, found: torch.Tensor, turn: torch.Tensor, odd_turn: torch.Tensor, axis: int
) -> torch.Tensor:
    """Continue the values through the ends, as if turned by half a circle."""
    size, trailing = x.shape[axis], (1,) * (x.ndim - 1 - axis)
    first, last = x.narrow(axis, 0, 1), x.narrow(axis, size - 1, 1)
    turn, odd_turn = turn.reshape(-1, *trailing), odd_turn.reshape(-1, *trailing)
    if surely(size == 1):
        return found
    slope = last - first
    even = found + turn.to(x.dtype) * slope
    odd = (turn + 1).to(x.dtype) * slope + 2 * first - found
    return torch.where(odd_turn, odd, even).to(x.dtype)


# -- modes that add strips


def _framed(x: torch.Tensor, widths: list[tuple[Any, Any]], value: Any) -> torch.Tensor:
    """Put an array into one that is filled with a number: two stores, where strips are copies."""
    shape = [size + before + after for size, (before, after) in zip(x.shape, widths, strict=True)]
    found = value_for(value, to_numpy(x.dtype), x.device).expand(shape).clone()
    inside = found
    for axis, (before, _) in enumerate(widths):
        inside = inside.narrow(axis, before, x.shape[axis])
    inside.copy_(x)
    return found


def _by_strips(
    x: torch.Tensor, widths: list[tuple[Any, Any]], mode: str, options: dict[str, Any]
) -> torch.Tensor:
    strip = _STRIPS[mode]
    values = options.get("constant_values", options.get("end_values", 0))
    if mode in _STATISTICS:
        values = options.get("stat_length")
    pairs = _pairs(values, x.ndim)
    grows = dict(_padded_axes(x, widths, mode)) if mode not in ("constant", "empty") else None
    grown = x
    for axis, (before, after) in enumerate(widths):
        if grows is not None and axis not in grows:
            continue
        left = strip(grown, axis, before, pairs[axis][0], mode)
        # The right strip is the left one of the flipped array.
        right = strip(flipped(grown, (axis,)), axis, after, pairs[axis][1], mode)
        grown = torch.cat([left, grown, flipped(right, (axis,))], axis)
    return grown.clone() if grown is x else grown


def _strip_shape(x: torch.Tensor, axis: int, width: Any) -> tuple[Any, ...]:
    return (*x.shape[:axis], width, *x.shape[axis + 1 :])


def _constant(x: torch.Tensor, axis: int, width: Any, value: Any, mode: str) -> torch.Tensor:
    stored = value_for(0 if value is None else value, to_numpy(x.dtype), x.device)
    return stored.expand(_strip_shape(x, axis, width))


def _ramp(x: torch.Tensor, axis: int, width: Any, value: Any, mode: str) -> torch.Tensor:
    edge = x.select(axis, 0)
    kind = to_numpy(x.dtype)
    found: torch.Tensor = linspace(value, edge, num=width, endpoint=False, dtype=kind, axis=axis)
    return found


def _statistic(x: torch.Tensor, axis: int, width: Any, length: Any, mode: str) -> torch.Tensor:
    if length is not None and (not isinstance(length, int) or length < 0):
        raise ValueError("index can't contain negative values")
    if length == 0 and mode in ("maximum", "minimum"):
        raise ValueError("stat_length of 0 yields no value for padding")
    size = x.shape[axis]
    part = x if length is None else x.narrow(axis, 0, torch.sym_min(length, size))  # type: ignore[no-untyped-call]
    found = call(_STATISTICS[mode], part, axis=axis, keepdims=True)
    kind = to_numpy(x.dtype)
    if kind.kind in "iu" and found.is_floating_point():
        found = torch.round(found)
    return cast(found, kind).expand(_strip_shape(x, axis, width))


_STRIPS: dict[str, Callable[..., torch.Tensor]] = {
    "constant": _constant,
    "empty": _constant,
    "linear_ramp": _ramp,
    **dict.fromkeys(_STATISTICS, _statistic),
}


@implements(np.trim_zeros, data_dependent=True)
def trim_zeros(filt: Any, trim: str = "fb", axis: Axis = None) -> Any:
    """`numpy.trim_zeros`: a view without the zeros at the ends of each axis.

    Raises
    ------
    NotImplementedError
        If `filt` is a list or a tuple: NumPy returns a part of it.
    ValueError
        If `trim` has other letters than "f" and "b".
    """
    ends = trim.lower()
    if ends not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {ends!r}")
    if isinstance(filt, list | tuple):
        raise NotImplementedError("a sequence is cut to a sequence; pass an array")
    if is_scalar(filt):
        axes_of(axis, 0)
        return filt  # as it is
    kept = nonzero_mask(filt)
    found = filt
    for one in axes_of(axis, filt.ndim):
        others = tuple(i for i in range(filt.ndim) if i != one)
        line = torch.any(kept, others) if others else kept
        found = between(found, one, line, ends)
    return found


def between(x: torch.Tensor, axis: int, kept: torch.Tensor, ends: str) -> torch.Tensor:
    """Return a view of an axis from the first place that is kept to the last one.

    Parameters
    ----------
    x : tensor
    axis : int
    kept : tensor of bool, shape (n,)
        For each place of the axis. Without a True the view is empty.
    ends : str
        Which ends are cut: "f" for the front, "b" for the back, both in any order.
    """
    size = x.shape[axis]
    if surely(size == 0):
        return x
    places = torch.arange(size, device=x.device)
    end = torch.amax(torch.where(kept, places + 1, 0))
    if "b" not in ends:
        end = torch.where(end > 0, size, 0)
    start: Any = 0
    length = end
    if "f" in ends:
        first = torch.amin(torch.where(kept, places, size))
        length = torch.clamp(end - first, min=0)
        start = torch.where(end > 0, first, 0).item()
    count = length.item()
    for condition in (start >= 0, count >= 0, start + count <= size):
        assume(condition, "a view goes beyond its array")
    return x.narrow(axis, start, count)  # type: ignore[arg-type]
