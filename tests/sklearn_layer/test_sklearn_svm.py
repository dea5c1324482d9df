"""Linear support vector machines on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import scaled

EXACT = {"tol": 1e-12, "max_iter": 1_000_000, "dual": False}


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_classes(name, dtype, container):
    X, y = scaled(name, dtype)
    estimator = LinearSVC(C=0.3, class_weight="balanced", intercept_scaling=2.0, **EXACT)
    compare(
        estimator,
        X,
        y,
        methods=["decision_function", "predict"],
        skip=["n_iter_"],
        tolerance=1e-5,
        container=container,
    )


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("intercept", [True, False])
def test_numbers(intercept, container):
    X, y = scaled("diabetes")
    estimator = LinearSVR(
        epsilon=20.0, loss="squared_epsilon_insensitive", fit_intercept=intercept, C=0.1, **EXACT
    )
    weights = np.linspace(0.1, 2.0, len(X))
    compare(
        estimator,
        X,
        y,
        methods=["predict"],
        skip=["n_iter_"],
        tolerance=1e-5,
        container=container,
        sample_weight=weights,
    )


def test_default_tolerance_is_within_the_rows():
    X, y = scaled("wine")
    names = np.array(["red", "rosé", "white"])[y]
    compare(
        LinearSVC(),
        X,
        names,
        methods=["predict"],
        skip=["n_iter_"],
        tolerance=1e-2,
        container="device",
    )


def test_losses_with_corners_go_to_liblinear():
    X, y = scaled("breast_cancer")
    for estimator in (LinearSVC(loss="hinge", max_iter=50_000), SVC()):
        mine = accelerated(estimator).fit(X, y)
        (step,) = mine.report_.steps
        assert step.route == "host"
        assert step.reason


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (LinearSVC(), np.ones((4, 2)), [1, 1, 1, 1]),
        (LinearSVC(C=-1), np.ones((4, 2)), [0, 1, 0, 1]),
        (LinearSVC(intercept_scaling=0), np.ones((4, 2)), [0, 1, 0, 1]),
        (LinearSVC(), np.full((4, 2), np.nan), [0, 1, 0, 1]),
        (LinearSVC(), np.ones((4, 2)), [0.1, 1.5, 0, 1]),
        (LinearSVR(loss="squared_epsilon_insensitive"), np.ones((4, 2)), [1.0, np.nan, 2, 3]),
    ],
)
def test_errors_are_scikit_learns(estimator, X, y):
    errors_agree(estimator, X, y)
