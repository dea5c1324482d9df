"""Splines on equal steps in `scipy.signal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.ndimage import _splines as spline
from npaccel._scipy.signal import _common as parts

through_host(
    "signal.cspline2d signal.qspline2d signal.spline_filter signal.symiirorder1 "
    "signal.symiirorder2",
    "SciPy cuts the recursion's start where a precision is reached",
)


#: SciPy begins its recursion with a sum over the signal alone, which matters where it's shorter.
_LONG = 32


def _smooth(bound: dict[str, Any]) -> str:
    return "smoothing is a recursion with two complex poles" if bound["lamb"] != 0 else ""


def _coefficients(signal: Any, order: int) -> Any:
    (x,) = parts.floats(signal)
    if x.ndim != 1 or x.is_complex() or x.shape[0] < _LONG:
        raise ValueError("one line of real numbers is needed, longer than what SciPy cuts short")
    return spline.coefficients(x, order, [0], "reflect")


@on_tensors("signal.cspline1d", arrays=("signal",), host_reason=_smooth)
def cspline1d(signal: Any, lamb: float = 0.0) -> Any:
    """The coefficients of a cubic spline."""
    if lamb != 0:
        raise ValueError("smoothing is SciPy's")
    return _coefficients(signal, 3)


@on_tensors("signal.qspline1d", arrays=("signal",))
def qspline1d(signal: Any, lamb: float = 0.0) -> Any:
    """The coefficients of a quadratic spline."""
    if lamb != 0:
        raise ValueError("Smoothing quadratic splines not supported yet.")
    return _coefficients(signal, 2)


def _cubic(x: Any) -> Any:
    """The cubic B-spline of elements less than 2 from its middle."""
    far = torch.abs(x)
    outer = torch.clamp(2 - far, min=0) ** 3 / 6
    return torch.where(far < 1, 2 / 3 - far * far * (2 - far) / 2, outer)


def _quadratic(x: Any) -> Any:
    """The quadratic B-spline of elements less than 1.5 from its middle."""
    far = torch.abs(x)
    outer = torch.clamp(1.5 - far, min=0) ** 2 / 2
    return torch.where(far < 0.5, 0.75 - far * far, outer)


def _evaluated(
    c: Any, x: Any, dx: Any, x0: Any, taps: int, basis: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """Return a spline's values, mirrored at its ends, and the coefficients."""
    c, x = parts.tensors(c, x)
    if c.ndim != 1 or c.is_complex() or c.shape[0] < 2 or not x.numel():
        raise ValueError("Spline coefficients 'cj' must not be empty.")
    x = (x.to(torch.float64) - x0) / float(dx)
    last = c.shape[0] - 1
    inside = torch.abs(torch.remainder(x + last, 2 * last) - last)
    found = torch.zeros_like(inside)
    first = torch.floor(inside - taps / 2) + 1
    for i in range(taps):
        place = first + i
        near = torch.clamp(torch.nan_to_num(place), 0, last).to(torch.int64)
        found = found + torch.take(c, near) * basis(inside - place)
    return found, c


@on_tensors("signal.cspline1d_eval", arrays=("cj", "newx"), tolerance=1024, fused=True)
def cspline1d_eval(cj: Any, newx: Any, dx: float = 1.0, x0: Any = 0) -> Any:
    """Evaluate a cubic spline."""
    found, c = _evaluated(cj, newx, dx, x0, 4, _cubic)
    return found.to(c.dtype)


@on_tensors("signal.qspline1d_eval", arrays=("cj", "newx"), tolerance=1024, fused=True)
def qspline1d_eval(cj: Any, newx: Any, dx: float = 1.0, x0: Any = 0) -> Any:
    """Evaluate a quadratic spline."""
    found, _ = _evaluated(cj, newx, dx, x0, 3, _quadratic)
    x = parts.floats(newx)[0]
    return found.to(x.dtype)
