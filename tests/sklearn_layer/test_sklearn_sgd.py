"""Stochastic gradient descent on the device against scikit-learn's."""

import warnings

import children
import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Perceptron,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
)
from sklearn.linear_model._sgd_fast import EpsilonInsensitive, Hinge, ModifiedHuber
from sklearn.linear_model._stochastic_gradient import BaseSGDClassifier
from sklearn.utils._seq_dataset import ArrayDataset64
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, assert_same, compare, fitted_attributes
from sklearn_data import scaled

import npaccel
from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.linear_model import _sgd, _sgd_steps

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning"),
]

LOSSES = sorted(BaseSGDClassifier.loss_functions)
RATES = [
    {"learning_rate": "constant", "eta0": 0.01},
    {"learning_rate": "invscaling", "eta0": 0.1, "power_t": 0.3},
    {"learning_rate": "adaptive", "eta0": 0.05, "n_iter_no_change": 2, "tol": 1e-2},
    {"learning_rate": "pa1", "eta0": 0.5, "penalty": None},
    {"learning_rate": "pa2", "eta0": 0.5, "alpha": 0.01},
]
OTHERS = [
    {"average": True},
    {"average": 300, "alpha": 0.1},
    {"average": 10_000},
    {"shuffle": False, "fit_intercept": False},
    {"penalty": None},
    {"alpha": 1.0},
    {"alpha": 30.0, "learning_rate": "constant", "eta0": 0.1},
    {"early_stopping": True, "validation_fraction": 0.2, "n_iter_no_change": 3},
    {"class_weight": "balanced"},
    {"class_weight": {0: 3.0}},
]


def options(form):
    return {"max_iter": 12, "random_state": 3, **form}


# -- The order of the rows ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 2])
@pytest.mark.parametrize("count", [1, 2, 3, 130, 2500])
def test_rows_are_shuffled_as_in_scikit_learn(seed, count):
    data = ArrayDataset64(np.zeros((count, 1)), np.zeros(count), np.ones(count))
    data._shuffle_py(seed)
    wanted = [data._next_py()[3] for _ in range(count)]
    assert _sgd.shuffled(seed, count).tolist() == wanted


# -- Losses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "theirs", "parameter"),
    [
        ("hinge", Hinge(1.0), 1.0),
        ("perceptron", Hinge(0.0), 0.0),
        ("modified_huber", ModifiedHuber(), 0.0),
        ("epsilon_insensitive", EpsilonInsensitive(0.1), 0.1),
    ],
)
def test_losses(name, theirs, parameter):
    loss = _sgd_steps.LOSSES[name]
    for y in (-1.0, 1.0):
        for p in (-1e300, -40.0, -1.1, -1.0, -0.9, 0.0, 0.9, 1.0, 1.1, 20.0, 40.0, np.inf):
            assert loss(y, p, parameter) == (theirs.py_loss(p, y), theirs.py_dloss(p, y))


# -- Classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_losses_of_classes(name, loss):
    X, y = scaled(name)
    y = np.array(["a", "b", "c"])[y]
    methods = ["decision_function", "predict"]
    # With the rates of "optimal" rounding grows to other coefficients.
    is_wild = "squared" in loss or loss == "huber"
    rate = {"learning_rate": "constant", "eta0": 0.001} if is_wild else {}
    compare(
        SGDClassifier(**options({"loss": loss, **rate})),
        X,
        y,
        methods=methods,
        container="device",
    )


@pytest.mark.parametrize("form", RATES + OTHERS, ids=str)
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_forms_of_classes(name, form):
    X, y = scaled(name)
    weights = np.linspace(0.1, 2.0, len(X))
    weights[::7] = 0.0
    compare(
        SGDClassifier(**options(form)),
        X,
        y,
        methods=["decision_function"],
        container="tensor" if name == "wine" else "device",
        sample_weight=weights,
    )


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_probabilities(name, loss):
    X, y = scaled(name)
    methods = ["predict_proba", "predict"]
    estimator = SGDClassifier(**options({"loss": loss, "alpha": 0.01}))
    _, mine = compare(estimator, X, y, methods=methods, container="device")
    with np.errstate(divide="ignore"), transfers.cpu_as_device():
        found = mine.predict_log_proba(X)
        # torch's logarithm and NumPy's may differ in the last bit.
        np.testing.assert_allclose(found, np.log(mine.predict_proba(X)), rtol=1e-15, atol=0)
    far = np.full((3, X.shape[1]), [[1e3], [-1e3], [0.0]])
    with transfers.cpu_as_device():
        assert np.allclose(mine.predict_proba(far).sum(axis=1), 1.0)


