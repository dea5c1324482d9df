"""Lasso, ElasticNet and generalised linear models on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn_checking import errors_agree
from sklearn_comparing import compare
from sklearn_data import scaled

SPARSE = [
    Lasso(alpha=0.5, tol=1e-8),
    Lasso(alpha=2.0, fit_intercept=False, tol=1e-8),
    ElasticNet(alpha=0.1, l1_ratio=0.7, tol=1e-8, selection="random", random_state=0),
    ElasticNet(alpha=0.1, positive=True, tol=1e-8),
]
MODELS = [
    PoissonRegressor(alpha=0.1),
    GammaRegressor(alpha=0.01, fit_intercept=False, max_iter=500),
    TweedieRegressor(power=1.5, alpha=0.2),
    TweedieRegressor(power=0, link="log", max_iter=500),
    TweedieRegressor(power=0, alpha=2.0),
    TweedieRegressor(power=3.0, alpha=0.3),
]


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 1e-3)])
@pytest.mark.parametrize("estimator", SPARSE, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse(estimator, dtype, tolerance, container):
    X, y = scaled("diabetes", dtype)
    X = X + np.arange(X.shape[1], dtype=dtype)
    skip = ["dual_gap_"] if dtype == "float64" else ["dual_gap_", "n_iter_"]
    options = {"methods": ["predict"], "tolerance": tolerance, "container": container}
    compare(estimator, X, y, skip=skip, **options)


def test_sparse_with_weights_and_targets():
    X, y = scaled("diabetes")
    weights = np.linspace(0.1, 2.0, len(X))
    options = {"methods": ["predict"], "tolerance": 1e-6, "container": "device"}
    compare(SPARSE[0], X, y, skip=["dual_gap_"], sample_weight=weights, **options)
    targets = np.stack([y, y[::-1]], axis=1)
    compare(SPARSE[0], X, targets, skip=["dual_gap_"], **options)
    compare(SPARSE[0], X, y[:, None], skip=["dual_gap_"], **options)


def test_wide_data_goes_to_scikit_learn():
    X, y = scaled("diabetes")
    _, mine = compare(Lasso(), X[:8], y[:8], methods=["predict"], container="array")
    assert {step.route for step in mine.report_.steps} == {"host"}


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 2e-2)])
@pytest.mark.parametrize("estimator", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_generalized(estimator, dtype, tolerance, container):
    X, y = scaled("diabetes", dtype)
    skip = [] if dtype == "float64" else ["n_iter_"]
    y = y / y.mean()
    compare(
        estimator, X, y, methods=["predict"], tolerance=tolerance, skip=skip, container=container
    )


@pytest.mark.parametrize("estimator", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_generalized_with_weights(estimator):
    from npaccel._sklearn.dispatch import transfers

    X, y = scaled("diabetes")
    y = y / y.mean()
    weights = np.linspace(0.1, 2.0, len(X))
    theirs, mine = compare(
        estimator, X, y, tolerance=1e-6, container="device", sample_weight=weights
    )
    with transfers.cpu_as_device():
        assert mine.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-6)
        found = mine.score(X, y, sample_weight=weights)
    assert found == pytest.approx(theirs.score(X, y, sample_weight=weights), abs=1e-6)


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (Lasso(alpha=-1), np.ones((4, 2)), np.ones(4)),
        (Lasso(), np.full((4, 2), np.nan), np.ones(4)),
        (ElasticNet(), np.ones((4, 2)), np.ones(3)),
        (PoissonRegressor(), np.ones((4, 2)), -np.ones(4)),
        (GammaRegressor(), np.ones((4, 2)), np.zeros(4)),
        (TweedieRegressor(link="no"), np.ones((4, 2)), np.ones(4)),
    ],
)
def test_errors_are_scikit_learns(estimator, X, y):
    errors_agree(estimator, X, y)
