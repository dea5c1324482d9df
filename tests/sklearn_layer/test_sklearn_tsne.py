"""t-SNE of all pairs on the device against scikit-learn's.

Steps of the descent amplify rounding: the first ones are compared point by point, and of long runs
the divergence and how far neighbours are kept.
"""

import numpy as np
import pytest
import sklearn_checking
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn import config_context
from sklearn.manifold import TSNE, _t_sne, trustworthiness
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import scaled

import npaccel.sklearn
from npaccel._sklearn.dispatch import table, transfers
from npaccel._sklearn.manifold import _tsne
from npaccel.errors import NotOnDeviceError

EXACT = {"method": "exact", "random_state": 0}


def points(count=120, dtype="float64"):
    return scaled("digits", dtype)[0][:count]


@pytest.fixture
def few_steps(monkeypatch):
    """Let the first part take 25 steps, a look be at each tenth, and parameters be anything."""
    monkeypatch.setattr(TSNE, "_EXPLORATION_MAX_ITER", 25)
    monkeypatch.setattr(TSNE, "_N_ITER_CHECK", 10)
    with config_context(skip_parameter_validation=True):
        yield {**EXACT, "max_iter": 50}


@pytest.mark.parametrize("perplexity", [2.0, 30.0])
def test_probabilities(perplexity):
    X = points()
    distances = squareform(pdist(X, "sqeuclidean")).astype(np.float32)
    wanted = squareform(_t_sne._joint_probabilities(distances, perplexity, 0))
    found = _tsne.probabilities(torch.from_numpy(distances), perplexity)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-18)


def test_probabilities_of_rows_that_are_the_same():
    distances = np.zeros((7, 7), np.float32)
    distances[0, 1:] = distances[1:, 0] = 1e6
    wanted = squareform(_t_sne._joint_probabilities(distances, 3.0, 0))
    found = _tsne.probabilities(torch.from_numpy(distances), 3.0)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("components", [1, 2, 4])
