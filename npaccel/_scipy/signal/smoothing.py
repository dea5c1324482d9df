"""Smoothing, ranks of windows and trends in `scipy.signal`."""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.table import in_numpy, on_tensors
from npaccel._scipy.ndimage import _common as nd
from npaccel._scipy.ndimage import _splines as borders
from npaccel._scipy.ndimage import ranks
from npaccel._scipy.signal import _common as parts

_NAN = "a NaN fills its windows, where what SciPy gives depends on the order of its steps"


# -- Savitzky and Golay (1964) --------------------------------------------------------------


def _edge_weights(size: int, order: int, deriv: int, delta: float) -> Any:
    """Return what gives a fitted polynomial's derivative at the first half of a window."""
    place = np.arange(size) - (size - 1) / 2
    scale = max((size - 1) / 2, 1)
    powers = np.vander(place / scale, order + 1, increasing=True)
    falling = [math.perm(k, deriv) if k >= deriv else 0 for k in range(order + 1)]
    half = powers[: size // 2, : max(order + 1 - deriv, 0)]
    derived = np.zeros((size // 2, order + 1))
    derived[:, deriv:] = half
    return derived * falling @ np.linalg.pinv(powers) / (scale * delta) ** deriv


@on_tensors(
    "signal.savgol_filter",
    arrays=("x",),
    tolerance=4096,
    host_reason=on_a_cpu("SciPy's correlation along a line is as fast"),
)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """Fit polynomials to windows: a sum of weighted samples."""
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(torch.float64)
    if x.is_complex():
        raise TypeError("complex numbers")
    signal = importlib.import_module("scipy.signal")
    weights = parts.numbers(signal.savgol_coeffs(window_length, polyorder, deriv, delta), x)
    axis = parts.axis_of(axis, x.ndim)
    lines = x.movedim(axis, -1)
    size, count = int(window_length), lines.shape[-1]
    if mode != "interp":
        before = size // 2
        grown = borders.extended(lines, x.ndim - 1, size - 1 - before, before, mode, cval)
        found = parts.convolved(grown, weights)[..., size - 1 : size - 1 + count]
        return found.movedim(-1, axis)
    if size > count:
        raise ValueError("window_length must be less than or equal to the size of x.")
    middle = parts.convolved(lines, weights)[..., size - 1 : count]
    edge = parts.numbers(_edge_weights(size, polyorder, deriv, delta), x)
    first = lines[..., :size] @ edge.mT
    sign = -1 if deriv % 2 else 1
    last = torch.flip(torch.flip(lines[..., count - size :], (-1,)) @ edge.mT * sign, (-1,))
    half = size // 2
    middle = middle[..., : count - 2 * half] if size % 2 else middle[..., 1:]
    return torch.cat([first, middle, last], -1).movedim(-1, axis)


# -- Ranks ----------------------------------------------------------------------------------


def _ranks_host_reason(bound: dict[str, Any]) -> str:
    name = next(iter(bound))
    x = bound[name]
    if not isinstance(x, torch.Tensor) or x.device.type != "cpu":
        return ""
    if "domain" in bound:
        return ranks._host_reason({"input": x, "footprint": bound["domain"]})
    size = _sizes(bound["kernel_size"], x.ndim)
    return ranks._host_reason({"input": x, "footprint": None, "axes": None, "size": size})


def _sizes(kernel_size: Any, rank: int) -> tuple[int, ...]:
    """Return the sizes of a window."""
    if kernel_size is None:
        return (3,) * rank
    if isinstance(kernel_size, tuple):
        return kernel_size * rank if len(kernel_size) == 1 else kernel_size
    return (kernel_size,) * rank


def _ranked(x: Any, rank: int, sizes: Any, domain: Any) -> Any:
    """Return elements of a rank, zeros outside."""
    if x.dtype.kind not in "iuf" or x.dtype == np.float16:
        raise ValueError(f"dtype={x.dtype} is not supported")
    return ranks.rank_filter(x, rank, sizes, domain, None, "constant")


def _median(volume: Any, kernel_size: Any) -> Any:
    x = np.asarray(volume)
    x = x.reshape(1) if x.ndim == 0 else x
    sizes = _sizes(kernel_size, x.ndim)
    if any(size % 2 != 1 for size in sizes) or len(sizes) != x.ndim:
        raise ValueError("Each element of kernel_size should be odd.")
    if any(size > length for size, length in zip(sizes, x.shape, strict=True)):
        raise ValueError("kernel_size exceeds the extent, of which SciPy warns")
    return _ranked(x, math.prod(sizes) // 2, sizes, None)


@in_numpy("signal.medfilt", arrays=("volume",), host_reason=_ranks_host_reason, note=_NAN)
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Median of windows, zeros outside."""
    return _median(volume, kernel_size)


@in_numpy("signal.medfilt2d", arrays=("input",), host_reason=_ranks_host_reason, note=_NAN)
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Median of windows of an image, zeros outside."""
    if np.asarray(input).ndim != 2:
        raise ValueError("object too deep for desired array")
    return _median(input, kernel_size)


@in_numpy("signal.order_filter", arrays=("a",), host_reason=_ranks_host_reason, note=_NAN)
def order_filter(a: Any, domain: Any, rank: int) -> Any:
    """The element of a rank of windows, zeros outside."""
    if any(size % 2 != 1 for size in ranks._shape(domain)):
        raise ValueError("Each dimension of domain argument should have an odd number of elements.")
    return _ranked(np.asarray(a), int(rank), None, domain)


# -- Means ----------------------------------------------------------------------------------


@in_numpy("signal.wiener", arrays=("im", "noise"), tolerance=4096)
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Any:
    """Shrink to the mean of a window where its variance is no more than noise."""
    x = np.asarray(im).astype(np.float64)
    if im.dtype.kind not in "iuf":
        raise TypeError("real numbers are needed")
    sizes = (3,) * x.ndim if mysize is None else mysize
    sizes = sizes if isinstance(sizes, tuple) else (sizes,) * x.ndim
    count = float(math.prod(sizes))
    mean, square = _window_sum(x, sizes) / count, _window_sum(x * x, sizes) / count
    variance = square - mean * mean
    level = np.mean(variance) if noise is None else noise
    found = (x - mean) * (1 - level / variance) + mean
    return np.where(variance < level, mean, found)


def _window_sum(x: Any, sizes: Any) -> Any:
    """Return sums of windows, zeros outside."""
    if len(sizes) != x.ndim:
        raise ValueError("a size for each axis is needed")
    for axis, size in enumerate(sizes):
        before = size // 2
        grown = nd.extended(x, axis, before, size - 1 - before, "constant", 0.0)
        x = nd.reduced(grown, axis, size, np.add, False)
    return x


# -- Trends ---------------------------------------------------------------------------------


def _without_line(x: Any) -> Any:
    """Return a piece of lines without the straight line that fits best."""
    size = x.shape[-1]
    apart = x - x.mean(-1, keepdim=True)
    place = torch.arange(size, device=x.device, dtype=parts.real_dtype(x.dtype)) - (size - 1) / 2
    if size < 2:
        return apart
    square = size * (size * size - 1) / 12
    slope = (apart * place).sum(-1, keepdim=True) / square
    return apart - slope * place


def detrended(x: Any, kind: str, breaks: Any = 0) -> Any:
    """Return lines along the last axis without their mean or straight lines."""
    if kind in ("constant", "c"):
        return x - x.mean(-1, keepdim=True)
    if kind not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    checks.finite(x)
    size = x.shape[-1]
    given = breaks.tolist() if isinstance(breaks, torch.Tensor) else np.ravel(breaks).tolist()
    places = sorted({0, size, *map(int, given)})
    if places[-1] > size or places[0] < 0:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    pieces = [_without_line(x[..., first:last]) for first, last in itertools.pairwise(places)]
    return torch.cat(pieces, -1)


@on_tensors("signal.detrend", arrays=("data",))
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Take away the mean, or straight lines between breakpoints."""
    (x,) = parts.floats(data)
    if x.numel() == 0:
        raise ValueError("nothing there")
    axis = parts.axis_of(axis, x.ndim)
    return detrended(x.movedim(axis, -1), type, bp).movedim(-1, axis)
