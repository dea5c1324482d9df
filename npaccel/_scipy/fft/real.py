"""Cosine and sine transforms of `scipy.fft`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from npaccel._numpy.ufuncs.dispatch import named
from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.fft._trigonometric import as_floats, check_workers, transformed

through_host(
    "fft.fhtoffset fft.fftfreq fft.rfftfreq fft.next_fast_len fft.prev_fast_len",
    "takes no arrays",
    takes_arrays=False,
    is_pure=True,
)
through_host(
    "fft.get_workers fft.register_backend fft.set_backend fft.set_global_backend fft.set_workers "
    "fft.skip_backend",
    "takes no arrays",
    takes_arrays=False,
)

_REAL = on_a_cpu("SciPy's real transforms take half of the complex ones' work")


def _resized(x: torch.Tensor, n: int | None, axis: int) -> Any:
    """Return x with n elements along an axis: cut, or zeros at the end."""
    if n is None:
        n = x.shape[axis]
    if n < 1:
        raise ValueError(f"invalid number of data points ({n}) specified")
    if n <= x.shape[axis]:
        return x.narrow(axis, 0, n)
    shape = list(x.shape)
    shape[axis] = n - x.shape[axis]
    return torch.cat([x, x.new_zeros(shape)], axis)


def _along(
    x: torch.Tensor, axes: Sequence[int], sine: bool, kind: int, inverse: bool, norm: Any, own: Any
) -> Any:
    """Transform along axes, one after the other; complex numbers part by part."""
    if kind not in (1, 2, 3, 4):
        raise ValueError("invalid type")
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"Invalid norm value {norm!r}")
    orthogonal = norm == "ortho" if own is None else bool(own)
    if x.is_complex():
        parts = torch.stack([x.real, x.imag])
        parts = _along(parts, [a % x.ndim + 1 for a in axes], sine, kind, inverse, norm, own)
        return torch.complex(parts[0], parts[1])
    for axis in axes:
        line = transformed(x.movedim(axis, -1), sine, kind, inverse, norm, orthogonal)
        x = line.movedim(-1, axis)
    return x


def _line(name: str, sine: bool, inverse: bool) -> None:
    def function(
        x: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        """Transform along one axis."""
        check_workers(workers)
        x = _resized(as_floats(x), n, axis)
        return _along(x, (axis,), sine, type, inverse, norm, orthogonalize)

    globals()[name] = on_tensors(f"fft.{name}", arrays=("x",), host_reason=_REAL)(
        named(function, name, __name__)
    )


def _lengths(x: torch.Tensor, s: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Return lengths and axes as SciPy completes them."""
    s = None if s is None else [operator.index(n) for n in (s if _many(s) else (s,))]
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(x.ndim - count, x.ndim)
    axes = [operator.index(a) for a in (axes if _many(axes) else (axes,))]
    if len({a % max(x.ndim, 1) for a in axes}) != len(axes):
        raise ValueError("all axes must be unique")
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise ValueError("axes exceeds dimensionality of input")
    if s is None:
        s = [x.shape[a] for a in axes]
    if len(s) != len(axes):
        raise ValueError("axes and shape arguments have to be of the same length")
    return [x.shape[a] if n == -1 else n for n, a in zip(s, axes, strict=True)], axes


def _many(value: Any) -> bool:
    return isinstance(value, Sequence | range)


def _axes(name: str, sine: bool, inverse: bool) -> None:
    def function(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        """Transform along several axes."""
        check_workers(workers)
        x = as_floats(x)
        lengths, places = _lengths(x, s, axes)
        for n, axis in zip(lengths, places, strict=True):
            x = _resized(x, n, axis)
        return _along(x, places, sine, type, inverse, norm, orthogonalize)

    globals()[name] = on_tensors(f"fft.{name}", arrays=("x",), host_reason=_REAL)(
        named(function, name, __name__)
    )


for _prefix, _inverse in (("", False), ("i", True)):
    for _kind, _is_sine in (("dct", False), ("dst", True)):
        _line(f"{_prefix}{_kind}", _is_sine, _inverse)
        _axes(f"{_prefix}{_kind}n", _is_sine, _inverse)
