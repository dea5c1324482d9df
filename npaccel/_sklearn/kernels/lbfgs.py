"""L-BFGS on a device, step by step as SciPy's L-BFGS-B goes without bounds.

The direction is that of the compact form of R. H. Byrd, J. Nocedal and R. B. Schnabel (1994), and
the line search that of J. J. Moré and D. J. Thuente (1994). The host reads three numbers per
evaluation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import torch
from scipy.optimize import _dcsrch

from npaccel._sklearn.dispatch import transfers

#: Number of steps that are remembered, and maximum number of evaluations: SciPy's defaults.
_MEMORY, _EVALUATIONS = 10, 15_000
_EPS = torch.finfo(torch.float64).eps

#: The value and the gradient at a point, in 64 bits.
Objective = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


@dataclasses.dataclass
class Found:
    """End of a minimisation, as SciPy says it.

    Parameters
    ----------
    x : torch.Tensor
    fun : float
    nit : int
    nfev : int
    status : int
    message : str
    """

    x: torch.Tensor
    fun: float
    nit: int
    nfev: int
    status: int
    message: str


class _Point:
    """A point, with the value and the gradient there, and the numbers that the host knows."""

    def __init__(self, objective: Objective, x: torch.Tensor, along: torch.Tensor) -> None:
        self.x = x
        value, self.gradient = objective(x)
        slope = torch.dot(self.gradient, along)
        size = torch.linalg.vector_norm(self.gradient, ord=math.inf)
        self.value, self.slope, self.size = transfers.numbers(value, slope, size)


class _Memory:
    """The last steps and changes of the gradient, as an inverse of the Hessian."""

    def __init__(self, like: torch.Tensor) -> None:
        self.steps = like.new_zeros((0, like.numel()))
        self.changes = like.new_zeros((0, like.numel()))

    def add(self, step: torch.Tensor, change: torch.Tensor) -> None:
        """Keep a step."""
        steps = torch.cat([self.steps[1 - _MEMORY :], step[None]])
        self.take(steps, torch.cat([self.changes[1 - _MEMORY :], change[None]]))

    def take(self, steps: torch.Tensor, changes: torch.Tensor) -> None:
        """Keep these steps instead, of which there is one at least."""
        self.steps, self.changes = steps, changes
        products = self.steps @ self.changes.T
        self.upper = products  # what is below the diagonal isn't read
        squares = self.changes @ self.changes.T
        self.scale = products[-1, -1] / squares[-1, -1]
        self.middle = torch.diag(torch.diagonal(products)) + self.scale * squares

    def product(self, vector: torch.Tensor) -> torch.Tensor:
        """Return the inverse times a vector."""
        if not len(self.steps):
            return vector
        turned = self.scale * (self.changes @ vector)
        left = torch.linalg.solve_triangular(self.upper, (self.steps @ vector)[:, None], upper=True)
        right = torch.linalg.solve_triangular(
            self.upper.T, self.middle @ left - turned[:, None], upper=False
        )
        return self.scale * (vector - self.changes.T @ left[:, 0]) + self.steps.T @ right[:, 0]


@dataclasses.dataclass
class Reached:
    """State that a minimisation has reached.

    Parameters
    ----------
    x : torch.Tensor
    steps, changes : torch.Tensor
        The last steps, and how the gradient has changed by them.
    nit, nfev : int
    """

    x: torch.Tensor
    steps: torch.Tensor
    changes: torch.Tensor
    nit: int
    nfev: int


def minimized(
    objective: Objective,
    x: torch.Tensor,
    *,
    maxiter: int,
    gtol: float,
    ftol: float,
    maxls: int,
    begun: Reached | None = None,
    note: Callable[[Reached], None] | None = None,
) -> Found:
    """Minimise a function.

    Parameters
    ----------
    objective : callable
    x : torch.Tensor
        Where it begins: a vector in 64 bits.
    maxiter, gtol, ftol, maxls
        SciPy's options.
    begun : Reached, optional
        What to go on from.
    note : callable, optional
        Is told after each iteration but the last how far it has come.
    """
    memory = _Memory(x)
    nit, nfev = 0, 1
    if begun is not None:
        x, nit, nfev = begun.x, begun.nit, begun.nfev + 1
        if len(begun.steps):
            memory.take(begun.steps, begun.changes)
    point = _Point(objective, x, x)
    if begun is None and point.size <= gtol:
        return Found(x, point.value, 0, 1, 0, _FLAT)
    while True:
        found, evaluations = _step(objective, point, memory, nit, maxls)
        nfev += evaluations
        if found is None:
            if not len(memory.steps):
                return Found(point.x, point.value, nit, nfev, 2, "ABNORMAL: ")
            memory = _Memory(x)
            continue
        before, point = point, found
        nit += 1
        ended = _ended(before, point, nit, nfev, maxiter, gtol, ftol)
        if ended is not None:
            return Found(point.x, point.value, nit, nfev, *ended)
        if note is not None:
            note(Reached(point.x, memory.steps, memory.changes, nit, nfev))


_FLAT = "CONVERGENCE: NORM OF PROJECTED GRADIENT <= PGTOL"


def _ended(
    before: _Point, point: _Point, nit: int, nfev: int, maxiter: int, gtol: float, ftol: float
) -> tuple[int, str] | None:
    """Return SciPy's status and message if this is the end."""
    if nit >= maxiter:
        return 1, "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT"
    if nfev > _EVALUATIONS:
        return 1, "STOP: TOTAL NO. OF F,G EVALUATIONS EXCEEDS LIMIT"
    if point.size <= gtol:
        return 0, _FLAT
    largest = max(abs(before.value), abs(point.value), 1.0)
    if before.value - point.value <= ftol * largest:
        return 0, "CONVERGENCE: RELATIVE REDUCTION OF F <= FACTR*EPSMCH"
    return None


def _step(
    objective: Objective, point: _Point, memory: _Memory, nit: int, maxls: int
) -> tuple[_Point | None, int]:
    """Return the end of a line search, None where there is none, and how often it evaluated."""
    direction = -memory.product(point.gradient)
    slope, length = transfers.numbers(
        torch.dot(direction, point.gradient), torch.linalg.vector_norm(direction)
    )
    if not slope < 0:
        return None, 0
    search = _dcsrch.DCSRCH(None, None, 1e-3, 0.9, 0.1, 0.0, 1e10)
    step = min(1 / length, 1e10) if nit == 0 else 1.0
    value, along, task = point.value, slope, b"START"
    evaluations = 0
    there = point
    while True:
        step, value, along, task = search._iterate(step, value, along, task)
        if task[:2] != b"FG":
            break
        if evaluations >= maxls or not math.isfinite(step):
            return None, evaluations
        there = _Point(objective, point.x + step * direction, direction)
        evaluations += 1
        value, along = there.value, there.slope
    if task[:5] == b"ERROR" or there is point:
        return None, evaluations
    _remember(memory, point, there, slope, float(step))
    return there, evaluations


def _remember(memory: _Memory, before: _Point, there: _Point, slope: float, step: float) -> None:
    """Keep a step, unless the gradient turned too little along it."""
    if (there.slope - slope) * step > _EPS * -slope * step:
        memory.add(there.x - before.x, there.gradient - before.gradient)


def warn_unless_converged(found: Found, max_iter: int, more: str | None = None) -> int:
    """Warn as scikit-learn does, and return the number of iterations.

    Parameters
    ----------
    found : Found
    max_iter : int
    more : str, optional
        What the warning is to say besides.
    """
    from sklearn.utils.optimize import _check_optimize_result

    return int(_check_optimize_result("lbfgs", found, max_iter, extra_warning_msg=more))
