"""`numpy.fft`: the transforms, their frequencies and shifts."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, check_placed, deliver, probe
from npaccel._numpy.core.context import settings
from npaccel._numpy.core.dtypes import (
    DType,
    as_dtype,
    as_tensor,
    cast,
    default_float,
    narrow,
    to_numpy,
    to_torch,
)
from npaccel._numpy.core.layouts import lying_like
from npaccel._numpy.core.table import implements
from npaccel._numpy.manipulation.manipulation import roll
from npaccel._numpy.ufuncs.dispatch import named
from npaccel._runtime.torch.symbolic_sizes import holds_here, surely

_NORMS = (None, "backward", "ortho", "forward")
_HALF = "float16 is scaled in float32, where NumPy rounds the scale to float16"
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
Transform = Callable[..., torch.Tensor]


def _writes(name: str) -> bool:
    """Whether the installed NumPy writes to `out`, which some of its transforms overlook."""
    function = getattr(np.fft, name)
    if "out" not in inspect.signature(function).parameters:
        return False
    data = np.ones((2, 2))
    out = np.full_like(function(data), 99)
    function(data, out=out)
    return not bool((out == 99).all())


_WRITES = {name: _writes(name) for name in ("hfft", "ifft2", "irfft2")}


def _check_norm(norm: Any) -> None:
    if norm not in _NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


def _check_points(n: Any) -> None:
    if holds_here(n < 1, "there are no points"):
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")


def _complex_dtype(x: torch.Tensor) -> DType:
    own = to_numpy(x.dtype)
    return narrow(as_dtype(np.fft.fft(probe(x)).dtype), [own])


def _as_complex(a: Any) -> torch.Tensor:
    x = as_tensor(a)
    return cast(x, _complex_dtype(x))


def _as_real(a: Any, name: str) -> torch.Tensor:
    """Return real data in the precision of the transform.

    Raises
    ------
    TypeError
        If the data are complex.
    """
    x = as_tensor(a)
    if x.is_complex():
        raise TypeError(
            f"ufunc '{name}' did not contain a loop with signature matching types: "
            f"{name} takes real data; use {name.replace('r', '', 1)} for complex"
        )
    real = np.empty(0, _complex_dtype(x)).real.dtype
    return cast(x, as_dtype(real))


def _line(transform: Transform, x: torch.Tensor, n: Any, axis: int, norm: Any) -> torch.Tensor:
    """Transform along one axis, padded or cut to n points."""
    if n is not None:
        _check_points(n)
    _check_norm(norm)
    axis = axis_of(axis, x.ndim)
    if n is None:
        _check_points(x.shape[axis])
    found: torch.Tensor = _transformed(transform, x, n, axis, norm)
    return found


def _transformed(transform: Transform, x: torch.Tensor, n: Any, axis: int, norm: Any) -> Any:
    """Transform along one axis; torch refuses arrays without lines, so one line is cut off."""
    empty = [i != axis and surely(size == 0) for i, size in enumerate(x.shape)]
    if not any(empty):
        return _lying_as(x, transform(x, n=n, dim=axis, norm=norm))
    line = x.new_zeros([1 if none else size for none, size in zip(empty, x.shape, strict=True)])
    found = transform(line, n=n, dim=axis, norm=norm)
    return found[tuple(slice(0 if none else None) for none in empty)]


def _lying_as(x: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """Return a transform that lies in memory as what is transformed, as NumPy's does."""
    return found if found.ndim < 2 else lying_like(found, x)


def _declare_line(name: str, transform: Transform, complex_input: bool) -> None:
    def function(
        a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None
    ) -> torch.Tensor:
        """Transform along one axis."""
        x = _as_complex(a) if complex_input else _as_real(a, name)
        return deliver(_line(transform, x, n, axis, norm), out)

    # The name under which a printed graph can be imported.
    globals()[name] = implements(getattr(np.fft, name), note=_HALF)(named(function, name, __name__))


_declare_line("fft", torch.fft.fft, complex_input=True)
_declare_line("ifft", torch.fft.ifft, complex_input=True)
_declare_line("rfft", torch.fft.rfft, complex_input=False)


