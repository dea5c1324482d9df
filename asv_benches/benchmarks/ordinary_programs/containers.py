"""Lists that grow, stacks, queues, generators, tables of columns, texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from .record import Array, Program, jit


def _windows(values: Array, size: int, step: int) -> Iterator[Array]:
    for start in range(0, len(values) - size + 1, step):
        yield values[start : start + size]


@jit
def moving_median(values: Array, size: int) -> Array:
    """Return the median of each window."""
    return np.array([np.median(window) for window in _windows(values, size, 2)])


def _primes() -> Iterator[int]:
    known: list[int] = []
    candidate = 2
    while True:
        if all(candidate % p for p in known if p * p <= candidate):
            known.append(candidate)
            yield candidate
        candidate += 1


@jit
def prime_gaps(limit: int) -> Array:
    """Return the gaps between the primes below a limit."""
    gaps, last = [], 2
    for prime in _primes():
        if prime >= limit:
            break
        gaps.append(prime - last)
        last = prime
    return np.array(gaps)


@jit
def flood_fill(image: Array, row: int, column: int, colour: int) -> int:
    """Fill an area of one colour with another one, in place; return its size."""
    old = image[row, column]
    if old == colour:
        return 0
    stack, count = [(row, column)], 0
    while stack:
        i, j = stack.pop()
        if not (0 <= i < image.shape[0] and 0 <= j < image.shape[1]) or image[i, j] != old:
            continue
        image[i, j] = colour
        count += 1
        stack.extend([(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)])
    return count


def _flood_fill() -> tuple[Any, ...]:
    image = (np.random.default_rng(9).random((100, 100)) < 0.25).astype(np.uint8)
    image[0, 0] = 0
    return image, 0, 0, 7


@jit
def maze_distance(walls: Array, start: tuple[int, int]) -> Array:
    """Return how many steps each free cell is away, -1 if there's no way."""
    distance = np.full(walls.shape, -1)
    distance[start] = 0
    queue = deque([start])
    while queue:
        i, j = queue.popleft()
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = i + di, j + dj
            inside = 0 <= a < walls.shape[0] and 0 <= b < walls.shape[1]
            if inside and not walls[a, b] and distance[a, b] < 0:
                distance[a, b] = distance[i, j] + 1
                queue.append((a, b))
    return distance


def _maze_distance() -> tuple[Any, ...]:
    walls = np.random.default_rng(10).random((25, 25)) < 0.2
    walls[:2, :2] = False
    return walls, (0, 0)


@jit
def group_means(table: dict[str, Array], by: str, least: int) -> dict[str, dict[str, float]]:
    """Return the mean of each column of numbers, by group."""
    means = {}
    for group in np.unique(table[by]):
        chosen = table[by] == group
        if chosen.sum() < least:
            continue
        means[str(group)] = {
            name: column[chosen].mean() for name, column in table.items() if name != by
        }
    return means


def _group_means() -> tuple[Any, ...]:
    random = np.random.default_rng(11)
    table = {
        "site": random.choice(["north", "south", "east", "west"], size=2000),
        "rain": random.gamma(2.0, 3.0, size=2000),
        "wind": random.normal(5.0, 2.0, size=2000),
    }
    return table, "site", 10


@jit
def add_columns(table: dict[str, Array], window: int) -> dict[str, Array]:
    """Add derived columns to a table of prices, in place."""
    price = table["price"]
    change = np.zeros_like(price)
    change[1:] = np.log(price[1:] / price[:-1])
    table["change"] = change
    table["smooth"] = np.convolve(price, np.ones(window) / window, mode="same")
    table["signal"] = np.where(price > table["smooth"], 1, -1)
    table["gain"] = np.cumsum(np.roll(table["signal"], 1) * change)
    return table


def _add_columns() -> tuple[Any, ...]:
    random = np.random.default_rng(12)
    return {"price": 100 * np.exp(np.cumsum(0.01 * random.normal(size=500)))}, 20


@jit
def word_vectors(texts: list[str]) -> tuple[dict[str, int], Array]:
    """Return the number of each word, and how often it is in each text."""
    vocabulary: dict[str, int] = {}
    rows = []
    for text in texts:
        words = [word.strip(".,").lower() for word in text.split()]
        for word in words:
            vocabulary.setdefault(word, len(vocabulary))
        rows.append([vocabulary[word] for word in words])
    counts = np.zeros((len(texts), len(vocabulary)), dtype=np.int64)
    for i, row in enumerate(rows):
        for j in row:
            counts[i, j] += 1
    return vocabulary, counts


def _word_vectors() -> tuple[Any, ...]:
    random = np.random.default_rng(13)
    words = ["Rain", "wind", "snow,", "sun", "storm.", "cloud", "frost", "hail", "mist", "dew"]
    return ([" ".join(random.choice(words, size=15)) for _ in range(30)],)


@jit
def parse_readings(lines: list[str]) -> tuple[Array, list[str]]:
    """Return the numbers in lines, NaN where there's none, and what couldn't be read."""
    values, errors = [], []
    for number, line in enumerate(lines):
        name, _, text = line.partition("=")
        try:
            value = float(text)
        except ValueError:
            errors.append(f"{number}: {name}")
            value = np.nan
        values.append(value)
    data = np.array(values)
    data[np.abs(data - np.nanmean(data)) > 3 * np.nanstd(data)] = np.nan
    return data, errors


def _parse_readings() -> tuple[Any, ...]:
    random = np.random.default_rng(14)
    lines = [f"sensor{i % 7}={value:.4f}" for i, value in enumerate(random.normal(size=300))]
    lines[50], lines[120] = "sensor1=n/a", "sensor2="
    return (lines,)


PROGRAMS = (
    Program(moving_median, lambda: (np.random.default_rng(16).normal(size=2000), 9)),
    Program(prime_gaps, lambda: (5000,)),
    Program(flood_fill, _flood_fill),
    Program(maze_distance, _maze_distance),
    Program(group_means, _group_means),
    Program(add_columns, _add_columns),
    Program(word_vectors, _word_vectors),
    Program(parse_readings, _parse_readings, narrow_tolerance=1e-5),
)
