"""Axes, ranks, p-values and SciPy's result objects, for functions of samples."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime.foreign_table import Recipe, recipe
from npaccel._scipy.dispatch import element_loops
from npaccel._scipy.dispatch.arguments import as_float, free_for_scipy
from npaccel._scipy.dispatch.checks import is_near
from npaccel._scipy.dispatch.sorting import in_order
from npaccel._scipy.special._incomplete import incomplete_beta, incomplete_gamma

#: Tensors.
Tensor = Any
_ALTERNATIVES = {"less": -1, "two-sided": 0, "greater": 1}


# -- Arguments ------------------------------------------------------------------------------


#: Reason why sorting is left to NumPy on a CPU.
SORTS_LESS = "NumPy's partition sorts less"


def other_than(**native: Any) -> Callable[[dict[str, Any]], str]:
    """Return a `host_reason` of the table: native only for these values of parameters.

    Parameters
    ----------
    **native : object
        A value, or a tuple of them.
    """

    def why(bound: dict[str, Any]) -> str:
        for name, allowed in native.items():
            value, known = bound[name], allowed if isinstance(allowed, tuple) else (allowed,)
            if not any(value is one or value == one for one in known):
                return f"`{name}` is {value!r}"
        return ""

    return why


def number_of(alternative: str) -> int:
    """Return -1, 0 or 1 for the alternative.

    Raises
    ------
    ValueError
        If it's none of SciPy's.
    """
    if alternative not in _ALTERNATIVES:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    return _ALTERNATIVES[alternative]


def floats(*samples: Any) -> list[Tensor]:
    """Return samples in the dtype that SciPy computes in: integers as float64."""
    dtypes = [s.dtype for s in samples if isinstance(s, torch.Tensor)]
    if any(dtype.is_complex for dtype in dtypes):
        raise TypeError("This function does not support complex data")
    numbers = [dtype for dtype in dtypes if dtype is not torch.bool] or dtypes
    narrow = all(d.is_floating_point and d is not torch.float64 for d in numbers)
    dtype = torch.float32 if narrow else torch.float64
    device = next(s.device for s in samples if isinstance(s, torch.Tensor))
    return [as_float(s, dtype, device) for s in samples]


def along(axis: Any, *samples: Tensor) -> list[Tensor]:
    """Return samples with the axis last; None: all their elements in one.

    Raises
    ------
    ValueError
        If a sample doesn't have it, or several are asked for.
    """
    if axis is None:
        return [s.reshape(-1) for s in samples]
    if not isinstance(axis, int):
        raise ValueError("several axes")
    ndim = max(s.ndim for s in samples)
    wide = [s.reshape((1,) * (ndim - s.ndim) + tuple(s.shape)) for s in samples]
    if not ndim or not -ndim <= axis < ndim:
        raise ValueError("no such axis")
    moved = [s.movedim(axis, -1) for s in wide]
    batch = torch.broadcast_shapes(*(s.shape[:-1] for s in moved))
    return [s.expand(*batch, s.shape[-1]) for s in moved]


def kept(found: Tensor, axis: Any, keepdims: bool, like: Tensor) -> Tensor:
    """Return a result with the axis as one element, if it's to be kept."""
    if not keepdims:
        return found
    return found.reshape((1,) * like.ndim) if axis is None else found.unsqueeze(axis)


def result(name: str) -> Any:
    """Return what makes SciPy's results of this name: a named tuple, or the recipe of an object."""
    for module in ("_result_classes", "_stats_py", "_morestats", "_binned_statistic"):
        found = getattr(importlib.import_module(f"scipy.stats.{module}"), name, None)
        if found is not None:
            is_plain = hasattr(found, "_make")
            return found if is_plain else functools.partial(_recipe, f"scipy.stats.{module}:{name}")
    raise AttributeError(name)


def _recipe(kind: str, *args: Any, **kwargs: Any) -> Recipe:
    return recipe(kind, args, kwargs)


# -- Ranks ----------------------------------------------------------------------------------


def runs(ordered: Tensor) -> tuple[Tensor, Tensor]:
    """Return where the run of equal values begins and ends, for each of the sorted values."""
    n = ordered.shape[-1]
    place = torch.arange(n, device=ordered.device).expand(ordered.shape)
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    first = torch.cummax(torch.where(new, place, 0), dim=-1).values
    ends = torch.roll(new, -1, dims=-1)
    last = torch.where(ends, place, n).flip(-1)
    return first, torch.cummin(last, dim=-1).values.flip(-1)


