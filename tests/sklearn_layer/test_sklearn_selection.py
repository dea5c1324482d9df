"""Feature selection on the device against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn import feature_selection
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers

SCORES = ["f_classif", "f_regression", "r_regression", "chi2"]


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_variance_threshold(threshold, dtype, container):
    X = data("digits", dtype)[0].copy()
    X[::5, 3] = np.nan
    compare(
        VarianceThreshold(threshold),
        X,
        methods=["transform"],
        tolerance=1e-10,
        container=container,
    )


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("score", SCORES)
def test_scores(score, dtype, container):
    X, y = data("diabetes" if "regression" in score else "wine", dtype)
    estimator = SelectKBest(getattr(feature_selection, score), k=4)
    tolerance = 1e-8 if dtype == "float64" else 1e-3
    compare(estimator, X, y, methods=["transform"], tolerance=tolerance, container=container)


@pytest.mark.parametrize(
    "name", ["SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect"]
)
def test_selectors(name):
    X, y = data("breast_cancer")
    estimator = getattr(feature_selection, name)()
    compare(estimator, X, y, methods=["transform"], tolerance=1e-8, container="device")


def test_names_of_strings_as_labels():
    X, y = data("wine")
    names = np.array(["red", "rosé", "white"])[y]
    compare(SelectKBest(k=3), X, names, methods=["transform"], container="device")


def test_tensors():
    X, y = data("wine")
    with transfers.cpu_as_device():
        mine = accelerated(SelectKBest(k=3)).fit(torch.from_numpy(X), torch.from_numpy(y))
    theirs = SelectKBest(k=3).fit(X, y)
    assert isinstance(mine.scores_, torch.Tensor)
    np.testing.assert_array_equal(mine.get_support(), theirs.get_support())
    np.testing.assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())
    back = mine.inverse_transform(mine.transform(torch.from_numpy(X)))
    np.testing.assert_array_equal(back.numpy(), theirs.inverse_transform(theirs.transform(X)))


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (VarianceThreshold(), np.ones((3, 2))),
        (VarianceThreshold(), np.ones((1, 2))),
        (SelectKBest(feature_selection.chi2), -np.ones((4, 2))),
        (SelectKBest(k="most"), np.ones((4, 2))),
        (SelectKBest(), np.full((4, 2), np.nan)),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X, np.arange(len(X)) % 2)
