"""SimpleImputer on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers

STRATEGIES = ["mean", "median", "most_frequent", "constant"]


def with_gaps(name, dtype="float64"):
    X, _ = data(name, dtype)
    X = X[:, :12].copy()
    X[::7, 2] = np.nan
    X[:50, 5] = np.nan
    return X


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equals_scikit_learn(strategy, dtype, container):
    for name in ("wine", "digits"):
        X = with_gaps(name, dtype)
        compare(
            SimpleImputer(strategy=strategy),
            X,
            methods=["transform"],
            tolerance=1e-12 if dtype == "float64" else 1e-6,
            container=container,
        )


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.filterwarnings("ignore:Skipping features")
def test_columns_without_any_number(strategy, keep):
    X = with_gaps("wine")
    X[:, 3] = np.nan
    estimator = SimpleImputer(strategy=strategy, keep_empty_features=keep, add_indicator=True)
    _, mine = compare(
        estimator,
        X,
        methods=["transform"],
        tolerance=1e-12,
        # NumPy takes no NaN of an object array as another's.
        skip=["indicator_", *(["statistics_"] if strategy == "constant" else [])],
        container="device",
    )
    theirs = SimpleImputer(strategy=strategy, keep_empty_features=keep, add_indicator=True).fit(X)
    np.testing.assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())
    if keep:
        return
    with transfers.cpu_as_device():
        found = mine.inverse_transform(theirs.transform(X))
    np.testing.assert_array_equal(found, theirs.inverse_transform(theirs.transform(X)))


@pytest.mark.parametrize("missing", [-1, 0.0])
def test_a_number_that_means_missing(missing):
    X = data("digits")[0][:, 1:20]
    estimator = SimpleImputer(missing_values=missing, strategy="median", keep_empty_features=True)
    compare(estimator, X, methods=["transform"], tolerance=1e-12, container="device")


def test_feature_names_of_tensors():
    import torch

    X = with_gaps("wine")
    mine = accelerated(SimpleImputer()).fit(torch.from_numpy(X))
    assert list(mine.get_feature_names_out()) == [f"x{i}" for i in range(12)]


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (SimpleImputer(), [["a", "b"]]),
        (SimpleImputer(missing_values=-1), [[np.nan, 1.0]]),
        (SimpleImputer(strategy="median"), [1.0, 2.0]),
        (SimpleImputer(strategy="constant", fill_value="x"), np.ones((2, 2))),
        (SimpleImputer(strategy="no"), np.ones((2, 2))),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)


# -- By neighbours ------------------------------------------------------------------------------


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbors(weights, dtype, container):
    X = with_gaps("wine", dtype)
    X[100:, 7] = np.nan
    X[5] = np.nan
    tolerance = 1e-8 if dtype == "float64" else 1e-3
    estimator = KNNImputer(n_neighbors=4, weights=weights)
    compare(estimator, X, methods=["transform"], tolerance=tolerance, container=container)


@pytest.mark.parametrize("keep", [True, False])
def test_neighbors_of_columns_without_any_number(keep):
    X = with_gaps("wine")
    X[:, 3] = np.nan
    estimator = KNNImputer(n_neighbors=400, keep_empty_features=keep, add_indicator=True)
    theirs, mine = compare(
        estimator, X, methods=["transform"], skip=["indicator_"], container="device"
    )
    new = X[:4].copy()
    new[0] = np.nan
    with transfers.cpu_as_device():
        np.testing.assert_allclose(mine.transform(new), theirs.transform(new))
        np.testing.assert_allclose(mine.transform(X[60:65]), theirs.transform(X[60:65]))
    if not keep:
        np.testing.assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())


def test_neighbors_errors_are_scikit_learns():
    errors_agree(KNNImputer(n_neighbors=0), np.ones((3, 2)))
    errors_agree(KNNImputer(missing_values=-1), [[np.nan, 1.0]])
    errors_agree(KNNImputer(), [[np.inf, 1.0]])
    errors_agree(KNNImputer(), np.ones((2, 3)), method="transform", given=[np.ones((3, 2))])
