"""LinearRegression and Ridge on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn_comparing import accelerated, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers

TOLERANCE = {"float64": 1e-9, "float32": 2e-3}
MODELS = {
    "linear": LinearRegression(),
    "linear-no-intercept": LinearRegression(fit_intercept=False),
    "ridge": Ridge(),
    "ridge-no-intercept": Ridge(fit_intercept=False, alpha=0.1),
    "ridge-svd": Ridge(solver="svd", alpha=3.0),
    "ridge-cholesky": Ridge(solver="cholesky", alpha=10.0),
}


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_equals_scikit_learn(name, dtype, container):
    X, y = data("diabetes", dtype)
    skip = ("rank_",) if dtype == "float32" else ()
    compare(
        MODELS[name],
        X,
        y,
        methods=("predict",),
        tolerance=TOLERANCE[dtype],
        container=container,
        skip=skip,
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rows", [442, 6])
def test_weights_and_several_targets(name, rows):
    X, y = data("diabetes")
    X, y = X[:rows], np.stack([y, y**2, X[:, 0]], axis=1)[:rows]
    weights = np.random.default_rng(0).uniform(0, 2, rows)
    compare(
        MODELS[name],
        X,
        y,
        methods=("predict",),
        tolerance=1e-8,
        container="device",
        sample_weight=weights,
    )


def test_penalty_per_target():
    X, y = data("diabetes")
    y = np.stack([y, y**2], axis=1)
    compare(Ridge(alpha=[1.0, 20.0]), X, y, tolerance=1e-9, container="device")
    with pytest.raises(ValueError, match="2 != 3"), transfers.cpu_as_device():
        accelerated(Ridge(alpha=[1.0, 2.0, 3.0])).fit(X, y)


def test_dependent_columns():
    X, y = data("diabetes")
    X = np.concatenate([X, X[:, :3]], axis=1)
    compare(LinearRegression(), X, y, methods=("predict",), tolerance=1e-7, container="device")
    compare(Ridge(), X, y, methods=("predict",), tolerance=1e-7, container="device")


@pytest.mark.parametrize("model", [LinearRegression(), Ridge()])
def test_one_column_of_targets(model):
    X, y = data("diabetes")
    compare(model, X, y[:, None], methods=("predict",), tolerance=1e-9, container="device")


@pytest.mark.parametrize(
    "model", [LinearRegression(positive=True), Ridge(positive=True), Ridge(solver="lsqr")]
)
def test_what_stays_on_the_host(model):
    X, y = data("diabetes")
    mine = accelerated(model)
    with transfers.cpu_as_device():
        mine.fit(X, y)
    np.testing.assert_array_equal(mine.coef_, model.fit(X, y).coef_)
    assert mine.report_.steps[0].route == "host"
