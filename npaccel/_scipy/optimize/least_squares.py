"""`scipy.optimize.least_squares` and `curve_fit` on a device."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.optimize._least_squares import (
    Ended,
    covariance,
    differentiated,
    levenberg_marquardt,
)
from npaccel._scipy.optimize.minimize import ends

_MESSAGES = {
    0: "The maximum number of function evaluations is exceeded.",
    1: "`gtol` termination condition is satisfied.",
    2: "`ftol` termination condition is satisfied.",
    3: "`xtol` termination condition is satisfied.",
    4: "Both `ftol` and `xtol` termination conditions are satisfied.",
}
_OPTIONS = ("ftol", "xtol", "gtol", "max_nfev", "maxfev", "verbose", "x_scale", "epsfcn", "factor")

through_host(
    "optimize.leastsq",
    "an older name: `scipy.optimize.least_squares` computes on the device",
)


def _is_unbounded(bounds: Any) -> bool:
    return (
        isinstance(bounds, tuple)
        and all(isinstance(b, int | float) for b in bounds)
        and tuple(bounds) == (-math.inf, math.inf)
    )


def _pair(bounds: Any, x: Any) -> Any:
    """The bounds of least squares: two ends, or SciPy's object."""
    if _is_unbounded(bounds):
        return None
    if hasattr(bounds, "lb"):
        return ends(bounds, x)
    low, high = (torch.as_tensor(b).to(x).expand_as(x) for b in bounds)
    if bool((low >= high).any()):
        raise ValueError("Each lower bound must be strictly less than each upper bound.")
    return low, high


def _host_reason(bound: dict[str, Any]) -> str:
    if bound["loss"] != "linear":
        return "`loss` weighs the residuals"
    if bound["jac_sparsity"] is not None:
        return "`jac_sparsity` says how to take differences"
    return "" if callable(bound["jac"]) or bound["jac"] == "2-point" else "`jac` is a rule"


@on_tensors(
    "optimize.least_squares",
    arrays=("x0",),
    tolerance=1e9,
    host_reason=_host_reason,
    note="the Jacobian is exact, not of differences: the way to the minimum is another",
)
def least_squares(
    fun: Any,
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-math.inf, math.inf),
    method: Any = "trf",
    ftol: Any = 1e-8,
    xtol: Any = 1e-8,
    gtol: Any = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: Any = 1.0,
    diff_step: Any = None,
    tr_solver: Any = None,
    tr_options: Any = None,
    jac_sparsity: Any = None,
    max_nfev: Any = None,
    verbose: Any = 0,
    args: Any = (),
    kwargs: Any = None,
    callback: Any = None,
    workers: Any = None,
) -> Any:
    """Levenberg's and Marquardt's method for all three; `fun` gets a tensor."""
    if method not in ("trf", "dogbox", "lm") or x0.ndim > 1 or callback is not None:
        raise ValueError("SciPy knows")
    x = x0.reshape(x0.shape or (1,)).detach()
    x = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float64)
    limits = _pair(bounds, x)
    named = kwargs or {}

    def residuals(place: Any) -> Any:
        found = fun(place, *args, **named)
        found = found if isinstance(found, torch.Tensor) else torch.stack(tuple(found))
        return found.reshape(found.shape or (1,)).to(x.dtype)

    def given(place: Any) -> Any:
        found = torch.as_tensor(jac(place, *args, **named)).to(x)
        return found if found.ndim == 2 else found.reshape(1, -1)

    if limits is not None:
        inside = (x >= limits[0]) & (x <= limits[1])
        checks.holds(inside.all(), "Initial guess is outside of provided bounds")
    if method == "lm" and (limits is not None or residuals(x).numel() < x.numel()):
        raise ValueError("Method 'lm' only handles many residuals without bounds.")
    ended = levenberg_marquardt(
        residuals,
        given if callable(jac) else differentiated(residuals),
        x,
        limits,
        [0.0 if t is None else float(t) for t in (ftol, xtol, gtol)],
        100 * x.numel() if max_nfev is None else max_nfev,
    )
    return _result(ended, limits)


def _result(ended: Ended, limits: Any) -> Any:
    from scipy.optimize import OptimizeResult

    mask = torch.zeros_like(ended.x, dtype=torch.int64)
    if limits is not None:
        mask = (ended.x >= limits[1]).to(torch.int64) - (ended.x <= limits[0]).to(torch.int64)
    return OptimizeResult(
        x=ended.x,
        cost=0.5 * torch.dot(ended.residuals, ended.residuals),
        fun=ended.residuals,
        jac=ended.jacobian,
        grad=ended.jacobian.T @ ended.residuals,
        optimality=ended.optimality,
        active_mask=mask,
        nfev=ended.nfev,
        njev=ended.njev,
        status=ended.status,
        message=_MESSAGES[ended.status],
        success=ended.status > 0,
    )


