"""Explicit Runge-Kutta methods with the state on a device; the host reads one number per step.

The methods and the choice of steps are those of E. Hairer, S. P. Norsett and G. Wanner, "Solving
Ordinary Differential Equations I", sections II.4 to II.6; the coefficients are the attributes of
SciPy's solvers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

#: Tensors.
State = Any

#: Maximum and minimum ratio of the next step to the last one.
_LARGEST, _LEAST = 10.0, 0.2
#: Safety factor of the estimate of the next step.
_SAFETY = 0.9


class Method:
    """One of SciPy's explicit methods, with its coefficients on a device.

    Parameters
    ----------
    solver : type
        `scipy.integrate.RK45`, for example.
    like : torch.Tensor
        The coefficients have its dtype and device.
    """

    def __init__(self, solver: Any, like: State) -> None:
        def moved(values: Any) -> State:
            return torch.as_tensor(np.array(values), dtype=like.dtype, device=like.device)

        self.nodes = [float(c) for c in solver.C]
        self.rows = [moved(row[:s]) for s, row in enumerate(solver.A)]
        self.weights = moved(solver.B)
        self.order = solver.error_estimator_order
        self.high = hasattr(solver, "E5")
        self.errors = [moved(e) for e in ((solver.E5, solver.E3) if self.high else (solver.E,))]
        if self.high:
            self.more_nodes = [float(c) for c in solver.C_EXTRA]
            count = len(self.nodes) + 1
            self.more_rows = [moved(row[: count + i]) for i, row in enumerate(solver.A_EXTRA)]
            self.dense = moved(solver.D)
        else:
            self.dense = moved(solver.P)


class Tolerance:
    """Tolerance of errors, and the norm of errors in units of it."""

    def __init__(self, rtol: Any, atol: Any, y: State) -> None:
        self.rtol, self.atol = _checked(rtol, atol, y)

    def scale(self, *sizes: State) -> State:
        """The allowed error of each component."""
        largest = sizes[0] if len(sizes) == 1 else torch.maximum(*sizes)
        return self.atol + largest * self.rtol


def _checked(rtol: Any, atol: Any, y: State) -> tuple[Any, Any]:
    """Return the tolerances as SciPy takes them."""
    least = 100 * float(np.finfo(np.float64).eps)
    if isinstance(rtol, torch.Tensor):
        rtol = torch.clamp(rtol.to(y.device), min=least)
    elif rtol < least:
        warnings.warn(f"`rtol` is too small, it is taken as {least}", stacklevel=2)
        rtol = least
    if isinstance(atol, int | float):
        if atol < 0:
            raise ValueError("`atol` must be positive.")
        return rtol, atol
    atol = torch.as_tensor(atol, dtype=y.real.dtype, device=y.device)
    if (atol.ndim and atol.shape != y.shape) or bool((atol < 0).any()):
        raise ValueError("`atol` has wrong shape or sign.")
    return rtol, atol


def _norm(x: State) -> float:
    """Root mean square, read by the host."""
    return float(torch.linalg.vector_norm(x.detach())) / math.sqrt(x.numel())


class Solver:
    """Steps of an explicit method.

    Parameters
    ----------
    function : callable
        Of a number and a state.
    t, y
        Where to begin.
    bound : float
        Where to end.
    method : Method
    tolerance : Tolerance
    first_step : float or None
    max_step : float
    """

    def __init__(
        self,
        function: Callable[[float, State], State],
        t: float,
        y: State,
        bound: float,
        method: Method,
        tolerance: Tolerance,
        first_step: float | None,
        max_step: float,
    ) -> None:
        self.function, self.t, self.y, self.bound = function, t, y, bound
        self.method, self.tolerance, self.max_step = method, tolerance, max_step
        self.direction = float(np.sign(bound - t)) if bound != t else 1.0
        self.nfev = 0
        self.t_old, self.y_old = t, y
        self.stages = Slopes(0)
        self.spare: State | None = None
        self.slope = self.evaluated(t, y)
        self.size = self._first_size() if first_step is None else first_step

    def evaluated(self, t: float, y: State) -> State:
        """The slope at a point."""
        self.nfev += 1
        return self.function(t, y)

    def _first_size(self) -> float:
        """Guess a first step: Hairer, Norsett and Wanner, II.4."""
        length = abs(self.bound - self.t)
        if not self.y.numel():
            return math.inf
        if not length:
            return 0.0
        scale = self.tolerance.scale(self.y.abs())
        value, slope = _norm(self.y / scale), _norm(self.slope / scale)
        small = value < 1e-5 or slope < 1e-5
        trial = min(1e-6 if small else 0.01 * value / slope, length)
        h = trial * self.direction
        ahead = self.evaluated(self.t + h, self.y + h * self.slope)
        bend = _norm((ahead - self.slope) / scale) / trial
        steepest = max(slope, bend)
        if slope <= 1e-15 and bend <= 1e-15:
            other = max(1e-6, trial * 1e-3)
        else:
            other = (0.01 / steepest) ** (1 / (self.method.order + 1))
        return min(100 * trial, other, length, self.max_step)

    def step(self) -> bool:
        """Go on by one step; False where it would be too small."""
        least = 10 * abs(float(np.nextafter(self.t, self.direction * math.inf)) - self.t)
        size = self.max_step if self.size > self.max_step else max(self.size, least)
        rejected = False
        while size >= least:
            t = self.t + size * self.direction
            if self.direction * (t - self.bound) > 0:
                t = self.bound
            h = t - self.t
            size = abs(h)
            y, slope, stages = self._tried(h)
            error = self._error(stages, h, y)
            accepted = error < 1
            size *= _factor(error, -1 / (self.method.order + 1), rejected)
            if accepted:
                self.spare = self.stages.table
                self.t_old, self.y_old, self.stages = self.t, self.y, stages
                self.t, self.y, self.slope, self.size = t, y, slope, size
                return True
            rejected, self.spare = True, stages.table
        return False

    def _tried(self, h: float) -> tuple[State, State, Slopes]:
        """One step of the method: the new state, its slope, and all slopes on the way."""
        nodes, rows = self.method.nodes, self.method.rows
        stages = Slopes(len(nodes) + 1, self.spare)
        self.spare = None
        stages.append(self.slope)
        for node, row in zip(nodes[1:], rows[1:], strict=True):
            change = stages.combined(row) * h
            stages.append(self.evaluated(self.t + node * h, self.y + change))
        y = self.y + h * stages.combined(self.method.weights)
        slope = self.evaluated(self.t + h, y)
        stages.append(slope)
        return y, slope, stages

    def _error(self, stages: Slopes, h: float, y: State) -> float:
        """The norm of the estimated error, in units of what is allowed."""
        if not y.numel():
            return 0.0
        scale = self.tolerance.scale(self.y.abs(), y.abs())
        parts = [stages.combined(e) / scale for e in self.method.errors]
        if not self.method.high:
            return _norm(parts[0] * h)
        fifth, third = (torch.linalg.vector_norm(part) ** 2 for part in parts)
        total = torch.sqrt((fifth + 0.01 * third) * y.numel())
        # 0 / 0 where nothing changes: no error.
        return float(torch.where(total > 0, abs(h) * fifth / total, fifth + third).detach())

    def interpolant(self) -> Any:
        """A polynomial over the last step."""
        h = self.t - self.t_old
        if not self.stages:
            return _power_form(self.t_old, self.t + 1, self.y_old, self.y_old[:, None] * 0)
        if not self.method.high:
            slopes = self.stages.all.T
            return _power_form(self.t_old, self.t, self.y_old, slopes @ self.method.dense)
        more_nodes = self.method.more_nodes
        stages = Slopes(len(self.stages) + len(more_nodes))
        for slope in self.stages:
            stages.append(slope)
        for node, row in zip(more_nodes, self.method.more_rows, strict=True):
            change = stages.combined(row) * h
            stages.append(self.evaluated(self.t_old + node * h, self.y_old + change))
        change = self.y - self.y_old
        first = stages.all[0]
        terms = [change, h * first - change, 2 * change - h * (self.slope + first)]
        more = h * (self.method.dense @ stages.all)
        return _nested_form(self.t_old, self.t, self.y_old, [*terms, *more])


class Slopes:
    """Slopes at some places of a step: rows of one table, unless they are differentiated.

    Parameters
    ----------
    most : int
    table : tensor, optional
        One that isn't needed any more.
    """

    def __init__(self, most: int, table: State | None = None) -> None:
        self.most, self.table = most, table
        self.rows: list[State] = []

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[State]:
        return iter(self.rows)

    def append(self, slope: State) -> None:
        """Put a slope to the others."""
        if slope.requires_grad:
            self.rows, self.table = [row.clone() for row in self.rows], None
        elif not self.rows and (self.table is None or self.table.dtype != slope.dtype):
            self.table = slope.new_empty((self.most, *slope.shape))
        if self.table is not None:
            self.table[len(self.rows)] = slope
            slope = self.table[len(self.rows)]
        self.rows.append(slope)

    @property
    def all(self) -> State:
        """Return all of them."""
        return torch.stack(self.rows) if self.table is None else self.table[: len(self.rows)]

    def combined(self, weights: State) -> State:
        """Return a weighted sum."""
        return weights @ self.all


def _factor(error: float, exponent: float, rejected: bool) -> float:
    """Return the factor by which the next step is longer."""
    if error < 1:
        factor = _LARGEST if error == 0 else min(_LARGEST, _SAFETY * math.pow(error, exponent))
        return min(1.0, factor) if rejected else factor
    return max(_LEAST, _SAFETY * math.pow(error, exponent))


# -- Dense output ---------------------------------------------------------------------------


def interpolant_of(call: Callable[[Any], Any], t_old: float, t: float) -> Any:
    """Return a `scipy.integrate.DenseOutput` that takes numbers and tensors."""
    from scipy.integrate import DenseOutput

    class Interpolant(DenseOutput):  # type: ignore[misc]
        def __call__(self, t: Any) -> Any:
            return call(t)

    return Interpolant(t_old, t)


def _times(t: Any, like: State) -> State:
    return torch.as_tensor(t, dtype=like.real.dtype, device=like.device)


def _power_form(t_old: float, t: float, y_old: State, factors: State) -> Any:
    """Return the polynomial with coefficients of x, x**2, ..."""
    h = t - t_old

    def call(at: Any) -> State:
        x = (_times(at, y_old) - t_old) / h
        powers = torch.stack([x ** (k + 1) for k in range(factors.shape[1])])
        change = h * (factors @ powers.to(factors.dtype))
        return change + (y_old if not x.ndim else y_old[:, None])

    return interpolant_of(call, t_old, t)


def _nested_form(t_old: float, t: float, y_old: State, terms: list[State]) -> Any:
    """Return the polynomial that is nested in x and 1 - x."""
    h = t - t_old

    def call(at: Any) -> State:
        x = (_times(at, y_old) - t_old) / h
        single = not x.ndim
        found = _beside(torch.zeros_like(y_old), single) * x
        for i, term in enumerate(reversed(terms)):
            found = (found + _beside(term, single)) * (x if i % 2 == 0 else 1 - x)
        return found + _beside(y_old, single)

    return interpolant_of(call, t_old, t)


def _beside(y: State, single: bool) -> State:
    """A state, beside several times a column."""
    return y if single else y[:, None]


def solution_of(ts: list[float], interpolants: list[Any]) -> Any:
    """Return a `scipy.integrate.OdeSolution` of interpolants that give tensors."""
    from scipy.integrate import OdeSolution

    class Solution(OdeSolution):  # type: ignore[misc]
        def __call__(self, t: Any) -> Any:
            at = np.asarray(t.detach().cpu() if isinstance(t, torch.Tensor) else t, dtype=float)
            found = np.searchsorted(self.ts_sorted, at, side=self.side) - 1
            found = np.clip(found, 0, self.n_segments - 1)
            found = found if self.ascending else self.n_segments - 1 - found
            if not at.ndim:
                return self.interpolants[int(found)](float(at))
            return _by_segment(self.interpolants, found, at)

    return Solution(ts, interpolants)


def _by_segment(interpolants: list[Any], segments: Any, at: Any) -> State:
    """Evaluate each time in its own segment."""
    order = np.argsort(segments, kind="stable")
    _, starts = np.unique(segments[order], return_index=True)
    groups = np.split(order, starts[1:])
    parts = [interpolants[int(segments[g[0]])](at[g]) for g in groups if g.size]
    together = torch.cat(parts, dim=1)
    back = torch.from_numpy(np.argsort(order, kind="stable")).to(together.device)
    return together[:, back]
