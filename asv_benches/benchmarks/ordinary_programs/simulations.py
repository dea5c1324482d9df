"""Events and draws: simulations with NumPy's generators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .record import Array, Program, jit

Random = np.random.Generator


@jit
def gillespie(random: Random, rates: Array, state: Array, end: float) -> tuple[Array, Array]:
    """Simulate births, deaths and conversions until a time; return when and what there was."""
    changes = np.array([[1, 0], [-1, 0], [-1, 1], [0, -1]])
    t, times, states = 0.0, [0.0], [state.copy()]
    while True:
        propensity = rates * np.array([1.0, state[0], state[0], state[1]])
        total = propensity.sum()
        t += random.exponential(1 / total)
        if t > end:
            break
        event = random.choice(4, p=propensity / total)
        state = state + changes[event]
        times.append(t)
        states.append(state)
    return np.array(times), np.array(states)


@jit
def bootstrap(random: Random, sample: Array, repeats: int) -> tuple[Any, Any, Array]:
    """Return the median of a sample with its interval, from samples of the sample."""
    medians = np.empty(repeats)
    for i in range(repeats):
        medians[i] = np.median(sample[random.integers(0, len(sample), len(sample))])
    return np.median(sample), medians.std(), np.quantile(medians, [0.025, 0.975])


@jit
def waiting_line(random: Random, hours: int, rate: float, servers: int) -> dict[str, float]:
    """Simulate a counter hour by hour; return how long customers wait and how many are lost."""
    free, waits, lost = [0.0] * servers, [], 0
    for hour in range(hours):
        arrivals = np.sort(hour + random.random(random.poisson(rate)))
        for arrival in arrivals:
            k = free.index(min(free))
            wait = max(0.0, free[k] - arrival)
            if wait > 0.5:
                lost += 1
                continue
            free[k] = arrival + wait + random.exponential(0.2)
            waits.append(wait)
    return {"served": len(waits), "lost": lost, "mean": float(np.mean(waits)), "max": max(waits)}


@jit
def permutation_test(random: Random, a: Array, b: Array, repeats: int) -> tuple[Any, float]:
    """Return the difference of two means, and how often chance makes a larger one."""
    pooled = np.concatenate([a, b])
    observed, larger = a.mean() - b.mean(), 0
    for _ in range(repeats):
        shuffled = random.permutation(pooled)
        if abs(shuffled[: len(a)].mean() - shuffled[len(a) :].mean()) >= abs(observed):
            larger += 1
    return observed, (larger + 1) / (repeats + 1)


class Ising:
    """Spins on a torus."""

    def __init__(self, size: int, temperature: float, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.spins = self.random.choice([-1, 1], size=(size, size))
        self.temperature = temperature
        self.magnetisation: list[Any] = []

    def sweep(self) -> None:
        """Offer each spin, in a random order, to flip."""
        n = len(self.spins)
        for index in self.random.permutation(n * n):
            i, j = divmod(int(index), n)
            around = (
                self.spins[i - 1, j]
                + self.spins[(i + 1) % n, j]
                + self.spins[i, j - 1]
                + self.spins[i, (j + 1) % n]
            )
            cost = 2 * self.spins[i, j] * around
            if cost <= 0 or self.random.random() < np.exp(-cost / self.temperature):
                self.spins[i, j] *= -1
        self.magnetisation.append(abs(self.spins.mean()))


@jit
def ising_sweeps(model: Ising, sweeps: int) -> Array:
    """Return the magnetisation after each sweep."""
    for _ in range(sweeps):
        model.sweep()
    return np.array(model.magnetisation)


def _with_generator(seed: int, *others: Any) -> Callable[[], tuple[Any, ...]]:
    """Return a maker of arguments that begin with a new generator."""
    return lambda: (np.random.default_rng(seed), *(np.copy(o) if np.ndim(o) else o for o in others))


_SAMPLE = np.random.default_rng(31).gamma(2.0, size=80)

PROGRAMS = (
    Program(
        gillespie, _with_generator(32, np.array([4.0, 0.1, 0.2, 0.15]), np.array([5, 0]), 25.0)
    ),
    Program(bootstrap, _with_generator(33, _SAMPLE, 1000)),
    Program(waiting_line, _with_generator(34, 24, 9.0, 2)),
    Program(permutation_test, _with_generator(35, _SAMPLE[:30], _SAMPLE[30:], 2000)),
    Program(ising_sweeps, lambda: (Ising(24, 2.2, 37), 8)),
)
