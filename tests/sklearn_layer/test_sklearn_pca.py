"""PCA on the device against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn_comparing import accelerated, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers

METHODS = ("transform", "score_samples")
TOLERANCE = {"float64": 1e-7, "float32": 2e-4}
CASES = {
    "full": {"n_components": 5, "svd_solver": "full"},
    "covariance": {"n_components": 5, "svd_solver": "covariance_eigh"},
    "randomized": {"n_components": 5, "svd_solver": "randomized", "random_state": 0},
    "oversampled": {
        "n_components": 3,
        "svd_solver": "randomized",
        "iterated_power": 2,
        "n_oversamples": 20,
        "random_state": 1,
    },
    "auto": {"n_components": 4, "random_state": 0},
    "share": {"n_components": 0.9, "svd_solver": "full"},
    "mle": {"n_components": "mle", "svd_solver": "full"},
    "whiten": {"n_components": 4, "whiten": True, "svd_solver": "full"},
}


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_equals_scikit_learn(case, dtype, container):
    X, _ = data("digits", dtype)
    X = X[:, X.std(axis=0) > 0.5]  # components of no variance are any
    if case == "mle" and dtype == "float32":
        return
    methods = METHODS if case != "mle" else ("transform",)
    compare(PCA(**CASES[case]), X, methods=methods, tolerance=TOLERANCE[dtype], container=container)


@pytest.mark.parametrize(
    "params", [{}, {"whiten": True}, {"svd_solver": "randomized", "random_state": 0}]
)
def test_fit_transform_and_back(params):
    X, _ = data("wine")
    theirs, mine = PCA(6, **params), accelerated(PCA(6, **params))
    with transfers.cpu_as_device():
        found = mine.fit_transform(X)
        back = mine.inverse_transform(found)
    wanted = theirs.fit_transform(X)
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())
    np.testing.assert_allclose(back, theirs.inverse_transform(wanted), atol=1e-6)
    np.testing.assert_allclose(mine.get_covariance(), theirs.get_covariance(), atol=1e-5)
    np.testing.assert_allclose(mine.get_precision(), theirs.get_precision(), atol=1e-5)
    np.testing.assert_allclose(mine.score(X), theirs.score(X), rtol=1e-6)


@pytest.mark.parametrize("X", [np.ones((1, 3)), np.arange(8.0).reshape(8, 1), np.ones((5, 3))])
def test_edges(X):
    theirs, mine = PCA(), accelerated(PCA())
    with np.errstate(all="ignore"), transfers.cpu_as_device():
        if len(X) > 1:
            theirs.fit(X)
            mine.fit(X)
            np.testing.assert_allclose(mine.singular_values_, theirs.singular_values_, atol=1e-7)


@pytest.mark.parametrize(
    "params",
    [
        {"n_components": 20},
        {"n_components": -1},
        {"n_components": "mle", "svd_solver": "randomized"},
    ],
)
def test_errors_are_scikit_learns(params):
    X, _ = data("wine")
    with pytest.raises(ValueError, match=".") as theirs:
        PCA(**params).fit(X)
    with pytest.raises(type(theirs.value), match="n_components"), transfers.cpu_as_device():
        accelerated(PCA(**params)).fit(X)


def test_arpack_goes_through_the_host():
    X, _ = data("wine")
    pca = accelerated(PCA(3, svd_solver="arpack", random_state=0))
    given = torch.from_numpy(X)
    found = pca.fit_transform(given)
    assert isinstance(found, torch.Tensor)
    assert [(step.route, step.reason) for step in pca.report_.steps] == [
        ("host", '`svd_solver="arpack"` is Fortran\'s')
    ]
