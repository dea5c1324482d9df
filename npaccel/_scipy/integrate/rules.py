"""Integrals of samples, and with fixed rules."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch import checks, delegation, listing
from npaccel._scipy.dispatch.arguments import as_float
from npaccel._scipy.dispatch.table import on_tensors, through_host

through_host(
    "integrate.quad integrate.dblquad integrate.tplquad integrate.nquad integrate.quad_vec",
    "Python calls the function where the estimate of the error says so",
)
through_host("integrate.odeint integrate.solve_bvp", "SciPy's own code calls the function")
through_host(
    "integrate.newton_cotes integrate.lebedev_rule",
    "takes no arrays",
    takes_arrays=False,
    is_pure=True,
)


def _parts(a: Any, axis: int, start: int, stop: int | None) -> Any:
    """Every second element along an axis."""
    return a[(slice(None),) * axis + (slice(start, stop, 2),)]


def _at(a: Any, axis: int, place: int) -> Any:
    return a[(slice(None),) * axis + (place,)]


def _ratio(numerator: Any, denominator: Any) -> Any:
    """A quotient; 0 where nothing is divided by."""
    nothing = denominator == 0
    return torch.where(nothing, 0, numerator / torch.where(nothing, 1, denominator))


def _pairs(y: Any, x: Any, dx: Any, axis: int, count: int) -> Any:
    """Simpson's rule for pairs of intervals, of different lengths where x is given."""
    first, middle, last = (_parts(y, axis, i, count - 2 + i) for i in range(3))
    if x is None:
        return torch.sum(first + 4 * middle + last, dim=axis) * (dx / 3)
    a, b, c = (_parts(x, axis, i, count - 2 + i) for i in range(3))
    left, right = b - a, c - b
    both = left + right
    ratio = _ratio(left, right)
    whole = first * (2 - _ratio(torch.ones_like(ratio), ratio))
    whole = whole + middle * (both * _ratio(both, left * right)) + last * (2 - ratio)
    return torch.sum(both / 6 * whole, dim=axis)


def _last_interval(y: Any, left: Any, right: Any, axis: int) -> Any:
    """The last interval by the parabola through three points: Cartwright (2017)."""
    alpha = _ratio(2 * right**2 + 3 * left * right, 6 * (right + left))
    beta = _ratio(right**2 + 3 * left * right, 6 * left)
    eta = _ratio(right**3, 6 * left * (left + right))
    return alpha * _at(y, axis, -1) + beta * _at(y, axis, -2) - eta * _at(y, axis, -3)


@on_tensors("integrate.simpson", arrays=("y", "x", "dx"))
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Simpson's rule; a last odd interval by Cartwright's correction."""
    narrow = y.is_floating_point() or y.is_complex()
    y = y if narrow else y.to(torch.float64)
    axis = axis + y.ndim if axis < 0 else axis
    count = y.shape[axis]
    if x is not None:
        x = as_float(x, y.real.dtype, y.device)
        if x.ndim == 1:
            x = x.reshape(tuple(-1 if i == axis else 1 for i in range(y.ndim)))
        if x.ndim != y.ndim or x.shape[axis] != count:
            raise ValueError("x isn't of y's length along the axis")
    if count % 2:
        return _pairs(y, x, dx, axis, count)
    if not count:
        raise ValueError("nothing to integrate")
    step = as_float(dx, y.real.dtype, y.device)
    left = step if x is None else _at(x, axis, -2) - _at(x, axis, max(count - 3, 0) - count)
    right = step if x is None else _at(x, axis, -1) - _at(x, axis, -2)
    if count == 2:
        return 0.5 * right * (_at(y, axis, -1) + _at(y, axis, -2))
    return _pairs(y, x, dx, axis, count - 1) + _last_interval(y, left, right, axis)


@on_tensors("integrate.fixed_quad", arrays=("a", "b"))
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """Gauss's rule; `func` gets a tensor of the nodes."""
    from scipy.special import roots_legendre

    like = next((v for v in (a, b, *args) if isinstance(v, torch.Tensor)), None)
    assert like is not None
    for end in (a, b):
        if isinstance(end, torch.Tensor):
            checks.holds(torch.isfinite(end).all(), "Gaussian quadrature has finite limits")
        elif math.isinf(end):
            raise ValueError("Gaussian quadrature is only available for finite limits.")
    dtype = like.dtype if like.dtype.is_floating_point else torch.float64
    nodes, weights = (
        torch.as_tensor(v, dtype=dtype, device=like.device) for v in roots_legendre(n)
    )
    places = (b - a) * (nodes + 1) / 2 + a
    return (b - a) / 2 * torch.sum(weights * func(places, *args), dim=-1), None


@on_tensors(
    "integrate.tanhsinh",
    arrays=("a", "b"),
    tolerance=1e9,
    note="estimates of errors are made of what rounding leaves",
)
def tanhsinh(
    f: Any,
    a: Any,
    b: Any,
    *,
    args: Any = (),
    log: bool = False,
    maxlevel: Any = None,
    minlevel: Any = 2,
    atol: Any = None,
    rtol: Any = None,
    preserve_shape: bool = False,
    callback: Any = None,
) -> Any:
    """SciPy computes on the tensors; levels are counted in 64 bits, as with arrays."""
    named = {"args": args, "log": log, "maxlevel": maxlevel, "minlevel": minlevel, "atol": atol}
    named |= {"rtol": rtol, "preserve_shape": preserve_shape, "callback": callback}
    found = delegation.delegated(listing.find("integrate.tanhsinh"), (f, a, b), named)
    found.maxlevel = found.maxlevel.to(torch.int64)
    return found
