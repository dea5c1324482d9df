"""LogisticRegression on the device against scikit-learn's."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn_comparing import accelerated, compare
from sklearn_data import scaled

from npaccel._sklearn.dispatch import transfers

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
#: In 32 bits the search ends where the loss no longer changes; it's flat there.
TOLERANCE = {"float64": 1e-6, "float32": 2e-2}


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("name", ["digits", "wine", "breast_cancer"])
def test_equals_scikit_learn(name, container):
    X, y = scaled(name)
    compare(LogisticRegression(), X, y, methods=METHODS, tolerance=1e-6, container=container)


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_in_32_bits(name):
    X, y = scaled(name, "float32")
    model = LogisticRegression(tol=1e-6)
    compare(
        model,
        X,
        y,
        methods=("decision_function",),
        tolerance=2e-2,
        skip=("n_iter_",),
        container="tensor",
    )


@pytest.mark.parametrize(
    "params",
    [
        {"C": np.inf, "max_iter": 20},
        {"C": 0.01},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {0: 2.0, 1: 0.5}},
        {"tol": 1e-8, "max_iter": 500},
        {"penalty": "l2"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.penalty.", "ignore:divide by zero"
)
def test_parameters(name, params):
    X, y = scaled(name)
    compare(LogisticRegression(**params), X, y, methods=METHODS, tolerance=1e-5, container="device")


def test_sample_weight():
    X, y = scaled("wine")
    weights = np.random.default_rng(0).uniform(0, 2, len(X))
    compare(LogisticRegression(), X, y, tolerance=1e-6, container="device", sample_weight=weights)


def test_labels_may_be_strings():
    X, y = scaled("wine")
    names = np.array(["red", "white", "grey"])[y]
    theirs, mine = compare(LogisticRegression(), X, names, methods=("predict",), container="device")
    found = mine.predict(torch.from_numpy(X))
    assert isinstance(found, np.ndarray)  # a tensor holds no strings
    np.testing.assert_array_equal(found, theirs.predict(X))


def test_warm_start():
    X, y = scaled("wine")
    models = [LogisticRegression(warm_start=True, max_iter=5)]
    models.append(accelerated(models[0]))
    with warnings.catch_warnings(), transfers.cpu_as_device():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in models:
            model.fit(X, y).fit(X, y)
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, atol=1e-8)


def test_says_that_it_has_not_converged():
    X, y = scaled("wine")
    text = r"lbfgs failed to converge after 3 iteration\(s\) \(status=1\)"
    with pytest.warns(ConvergenceWarning, match=text), transfers.cpu_as_device():
        accelerated(LogisticRegression(max_iter=3)).fit(X, y)


@pytest.mark.parametrize(
    "params", [{"solver": "newton-cholesky"}, {"solver": "saga", "l1_ratio": 1.0}]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_solvers_are_scikit_learns(params):
    X, y = scaled("wine")
    model = LogisticRegression(random_state=0, **params)
    mine = accelerated(model)
    with transfers.cpu_as_device():
        mine.fit(X, y)
    np.testing.assert_array_equal(mine.coef_, model.fit(X, y).coef_)
    assert mine.report_.steps[0].reason == f"`solver={params['solver']!r}`"


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((4, 2)), np.ones(4)),
        (np.ones((4, 2)), np.array([0.1, 0.2, 0.3, 0.4])),
        (np.full((4, 2), np.nan), np.array([0, 1, 0, 1])),
        (np.ones((4, 2)), np.array([0, 1, 0])),
    ],
)
def test_errors_are_scikit_learns(X, y):
    with pytest.raises(ValueError, match=".") as theirs:
        LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=".") as mine, transfers.cpu_as_device():
        accelerated(LogisticRegression()).fit(X, y)
    assert str(mine.value)[:30] == str(theirs.value)[:30]