def test_probabilities_are_there_with_some_losses():
    for loss in LOSSES:
        mine = accelerated(SGDClassifier(loss=loss))
        assert hasattr(mine, "predict_proba") == (loss in ("log_loss", "modified_huber"))


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_stopping_early_where_scores_say_so(loss):
    for name in ("wine", "breast_cancer"):
        X, y = scaled(name)
        form = {"loss": loss, "early_stopping": True, "max_iter": 30, "alpha": 0.05}
        rate = {"learning_rate": "invscaling", "eta0": 0.001} if "squared" in loss else {}
        compare(SGDClassifier(**options({**form, **rate})), X, y, container="device")


def test_narrow_numbers():
    for name in ("wine", "breast_cancer"):
        X, y = scaled(name, "float32")
        for form in (
            {"loss": "log_loss", "alpha": 0.05},
            {"loss": "log_loss", "average": True, "alpha": 0.05},
        ):
            methods = ["decision_function", "predict_proba"]
            compare(
                SGDClassifier(**options(form)),
                X,
                y,
                methods=methods,
                tolerance=1e-3,
                container="device",
            )


def test_many_classes_in_groups(monkeypatch):
    X, y = scaled("digits")
    monkeypatch.setattr("npaccel._sklearn.dispatch.common.TILE", 4 * 128 * 128)
    estimator = Perceptron(max_iter=4, class_weight="balanced")
    compare(estimator, X[:200], y[:200], methods=["predict"], container="device")


@pytest.mark.parametrize(
    "form", [{}, {"penalty": "l2", "alpha": 0.01, "eta0": 0.3}, {"early_stopping": True}], ids=str
)
def test_perceptron(form):
    for name in ("wine", "breast_cancer"):
        X, y = scaled(name)
        compare(Perceptron(**form), X, y, methods=["predict"], container="device")


# -- Numbers ------------------------------------------------------------------------------------


def _forms_of_numbers():
    for loss in ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"):
        yield {"loss": loss}
    yield {"loss": "epsilon_insensitive", **RATES[3]}
    yield {"loss": "epsilon_insensitive", **RATES[4]}
    for form in (*RATES[:3], *OTHERS[:7], {"learning_rate": "optimal", "alpha": 0.1}):
        yield {"loss": "huber", **form}
    yield {**OTHERS[7], "eta0": 1e-3}


@pytest.mark.parametrize("form", [*_forms_of_numbers()], ids=str)
def test_numbers(form):
    X, y = scaled("diabetes")
    weights = np.linspace(0.1, 2.0, len(X))
    compare(
        SGDRegressor(**options({"epsilon": 0.3, **form})),
        X,
        y / 50,
        methods=["predict"],
        container="device",
        sample_weight=weights,
    )


def test_narrow_regression():
    X, y = scaled("diabetes", "float32")
    for form in ({}, {"average": True}, {"early_stopping": True}):
        estimator = SGDRegressor(**options({"loss": "huber", "epsilon": 0.5, **form}))
        compare(estimator, X, y / 50, methods=["predict"], tolerance=1e-3, container="device")


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"nu": 0.1, "average": True},
        {"nu": 1.0, "average": 700},
        {"learning_rate": "constant", "nu": 0.01, "fit_intercept": False},
        {"learning_rate": "invscaling", "shuffle": False},
        {"learning_rate": "adaptive", "tol": 0.1},
    ],
    ids=str,
)
def test_one_class(form):
    X, _ = scaled("breast_cancer")
    weights = np.linspace(0.1, 2.0, len(X))
    methods = ["predict", "decision_function", "score_samples"]
    compare(
        SGDOneClassSVM(**options(form)),
        X,
        methods=methods,
        container="device",
        sample_weight=weights,
    )


