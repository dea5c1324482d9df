"""Reduce a photograph to 16 colours with k-means in plain NumPy, compiled by npaccel.

    python examples/colour_quantisation.py
    python examples/colour_quantisation.py --colours 8 --out /tmp

Runs k-means to convergence on scikit-learn's sample photograph, once in NumPy
and once compiled, checks that they agree, and writes the photograph before and
after as PNG files. Needs Pillow (``pip install pillow``).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_image

import npaccel

Array = np.ndarray[Any, np.dtype[Any]]
Step = Callable[[Array, Array], tuple[Array, Array]]


def step(pixels: Array, colours: Array) -> tuple[Array, Array]:
    """Give each pixel the nearest colour, and each colour the mean of its pixels.

    Parameters
    ----------
    pixels : ndarray of shape (n, 3)
    colours : ndarray of shape (k, 3)

    Returns
    -------
    labels : ndarray of shape (n,), int64
    moved : ndarray of shape (k, 3)
        A colour that no pixel is nearest to stays where it is.
    """
    distances = np.linalg.norm(pixels - colours[:, None], axis=2)
    labels = np.argmin(distances, axis=0)
    member = labels == np.arange(len(colours))[:, None]
    counts = member.sum(axis=1)
    sums = np.stack([np.where(member, channel, 0).sum(axis=1) for channel in pixels.T], axis=1)
    moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], colours)
    return labels, moved


compiled_step = npaccel.jit(step, compile="now")


def quantise(
    step: Step, pixels: Array, colours: Array, tolerance: float, limit: int
) -> tuple[Array, Array, int]:
    """Repeat the step until no colour moves further than `tolerance`.

    Returns
    -------
    labels : ndarray of shape (n,)
    colours : ndarray of shape (k, 3)
    iterations : int
    """
    iterations, distance = 0, np.inf
    while distance > tolerance and iterations < limit:
        labels, moved = step(pixels, colours)
        distance = np.abs(moved - colours).max()
        colours = moved
        iterations += 1
    return labels, colours, iterations


def starting_colours(pixels: Array, k: int) -> Array:
    """Return `k` pixels of the photograph that differ, chosen with a fixed seed."""
    distinct = np.unique(pixels, axis=0)
    return distinct[np.random.default_rng(0).choice(len(distinct), k, replace=False)]


def save(pixels: Array, shape: tuple[int, ...], path: Path) -> None:
    """Write pixels in [0, 1] as a PNG file."""
    Image.fromarray(np.rint(pixels.reshape(shape) * 255).astype(np.uint8)).save(path)


def timed(step: Step, *arguments: Any) -> tuple[float, Array, Array, int]:
    """Return the seconds that k-means took with a step, and its results."""
    start = time.perf_counter()
    labels, colours, iterations = quantise(step, *arguments)
    return time.perf_counter() - start, labels, colours, iterations


def main(arguments: list[str] | None = None) -> int:
    """Quantise the photograph both ways and return 0 if the answers agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--colours", type=int, default=16, help="how many colours to keep")
    parser.add_argument("--every", type=int, default=1, help="use every n-th row and column")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of a colour, in [0, 1]")
    parser.add_argument("--limit", type=int, default=300, help="most iterations")
    parser.add_argument("--out", type=Path, default=Path.cwd(), help="folder for the PNG files")
    options = parser.parse_args(arguments)

    photograph = load_sample_image("china.jpg")[:: options.every, :: options.every] / 255
    pixels = np.ascontiguousarray(photograph.reshape(-1, 3))
    work = (pixels, starting_colours(pixels, options.colours), options.tolerance, options.limit)
    print(f"china.jpg, {len(pixels):,} pixels, {options.colours} colours")

    compiled_step(*work[:2])  # compile; the loops below are compared
    seconds, labels, colours, iterations = timed(compiled_step, *work)
    numpy_seconds, numpy_labels, numpy_colours, numpy_iterations = timed(step, *work)
    print(f"NumPy    {numpy_seconds:7.2f} s, {numpy_iterations} iterations")
    print(f"npaccel  {seconds:7.2f} s, {iterations} iterations")
    print(f"speed-up {numpy_seconds / seconds:7.1f} x")

    options.out.mkdir(parents=True, exist_ok=True)
    save(pixels, photograph.shape, options.out / "china-before.png")
    save(colours[labels], photograph.shape, options.out / "china-after.png")
    print(f"wrote china-before.png and china-after.png to {options.out}")

    unequal = np.count_nonzero(labels != numpy_labels) / len(labels)
    far = np.abs(colours - numpy_colours).max()
    if unequal > 1e-4 or far > 1e-6 or iterations != numpy_iterations:
        print(f"the answers DIFFER: {unequal:.2%} of the labels, colours by up to {far:.1e}")
        return 1
    print(f"the answers agree: colours to {far:.0e}, {unequal:.4%} of the labels on a border")
    return 0


if __name__ == "__main__":
    sys.exit(main())
