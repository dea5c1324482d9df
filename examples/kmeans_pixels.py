"""Divide a photograph into regions: scikit-learn's KMeans on its pixels, accelerated.

    python examples/kmeans_pixels.py
    python examples/kmeans_pixels.py --device cuda --regions 64 --out /tmp

A pixel is its colour and its place. Fits scikit-learn's KMeans and npaccel's to all pixels of
scikit-learn's sample photograph, checks that both find the same regions, prints times and where
the work was done, and writes the photograph and its regions in their mean colours as PNG files.
Needs Pillow (``pip install pillow``).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

import npaccel.sklearn

Array = np.ndarray[Any, np.dtype[Any]]


def features(photograph: Array, weight: float) -> Array:
    """Return a row for each pixel: red, green, blue in [0, 1], and its place times a weight."""
    height, width, _ = photograph.shape
    y, x = np.mgrid[:height, :width] * (weight / max(height, width))
    return np.column_stack([photograph.reshape(-1, 3) / 255, y.ravel(), x.ravel()])


def timed(model: Any, pixels: Array) -> tuple[float, Any]:
    """Return the seconds that fitting takes, and the fitted model."""
    start = time.perf_counter()
    model.fit(pixels)
    return time.perf_counter() - start, model


def main(arguments: list[str] | None = None) -> int:
    """Divide the photograph both ways and return 0 if the regions agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--regions", type=int, default=24, help="how many regions")
    parser.add_argument("--weight", type=float, default=0.8, help="of a pixel's place")
    parser.add_argument("--every", type=int, default=1, help="use every n-th row and column")
    parser.add_argument("--device", default="auto", help="cpu, cuda, auto")
    parser.add_argument("--out", type=Path, default=Path.cwd(), help="folder for the PNG files")
    options = parser.parse_args(arguments)

    photograph = load_sample_image("flower.jpg")[:: options.every, :: options.every]
    pixels = features(photograph, options.weight)
    plain = KMeans(options.regions, n_init=1, random_state=0)
    model = npaccel.sklearn.accelerate(plain, device=options.device)
    timed(model, pixels)  # what has to be compiled is, once
    seconds, model = timed(model, pixels)
    their_seconds, plain = timed(plain, pixels)

    print(f"flower.jpg, {len(pixels):,} pixels, {options.regions} regions")
    print(f"scikit-learn  {their_seconds:7.2f} s, {plain.n_iter_} iterations")
    print(f"npaccel       {seconds:7.2f} s, {model.n_iter_} iterations")
    print(f"speed-up      {their_seconds / seconds:7.1f}\n")
    print(model.report_)

    options.out.mkdir(parents=True, exist_ok=True)
    colours = np.rint(model.cluster_centers_[:, :3] * 255).astype(np.uint8)
    regions = colours[model.labels_].reshape(photograph.shape)
    Image.fromarray(np.ascontiguousarray(photograph)).save(options.out / "flower-before.png")
    Image.fromarray(regions).save(options.out / "flower-regions.png")
    print(f"\nwrote flower-before.png and flower-regions.png to {options.out}")
    agree = np.mean(model.labels_ == plain.labels_) > 0.999
    print("the regions agree" if agree else "the regions differ")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
