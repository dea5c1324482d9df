"""OneHotEncoder and OrdinalEncoder on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers

ESTIMATORS = [
    OneHotEncoder(sparse_output=False),
    OneHotEncoder(sparse_output=False, drop="first", dtype=np.float32),
    OneHotEncoder(sparse_output=False, drop="if_binary", handle_unknown="ignore"),
    OrdinalEncoder(),
    OrdinalEncoder(encoded_missing_value=-2, handle_unknown="use_encoded_value", unknown_value=-1),
]


def columns(dtype):
    X = data("digits")[0][:200, 18:26].copy()
    if dtype.startswith("float"):
        X[::9, 2] = np.nan
        X[0, 4] = np.nan
    return X.astype(dtype)


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_equals_scikit_learn(estimator, dtype, container):
    compare(estimator, columns(dtype), methods=["transform"], tolerance=0, container=container)


@pytest.mark.parametrize("estimator", [ESTIMATORS[2], ESTIMATORS[4]], ids=str)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_values_that_were_not_seen(estimator):
    X = columns("float64")
    theirs, mine = compare(estimator, X[:20], tolerance=0, container="device")
    with transfers.cpu_as_device():
        found = mine.transform(X)
    np.testing.assert_array_equal(found, theirs.transform(X))
    np.testing.assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())


def test_inverse_transform():
    X = columns("int64")
    with transfers.cpu_as_device():
        encoder = accelerated(OneHotEncoder(sparse_output=False)).fit(X)
        np.testing.assert_array_equal(encoder.inverse_transform(encoder.transform(X)), X)


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (OrdinalEncoder(unknown_value=3), np.ones((3, 2))),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=0), np.ones((3, 2))),
        (OrdinalEncoder(dtype=int), np.array([[np.nan, 1.0]])),
        (OneHotEncoder(sparse_output=False, drop=[7, 8]), np.ones((3, 2))),
        (OneHotEncoder(sparse_output=False), np.array([[np.inf, 1.0]])),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)


@pytest.mark.parametrize("estimator", [ESTIMATORS[0], ESTIMATORS[3]], ids=str)
def test_error_of_unknown_categories(estimator):
    errors_agree(estimator, np.array([[5.0, 7.0]]), method="transform", given=[np.ones((3, 2))])
