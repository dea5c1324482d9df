"""Spectra by pieces of signals in `scipy.signal`: Welch (1967)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.checks import is_near
from npaccel._scipy.dispatch.sorting import in_order
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.signal import _common as parts
from npaccel._scipy.signal.smoothing import detrended


def _function(bound: dict[str, Any]) -> str:
    return "`detrend` is a function" if callable(bound["detrend"]) else ""


def _window(window: Any, nperseg: Any, size: int, x: Any) -> tuple[Any, int]:
    """Return a window as a tensor, and its length; a name's is cut to the signal's."""
    if not isinstance(window, str | tuple):
        (found,) = parts.tensors(window)
        if found.ndim != 1 or size < found.shape[0]:
            raise ValueError("window must be 1-D, and no longer than the signal")
        if nperseg is not None and nperseg != found.shape[0]:
            raise ValueError("value specified for nperseg is different from length of window")
        return found.to(x.device, parts.real_dtype(x.dtype)), int(found.shape[0])
    count = 256 if nperseg is None else int(nperseg)
    if count < 1:
        raise ValueError("nperseg must be a positive integer")
    if count > size:
        warnings.warn(f"nperseg={count} is greater than the signal's length {size}", stacklevel=2)
        count = int(size)
    return parts.window_of(window, count, x), count


def _lengths(count: int, noverlap: Any, nfft: Any) -> tuple[int, int]:
    """Return the step between pieces, and the length of transforms."""
    overlap = count // 2 if noverlap is None else int(noverlap)
    length = count if nfft is None else int(nfft)
    if length < count:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    if overlap >= count:
        raise ValueError("noverlap must be less than nperseg.")
    return count - overlap, length


def _scale(window: Any, fs: Any, scaling: str) -> Any:
    """Return what makes the square of a transform a density or a power."""
    if scaling == "density":
        return 1.0 / (fs * (window * window).sum())
    if scaling != "spectrum":
        raise ValueError(f"Unknown scaling: {scaling!r}")
    return 1.0 / window.sum() ** 2


def _transformed(x: Any, window: Any, step: int, length: int, detrend: Any, onesided: bool) -> Any:
    """Return the transforms of pieces, shape (..., pieces, frequencies)."""
    pieces = x.unfold(-1, window.shape[0], step)
    if detrend:
        pieces = detrended(pieces, detrend)
    pieces = pieces * window
    return torch.fft.rfft(pieces, length) if onesided else torch.fft.fft(pieces, length)


def _frequencies(length: int, fs: Any, onesided: bool, x: Any) -> Any:
    """Return the frequencies of a transform."""
    values = np.fft.rfftfreq(length, 1 / fs) if onesided else np.fft.fftfreq(length, 1 / fs)
    return torch.from_numpy(values).to(x.device)


def _doubled(power: Any, length: int) -> Any:
    """Add the power of negative frequencies."""
    last = power.shape[-1] - (length % 2 == 0)
    inner = 2 * power[..., 1:last]
    return torch.cat([power[..., :1], inner, power[..., max(last, 1) :]], -1)


def _median(x: Any) -> Any:
    """The median along the last axis but one, over its mean for powers of noise."""
    count = x.shape[-2]
    ordered = in_order(x, -2)
    found = (ordered[..., (count - 1) // 2, :] + ordered[..., count // 2, :]) / 2
    found = torch.where(torch.isnan(ordered[..., -1, :]), math.nan, found)
    even = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    return found / float(1 + np.sum(1 / (even + 1) - 1 / even))


def _averaged(power: Any, average: str) -> Any:
    """Return one spectrum for those of all pieces."""
    if power.shape[-2] == 1:
        return power[..., 0, :]
    if average == "mean":
        return power.mean(-2)
    if average != "median":
        raise ValueError("average must be 'median' or 'mean'!")
    if power.is_complex():
        return torch.complex(_median(power.real), _median(power.imag))
    return _median(power)


def _is_complex(x: Any) -> bool:
    return bool(parts.tensors(x)[0].is_complex())


def _padded(x: Any, size: int) -> Any:
    return torch.nn.functional.pad(x, (0, size - x.shape[-1])) if x.shape[-1] < size else x


@on_tensors("signal.csd", arrays=("x", "y"), host_reason=_function)
def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """Return frequencies, and the mean product of the transforms of pieces of two signals."""
    same = y is x
    if return_onesided and _is_complex(y) and not _is_complex(x):
        raise ValueError("Complex-valued `y` not allowed")
    x, y = parts.floats(x, x if same else y)
    first, second = (one.movedim(parts.axis_of(axis, one.ndim), -1) for one in (x, y))
    if x.numel() == 0 or y.numel() == 0:
        shape = torch.broadcast_shapes(first.shape[:-1], second.shape[:-1])
        empty = x.new_zeros((*shape, min(first.shape[-1], second.shape[-1])), dtype=torch.float64)
        return empty.movedim(-1, axis), empty.movedim(-1, axis)
    size = max(first.shape[-1], second.shape[-1])
    weights, count = _window(window, nperseg, size, x)
    step, length = _lengths(count, noverlap, nfft)
    onesided = return_onesided and not x.is_complex()
    weights = weights * torch.sqrt(_scale(weights, fs, scaling))
    ours = _transformed(_padded(first, size), weights, step, length, detrend, onesided)
    if same:
        power = ours.real * ours.real + ours.imag * ours.imag
    else:
        others = _transformed(_padded(second, size), weights, step, length, detrend, onesided)
        power = torch.conj_physical(ours) * others
    found = _averaged(power, average)
    found = _doubled(found, length) if onesided else found
    return _frequencies(length, fs, onesided, x), found.movedim(-1, axis)


@on_tensors("signal.welch", arrays=("x",), host_reason=_function)
def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """Return frequencies, and the mean power of pieces of a signal."""
    return csd(
        x,
        x,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average,
    )


@on_tensors("signal.periodogram", arrays=("x",), host_reason=_function)
def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> Any:
    """Return frequencies, and the power of a signal."""
    if x.numel() == 0:
        empty = torch.zeros(x.shape, dtype=torch.float64, device=x.device)
        return empty, empty.clone()
    axis = parts.axis_of(axis, x.ndim)
    size = x.shape[axis]
    if nfft is not None and nfft < size:
        x, size, nfft = x.narrow(axis, 0, nfft), nfft, None
    window = "boxcar" if window is None else window
    if hasattr(window, "shape") and tuple(window.shape) != (size,):
        raise ValueError("the size of the window must be the same size of the input")
    sides, window = return_onesided, list(window) if type(window) is list else window
    return welch(x, fs, window, size, 0, nfft, detrend, sides, scaling, axis)


@on_tensors("signal.coherence", arrays=("x", "y"), host_reason=_function, tolerance=2**12)
def coherence(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> Any:
    """Return frequencies, and how much of the power two signals have in common."""
    settings: Any = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis)
    frequencies, first = welch(x, *settings)
    _, second = welch(y, *settings)
    _, both = csd(x, y, *settings)
    return frequencies, torch.abs(both) ** 2 / first / second


# -- In time --------------------------------------------------------------------------------


def _in_time(
    x: Any, fs: Any, settings: Any, boundary: Any, padded: bool, eighth: bool = False
) -> tuple[Any, Any, Any, bool, int]:
    """Return frequencies, times, and transforms whose squares are powers."""
    window, nperseg, noverlap, nfft, detrend, onesided, scaling, axis = settings
    (x,) = parts.floats(x)
    if x.numel() == 0:
        raise ValueError("nothing there")
    lines = x.movedim(parts.axis_of(axis, x.ndim), -1)
    weights, count = _window(window, nperseg, lines.shape[-1], x)
    step, length = _lengths(count, count // 8 if eighth and noverlap is None else noverlap, nfft)
    weights = weights * torch.sqrt(_scale(weights, fs, scaling))
    lines = parts.extended(lines, count // 2, boundary)
    if padded:
        lacking = (-(lines.shape[-1] - count) % step) % count
        lines = torch.nn.functional.pad(lines, (0, lacking))
    if onesided and x.is_complex():
        warnings.warn("complex data: return_onesided is False", stacklevel=2)
        onesided = False
    times = np.arange(count / 2, lines.shape[-1] - count / 2 + 1, step) / float(fs)
    if boundary is not None:
        times -= (count / 2) / fs
    found = _transformed(lines, weights, step, length, detrend, onesided).mT
    frequencies = _frequencies(length, fs, onesided, x)
    return frequencies, torch.from_numpy(times).to(x.device), found, onesided, length


def _placed(found: Any, axis: int) -> Any:
    """Return transforms with the frequencies where the signal's axis was, the times last."""
    return found.movedim(-2, axis - 1 if axis < 0 else axis)


