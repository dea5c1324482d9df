"""Transforms to parts of the unit circle in `scipy.signal`: Rabiner, Schafer and Rader (1969)."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.signal import _common as parts

through_host("signal.czt_points", "takes no arrays", takes_arrays=False, is_pure=True)


def _numbers(*names: str) -> Callable[[dict[str, Any]], str]:
    def host_reason(bound: dict[str, Any]) -> str:
        for name in names:
            if any(isinstance(v, torch.Tensor) for v in np.atleast_1d(bound[name]).flat):
                return f"`{name}` is a tensor, not a number"
        return ""

    return host_reason


def _tables(n: int, m: int, squares: Any, start: Any) -> tuple[Any, Any, Any]:
    """Return what a signal, its transform and the result are multiplied with.

    ``squares`` is w**(k*k / 2), ``start`` a**-k.
    """
    size = importlib.import_module("scipy.fft").next_fast_len(n + m - 1)
    mirrored = np.concatenate([squares[n - 1 : 0 : -1], squares[:m]])
    return start * squares[:n], np.fft.fft(1 / mirrored, size), squares[:m]


def _sizes(n: Any, m: Any, *numbers: Any) -> tuple[int, int]:
    if any(isinstance(one, torch.Tensor) for one in numbers):
        raise TypeError("a tensor, not a number")
    m = n if m is None else m
    if n < 1 or int(m) != m or m < 1:
        raise ValueError("Invalid number of data or output points")
    return int(n), int(m)


@functools.lru_cache(maxsize=16)
def _spiral(n: int, m: int, w: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return the tables of points a w**-k."""
    k = np.arange(max(m, n))
    if w is None:
        squares = np.exp(-1j * np.pi * ((k * k) % (2 * m)) / m)
    else:
        squares = w ** (k * k / 2.0)
    return _tables(n, m, squares, (1.0 * a) ** -k[:n].astype(np.float64))


@functools.lru_cache(maxsize=16)
def _arc(n: int, m: int, first: float, width: float) -> tuple[Any, Any, Any]:
    """Return the tables of points on the circle, in turns."""
    k = np.arange(max(m, n))
    squares = np.exp(-1j * np.pi * width * k**2 / m)
    return _tables(n, m, squares, np.exp(-2j * np.pi * first * k[:n]))


def _transformed(x: Any, axis: int, m: int, tables: Any) -> Any:
    """Convolve with a chirp (Bluestein 1970)."""
    n = x.shape[axis]
    before, between, after = (torch.from_numpy(np.asarray(t)).to(x.device) for t in tables)
    size = between.shape[0]
    lines = x.movedim(axis, -1) * before
    found = torch.fft.ifft(torch.fft.fft(lines, size) * between)
    return (found[..., n - 1 : n + m - 1] * after).movedim(-1, axis)


@on_tensors("signal.czt", arrays=("x",), host_reason=_numbers("w", "a"), tolerance=2**13)
def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Any:
    """Transform to points on a spiral."""
    (x,) = parts.floats(x)
    axis = parts.axis_of(axis, x.ndim)
    n, m = _sizes(x.shape[axis], m, w, a)
    return _transformed(x, axis, m, _spiral(n, m, w, a))


@on_tensors("signal.zoom_fft", arrays=("x",), host_reason=_numbers("fn", "fs"), tolerance=2**13)
def zoom_fft(
    x: Any, fn: Any, m: Any = None, *, fs: Any = 2, endpoint: bool = False, axis: int = -1
) -> Any:
    """Transform to some of the frequencies, near each other."""
    (x,) = parts.floats(x)
    axis = parts.axis_of(axis, x.ndim)
    n, m = _sizes(x.shape[axis], m, fn, fs)
    band = np.ravel(fn).tolist()
    if len(band) not in (1, 2):
        raise ValueError("fn must be a scalar or 2-length sequence")
    first, last = band if len(band) == 2 else (0.0, band[0])
    width = (last - first) * m / (fs * (m - 1)) if endpoint else (last - first) / fs
    return _transformed(x, axis, m, _arc(n, m, float(first / fs), float(width)))


@on_tensors("signal.hilbert", arrays=("x",))
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """Return the signal whose real part is x and that has no negative frequencies."""
    (x,) = parts.floats(x)
    axis = parts.axis_of(axis, x.ndim)
    size = x.shape[axis] if N is None else int(N)
    if x.is_complex() or size <= 0 or not x.numel():
        raise ValueError("x must be real, and N positive")
    half = torch.fft.rfft(x.movedim(axis, -1), size)
    half[..., 1 : (size + 1) // 2].mul_(2)
    whole = torch.nn.functional.pad(half, (0, size - half.shape[-1]))
    return torch.fft.ifft(whole).movedim(-1, axis)
