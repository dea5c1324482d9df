"""Calls that have work to do, once everything is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import functions
from .children import POINTS
from .common import IMPLEMENTATIONS, Benchmark, build


class KMeansStep(Benchmark):
    """One step of k-means on 2,000,000 points in the plane."""

    function = staticmethod(functions.kmeans)
    params = [IMPLEMENTATIONS, ["float64", "float32"], ["cpu", "cuda"]]
    param_names = ["implementation", "dtype", "device"]

    def arguments(self, dtype: str, *_: Any) -> tuple[Any, ...]:
        return functions.kmeans_points(POINTS, dtype)

    def device(self, _dtype: str, device: str) -> str:
        return device


class LargeStencil(Benchmark):
    """The 5-point stencil in place on two arrays of 2000x2000."""

    function = staticmethod(functions.stencil)

    def arguments(self, *_: Any) -> tuple[Any, ...]:
        old = np.random.default_rng(0).random((2000, 2000))
        return np.zeros_like(old), old


class SliceWrites(Benchmark):
    """Three slice writes into a new array of 80x80x26."""

    function = staticmethod(functions.slice_writes)

    def arguments(self, *_: Any) -> tuple[Any, ...]:
        return (np.random.default_rng(0).random((80, 80, 26)),)


def compilations(call: Any) -> int:
    """Return how many graphs npaccel compiled for a function, those from disk not counted."""
    return sum(not graph.loaded for graph in call.report().graphs)


class TwentyFirstShape(Benchmark):
    """The k-means step on its 21st shape, after calls on 20 others."""

    function = staticmethod(functions.kmeans)

    def arguments(self, *_: Any) -> tuple[Any, ...]:
        return self.shape(20)

    @staticmethod
    def shape(index: int) -> tuple[Any, ...]:
        """Return inputs of a shape of their own."""
        return functions.kmeans_points(100_000 + 1_000 * index, "float64")

    def warm(self, call: Any) -> None:
        for index in range(20):
            call(*self.shape(index))


class Compilations:
    """How often 21 shapes are compiled, with an empty memory and no disk cache."""

    unit = "compilations"

    def track_compilations(self) -> int:
        import npaccel

        with npaccel.options(cache=False):
            call = build(functions.kmeans, "npaccel")
            for index in range(21):
                call(*TwentyFirstShape.shape(index))
        return compilations(call)
