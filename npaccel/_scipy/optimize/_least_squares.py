"""Least squares by the method of K. Levenberg (1944) and D. W. Marquardt (1963), on a device."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npaccel._scipy.optimize._objectives import Vector, read


@dataclasses.dataclass
class Ended:
    """End of the iteration, and the reason."""

    x: Vector
    residuals: Vector
    jacobian: Vector
    status: int
    nfev: int
    njev: int
    optimality: float
    held: Vector


def differentiated(function: Callable[[Vector], Vector]) -> Callable[[Vector], Vector]:
    """Return the Jacobian of a function, by automatic differentiation or else by differences."""

    def jacobian(x: Vector) -> Vector:
        try:
            with warnings.catch_warnings():
                # torch's own rules of differentiation are written in its older compiler.
                for category in (DeprecationWarning, FutureWarning):  # By its release.
                    warnings.filterwarnings("ignore", "`torch.jit", category)
                return torch.func.jacfwd(function)(x).detach()
        except (RuntimeError, NotImplementedError):
            return _differences(function, x)

    return jacobian


def _differences(function: Callable[[Vector], Vector], x: Vector) -> Vector:
    """Forward differences, for what torch can't differentiate."""
    base = function(x)
    steps = math.sqrt(torch.finfo(x.dtype).eps) * torch.clamp(x.abs(), min=1.0)
    unit = torch.eye(x.numel(), dtype=x.dtype, device=x.device)
    columns = [(function(x + row * steps) - base) / steps[i] for i, row in enumerate(unit)]
    return torch.stack(columns, dim=1)


def levenberg_marquardt(
    residuals: Callable[[Vector], Vector],
    jacobian: Callable[[Vector], Vector],
    x: Vector,
    bounds: tuple[Vector, Vector] | None,
    tolerances: Sequence[float],
    most: int,
) -> Ended:
    """Minimise half the sum of squares; variables at their bounds are held while it pushes them.

    Parameters
    ----------
    residuals, jacobian : callable
    x : Vector
    bounds : pair of Vector or None
    tolerances : sequence of float
        ``ftol``, ``xtol`` and ``gtol`` as in `scipy.optimize.least_squares`.
    most : int
        How often residuals may be computed.
    """
    ftol, xtol, gtol = tolerances
    state = _State(residuals, jacobian, x, bounds)
    status = -1
    while status < 0:
        if state.optimality < gtol:
            status = 1
            break
        status = state.improved(ftol, xtol, most)
    return Ended(
        state.x,
        state.residuals,
        state.slopes,
        status,
        state.nfev,
        state.njev,
        state.optimality,
        state.held,
    )


class _State:
    """State of the iteration, with the Jacobian there as a triangle."""

    def __init__(self, residuals: Any, jacobian: Any, x: Vector, bounds: Any) -> None:
        self.function, self.jacobian, self.bounds = residuals, jacobian, bounds
        self.nfev = self.njev = 0
        self.damping = 1e-3
        self.growth = 2.0
        self.x = self._clipped(x)
        self.residuals = self._evaluated(self.x)
        self.scale = torch.zeros_like(x)
        (self.cost,) = read(_half_square(self.residuals))
        if not math.isfinite(self.cost):
            raise ValueError("Residuals are not finite in the initial point.")
        self._linearised()

    def _clipped(self, x: Vector) -> Vector:
        if self.bounds is None:
            return x
        return torch.minimum(torch.maximum(x, self.bounds[0]), self.bounds[1])

    def _evaluated(self, x: Vector) -> Vector:
        self.nfev += 1
        found: Vector = self.function(x)
        return found

    def _linearised(self) -> None:
        self.njev += 1
        self.slopes = self.jacobian(self.x)
        self.gradient = self.slopes.T @ self.residuals
        self.held = torch.zeros_like(self.x, dtype=torch.bool)
        reach = torch.ones_like(self.x)
        if self.bounds is not None:
            low, high = self.bounds
            self.held = ((self.x <= low) & (self.gradient > 0)) | (
                (self.x >= high) & (self.gradient < 0)
            )
            reach = torch.where(self.gradient < 0, high - self.x, self.x - low)
            reach = torch.clamp(reach, max=1.0)
        free = self.slopes * ~self.held
        self.scale = torch.maximum(self.scale, torch.linalg.vector_norm(free, dim=0))
        # One column more than the Jacobian has, so that the rotated rows needn't be there.
        beside = torch.cat([free, self.residuals[:, None]], dim=1)
        rotated = torch.linalg.qr(beside, mode="r").R[: len(self.x)]
        self.triangle, self.target = rotated[:, :-1], rotated[:, -1]
        (self.optimality,) = read((self.gradient * reach).abs().max())

    def improved(self, ftol: float, xtol: float, most: int) -> int:
        """Go to a better point; the status if that was the last one, else -1."""
        while True:
            if self.nfev >= most:
                return 0
            place = self._clipped(self.x + self._step())
            step = place - self.x
            found = self._evaluated(place)
            expected = _half_square(self.residuals) - _half_square(
                self.residuals + self.slopes @ step
            )
            cost, gain, length, size = read(
                _half_square(found),
                expected,
                torch.linalg.vector_norm(step),
                torch.linalg.vector_norm(self.x),
            )
            change = self.cost - cost
            ratio = change / gain if gain > 0 and math.isfinite(cost) else -1.0
            flat = 0 <= change < ftol * self.cost and ratio > 0.25
            short = length < xtol * (xtol + size)
            if ratio > 0:
                self._taken(place, found, cost, ratio)
            else:
                self.damping *= self.growth
                self.growth *= 2
            if flat or short or cost == 0:
                return 4 if flat and short else 3 if short and not flat else 2
            if ratio > 0:
                return -1

    def _step(self) -> Vector:
        """The step of the damped equations, by the triangle of the Jacobian."""
        damped = torch.where(self.scale > 0, self.scale, 1.0) * math.sqrt(self.damping)
        rows = torch.cat([self.triangle, torch.diag(damped)])
        right = torch.cat([self.target, torch.zeros_like(damped)])
        rotated, triangle = torch.linalg.qr(rows)
        step = torch.linalg.solve_triangular(triangle, (rotated.T @ right)[:, None], upper=True)
        return torch.where(self.held, 0.0, -step[:, 0])

    def _taken(self, place: Vector, found: Vector, cost: float, ratio: float) -> None:
        """Go to a point; the damping after H. B. Nielsen (1999)."""
        self.x, self.residuals, self.cost = place, found, cost
        self.damping *= max(1 / 3, 1 - (2 * min(ratio, 1.0) - 1) ** 3)
        self.growth = 2.0
        self._linearised()


def _half_square(x: Vector) -> Vector:
    return 0.5 * torch.dot(x, x)


def covariance(jacobian: Vector) -> Vector:
    """The inverse of J^T J, without directions that J doesn't see."""
    triangle = torch.linalg.qr(jacobian, mode="r").R
    _, values, rows = torch.linalg.svd(triangle, full_matrices=False)
    least = torch.finfo(jacobian.dtype).eps * max(jacobian.shape) * values[0]
    inverse = torch.where(values > least, 1 / values**2, 0.0)
    return (rows.T * inverse) @ rows
