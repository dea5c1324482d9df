"""DBSCAN on the device against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_circles, make_moons
from sklearn_comparing import accelerated, compare
from sklearn_data import scaled


def moons(noise=0.06):
    return make_moons(300, noise=noise, random_state=0)[0]


def circles():
    return make_circles(300, noise=0.03, factor=0.4, random_state=1)[0]


def grid():
    """Squares whose sides are exactly `eps`."""
    return np.stack(np.meshgrid(np.arange(12.0), np.arange(9.0)), -1).reshape(-1, 2)


def line():
    """A long chain, whose ends are far apart, in no order."""
    return np.random.default_rng(0).permutation(np.arange(700.0))[:, None]


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize(
    ("X", "params"),
    [
        (moons(), {"eps": 0.2}),
        (moons(0.2), {"eps": 0.1, "min_samples": 4}),
        (circles(), {"eps": 0.15, "min_samples": 3}),
        (grid(), {"eps": 1.0, "min_samples": 5}),
        (grid(), {"eps": 1.0, "min_samples": 4}),
        (line(), {"eps": 1.0, "min_samples": 3}),
        (line()[:, [0, 0]] * 3, {"eps": 1.0, "min_samples": 2}),
        (np.ones((7, 2)), {"eps": 0.1, "min_samples": 7}),
        (np.ones((1, 2)), {"eps": 0.1, "min_samples": 1}),
        (scaled("wine")[0], {"eps": 2.3}),
    ],
    ids=["moons", "noise", "circles", "grid", "borders", "chain", "none", "same", "one", "wine"],
)
def test_dbscan_equals_scikit_learn(X, params, container):
    for dtype in ("float64", "float32"):
        compare(DBSCAN(**params), X.astype(dtype), container=container)


def test_weights():
    X = moons(0.1)
    weight = np.random.default_rng(0).normal(1, 2, len(X))  # negative ones, too
    compare(DBSCAN(eps=0.2, min_samples=6), X, container="device", sample_weight=weight)


def test_integers_and_other_metrics():
    X = np.random.default_rng(0).integers(0, 20, (80, 2))
    compare(DBSCAN(eps=2), X, container="device")
    compare(DBSCAN(eps=2, metric="manhattan"), X, container="array")
    model = accelerated(DBSCAN(eps=2, metric="manhattan")).fit(torch.from_numpy(X))
    assert "Euclidean" in model.report_.steps[0].reason


def test_fit_predict():
    X = moons()
    found = accelerated(DBSCAN(eps=0.2)).fit_predict(torch.from_numpy(X))
    np.testing.assert_array_equal(found, DBSCAN(eps=0.2).fit_predict(X))
