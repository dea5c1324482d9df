"""Convolution and correlation in `scipy.signal`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import common_dtype, free_for_scipy
from npaccel._scipy.dispatch.table import in_numpy, on_tensors, through_host
from npaccel._scipy.ndimage import _linear as linear
from npaccel._scipy.signal import _common as parts

through_host("signal.correlation_lags", "takes no arrays", takes_arrays=False, is_pure=True)

_SPREADS = "by Fourier transforms what isn't finite spreads over all of the result"


def _count(value: Any) -> int:
    return value.numel() if isinstance(value, torch.Tensor) else int(np.size(value))


def _rank(value: Any) -> int:
    return value.ndim if isinstance(value, torch.Tensor) else int(np.ndim(value))


def _exact(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return not (value.is_floating_point() or value.is_complex())
    return bool(np.asarray(value).dtype.kind in "biu")


def _host_reason(bound: dict[str, Any]) -> str:
    """Leave long sums of integers to NumPy: they must be exact, so they're no transforms."""
    first, second = bound["in1"], bound["in2"]
    taps = min(_count(first), _count(second))
    if not (_exact(first) and _exact(second)):
        few = taps <= 7 and _rank(first) == 1 and free_for_scipy(bound)
        return "on a CPU, NumPy's loop over few weights is faster" if few else ""
    if taps > 8 and free_for_scipy(bound):
        return "on a CPU, NumPy's loop over integers is faster"
    return "long sums of integers are exact only one after the other" if taps > 512 else ""


def _two(in1: Any, in2: Any) -> tuple[Any, Any, torch.dtype]:
    """Return both in one dtype, booleans as integers, and the result's dtype."""
    x, w = parts.tensors(in1, in2)
    dtype = common_dtype(x, w)
    work = torch.int32 if dtype is torch.bool else dtype
    return x.to(work), w.to(work), dtype


def _by_fft(x: Any, w: Any, mode: str) -> bool:
    """Whether SciPy would take Fourier transforms: the sizes decide, not the values."""
    if not (x.is_floating_point() or x.is_complex()):
        return False
    zero = np.zeros((), str(x.dtype).removeprefix("torch."))
    stand_ins = (np.broadcast_to(zero, tuple(map(int, one.shape))) for one in (x, w))
    choose = importlib.import_module("scipy.signal").choose_conv_method
    return bool(choose(*stand_ins, mode=mode) == "fft")


def _full(x: Any, w: Any, by_fft: bool) -> Any:
    """Convolve in full along all axes."""
    if by_fft:
        return parts.convolved_by_fft(x, w, range(x.ndim))
    return parts.convolved(x, w) if w.numel() <= x.numel() else parts.convolved(w, x)


def _convolve(in1: Any, in2: Any, mode: str, method: str, dtype: Any) -> Any:
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    if dtype is torch.bool and in1.ndim > 1:
        raise ValueError("Unsupported type")
    axes = range(in1.ndim)
    if parts.swapped(mode, in1.shape, in2.shape, axes):
        in1, in2 = in2, in1
    by_fft = method == "fft" and (in1.is_floating_point() or in1.is_complex())
    if method == "auto":
        by_fft = _by_fft(in1, in2, mode)
    return parts.cut(_full(in1, in2, by_fft), mode, in1.shape, in2.shape, axes).to(dtype)


def _checked(x: Any, w: Any) -> None:
    if x.ndim != w.ndim:
        raise ValueError("both inputs should have the same dimensionality")
    if x.ndim == 0 or x.numel() == 0 or w.numel() == 0:
        raise ValueError("nothing to convolve")


@on_tensors("signal.convolve", arrays=("in1", "in2"), host_reason=_host_reason, note=_SPREADS)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve along all axes, by sums of products or by Fourier transforms as SciPy chooses."""
    x, w, dtype = _two(in1, in2)
    if x.ndim == w.ndim == 0:
        return (x * w).to(dtype)
    _checked(x, w)
    return _convolve(x, w, mode, method, dtype)


@on_tensors("signal.correlate", arrays=("in1", "in2"), host_reason=_host_reason, note=_SPREADS)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlate along all axes: convolve with the second array turned round."""
    x, w, dtype = _two(in1, in2)
    if x.ndim == w.ndim == 0:
        return (x * torch.conj_physical(w)).to(dtype)
    _checked(x, w)
    turned = torch.flip(torch.conj_physical(w), tuple(range(w.ndim)))
    return _convolve(x, turned, mode, method, dtype)


