"""Networks and optimizers written by hand: loops over dicts and lists of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Program, jit


@jit
def train_step(params: dict[str, Array], x: Array, y: Array, rate: float) -> float:
    """Take one step down the gradient of a network's squared error; return the error."""
    n = len(params) // 2
    values = [x]
    for i in range(n):
        z = values[-1] @ params[f"W{i}"] + params[f"b{i}"]
        values.append(np.tanh(z) if i < n - 1 else z)
    diff = values[-1] - y
    grad = 2 * diff / diff.size
    for i in reversed(range(n)):
        by_weights = values[i].T @ grad
        by_offsets = grad.sum(axis=0)
        if i:
            grad = (grad @ params[f"W{i}"].T) * (1 - values[i] ** 2)
        params[f"W{i}"] -= rate * by_weights
        params[f"b{i}"] -= rate * by_offsets
    return (diff**2).mean()


def _train_step() -> tuple[Any, ...]:
    random = np.random.default_rng(61)
    x = random.normal(size=(256, 8))
    return _network(random, (8, 32, 32, 1)), x, np.sin(x.sum(axis=1, keepdims=True)), 0.01


def _network(random: np.random.Generator, sizes: tuple[int, ...]) -> dict[str, Array]:
    made: dict[str, Array] = {}
    for i in range(len(sizes) - 1):
        made[f"W{i}"] = random.normal(size=sizes[i : i + 2]) / np.sqrt(sizes[i])
        made[f"b{i}"] = np.zeros(sizes[i + 1])
    return made


class Adam:
    """Kingma and Ba's optimizer of a list of arrays, with the norms of the gradients so far."""

    def __init__(self, params: list[Array]) -> None:
        self.params, self.count = params, 0
        self.means = [np.zeros_like(p) for p in params]
        self.squares = [np.zeros_like(p) for p in params]
        self.norms: list[float] = []

    @jit
    def step(self, grads: list[Array], rate: float = 1e-3) -> None:
        """Move the parameters by one step."""
        self.count += 1
        for i in range(len(self.params)):
            self.means[i] = 0.9 * self.means[i] + 0.1 * grads[i]
            self.squares[i] = 0.999 * self.squares[i] + 0.001 * grads[i] ** 2
            mean = self.means[i] / (1 - 0.9**self.count)
            square = self.squares[i] / (1 - 0.999**self.count)
            self.params[i] = self.params[i] - rate * mean / (np.sqrt(square) + 1e-8)
        self.norms.append(np.sqrt(sum((g**2).sum() for g in grads)))


def adam_steps(params: list[Array], grads: list[Array], steps: int) -> Adam:
    """Make steps of an optimizer."""
    optimizer = Adam(params)
    for _ in range(steps):
        optimizer.step(grads)
    return optimizer


def _adam_steps() -> tuple[Any, ...]:
    random = np.random.default_rng(62)
    shapes = (50_000, (100, 300), 300)
    return (*([random.normal(size=shape) for shape in shapes] for _ in range(2)), 5)


PROGRAMS = (Program(train_step, _train_step), Program(adam_steps, _adam_steps))