def _unwrapped(angle: Any, axis: int) -> Any:
    """Return angles without jumps of more than half a turn."""
    step = torch.diff(angle, dim=axis)
    inside = torch.remainder(step + math.pi, 2 * math.pi) - math.pi
    inside = torch.where((inside == -math.pi) & (step > 0), math.pi, inside)
    change = torch.where(torch.abs(step) < math.pi, 0, inside - step)
    first = torch.zeros_like(angle.narrow(axis, 0, 1))
    return angle + torch.cat([first, torch.cumsum(change, axis)], axis)


@on_tensors("signal.spectrogram", arrays=("x",), host_reason=_function)
def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey_periodic", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> Any:
    """Return frequencies, times, and the power or transforms of pieces of a signal."""
    if mode not in ("psd", "complex", "magnitude", "angle", "phase"):
        raise ValueError(f"unknown value for mode {mode}")
    settings = (window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis)
    frequencies, times, found, onesided, length = _in_time(
        x, fs, settings, None, False, eighth=True
    )
    if mode == "psd":
        power = found.real * found.real + found.imag * found.imag
        power = _doubled(power.mT, length).mT if onesided else power
        return frequencies, times, _placed(power, axis)
    if mode == "magnitude":
        found = torch.abs(found)
    elif mode != "complex":
        found = torch.angle(found)
        found = _unwrapped(found, -2) if mode == "phase" else found
    return frequencies, times, _placed(found, axis)


