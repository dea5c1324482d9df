"""Recognise handwritten digits with a pipeline of scikit-learn's, accelerated.

    python examples/sklearn_pipeline.py
    python examples/sklearn_pipeline.py --device cuda --rows 200_000

Scaler, PCA and nearest neighbours are fitted to the digits that scikit-learn ships, of which noisy
copies make as many rows as asked for. Prints the time of scikit-learn and of npaccel, whether the
predictions agree, and where each step computed.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import npaccel.sklearn


def make_digits(rows: int) -> tuple[Any, Any, Any, Any]:
    """Return noisy copies of the digits to learn from, and a tenth as many to recognise."""
    X, y = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    taken = random.integers(0, len(X), size=rows + rows // 10)
    noisy = (X[taken] + random.normal(scale=2.0, size=(len(taken), X.shape[1]))).astype("float32")
    return noisy[:rows], y[taken[:rows]], noisy[rows:], y[taken[rows:]]


def make_model() -> Pipeline:
    """Return the pipeline, of scikit-learn's classes."""
    neighbours = KNeighborsClassifier(5, algorithm="brute")
    return make_pipeline(StandardScaler(), PCA(16, svd_solver="covariance_eigh"), neighbours)


def timed(model: Any, data: tuple[Any, Any, Any, Any]) -> tuple[float, Any]:
    """Return the seconds that fitting and predicting take, and the predictions."""
    X, y, unknown, _ = data
    start = time.perf_counter()
    found = model.fit(X, y).predict(unknown)
    return time.perf_counter() - start, found


def main(arguments: list[str] | None = None) -> int:
    """Run the example; returns 1 if the predictions don't agree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--device", default="auto", help="cpu, cuda, auto")
    options = parser.parse_args(arguments)

    data = make_digits(options.rows)
    timed(make_model(), data)
    theirs, wanted = timed(make_model(), data)
    model = npaccel.sklearn.accelerate(make_model(), device=options.device)
    timed(model, data)  # what has to be compiled is, once
    mine, found = timed(model, data)

    differing = np.mean(found != wanted)
    print(f"{options.rows:,} digits to learn from, {len(wanted):,} to recognise")
    print(f"scikit-learn  {theirs:8.3f} s   {np.mean(wanted == data[3]):.1%} right")
    print(f"npaccel       {mine:8.3f} s   {np.mean(found == data[3]):.1%} right")
    print(f"speed-up      {theirs / mine:8.1f}\n")
    print(model.report_)
    # Neighbours at the same distance, to the last bit but one, may take each other's place.
    agree = differing <= 0.001
    print("\nthe predictions agree" if agree else f"\n{differing:.2%} of the predictions differ")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
