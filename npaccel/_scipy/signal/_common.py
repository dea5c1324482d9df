"""Helpers of the modules of `scipy.signal`: dtypes, axes, borders, convolution, on tensors."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import common_dtype
from npaccel._scipy.dispatch.checks import is_near

#: Tensors.
Tensor = Any
#: Number of taps from which products with a matrix of weights are faster than a pass for each tap.
_FEW_TAPS = 3
#: Outputs in a block, and up to how many taps: what is fastest on a CPU.
_BLOCKS = ((24, 24), (32, 64), (64, 150), (128, 400), (256, math.inf))
#: Maximum number of passes off a CPU, where no value is read.
_MANY_TAPS = 128


# -- Arguments ------------------------------------------------------------------------------


def tensors(*values: Any) -> list[Tensor]:
    """Return numbers, lists, arrays and tensors as tensors on the device of the tensors."""
    device = next((v.device for v in values if isinstance(v, torch.Tensor)), torch.device("cpu"))
    return [
        v.to(device)
        if isinstance(v, torch.Tensor)
        else torch.as_tensor(np.asarray(v), device=device)
        for v in values
    ]


def floats(*values: Any) -> list[Tensor]:
    """Return values as tensors of one float or complex dtype; of integers it is float64."""
    found = tensors(*values)
    dtype = common_dtype(*found)
    dtype = dtype if dtype.is_complex or dtype.is_floating_point else torch.float64
    return [one.to(dtype) for one in found]


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is out of bounds")
    return int(axis) % rank


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of the parts of a complex one."""
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


def numbers(values: Any, like: Tensor) -> Tensor:
    """Return numbers, computed by NumPy, as a tensor of a tensor's device and dtype."""
    found = torch.from_numpy(np.ascontiguousarray(values))
    dtype = like.dtype if found.dtype.is_complex == like.dtype.is_complex else None
    if dtype is None:
        dtype = real_dtype(like.dtype)
        dtype = torch.promote_types(dtype, torch.complex64) if found.dtype.is_complex else dtype
    return found.to(device=like.device, dtype=dtype)


def window_of(window: Any, size: int, like: Tensor, periodic: bool = True) -> Tensor:
    """Return a window of SciPy's by name, in the real dtype of a tensor."""
    found = importlib.import_module("scipy.signal").get_window(window, size, fftbins=periodic)
    return torch.from_numpy(np.asarray(found)).to(like.device, real_dtype(like.dtype))


# -- Borders --------------------------------------------------------------------------------


def extended(x: Tensor, count: int, kind: str | None) -> Tensor:
    """Return x with more elements at both ends of the last axis.

    Parameters
    ----------
    x : torch.Tensor
    count : int
        How many at each end.
    kind : {"odd", "even", "reflect", "constant", "zeros", None}
        Turned by half a turn about the end, mirrored at it or at the edge beyond it,
        the end itself, zeros; None: none.
    """
    if count < 1 or kind is None:
        return x
    if kind == "zeros":
        return torch.nn.functional.pad(x, (count, count))
    n = x.shape[-1]
    if kind == "constant":
        left, right = x[..., :1], x[..., -1:]
        shape = (*x.shape[:-1], count)
        return torch.cat([left.expand(shape), x, right.expand(shape)], -1)
    skip = 0 if kind == "reflect" else 1
    if count > n - skip:
        raise ValueError("the extension is longer than the signal")
    left = torch.flip(x[..., skip : count + skip], (-1,))
    right = torch.flip(x[..., n - skip - count : n - skip], (-1,))
    if kind == "odd":
        left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
    elif kind not in ("even", "reflect"):
        raise ValueError(f"unknown extension {kind}")
    return torch.cat([left, x, right], -1)


def centred(x: Tensor, shape: Sequence[int], axes: Sequence[int]) -> Tensor:
    """Return the middle of an array."""
    for axis in axes:
        start = (x.shape[axis] - shape[axis]) // 2
        x = x.narrow(axis, start, shape[axis])
    return x


def cut(x: Tensor, mode: str, first: Sequence[int], second: Sequence[int], axes: Any) -> Tensor:
    """Return the part of a full convolution that a mode asks for."""
    if mode == "full":
        return x
    if mode == "same":
        return centred(x, first, axes)
    if mode != "valid":
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    sizes = list(first)
    for axis in axes:
        sizes[axis] = first[axis] - second[axis] + 1
    return centred(x, sizes, axes)


