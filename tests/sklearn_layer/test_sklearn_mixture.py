"""GaussianMixture on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from sklearn_checking import errors_agree
from sklearn_comparing import assert_same, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import table, transfers

pytestmark = pytest.mark.skipif(
    table.row("cluster.KMeans").route != "device", reason="it begins with KMeans on the device"
)
METHODS = ("predict", "predict_proba", "score_samples")


def columns(dtype="float64"):
    X, _ = data("wine", dtype)
    return np.ascontiguousarray(X[:, [0, 5, 6, 9]])


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("begins", ["kmeans", "random"])
def test_equals_scikit_learn(begins, kind, container):
    estimator = GaussianMixture(
        3, covariance_type=kind, init_params=begins, random_state=0, n_init=2, max_iter=300
    )
    compare(estimator, columns(), methods=METHODS, tolerance=1e-5, container=container)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_float32_and_one_row_to_begin_with():
    X = columns("float32")
    estimator = GaussianMixture(2, random_state=0, max_iter=4)
    compare(estimator, X, methods=METHODS, tolerance=2e-2, container="device")
    estimator = GaussianMixture(
        2, init_params="random_from_data", random_state=0, max_iter=4, reg_covar=0.1
    )
    compare(estimator, columns(), methods=METHODS, tolerance=1e-5, container="device")


def test_criteria_and_samples():
    X = columns()
    theirs, mine = compare(
        GaussianMixture(2, random_state=0), X, tolerance=1e-5, container="device"
    )
    with transfers.cpu_as_device():
        for name in ("bic", "aic", "score"):
            assert getattr(mine, name)(X) == pytest.approx(getattr(theirs, name)(X), rel=1e-6)
        for a, b in zip(mine.sample(5), theirs.sample(5), strict=True):
            assert_same(a, b, 1e-4, "sample")


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (GaussianMixture(5), np.ones((3, 2))),
        (GaussianMixture(2, reg_covar=0.0, init_params="random"), np.ones((6, 2))),
        (GaussianMixture(covariance_type="no"), np.ones((6, 2))),
        (GaussianMixture(), np.full((6, 2), np.nan)),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)
