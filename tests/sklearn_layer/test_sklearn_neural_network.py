"""MLPClassifier and MLPRegressor on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, assert_same, compare
from sklearn_data import scaled

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FORMS = [
    {},
    {"activation": "tanh", "batch_size": 50, "alpha": 0.1},
    {"activation": "logistic", "solver": "sgd", "nesterovs_momentum": False},
    {"activation": "identity", "solver": "sgd", "learning_rate": "invscaling", "shuffle": False},
    {"solver": "sgd", "learning_rate": "adaptive", "tol": 1.0, "n_iter_no_change": 2},
    {"solver": "lbfgs", "activation": "tanh", "max_iter": 15},
]


def options(form):
    return {"hidden_layer_sizes": (12, 7), "max_iter": 12, "random_state": 0, **form}


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_classes(name, form, container):
    X, y = scaled(name)
    if container == "device":
        y = np.array(["a", "b", "c"])[y]
    methods = ["predict", "predict_proba", "predict_log_proba"]
    compare(
        MLPClassifier(**options(form)), X, y, methods=methods, tolerance=1e-6, container=container
    )


@pytest.mark.parametrize("form", FORMS[::2], ids=str)
def test_numbers(form):
    X, y = scaled("diabetes")
    targets = np.stack([y, y[::-1]], axis=1) / 100
    weights = np.linspace(0.5, 1.5, len(X))
    fit = {"methods": ["predict"], "tolerance": 1e-6, "container": "device"}
    compare(MLPRegressor(**options(form)), X, y / 100, sample_weight=weights, **fit)
    compare(MLPRegressor(**options(form)), X, targets, **fit)


def test_float32_and_poisson():
    X, y = scaled("diabetes", "float32")
    estimator = MLPRegressor(**options({"loss": "poisson"}))
    fit = {"methods": ["predict"], "container": "device"}
    compare(estimator, X, y / 100, tolerance=1e-3, **fit)
    compare(estimator, X.astype("float64"), y.astype("float64") / 100, tolerance=1e-6, **fit)


@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_in_parts_and_from_one_to_the_other(solver):
    X, y = scaled("wine")
    rows = np.random.default_rng(0).permutation(len(X))
    X, y = X[rows], y[rows]
    theirs = MLPClassifier(**options({"solver": solver}))
    mine = accelerated(clone(theirs))
    from npaccel._sklearn.dispatch import transfers

    for i in range(3):
        part = slice(50 * i, 50 * i + 50)
        theirs.partial_fit(X[part], y[part], classes=[0, 1, 2])
        if i == 1:
            # On a CPU it's scikit-learn's own code that goes on, and is gone on from.
            mine.partial_fit(X[part], y[part], classes=[0, 1, 2])
        else:
            with transfers.cpu_as_device():
                mine.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert_same(mine.predict_proba(X), theirs.predict_proba(X), 1e-6, "predict_proba")
    assert mine.t_ == theirs.t_


def test_warm_start():
    X, y = scaled("wine")
    estimator = MLPClassifier(**options({"warm_start": True, "max_iter": 3}))
    theirs, mine = compare(estimator, X, y, tolerance=1e-6, container="device")
    from npaccel._sklearn.dispatch import transfers

    theirs.fit(X, y)
    with transfers.cpu_as_device():
        mine.fit(X, y)
        assert_same(mine.predict_proba(X), theirs.predict_proba(X), 1e-6, "predict_proba")


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (MLPClassifier(hidden_layer_sizes=(3, -1)), np.eye(4), [0, 1, 0, 1]),
        (MLPClassifier(activation="no"), np.eye(4), [0, 1, 0, 1]),
        (MLPClassifier(), np.eye(4), [0.5, 1.5, 0, 1]),
        (MLPClassifier(), np.full((4, 4), np.nan), [0, 1, 0, 1]),
        (MLPRegressor(max_iter=2), np.eye(4), [0, 1, 0]),
        (MLPRegressor(max_iter=2, solver="sgd", learning_rate_init=1e300), np.eye(4), range(4)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_are_scikit_learns(estimator, X, y):
    errors_agree(estimator, X, y)


def test_errors_of_classes():
    given = np.eye(4), [0, 1, 0, 1]
    y = [0, 2, 0, 1]
    quick = MLPClassifier(max_iter=2)
    errors_agree(quick, np.eye(4), y, method="partial_fit", given=given)
    errors_agree(clone(quick).set_params(warm_start=True), np.eye(4), y, given=given)
    errors_agree(quick, np.eye(4), y, method="partial_fit")
