"""The nearest rows by brute force on the device against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, assert_same, compare
from sklearn_data import data, scaled

import npaccel
from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.neighbors import _nearest

TOLERANCE = 1e-6


def both(estimator, X, y=None):
    mine = accelerated(estimator)
    given = (X,) if y is None else (X, y)
    with transfers.cpu_as_device(), npaccel.options(backend="eager"):
        return estimator.fit(*given), mine.fit(*given)


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["digits", "wine"])
def test_neighbours_equal_scikit_learns(name, dtype, container):
    X, _ = scaled(name, dtype)
    compare(NearestNeighbors(n_neighbors=4), X, methods=("kneighbors",), container=container)


@pytest.mark.parametrize(
    "params",
    [
        {"metric": "sqeuclidean", "algorithm": "brute"},
        {"metric": "l2"},
        {"metric": "manhattan"},
        {"metric": "cityblock"},
        {"p": 1},
        {"metric": "chebyshev"},
        {"p": np.inf},
        {"p": 3},
        {"p": 0.5, "algorithm": "brute"},
        {"metric": "cosine"},
        {"n_neighbors": 177},
        {"n_neighbors": 1},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Mind that for 0 < p < 1")
def test_metrics(params):
    X, _ = scaled("wine")
    # As it is, several rows are as far from another.
    X = X + np.random.default_rng(1).normal(size=X.shape) / 9
    theirs, mine = both(NearestNeighbors(**params), X)
    with transfers.cpu_as_device():
        moved = X[:50] + np.random.default_rng(0).normal(size=(50, X.shape[1])) / 9
        for given in (moved, None):
            k = None if given is not None else min(5, theirs.n_neighbors)
            assert_same(mine.kneighbors(given, k), theirs.kneighbors(given, k), TOLERANCE, "k")
        for mode in ("connectivity", "distance"):
            found = mine.kneighbors_graph(X[:9], mode=mode)
            wanted = theirs.kneighbors_graph(X[:9], mode=mode)
            assert type(found) is type(wanted)
            np.testing.assert_allclose(found.toarray(), wanted.toarray(), atol=TOLERANCE)
    assert {step.route for step in mine.report_.steps} == {"device"}


def test_numbers_alone():
    X, _ = scaled("wine")
    theirs, mine = both(NearestNeighbors(), X)
    with transfers.cpu_as_device():
        found = mine.kneighbors(X, return_distance=False)
    np.testing.assert_array_equal(found, theirs.kneighbors(X, return_distance=False))


@pytest.mark.parametrize("offset", [0.0, 1e4], ids=["centred", "far from zero"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_tables_in_32_bits_find_the_same(dtype, offset, monkeypatch):
    monkeypatch.setattr(_nearest, "_LARGE", 1)
    monkeypatch.setattr(_nearest, "_CPU_TILE", 1 << 15)
    random = np.random.default_rng(0)
    X = (random.normal(size=(3001, 7)) + offset).astype(dtype)
    X = X.astype("float64")
    theirs, mine = both(NearestNeighbors(n_neighbors=9, algorithm="brute"), X)
    with transfers.cpu_as_device():
        found = mine.kneighbors(X[:201])
    # Far from zero scikit-learn's products lose digits, how many depends on the processor.
    wanted = theirs.fit(X - offset).kneighbors(X[:201] - offset)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-7)
    np.testing.assert_array_equal(found[1], wanted[1])


def test_rows_in_doubt_are_done_in_64_bits(monkeypatch):
    """Distances that differ by less than 32 bits can tell."""
    monkeypatch.setattr(_nearest, "_LARGE", 1)
    angles = np.random.default_rng(0).permutation(4000) / 4000
    radii = 1.0 + 1e-9 * angles
    X = np.stack([radii * np.cos(6.28 * angles), radii * np.sin(6.28 * angles)], axis=1)
    _, mine = both(NearestNeighbors(n_neighbors=5, algorithm="brute"), X)
    with transfers.cpu_as_device():
        _, found = mine.kneighbors(np.zeros((1, 2)))
    np.testing.assert_array_equal(found[0], np.argsort(np.hypot(X[:, 0], X[:, 1]))[:5])


def test_of_equal_distances_the_first_rows_are_taken():
    X = torch.arange(900.0)[:, None] // 300
    found = accelerated(NearestNeighbors(n_neighbors=3, algorithm="brute")).fit(X)
    with transfers.cpu_as_device():
        distances, numbers = found.kneighbors(X[::600])
    assert distances.tolist() == [[0.0] * 3] * 2
    assert numbers.tolist() == [[0, 1, 2], [600, 601, 602]]


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_classifier(dtype, weights, container):
    X, y = data("digits", dtype)
    model = KNeighborsClassifier(4, weights=weights)
    methods = ("predict", "predict_proba")
    theirs, mine = compare(model, X, y, methods=methods, container=container)
    if container == "device":
        with transfers.cpu_as_device():
            assert mine.score(X, y) == theirs.score(X, y)


def test_classifier_of_names_and_of_several_outputs():
    X, y = scaled("wine")
    names = np.array(["red", "white", "rose"])[y]
    for target in (names, np.stack([y, y % 2, (y + 1) % 3], axis=1)):
        for weights in ("uniform", "distance"):
            theirs, mine = both(KNeighborsClassifier(weights=weights), X, target)
            with transfers.cpu_as_device():
                for given in (X + 0.1, None):
                    found, wanted = mine.predict(given), theirs.predict(given)
                    np.testing.assert_array_equal(found, wanted)
                    assert found.dtype == wanted.dtype
                    wanted = theirs.predict_proba(given)
                    assert_same(mine.predict_proba(given), wanted, TOLERANCE, "proba")
                if target.ndim == 1:
                    assert mine.score(X, target) == theirs.score(X, target)


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_regressor(dtype, weights, container):
    X, y = data("diabetes", dtype)
    model = KNeighborsRegressor(6, weights=weights, algorithm="brute")
    compare(model, X, y, methods=("predict",), container=container)
    several = np.stack([y, y**2], axis=1)
    compare(model, X, several, methods=("predict",), container=container)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"algorithm": "kd_tree"}, "algorithm='kd_tree' is a tree"),
        ({"metric": "canberra"}, "metric='canberra' is computed by scikit-learn alone"),
        ({"metric": lambda a, b: abs(a - b).sum()}, "<function"),
    ],
)
def test_what_runs_on_the_host(params, reason):
    X, _ = scaled("wine")
    theirs, mine = both(NearestNeighbors(**params), X)
    with transfers.cpu_as_device():
        assert_same(mine.kneighbors(X), theirs.kneighbors(X), TOLERANCE, "kneighbors")
    assert all(step.route == "host" for step in mine.report_.steps)
    assert reason in mine.report_.steps[0].reason


def test_errors_are_scikit_learns():
    X, _ = scaled("wine")
    theirs, mine = both(NearestNeighbors(algorithm="brute"), X)
    for call in (
        lambda one: one.kneighbors(X[:, :3]),
        lambda one: one.kneighbors(X, 179),
        lambda one: one.kneighbors(None, 178),
        lambda one: one.kneighbors(X, 0),
        lambda one: one.kneighbors(X, 1.5),
        lambda one: one.kneighbors_graph(X, mode="none"),
        lambda one: one.kneighbors(X * np.nan),
    ):
        with pytest.raises((ValueError, TypeError), match=".") as wanted:
            call(theirs)
        with pytest.raises(wanted.type, match=".") as found, transfers.cpu_as_device():
            call(mine)
        assert str(found.value) == str(wanted.value)


# -- Within a radius ----------------------------------------------------------------------------


def radius_of(X):
    """Return a radius in which each row has some neighbours."""
    distances, _ = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(X)
    return float(distances.max()) * 1.02


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_within_a_radius(dtype, container):
    X, _ = scaled("wine", dtype)
    estimator = NearestNeighbors(radius=2.5, algorithm="brute")
    theirs, mine = compare(estimator, X, container=container)
    give = torch.from_numpy if container == "tensor" else np.asarray
    for given in (X[:40], None):
        for more in ({}, {"radius": 1.7}, {"sort_results": True}, {"return_distance": False}):
            with transfers.cpu_as_device():
                found = mine.radius_neighbors(None if given is None else give(given), **more)
            wanted = theirs.radius_neighbors(given, **more)
            for a, b in zip(np.atleast_2d(found), np.atleast_2d(wanted), strict=True):
                assert a.dtype == b.dtype == object
                for one, other in zip(a, b, strict=True):
                    assert one.dtype == other.dtype
                    np.testing.assert_allclose(
                        one, other, atol=3e-3 if dtype == "float32" else 1e-6
                    )
    with transfers.cpu_as_device():
        for mode in ("connectivity", "distance"):
            found = mine.radius_neighbors_graph(give(X[:9]), mode=mode)
            wanted = theirs.radius_neighbors_graph(X[:9], mode=mode)
            assert type(found) is type(wanted)
            np.testing.assert_allclose(found.toarray(), wanted.toarray(), atol=3e-3)
    if container != "array":
        assert {step.route for step in mine.report_.steps} == {"device"}


@pytest.mark.parametrize(
    "params",
    [{"metric": "sqeuclidean"}, {"metric": "manhattan"}, {"p": 3}, {"metric": "cosine"}],
    ids=str,
)
def test_metrics_within_a_radius(params):
    X, _ = scaled("wine")
    radius = 0.4 if params.get("metric") == "cosine" else 5.0
    theirs, mine = both(NearestNeighbors(radius=radius, algorithm="brute", **params), X)
    with transfers.cpu_as_device():
        found = mine.radius_neighbors(X[:30] + 0.1)
    wanted = theirs.radius_neighbors(X[:30] + 0.1)
    for a, b in zip(np.concatenate(found), np.concatenate(wanted), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_classifier_within_a_radius(weights, container):
    X, y = scaled("wine")
    estimator = RadiusNeighborsClassifier(
        radius_of(X), weights=weights, algorithm="brute", outlier_label="most_frequent"
    )
    methods = ("predict", "predict_proba")
    compare(estimator, X, y, methods=methods, container=container)
    several = np.stack([y, y % 2], axis=1)
    theirs, mine = compare(estimator, X, several, methods=methods, container=container)
    with transfers.cpu_as_device():
        np.testing.assert_array_equal(mine.predict(None), theirs.predict(None))


def test_rows_without_neighbours_are_scikit_learns():
    X, y = scaled("wine")
    far = np.concatenate([X[:5], X[:2] + 100.0])
    for label in ("most_frequent", 1):
        estimator = RadiusNeighborsClassifier(radius_of(X), outlier_label=label, weights="distance")
        theirs, mine = both(estimator, X, y)
        with transfers.cpu_as_device():
            np.testing.assert_array_equal(mine.predict(far), theirs.predict(far))
    given = {"given": (X, y), "method": "predict"}
    errors_agree(RadiusNeighborsClassifier(radius_of(X), weights="distance"), far, **given)
    theirs, mine = both(RadiusNeighborsRegressor(radius_of(X)), X, X[:, 0])
    with pytest.warns(UserWarning, match="no neighbors"), transfers.cpu_as_device():
        found = mine.predict(far)
    with pytest.warns(UserWarning, match="no neighbors"):
        assert_same(found, theirs.predict(far), TOLERANCE, "predict")


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_regressor_within_a_radius(dtype, weights, container):
    X, y = data("diabetes", dtype)
    estimator = RadiusNeighborsRegressor(radius_of(X), weights=weights, algorithm="brute")
    tolerance = 1e-4 if dtype == "float32" else TOLERANCE
    # scikit-learn's products give a row some distance from itself, on some processors.
    tolerance = max(tolerance, 1e-5) if weights == "distance" else tolerance
    options = {"methods": ("predict",), "container": container, "tolerance": tolerance}
    compare(estimator, X, y, **options)
    compare(estimator, X, np.stack([y, y**2], axis=1), **options)


def test_errors_within_a_radius_are_scikit_learns():
    X, _ = scaled("wine")
    estimator = NearestNeighbors(algorithm="brute")
    given = {"given": (X,), "method": "radius_neighbors"}
    errors_agree(estimator, X[:, :3], **given)
    errors_agree(estimator, X, 1.0, False, True, **given)
