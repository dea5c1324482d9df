"""Functions of `scipy.interpolate` that interpolate at once."""

from __future__ import annotations

import math
from typing import Any

import torch

import npaccel._scipy.objects.interpolators  # noqa: F401 (restores what SciPy gives)
from npaccel._scipy.dispatch import conversion, listing, routes
from npaccel._scipy.dispatch.checks import is_in_a_graph
from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.interpolate import _interpolators as interpolators


def _known_method(bound: dict[str, Any]) -> str:
    method = bound["method"]
    return "" if method in ("linear", "nearest") else f"SciPy has the method {method}"


@on_tensors("interpolate.interpn", arrays=("values",), host_reason=_known_method)
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
) -> Any:
    """Values between those of a grid."""
    keeps_dtype = is_in_a_graph() and method == "nearest" and values.dtype is torch.float32
    grid, values = interpolators.grid_of(points, values)
    places = interpolators._coordinates(xi, len(grid), values.device)
    found = interpolators.grid_values(grid, values, places, method, bounds_error, fill_value)
    return found.to(torch.float32) if keeps_dtype else found


@on_tensors("interpolate.pchip_interpolate", arrays=("xi", "yi", "x"))
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Values or derivatives of the monotone cubic."""
    device = next(v.device for v in (xi, yi, x) if isinstance(v, torch.Tensor))
    spline = _named(interpolators.pchip(xi, yi, axis), "PchipInterpolator", device)
    if isinstance(der, int):
        return spline(x, der) if der <= 3 else spline(x) * 0
    return [spline.derivative(nu)(x) for nu in der]


def _named(found: Any, kind: str, device: torch.device, *given: Any) -> Any:
    """Return an object that passes for SciPy's; its results are as wide as what was given."""
    # In a graph it's of 64 bits, as SciPy's.
    width = conversion.Width([], torch.float64)
    if not is_in_a_graph():
        width = conversion.Width(list(given), routes._default_float())
    original = listing.find(f"interpolate.{kind}")
    return found.named(original, f"scipy.interpolate.{kind}", device, width)


def _host_reason(bound: dict[str, Any]) -> str:
    if bound["t"] is not None or bound["bc_type"] not in (None, "not-a-knot", (None, None)):
        return "knots or conditions at the ends are given"
    large = bound["k"] > 1 and len(bound["x"]) > interpolators.LARGEST
    return "SciPy solves large banded equations" if large else ""


@on_tensors("interpolate.make_interp_spline", arrays=("x", "y"), host_reason=_host_reason)
def make_interp_spline(
    x: Any,
    y: Any,
    k: Any = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """The spline through points, as an object that takes tensors."""
    spline = interpolators.spline_through(x, y, int(k), axis)
    given = [v for v in (x, y) if isinstance(v, torch.Tensor)]
    return _named(spline, "BSpline", y.device, *given)


through_host(
    "interpolate.griddata",
    "the points are triangulated, or put into a tree, in SciPy's own code",
)
through_host(
    "interpolate.splrep interpolate.splprep interpolate.splev interpolate.splint"
    " interpolate.sproot interpolate.spalde interpolate.insert interpolate.bisplrep"
    " interpolate.bisplev",
    "FITPACK computes it; make_interp_spline gives an object that computes on the device",
)
through_host(
    "interpolate.make_lsq_spline interpolate.make_smoothing_spline interpolate.make_splrep"
    " interpolate.make_splprep interpolate.generate_knots",
    "SciPy's own code solves banded equations; the spline that it gives computes on the device",
)
through_host(
    "interpolate.approximate_taylor_polynomial interpolate.pade interpolate.lagrange",
    "gives a polynomial of NumPy's",
)
