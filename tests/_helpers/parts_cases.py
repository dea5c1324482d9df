"""Estimators that are fitted on rows in parts, and what is compared with scikit-learn's."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.cluster import DBSCAN, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@dataclasses.dataclass(frozen=True)
class Case:
    make: Callable[[Any], Any]
    attributes: tuple[str, ...]
    methods: tuple[str, ...] = ()
    #: "numbers", "several" columns of them, "labels", "two" of them, or "names" that are labels.
    target: str = "numbers"
    is_weighted: bool = False
    spreads_y: bool = True
    dtype: str = "float64"
    is_whole: bool = False
    rows: int = 201
    #: Where `partial_fit` is called, with the rows before and from there: none for `fit`.
    batches: tuple[int, ...] = ()
    tolerance: float | None = None


def data(case):
    """Return rows around three places, a target and weights of rows."""
    rng = np.random.default_rng(0)
    # The last rows, and so a part, have none of the first label.
    labels = np.concatenate([rng.integers(3, size=150), rng.integers(1, 3, size=51)])
    rows = rng.normal(size=(201, 4)) + 2 * labels[:, None] * [1, -1, 0.5, 0]
    rows = rows.astype(case.dtype)
    weights = rng.integers(0, 4, size=201) * 0.5 if case.is_weighted else None
    numbers = rows @ [1.0, -2.0, 0.5, 3.0] + 7 + 0.1 * rng.normal(size=201)
    targets = {
        "numbers": numbers.astype(case.dtype),
        "several": np.stack([numbers, rows[:, 0] - 2 * numbers], axis=1),
        "labels": labels + 5,
        "two": np.minimum(labels, 1) - 3,
        "names": np.array(["ox", "ape", "yak"])[labels],
    }
    weights = weights if weights is None else weights[: case.rows]
    return rows[: case.rows], targets[case.target][: case.rows], weights


def fitted(case, model, rows, y, weights):
    """Fit an estimator, and return it."""
    if not case.batches:
        return model.fit(rows, y, **({} if weights is None else {"sample_weight": weights}))
    words = {"classes": np.arange(4, 9)} if is_classifier(model) else {}
    for start, stop in itertools.pairwise((0, *case.batches, case.rows)):
        if weights is not None:
            words["sample_weight"] = weights[start:stop]
        model.partial_fit(rows[start:stop], y[start:stop], **words)
        words.pop("classes", None)
    return model


def wanted(case):
    """Return what scikit-learn finds."""
    rows, y, weights = data(case)
    model = fitted(case, case.make(rows), rows, y, weights)
    found = {name: getattr(model, name) for name in case.attributes}
    return found | {name: _called(model, name, rows, y) for name in case.methods}


def _called(model, name, x, y):
    if name == "kneighbors of itself":
        return model.kneighbors()
    return getattr(model, name)(x, y) if name == "score" else getattr(model, name)(x)


def answers(case, spread, collected):
    """Return what is found by parts, and the routes of methods.

    `spread` makes distributed arrays of arrays, and `collected` the other way round.
    """
    from npaccel.sklearn import accelerate

    rows, y, weights = data(case)
    x = spread(rows)
    spread_y = spread(y) if case.spreads_y else y
    model = accelerate(case.make(rows))
    fitted(case, model, x, spread_y, weights if weights is None else spread(weights))
    found = {name: getattr(model, name) for name in case.attributes}
    found |= {name: _called(model, name, x, spread_y) for name in case.methods}
    steps = [(step.method, step.route) for step in model.report_.steps]
    return {name: collected(value) for name, value in _flat(found)}, steps


def _flat(named):
    """Return names and values, with a row for each of a tuple."""
    for name, value in named.items():
        parts = value if isinstance(value, tuple) else [value]
        yield from ((f"{name}{i or ''}", part) for i, part in enumerate(parts))


def check(case, got, steps):
    """Compare what was found by parts with what scikit-learn finds on the whole."""
    for what, value in _flat(wanted(case)):
        value = np.asarray(value)
        if value.dtype.kind not in "biuf":
            np.testing.assert_array_equal(got[what], value, err_msg=what)
            continue
        tolerance = case.tolerance or (1e-5 if case.dtype == "float32" else 1e-9)
        np.testing.assert_allclose(got[what], value, tolerance, tolerance, err_msg=what)
        if value.ndim:
            assert got[what].dtype == value.dtype, what
    assert steps
    routes = {route for method, route in steps if method.startswith("fit")}
    assert ("gathered" in routes) == case.is_whole
    if not case.is_whole:
        assert "gathered" not in {route for _, route in steps}


_SCALED = ("mean_", "var_", "scale_", "n_samples_seen_", "n_features_in_")
_COMPONENTS = (
    *("mean_", "components_", "explained_variance_", "explained_variance_ratio_"),
    *("singular_values_", "noise_variance_", "n_components_"),
)
_SINGULAR = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_")
_CLUSTERS = ("cluster_centers_", "labels_", "inertia_", "n_iter_")
_LINE = ("coef_", "intercept_")
_BAYES = ("classes_", "theta_", "var_", "class_prior_", "class_count_", "epsilon_")
CASES = {
    "StandardScaler": Case(
        lambda _: StandardScaler(), _SCALED, ("transform", "fit_transform", "inverse_transform")
    ),
    "StandardScaler, float32": Case(
        lambda _: StandardScaler(with_mean=False), _SCALED, ("transform",), dtype="float32"
    ),
    "StandardScaler, weights": Case(lambda _: StandardScaler(), _SCALED, is_weighted=True),
    # A rank, and all blocks but one, have nothing.
    "StandardScaler, one row": Case(lambda _: StandardScaler(), _SCALED, ("transform",), rows=1),
    "StandardScaler, batches": Case(
        lambda _: StandardScaler(), _SCALED, ("transform",), batches=(40, 41, 150)
    ),
    "StandardScaler, weighted batches": Case(
        lambda _: StandardScaler(with_mean=False),
        _SCALED,
        batches=(100,),
        is_weighted=True,
        dtype="float32",
    ),
    "StandardScaler, numbers of rows": Case(
        lambda _: StandardScaler(with_mean=False, with_std=False),
        ("n_samples_seen_", "mean_", "scale_"),
        batches=(100,),
    ),
    "PCA": Case(lambda _: PCA(2), _COMPONENTS, ("transform", "fit_transform")),
    "PCA, whitened": Case(lambda _: PCA(0.9, whiten=True), _COMPONENTS, ("transform",)),
    "PCA, float32": Case(
        lambda _: PCA(2), _COMPONENTS, ("transform",), dtype="float32", tolerance=1e-4
    ),
    "PCA by SVD": Case(lambda _: PCA("mle", svd_solver="full"), _COMPONENTS, ("transform",)),
    "PCA, randomized": Case(
        lambda _: PCA(2, svd_solver="randomized", random_state=3), _COMPONENTS, ("transform",)
    ),
    "PCA by ARPACK": Case(
        lambda _: PCA(2, svd_solver="arpack", random_state=3), _COMPONENTS, ("transform",)
    ),
    "TruncatedSVD": Case(
        lambda _: TruncatedSVD(2, random_state=3), _SINGULAR, ("transform", "fit_transform")
    ),
    "TruncatedSVD by ARPACK": Case(
        lambda _: TruncatedSVD(2, algorithm="arpack", random_state=3), _SINGULAR, ("transform",)
    ),
    "TruncatedSVD, float32": Case(
        lambda _: TruncatedSVD(2, random_state=3), _SINGULAR, dtype="float32", tolerance=1e-4
    ),
    "LinearRegression": Case(
        lambda _: LinearRegression(), (*_LINE, "rank_", "singular_"), ("predict", "score")
    ),
    "LinearRegression, y whole": Case(
        lambda _: LinearRegression(fit_intercept=False), _LINE, spreads_y=False
    ),
    "LinearRegression, weights": Case(
        lambda _: LinearRegression(),
        _LINE,
        ("predict", "score"),
        target="several",
        is_weighted=True,
    ),
    "LinearRegression, positive": Case(lambda _: LinearRegression(positive=True), _LINE),
    "LinearRegression, float32": Case(
        lambda _: LinearRegression(), _LINE, ("predict",), dtype="float32", tolerance=1e-4
    ),
    "LinearRegression, nine rows": Case(
        lambda _: LinearRegression(), _LINE, ("predict", "score"), rows=9
    ),
    "Ridge": Case(lambda _: Ridge(0.5), _LINE, ("predict",)),
    "Ridge, weights": Case(
        lambda _: Ridge(0.5, fit_intercept=False), _LINE, target="several", is_weighted=True
    ),
    "Ridge, a penalty for each": Case(
        lambda _: Ridge(np.array([0.5, 20.0])), _LINE, ("predict", "score"), target="several"
    ),
    "Ridge by SVD": Case(lambda _: Ridge(0.5, solver="svd"), _LINE, ("predict",), is_whole=True),
    "GaussianNB": Case(
        lambda _: GaussianNB(),
        _BAYES,
        ("predict", "predict_proba", "predict_log_proba", "score"),
        target="labels",
    ),
    "GaussianNB, weights": Case(
        lambda _: GaussianNB(), _BAYES, ("predict",), target="labels", is_weighted=True
    ),
    # One of the classes has no rows.
    "GaussianNB, batches": Case(lambda _: GaussianNB(), _BAYES, target="labels", batches=(30, 150)),
    "GaussianNB, weighted batches": Case(
        lambda _: GaussianNB(), _BAYES, target="labels", batches=(150,), is_weighted=True
    ),
    "KMeans": Case(
        lambda rows: KMeans(3, init=rows[:3].copy()), _CLUSTERS, ("predict", "transform", "score")
    ),
    "KMeans, weights": Case(
        lambda rows: KMeans(3, init=rows[:3].copy()), _CLUSTERS, is_weighted=True
    ),
    "KMeans, k-means++": Case(
        lambda _: KMeans(4, random_state=0), _CLUSTERS, ("predict", "fit_predict")
    ),
    "KMeans, random": Case(
        lambda _: KMeans(5, init="random", n_init=3, random_state=0), _CLUSTERS, is_weighted=True
    ),
    "KMeans, k-means++, weights": Case(
        lambda _: KMeans(4, random_state=1), _CLUSTERS, is_weighted=True
    ),
    "KMeans, a cluster without rows": Case(
        lambda rows: KMeans(3, init=np.concatenate([rows[:2], rows[:1] + 99.0])), _CLUSTERS
    ),
    "MiniBatchKMeans": Case(
        lambda _: MiniBatchKMeans(3, batch_size=32, random_state=0),
        (*_CLUSTERS, "n_steps_"),
        ("predict", "transform", "score", "fit_transform"),
    ),
    "MiniBatchKMeans, weights": Case(
        lambda _: MiniBatchKMeans(9, batch_size=20, random_state=0, init="random", tol=1e-3),
        (*_CLUSTERS, "n_steps_"),
        is_weighted=True,
    ),
    "MiniBatchKMeans, few rows": Case(
        lambda _: MiniBatchKMeans(3, random_state=0, max_iter=5), _CLUSTERS, dtype="float32"
    ),
    "MiniBatchKMeans, batches": Case(
        lambda _: MiniBatchKMeans(3, random_state=0, init_size=40, reassignment_ratio=0.5),
        ("cluster_centers_", "labels_", "inertia_", "n_steps_"),
        ("predict",),
        batches=(60, 61, 90, 100, 150),
    ),
    "MiniBatchKMeans, weighted batches": Case(
        lambda rows: MiniBatchKMeans(3, random_state=1, init="random"),
        ("cluster_centers_", "labels_", "inertia_", "n_steps_"),
        batches=(100,),
        is_weighted=True,
    ),
    "LogisticRegression": Case(
        lambda _: LogisticRegression(tol=1e-6),
        (*_LINE, "classes_", "n_iter_"),
        ("predict", "predict_proba", "predict_log_proba", "decision_function"),
        target="labels",
        tolerance=1e-4,
    ),
    "LogisticRegression of two, weights": Case(
        lambda _: LogisticRegression(C=0.3, class_weight="balanced", tol=1e-6),
        _LINE,
        ("predict", "predict_proba", "decision_function", "score"),
        target="two",
        is_weighted=True,
        tolerance=1e-4,
    ),
    "LogisticRegression of two": Case(
        lambda _: LogisticRegression(fit_intercept=False, class_weight={-3: 2.0}, tol=1e-6),
        _LINE,
        target="two",
        spreads_y=False,
        tolerance=1e-4,
    ),
    "LogisticRegression, float32": Case(
        lambda _: LogisticRegression(),
        _LINE,
        ("predict_proba",),
        target="labels",
        dtype="float32",
        tolerance=2e-2,
    ),
    "LogisticRegression by newton-cholesky": Case(
        lambda _: LogisticRegression(solver="newton-cholesky"),
        _LINE,
        target="labels",
        is_whole=True,
    ),
    "NearestNeighbors": Case(
        lambda _: NearestNeighbors(n_neighbors=4, algorithm="brute", metric="manhattan"),
        ("n_samples_fit_", "effective_metric_"),
        ("kneighbors", "kneighbors of itself"),
    ),
    "KNeighborsClassifier": Case(
        lambda _: KNeighborsClassifier(5, algorithm="brute"),
        ("classes_",),
        ("predict", "predict_proba", "score"),
        target="labels",
    ),
    "KNeighborsClassifier, weights": Case(
        lambda _: KNeighborsClassifier(60, algorithm="brute", weights="distance", p=3),
        ("classes_",),
        ("predict", "predict_proba"),
        target="two",
        dtype="float32",
    ),
    "KNeighborsRegressor": Case(
        lambda _: KNeighborsRegressor(3, algorithm="brute"), (), ("predict",), target="several"
    ),
    "KNeighborsRegressor, weights": Case(
        lambda _: KNeighborsRegressor(3, weights="distance"), (), ("predict",), spreads_y=False
    ),
    "DBSCAN": Case(lambda _: DBSCAN(1.0), ("labels_",), is_whole=True),
    "pipeline": Case(
        lambda _: make_pipeline(StandardScaler(), PCA(2, svd_solver="covariance_eigh"), Ridge()),
        (),
        ("predict",),
    ),
}
#: Those that ranks compute in each run; blocks compute all of them.
SAMPLE = (
    *("StandardScaler, weights", "StandardScaler, one row", "PCA, whitened", "TruncatedSVD"),
    *("LinearRegression, weights", "Ridge", "GaussianNB", "KMeans, k-means++"),
    *("StandardScaler, batches", "GaussianNB, batches", "MiniBatchKMeans, batches"),
    *("NearestNeighbors", "Ridge, a penalty for each"),
    *("MiniBatchKMeans", "LogisticRegression", "LogisticRegression of two, weights"),
    *("KNeighborsClassifier", "DBSCAN", "pipeline"),
)