def test_one_class_draws_what_scikit_learn_draws():
    X, _ = scaled("wine")
    left = []
    for make in (SGDOneClassSVM, lambda **form: accelerated(SGDOneClassSVM(**form))):
        np.random.seed(0)  # noqa: NPY002 (scikit-learn draws from this generator)
        with transfers.cpu_as_device():
            found = make(max_iter=2).fit(X).coef_
        left.append((found, np.random.random()))  # noqa: NPY002 (the same)
    np.testing.assert_allclose(left[0][0], left[1][0], atol=1e-12)
    assert left[0][1] == left[1][1]


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("form", [{}, {"average": True, "C": 0.01}, {"early_stopping": True}])
def test_passive_aggressive(form, squared):
    kind = "squared_" if squared else ""
    X, y = scaled("wine")
    X[5] = 0.0
    estimator = PassiveAggressiveClassifier(**options({"loss": kind + "hinge", **form}))
    compare(estimator, X, y, methods=["predict"], container="device")
    X, y = scaled("diabetes")
    X[5] = 0.0
    loss = kind + "epsilon_insensitive"
    estimator = PassiveAggressiveRegressor(**options({"loss": loss, **form}))
    compare(estimator, X, y / 50, methods=["predict"], container="device")


# -- In parts, and again ------------------------------------------------------------------------

IN_PARTS = [
    (SGDClassifier, {}),
    (SGDClassifier, {"average": True}),
    (SGDClassifier, {"average": 80, "loss": "log_loss"}),
    (PassiveAggressiveClassifier, {}),
    (SGDRegressor, {"loss": "huber"}),
    (SGDRegressor, {"loss": "huber", "average": 80}),
    (PassiveAggressiveRegressor, {"average": True}),
    (SGDOneClassSVM, {"nu": 0.1}),
    (SGDOneClassSVM, {"nu": 0.1, "average": 80}),
]


@pytest.mark.parametrize(("kind", "form"), IN_PARTS)
@pytest.mark.parametrize("hosts", ["", "1"])
def test_in_parts(kind, form, hosts):
    """`hosts`: the calls that scikit-learn's own code runs, and goes on from."""
    estimator = kind(random_state=0, **form)
    for classes in (2, 3):
        X, y = scaled("wine")
        X, y = X[y < classes], y[y < classes]
        rows = np.random.default_rng(0).permutation(len(X))
        theirs, mine = clone(estimator), accelerated(estimator)
        for i in range(4):
            part = rows[30 * i : 30 * i + 30]
            more = {"classes": range(classes)} if is_classifier(estimator) else {}
            theirs.partial_fit(X[part], y[part], **more)
            if str(i) in hosts:
                mine.partial_fit(X[part], y[part], **more)
                assert {step.route for step in mine.report_.steps} == {"host"}
            else:
                with transfers.cpu_as_device():
                    mine.partial_fit(X[part], y[part], **more)
                assert {step.route for step in mine.report_.steps} == {"device"}
            for name in fitted_attributes(theirs):
                where = f"{type(theirs).__name__}.{name}, {i}"
                assert_same(getattr(mine, name), getattr(theirs, name), 1e-6, where)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("kind", [SGDClassifier, SGDRegressor, SGDOneClassSVM])
def test_warm_start(kind, average):
    X, y = scaled("wine")
    estimator = kind(max_iter=3, random_state=0, warm_start=True, average=average)
    theirs, mine = compare(estimator, X, y, container="device")
    for _ in range(2):
        theirs.fit(X, y)
        with transfers.cpu_as_device():
            mine.fit(X, y)
        for name in fitted_attributes(theirs):
            assert_same(getattr(mine, name), getattr(theirs, name), 1e-6, name)


def test_first_coefficients():
    X, y = scaled("wine")
    coef, intercept = np.ones((3, 13)), np.arange(3.0)
    theirs = SGDClassifier(max_iter=2, random_state=0)
    mine = accelerated(theirs)
    theirs.fit(X, y, coef.copy(), intercept.copy())
    with transfers.cpu_as_device():
        mine.fit(torch.from_numpy(X), y, torch.from_numpy(coef), intercept)
    assert_same(mine.coef_.numpy(), theirs.coef_, 1e-6, "coef_")
    assert (coef == 1.0).all()
    assert_same(mine.intercept_.numpy(), theirs.intercept_, 1e-6, "intercept_")
    errors_agree(SGDClassifier(), X, y, np.ones((2, 13)))
    errors_agree(SGDClassifier(), X, y, coef, np.ones(2))
    errors_agree(SGDClassifier(), X, y == 1, np.ones(12))
    errors_agree(SGDOneClassSVM(), X, None, None, np.ones(2))


