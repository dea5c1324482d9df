"""Cosine and sine transforms by Fourier transforms (Makhoul 1980), along the last axis."""

from __future__ import annotations

import math
import os
from typing import Any

import torch


def as_floats(x: torch.Tensor) -> torch.Tensor:
    """Return floats or complex numbers; SciPy widens integers to float64."""
    if x.is_floating_point() or x.is_complex():
        return x
    return x.to(torch.float64)


def check_workers(workers: Any) -> None:
    """Raise ValueError where SciPy does; torch has its own number of threads."""
    if workers is not None and (workers == 0 or workers < -(os.cpu_count() or 1)):
        raise ValueError("workers out of range")


def _turned(x: torch.Tensor, n: int, start: float, step: float) -> Any:
    """Return exp(-i pi (start + step k)) for k = 0, 1, ..., computed in 64 bit."""
    k = torch.arange(n, device=x.device, dtype=torch.float64)
    angle = -math.pi * (start + step * k)
    found = torch.complex(torch.cos(angle), torch.sin(angle))
    return found.to(torch.complex64 if x.dtype == torch.float32 else torch.complex128)


def _cosine_1(x: torch.Tensor) -> Any:
    n = x.shape[-1]
    if n < 2:
        raise ValueError("DCT-I is not defined for one point")
    return torch.fft.rfft(torch.cat([x, torch.flip(x[..., 1 : n - 1], (-1,))], -1)).real


def _cosine_2(x: torch.Tensor) -> Any:
    """Even elements forward and odd ones backward have the same transform, but for a turn."""
    n = x.shape[-1]
    mixed = torch.cat([x[..., ::2], torch.flip(x[..., 1::2], (-1,))], -1)
    found = torch.fft.rfft(mixed)
    found = found * (2 * _turned(x, n // 2 + 1, 0, 1 / (2 * n)))
    rest = torch.flip(found[..., 1 : (n + 1) // 2], (-1,))
    return torch.cat([found.real, -rest.imag], -1)


def _cosine_3(x: torch.Tensor) -> Any:
    """The steps of `_cosine_2` backwards."""
    n = x.shape[-1]
    back = torch.nn.functional.pad(torch.flip(x[..., 1:], (-1,)), (1, 0))[..., : n // 2 + 1]
    half = torch.complex(x[..., : n // 2 + 1].contiguous(), -back.contiguous())
    half = half * torch.conj_physical(_turned(x, n // 2 + 1, 0, 1 / (2 * n)))
    mixed = torch.fft.irfft(half, n, norm="forward")
    found = torch.empty_like(mixed)
    found[..., ::2] = mixed[..., : (n + 1) // 2]
    found[..., 1::2] = torch.flip(mixed[..., (n + 1) // 2 :], (-1,))
    return found


def _cosine_4(x: torch.Tensor) -> Any:
    n = x.shape[-1]
    if n % 2:
        start = x * _turned(x, n, 0, 1 / (2 * n))
        found = torch.fft.fft(start, 2 * n)[..., :n]
        return 2 * (found * _turned(x, n, 1 / (4 * n), 1 / (2 * n))).real
    # Two real halves make one complex transform of half the size.
    even, odd = x[..., ::2].contiguous(), torch.flip(x[..., 1::2], (-1,))
    both = torch.fft.fft(torch.complex(even, odd) * _turned(x, n // 2, 1 / (4 * n), 1 / n))
    both = 2 * both * _turned(x, n // 2, 0, 1 / n)
    return torch.stack([both.real, -torch.flip(both.imag, (-1,))], -1).flatten(-2)


def _sine_1(x: torch.Tensor) -> Any:
    zero = torch.zeros_like(x[..., :1])
    whole = torch.cat([zero, x, zero, -torch.flip(x, (-1,))], -1)
    return -torch.fft.rfft(whole)[..., 1 : x.shape[-1] + 1].imag


def _alternating(x: torch.Tensor) -> torch.Tensor:
    """Return every second element with the other sign."""
    signs = 1 - 2 * (torch.arange(x.shape[-1], device=x.device) % 2)
    return x * signs.to(x.dtype)


def _sine(x: torch.Tensor, kind: int) -> Any:
    """Return a sine transform: a cosine transform of what is turned round, with signs."""
    if kind == 1:
        return _sine_1(x)
    if kind == 2:
        return torch.flip(_cosine_2(_alternating(x)), (-1,))
    if kind == 3:
        return _alternating(_cosine_3(torch.flip(x, (-1,))))
    return _alternating(_cosine_4(torch.flip(x, (-1,))))


def _cosine(x: torch.Tensor, kind: int) -> Any:
    return {1: _cosine_1, 2: _cosine_2, 3: _cosine_3, 4: _cosine_4}[kind](x)


_ROOT = math.sqrt(2)


def _ends(sine: bool, kind: int) -> tuple[int, ...]:
    """Return which elements have another weight in the orthogonal form."""
    if kind == 1:
        return () if sine else (0, -1)
    return (-1,) if sine else (0,)


def _weighted(x: torch.Tensor, places: tuple[int, ...], factor: float) -> torch.Tensor:
    n = x.shape[-1]
    index = torch.arange(n, device=x.device)
    for place in places:
        x = torch.where(index == place % n, x * factor, x)
    return x


def transformed(
    x: torch.Tensor, sine: bool, kind: int, inverse: bool, norm: str | None, orthogonal: bool
) -> Any:
    """Return a cosine or sine transform along the last axis, as SciPy scales it."""
    n = x.shape[-1]
    size = 2 * (n + (kind == 1) * (1 if sine else -1))
    if inverse:
        kind = {2: 3, 3: 2}.get(kind, kind)
    if orthogonal and kind in (1, 3):
        x = _weighted(x, _ends(sine, kind), _ROOT)
    found = _sine(x, kind) if sine else _cosine(x, kind)
    if orthogonal and kind in (1, 2):
        found = _weighted(found, _ends(sine, kind), 1 / _ROOT)
    if norm == "ortho":
        return found / math.sqrt(size)
    scaled = (norm in (None, "backward")) == inverse
    return found / size if scaled else found
