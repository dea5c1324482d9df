"""Layers of neurons on tensors: passes forward and back, as in ``sklearn.neural_network``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.neural_network._stochastic_optimizers import AdamOptimizer

from npaccel._sklearn.dispatch import transfers

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda x: x,
    "logistic": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "softmax": lambda x: torch.softmax(x, dim=1),
    "exp": torch.exp,
}
#: The slopes, of what the activations gave.
_SLOPES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "identity": lambda found, delta: delta,
    "logistic": lambda found, delta: delta * found * (1 - found),
    "tanh": lambda found, delta: delta * (1 - found * found),
    "relu": lambda found, delta: torch.where(found == 0, 0.0, delta),
}


def _logs(y: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    eps = torch.finfo(p.dtype).eps
    p = p.clamp(eps, 1 - eps)
    if p.shape[1] > 1:
        return -torch.special.xlogy(y, p)
    return -(torch.special.xlogy(y, p) + torch.special.xlogy(1 - y, 1 - p))


#: Losses of each number; the sum over the outputs is taken, but of squares the mean.
_LOSSES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "log_loss": _logs,
    "squared_error": lambda y, p: 0.5 * (y - p) ** 2 / y.shape[1],
    "poisson": lambda y, p: torch.special.xlogy(y, y / p) - y + p,
}


@dataclasses.dataclass
class Net:
    """Settings of a pass.

    Parameters
    ----------
    hidden, output : str
        The activations.
    loss : str
    alpha : float
        The penalty of squares.
    """

    hidden: str
    output: str
    loss: str
    alpha: float

    def forward(self, X: torch.Tensor, coefs: Any, intercepts: Any) -> list[torch.Tensor]:
        """Return what each layer gives, X first."""
        found = [X]
        for i, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
            raw = found[-1] @ coef + intercept
            last = i == len(coefs) - 1
            found.append(ACTIVATIONS[self.output if last else self.hidden](raw))
        return found

    def backward(
        self, X: torch.Tensor, y: torch.Tensor, weights: Any, coefs: Any, intercepts: Any
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return the loss, and its gradients by the coefficients and the intercepts."""
        layers = self.forward(X, coefs, intercepts)
        losses = _LOSSES[self.loss](y, layers[-1]).sum(dim=1)
        total = len(X) if weights is None else weights.sum()
        loss = (losses if weights is None else losses * weights).sum() / total
        loss = loss + 0.5 * self.alpha * sum((c * c).sum() for c in coefs) / total
        delta = layers[-1] - y
        if weights is not None:
            delta = delta * weights[:, None]
        by_coefs, by_intercepts = [], []
        for i in range(len(coefs) - 1, -1, -1):
            by_coefs.append((layers[i].T @ delta + self.alpha * coefs[i]) / total)
            by_intercepts.append(delta.sum(dim=0) / total)
            if i:
                delta = _SLOPES[self.hidden](layers[i], delta @ coefs[i].T)
        return loss, by_coefs[::-1] + by_intercepts[::-1]


class Steps:
    """The steps of an optimizer on a device; what it remembers is kept in scikit-learn's."""

    def __init__(self, optimizer: Any, flat: torch.Tensor, units: list[int]) -> None:
        self.optimizer, self.units = optimizer, units
        self.names = ("ms", "vs") if isinstance(optimizer, AdamOptimizer) else ("velocities",)
        self.known = [self._read(getattr(optimizer, name), flat) for name in self.names]

    @staticmethod
    def _read(arrays: Any, flat: torch.Tensor) -> torch.Tensor:
        if not arrays:
            return torch.zeros_like(flat)
        whole = np.concatenate([one.ravel() for one in arrays])
        return transfers.to_device(whole, flat.device)

    def step(self, slope: torch.Tensor) -> torch.Tensor:
        """Return what is to be added to the parameters."""
        by = self.optimizer
        if len(self.names) == 1:
            velocity = by.momentum * self.known[0] - by.learning_rate * slope
            self.known = [velocity]
            return by.momentum * velocity - by.learning_rate * slope if by.nesterov else velocity
        first, second = self.known
        by.t += 1
        first = by.beta_1 * first + (1 - by.beta_1) * slope
        second = by.beta_2 * second + (1 - by.beta_2) * slope**2
        self.known = [first, second]
        rate = math.sqrt(1 - by.beta_2**by.t) / (1 - by.beta_1**by.t)
        by.learning_rate = by.learning_rate_init * rate
        return -by.learning_rate * first / (torch.sqrt(second) + by.epsilon)

    def keep(self) -> None:
        """Keep what it remembers in scikit-learn's optimizer, as arrays."""
        whole = transfers.to_host(torch.stack(self.known))
        for name, row in zip(self.names, whole, strict=True):
            coefs, intercepts = unpacked(row, self.units)
            setattr(self.optimizer, name, [*coefs, *intercepts])


def packed(parts: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat([part.reshape(-1) for part in parts])


def unpacked(flat: Any, units: list[int]) -> tuple[list[Any], list[Any]]:
    """Return the coefficients and the intercepts that a vector holds."""
    coefs, intercepts, start = [], [], 0
    for a, b in pairwise(units):
        coefs.append(flat[start : start + a * b].reshape(a, b))
        start += a * b
    for b in units[1:]:
        intercepts.append(flat[start : start + b])
        start += b
    return coefs, intercepts