@implements(np.fft.irfft, note=_HALF)
def irfft(
    a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None
) -> torch.Tensor:
    """`numpy.fft.irfft`, to ``2 * (m - 1)`` points unless told."""
    given = as_tensor(a)
    x = _as_complex(given)
    if n is None:
        n = (x.shape[axis_of(axis, x.ndim)] - 1) * 2
    return deliver(_as_given(_line(torch.fft.irfft, x, n, axis, norm), given), out)


def _as_given(found: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    """Return real results in float16 where the data are: they alone keep it."""
    return found.to(torch.float16) if given.dtype == torch.float16 else found


@implements(np.fft.hfft, note=_HALF)
def hfft(
    a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None
) -> torch.Tensor:
    """`numpy.fft.hfft`, of a signal with Hermitian symmetry."""
    _check_norm(norm)
    given = as_tensor(a)
    found = irfft(torch.conj_physical(_as_complex(given)), n, axis, _SWAPPED[norm])
    return deliver(_as_given(found, given), out if _WRITES["hfft"] else None)


@implements(np.fft.ihfft, note=_HALF)
def ihfft(
    a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None
) -> torch.Tensor:
    """`numpy.fft.ihfft`."""
    _check_norm(norm)
    found = _line(torch.fft.rfft, _as_real(a, "ihfft"), n, axis, _SWAPPED[norm])
    return deliver(torch.conj_physical(found), out)


def _sizes(
    x: torch.Tensor, s: Any, axes: Any, inverse_real: bool = False
) -> tuple[list[Any], list[int]]:
    """Return the numbers of points and the axes of an n-dimensional transform."""
    if s is None:
        given = list(range(x.ndim)) if axes is None else [operator.index(i) for i in axes]
        axes = [axis_of(i, x.ndim) for i in given]
        sizes = [x.shape[i] for i in axes]
        if inverse_real:
            sizes[-1] = (sizes[-1] - 1) * 2
        return sizes, axes
    sizes = list(s)
    axes = list(range(-len(sizes), 0)) if axes is None else list(axes)
    if len(sizes) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    axes = [axis_of(i, x.ndim) for i in axes]
    return [
        x.shape[i] if n == -1 or n is None else n for n, i in zip(sizes, axes, strict=True)
    ], axes


def _several(
    line: Transform,
    several: Transform,
    x: torch.Tensor,
    sizes: Sequence[Any],
    axes: list[int],
    norm: Any,
) -> torch.Tensor:
    """Transform along several axes, the last one first; a repeated axis twice."""
    if not axes:
        return x  # whatever the norm
    _check_norm(norm)
    for n in sizes:
        _check_points(n)
    if len(set(axes)) == len(axes) and not surely(x.numel() == 0):
        return _lying_as(x, several(x, s=list(sizes), dim=axes, norm=norm))
    for n, axis in reversed(list(zip(sizes, axes, strict=True))):
        x = _transformed(line, x, n, axis, norm)
    return x


def _complex_nd(line: Transform, several: Transform, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    x = as_tensor(a)
    sizes, axes = _sizes(x, s, axes)
    return _several(line, several, _as_complex(x) if axes else x, sizes, axes, norm)


def _declare_nd(name: str, line: Transform, several: Transform, axes_default: Any) -> None:
    def function(
        a: Any, s: Any = None, axes: Any = axes_default, norm: Any = None, out: Any = None
    ) -> torch.Tensor:
        """Transform along several axes."""
        found = _complex_nd(line, several, a, s, axes, norm)
        writes = _WRITES.get(name, True) and (axes is None or len(axes) > 0) and np.ndim(a) > 0
        return deliver(found, out if writes else None)

    # The name under which a printed graph can be imported.
    globals()[name] = implements(getattr(np.fft, name), note=_HALF)(named(function, name, __name__))


_declare_nd("fftn", torch.fft.fft, torch.fft.fftn, None)
_declare_nd("ifftn", torch.fft.ifft, torch.fft.ifftn, None)
_declare_nd("fft2", torch.fft.fft, torch.fft.fftn, (-2, -1))
_declare_nd("ifft2", torch.fft.ifft, torch.fft.ifftn, (-2, -1))


def _no_axes(axes: list[int]) -> None:
    if not axes:
        raise IndexError("list index out of range: a real transform needs an axis")


@implements(np.fft.rfftn, note=_HALF)
def rfftn(
    a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None
) -> torch.Tensor:
    """`numpy.fft.rfftn`: real along the last axis, complex along the others."""
    x = as_tensor(a)
    sizes, axes = _sizes(x, s, axes)
    _no_axes(axes)
    _check_points(sizes[-1])
    _check_norm(norm)
    x = _as_real(x, "rfftn")
    found = _line(torch.fft.rfft, x, sizes[-1], axes[-1], norm)
    rest = _several(torch.fft.fft, torch.fft.fftn, found, sizes[:-1], axes[:-1], norm)
    return deliver(rest, out)


@implements(np.fft.rfft2, note=_HALF)
def rfft2(
    a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None
) -> torch.Tensor:
    """`numpy.fft.rfft2`."""
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfftn, note=_HALF)
def irfftn(
    a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None
) -> torch.Tensor:
    """`numpy.fft.irfftn`: complex along all axes but the last one, which becomes real."""
    x = _as_complex(a)
    sizes, axes = _sizes(x, s, axes, inverse_real=True)
    _no_axes(axes)
    found = _several(torch.fft.ifft, torch.fft.ifftn, x, sizes[:-1], axes[:-1], norm)
    real = _line(torch.fft.irfft, found, sizes[-1], axes[-1], norm)
    return deliver(_as_given(real, as_tensor(a)) if len(axes) == 1 else real, out)


@implements(np.fft.irfft2, note=_HALF)
def irfft2(
    a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None
) -> torch.Tensor:
    """`numpy.fft.irfft2`."""
    return irfftn(a, s, axes, norm, out if _WRITES["irfft2"] else None)


def _check_count(n: Any) -> None:
    if not isinstance(n, int | torch.SymInt | np.integer):
        raise ValueError("n should be an integer")


def _frequencies(first: Any, n: Any, count: Any, d: Any) -> torch.Tensor:
    """Return whole numbers from `first`, over n * d."""
    found: torch.Tensor
    dtype, device = to_torch(default_float()), settings().device
    whole = torch.arange(count, dtype=torch.int64, device=device) + first
    if isinstance(d, torch.Tensor):
        wide = as_dtype(np.result_type(default_float(), to_numpy(d.dtype)))
        found = cast(whole, wide) / (n * cast(d, wide))
        return found
    found = whole.to(dtype) * (1.0 / (n * d))
    return found


@implements(np.fft.fftfreq)
def fftfreq(n: int, d: Any = 1.0, device: Any = None) -> torch.Tensor:
    """`numpy.fft.fftfreq`: from 0 up, then the negative ones."""
    check_placed(device=device)
    _check_count(n)
    # Rolled so that the negative half, which begins at -(n // 2), comes last.
    found: torch.Tensor = torch.roll(_frequencies(-(n // 2), n, n, d), -(n // 2))
    return found


@implements(np.fft.rfftfreq)
def rfftfreq(n: int, d: Any = 1.0, device: Any = None) -> torch.Tensor:
    """`numpy.fft.rfftfreq`: the frequencies that aren't negative."""
    check_placed(device=device)
    _check_count(n)
    return _frequencies(0, n, n // 2 + 1, d)


def _shift_axes(x: torch.Tensor, axes: Any) -> list[int]:
    if axes is None:
        return list(range(x.ndim))
    return [axis_of(i, x.ndim) for i in (axes if isinstance(axes, list | tuple) else [axes])]


def _shiftable(x: Any, axes: Any) -> torch.Tensor:
    found = as_tensor(x)
    if axes is None and not found.ndim:
        np.fft.fftshift(np.zeros(()))  # NumPy's own error
    return found


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """`numpy.fft.fftshift`: frequency 0 goes to the middle."""
    x = _shiftable(x, axes)
    axes = _shift_axes(x, axes)
    return roll(x, [x.shape[axis] // 2 for axis in axes], axes)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """`numpy.fft.ifftshift`, which undoes `fftshift`."""
    x = _shiftable(x, axes)
    axes = _shift_axes(x, axes)
    return roll(x, [-(x.shape[axis] // 2) for axis in axes], axes)