def test_the_gradient(components, dtype, monkeypatch):
    random = np.random.default_rng(0)
    P = random.random(40 * 39 // 2)
    P /= 2 * P.sum()
    Y = random.normal(size=(40, components)).astype(dtype)
    args = (12.0 * P, max(components - 1, 1), 40, components)
    wanted, slopes = _t_sne._kl_divergence(Y.ravel(), *args)
    divergence = _tsne.Divergence(torch.from_numpy(squareform(P)), components)
    for tile in (1 << 22, 7 * 40):
        monkeypatch.setattr(_tsne, "_CPU_TILE", tile)
        factor = torch.tensor(12.0, dtype=torch.float64)
        value, gradient = divergence(torch.from_numpy(Y).T.contiguous(), factor, True)
        assert value.item() == pytest.approx(wanted, rel=1e-12)
        slack = 1e-12 if dtype is np.float64 else 1e-6
        size = np.abs(slopes).max()
        np.testing.assert_allclose(gradient.numpy().T.ravel(), slopes, rtol=0, atol=slack * size)


@pytest.mark.parametrize(
    "backend",
    ["eager", pytest.param("inductor", marks=[pytest.mark.inductor, pytest.mark.slow])],
)
def test_compiled_kernels_give_the_same(backend, monkeypatch):
    X, n = points(60), _tsne
    distances = torch.from_numpy(squareform(pdist(X, "sqeuclidean")).astype(np.float32))
    YT = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 60)).astype(np.float32))
    factor = torch.tensor(2.0, dtype=torch.float64)
    P = n.probabilities(distances, 10.0)
    wanted = n.Divergence(P, 2)(YT, factor, True)
    for name in ("_weights", "_halved", "_both_ways", "_totals", "_slopes", "_divergences"):
        monkeypatch.setattr(n, name, getattr(n, name).compiled)
    with npaccel.options(backend=backend):
        torch.testing.assert_close(n.probabilities(distances, 10.0), P, rtol=1e-9, atol=0)
        found = n.Divergence(P, 2)(YT, factor, True)
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(found[1], wanted[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("init", ["pca", "random"])
def test_the_first_steps(few_steps, monkeypatch, init, dtype, container):
    tolerance = 1e-4
    if (init, dtype) == ("pca", "float32"):  # the components are rounded otherwise
        monkeypatch.setattr(TSNE, "_EXPLORATION_MAX_ITER", 8)
        few_steps["max_iter"], tolerance = 16, 1e-2
    estimator = TSNE(init=init, perplexity=10, **few_steps)
    compare(estimator, points(dtype=dtype), tolerance=tolerance, container=container)


@pytest.mark.parametrize(
    "params",
    [
        {"metric": "manhattan"},
        {"metric": "cosine"},
        {"metric": "l2"},
        {"metric": "sqeuclidean", "learning_rate": 20.0},
        {"metric": "chebyshev"},
        {"n_components": 3},
        {"n_components": 1, "learning_rate": 50.0, "early_exaggeration": 4.0},
        {"min_grad_norm": 1.0},
    ],
    ids=str,
)
def test_parameters(few_steps, params):
    estimator = TSNE(perplexity=10, **few_steps, **params)
    compare(estimator, points(60), tolerance=1e-3, container="device")


def test_distances_and_points_to_begin_with(few_steps):
    X = points(60)
    begin = np.random.default_rng(0).normal(scale=1e-2, size=(60, 2))
    distances = np.abs(X[:, None] - X).sum(axis=2)
    estimator = TSNE(metric="precomputed", perplexity=10, init=begin, **few_steps)
    # scikit-learn squares the distances where they stand.
    theirs = TSNE(**estimator.get_params()).fit_transform(distances.copy())
    with transfers.cpu_as_device():
        mine = accelerated(estimator)
        found = mine.fit_transform(distances)
    assert mine.report_.steps[0].route == "device"
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_long_run(dtype):
    X = points(150, dtype)
    estimator = TSNE(perplexity=15, max_iter=300, **EXACT)
    theirs = TSNE(**estimator.get_params()).fit(X)
    with npaccel.options(backend="eager"), transfers.cpu_as_device():
        mine = accelerated(estimator).fit(X)
    assert mine.n_iter_ == theirs.n_iter_
    # In 32 bits each descent ends in another minimum, of which some are a quarter above others.
    near, alike = (5e-2, 0.01) if dtype == "float64" else (0.5, 0.03)
    assert mine.kl_divergence_ == pytest.approx(theirs.kl_divergence_, rel=near)
    quality = [trustworthiness(X, one.embedding_) for one in (mine, theirs)]
    assert quality[0] == pytest.approx(quality[1], abs=alike)
    assert mine.embedding_.dtype == theirs.embedding_.dtype


def test_no_step_after_the_first_250():
    X = points(40)
    estimator = TSNE(perplexity=5, max_iter=250, init="random", **EXACT)
    theirs = TSNE(**estimator.get_params()).fit(X)
    with npaccel.options(backend="eager"), transfers.cpu_as_device():
        mine = accelerated(estimator).fit(X)
    assert (mine.n_iter_, mine.kl_divergence_) == (theirs.n_iter_, theirs.kl_divergence_)


def test_few_rows_are_left_to_scikit_learn_on_a_cpu(few_steps):
    mine = accelerated(TSNE(perplexity=5, **few_steps)).fit(points(20))
    (step,) = mine.report_.steps
    assert (step.route, step.reason) == ("host", "scikit-learn's own is as fast for so few rows")


@pytest.mark.filterwarnings("ignore:Calling norm with arguments of dtype=float128")  # SciPy 1.18
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"method": "barnes_hut"}, "tree"),
        ({"metric": "canberra"}, "canberra"),
        ({"metric": "minkowski", "metric_params": {"p": 3}}, "minkowski"),
        ({"init": np.eye(20, 2, dtype=np.longdouble)}, "init"),
    ],
)
def test_what_stays_on_the_host(params, reason):
    estimator = TSNE(perplexity=5, max_iter=250, **{**EXACT, **params})
    mine = accelerated(estimator)
    with transfers.cpu_as_device():
        mine.fit(points(20))
    (step,) = mine.report_.steps
    assert step.route == "host"
    assert reason in step.reason
    strict = npaccel.sklearn.accelerate(estimator, on_unsupported="raise")
    with pytest.raises(NotOnDeviceError, match=reason):
        strict.fit(points(20))


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (TSNE(**EXACT), np.ones((20, 3))),
        (TSNE(perplexity=2, **EXACT), np.full((20, 3), np.nan)),
        (TSNE(perplexity=2, metric="precomputed", **EXACT), np.ones((20, 20))),
        (TSNE(perplexity=2, metric="precomputed", init="random", **EXACT), np.ones((20, 3))),
        (TSNE(perplexity=2, metric="precomputed", init="random", **EXACT), -np.ones((20, 20))),
        (TSNE(perplexity=2, n_components=5, **EXACT), np.random.default_rng(0).random((20, 3))),
        (TSNE(perplexity=2, max_iter=100, **EXACT), np.ones((20, 3))),
        (TSNE(perplexity=2, **EXACT), [[1.0, 2.0]] * 20),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)


def test_check_estimator():
    """The table's test takes the default method."""
    row = table.row("manifold.TSNE")
    exact = row.implementation(method="exact", perplexity=2, max_iter=250)
    found = sklearn_checking.failures(row, exact, apart=True)
    assert not found, "\n".join(found)
