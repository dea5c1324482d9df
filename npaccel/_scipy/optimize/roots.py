"""Roots of many functions at once, and differences."""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any, NamedTuple

import torch

from npaccel._scipy.dispatch.table import on_tensors, through_host

through_host(
    "optimize.ridder optimize.toms748 optimize.root_scalar optimize.fixed_point",
    "one number at a time",
)
through_host(
    "optimize.anderson optimize.broyden1 optimize.broyden2 optimize.diagbroyden"
    " optimize.excitingmixing optimize.linearmixing optimize.newton_krylov",
    "SciPy's own code chooses the points one after the other",
)


class _Roots(NamedTuple):
    root: Any
    converged: Any
    zero_der: Any


_Roots.__name__ = "result"


def _host_reason(bound: dict[str, Any]) -> str:
    x = bound["x0"]
    many = isinstance(x, torch.Tensor) and x.numel() > 1
    return "" if many else "one number at a time"


@on_tensors("optimize.newton", arrays=("x0", "x1"), tolerance=1e5, host_reason=_host_reason)
def newton(
    func: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Many roots at once, by Newton's, Halley's or the secant's step."""
    if tol <= 0 or operator.index(maxiter) < 1:
        raise ValueError("tol or maxiter is too small")
    start = x0 if x0.is_floating_point() or x0.is_complex() else x0.to(torch.float64)
    if fprime is None:
        p, other, failed, flat = _secants(func, start, args, tol, maxiter)
    else:
        p, failed, flat = _tangents(func, start, fprime, fprime2, args, tol, maxiter)
        other = None
    stuck = flat & failed
    some_stuck, all_failed, some_failed = torch.stack(
        [stuck.any(), failed.all(), failed.any()]
    ).tolist()
    if some_stuck:
        _warn_of_flat(stuck, p, other)
    elif some_failed:
        text = f"{'all' if all_failed else 'some'} failed to converge after {maxiter} iterations"
        if all_failed:
            raise RuntimeError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return _Roots(p, ~failed, stuck) if full_output else p


def _tangents(
    func: Any, p: Any, fprime: Any, fprime2: Any, args: Any, tol: float, maxiter: int
) -> Any:
    failed = torch.ones_like(p, dtype=torch.bool)
    flat = torch.zeros_like(failed)
    for _ in range(maxiter):
        value = func(p, *args)
        if not value.any():
            return p, torch.zeros_like(failed), flat
        slope = fprime(p, *args)
        flat = slope == 0
        if flat.all():
            break
        step = value / torch.where(flat, 1, slope)
        if fprime2 is not None:
            step = step / (1 - 0.5 * step * fprime2(p, *args) / torch.where(flat, 1, slope))
        p = torch.where(flat, p, p - step)
        failed = torch.where(flat, failed, step.abs() >= tol)
        if not (failed & ~flat).any():
            break
    return p, failed, flat


def _secants(func: Any, p: Any, args: Any, tol: float, maxiter: int) -> Any:
    eps = torch.finfo(torch.float64).eps ** 0.33
    ahead = p * (1 + eps) + torch.where(p.real >= 0, eps, -eps)
    value, value_ahead = func(p, *args), func(ahead, *args)
    active = torch.ones_like(p, dtype=torch.bool)
    failed, flat = active, ~active
    for _ in range(maxiter):
        flat = value_ahead == value
        if flat.all():
            p = (ahead + p) / 2
            break
        step = value_ahead * (ahead - p) / torch.where(flat, 1, value_ahead - value)
        middle = torch.where(flat & active, (ahead + p) / 2, p)
        p = torch.where(flat, middle, ahead - step)
        active = active & ~flat
        failed = torch.where(flat, failed, step.abs() >= tol)
        if not (failed & ~flat).any():
            break
        ahead, p = p, ahead
        value, value_ahead = value_ahead, func(ahead, *args)
    return p, ahead, failed, flat


def _warn_of_flat(stuck: Any, p: Any, other: Any) -> None:
    """Say where a derivative was zero, as SciPy does."""
    if other is None:
        text = f"{'all' if stuck.all() else 'some'} derivatives were zero"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
        return
    apart = stuck & (other != p)
    if apart.any():
        size = float(torch.where(apart, (other - p).abs() ** 2, 0).sum())
        warnings.warn(f"RMS of {math.sqrt(size):g} reached", RuntimeWarning, stacklevel=3)


# -- Differences ----------------------------------------------------------------------------

_EPSILON = 1.4901161193847656e-08


@on_tensors(
    "optimize.approx_fprime", arrays=("xk",), tolerance=1e10, note="differences cancel digits"
)
def approx_fprime(xk: Any, f: Any, epsilon: Any = _EPSILON, *args: Any) -> Any:
    """Forward differences; `f` gets a tensor of float64."""
    x = xk.reshape(xk.shape or (1,)).to(torch.float64)
    if x.ndim != 1:
        raise ValueError("`x0` must have at most 1 dimension.")
    base = torch.as_tensor(f(x, *args), device=x.device)
    size = torch.as_tensor(epsilon, dtype=x.dtype, device=x.device).expand_as(x)
    moved = x + size
    sign = torch.where(x >= 0, 1.0, -1.0)
    usual = _EPSILON * sign * torch.clamp(x.abs(), min=1.0)
    moved = torch.where(moved == x, x + usual, moved)
    found = []
    for first in range(0, x.numel(), _places_at_once(x)):
        part = moved[first : first + _places_at_once(x)]
        places = x.repeat(part.numel(), 1)
        places.diagonal(first).copy_(part)
        found += [torch.as_tensor(f(place, *args), device=x.device) for place in places.unbind()]
    if not found:
        return base.new_empty((base.numel(), 0) if base.numel() > 1 else (0,))
    table = (torch.stack(found, dim=-1) - base[..., None]) / (moved - x)
    return table.reshape((-1, x.numel()) if base.numel() > 1 else (-1,))


def _places_at_once(x: Any) -> int:
    """Return the number of points next to x that are made at a time: 2 MB of them."""
    return max(1, (1 << 18) // max(x.numel(), 1))


def _check_host_reason(bound: dict[str, Any]) -> str:
    return "" if bound["direction"] == "all" else "SciPy draws a direction"


@on_tensors(
    "optimize.check_grad",
    arrays=("x0",),
    tolerance=1e10,
    host_reason=_check_host_reason,
    note="differences cancel digits",
)
def check_grad(
    func: Any,
    grad: Any,
    x0: Any,
    *args: Any,
    epsilon: Any = _EPSILON,
    direction: str = "all",
    rng: Any = None,
) -> Any:
    """Distance of a gradient from differences."""
    x = x0.to(torch.float64)
    apart = torch.as_tensor(grad(x, *args)) - approx_fprime(x, func, epsilon, *args)
    return torch.linalg.vector_norm(apart)
