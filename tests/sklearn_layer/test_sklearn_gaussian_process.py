"""GaussianProcessRegressor on the device against scikit-learn's."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as k
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, assert_same, compare
from sklearn_data import scaled

import npaccel.sklearn
from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.gaussian_process import _covariances

KERNELS = [
    1.5 * k.RBF([1.0, 2.0, 0.7]) + k.WhiteKernel(0.3),
    k.ConstantKernel(2.0) * k.Matern(1.3, nu=0.5) + k.DotProduct(0.5),
    k.Matern([1.0, 2.0, 3.0], nu=1.5) * k.RationalQuadratic(0.8, 1.7),
    k.Matern(0.8, nu=2.5) ** 2 + k.ExpSineSquared(1.2, 2.5),
    k.Matern(0.8, nu=np.inf) + k.ConstantKernel(0.4, constant_value_bounds="fixed"),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_and_gradients(kernel):
    X = scaled("diabetes")[0][:20, :3]
    X[3] = X[4]
    wanted, slopes = kernel(X, eval_gradient=True)
    found, mine = _covariances.values(kernel, torch.from_numpy(X), slopes=True)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_allclose(torch.stack(mine, dim=2), slopes, atol=1e-12)
    found, _ = _covariances.values(kernel, torch.from_numpy(X), torch.from_numpy(X[:7]))
    np.testing.assert_allclose(found, kernel(X, X[:7]), atol=1e-12)
    found = _covariances.diagonal(kernel, torch.from_numpy(X))
    np.testing.assert_allclose(found, kernel.diag(X), atol=1e-12)


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("kernel", [None, KERNELS[0]], ids=str)
def test_equals_scikit_learn(kernel, container):
    X = scaled("diabetes")[0][:60, :3]
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 3 + 0.3 * np.cos(17.0 * np.arange(60))
    estimator = GaussianProcessRegressor(kernel, normalize_y=True, alpha=0.01)
    theirs, mine = compare(
        estimator, X, y, methods=["predict"], tolerance=1e-4, container=container
    )
    if container == "tensor":
        return
    np.testing.assert_allclose(mine.kernel_.theta, theirs.kernel_.theta, atol=1e-3)
    new = X[:9] + 0.1
    with transfers.cpu_as_device():
        for options in ({"return_std": True}, {"return_cov": True}):
            for a, b in zip(
                mine.predict(new, **options), theirs.predict(new, **options), strict=True
            ):
                assert_same(a, b, 1e-4, str(options))
        assert_same(mine.sample_y(new, 2), theirs.sample_y(new, 2), 1e-3, "sample_y")
    theta = theirs.kernel_.theta
    if len(theta):
        found = mine.log_marginal_likelihood(theta, eval_gradient=True)
        wanted = theirs.log_marginal_likelihood(theta, eval_gradient=True)
        assert found[0] == pytest.approx(wanted[0], rel=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_targets_restarts_and_noise_of_each_row():
    X, y = scaled("diabetes")
    X, y = X[:40, :3], y[:40] / 100
    targets = np.stack([y, y[::-1]], axis=1)
    kernel = k.RBF(1.0, (0.1, 10.0)) + k.WhiteKernel(1.0, (0.1, 10.0))
    alpha = np.linspace(0.1, 0.5, 40)
    estimator = GaussianProcessRegressor(
        kernel, alpha=alpha, n_restarts_optimizer=1, random_state=0
    )
    compare(estimator, X, targets, methods=["predict"], tolerance=1e-4, container="device")


def test_predictions_before_a_fit():
    X = scaled("diabetes")[0][:5, :3]
    with transfers.cpu_as_device():
        found = accelerated(GaussianProcessRegressor()).predict(X, return_cov=True)
    wanted = GaussianProcessRegressor().predict(X, return_cov=True)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (GaussianProcessRegressor(alpha=[0.1, 0.2]), np.ones((3, 2))),
        (GaussianProcessRegressor(n_targets=2), np.ones((3, 2))),
        (GaussianProcessRegressor(alpha=0.0, optimizer=None), np.ones((3, 2))),
        (GaussianProcessRegressor(), np.full((3, 2), np.nan)),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X, np.arange(3.0))


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("kernel", [None, 1.5 * k.RBF([1.0, 2.0, 0.7])], ids=str)
def test_classes(kernel, count, container):
    X, y = scaled("wine")
    rows = np.flatnonzero(y < count)[::2]
    X, y = X[rows][:, [0, 6, 9]], y[rows]
    if container == "device":
        y = np.array(["red", "rosé", "white"])[y]
    estimator = GaussianProcessClassifier(kernel, random_state=0)
    theirs, mine = compare(
        estimator,
        X,
        y,
        methods=["predict", "predict_proba"],
        skip=["base_estimator_"],
        tolerance=1e-4,
        container=container,
    )
    if container == "device":
        np.testing.assert_allclose(mine.kernel_.theta, theirs.kernel_.theta, atol=1e-3)
        again = pickle.loads(pickle.dumps(mine))
        np.testing.assert_allclose(again.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
        plain = npaccel.sklearn.to_host(mine)
        np.testing.assert_allclose(plain.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_errors_of_classes():
    errors_agree(GaussianProcessClassifier(), np.ones((3, 2)), [1, 1, 1])
    errors_agree(GaussianProcessClassifier(), np.full((3, 2), np.nan), [0, 1, 1])
    errors_agree(GaussianProcessClassifier(multi_class="no"), np.eye(3), [0, 1, 2])