def swapped(mode: str, first: Sequence[int], second: Sequence[int], axes: Any) -> bool:
    """Whether the second array is the larger one, in a mode where that matters."""
    if mode not in ("full", "same", "valid"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    if mode != "valid" or not len(axes):
        return False
    if all(first[a] >= second[a] for a in axes):
        return False
    if any(second[a] < first[a] for a in axes):
        raise ValueError("one input must be at least as large as the other in every dimension")
    return True


# -- Convolution ----------------------------------------------------------------------------


def all_finite(*arrays: Tensor) -> bool:
    """Whether arrays on a CPU are finite: mostly one sum says so."""
    return all(bool(torch.isfinite(a.sum()) or torch.isfinite(a).all()) for a in arrays)


def _by_matrix(x: Tensor, w: Tensor) -> Tensor:
    """Convolve along the last axis: blocks of x times a matrix with w on its diagonals."""
    k = w.shape[0]
    count = x.shape[-1] + k - 1
    block = next(size for size, most in _BLOCKS if k <= most)
    rows = -(-count // block)
    whole = torch.nn.functional.pad(x, (k - 1, rows * block - x.shape[-1]))
    pieces = whole.unfold(-1, block + k - 1, block)
    lines = torch.nn.functional.pad(torch.flip(w, (0,)), (0, block)).repeat(block)
    weights = lines[: block * (block + k - 1)].reshape(block, block + k - 1)
    return (pieces @ weights.mT).flatten(-2)[..., :count]


def _by_taps(x: Tensor, w: Tensor) -> Tensor:
    """Convolve along the last axes, a pass for each weight: what isn't finite stays where it is."""
    rank, batch = w.ndim, x.ndim - w.ndim
    if rank > 1 or torch.compiler.is_compiling():  # SciPy multiplies with zeros around images
        edges = [size - 1 for size in reversed(w.shape) for _ in range(2)]
        whole, found = torch.nn.functional.pad(x, edges), None
        sizes = [a + b - 1 for a, b in zip(x.shape[batch:], w.shape, strict=True)]
        for place in itertools.product(*map(range, w.shape)):
            starts = [n - 1 - i for n, i in zip(w.shape, place, strict=True)]
            at: Any = (..., *(slice(a, a + n) for a, n in zip(starts, sizes, strict=True)))
            part = whole[at]
            found = part * w[place] if found is None else found + part * w[place]
        return found
    found = x.new_zeros((*x.shape[:batch], *(a + b - 1 for a, b in _pairs(x, w))))
    for i in range(w.shape[0]):
        found.narrow(-1, i, x.shape[-1]).add_(x * w[i])
    return found


def _pairs(x: Tensor, w: Tensor) -> Any:
    return zip(x.shape[x.ndim - w.ndim :], w.shape, strict=True)


def convolved(x: Tensor, w: Tensor) -> Tensor:
    """Convolve in full along the last axes, as many as w has, by sums of products.

    Parameters
    ----------
    x, w : torch.Tensor
        Of one dtype. Not empty.
    """
    taps = w.numel()
    exact = not (x.is_floating_point() or x.is_complex())
    if exact or taps < _FEW_TAPS or (taps <= _MANY_TAPS and not is_near(x)):
        return _by_taps(x, w)
    if is_near(x) and not all_finite(x, w):
        return _by_taps(x, w)
    if w.ndim == 1:
        return _by_matrix(x, w)
    rank = w.ndim
    lines = (*x.shape[:-1], x.shape[-1] + w.shape[-1] - 1)
    found = x.new_zeros((*x.shape[: x.ndim - rank], *(a + b - 1 for a, b in _pairs(x, w))))
    for place in itertools.product(*map(range, w.shape[:-1])):
        part = found
        for i, start in enumerate(place):
            axis = x.ndim - rank + i
            part = part.narrow(axis, start, lines[axis])
        part += _by_matrix(x, w[place])
    return found


def convolved_by_fft(x: Tensor, w: Tensor, axes: Sequence[int]) -> Tensor:
    """Convolve in full along axes by Fourier transforms; the others broadcast."""
    next_fast_len = importlib.import_module("scipy.fft").next_fast_len
    is_complex = x.is_complex() or w.is_complex()
    axes = [a for a in axes if x.shape[a] != 1 and w.shape[a] != 1]
    if not axes:
        return x * w
    sizes = [x.shape[a] + w.shape[a] - 1 for a in axes]
    fast = [next_fast_len(int(size), not is_complex) for size in sizes]
    if _in_pieces(x, w, axes):
        return _by_pieces(x, w, axes[0], sizes[0])
    if is_complex:
        found = torch.fft.ifftn(
            torch.fft.fftn(x, fast, axes) * torch.fft.fftn(w, fast, axes), fast, axes
        )
    else:
        found = torch.fft.irfftn(
            torch.fft.rfftn(x, fast, axes) * torch.fft.rfftn(w, fast, axes), fast, axes
        )
    for axis, size in zip(axes, sizes, strict=True):
        found = found.narrow(axis, 0, size)
    return found


def _in_pieces(x: Tensor, w: Tensor, axes: Sequence[int]) -> bool:
    """Whether one array is short enough beside the other for parts of that to be worth it.

    A NaN would spread over its piece only, so there must be none.
    """
    if len(axes) != 1 or not is_near(x):
        return False
    short, long = sorted((x.shape[axes[0]], w.shape[axes[0]]))
    return long >= 2**15 and long >= 8 * short and all_finite(x, w)


def _by_pieces(x: Tensor, w: Tensor, axis: int, count: int) -> Tensor:
    """Convolve along an axis by transforms of pieces that overlap (Helms 1967)."""
    x, w = x.movedim(axis, -1), w.movedim(axis, -1)
    if x.shape[-1] < w.shape[-1]:
        x, w = w, x
    taps = w.shape[-1]
    size = max(4096, 1 << (4 * taps - 1).bit_length())
    step = size - taps + 1
    rows = -(-count // step)
    whole = torch.nn.functional.pad(x, (taps - 1, rows * step - x.shape[-1]))
    pieces, weights = whole.unfold(-1, size, step), w.unsqueeze(-2)
    if x.is_complex() or w.is_complex():
        found = torch.fft.ifft(torch.fft.fft(pieces) * torch.fft.fft(weights, size))
    else:
        found = torch.fft.irfft(torch.fft.rfft(pieces) * torch.fft.rfft(weights, size), size)
    return found[..., taps - 1 :].flatten(-2)[..., :count].movedim(-1, axis)
