"""KernelRidge on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn_checking import errors_agree
from sklearn_comparing import compare
from sklearn_data import data, scaled

KERNELS = ["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian"]


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 5e-3)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_scikit_learn(kernel, dtype, tolerance, container):
    X, y = scaled("diabetes", dtype)
    coef0 = 0.0 if kernel == "sigmoid" else 1.0
    estimator = KernelRidge(alpha=30.0, kernel=kernel, coef0=coef0, gamma=0.02)
    compare(estimator, X, y, methods=["predict"], tolerance=tolerance, container=container)


def test_targets_weights_and_precomputed():
    X, y = scaled("diabetes")
    weights = np.linspace(0.5, 2.0, len(X))
    targets = np.stack([y, y[::-1]], axis=1)
    options = {"methods": ["predict"], "tolerance": 1e-8, "container": "device"}
    compare(KernelRidge(alpha=[1.0, 5.0]), X, targets, sample_weight=weights, **options)
    compare(KernelRidge(alpha=2.0), X, targets, sample_weight=2.0, **options)
    compare(KernelRidge(kernel="precomputed"), X @ X.T, y, **options)


@pytest.mark.filterwarnings("ignore:Singular matrix")
def test_singular_matrices_go_to_scikit_learn():
    X = np.ones((6, 2))
    compare(KernelRidge(alpha=0.0), X, np.arange(6.0), methods=["predict"], container="device")


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (KernelRidge(alpha=-1), np.ones((3, 2))),
        (KernelRidge(), [[np.nan, 1.0]] * 3),
        (KernelRidge(kernel="no"), np.ones((3, 2))),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X, data("wine")[0][:3, 0])