@on_tensors("signal.fftconvolve", arrays=("in1", "in2"))
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve along axes by Fourier transforms."""
    x, w = parts.floats(in1, in2)
    if x.ndim == w.ndim == 0:  # a product, of integers too
        x, w = parts.tensors(in1, in2)
        return x * w
    if x.ndim == w.ndim and not (x.numel() and w.numel()):
        return x.new_zeros(0)
    _checked(x, w)
    chosen = list(range(x.ndim)) if axes is None else _axes(axes, x.ndim)
    others = [a for a in range(x.ndim) if a not in chosen]
    if any(x.shape[a] != w.shape[a] and 1 not in (x.shape[a], w.shape[a]) for a in others):
        raise ValueError("incompatible shapes")
    if all(1 in (x.shape[a], w.shape[a]) for a in chosen):  # a product, of integers too
        x, w = parts.tensors(in1, in2)
    if parts.swapped(mode, x.shape, w.shape, chosen):
        x, w = w, x
    cut = range(x.ndim) if mode == "same" else chosen
    return parts.cut(parts.convolved_by_fft(x, w, chosen), mode, x.shape, w.shape, cut)


def _axes(axes: Any, rank: int) -> list[int]:
    given = list(axes) if isinstance(axes, tuple | list | np.ndarray) else [axes]
    found = [parts.axis_of(int(axis), rank) for axis in given]
    if len(set(found)) != len(found) or not found:
        raise ValueError("axes must be unique")
    return sorted(found)


# -- Images ---------------------------------------------------------------------------------

_BOUNDARIES = {
    "fill": "fill",
    "pad": "fill",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "symm",
    "symmetric": "symm",
}


def _bordered(x: Any, axis: int, count: int, boundary: str, fill: Any) -> Any:
    """Return an array with more elements at both ends of an axis."""
    size = x.shape[axis]
    if boundary == "fill":
        width = [0, 0] * (x.ndim - 1 - axis) + [count, count]
        return torch.nn.functional.pad(x, width, value=fill)
    if count <= size:
        left, right = x.narrow(axis, 0, count), x.narrow(axis, size - count, count)
        if boundary == "wrap":
            return torch.cat([right, x, left], axis)
        return torch.cat([torch.flip(left, (axis,)), x, torch.flip(right, (axis,))], axis)
    places = torch.arange(-count, size + count, device=x.device)
    if boundary == "wrap":
        return torch.index_select(x, axis, places % size)
    inside = places % (2 * size)
    return torch.index_select(x, axis, torch.minimum(inside, 2 * size - 1 - inside))


def _fill(value: Any, dtype: torch.dtype) -> Any:
    """Return the border's value, if it's a number that fits."""
    if isinstance(value, torch.Tensor) or np.ndim(value):
        raise TypeError("the fill value is no number")
    if isinstance(value, complex) and not dtype.is_complex:
        raise TypeError("a complex fill value needs complex data")
    return value if dtype.is_floating_point or dtype.is_complex else int(value)


def _in_planes(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, turn: bool) -> Any:
    x, w, dtype = _two(in1, in2)
    kind = _BOUNDARIES[boundary]
    if x.ndim != 2 or w.ndim != 2:
        raise ValueError("both inputs must be 2-D arrays")
    if x.numel() == 0 or w.numel() == 0 or dtype is torch.bool:
        raise ValueError("nothing to convolve, or booleans")
    swap = parts.swapped(mode, x.shape, w.shape, (0, 1))
    if swap:
        x, w = w, x
    if turn:
        w = torch.flip(torch.conj_physical(w), (0, 1))
    grown, fill = x, _fill(fillvalue, x.dtype)
    if mode != "valid" and (kind != "fill" or fill != 0):
        for axis in (0, 1):
            grown = _bordered(grown, axis, w.shape[axis] - 1, kind, fill)
        found = parts.cut(parts.convolved(grown, w), "valid", grown.shape, w.shape, (0, 1))
    else:
        found = parts.convolved(grown, w)
    if mode == "same" and turn:
        for axis in (0, 1):
            found = found.narrow(axis, w.shape[axis] // 2, x.shape[axis])
    elif mode != "full":
        found = parts.cut(found, mode, x.shape, w.shape, (0, 1))
    if swap and turn:
        found = torch.flip(torch.conj_physical(found), (0, 1))
    return found.to(dtype)


@on_tensors("signal.convolve2d", arrays=("in1", "in2"), host_reason=_host_reason, fused=True)
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Convolve images by sums of products, with a border."""
    return _in_planes(in1, in2, mode, boundary, fillvalue, False)


@on_tensors("signal.correlate2d", arrays=("in1", "in2"), host_reason=_host_reason, fused=True)
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Correlate images by sums of products, with a border."""
    return _in_planes(in1, in2, mode, boundary, fillvalue, True)


@in_numpy("signal.sepfir2d", arrays=("input", "hrow", "hcol"))
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Any:
    """Convolve rows and columns with weights each, the image mirrored at its edges."""
    x, row, column = np.asarray(input), np.asarray(hrow), np.asarray(hcol)
    if x.ndim != 2 or row.ndim != 1 or column.ndim != 1 or x.dtype.kind != "f":
        raise ValueError("an image of floats and two lines are needed")
    if not (row.shape[0] % 2 and column.shape[0] % 2):
        raise ValueError("hrow and hcol must be odd length")
    x = linear.line(x, np.flip(row), 1, "reflect", 0.0, 0, None)
    return linear.line(x, np.flip(column), 0, "reflect", 0.0, 0, None)