@on_tensors("signal.stft", arrays=("x",), host_reason=_function)
def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> Any:
    """Return frequencies, times, and the transforms of pieces of a signal."""
    kind = {"psd": "density", "spectrum": "spectrum"}[scaling]
    settings = (window, nperseg, noverlap, nfft, detrend, return_onesided, kind, axis)
    frequencies, times, found, *_ = _in_time(x, fs, settings, boundary, padded)
    return frequencies, times, _placed(found, axis)


def _added(pieces: Any, step: int) -> Any:
    """Add pieces, shape (..., size, count), each a step later than the one before."""
    size, count = pieces.shape[-2:]
    chunks = -(-size // step)
    whole = torch.nn.functional.pad(pieces.mT, (0, chunks * step - size))
    whole = whole.unflatten(-1, (chunks, step))
    found = pieces.new_zeros((*pieces.shape[:-2], count + chunks - 1, step))
    for i in range(chunks):
        found.narrow(-2, i, count).add_(whole[..., i, :])
    return found.flatten(-2)[..., : size + (count - 1) * step]


@on_tensors("signal.istft", arrays=("Zxx",), tolerance=4096)
def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: Any = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> Any:
    """Return times, and the signal that has these transforms of pieces."""
    (z,) = parts.floats(Zxx)
    time_axis, freq_axis = (parts.axis_of(axis, z.ndim) for axis in (time_axis, freq_axis))
    if z.ndim < 2 or time_axis == freq_axis or scaling not in ("spectrum", "psd"):
        raise ValueError("Input stft must be at least 2d, and of differing axes!")
    z = z.movedim((freq_axis, time_axis), (-2, -1))
    bins = z.shape[-2]
    usual = 2 * (bins - 1) if input_onesided else bins
    count = usual if nperseg is None else int(nperseg)
    if nfft is None and not (input_onesided and count == usual + 1):
        nfft = usual
        if nfft < count:
            raise ValueError("the transforms are shorter than nperseg")
    step, length = _lengths(count, noverlap, nfft)
    if isinstance(window, str | tuple):
        weights = parts.window_of(window, count, z)
    else:
        weights = parts.tensors(window)[0].to(z.device, parts.real_dtype(z.dtype))
        if weights.shape != (count,):
            raise ValueError(f"window must have length of {count}")
    inverse = torch.fft.irfft if input_onesided else torch.fft.ifft
    pieces = inverse(z, length, -2)[..., :count, :] * weights[:, None]
    level = weights.sum() if scaling == "spectrum" else torch.sqrt(fs * (weights**2).sum())
    found = _added(pieces * level, step)
    norm = _added((weights**2)[:, None].expand(-1, z.shape[-1]), step)
    if boundary and count < 2:
        raise ValueError("SciPy cuts everything off")
    if boundary:
        inner = slice(count // 2, found.shape[-1] - count // 2)
        found, norm = found[..., inner], norm[inner]
    if is_near(norm) and bool((norm <= 1e-10).any()):
        warnings.warn("NOLA condition failed, STFT may not be invertible.", stacklevel=2)
    found = found / torch.where(norm > 1e-10, norm, 1.0)
    if found.ndim > 1:
        found = found.movedim(-1, time_axis - (freq_axis < time_axis))
    times = np.arange(found.shape[0]) / float(fs)
    return torch.from_numpy(times).to(z.device), found


# -- Conditions -----------------------------------------------------------------------------


def _sums(window: Any, nperseg: int, noverlap: int, power: int) -> Any:
    """Return the sum of a window's powers over its pieces, in the middle of a signal."""
    if nperseg < 1 or noverlap >= nperseg or noverlap < 0:
        raise ValueError("nperseg must be positive, noverlap less and not negative")
    (found,) = parts.floats(window)
    if found.shape != (nperseg,):
        raise ValueError("window must have length of nperseg")
    step = int(nperseg) - int(noverlap)
    lacking = -int(nperseg) % step
    return torch.nn.functional.pad(found**power, (0, lacking)).reshape(-1, step).sum(0)


@on_tensors(
    "signal.check_COLA", arrays=("window",), host_reason=on_a_cpu("NumPy's median sorts less")
)
def _check_cola(window: Any, nperseg: int, noverlap: int, tol: float = 1e-10) -> Any:
    """Whether windows add up to a constant."""
    sums = torch.sort(_sums(window, nperseg, noverlap, 1)).values
    middle = (sums[(sums.shape[0] - 1) // 2] + sums[sums.shape[0] // 2]) / 2
    return torch.abs(sums - middle).amax() < tol


@on_tensors("signal.check_NOLA", arrays=("window",))
def _check_nola(window: Any, nperseg: int, noverlap: int, tol: float = 1e-10) -> Any:
    """Whether squares of windows add up to more than nothing everywhere."""
    return _sums(window, nperseg, noverlap, 2).amin() > tol
