"""Support vector machines with kernels on the device against libsvm's."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, assert_same, compare
from sklearn_data import data, scaled

import npaccel
from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.svm import _smo

KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto", "C": 30.0},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.05},
    {"kernel": "sigmoid", "coef0": 0.1, "gamma": 0.01},
    {"kernel": "linear", "C": 0.1},
]
DECISIONS = ["decision_function", "predict"]


def few(name, count, dtype="float64"):
    """Return every so many rows of a data set, so that there are rows of all classes."""
    X, y = scaled(name, dtype)
    step = max(1, len(X) // count)
    return X[::step][:count], y[::step][:count]


def assert_steps_are_libsvms(mine, theirs):
    np.testing.assert_array_equal(mine.n_support_, theirs.n_support_)
    assert mine.n_support_.dtype == theirs.n_support_.dtype
    np.testing.assert_array_equal(mine.n_iter_, theirs.n_iter_)
    assert mine._gamma == pytest.approx(theirs._gamma, rel=1e-12)


# -- Classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", KERNELS, ids=lambda p: "-".join(map(str, p.values())))
@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_classes(name, container, params):
    X, y = few(name, 150)
    found = compare(SVC(**params), X, y, methods=DECISIONS, container=container)
    assert_steps_are_libsvms(*found[::-1])


def test_coefficients_of_a_linear_kernel():
    for name, estimator in (
        ("wine", SVC(kernel="linear")),
        ("breast_cancer", SVC(kernel="linear")),
        ("diabetes", SVR(kernel="linear", C=10)),
    ):
        X, y = few(name, 100)
        for container in ("device", "tensor"):
            theirs, mine = compare(estimator, X, y, container=container)
            found = mine.coef_
            assert isinstance(found, torch.Tensor) == (container == "tensor")
            np.testing.assert_allclose(np.asarray(found), theirs.coef_, atol=1e-6)
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        accelerated(SVC()).fit(X, y > 100).coef_  # noqa: B018 (the property raises)


def test_float32_strings_and_array_route():
    X, y = few("wine", 120, "float32")
    names = np.array(["red", "rosé", "white"])[y]
    compare(SVC(), X, names, methods=DECISIONS, container="device")
    _, mine = compare(SVC(), X, names, methods=DECISIONS, container="array")
    assert mine.report_.steps[0].route == "host"


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_many_classes(shape):
    X, y = data("digits")
    X, y = X[:240] / 16, y[:240]
    estimator = SVC(C=5.0, decision_function_shape=shape, break_ties=shape == "ovr")
    weights = np.linspace(0.2, 2.0, len(X))
    found = compare(estimator, X, y, methods=DECISIONS, container="device", sample_weight=weights)
    assert_steps_are_libsvms(*found[::-1])


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 2: 0.5}])
def test_weights_of_classes_and_rows(class_weight):
    X, y = few("wine", 150)
    weights = np.tile([1.0, 0.0, 2.0, 0.3, -1.0], 30)[: len(X)]
    compare(
        SVC(class_weight=class_weight, shrinking=False),
        X,
        y,
        methods=DECISIONS,
        container="device",
        sample_weight=weights,
    )


@pytest.mark.parametrize("shrinking", [True, False])
def test_variables_left_out_on_the_way(shrinking):
    """So many steps that libsvm leaves variables out, and takes all in again."""
    X, y = few("breast_cancer", 150)
    X = X[:, :4]
    estimator = SVC(C=300.0, gamma=0.5, tol=1e-4, shrinking=shrinking)
    theirs, mine = compare(estimator, X, y, methods=DECISIONS, container="device")
    assert theirs.n_iter_[0] > 4 * len(X)
    assert_steps_are_libsvms(mine, theirs)


def test_precomputed_kernel():
    X, y = few("wine", 120)
    theirs, mine = compare(
        SVC(kernel="precomputed", C=0.1), X @ X.T, y, methods=DECISIONS, container="device"
    )
    assert mine.support_vectors_.shape == theirs.support_vectors_.shape == (0, 0)
    compare(SVR(kernel="precomputed"), X @ X.T, X[:, 0], methods=["predict"], container="tensor")


def test_rows_of_the_kernel_by_need(monkeypatch):
    monkeypatch.setattr(_smo, "LARGEST_TABLE", 0)
    for params in KERNELS:
        X, y = few("wine", 120)
        compare(SVC(**params), X, y, methods=DECISIONS, container="device", tolerance=1e-5)


def test_compiled_steps(monkeypatch):
    """What a GPU runs, by the interpreter."""
    X, y = few("wine", 60)
    monkeypatch.setattr(_smo, "_STEPS", 8)
    monkeypatch.setattr(_smo, "_on_cpu", _smo._passes.compiled)
    compare(SVC(), X, y, methods=DECISIONS, container="device")


_INTERPRETED = """
import numpy as np
from sklearn.svm import SVC, NuSVR
from npaccel._sklearn.dispatch import transfers as _crossings
from npaccel._sklearn.dispatch.estimator import class_of
from npaccel._sklearn.svm import _smo, _smo_triton
def passes_of(source, tol, limit, split, device):
    return lambda problem, state: _smo_triton.passes(
        source.table, problem, tol, limit, state, split
    )
