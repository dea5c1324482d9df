"""Functions that NumPy calls: along an axis, for each element, for indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Program, jit


def _trimmed(column: Array) -> Any:
    ordered = np.sort(column)
    cut = len(ordered) // 10
    return ordered[cut : len(ordered) - cut].mean()


@jit
def trimmed_means(data: Array) -> Array:
    """Return the mean of each column without its extremes."""
    return np.apply_along_axis(_trimmed, 0, data)


@jit
def _heat_index(temperature: float, humidity: float) -> float:
    if temperature < 27.0 or humidity < 0.4:
        return temperature
    excess = (temperature - 27.0) * (humidity - 0.4)
    return temperature + 2.5 * excess + 0.1 * excess**2


def heat_map(temperature: Array, humidity: Array) -> Array:
    """Return how warm it feels, element by element."""
    return np.vectorize(_heat_index, otypes=[float])(temperature, humidity)


def _heat_map() -> tuple[Any, ...]:
    random = np.random.default_rng(40)
    return random.uniform(20, 40, (15, 20)), random.uniform(0.2, 0.9, (15, 20))


@jit
def gabor_kernel(size: int, sigma: float, wave: float, angle: float) -> Array:
    """Return a wave in a window, made of its indices."""
    middle = (size - 1) / 2

    def value(i: Array, j: Array) -> Array:
        y, x = i - middle, j - middle
        along = x * np.cos(angle) + y * np.sin(angle)
        return np.exp(-(x**2 + y**2) / (2 * sigma**2)) * np.cos(2 * np.pi * along / wave)

    kernel = np.fromfunction(value, (size, size))
    return kernel / np.abs(kernel).sum()


PROGRAMS = (
    Program(trimmed_means, lambda: (np.random.default_rng(41).normal(size=(60, 40)),)),
    Program(heat_map, _heat_map),
    Program(gabor_kernel, lambda: (31, 5.0, 8.0, 0.6)),
)