# -- What crosses, and what doesn't -------------------------------------------------------------


@pytest.mark.usefixtures("as_device")
def test_data_crosses_once_and_each_pass_reads_once():
    X, y = scaled("wine")
    mine = accelerated(SGDClassifier(max_iter=7, tol=None, random_state=0))
    mine.fit(torch.from_numpy(X), torch.from_numpy(y))
    (step,) = mine.report_.steps
    assert step.route == "device"
    assert step.numbers == 7
    # The order of the rows for each class; the first coefficients.
    assert step.bytes_in < 3 * len(X) * 4 + 3 * 14 * 8 + 100


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"penalty": "l1"}, "cuts off"),
        ({"penalty": "elasticnet"}, "cuts off"),
        ({"verbose": 1}, "verbose"),
    ],
)
def test_what_scikit_learn_is_left(form, reason, capsys):
    X, y = scaled("wine")
    for kind in (SGDClassifier, Perceptron):
        mine = accelerated(kind(**form))
        with transfers.cpu_as_device():
            mine.fit(X, y)
        (step,) = mine.report_.steps
        assert step.route == "host"
        assert reason in step.reason


def test_on_a_cpu_it_is_scikit_learns():
    X, y = scaled("wine")
    mine = accelerated(SGDClassifier(max_iter=2)).fit(X, y)
    (step,) = mine.report_.steps
    assert step.route == "host"
    assert "CPU" in step.reason


# -- Warnings and errors ------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
def test_warnings_are_scikit_learns():
    X, y = scaled("wine")
    for estimator in (
        SGDClassifier(max_iter=2, power_t=-1.0),
        SGDRegressor(max_iter=2, power_t=-1.0, learning_rate="constant", eta0=1e-6),
        SGDOneClassSVM(max_iter=2, power_t=-1.0),
    ):
        found = []
        for one in (clone(estimator), accelerated(estimator)):
            with transfers.cpu_as_device(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                one.fit(X, y)
            found.append([(w.category, str(w.message)) for w in caught])
        assert found[0] == found[1]
        assert found[0][0][0] is ConvergenceWarning


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (SGDClassifier(), np.ones((4, 2)), [1, 1, 1, 1]),
        (SGDClassifier(alpha=0), np.ones((4, 2)), [0, 1, 0, 1]),
        (SGDClassifier(eta0=-1), np.ones((4, 2)), [0, 1, 0, 1]),
        (SGDClassifier(learning_rate="pa1", loss="log_loss"), np.eye(4), [0, 1, 0, 1]),
        (SGDClassifier(class_weight={7: 1.0}), np.eye(4), [0, 1, 0, 1]),
        (SGDClassifier(early_stopping=True), np.eye(4), [0, 1, 1, 1]),
        (SGDClassifier(), np.full((4, 2), np.nan), [0, 1, 0, 1]),
        (SGDClassifier(), np.eye(4), [0.5, 1.5, 0.1, 1]),
        (SGDClassifier(), np.eye(4), None),
        (SGDClassifier(), np.eye(4), [0, 1, 0]),
        (
            SGDClassifier(loss="squared_hinge", learning_rate="constant", eta0=1e300),
            np.eye(4) * 1e20,
            [0, 1, 0, 1],
        ),
        (SGDRegressor(), np.eye(4), ["a", "b", "c", "d"]),
        (SGDRegressor(learning_rate="constant", eta0=1e300), np.eye(4) * 1e9, [0, 1, 0, 1]),
        (SGDOneClassSVM(nu=2.0), np.eye(4), None),
        (SGDRegressor(), np.eye(4), [np.nan, 1, 2, 3]),
    ],
)
def test_errors_are_scikit_learns(estimator, X, y):
    with npaccel.options(backend="eager"):
        errors_agree(estimator, X, y)


