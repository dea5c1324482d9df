"""StandardScaler on the device against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler
from sklearn_comparing import accelerated, assert_same, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers

METHODS = ("transform", "inverse_transform")
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["digits", "wine"])
def test_equals_scikit_learn(name, dtype, container):
    X, _ = data(name, dtype)
    compare(StandardScaler(), X, methods=METHODS, tolerance=TOLERANCE[dtype], container=container)


@pytest.mark.parametrize(
    "params", [{"with_mean": False}, {"with_std": False}, {"with_mean": False, "with_std": False}]
)
def test_parameters(params):
    X, _ = data("wine")
    compare(StandardScaler(**params), X, methods=METHODS, tolerance=1e-12, container="device")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nans", [False, True])
def test_missing_values_and_weights(nans, weighted):
    X, _ = data("wine")
    if nans:
        X[::7, 2] = np.nan
    weights = np.linspace(0.0, 2.0, len(X)) if weighted else None
    fit = {"sample_weight": weights} if weighted else {}
    compare(StandardScaler(), X, methods=METHODS, tolerance=1e-12, container="device", **fit)


@pytest.mark.parametrize("nans", [False, True])
def test_in_parts(nans):
    X, _ = data("wine")
    if nans:
        X[::7, 2] = np.nan
    theirs, mine = StandardScaler(), accelerated(StandardScaler())
    with transfers.cpu_as_device():
        for part in np.array_split(X, 3):
            theirs.partial_fit(part)
            mine.partial_fit(part)
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        assert_same(getattr(mine, name), getattr(theirs, name), 1e-12, name)


@pytest.mark.parametrize("X", [np.ones((1, 3)), np.ones((4, 1)), np.full((5, 2), 1e10 / 3)])
def test_edges(X):
    compare(StandardScaler(), X, methods=METHODS, tolerance=1e-12, container="device")


@pytest.mark.parametrize("X", [[[1.0, np.inf]], [1.0, 2.0], [["a", "b"]], np.empty((0, 3))])
def test_errors_are_scikit_learns(X):
    with pytest.raises(ValueError, match=".") as theirs:
        StandardScaler().fit(X)
    with pytest.raises(ValueError, match=".") as mine, transfers.cpu_as_device():
        accelerated(StandardScaler()).fit(X)
    assert str(mine.value) == str(theirs.value)


def test_errors_of_tensors():
    X = torch.tensor([[1.0, torch.inf]])
    with pytest.raises(ValueError, match="infinity"):
        accelerated(StandardScaler()).fit(X)
    scaler = accelerated(StandardScaler()).fit(torch.ones(3, 2))
    with pytest.raises(ValueError, match="X has 3 features, but StandardScaler is expecting 2"):
        scaler.transform(torch.ones(3, 3))
