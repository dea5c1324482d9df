"""Naive Bayes and discriminant analysis on the device against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, assert_same, compare
from sklearn_data import data, scaled

import npaccel
from npaccel._sklearn.dispatch import transfers

PROBABILITIES = ("predict", "predict_proba", "predict_log_proba")
COUNTS = [
    MultinomialNB(),
    MultinomialNB(alpha=0.3, fit_prior=False),
    ComplementNB(),
    ComplementNB(norm=True),
    BernoulliNB(),
    BernoulliNB(binarize=4.0, class_prior=[0.1] * 10),
]


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("estimator", COUNTS, ids=str)
def test_counts(estimator, dtype, container):
    X, y = data("digits", dtype)
    methods = (*PROBABILITIES, "predict_joint_log_proba")
    compare(estimator, X, y, methods=methods, tolerance=1e-12, container=container)


@pytest.mark.parametrize("estimator", COUNTS[:5:2], ids=str)
def test_weights_and_strings(estimator):
    X, y = data("digits")
    names = np.array([f"digit {n}" for n in range(10)])[y]
    weights = np.linspace(0.0, 2.0, len(X))
    compare(
        estimator,
        X,
        names,
        methods=PROBABILITIES,
        tolerance=1e-12,
        container="device",
        sample_weight=weights,
    )


@pytest.mark.parametrize("estimator", COUNTS[:5:2], ids=str)
@pytest.mark.parametrize("give", [np.asarray, torch.from_numpy])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_in_parts(estimator, give):
    X, y = data("digits")
    theirs, mine = clone(estimator), accelerated(estimator)
    with transfers.cpu_as_device():
        for rows in np.array_split(np.argsort(y, kind="stable"), 4):
            theirs.partial_fit(X[rows], y[rows], classes=np.arange(11))
            mine.partial_fit(give(X[rows]), give(y[rows]), classes=np.arange(11))
    for name in ("feature_count_", "class_count_", "feature_log_prob_", "class_log_prior_"):
        assert_same(np.asarray(getattr(mine, name)), getattr(theirs, name), 1e-12, name)


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-2)])
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_quadratic(name, dtype, tolerance, container):
    X, y = data(name, dtype)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    estimator = QuadraticDiscriminantAnalysis(
        reg_param=0.01, store_covariance=True, priors=None if name == "wine" else [0.3, 0.7]
    )
    theirs, mine = compare(
        estimator,
        X,
        y,
        methods=(*PROBABILITIES, "decision_function"),
        skip=["rotations_"],
        tolerance=tolerance,
        container=container,
    )
    for a, b in zip(mine.rotations_, theirs.rotations_, strict=True):
        assert_same(np.abs(np.asarray(a)), np.abs(b), 1e-2, "rotations_")


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 1e-2)])
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_linear(name, dtype, tolerance, container):
    X, y = scaled(name, dtype)
    X = X + X.dtype.type(1)
    if name == "wine":
        y = np.array(["red", "rosé", "white"])[y] if container != "tensor" else y
    theirs, mine = compare(
        LinearDiscriminantAnalysis(),
        X,
        y,
        methods=(*PROBABILITIES, "decision_function"),
        skip=["scalings_"],
        tolerance=tolerance,
        container=container,
    )
    with transfers.cpu_as_device():
        found = mine.transform(X)
    assert_same(np.abs(np.asarray(found)), np.abs(theirs.transform(X)), tolerance, "transform")


def test_gaussian_bayes_by_scikit_learn_on_tensors():
    X, y = data("wine")
    theirs = GaussianNB().fit(X, y)
    with npaccel.options(backend="eager"), transfers.cpu_as_device():
        mine = accelerated(GaussianNB()).fit(X, y)
        for method in PROBABILITIES:
            wanted = getattr(theirs, method)(X)
            assert_same(getattr(mine, method)(X), wanted, 1e-6, method)
    assert {step.route for step in mine.report_.steps} == {"delegated"}


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (MultinomialNB(), -np.ones((4, 2)), [0, 1, 0, 1]),
        (MultinomialNB(class_prior=[0.5]), np.ones((4, 2)), [0, 1, 0, 1]),
        (MultinomialNB(alpha=[1.0]), np.ones((4, 2)), [0, 1, 0, 1]),
        (ComplementNB(), [[np.nan, 1.0]], [0]),
        (BernoulliNB(), np.ones((4, 2)), [0, 1, 0]),
        (BernoulliNB(alpha=-1), np.ones((4, 2)), [0, 1, 0, 1]),
        (MultinomialNB(), np.ones((4, 2)), [0.5, 1, 0, 1]),
        (QuadraticDiscriminantAnalysis(), np.ones((4, 2)), [0, 0, 0, 0]),
        (QuadraticDiscriminantAnalysis(), np.ones((4, 2)), [0, 0, 0, 1]),
        (QuadraticDiscriminantAnalysis(), np.ones((8, 2)), [0, 0, 0, 0, 1, 1, 1, 1]),
        (LinearDiscriminantAnalysis(n_components=3), np.eye(4), [0, 1, 0, 1]),
        (LinearDiscriminantAnalysis(shrinkage=0.3), np.eye(4), [0, 1, 0, 1]),
        (LinearDiscriminantAnalysis(priors=[-1, 2]), np.eye(4), [0, 1, 0, 1]),
        (QuadraticDiscriminantAnalysis(shrinkage=0.1), np.ones((4, 2)), [0, 0, 1, 1]),
    ],
)
def test_errors_are_scikit_learns(estimator, X, y):
    errors_agree(estimator, X, y)


def test_errors_of_partial_fit():
    X = np.ones((4, 2))
    errors_agree(MultinomialNB(), X, [0, 1, 0, 1], method="partial_fit")
    given = X, [0, 1, 0, 1]
    errors_agree(MultinomialNB(), X, [0, 1, 0, 1], [2, 3], method="partial_fit", given=given)
