"""Fourier transforms of `scipy.fft`, by torch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.ufuncs.dispatch import named
from npaccel._scipy.dispatch.table import on_tensors, traced
from npaccel._scipy.fft._trigonometric import as_floats, check_workers


@traced("fft.fftshift", arrays=("x",))
def fftshift(x: Any, axes: Any = None) -> Any:
    """The zero frequency in the middle."""
    return np.fft.fftshift(x, axes)


@traced("fft.ifftshift", arrays=("x",))
def ifftshift(x: Any, axes: Any = None) -> Any:
    """The zero frequency first again."""
    return np.fft.ifftshift(x, axes)


_ROUNDING = "`workers` and `overwrite_x` are checked, and change nothing"


def _check(norm: Any, workers: Any, plan: Any) -> None:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"Invalid norm value {norm!r}")
    check_workers(workers)
    if plan is not None:
        raise NotImplementedError("Passing a precomputed plan is not yet supported")


def _declared(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return on_tensors(f"fft.{name}", arrays=("x",), note=_ROUNDING)(named(function, name, __name__))


def _line(name: str) -> None:
    transform: Callable[..., torch.Tensor] = getattr(torch.fft, name)

    def function(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        """Transform along one axis."""
        _check(norm, workers, plan)
        return transform(as_floats(x), n=n, dim=axis, norm=norm)

    globals()[name] = _declared(name, function)


def _axes(name: str, default: tuple[int, int] | None) -> None:
    transform: Callable[..., torch.Tensor] = getattr(torch.fft, name)

    def function(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        """Transform along several axes."""
        _check(norm, workers, plan)
        return transform(as_floats(x), s=s, dim=axes, norm=norm)

    globals()[name] = _declared(name, function)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _line(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"):
    _axes(_name, None)
for _name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"):
    _axes(_name, (-2, -1))
