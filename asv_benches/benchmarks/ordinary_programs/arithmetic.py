"""Arithmetic of all kinds: hashes, Python's numbers, float32 and complex arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Program, jit


@jit
def xorshift(state: Array, rounds: int) -> Array:
    """Advance Marsaglia's generators, one for each element, and return numbers in [0, 1)."""
    for _ in range(rounds):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return (state >> np.uint64(11)) * 2.0**-53


@jit
def fnv_hash(data: bytes, buckets: int) -> int:
    """Hash bytes after Fowler, Noll and Vo."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value % buckets


@jit
def mandelbrot(c: Array, limit: int) -> Array:
    """Return after how many iterations each point escapes, of those that are left."""
    counts = np.zeros(c.shape, dtype=np.int32)
    left = np.arange(c.size)
    z = np.zeros_like(c)
    for n in range(1, limit + 1):
        z = z**2 + c
        gone = np.abs(z) > 2
        counts[left[gone]] = n
        left, z, c = left[~gone], z[~gone], c[~gone]
        if not len(left):
            break
    return counts


def _mandelbrot() -> tuple[Any, ...]:
    plane = np.linspace(-2.0, 0.5, 300) + 1j * np.linspace(-1.1, 1.1, 250)[:, None]
    return plane.ravel(), 40


@jit
def self_energies(G: Array, dH: Array, D: Array) -> Array:
    """Sum up products of small matrices over energies, momenta and frequencies."""
    sigma = np.zeros_like(G)
    for k in range(G.shape[0]):
        for e in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    if e - w >= 0:
                        left = dH[q] @ G[k - q, e - w]
                        sigma[k, e] += left @ (D[q, w] * dH[q])
    return sigma


def _self_energies() -> tuple[Any, ...]:
    random = np.random.default_rng(44)
    G = random.random((6, 12, 8, 8)) + 1j * random.random((6, 12, 8, 8))
    return G, random.random((3, 8, 8)) + 0j, random.random((3, 6)) + 0j


@jit
def stockham(x: Array) -> Array:
    """Transform a signal whose length is a power of four, in passes of radix 4."""
    n, stride = x.size, 1
    rotate = np.array([[1, 1, 1, 1], [1, -1j, -1, 1j], [1, -1, 1, -1], [1, 1j, -1, -1j]])
    while n > 1:
        quarter = n // 4
        grid = rotate @ x.reshape(4, quarter * stride)
        angle = np.exp(-2j * np.pi * np.arange(4)[:, None] * np.arange(quarter) / n)
        grid = grid.reshape(4, quarter, stride) * angle[:, :, None]
        x = grid.transpose(1, 0, 2).reshape(-1)
        n, stride = quarter, 4 * stride
    return x


@jit
def pairwise_forces(position: Array, charge: Array, soft: float) -> Array:
    """Return the force on each charge by all others, in 32 bit."""
    delta = position[:, None, :] - position[None, :, :]
    distance = np.sqrt((delta**2).sum(axis=2) + soft)
    charges = charge[:, None] * charge
    return np.sum((charges / distance**3)[:, :, None] * delta, axis=1)


def _pairwise_forces() -> tuple[Any, ...]:
    random = np.random.default_rng(45)
    return random.random((200, 3), dtype=np.float32), random.random(200, dtype=np.float32), 0.01


@jit
def black_scholes(price: Array, strike: Array, years: Array, rate: float, sigma: float) -> Array:
    """Return what call options are worth, by Abramowitz's formula for the error function."""

    def normal(x: Array) -> Array:
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        series = k * (
            0.319381530
            + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * series
        return np.where(x >= 0, 1.0 - tail, tail)

    spread = sigma * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * sigma**2) * years) / spread
    return price * normal(d1) - strike * np.exp(-rate * years) * normal(d1 - spread)


def _black_scholes() -> tuple[Any, ...]:
    random = np.random.default_rng(46)
    return *random.uniform(50.0, 150.0, (2, 400_000)), random.uniform(0.1, 2.0, 400_000), 0.02, 0.3


@jit
def distance_to_line(x: float, y: float, a: float, b: float) -> float:
    """Return how far a point is from a line, as Python numbers."""
    foot = (x + a * (y - b)) / (1 + a * a)
    return ((x - foot) ** 2 + (y - a * foot - b) ** 2) ** 0.5


def nearest_line(points: list[tuple[float, float]], lines: list[tuple[float, float]]) -> list[int]:
    """Return which line is nearest to each point."""
    found = []
    for x, y in points:
        distances = [distance_to_line(x, y, a, b) for a, b in lines]
        found.append(distances.index(min(distances)))
    return found


def _nearest_line() -> tuple[Any, ...]:
    random = np.random.default_rng(47)
    points = [(float(x), float(y)) for x, y in random.normal(size=(40, 2))]
    return points, [(float(a), float(b)) for a, b in random.normal(size=(6, 2))]


@jit
def wind_chill(temperature: Array, speed: Array) -> Array:
    """Return how cold wind feels, where the formula holds."""
    factor = speed**0.16
    felt = 13.12 + 0.6215 * temperature - 11.37 * factor + 0.3965 * temperature * factor
    return np.where((temperature <= 10) & (speed > 4.8), felt, temperature)


@jit
def distances_of_pixels(rows: Array, columns: Array) -> tuple[Array, Any]:
    """Return how far pixels are from their middle, and the largest distance."""
    away = np.hypot(rows - rows.mean(), columns - columns.mean())
    return away, away.max()


PROGRAMS = (
    Program(xorshift, lambda: (np.arange(1, 65, dtype=np.uint64), 1), narrow_tolerance=1e-5),
    Program(fnv_hash, lambda: (bytes(range(256)) * 4, 1024)),
    Program(mandelbrot, _mandelbrot, numba=True),
    Program(self_energies, _self_energies),
    Program(stockham, lambda: (np.random.default_rng(48).random(1024) + 0j,)),
    Program(pairwise_forces, _pairwise_forces),
    Program(black_scholes, _black_scholes),
    Program(nearest_line, _nearest_line, numba=True),
    Program(
        wind_chill, lambda: (np.linspace(-20.0, 20.0, 50), np.linspace(0.0, 30.0, 50)), numba=True
    ),
    Program(
        distances_of_pixels,
        lambda: tuple(np.random.default_rng(50).integers(0, 500, (2, 4000))),
        narrow_tolerance=1e-4,
    ),
)
