"""KernelPCA on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import scaled

import npaccel
from npaccel._sklearn.dispatch import transfers

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.05},
    {"kernel": "poly", "degree": 2, "gamma": 0.1},
    {"kernel": "cosine"},
]


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 2e-3)])
@pytest.mark.parametrize("params", KERNELS, ids=lambda p: p["kernel"])
def test_equals_scikit_learn(params, dtype, tolerance, container):
    X, _ = scaled("wine", dtype)
    compare(
        KernelPCA(n_components=4, **params),
        X,
        methods=["transform", "fit_transform"],
        tolerance=tolerance,
        container=container,
    )


def test_arpacks_components_are_the_same():
    X, _ = scaled("breast_cancer")
    compare(KernelPCA(n_components=3, gamma=0.01, kernel="rbf"), X, methods=["transform"])
    estimator = KernelPCA(n_components=3, eigen_solver="arpack", random_state=0)
    compare(estimator, X, methods=["transform"], container="device")


def test_all_components_that_are_not_zero():
    X, _ = scaled("wine")
    for params in ({}, {"n_components": 30, "remove_zero_eig": True}):
        theirs, mine = compare(KernelPCA(**params), X, methods=["transform"], container="device")
        assert mine.eigenvalues_.shape == theirs.eigenvalues_.shape == (13,)


def test_way_back():
    X, _ = scaled("wine")
    estimator = KernelPCA(4, kernel="rbf", gamma=0.05, fit_inverse_transform=True, alpha=0.1)
    theirs, mine = compare(estimator, X, methods=["transform"], container="device")
    low = theirs.transform(X)
    with transfers.cpu_as_device(), npaccel.options(backend="eager"):
        found = mine.inverse_transform(low)
    np.testing.assert_allclose(found, theirs.inverse_transform(low), atol=1e-6)


def test_precomputed_kernel_is_not_written_into():
    X, _ = scaled("wine")
    kernel = rbf_kernel(X, gamma=0.05)
    before = kernel.copy()
    estimator = KernelPCA(3, kernel="precomputed")
    compare(estimator, kernel, methods=["transform"], container="device")
    np.testing.assert_array_equal(kernel, before)


def test_what_goes_to_scikit_learn():
    X, _ = scaled("wine")
    for params in (
        {"kernel": lambda a, b: a @ b},
        {"n_components": 2, "eigen_solver": "randomized", "random_state": 0},
        {"n_components": 2, "eigen_solver": "arpack", "tol": 0.1, "random_state": 0},
    ):
        mine = accelerated(KernelPCA(**params))
        with transfers.cpu_as_device():
            mine.fit(np.abs(X))
        assert {step.route for step in mine.report_.steps} == {"host"}


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (KernelPCA(fit_inverse_transform=True, kernel="precomputed"), np.eye(3)),
        (KernelPCA(kernel="precomputed"), np.ones((3, 2))),
        (KernelPCA(kernel="sigmoid", gamma=-5.0), np.arange(12.0).reshape(4, 3)),
        (KernelPCA(), [[np.nan, 1.0]] * 3),
        (KernelPCA(n_components=0), np.ones((3, 2))),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)


def test_errors_of_later_calls_are_scikit_learns():
    X, _ = scaled("wine")
    errors_agree(KernelPCA(), X[:, :2], method="transform", given=(X,))
    errors_agree(KernelPCA(), X, method="inverse_transform", given=(X,))