# -- Curves ---------------------------------------------------------------------------------


def _curve_host_reason(bound: dict[str, Any]) -> str:
    if bound["full_output"]:
        return "`full_output` tells of MINPACK"
    if bound["nan_policy"] is not None:
        return "`nan_policy` looks for NaN"
    if bound["p0"] is None and not _is_unbounded(bound["bounds"]):
        return "SciPy chooses where to begin"
    if isinstance(bound["jac"], str):
        return "`jac` is a rule"
    if set(bound["kwargs"]) - set(_OPTIONS):
        return f"the options {', '.join(bound['kwargs'])}"
    return "on a CPU, MINPACK needs no derivatives" if free_for_scipy(bound) else ""


@on_tensors(
    "optimize.curve_fit",
    arrays=("ydata", "p0", "sigma"),
    tolerance=1e11,
    host_reason=_curve_host_reason,
    note="the Jacobian is exact, not of differences: the way to the minimum is another",
)
def curve_fit(
    f: Any,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = (-math.inf, math.inf),
    method: Any = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Fit a curve; `f` gets tensors, the parameters without dimensions."""
    if method not in (None, "lm", "trf", "dogbox"):
        raise ValueError("SciPy knows")
    y = ydata.to(torch.float64)
    x = torch.as_tensor(xdata, device=y.device) if isinstance(xdata, list | tuple) else xdata
    if check_finite is None or check_finite:
        checks.finite(y, *([x] if isinstance(x, torch.Tensor) else []))
    start = _start(f, p0, y)
    limits = _pair(bounds, start)
    if limits is not None:
        inside = (start >= limits[0]) & (start <= limits[1])
        checks.holds(inside.all(), "Initial guess is outside of provided bounds")
    if y.numel() < start.numel() and limits is None and method in (None, "lm"):
        raise TypeError("the number of parameters must not exceed that of the data")
    weigh = _weights(sigma, y)

    def residuals(place: Any) -> Any:
        return weigh((f(x, *place.unbind()) - y).reshape(-1).to(torch.float64))

    def given(place: Any) -> Any:
        return weigh(torch.as_tensor(jac(x, *place.unbind())).to(torch.float64))

    ended = levenberg_marquardt(
        residuals,
        given if callable(jac) else differentiated(residuals),
        start,
        limits,
        [float(kwargs.get(name, 1e-8)) for name in ("ftol", "xtol", "gtol")],
        kwargs.get("maxfev") or kwargs.get("max_nfev") or 200 * (start.numel() + 1),
    )
    if ended.status <= 0:
        raise RuntimeError("Optimal parameters not found: " + _MESSAGES[ended.status])
    return ended.x, _spread(ended, absolute_sigma)


def _start(f: Any, p0: Any, y: Any) -> Any:
    """Return a start: ones, as many as `f` has parameters."""
    if p0 is None:
        count = len(inspect.signature(f).parameters) - 1
        if count < 1:
            raise ValueError("Unable to determine number of fit parameters.")
        return torch.ones(count, dtype=torch.float64, device=y.device)
    found = torch.as_tensor(p0, dtype=torch.float64, device=y.device).detach()
    return found.reshape(-1)


def _weights(sigma: Any, y: Any) -> Any:
    """A function that divides residuals, or rows of a Jacobian, by their errors."""
    if sigma is None:
        return lambda rows: rows
    sigma = torch.as_tensor(sigma, device=y.device).to(torch.float64)
    if sigma.ndim <= 1 and sigma.numel() in (1, y.numel()):
        return lambda rows: rows / (sigma.reshape(-1) if rows.ndim == 1 else sigma.reshape(-1, 1))
    if sigma.shape != (y.numel(), y.numel()):
        raise ValueError("`sigma` has incorrect shape.")
    factor = torch.linalg.cholesky(sigma)

    def solved(rows: Any) -> Any:
        wide = rows[:, None] if rows.ndim == 1 else rows
        found = torch.linalg.solve_triangular(factor, wide, upper=False)
        return found[:, 0] if rows.ndim == 1 else found

    return solved


def _spread(ended: Ended, absolute: bool) -> Any:
    """The covariance of the parameters."""
    from scipy.optimize import OptimizeWarning

    found = covariance(ended.jacobian)
    more = ended.residuals.numel() - ended.x.numel()
    if bool((found == 0).all()) or (more <= 0 and not absolute):
        message = "Covariance of the parameters could not be estimated"
        warnings.warn(message, OptimizeWarning, stacklevel=2)
        return torch.full_like(found, math.inf)
    if absolute:
        return found
    return found * (torch.dot(ended.residuals, ended.residuals) / more)
