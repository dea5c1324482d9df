"""The kernels of Gaussian processes on tensors, with their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.gaussian_process import kernels

from npaccel._sklearn.dispatch import call_stack

#: A kernel's values in 64 bits, and their gradients by the logarithms of its free parameters.
Values = tuple[torch.Tensor, list[torch.Tensor]]

_SMOOTH = (0.5, 1.5, 2.5, np.inf)


def is_known(kernel: Any) -> bool:
    """Whether a kernel can be computed here."""
    kind = type(kernel)
    if kind in (kernels.Sum, kernels.Product):
        return is_known(kernel.k1) and is_known(kernel.k2)
    if kind is kernels.Exponentiation:
        return is_known(kernel.kernel)
    if kind is kernels.Matern:
        return kernel.nu in _SMOOTH
    return kind in _LEAVES


def values(
    kernel: Any, X: torch.Tensor, Y: torch.Tensor | None = None, slopes: bool = False
) -> Values:
    """Return a kernel of rows and rows (None: of X and X), and its gradients if asked for."""
    kind = type(kernel)
    if kind is kernels.Sum:
        (first, a), (second, b) = (values(k, X, Y, slopes) for k in (kernel.k1, kernel.k2))
        return first + second, a + b
    if kind is kernels.Product:
        (first, a), (second, b) = (values(k, X, Y, slopes) for k in (kernel.k1, kernel.k2))
        return first * second, [s * second for s in a] + [s * first for s in b]
    if kind is kernels.Exponentiation:
        inner, a = values(kernel.kernel, X, Y, slopes)
        power = kernel.exponent
        return inner**power, [s * power * inner ** (power - 1) for s in a]
    return _LEAVES[kind](kernel, X, Y, slopes)


def diagonal(kernel: Any, X: torch.Tensor) -> torch.Tensor:
    """Return the kernel of each row with itself."""
    kind = type(kernel)
    if kind is kernels.Sum:
        return diagonal(kernel.k1, X) + diagonal(kernel.k2, X)
    if kind is kernels.Product:
        return diagonal(kernel.k1, X) * diagonal(kernel.k2, X)
    if kind is kernels.Exponentiation:
        return diagonal(kernel.kernel, X) ** kernel.exponent
    ones = X.new_ones(len(X))
    if kind is kernels.ConstantKernel:
        return ones * kernel.constant_value
    if kind is kernels.WhiteKernel:
        return ones * kernel.noise_level
    if kind is kernels.DotProduct:
        return (X * X).sum(dim=1) + kernel.sigma_0**2
    return ones


def _free(parameter: Any, *found: torch.Tensor) -> list[torch.Tensor]:
    return [] if parameter.fixed else list(found)


def _distances(X: torch.Tensor, Y: torch.Tensor | None) -> torch.Tensor:
    """Return the distances of rows, those of near rows exactly."""
    Y = X if Y is None else Y
    return torch.cdist(X, Y, compute_mode="donot_use_mm_for_euclid_dist")


def _constant(kernel: Any, X: torch.Tensor, Y: torch.Tensor | None, slopes: bool) -> Values:
    found = X.new_full((len(X), len(X if Y is None else Y)), float(kernel.constant_value))
    return found, _free(kernel.hyperparameter_constant_value, found) if slopes else []


def _white(kernel: Any, X: torch.Tensor, Y: torch.Tensor | None, slopes: bool) -> Values:
    if Y is not None:
        return X.new_zeros((len(X), len(Y))), []
    found = torch.eye(len(X), dtype=X.dtype, device=X.device) * float(kernel.noise_level)
    return found, _free(kernel.hyperparameter_noise_level, found) if slopes else []


def _stationary(kernel: Any, X: torch.Tensor, Y: torch.Tensor | None, slopes: bool) -> Values:
    """Return the radial kernel and those of Matérn."""
    scale = torch.as_tensor(np.array(kernel.length_scale, np.float64), device=X.device)
    scaled = X / scale
    distance = _distances(scaled, None if Y is None else Y / scale)
    nu = getattr(kernel, "nu", np.inf)
    found, by_square = _radial(distance, nu)
    if not slopes or kernel.hyperparameter_length_scale.fixed:
        return found, []
    if not kernel.anisotropic:
        return found, [by_square * distance**2]
    return found, [by_square * (column[:, None] - column) ** 2 for column in scaled.T]


def _radial(distance: torch.Tensor, nu: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a function of distances, and what its slopes are of each squared distance."""
    if nu == np.inf:
        found = torch.exp(-0.5 * distance**2)
        return found, found
    reach = math.sqrt(2 * nu) * distance
    falling = torch.exp(-reach)
    if nu == 0.5:
        safe = torch.where(distance > 0, distance, 1.0)
        return falling, torch.where(distance > 0, falling / safe, 0.0)
    if nu == 1.5:
        return (1 + reach) * falling, 3 * falling
    return (1 + reach + reach**2 / 3) * falling, 5 / 3 * (reach + 1) * falling


