"""The arrays that the calls of SciPy's functions are written with."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the arrays are: by default so that tests are quick."""

    vector: int = 50
    image: tuple[int, int] = (17, 13)
    cube: tuple[int, int, int] = (4, 5, 6)
    matrix: int = 6
    tall: tuple[int, int] = (12, 5)
    stack: int = 3
    points: tuple[int, int] = (20, 15)
    signal: int = 128
    signals: tuple[int, int] = (3, 128)


#: A million elements, for benchmarks; matrices so large that they take some milliseconds.
LARGE = Sizes(
    vector=1_000_000,
    image=(1000, 1000),
    cube=(100, 100, 100),
    matrix=300,
    tall=(20_000, 50),
    stack=10_000,
    points=(2000, 500),
    signal=1_000_000,
    signals=(8, 125_000),
)


def arrays(dtype: str = "float64", sizes: Sizes = Sizes()) -> dict[str, np.ndarray[Any, Any]]:
    """Return arrays by name, new ones with the same values at each call.

    Parameters
    ----------
    dtype : str
        Of those that hold floats.
    sizes : Sizes
    """
    rng = np.random.default_rng(20)
    n, m = sizes.vector, sizes.matrix

    def floats(*shape: int) -> np.ndarray[Any, Any]:
        return rng.normal(size=shape).astype(dtype)

    square = floats(m, m)
    time = np.linspace(0, 1, sizes.signal)
    first, second = sizes.points
    found: dict[str, Any] = {
        "x": floats(n),
        "y": floats(n),
        "w": np.abs(floats(n)) + 0.1,
        "sorted_x": np.sort(floats(n)),
        "unit": rng.uniform(0.01, 0.99, n).astype(dtype),
        "signed_unit": rng.uniform(-0.99, 0.99, n).astype(dtype),
        "positive": rng.uniform(0.1, 5, n).astype(dtype),
        "large": rng.uniform(-50, 50, n).astype(dtype),
        "special": np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-30, 30.5], dtype),
        "with_nan": np.where(np.arange(n) % 7 == 3, np.nan, floats(n)).astype(dtype),
        "empty": np.zeros(0, dtype),
        "one": np.array([1.5], dtype),
        "zero_d": np.array(0.75, dtype),
        "image": floats(*sizes.image),
        "cube": floats(*sizes.cube),
        "mask": rng.uniform(size=sizes.image) < 0.4,
        "labels": rng.integers(0, 4, sizes.image),
        "square": square,
        "wide": floats(m + 2, m),
        "tall": floats(*sizes.tall),
        "spd": (square @ square.T + m * np.eye(m)).astype(dtype),
        "symmetric": (square + square.T).astype(dtype),
        "stack": floats(sizes.stack, 4, 4) + 4 * np.eye(4, dtype=dtype),
        "vector": floats(m),
        "points": floats(first, 3),
        "points2": floats(second, 3),
        "booleans": rng.uniform(size=(first, 5)) < 0.5,
        "booleans2": rng.uniform(size=(second, 5)) < 0.5,
        "integers": rng.integers(0, 10, n),
        "counts": rng.integers(1, 30, (3, 4)),
        "signal": (np.sin(40 * time) + 0.3 * np.cos(300 * time)).astype(dtype),
        "signals": floats(*sizes.signals),
        "kernel": floats(5),
        "kernel2": floats(3, 3),
    }
    if dtype in ("float32", "float64"):
        complex_type = np.result_type(dtype, np.complex64)
        found["z"] = (floats(n) + 1j * floats(n)).astype(complex_type)
        found["complex_square"] = (floats(m - 1, m - 1) + 1j * floats(m - 1, m - 1)).astype(
            complex_type
        )
    return found
