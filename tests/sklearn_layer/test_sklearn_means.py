"""KMeans and MiniBatchKMeans on the device against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn_comparing import accelerated, compare
from sklearn_data import data, scaled

import npaccel
from npaccel._sklearn.cluster import _kmeans
from npaccel._sklearn.dispatch import transfers

METHODS = ("predict", "transform", "score")
TOLERANCE = {"float64": 1e-6, "float32": 2e-4}


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["digits", "wine"])
def test_kmeans_equals_scikit_learn(name, dtype, container):
    X, _ = scaled(name, dtype)
    for seed in range(3):
        compare(
            KMeans(7, random_state=seed),
            X,
            methods=METHODS,
            tolerance=TOLERANCE[dtype],
            container=container,
        )


@pytest.mark.parametrize(
    "params",
    [
        {"init": "random"},
        {"init": "random", "n_init": 2, "max_iter": 3},
        {"n_init": 4},
        {"algorithm": "elkan"},
        {"tol": 0},
        {"tol": 0.05},
        {"n_clusters": 1},
        {"n_clusters": 40},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_kmeans_parameters(params, weighted):
    X = scaled("breast_cancer")[0] + 1.0
    fit = {"sample_weight": np.linspace(0.0, 3.0, len(X)) ** 2} if weighted else {}
    given = {"n_clusters": 5, "random_state": 0, **params}
    compare(KMeans(**given), X, methods=METHODS, tolerance=1e-6, container="device", **fit)


def test_kmeans_from_given_centres():
    X, _ = scaled("digits")
    compare(KMeans(4, init=X[:4]), X, methods=METHODS, tolerance=1e-6, container="device")
    with pytest.raises(ValueError, match="does not match the number of clusters 3"):
        accelerated(KMeans(3, init=X[:4])).fit(torch.from_numpy(X))
    with pytest.warns(RuntimeWarning, match="Explicit initial center"):
        accelerated(KMeans(4, init=X[:4], n_init=3)).fit(torch.from_numpy(X))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_empty_clusters_are_given_far_rows(dtype):
    X, _ = scaled("wine", dtype)
    far = np.vstack([X[:2], np.full((3, X.shape[1]), 1e3, dtype)])
    compare(KMeans(5, init=far), X, methods=METHODS, tolerance=1e-5, container="device")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("X", "clusters"),
    [
        (np.ones((1, 3)), 1),
        (np.arange(6.0)[:, None], 6),
        (np.repeat([[0.0, 1.0], [2.0, 5.0]], 4, axis=0), 3),
        (np.full((4, 2), 7.0), 2),
    ],
    ids=["one row", "as many clusters as rows", "duplicates", "constant"],
)
def test_kmeans_edges(X, clusters):
    compare(KMeans(clusters, random_state=0), X, methods=METHODS, container="device")


def test_kmeans_warns_of_duplicates():
    X = torch.ones(5, 2)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        accelerated(KMeans(3)).fit(X)


@pytest.mark.parametrize(
    ("params", "X"),
    [({}, np.ones((3, 2))), ({"n_clusters": 0}, np.ones((3, 2))), ({}, [[np.nan]] * 9)],
)
@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_errors_are_scikit_learns(kind, params, X):
    with pytest.raises(ValueError, match=".") as theirs:
        kind(**params).fit(X)
    with pytest.raises(ValueError, match=".") as mine, transfers.cpu_as_device():
        accelerated(kind(**params)).fit(X)
    assert str(mine.value) == str(theirs.value)


def test_a_function_that_starts_runs_on_the_host():
    X, _ = data("wine")
    start = KMeans(3, init=lambda X, k, random_state: X[:k], n_init=1)
    model = accelerated(start)
    with transfers.cpu_as_device():
        model.fit(X)
    assert [step.reason for step in model.report_.steps] == ["`init` is a function"]
    np.testing.assert_allclose(model.cluster_centers_, start.fit(X).cluster_centers_)


def test_large_tables_are_compiled_in_tiles(monkeypatch):
    from npaccel._sklearn.kernels import tiles

    monkeypatch.setattr(tiles, "_WORTH_COMPILING", 1)
    monkeypatch.setattr(tiles, "_CPU_BYTES", 1 << 12)
    X, _ = scaled("digits")
    compare(KMeans(9, random_state=1), X, methods=METHODS, tolerance=1e-6, container="device")


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_minibatch_equals_scikit_learn(dtype, container):
    X, _ = scaled("digits", dtype)
    model = MiniBatchKMeans(6, batch_size=100, random_state=0, max_iter=5)
    compare(model, X, methods=METHODS, tolerance=10 * TOLERANCE[dtype], container=container)


@pytest.mark.parametrize(
    "params",
    [
        {"init": "random", "n_init": 2},
        {"tol": 0.01},
        {"n_clusters": 60, "batch_size": 70},
        {"compute_labels": False},
        {"reassignment_ratio": 0.3},
        {"init_size": 50},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_minibatch_parameters(params, weighted):
    X, _ = scaled("digits")
    fit = {"sample_weight": np.linspace(0.5, 3.0, len(X))} if weighted else {}
    given = {"n_clusters": 5, "random_state": 3, "batch_size": 64, "max_iter": 4, **params}
    model = MiniBatchKMeans(**given)
    compare(model, X, methods=METHODS, tolerance=1e-6, container="device", **fit)


def test_minibatch_in_parts():
    X, _ = scaled("digits")
    theirs = MiniBatchKMeans(6, random_state=2)
    mine = accelerated(theirs)
    with transfers.cpu_as_device(), npaccel.options(backend="eager"):
        for part in np.array_split(X, 4):
            theirs.partial_fit(part)
            mine.partial_fit(part)
            np.testing.assert_allclose(mine.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
            np.testing.assert_array_equal(mine.labels_, theirs.labels_)
            np.testing.assert_allclose(mine.inertia_, theirs.inertia_)
    assert mine.n_steps_ == theirs.n_steps_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_leave_the_rows_as_they_are(dtype, weighted):
    random = np.random.default_rng(0)
    X = torch.from_numpy(random.normal(5, size=(1 << 18, 2))).to(dtype)
    labels = torch.from_numpy(random.integers(0, 64, len(X)).astype(np.int32))
    weights = torch.from_numpy(random.random(len(X))) if weighted else None
    kept = X.clone()
    rows = _kmeans.Points(X, 64, X.mean(dim=0))
    assert rows.turned
    factors = weights.numpy() if weighted else np.ones(len(X))
    centred = (kept - kept.mean(dim=0)).double().numpy() * factors[:, None]
    wanted = np.stack([np.bincount(labels.numpy(), c, 64) for c in centred.T], axis=1)
    np.testing.assert_allclose(rows.sums(labels, weights, 64), wanted, atol=1e-9)
    old, which = torch.zeros_like(labels), torch.arange(len(X))
    changed = rows.changes(which, weights, old, labels, 64)
    wanted[0] -= centred.sum(axis=0)
    np.testing.assert_allclose(changed, wanted, atol=1e-7)
    assert torch.equal(X, kept)