def _rational(kernel: Any, X: torch.Tensor, Y: torch.Tensor | None, slopes: bool) -> Values:
    square = _distances(X, Y) ** 2
    alpha, length = kernel.alpha, kernel.length_scale
    base = 1 + square / (2 * alpha * length**2)
    found = base**-alpha
    if not slopes:
        return found, []
    by_length = square * found / (length**2 * base)
    by_alpha = found * (-alpha * torch.log(base) + square / (2 * length**2 * base))
    return found, [
        *_free(kernel.hyperparameter_alpha, by_alpha),
        *_free(kernel.hyperparameter_length_scale, by_length),
    ]


def _periodic(kernel: Any, X: torch.Tensor, Y: torch.Tensor | None, slopes: bool) -> Values:
    phase = math.pi * _distances(X, Y) / kernel.periodicity
    sine = torch.sin(phase)
    length = kernel.length_scale
    found = torch.exp(-2 * (sine / length) ** 2)
    if not slopes:
        return found, []
    by_length = 4 / length**2 * sine**2 * found
    by_period = 4 * phase / length**2 * torch.cos(phase) * sine * found
    return found, [
        *_free(kernel.hyperparameter_length_scale, by_length),
        *_free(kernel.hyperparameter_periodicity, by_period),
    ]


def _dot(kernel: Any, X: torch.Tensor, Y: torch.Tensor | None, slopes: bool) -> Values:
    constant = kernel.sigma_0**2
    found = X @ (X if Y is None else Y).T + constant
    by_sigma = torch.full_like(found, 2 * constant)
    return found, _free(kernel.hyperparameter_sigma_0, by_sigma) if slopes else []


_LEAVES: dict[type, Callable[..., Values]] = {
    kernels.ConstantKernel: _constant,
    kernels.WhiteKernel: _white,
    kernels.RBF: _stationary,
    kernels.Matern: _stationary,
    kernels.RationalQuadratic: _rational,
    kernels.ExpSineSquared: _periodic,
    kernels.DotProduct: _dot,
}


def searched(
    estimator: Any,
    likelihood: Callable[[], tuple[float, Any]],
    draw: Callable[[Any, Any], Any],
) -> float:
    """Set a process's likeliest hyperparameters, and return the logarithm of their likelihood.

    Parameters
    ----------
    estimator : GaussianProcessRegressor or GaussianProcessClassifier
        Its ``kernel_`` gets them.
    likelihood : callable
        Returns the logarithm of the likelihood with ``kernel_``, and its slopes.
    draw : callable
        Returns hyperparameters to start from again, given the bounds of their logarithms.
    """
    kernel = estimator.kernel_
    if estimator.optimizer is None or not kernel.n_dims:
        return likelihood()[0]

    def objective(theta: Any, eval_gradient: bool = True) -> Any:
        kernel.theta = theta
        value, slopes = likelihood()
        return (-value, -slopes) if eval_gradient else -value

    with call_stack.dispatching(False):
        bounds = kernel.bounds
        found = [estimator._constrained_optimization(objective, kernel.theta, bounds)]
        if estimator.n_restarts_optimizer > 0 and not np.isfinite(bounds).all():
            raise ValueError(
                "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds "
                "are finite."
            )
        for _ in range(estimator.n_restarts_optimizer):
            theta = draw(bounds[:, 0], bounds[:, 1])
            found.append(estimator._constrained_optimization(objective, theta, bounds))
        best = int(np.argmin([value for _, value in found]))
        kernel.theta = found[best][0]
        kernel._check_bounds_params()
    return float(-found[best][1])
