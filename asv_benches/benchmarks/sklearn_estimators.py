"""Estimators of `npaccel.sklearn` on NumPy's arrays and a CPU, against scikit-learn's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import PAUSE, samples


def blobs(rows: int, features: int, clusters: int) -> Any:
    """Return float32 rows around as many centres."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=4, size=(clusters, features))
    rows_of = random.integers(0, clusters, rows)
    return (centres[rows_of] + random.normal(size=(rows, features))).astype(np.float32), rows_of


def kmeans() -> tuple[Any, Callable[[Any], Any]]:
    """k-means of a million rows of 16 features, 64 clusters, from given centres, 10 iterations."""
    from sklearn.cluster import KMeans

    data, _ = blobs(1_000_000, 16, 64)
    model = KMeans(64, init=data[:64], n_init=1, max_iter=10, tol=0)
    return model, lambda one: one.fit(data).labels_


def neighbours() -> tuple[Any, Callable[[Any], Any]]:
    """The 5 nearest of 200,000 rows of 32 features, by brute force, for 2,000 others."""
    from sklearn.neighbors import NearestNeighbors

    data, _ = blobs(202_000, 32, 10)

    def run(one: Any) -> Any:
        return one.fit(data[2_000:]).kneighbors(data[:2_000], return_distance=False)

    return NearestNeighbors(n_neighbors=5, algorithm="brute"), run


def _pipeline(steps: list[Any], labelled: bool) -> tuple[Any, Callable[[Any], Any]]:
    from sklearn.pipeline import make_pipeline

    data, labels = blobs(200_000, 32, 5)
    if labelled:
        return make_pipeline(*steps), lambda one: one.fit(data, labels).predict(data)
    return make_pipeline(*steps), lambda one: one.fit_transform(data)


def scaler() -> tuple[Any, Callable[[Any], Any]]:
    """Scaling 200,000 rows of 32 features."""
    from sklearn.preprocessing import StandardScaler

    return _pipeline([StandardScaler()], labelled=False)


def pca() -> tuple[Any, Callable[[Any], Any]]:
    """Scaling and 8 principal components of 200,000 rows of 32 features."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    return _pipeline([StandardScaler(), PCA(8)], labelled=False)


def logistic_regression() -> tuple[Any, Callable[[Any], Any]]:
    """Scaling and logistic regression, 5 classes, of 200,000 rows of 32 features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    return _pipeline([StandardScaler(), LogisticRegression(max_iter=50)], labelled=True)


#: By name: what is measured, and how many times as fast as scikit-learn it has to be.
CASES: dict[str, tuple[Callable[[], Any], float]] = {
    "kmeans": (kmeans, 1.5),
    "neighbours": (neighbours, 1.5),
    "scaler": (scaler, 0.95),
    "pca": (pca, 0.95),
    "logistic_regression": (logistic_regression, 0.95),
}


def prepare(name: str, implementation: str) -> Callable[[], Any]:
    """Return a call without arguments, compiled and warmed up.

    Parameters
    ----------
    name : str
        One of `CASES`.
    implementation : {"sklearn", "npaccel"}
    """
    estimator, run = CASES[name][0]()
    if implementation == "npaccel":
        import npaccel.sklearn

        estimator = npaccel.sklearn.accelerate(estimator, device="cpu")

    def call() -> Any:
        return run(estimator)

    call()
    return call


class Estimators:
    """One estimator or pipeline."""

    params = [["sklearn", "npaccel"], list(CASES)]
    param_names = ["implementation", "case"]
    unit = "seconds"
    timeout = 600

    def setup(self, implementation: str, case: str) -> None:
        self.call = prepare(case, implementation)
        time.sleep(PAUSE)

    def track_call(self, *_: Any) -> float:
        """Return the median seconds per call."""
        return statistics.median(samples(self.call))
