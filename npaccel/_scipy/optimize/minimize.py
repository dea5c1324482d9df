"""`scipy.optimize.minimize` with its vectors on a device."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch

from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.optimize import _minimizers as minimizers
from npaccel._scipy.optimize._objectives import Objective, caller

_COMMON = {"maxiter": None, "disp": False, "return_all": False, "eps": 1.4901161193847656e-08}
_WOLFE = {"norm": math.inf, "gtol": 1e-5, "c1": 1e-4, "finite_diff_rel_step": None, "workers": None}
#: The methods that are npaccel's own, with the defaults of their options.
_OPTIONS: dict[str, dict[str, Any]] = {
    "bfgs": {**_COMMON, **_WOLFE, "c2": 0.9, "xrtol": 0, "hess_inv0": None},
    "cg": {**_COMMON, **_WOLFE, "c2": 0.4},
    "newton-cg": {**_COMMON, "xtol": 1e-5, "c1": 1e-4, "c2": 0.9, "workers": None},
    "nelder-mead": {
        **_COMMON,
        "maxfev": None,
        "initial_simplex": None,
        "adaptive": False,
        "xatol": 1e-4,
        "fatol": 1e-4,
    },
    "l-bfgs-b": {
        **_COMMON,
        "maxiter": 15000,
        "maxfun": 15000,
        "maxcor": 10,
        "maxls": 20,
        "workers": None,
        "ftol": 2.2204460492503131e-09,
        "gtol": 1e-5,
        "iprint": -1,
        "finite_diff_rel_step": None,
    },
}
#: Options that `tol` stands for.
_TOLERANCES = {
    "bfgs": ("gtol",),
    "cg": ("gtol",),
    "newton-cg": ("xtol",),
    "nelder-mead": ("xatol", "fatol"),
    "l-bfgs-b": ("ftol", "gtol"),
}


def _method(bound: dict[str, Any]) -> str:
    method = bound["method"]
    if method is None:
        if len(bound["constraints"]) if hasattr(bound["constraints"], "__len__") else True:
            return "slsqp"
        return "bfgs" if bound["bounds"] is None else "l-bfgs-b"
    return method.lower() if isinstance(method, str) else ""


def _host_reason(bound: dict[str, Any]) -> str:
    method = _method(bound)
    if method not in _OPTIONS:
        return f"SciPy's own code has the method {method or 'of the user'}"
    for name in ("jac", "hess"):
        given = bound[name]
        if given is not None and not isinstance(given, bool) and not callable(given):
            return f"`{name}` says how SciPy should take differences"
    if bound["hess"] is not None and not callable(bound["hess"]):
        return "`hess` is a strategy of SciPy's"
    return ""


@on_tensors(
    "optimize.minimize",
    arrays=("x0",),
    tolerance=1e9,
    host_reason=_host_reason,
    note="gradients are exact, not differences: the way to the minimum is another",
)
def minimize(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """The methods that need little but vectors; `fun` gets tensors and is differentiated."""
    name = _method({"method": method, "constraints": constraints, "bounds": bounds})
    x = x0.reshape(x0.shape or (1,))
    x = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float64)
    if x.ndim != 1:
        raise ValueError("'x0' must only have one dimension.")
    known = _filled(name, options, tol)
    limits = None if bounds is None else ends(bounds, x)
    objective, call = Objective(fun, jac, args, x), caller(callback)
    x = x.detach()
    if name == "bfgs":
        return minimizers.bfgs(objective, x, call, known)
    if name == "cg":
        return minimizers.conjugate(objective, x, call, known)
    if name == "newton-cg":
        return minimizers.newton(objective, x, call, known, hess, hessp)
    if name == "nelder-mead":
        return minimizers.nelder_mead(objective, x, call, known, limits)
    return minimizers.limited_memory(objective, x, call, known, limits)


def _filled(name: str, options: Any, tol: Any) -> dict[str, Any]:
    """The options with their defaults."""
    from scipy.optimize import OptimizeWarning

    given = dict(options or {})
    unknown = ", ".join(key for key in given if key not in _OPTIONS[name])
    if unknown:
        warnings.warn(f"Unknown solver options: {unknown}", OptimizeWarning, stacklevel=2)
    if tol is not None:
        given = {**dict.fromkeys(_TOLERANCES[name], tol), **given}
    return {**_OPTIONS[name], **given}


def ends(bounds: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return bounds, SciPy's object or pairs, as two tensors.

    Raises
    ------
    ValueError
        If they aren't as many as variables, or a lower one is above an upper one.
    """
    if hasattr(bounds, "lb"):
        pairs = [(bounds.lb, -math.inf), (bounds.ub, math.inf)]
    else:
        given = list(bounds)
        if len(given) not in (1, x.numel()):
            raise ValueError("length of x0 != length of bounds")
        pairs = [([b[i] for b in given], (-math.inf, math.inf)[i]) for i in range(2)]
    low, high = (_end(values, missing, x) for values, missing in pairs)
    if bool((low > high).any()):
        raise ValueError("one of the lower bounds is greater than an upper bound.")
    return low, high


def _end(values: Any, missing: float, x: torch.Tensor) -> torch.Tensor:
    if isinstance(values, list):
        values = [missing if v is None else float(v) for v in values]
    found = torch.as_tensor(values, dtype=x.dtype, device=x.device)
    return found.expand_as(x)


through_host(
    "optimize.fmin optimize.fmin_bfgs optimize.fmin_cg optimize.fmin_l_bfgs_b optimize.fmin_ncg",
    "an older name: `scipy.optimize.minimize` computes on the device",
)
through_host(
    "optimize.fmin_cobyla optimize.fmin_powell optimize.fmin_slsqp optimize.fmin_tnc",
    "SciPy's own code chooses the points one after the other",
)
through_host(
    "optimize.basinhopping optimize.differential_evolution optimize.dual_annealing optimize.shgo"
    " optimize.direct optimize.brute",
    "SciPy chooses the points one after the other, most of them at random",
)
through_host(
    "optimize.minimize_scalar optimize.fminbound optimize.brent optimize.golden optimize.bracket",
    "one number at a time",
)
through_host(
    "optimize.linprog optimize.milp optimize.linear_sum_assignment optimize.quadratic_assignment"
    " optimize.isotonic_regression optimize.nnls optimize.lsq_linear",
    "an algorithm of one exchange after the other",
)
through_host("optimize.line_search", "one number at a time")
through_host(
    "optimize.show_options optimize.linprog_verbose_callback",
    "takes no arrays",
    takes_arrays=False,
)