_smo._passes_of = passes_of
_smo_triton._TILE = 64
random = np.random.default_rng(0)
X = random.normal(size=(90, 3))
y = (X[:, 0] + random.normal(size=90) > 0) + (X[:, 1] > 1)
for estimator in (SVC(C=3.0), NuSVR()):
    theirs, mine = estimator.fit(X, y), class_of(type(estimator))(C=estimator.C)
    with _crossings.cpu_as_device():
        mine.fit(X, y)
    np.testing.assert_array_equal(mine.n_iter_, theirs.n_iter_)
    np.testing.assert_allclose(mine.dual_coef_, theirs.dual_coef_, atol=1e-9)
"""


def test_steps_of_a_gpu_by_tritons_interpreter():
    pytest.importorskip("triton")
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        pytest.skip("Triton's interpreter makes numbers of arrays of one, which NumPy 2.5 doesn't")
    code = [sys.executable, "-c", _INTERPRETED]
    subprocess.run(code, check=True, env={**os.environ, "TRITON_INTERPRET": "1"})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("table", [True, False])
def test_on_a_gpu(table, monkeypatch):
    if not table:
        monkeypatch.setattr(_smo, "LARGEST_TABLE", 0)
    X, y = few("wine", 150)
    for estimator in (SVC(), NuSVC(nu=0.3)):
        mine, theirs = accelerated(estimator), estimator.fit(X, y)
        mine.fit(torch.from_numpy(X).cuda(), y)
        found = mine.decision_function(torch.from_numpy(X).cuda()).cpu()
        np.testing.assert_allclose(found, theirs.decision_function(X), atol=5e-3)


def test_stopped_early():
    X, y = few("breast_cancer", 120)
    for max_iter in (7, 200):
        estimator = SVC(max_iter=max_iter, C=100.0, gamma=0.3)
        with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter}"):
            found = compare(estimator, X, y, methods=DECISIONS, container="device")
        assert found[1].fit_status_ == 1
        assert_steps_are_libsvms(*found[::-1])


# -- nu, numbers and one class ------------------------------------------------------------------


@pytest.mark.parametrize("params", [{"nu": 0.4}, {"kernel": "linear", "nu": 0.2}, {"nu": 0.1}])
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_nu_classes(name, params):
    X, y = few(name, 150)
    found = compare(NuSVC(**params), X, y, methods=DECISIONS, container="device")
    assert_steps_are_libsvms(*found[::-1])


def test_nu_classes_with_weights():
    X, y = few("wine", 150)
    weights = np.linspace(0.5, 1.5, len(X))
    options = {"methods": DECISIONS, "container": "tensor", "sample_weight": weights}
    compare(NuSVC(nu=0.3), X, y, **options)


@pytest.mark.parametrize("params", KERNELS, ids=lambda p: "-".join(map(str, p.values())))
@pytest.mark.parametrize("container", ["tensor", "device"])
def test_numbers(container, params):
    X, y = few("diabetes", 150)
    y = (y - y.mean()) / y.std()
    found = compare(SVR(**params), X, y, methods=["predict"], container=container)
    assert_steps_are_libsvms(*found[::-1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", [SVR(epsilon=0.5), NuSVR(nu=0.3), NuSVR(C=5.0)])
def test_numbers_with_weights(estimator, weighted):
    X, y = few("diabetes", 150)
    y = (y - y.mean()) / y.std()
    fit = {"sample_weight": np.tile([0.3, 1.0, 0.0, 2.0], 40)[: len(X)]} if weighted else {}
    found = compare(estimator, X, y, methods=["predict"], container="device", **fit)
    assert_steps_are_libsvms(*found[::-1])


def test_no_support_vectors():
    X, y = few("diabetes", 50)
    compare(SVR(epsilon=1000.0), X, y, methods=["predict"], container="device")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("kernel", ["rbf", "sigmoid"])
def test_one_class(kernel, nu, weighted):
    X, _ = few("wine", 150)
    fit = {"sample_weight": np.linspace(0.5, 1.5, len(X))} if weighted else {}
    methods = [*DECISIONS, "score_samples"]
    estimator = OneClassSVM(kernel=kernel, nu=nu)
    found = compare(estimator, X, methods=methods, container="device", **fit)
    assert_steps_are_libsvms(*found[::-1])
    with transfers.cpu_as_device():
        mine = accelerated(estimator).fit_predict(X)
    np.testing.assert_array_equal(mine, estimator.fit_predict(X))


# -- What isn't done ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_what_goes_to_libsvm():
    X, y = few("wine", 60)
    for estimator, given, reason in (
        (SVC(kernel=lambda a, b: a @ b.T), X, "`kernel` is a function"),
        (SVC(probability=True, random_state=0), X, "`probability` asks"),
        (SVC(), sparse.csr_matrix(X), "X is a sparse matrix"),
    ):
        mine, theirs = accelerated(estimator), estimator
        with transfers.cpu_as_device(), npaccel.options(backend="eager"):
            mine.fit(given, y)
            theirs.fit(given, y)
            assert reason in mine.report_.steps[0].reason
            methods = ["predict", "decision_function"]
            methods += ["predict_proba"] if hasattr(theirs, "predict_proba") else []
            for method in methods:
                wanted = getattr(theirs, method)(given)
                assert_same(getattr(mine, method)(given), wanted, 1e-6, method)


def test_probability_false_warns_as_scikit_learn():
    X, y = few("wine", 40)
    caught = []
    for estimator in (SVC(probability=False), accelerated(SVC(probability=False))):
        with warnings.catch_warnings(record=True) as found, transfers.cpu_as_device():
            warnings.simplefilter("always")
            estimator.fit(X, y)
        caught.append([(one.category, str(one.message)) for one in found])
    assert caught[0] == caught[1]


def test_random_state_is_drawn_from_as_by_scikit_learn():
    X, y = few("wine", 40)
    after = []
    for kind in (SVC, type(accelerated(SVC()))):
        random = np.random.RandomState(3)
        with transfers.cpu_as_device():
            kind(random_state=random).fit(X, y)
        after.append(random.randint(1 << 30))
    assert after[0] == after[1]


def test_the_host_asks_rarely():
    X, y = few("breast_cancer", 150)
    with transfers.cpu_as_device():
        mine = accelerated(SVC(C=50.0)).fit(X, y)
    (step,) = mine.report_.steps
    assert step.numbers < 8 + mine.n_iter_[0] / 32


def test_arrays_fitted_by_libsvm_predict_on_tensors():
    X, y = few("wine", 150)
    mine, theirs = accelerated(SVC()).fit(X, y), SVC().fit(X, y)
    with transfers.cpu_as_device(), npaccel.options(backend="eager"):
        found = mine.decision_function(torch.from_numpy(X))
    np.testing.assert_allclose(found, theirs.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "X", "y", "more"),
    [
        (SVC(), np.ones((4, 2)), [1, 1, 1, 1], ()),
        (SVC(C=-1), np.ones((4, 2)), [0, 1, 0, 1], ()),
        (SVC(), np.full((4, 2), np.nan), [0, 1, 0, 1], ()),
        (SVC(), np.ones((4, 2)), [0.1, 1.5, 0, 1], ()),
        (SVC(), np.ones((4, 2)), [0, 1, 0], ()),
        (SVC(), np.ones((4, 2)), [0, 1, 0, 1], (np.ones(3),)),
        (SVC(), np.ones((4, 2)), [0, 1, 0, 1], (np.zeros(4),)),
        (SVC(), np.ones((4, 2)), [0, 1, 0, 1], (np.array([1.0, 0, 1, 0]),)),
        (SVC(kernel="precomputed"), np.ones((4, 2)), [0, 1, 0, 1], ()),
        (SVC(kernel="no"), np.ones((4, 2)), [0, 1, 0, 1], ()),
        (NuSVC(nu=0.9), np.ones((4, 2)), [0, 1, 0, 0], ()),
        (SVR(), np.ones((4, 2)), [1.0, np.nan, 2, 3], ()),
        (SVR(), np.ones((4, 2)), ["a", "b", "c", "d"], ()),
        (OneClassSVM(), np.ones(4), None, ()),
    ],
)
def test_errors_are_scikit_learns(estimator, X, y, more):
    errors_agree(estimator, X, y, *more)


def test_errors_of_predictions_are_scikit_learns():
    X, y = few("wine", 40)
    fitted = {"given": (X, y)}
    errors_agree(SVC(), X[:, :3], method="predict", **fitted)
    errors_agree(SVC(), X, method="predict")
    ties = SVC(break_ties=True, decision_function_shape="ovo")
    errors_agree(ties, X, method="predict", **fitted)
    errors_agree(SVC(), X, method="predict_proba", **fitted)
    for one in (SVC().fit(X, y), accelerated(SVC()).fit(X, y)):
        one._n_support[0] = 1_000_000
        with pytest.raises(ValueError, match="was altered"), transfers.cpu_as_device():
            one.predict(X)
