"""Cost of a call when there is next to nothing to compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import functions
from .common import Benchmark


class Sine(Benchmark):
    """``np.sin(x) + 1`` on ten elements, ndarray in and out."""

    function = staticmethod(functions.sine)

    def arguments(self, *_: Any) -> tuple[Any, ...]:
        return (np.linspace(0.0, 1.0, 10),)


class SmallStencil(Benchmark):
    """The 5-point stencil in place on two arrays of 150x150."""

    function = staticmethod(functions.stencil)

    def arguments(self, *_: Any) -> tuple[Any, ...]:
        old = np.random.default_rng(0).random((150, 150))
        return np.zeros_like(old), old
