"""Resampling: other rates of sampling, in `scipy.signal`."""

from __future__ import annotations

import importlib
import math
import operator
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.checks import is_near
from npaccel._scipy.dispatch.sorting import in_order
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.signal import _common as parts
from npaccel._scipy.signal.filters import _ON_A_CPU, sosfilt, sosfiltfilt

#: Backgrounds that are taken away before, and added afterwards.
_BACKGROUNDS = ("mean", "median", "minimum", "maximum")


# -- Polyphase filters ----------------------------------------------------------------------


def _places(up: int, down: int, offset: int, first: int, count: int, like: Any) -> tuple[Any, Any]:
    """Return the phases of outputs, and the last input that each of them sees."""
    place = torch.arange(first, first + count, device=like.device) * down + offset
    return place % up, torch.div(place, up, rounding_mode="floor")


def _by_taps(x: Any, phases: Any, places: tuple[Any, Any], before: int) -> Any:
    """Sum the taps of each output, one tap after the other; x begins that many samples earlier."""
    phase, last = places
    found = 0
    for j in range(phases.shape[1]):
        found = found + phases[phase, j] * torch.index_select(x, -1, last - j + before)
    return found


def _by_matrix(
    x: Any, phases: Any, up: int, down: int, offset: int, count: int, before: int
) -> Any:
    """Multiply pieces of x with a matrix that has the taps of some outputs in a row each."""
    taps = phases.shape[1]
    period, step = up // math.gcd(up, down), down // math.gcd(up, down)
    times = max(1, -(-taps // step), -(-16 // period))
    period, step = period * times, step * times
    phase, last = _places(up, down, offset, 0, period, x)
    start = offset // up - taps + 1  # the first input that the first output sees
    span = (offset + (period - 1) * down) // up - start + 1
    behind = last[:, None] - start - torch.arange(span, device=x.device)
    inside = (behind >= 0) & (behind < taps)
    weights = torch.where(inside, phases[phase[:, None], torch.clamp(behind, 0, taps - 1)], 0)
    rows = -(-count // period)
    begin = start + before
    lacking = max(0, begin + (rows - 1) * step + span - x.shape[-1])
    pieces = torch.nn.functional.pad(x, (0, lacking))[..., begin:].unfold(-1, span, step)
    return (pieces[..., :rows, :] @ weights.mT).flatten(-2)[..., :count]


def _polyphase(x: Any, h: Any, up: int, down: int, offset: int, count: int) -> Any:
    """Return x with zeros between its samples, filtered, every `down`-th sample from an offset.

    Parameters
    ----------
    x : torch.Tensor
        Along the last axis.
    h : torch.Tensor
    up, down : int
    offset : int
        Which sample, at the higher rate, is the first one. Not negative.
    count : int
        How many samples.
    """
    taps = -(-h.shape[0] // up)
    phases = torch.nn.functional.pad(h, (0, taps * up - h.shape[0])).reshape(taps, up).mT
    before = taps - 1
    after = max(0, (offset + (count - 1) * down) // up + 1 - x.shape[-1])
    whole = torch.nn.functional.pad(x, (before, after))
    if is_near(x):
        few = not parts.all_finite(x, h)
    else:
        few = taps <= 64
    if few:
        return _by_taps(whole, phases, _places(up, down, offset, 0, count, x), before)
    return _by_matrix(whole, phases, up, down, offset, count, before)


def _upsampled_length(taps: int, size: int, up: int, down: int) -> int:
    return ((size - 1) * up + taps - 1) // down + 1


def _zeros_around(bound: dict[str, Any]) -> str:
    return _not_zeros(bound.get("mode", bound.get("padtype")), bound["cval"])


def _only_zeros(mode: Any, cval: Any) -> None:
    if _not_zeros(mode, cval):
        raise ValueError(_not_zeros(mode, cval))


def _not_zeros(mode: Any, cval: Any) -> str:
    """Return what is around a signal where it isn't zeros."""
    if mode not in ("constant", *_BACKGROUNDS):
        return f"outside of the signal is {mode!r}"
    return "" if cval is None or (np.ndim(cval) == 0 and cval == 0) else "`cval` isn't 0"


@on_tensors("signal.upfirdn", arrays=("h", "x"), host_reason=_zeros_around)
def upfirdn(
    h: Any,
    x: Any,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: Any = 0,
) -> Any:
    """Put zeros between samples, filter, and take every n-th."""
    h, x = parts.floats(h, x)
    up, down = operator.index(up), operator.index(down)
    if h.ndim != 1 or not h.shape[0] or up < 1 or down < 1 or mode != "constant":
        raise ValueError("Both up and down must be >= 1, and h 1-D")
    _only_zeros(mode, cval)
    axis = parts.axis_of(axis, x.ndim)
    if x.numel() == 0:
        raise ValueError("nothing to filter")
    lines = x.movedim(axis, -1)
    count = _upsampled_length(h.shape[0], lines.shape[-1], up, down)
    return _polyphase(lines, h, up, down, 0, count).movedim(-1, axis)


def _background(x: Any, padtype: str) -> Any:
    """Return what is taken away from lines."""
    if padtype == "mean":
        return x.mean(-1, keepdim=True)
    if padtype == "minimum":
        return x.amin(-1, keepdim=True)
    if padtype == "maximum":
        return x.amax(-1, keepdim=True)
    ordered, middle = in_order(x, -1), x.shape[-1] // 2
    found = (ordered[..., (x.shape[-1] - 1) // 2] + ordered[..., middle]) / 2
    return torch.where(torch.isnan(ordered[..., -1]), torch.nan, found).unsqueeze(-1)


def _lowpass(window: Any, rate: int, x: Any) -> tuple[Any, int]:
    """Return the taps of a lowpass filter, and how many come before its middle."""
    if isinstance(window, list | np.ndarray | torch.Tensor):
        (h,) = parts.tensors(window)
        if h.ndim > 1:
            raise ValueError("window must be 1-D")
        return h.to(x.device), (h.shape[0] - 1) // 2
    half = 10 * rate
    design = importlib.import_module("scipy.signal").firwin
    return parts.numbers(design(2 * half + 1, 1.0 / rate, window=window), x), half


@on_tensors("signal.resample_poly", arrays=("x",), host_reason=_zeros_around)
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: Any = None,
) -> Any:
    """Resample by a lowpass filter between two rates."""
    if int(up) != up or int(down) != down or up < 1 or down < 1:
        raise ValueError("up and down must be integers >= 1")
    if cval is not None and padtype != "constant":
        raise ValueError("cval has no effect")
    _only_zeros(padtype, cval)
    divisor = math.gcd(int(up), int(down))
    up, down = int(up) // divisor, int(down) // divisor
    if up == down == 1:
        return x.clone()
    (values,) = parts.floats(x)
    h, half = _lowpass(window, max(up, down), values)
    values, h = parts.floats(values, h)
    axis = parts.axis_of(axis, x.ndim)
    lines = values.movedim(axis, -1)
    level = _background(lines, padtype) if padtype != "constant" else None
    lines = lines if level is None else lines - level
    size, before = lines.shape[-1], down - half % down
    count, first = -(-size * up // down), (half + before) // down
    taps = (count + first - 1) * down + 1 - (size - 1) * up  # as many, or more
    h = torch.nn.functional.pad(h * up, (before, max(0, taps - h.shape[0] - before)))
    found = _polyphase(lines, h, up, down, first * down, count)
    return (found if level is None else found + level).movedim(-1, axis)


def _designed(bound: dict[str, Any]) -> str:
    if bound["ftype"] == "fir":
        return ""
    if bound["ftype"] != "iir":
        return "`ftype` is a system"
    return _ON_A_CPU if free_for_scipy(bound) else ""


@on_tensors("signal.decimate", arrays=("x",), host_reason=_designed, tolerance=2**14)
def decimate(
    x: Any,
    q: int,
    n: int | None = None,
    ftype: Any = "iir",
    axis: int = -1,
    zero_phase: bool = True,
) -> Any:
    """Filter, and take every q-th sample."""
    q = operator.index(q)
    if ftype not in ("fir", "iir"):
        raise ValueError("invalid ftype")
    (x,) = parts.floats(x)
    axis = parts.axis_of(axis, x.ndim)
    signal = importlib.import_module("scipy.signal")
    if ftype == "fir":
        count = 20 * q if n is None else operator.index(n)
        taps = parts.numbers(signal.firwin(count + 1, 1.0 / q, window="hamming"), x)
        if zero_phase:
            return resample_poly(x, 1, q, axis, taps)
        return upfirdn(taps, x, 1, q, axis).narrow(axis, 0, -(-x.shape[axis] // q))
    sos = signal.cheby1(8 if n is None else operator.index(n), 0.05, 0.8 / q, output="sos")
    if not zero_phase:
        found = sosfilt(parts.numbers(sos, x), x, axis)
    else:
        taps = 2 * len(sos) + 1 - min((sos[:, 2] == 0).sum(), (sos[:, 5] == 0).sum())
        found = sosfiltfilt(parts.numbers(sos, x), x, axis, padlen=3 * int(taps))
    return found[(slice(None),) * axis + (slice(None, None, q),)].contiguous()


# -- By Fourier transforms ------------------------------------------------------------------


def _weights(window: Any, size: int, x: Any) -> Any:
    """Return the weights of frequencies, in the order of a Fourier transform."""
    if isinstance(window, torch.Tensor | np.ndarray):
        (found,) = parts.tensors(window)
        if found.shape != (size,):
            raise ValueError("window length is not equal to number of frequency bins")
        return found.to(x.device)
    return torch.fft.fftshift(parts.window_of(window, size, x))


def _called(bound: dict[str, Any]) -> str:
    called = callable(bound["window"]) and not isinstance(bound["window"], torch.Tensor)
    return "`window` is a function" if called else ""


@on_tensors("signal.resample", arrays=("x",), host_reason=_called)
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Resample by taking or adding frequencies."""
    if domain not in ("time", "freq") or num < 1:
        raise ValueError("domain must be 'time' or 'freq'")
    (lines,) = parts.floats(x)
    axis = parts.axis_of(axis, x.ndim)
    lines = lines.movedim(axis, -1)
    size = lines.shape[-1]
    weights = None if window is None else _weights(window, size, lines)
    if domain == "time" and not lines.is_complex():
        found = _resampled_real(lines, int(num), weights)
    else:
        spectrum = torch.fft.fft(lines) if domain == "time" else lines
        spectrum = spectrum if weights is None else spectrum * weights
        found = torch.fft.ifft(_fitted(spectrum, int(num)) * (num / size))
    found = found.movedim(-1, axis)
    if t is None:
        return found
    (t,) = parts.tensors(t)
    place = torch.arange(int(num), device=x.device, dtype=torch.float64)
    return found, t[0] + (t[1] - t[0]) * (size / num) * place


def _resampled_real(x: Any, num: int, weights: Any) -> Any:
    size = x.shape[-1]
    spectrum = torch.fft.rfft(x)
    if weights is not None:
        count = spectrum.shape[-1]
        folded = (weights[1:count] + torch.flip(weights, (0,))[: count - 1]) / 2
        spectrum = spectrum * torch.cat([weights[:1], folded])
    least = min(num, size)
    spectrum = spectrum[..., : least // 2 + 1]
    if least % 2 == 0 and num != size:
        spectrum[..., -1:].mul_(2.0 if num < size else 0.5)
    return torch.fft.irfft(spectrum, num).mul_(num / size)


def _fitted(spectrum: Any, num: int) -> Any:
    """Return a spectrum with fewer or more frequencies; the highest one may be halved or summed."""
    size = spectrum.shape[-1]
    least = min(num, size)
    head, tail = spectrum[..., : least // 2 + 1], spectrum[..., size - (least - 1) // 2 :]
    between = spectrum.new_zeros((*spectrum.shape[:-1], max(0, num - size - (least % 2 == 0))))
    if least % 2 == 0 and num != size:
        edge = head[..., -1:]
        if num < size:
            edge = edge + spectrum[..., size - least // 2 : size - least // 2 + 1]
        else:
            edge = edge / 2
            tail = torch.cat([edge, tail], -1)
        head = torch.cat([head[..., :-1], edge], -1)
    return torch.cat([head, between, tail], -1)
