"""RobustScaler, QuantileTransformer and PowerTransformer on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.preprocessing import PowerTransformer, QuantileTransformer, RobustScaler
from sklearn_checking import errors_agree
from sklearn_comparing import compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers

METHODS = ("transform", "inverse_transform")
LOOSE = {"float64": 1e-9, "float32": 2e-5}
CASES = [
    RobustScaler(),
    RobustScaler(quantile_range=(10.0, 85.0), unit_variance=True),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False),
    QuantileTransformer(n_quantiles=50),
    QuantileTransformer(n_quantiles=40, output_distribution="normal"),
    QuantileTransformer(n_quantiles=20, subsample=100, random_state=3),
]


def with_gaps(name, dtype="float64"):
    X, _ = data(name, dtype)
    X = X[:, :12].copy()
    X[::7, 2] = np.nan
    X[60:, 4] = np.nan
    return X


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("estimator", CASES, ids=str)
def test_equals_scikit_learn(estimator, dtype, container):
    for X in (data("wine", dtype)[0], data("digits", dtype)[0][:, :20], with_gaps("wine", dtype)):
        compare(estimator, X, methods=METHODS, tolerance=LOOSE[dtype], container=container)


@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 5e-3)])
def test_power_transformer(method, standardize, dtype, tolerance):
    X, _ = data("wine", dtype)
    X = X[:, [0, 1, 4, 6]]
    if method == "yeo-johnson":
        X = X - X[7]
        X[::5, 1] = np.nan
    estimator = PowerTransformer(method, standardize=standardize)
    methods = METHODS if method == "yeo-johnson" else ["transform"]
    _, mine = compare(estimator, X, methods=methods, tolerance=tolerance, container="device")
    with transfers.cpu_as_device():
        back = mine.inverse_transform(mine.transform(X))
    np.testing.assert_allclose(back, X, rtol=tolerance, atol=tolerance)


def test_power_transformer_of_constant_columns():
    X = np.ones((10, 3))
    X[:, 1] = np.arange(10)
    compare(PowerTransformer(), X, methods=METHODS, tolerance=1e-6, container="device")


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (RobustScaler(quantile_range=(80, 20)), np.ones((3, 2))),
        (RobustScaler(), [[1.0, np.inf]]),
        (QuantileTransformer(n_quantiles=10, subsample=5), np.ones((3, 2))),
        (PowerTransformer("box-cox"), np.zeros((3, 2))),
        (PowerTransformer("box-cox"), np.full((3, 2), np.nan)),
        (PowerTransformer("other"), np.ones((3, 2))),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)