def ranks(x: Tensor, method: str = "average") -> Tensor:
    """Return ranks along the last axis, from 1; NaN are the largest, each for itself."""
    if not x.shape[-1]:
        return torch.empty_like(x, dtype=torch.float64 if method == "average" else torch.int64)
    ordered, order = torch.sort(x, dim=-1, stable=True)
    first, last = runs(ordered)
    if method == "average":
        found = (first + last + 2).to(torch.float64) / 2
    elif method == "dense":
        found = torch.cumsum((first == torch.arange(x.shape[-1], device=x.device)).long(), -1)
    else:
        place = torch.arange(x.shape[-1], device=x.device).expand(x.shape)
        found = {"min": first, "max": last, "ordinal": place}[method] + 1
    return torch.empty_like(found).scatter_(-1, order, found)


def tied(x: Tensor) -> Tensor:
    """The sum of t**3 - t over groups of t equal values, along the last axis."""
    ordered = in_order(x)
    first, last = runs(ordered)
    size = (last - first + 1).to(torch.float64)
    return (size * size - 1).sum(-1)


# -- p-values -------------------------------------------------------------------------------


def _sides(alternative: str, left: Any, statistic: Tensor) -> Tensor:
    """A p-value of a symmetric distribution, given its left tail."""
    side = number_of(alternative)
    if side:
        return left(statistic if side < 0 else -statistic)
    return 2 * left(-torch.abs(statistic))


def normal(z: Tensor, alternative: str) -> Tensor:
    """The p-value of a normal statistic."""
    return _sides(alternative, lambda x: torch.erfc(x * -math.sqrt(0.5)) / 2, z)


def student(t: Tensor, df: Any, alternative: str) -> Tensor:
    """The p-value of Student's statistic."""
    wide, df = _wide(t, df)
    side = number_of(alternative)
    if _left_to_scipy(wide, df):
        tail = _in_scipy("stdtr", df, wide * -side if side else -wide.abs())
        return (tail if side else 2 * tail).to(t.dtype)
    square = wide * wide
    large = torch.isinf(square)
    share, rest = df / (df + square), square / (df + square)
    tail = incomplete_beta(
        df / 2,
        torch.full_like(df, 0.5),
        torch.where(large, 0.0, share),
        torch.where(large, 1.0, rest),
    )[0]
    if side:
        tail = torch.where(wide * side > 0, tail / 2, 1 - tail / 2)
    return torch.where(torch.isnan(wide), math.nan, tail).to(t.dtype)


def fisher(f: Tensor, dfn: Any, dfd: Any) -> Tensor:
    """The p-value of Fisher's F, its right tail."""
    wide, dfn, dfd = _wide(f, dfn, dfd)
    if _left_to_scipy(wide, dfn, dfd):
        return _in_scipy("fdtrc", dfn, dfd, torch.clamp(wide, min=0)).to(f.dtype)
    above = torch.clamp(dfn * wide, min=0)
    large = torch.isinf(above)
    share = torch.where(large, 1.0, above / (above + dfd))
    rest = torch.where(large, 0.0, dfd / (above + dfd))
    return incomplete_beta(dfn / 2, dfd / 2, share, rest)[1].to(f.dtype)


def chi_square(x: Tensor, df: Any, right: bool = True) -> Tensor:
    """The p-value of a chi square: its right tail, or the left one."""
    wide, df = _wide(x, df)
    if _left_to_scipy(wide, df):
        name = "chdtrc" if right else "chdtr"
        return _in_scipy(name, df, torch.clamp(wide, min=0)).to(x.dtype)
    return incomplete_gamma(df / 2, torch.clamp(wide, min=0) / 2)[right].to(x.dtype)


def _left_to_scipy(*tensors: Tensor) -> bool:
    """Whether SciPy can have tensors now."""
    return free_for_scipy({str(n): tensor for n, tensor in enumerate(tensors)}) and is_near(
        tensors[0]
    )


def _in_scipy(name: str, *tensors: Tensor) -> Tensor:
    """Use SciPy's loop on a CPU: it stops at each element where that is exact enough."""
    from scipy import special

    arrays = tuple(t.detach().numpy() for t in tensors)
    return torch.from_numpy(np.asarray(element_loops.in_scipy(getattr(special, name), arrays, {})))


def _wide(*numbers: Any) -> list[Tensor]:
    """Return a statistic and degrees of freedom in float64."""
    device = numbers[0].device
    return [as_float(v, torch.float64, device) for v in numbers]


# -- Moments --------------------------------------------------------------------------------


def mean(x: Tensor) -> Tensor:
    """The mean along the last axis."""
    return torch.mean(x, dim=-1)


def variance(x: Tensor, ddof: int = 1) -> Tensor:
    """The variance along the last axis, with n - ddof in the denominator; NaN for too few."""
    apart = x - mean(x).unsqueeze(-1)
    # Rounding of the mean is taken out again: Chan, Golub and LeVeque (1983).
    square = (apart * apart).sum(-1)
    return square / (x.shape[-1] - ddof) if x.shape[-1] != ddof else square / 0.0


def constant(*samples: Tensor) -> Sequence[Tensor]:
    """Whether all values of a sample are the same."""
    return [(x == x[..., :1]).all(-1) for x in samples]
