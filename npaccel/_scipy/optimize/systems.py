"""Systems of equations on a device: `scipy.optimize.root` and `fsolve`."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.optimize._least_squares import Ended, differentiated, levenberg_marquardt
from npaccel._scipy.optimize._objectives import read

_XTOL = 1.49012e-08
_NOTE = "the Jacobian is exact, not of differences: the way to the root is another"
_MESSAGE = "The solution converged."


def _root_host_reason(bound: dict[str, Any]) -> str:
    if bound["method"] != "hybr":
        return f"`method` is {bound['method']!r}"
    if bound["callback"] is not None:
        return "`callback` is called by SciPy"
    more = set(bound["options"] or ()) - {"xtol", "maxfev"}
    return f"the options {', '.join(sorted(more))}" if more else ""


def _fsolve_host_reason(bound: dict[str, Any]) -> str:
    if bound["full_output"]:
        return "`full_output` tells of MINPACK"
    usual = {"col_deriv": 0, "band": None, "epsfcn": None, "factor": 100, "diag": None}
    changed = [name for name, value in usual.items() if bound[name] != value]
    return f"`{changed[0]}` is MINPACK's" if changed else ""


def _solved(
    fun: Any, x0: Any, args: Any, jac: Any, xtol: float, maxfev: int
) -> tuple[Ended, tuple[int, ...]]:
    """Find a root by least squares: Levenberg's and Marquardt's steps become Newton's near one.

    Raises
    ------
    NotImplementedError
        Where they end at no root; SciPy goes another way and says more.
    """
    args = args if isinstance(args, tuple) else (args,)
    shape = tuple(x0.shape) or (1,)
    x = x0.detach().to(torch.float64).reshape(-1)

    def equations(place: Any) -> Any:
        found = fun(place.reshape(shape), *args)
        found = found[0] if jac is True else found
        found = found if isinstance(found, torch.Tensor) else torch.stack(tuple(found))
        return found.to(x.dtype).reshape(-1)

    def given(place: Any) -> Any:
        at = place.reshape(shape)
        found = fun(at, *args)[1] if jac is True else jac(at, *args)
        return torch.as_tensor(found).to(x).reshape(len(x), len(x))

    if equations(x).shape != x.shape:
        raise TypeError("as many equations as unknowns")
    by_hand = jac is True or callable(jac)
    ended = levenberg_marquardt(
        equations,
        given if by_hand else differentiated(equations),
        x,
        None,
        [0.0, xtol, 0.0],
        maxfev or 200 * (len(x) + 1),
    )
    if not _is_root(ended, xtol):
        raise NotImplementedError("the steps of least squares end where there is no root")
    return ended, shape


def _is_root(ended: Ended, xtol: float) -> bool:
    """Whether Newton's step from there solves the linearised equations, and is short."""
    step, failed = torch.linalg.solve_ex(ended.jacobian, ended.residuals)
    away, length, size, singular = read(
        torch.linalg.vector_norm(ended.residuals),
        torch.linalg.vector_norm(step),
        torch.linalg.vector_norm(ended.x),
        failed,
    )
    return away == 0 or (not singular and length <= 10 * xtol * max(size, xtol))


@on_tensors(
    "optimize.root",
    arrays=("x0",),
    tolerance=1e9,
    host_reason=on_a_cpu("MINPACK needs no derivatives", _root_host_reason),
    note=_NOTE,
)
def root(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """A root of as many equations as unknowns; `fun` gets a tensor."""
    from scipy.optimize import OptimizeResult

    options = options or {}
    xtol = options.get("xtol", _XTOL if tol is None else tol)
    ended, shape = _solved(fun, x0, args, jac, xtol, options.get("maxfev", 0))
    triangle = torch.linalg.qr(ended.jacobian)
    upper = torch.triu_indices(*ended.jacobian.shape, device=ended.x.device)
    return OptimizeResult(
        x=ended.x.reshape(shape),
        success=True,
        status=1,
        method="hybr",
        nfev=ended.nfev,
        njev=ended.njev,
        fjac=triangle.Q.T,
        r=triangle.R[upper[0], upper[1]],
        qtf=triangle.Q.T @ ended.residuals,
        fun=ended.residuals,
        message=_MESSAGE,
    )


@on_tensors(
    "optimize.fsolve",
    arrays=("x0",),
    tolerance=1e9,
    host_reason=on_a_cpu("MINPACK needs no derivatives", _fsolve_host_reason),
    note=_NOTE,
)
def fsolve(
    func: Any,
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = _XTOL,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: Any = 100,
    diag: Any = None,
) -> Any:
    """The same without a report."""
    return _solved(func, x0, args, fprime, xtol, maxfev)[0].x
