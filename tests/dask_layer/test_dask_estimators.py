"""Estimators on Dask arrays against scikit-learn's on the whole."""

import pickle

import children
import cloudpickle
import numpy as np
import parts_cases
import pytest
import sweep
from sklearn.base import is_classifier
from sklearn.cluster import DBSCAN, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import npaccel
from npaccel._dask.parts import BlockParts
from npaccel._sklearn.parts import moments
from npaccel.sklearn import accelerate, to_host

da = pytest.importorskip("dask.array", reason="Dask isn't installed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.filterwarnings("ignore:.*whole array is computed")


def in_blocks(array):
    # Some rows and none in blocks that differ; of few rows all in one.
    first = min(50, len(array) - 1)
    rows = first, 0, 1, max(0, len(array) - first - 1)
    return da.from_array(array, chunks=(rows, *((-1,) * (array.ndim - 1))))


def collected(value):
    return value.compute() if isinstance(value, da.Array) else value


@pytest.fixture(autouse=True)
def quickly():
    # NumPy makes the calls: they are few, and what is compiled has a test of its own.
    with npaccel.options(compile="auto"), dask.config.set(scheduler="sync"):
        yield


def by_other_processes(graph, keys, **words):
    """Compute a graph as a worker gets it."""
    return dask.get(cloudpickle.loads(cloudpickle.dumps(graph)), keys, **words)


@pytest.mark.parametrize("name", parts_cases.CASES)
def test_as_scikit_learn_on_the_whole(name):
    case = parts_cases.CASES[name]
    with dask.config.set(scheduler=by_other_processes):
        parts_cases.check(case, *parts_cases.answers(case, in_blocks, collected))


X, LABELS, _ = parts_cases.data(parts_cases.Case(None, (), target="names"))
Y = X @ [1.0, -2.0, 0.5, 3.0]


@pytest.mark.parametrize("name", ["StandardScaler", "Ridge", "GaussianNB", "MiniBatchKMeans"])
def test_unknown_sizes_of_blocks(name):
    case = parts_cases.CASES[name]
    rows, y, _ = parts_cases.data(case)
    kept = rows[:, 0] > -0.5
    x = in_blocks(rows)
    x = x[x[:, 0] > -0.5]
    assert np.isnan(x.shape[0])
    model = accelerate(case.make(rows)).fit(x, y[kept])
    plain = case.make(rows).fit(rows[kept], y[kept])
    for attribute in case.attributes:
        got = collected(getattr(model, attribute))
        np.testing.assert_allclose(got, getattr(plain, attribute), 1e-9, 1e-9)
    for method in set(case.methods) - {"fit_transform", "score"}:
        found = getattr(model, method)(x)
        assert np.isnan(found.shape[0])
        np.testing.assert_allclose(found.compute(), getattr(plain, method)(rows[kept]), 1e-9, 1e-9)


def test_one_block_and_blocks_of_columns():
    for chunks in (-1, (70, 2), (70, (1, 3))):
        scaler = accelerate(StandardScaler()).fit(da.from_array(X, chunks=chunks))
        np.testing.assert_allclose(scaler.var_, X.var(axis=0))
        np.testing.assert_allclose(
            scaler.transform(da.from_array(X, chunks=chunks)), StandardScaler().fit_transform(X)
        )


def test_integers():
    whole = (X * 10).astype(np.int32)
    model = accelerate(LinearRegression()).fit(in_blocks(whole), in_blocks(whole[:, 0] * 2 + 1))
    np.testing.assert_allclose(model.coef_, [2, 0, 0, 0], atol=1e-12)
    assert model.predict(in_blocks(whole)).dtype == np.float64


def test_names_of_classes():
    for model in (LogisticRegression(), GaussianNB(), KNeighborsClassifier(3)):
        found = accelerate(model).fit(in_blocks(X), in_blocks(LABELS))
        plain = model.fit(X, LABELS)
        assert list(found.classes_) == ["ape", "ox", "yak"]
        predicted = found.predict(in_blocks(X))
        assert predicted.dtype == LABELS.dtype
        np.testing.assert_array_equal(predicted.compute(), plain.predict(X))
        assert found.score(in_blocks(X), LABELS) == plain.score(X, LABELS)


def test_results_are_lazy_and_blocks_are_as_they_were():
    seen = []

    def load(block):
        if block.size:
            seen.append(len(block))
        return block

    x = in_blocks(X).map_blocks(load, dtype=X.dtype, meta=np.empty((0, 0)))
    model = accelerate(LinearRegression()).fit(x, Y)
    assert sorted(seen) == [1, 50, 150]  # each block once
    seen.clear()
    accelerate(GaussianNB()).fit(x, in_blocks(LABELS))
    assert sorted(seen) == [1, 50, 150]
    seen.clear()
    predicted = model.predict(x)
    assert seen == []
    assert predicted.chunks == x.chunks[:1]
    np.testing.assert_allclose(predicted.compute(), Y)


def test_values_that_are_missing():
    rows = X.copy()
    rows[120, 1] = np.nan
    for model in (LinearRegression(), LogisticRegression(), GaussianNB(), PCA(2), KMeans(2)):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            accelerate(model).fit(in_blocks(rows), LABELS if is_classifier(model) else Y)
    rows[120, 1] = np.inf
    for model in (StandardScaler(), TruncatedSVD(2), KNeighborsClassifier(), Ridge()):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            accelerate(model).fit(in_blocks(rows), LABELS if is_classifier(model) else Y)
    predicted = accelerate(Ridge()).fit(in_blocks(X), Y).predict(in_blocks(rows))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        predicted.compute()
    with pytest.raises(ValueError, match=r"X has 2 features, but Ridge is expecting 4"):
        accelerate(Ridge()).fit(in_blocks(X), Y).predict(in_blocks(X[:, :2]))


def test_what_takes_whole_arrays():
    with pytest.warns(npaccel.errors.PerformanceWarning, match="the whole array is comp") as told:
        model = accelerate(DBSCAN(1.0)).fit(in_blocks(X))
    assert told[0].filename == __file__
    assert "isn't computed by parts" in model.report_.steps[-1].reason
    with pytest.warns(npaccel.errors.PerformanceWarning):
        transformed = accelerate(MinMaxScaler()).fit_transform(in_blocks(X))
    np.testing.assert_allclose(transformed.compute(), MinMaxScaler().fit_transform(X))
    with pytest.warns(npaccel.errors.PerformanceWarning, match="all rows have the same weight"):
        ridge = accelerate(Ridge()).fit(in_blocks(X), Y, sample_weight=3.0)
    np.testing.assert_allclose(ridge.coef_, Ridge().fit(X, Y, sample_weight=3.0).coef_)
    with pytest.raises(npaccel.errors.NotOnDeviceError, match="positive=True"):
        accelerate(Ridge(positive=True), on_unsupported="raise").fit(in_blocks(X), Y)


def test_neighbours_of_rows_in_parts_and_whole_ones():
    plain = KNeighborsClassifier(4, weights="distance").fit(X, LABELS)
    queries = X[:7] + 0.1
    near = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(queries)
    of_parts = accelerate(KNeighborsClassifier(4, weights="distance")).fit(in_blocks(X), LABELS)
    of_whole = accelerate(KNeighborsClassifier(4, weights="distance")).fit(X, LABELS)
    for model, given in (
        (of_parts, queries),
        (of_parts, da.from_array(queries, chunks=(3, -1))),
        (of_whole, da.from_array(queries, chunks=(3, -1))),
    ):
        for got, wanted in zip(model.kneighbors(given), near, strict=True):
            assert isinstance(got, type(given))
            np.testing.assert_allclose(got, wanted)
        np.testing.assert_array_equal(model.predict(given), plain.predict(queries))
        np.testing.assert_allclose(model.predict_proba(given), plain.predict_proba(queries))
    assert of_parts.score(queries, plain.predict(queries)) == 1.0
    with pytest.raises(ValueError, match="n_neighbors = 300"):
        of_parts.kneighbors(queries, 300)
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit, but n_neighbors ="):
        of_parts.kneighbors(n_neighbors=len(X))


def test_rows_that_are_the_same():
    rows = np.repeat(X[:20], 4, axis=0)
    found = accelerate(NearestNeighbors(n_neighbors=2)).fit(in_blocks(rows)).kneighbors()
    apart, which = (one.compute() for one in found)
    assert (apart == 0.0).all()
    assert (which != np.arange(80)[:, None]).all()
    np.testing.assert_array_equal(which // 4, np.repeat(np.arange(20), 4)[:, None].repeat(2, 1))


def test_compiled_and_under_other_schedulers():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 3))
    x = da.from_array(rows, chunks=(1000, 3))
    with npaccel.options(compile="now", backend="eager"), dask.config.set(scheduler="threads"):
        model = accelerate(StandardScaler()).fit(x)
        scaled = model.transform(x).compute()
    np.testing.assert_allclose(scaled, StandardScaler().fit_transform(rows), 1e-9)
    assert moments.of_columns.report().graphs


