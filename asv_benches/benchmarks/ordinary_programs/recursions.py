"""Functions that call themselves: transforms, trees, sorting, integration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .record import Array, Call, Program, jit


@jit
def recursive_fft(x: Array) -> Array:
    """Transform a signal whose length is a power of two, after Cooley and Tukey."""
    n = len(x)
    if n == 1:
        return x
    even, odd = recursive_fft(x[::2]), recursive_fft(x[1::2])
    factor = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + factor, even - factor])


@jit
def hofstadter(n: int) -> int:
    """Return a member of Hofstadter's G sequence."""
    if n == 0:
        return 0
    return n - hofstadter(hofstadter(n - 1))


def hofstadter_numbers(first: int, last: int) -> list[int]:
    """Return members of the sequence, each from the beginning."""
    return [hofstadter(n) for n in range(first, last)]


def _build_tree(points: Array, depth: int = 0) -> Any:
    if len(points) == 0:
        return None
    axis = depth % points.shape[1]
    points = points[points[:, axis].argsort()]
    middle = len(points) // 2
    left = _build_tree(points[:middle], depth + 1)
    return points[middle], axis, left, _build_tree(points[middle + 1 :], depth + 1)


def _nearest(tree: Any, point: Array, best: tuple[float, Any]) -> tuple[float, Any]:
    if tree is None:
        return best
    node, axis, left, right = tree
    distance = np.sqrt(np.sum((node - point) ** 2))
    if distance < best[0]:
        best = (distance, node)
    ahead = point[axis] - node[axis]
    near, far = (left, right) if ahead < 0 else (right, left)
    best = _nearest(near, point, best)
    if abs(ahead) < best[0]:
        best = _nearest(far, point, best)
    return best


@jit
def tree_search(points: Array, queries: Array) -> Array:
    """Return the distance from each query to the nearest point, by a k-d tree."""
    tree = _build_tree(points)
    return np.array([_nearest(tree, query, (np.inf, None))[0] for query in queries])


def _tree_search() -> tuple[Any, ...]:
    random = np.random.default_rng(5)
    return random.random((60, 3)), random.random((10, 3))


@jit
def quicksort(values: Array) -> Array:
    """Sort by splitting at a pivot."""
    if values.size <= 1:
        return values
    pivot = values[values.size // 2]
    less, equal, more = values[values < pivot], values[values == pivot], values[values > pivot]
    return np.concatenate((quicksort(less), equal, quicksort(more)))


def _peak(x: float) -> float:
    return 1.0 / (0.01 + (x - 0.3) ** 2) + math.sin(5.0 * x)


@jit
def adaptive_simpson(f: Call, a: float, b: float, tolerance: float) -> float:
    """Integrate by Simpson's rule, in halves where that isn't exact enough."""
    middle = 0.5 * (a + b)
    whole = (b - a) / 6 * (f(a) + 4 * f(middle) + f(b))
    left = (middle - a) / 6 * (f(a) + 4 * f(0.5 * (a + middle)) + f(middle))
    right = (b - middle) / 6 * (f(middle) + 4 * f(0.5 * (middle + b)) + f(b))
    if abs(left + right - whole) < 15 * tolerance:
        return left + right + (left + right - whole) / 15
    return adaptive_simpson(f, a, middle, tolerance / 2) + adaptive_simpson(
        f, middle, b, tolerance / 2
    )


def areas(edges: list[float]) -> list[float]:
    """Return the area below a curve between neighbouring edges."""
    return [adaptive_simpson(_peak, a, b, 1e-9) for a, b in zip(edges, edges[1:])]


PROGRAMS = (
    Program(recursive_fft, lambda: (np.random.default_rng(6).random(256) + 0j,)),
    Program(hofstadter_numbers, lambda: (24, 32), numba=True),
    Program(tree_search, _tree_search),
    Program(quicksort, lambda: (np.random.default_rng(7).integers(0, 5000, 4000),)),
    Program(areas, lambda: (np.linspace(0.0, 1.0, 7).tolist(),)),
)
