"""`scipy.integrate.solve_ivp` with the state on a device."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.integrate._runge_kutta import Method, Solver, Tolerance, solution_of

_EXPLICIT = ("RK23", "RK45", "DOP853")
_MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    -1: "Required step size is less than spacing between numbers.",
}
_OPTIONS = ("first_step", "max_step", "rtol", "atol")


def _host_reason(bound: dict[str, Any]) -> str:
    method = bound["method"]
    if bound["events"] is not None:
        return "events are found by functions of Python that say where they are zero"
    if method in _EXPLICIT or getattr(method, "__name__", "") in _EXPLICIT:
        return ""
    return f"the method {method} solves equations in each step, in SciPy's own code"


@on_tensors(
    "integrate.solve_ivp",
    arrays=("y0",),
    tolerance=1e6,
    host_reason=_host_reason,
    note="errors of rounding change the lengths of steps",
)
def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """The explicit methods; `fun` gets a number and a tensor."""
    import scipy.integrate

    start, end = map(float, t_span)
    state = _state(y0)
    times = _checked_times(t_eval, start, end)
    solver_type = getattr(scipy.integrate, method) if isinstance(method, str) else method
    solver = _solver(_slopes(fun, args, state), start, state, end, solver_type, options)
    return _followed(solver, times, dense_output)


def _state(y0: Any) -> torch.Tensor:
    if y0.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    if y0.is_complex() or y0.dtype in (torch.float32, torch.float64):
        state: torch.Tensor = y0
    else:
        state = y0.to(torch.float64)
    if not bool(torch.isfinite(state).all()):
        raise ValueError("All components of the initial state `y0` must be finite.")
    return state


def _checked_times(t_eval: Any, start: float, end: float) -> Any:
    """The times where the solution is wanted, on the host."""
    if t_eval is None:
        return None
    times = t_eval.detach().cpu() if isinstance(t_eval, torch.Tensor) else t_eval
    times = np.asarray(times, dtype=float)
    steps = np.diff(times) if end > start else -np.diff(times)
    low, high = min(start, end), max(start, end)
    if times.ndim != 1 or np.any(times < low) or np.any(times > high) or np.any(steps <= 0):
        raise ValueError("Values in `t_eval` are not within `t_span`, or not sorted.")
    return times


def _slopes(fun: Any, args: Any, state: torch.Tensor) -> Callable[[float, Any], torch.Tensor]:
    """The user's function, as one that gives tensors like the state."""
    more = () if args is None else tuple(args)

    def call(t: float, y: torch.Tensor) -> torch.Tensor:
        found = fun(t, y, *more)
        if not isinstance(found, torch.Tensor):
            parts = [torch.as_tensor(p, dtype=y.dtype, device=y.device) for p in found]
            found = torch.stack(parts) if parts else torch.zeros_like(y)
        if found.shape != y.shape:
            found = found.reshape(y.shape) if found.numel() == y.numel() else found.expand_as(y)
        return found.to(dtype=y.dtype)

    return call


def _solver(
    slopes: Any, start: float, state: Any, end: float, kind: Any, options: dict[str, Any]
) -> Solver:
    unused = set(options) - set(_OPTIONS)
    if unused:
        names = ", ".join(f"`{name}`" for name in sorted(unused))
        warnings.warn(
            f"The following arguments have no effect for a chosen solver: {names}.", stacklevel=2
        )
    first, largest = options.get("first_step"), options.get("max_step", math.inf)
    if largest <= 0 or (first is not None and not 0 < first <= abs(end - start)):
        raise ValueError("`first_step` or `max_step` isn't a possible step.")
    tolerance = Tolerance(options.get("rtol", 1e-3), options.get("atol", 1e-6), state)
    return Solver(slopes, start, state, end, Method(kind, state), tolerance, first, largest)


def _followed(solver: Solver, times: Any, dense: bool) -> Any:
    """Go from the beginning to the end, and keep what is wanted."""
    ts: list[Any] = [solver.t] if times is None else []
    ys: list[Any] = [solver.y] if times is None else []
    known, interpolants = [solver.t], []
    done, status = 0, 0
    while len(known) == 1 or solver.t != solver.bound:
        if not _stepped(solver):
            status = -1
            break
        reached = _count(times, solver) if times is not None else 0
        wanted = times[done:reached] if times is not None else ()
        piece: Any = solver.interpolant() if dense or len(wanted) else None
        if dense:
            interpolants.append(piece)
        known.append(solver.t)
        if times is None:
            ts.append(solver.t)
            ys.append(solver.y)
        elif len(wanted):
            ts.append(wanted)
            ys.append(piece(wanted))
            done = reached
    solution = solution_of(known, interpolants) if dense else None
    return _result(solver, ts, ys, times is None, solution, status)


def _stepped(solver: Solver) -> bool:
    if solver.t == solver.bound or not solver.y.numel():
        solver.t_old, solver.t = solver.t, solver.bound
        solver.y_old = solver.y
        return True
    return solver.step()


def _count(times: Any, solver: Solver) -> int:
    """Return the number of the wanted times that are reached."""
    return int(np.count_nonzero((solver.t - times) * solver.direction >= 0))


def _result(
    solver: Solver, ts: list[Any], ys: list[Any], stepwise: bool, solution: Any, status: int
) -> Any:
    from scipy.integrate._ivp.ivp import OdeResult

    t: Any = np.array(ts) if stepwise else np.hstack(ts) if ts else ts
    y: Any = torch.stack(ys, dim=1) if stepwise else torch.cat(ys, dim=1) if ys else ys
    return OdeResult(
        t=t,
        y=y,
        sol=solution,
        t_events=None,
        y_events=None,
        nfev=solver.nfev,
        njev=0,
        nlu=0,
        status=status,
        message=_MESSAGES[status],
        success=status >= 0,
    )
