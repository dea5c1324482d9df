"""LassoCV and ElasticNetCV on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNetCV, LassoCV
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import scaled

from npaccel._sklearn.dispatch import transfers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
EXACT = {"tol": 1e-8, "alphas": 12}
MODELS = [
    LassoCV(cv=3, **EXACT),
    LassoCV(fit_intercept=False, positive=True, **EXACT),
    LassoCV(cv=ShuffleSplit(3, random_state=0), tol=1e-8, alphas=[0.1, 2.0, 1.0]),
    ElasticNetCV(cv=3, l1_ratio=[0.3, 0.9], **EXACT),
    ElasticNetCV(cv=KFold(4), l1_ratio=0.7, selection="random", random_state=0, **EXACT),
    ElasticNetCV(cv=[(np.arange(300), np.arange(300, 442))], eps=1e-2, **EXACT),
]


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 2e-3)])
@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_equals_scikit_learn(estimator, dtype, tolerance, container):
    X, y = scaled("diabetes", dtype)
    X = X + np.arange(X.shape[1], dtype=dtype)
    skip = ["dual_gap_"] if dtype == "float64" else ["dual_gap_", "n_iter_"]
    options = {"methods": ["predict"], "tolerance": tolerance, "container": container}
    compare(estimator, X, y, skip=skip, **options)


@pytest.mark.parametrize("estimator", MODELS[:4], ids=str)
def test_weights(estimator):
    X, y = scaled("diabetes")
    weights = np.linspace(0.1, 2.0, len(X))
    options = {"methods": ["predict"], "tolerance": 1e-6, "container": "device"}
    compare(estimator, X, y, skip=["dual_gap_"], sample_weight=weights, **options)


@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_a_column_of_targets_and_integers():
    X, y = scaled("diabetes")
    options = {"methods": ["predict"], "tolerance": 1e-6, "skip": ["dual_gap_"]}
    compare(MODELS[0], X, y[:, None], container="device", **options)
    compare(MODELS[0], (X * 10).astype(int), y.astype(int), container="device", **options)
    compare(LassoCV(cv=3, **EXACT), X, np.zeros(len(X)), container="device", **options)


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (LassoCV(verbose=1), "verbose"),
        (ElasticNetCV(selection="random", random_state=np.random.RandomState(0)), "random"),
        (ElasticNetCV(cv=type("Mine", (KFold,), {})(3)), "cv"),
    ],
    ids=["verbose", "random", "cv"],
)
def test_what_stays_on_the_host(estimator, reason):
    X, y = scaled("diabetes")
    mine = accelerated(estimator)
    with transfers.cpu_as_device():
        mine.fit(X, y)
        wide = accelerated(LassoCV(cv=2)).fit(X[:8], y[:8])
    (step,) = mine.report_.steps
    assert step.route == "host"
    assert reason in step.reason
    assert wide.report_.steps[0].route == "host"


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (LassoCV(alphas=[-1.0, 1.0]), np.ones((9, 2)), np.arange(9.0)),
        (LassoCV(alphas=0), np.ones((9, 2)), np.arange(9.0)),
        (LassoCV(), np.full((9, 2), np.nan), np.arange(9.0)),
        (LassoCV(), np.ones((9, 2)), np.full(9, np.nan)),
        (LassoCV(), np.ones((9, 2)), np.arange(8.0)),
        (LassoCV(), np.ones((9, 2)), np.ones((9, 2))),
        (LassoCV(cv=20), np.ones((9, 2)), np.arange(9.0)),
        (LassoCV(cv=GroupKFold(2)), np.ones((9, 2)), np.arange(9.0)),
        (ElasticNetCV(l1_ratio=0), np.ones((9, 2)), np.arange(9.0)),
        (ElasticNetCV(l1_ratio=2.0), np.ones((9, 2)), np.arange(9.0)),
    ],
)
def test_errors_are_scikit_learns(estimator, X, y):
    errors_agree(estimator, X, y)


def test_one_row_left_out():
    X, y = scaled("diabetes")
    estimator = LassoCV(cv=LeaveOneOut(), alphas=5)
    compare(estimator, X[:30, :3], y[:30], tolerance=1e-6, skip=["dual_gap_"], container="device")
