"""The arrays that the calls of SciPy's functions are written with."""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays(dtype: str = "float64") -> dict[str, np.ndarray[Any, Any]]:
    """Return arrays by name, new ones with the same values at each call.

    Parameters
    ----------
    dtype : str
        Of those that hold floats.
    """
    rng = np.random.default_rng(20)

    def floats(*shape: int) -> np.ndarray[Any, Any]:
        return rng.normal(size=shape).astype(dtype)

    wide = floats(8, 6)
    square = floats(6, 6)
    time = np.linspace(0, 1, 128)
    found: dict[str, Any] = {
        "x": floats(50),
        "y": floats(50),
        "w": np.abs(floats(50)) + 0.1,
        "sorted_x": np.sort(floats(50)),
        "unit": rng.uniform(0.01, 0.99, 50).astype(dtype),
        "signed_unit": rng.uniform(-0.99, 0.99, 50).astype(dtype),
        "positive": rng.uniform(0.1, 5, 50).astype(dtype),
        "large": rng.uniform(-50, 50, 50).astype(dtype),
        "special": np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-30, 30.5], dtype),
        "with_nan": np.where(np.arange(50) % 7 == 3, np.nan, floats(50)).astype(dtype),
        "empty": np.zeros(0, dtype),
        "one": np.array([1.5], dtype),
        "zero_d": np.array(0.75, dtype),
        "image": floats(17, 13),
        "cube": floats(4, 5, 6),
        "mask": rng.uniform(size=(17, 13)) < 0.4,
        "labels": rng.integers(0, 4, (17, 13)),
        "square": square,
        "wide": wide,
        "tall": floats(12, 5),
        "spd": (square @ square.T + 6 * np.eye(6)).astype(dtype),
        "symmetric": (square + square.T).astype(dtype),
        "stack": floats(3, 4, 4) + 4 * np.eye(4, dtype=dtype),
        "vector": floats(6),
        "points": floats(20, 3),
        "points2": floats(15, 3),
        "booleans": rng.uniform(size=(20, 5)) < 0.5,
        "booleans2": rng.uniform(size=(15, 5)) < 0.5,
        "integers": rng.integers(0, 10, 50),
        "counts": rng.integers(1, 30, (3, 4)),
        "signal": (np.sin(40 * time) + 0.3 * np.cos(300 * time)).astype(dtype),
        "signals": floats(3, 128),
        "kernel": floats(5),
        "kernel2": floats(3, 3),
    }
    if dtype in ("float32", "float64"):
        complex_type = np.result_type(dtype, np.complex64)
        found["z"] = (floats(50) + 1j * floats(50)).astype(complex_type)
        found["complex_square"] = (floats(5, 5) + 1j * floats(5, 5)).astype(complex_type)
    return found