def test_errors_in_parts():
    given = np.eye(4), [0, 1, 0, 1]
    errors_agree(SGDClassifier(), *given, method="partial_fit")
    errors_agree(SGDClassifier(class_weight="balanced"), *given, [0, 1], method="partial_fit")
    errors_agree(SGDClassifier(early_stopping=True), *given, [0, 1], method="partial_fit")
    errors_agree(SGDClassifier(), np.eye(4), [0, 2, 0, 1], method="partial_fit", given=given)
    errors_agree(SGDClassifier(), *given, [0, 1, 2], method="partial_fit", given=given)
    errors_agree(SGDRegressor(), np.eye(5), range(5), method="partial_fit", given=given)
    for kind in (SGDClassifier, SGDRegressor, SGDOneClassSVM):
        narrow = np.eye(4, dtype=np.float32), [0, 1, 0, 1]
        errors_agree(kind(), *narrow, method="partial_fit", given=given)


# -- On a GPU -----------------------------------------------------------------------------------

INTERPRETED = """
    import dataclasses
    import torch
    from npaccel._sklearn.linear_model import _sgd_steps as steps, _sgd_triton as kernel

    FORMS = [
        ("constant", True, True, False, 0, "objective"),
        ("constant", True, True, True, 3, "objective"),
        ("pa1", False, True, False, 4, "loss"),
        ("pa2", True, False, False, 1, "loss"),
        ("constant", False, True, False, 2, ""),
    ]

    def block(form, lanes=2, size=8):
        X = torch.randn(lanes, size, 5, dtype=torch.float64)
        X[:, 4] = 0.0
        w = torch.randn(lanes, 5, dtype=torch.float64)
        y = torch.randint(0, 2, (lanes, size)) * 2.0 - 1.0
        y = (y.double() + 1.0) / 2.0 if form.loss == "log_loss" else y.double()
        eta = torch.rand(lanes, size, dtype=torch.float64) / 4
        decay = 1.0 - eta * form.alpha
        decay[0, 5] = 0.0
        raw = (X @ w[:, :, None])[:, :, 0]
        return steps.Block(X @ X.mT, raw, y, 2 - eta, eta, decay, (w * w).sum(1), size - 1)

    torch.manual_seed(0)
    worst = 0.0
    for n, loss in enumerate(steps.LOSSES):
        for rate, penalised, fits, one_class, average, sums in (FORMS[n % 5], FORMS[(n + 2) % 5]):
            form = steps.Form(
                loss, 0.4, rate, 0.3, 0.05, 0.5, penalised, fits, one_class, average, sums, False
            )
            given = block(form)
            states = [torch.tensor([[0.1, 1.0, 0.2, 0.0, 1.0]] * 2).double() for _ in "ab"]
            changes = steps.taken(given, states[0], form), kernel.taken(given, states[1], form)
            pairs = [states]
            for field in dataclasses.fields(steps.Change):
                if average or not field.name.startswith("mean"):
                    pairs.append([getattr(change, field.name) for change in changes])
            for a, b in pairs:
                worst = max(worst, float(((a - b).abs() / (1.0 + a.abs())).max()))
    answer(worst=worst)
"""


def test_steps_of_the_gpu_are_those_of_the_cpu():
    # The interpreter of earlier ones doesn't go with NumPy 2.4.
    pytest.importorskip("triton", "3.7", reason="Triton comes with torch for CUDA")
    assert children.run(INTERPRETED, TRITON_INTERPRET="1")["worst"] < 1e-12


@pytest.mark.cuda
@pytest.mark.parametrize("form", [{}, {"loss": "log_loss", "average": 50}, RATES[2], RATES[3]])
def test_on_a_gpu(form):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    for name in ("wine", "breast_cancer"):
        X, y = scaled(name)
        theirs = SGDClassifier(**options(form)).fit(X, y)
        mine = accelerated(theirs).fit(torch.from_numpy(X).cuda(), y)
        (step,) = mine.report_.steps
        assert step.route == "device", step.reason
        for attribute in ("coef_", "intercept_"):
            found = getattr(mine, attribute).cpu().numpy()
            assert_same(found, getattr(theirs, attribute), 1e-6, attribute)
        assert mine.n_iter_ == theirs.n_iter_
