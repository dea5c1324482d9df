"""Estimators that are fitted on sharded rows, and what is compared with scikit-learn's."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@dataclasses.dataclass(frozen=True)
class Case:
    make: Callable[[Any], Any]
    attributes: tuple[str, ...]
    methods: tuple[str, ...] = ()
    target: str = "numbers"
    shards_y: bool = True
    dtype: str = "float64"
    route: str = "sharded"


def data(case):
    """Return rows around three places, and a target."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=201)
    rows = (rng.normal(size=(201, 4)) + 3 * labels[:, None] * [1, -1, 0.5, 0]).astype(case.dtype)
    if case.target == "labels":
        return rows, labels + 5
    return rows, (rows @ [1.0, -2.0, 0.5, 3.0] + 7 + 0.1 * rng.normal(size=201)).astype(case.dtype)


_SCALED = ("mean_", "var_", "scale_", "n_samples_seen_", "n_features_in_")
_COMPONENTS = (
    *("mean_", "components_", "explained_variance_", "explained_variance_ratio_"),
    *("singular_values_", "noise_variance_", "n_components_"),
)
_CLUSTERS = ("cluster_centers_", "labels_", "inertia_", "n_iter_")
CASES = {
    "StandardScaler": Case(
        lambda _: StandardScaler(), _SCALED, ("transform", "fit_transform", "inverse_transform")
    ),
    "StandardScaler, float32": Case(
        lambda _: StandardScaler(with_mean=False), _SCALED, ("transform",), dtype="float32"
    ),
    "PCA": Case(lambda _: PCA(2), _COMPONENTS, ("transform",)),
    "PCA, whitened": Case(lambda _: PCA(0.9, whiten=True), _COMPONENTS, ("transform",)),
    "PCA by SVD": Case(
        lambda _: PCA(2, svd_solver="full"), _COMPONENTS, ("transform",), route="gathered"
    ),
    "LinearRegression": Case(
        lambda _: LinearRegression(), ("coef_", "intercept_", "rank_", "singular_"), ("predict",)
    ),
    "LinearRegression, y whole": Case(
        lambda _: LinearRegression(fit_intercept=False), ("coef_", "intercept_"), shards_y=False
    ),
    "Ridge": Case(lambda _: Ridge(0.5), ("coef_", "intercept_"), ("predict",)),
    "GaussianNB": Case(
        lambda _: GaussianNB(),
        ("classes_", "theta_", "var_", "class_prior_", "class_count_", "epsilon_"),
        ("predict", "predict_proba", "predict_log_proba"),
        target="labels",
    ),
    "KMeans": Case(
        lambda rows: KMeans(3, init=rows[:3].copy()),
        _CLUSTERS,
        ("predict", "transform"),
        shards_y=False,
    ),
    "KMeans, k-means++": Case(
        lambda _: KMeans(3, random_state=0, n_init=1),
        ("cluster_centers_", "inertia_"),
        ("predict",),
        route="gathered",
    ),
    "DBSCAN": Case(lambda _: DBSCAN(1.0), ("labels_",), route="gathered"),
    "pipeline": Case(
        lambda _: make_pipeline(StandardScaler(), PCA(2, svd_solver="covariance_eigh"), Ridge()),
        (),
        ("predict",),
    ),
}
#: Those of each run.
SAMPLE = ("PCA, whitened", "LinearRegression", "GaussianNB", "KMeans", "DBSCAN", "pipeline")
