"""A user's function of tensors, with gradients by automatic differentiation, and line searches."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import torch

#: Tensors.
Vector = Any


class Stopped(Exception):  # noqa: N818 (it's no error)
    """The callback wants no more."""


class Objective:
    """A function to minimise.

    Parameters
    ----------
    function : callable
    jac : callable, bool or None
        As in `scipy.optimize.minimize`; without one, torch differentiates.
    args : tuple
    like : torch.Tensor
        Results have its dtype.
    """

    def __init__(self, function: Any, jac: Any, args: Any, like: Vector) -> None:
        self.function, self.jac = function, jac
        self.args = args if isinstance(args, tuple) else (args,)
        self.like = like
        self.nfev = self.njev = 0

    def value(self, x: Vector) -> Vector:
        """The value at a point, without dimensions."""
        self.nfev += 1
        with torch.no_grad():
            found = self.function(x, *self.args)
        return self._scalar(found[0] if self.jac is True else found)

    def both(self, x: Vector) -> tuple[Vector, Vector]:
        """The value and the gradient at a point."""
        self.nfev += 1
        self.njev += 1
        if self.jac is True:
            value, gradient = self.function(x, *self.args)
        elif callable(self.jac):
            value, gradient = self.function(x, *self.args), self.jac(x, *self.args)
        else:
            place = x.detach().requires_grad_()
            with torch.enable_grad():
                value = self._scalar(self.function(place, *self.args))
                (gradient,) = torch.autograd.grad(value, place)
        return self._scalar(value).detach(), self._vector(gradient)

    def gradient(self, x: Vector) -> Vector:
        """The gradient alone."""
        if callable(self.jac):
            self.njev += 1
            return self._vector(self.jac(x, *self.args))
        return self.both(x)[1]

    def curvature(self, x: Vector) -> Callable[[Vector], Vector]:
        """The products of the Hessian with vectors."""
        place = x.detach().requires_grad_()
        with torch.enable_grad():
            value = self._scalar(self.function(place, *self.args))
            (gradient,) = torch.autograd.grad(value, place, create_graph=True)

        def product(p: Vector) -> Vector:
            if gradient.grad_fn is None:
                return torch.zeros_like(p)
            (found,) = torch.autograd.grad(gradient, place, p, retain_graph=True, allow_unused=True)
            return torch.zeros_like(p) if found is None else found

        return product

    def _scalar(self, value: Any) -> Vector:
        found = torch.as_tensor(value, device=self.like.device)
        if found.numel() != 1:
            raise ValueError("The user-provided objective function must return a scalar value.")
        return found.reshape(()).to(self.like.dtype)

    def _vector(self, gradient: Any) -> Vector:
        if not isinstance(gradient, torch.Tensor):
            gradient = torch.stack([torch.as_tensor(g, device=self.like.device) for g in gradient])
        return gradient.detach().reshape(self.like.shape).to(self.like)


def read(*values: Vector) -> list[float]:
    """Read numbers from the device, all at once."""
    found: list[float] = torch.stack([v.to(torch.float64) for v in values]).tolist()
    return found


class Ray:
    """The values on a line from a point, with slopes, the last one kept."""

    def __init__(self, objective: Objective, x: Vector, direction: Vector) -> None:
        self.objective, self.x, self.direction = objective, x, direction
        self.step: float | None = None

    def go(self, step: float) -> None:
        """Evaluate at a step."""
        if step == self.step:
            return
        self.place = self.x + step * self.direction
        self.value_there, self.gradient = self.objective.both(self.place)
        self.value, self.slope = read(self.value_there, torch.dot(self.gradient, self.direction))
        self.step = step

    def phi(self, step: float) -> float:
        """The value at a step."""
        self.go(step)
        return self.value

    def derphi(self, step: float) -> float:
        """The slope at a step."""
        self.go(step)
        return self.slope


def searched(
    ray: Ray,
    value: float,
    before: float | None,
    slope: float,
    accepts: Callable[[Ray], bool] = lambda ray: True,
    **limits: float,
) -> bool:
    """Go to a step that fulfils Wolfe's conditions, by SciPy's own searches; False if none does.

    Parameters
    ----------
    ray : Ray
        It stands at that step afterwards.
    value, before, slope : float
        The value and the slope at the beginning, and the value one iteration earlier.
    accepts : callable
        What else a step must fulfil.
    **limits : float
        ``c1, c2, amax, amin``.
    """
    searches = importlib.import_module("scipy.optimize._linesearch")
    step, _, _ = searches.scalar_search_wolfe1(
        ray.phi, ray.derphi, phi0=value, old_phi0=before, derphi0=slope, **limits
    )
    if step is not None:
        ray.go(step)
        if accepts(ray):
            return True
    limits.pop("amin", None)

    def condition(step: float, found: float) -> bool:
        ray.go(step)
        return accepts(ray)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step, _, _, _ = searches.scalar_search_wolfe2(
            ray.phi,
            ray.derphi,
            phi0=value,
            old_phi0=before,
            derphi0=slope,
            extra_condition=condition,
            **limits,
        )
    if step is None:
        return False
    ray.go(step)
    return True


def caller(callback: Any) -> Callable[[Vector, Vector], None]:
    """Return a function of a point and its value that calls the user's callback as SciPy does."""
    from scipy.optimize import OptimizeResult

    if callback is None:
        return lambda x, value: None
    whole = set(inspect.signature(callback).parameters) == {"intermediate_result"}

    def call(x: Vector, value: Vector) -> None:
        try:
            if whole:
                callback(intermediate_result=OptimizeResult(x=x.clone(), fun=value))
            else:
                callback(x.clone())
        except StopIteration as stop:
            raise Stopped from stop

    return call