@pytest.mark.parametrize(
    "model",
    [
        *(KMeans(2, random_state=0), MiniBatchKMeans(2, random_state=0, batch_size=50)),
        *(LogisticRegression(), GaussianNB(), KNeighborsClassifier(), Ridge(), LinearRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_fitted_can_be_kept(model):
    y = LABELS if is_classifier(model) else Y
    found = pickle.loads(pickle.dumps(accelerate(model).fit(in_blocks(X), in_blocks(y))))
    plain = to_host(found)
    assert type(plain) is type(model)
    got, wanted = found.predict(in_blocks(X)).compute(), plain.predict(X)
    if y is LABELS:
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted)


PROCESSES = """
import dask, dask.array as da, npaccel, numpy as np
from npaccel.sklearn import accelerate
from sklearn.linear_model import LogisticRegression

if __name__ == "__main__":
    x = np.random.default_rng(3).normal(size=(60, 5))
    y = x[:, 0] > 0.1
    lazy = da.from_array(x, chunks=(20, 5))
    context = {"multiprocessing.context": "fork", "scheduler": "processes", "num_workers": 2}
    with dask.config.set(context):
        model = accelerate(LogisticRegression()).fit(lazy, y)
        predicted = model.predict(lazy).compute()
    answer(same=bool((predicted == LogisticRegression().fit(x, y).predict(x)).all()))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sweep.FULL, reason="workers take long to start: NPACCEL_TEST_SWEEP=full")
def test_processes():
    assert children.run(PROCESSES, NPACCEL_COMPILE="auto")["same"]


def test_factors_of_many_rows():
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    y = rows @ [1.0, 2.0, 3.0]
    model = accelerate(LinearRegression()).fit(da.from_array(rows, chunks=(2500, 3)), y)
    np.testing.assert_allclose(model.singular_, LinearRegression().fit(rows, y).singular_)


def test_checkpoints(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 4))
    x, y = da.from_array(rows, chunks=(80, 4)), rows[:, 0] > rows[:, 1] + 0.5
    plain = LogisticRegression(tol=1e-8).fit(rows, y)
    original, count, last = BlockParts.reduce, 0, None

    def reduce(*args):
        nonlocal count
        count += 1
        if count == last:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(BlockParts, "reduce", reduce)
    accelerate(LogisticRegression(tol=1e-8)).fit(x, y)
    whole, count, last = count, 0, count - 2
    model = accelerate(LogisticRegression(tol=1e-8), checkpoint=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    count, last = 0, None
    model.fit(x, y)
    assert count < whole // 2
    np.testing.assert_allclose(model.coef_, plain.coef_, 1e-6)
    assert model.n_iter_ == plain.n_iter_
    # Of other rows nothing is taken.
    other = model.fit(x + 1.0, y)
    np.testing.assert_allclose(other.intercept_, plain.intercept_ - plain.coef_.sum(), 1e-4)
