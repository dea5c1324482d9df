"""Metrics on tensors against scikit-learn's on arrays."""

import numpy as np
import pytest
import torch
from scipy.spatial import distance
from sklearn import metrics
from sklearn_comparing import as_array_all, assert_same
from sklearn_data import scaled

import npaccel
from npaccel import sklearn as accelerated
from npaccel._sklearn.dispatch import functions
from npaccel._sklearn.metrics.distances import _SCIPYS

RANDOM = np.random.default_rng(0)
N = 200
LABELS = RANDOM.integers(0, 4, N)
OTHERS = np.where(RANDOM.random(N) < 0.7, LABELS, RANDOM.integers(0, 5, N)) + 3
TRUE = RANDOM.integers(0, 2, N)
SCORE = np.round(TRUE * 0.4 + RANDOM.random(N), 2)
CHANCES = RANDOM.dirichlet(np.ones(4), N)
MANY = RANDOM.integers(0, 2, (N, 3))
SCORES = MANY * 0.3 + RANDOM.random((N, 3))
WEIGHTS = RANDOM.random(N) * (RANDOM.random(N) < 0.9)

OF_LABELS = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "completeness_score",
    "fowlkes_mallows_score",
    "homogeneity_completeness_v_measure",
    "homogeneity_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "pair_confusion_matrix",
    "rand_score",
    "v_measure_score",
]


@pytest.fixture(autouse=True)
def _eager():
    with npaccel.options(backend="eager"):
        yield


def same(name, *args, native=True, monkeypatch=None, **kwargs):
    """Compare a metric of tensors with scikit-learn's of arrays; `native`: nothing on the host."""
    theirs = getattr(metrics, name)(*args, **kwargs)

    def tensor(value):
        return torch.from_numpy(value) if isinstance(value, np.ndarray) else value

    given = [tensor(value) for value in args]
    named = {key: tensor(value) for key, value in kwargs.items()}
    moved = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "_array", lambda v: moved.append(v) or as_array_all(v))
        mine = getattr(accelerated.metrics, name)(*given, **named)
    assert not (native and moved), "it was computed on the host"
    if isinstance(theirs, tuple):
        theirs = list(theirs)
    mine = [as_array_all(m) for m in mine] if isinstance(mine, tuple) else as_array_all(mine)
    assert_same(mine, theirs, 1e-9, name)


@pytest.mark.parametrize("name", OF_LABELS)
def test_scores_of_labels(name):
    same(name, LABELS, OTHERS)
    same(name, LABELS, LABELS)
    same(name, LABELS, np.zeros_like(LABELS))
    same(name, np.arange(N), OTHERS)
    same(name, np.zeros_like(LABELS), np.ones_like(LABELS))


@pytest.mark.parametrize("method", ["min", "max", "geometric", "arithmetic"])
def test_averages_of_entropies(method):
    same("normalized_mutual_info_score", LABELS, OTHERS, average_method=method)
    same("adjusted_mutual_info_score", LABELS, OTHERS, average_method=method)
    same("v_measure_score", LABELS, OTHERS, beta=0.5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["euclidean", "manhattan", "cosine", "chebyshev", "sqeuclidean"])
def test_silhouettes(name, dtype):
    X, y = scaled("wine", dtype)
    tolerance = 1e-9 if dtype == "float64" else 1e-5
    for labels in (y, np.where(np.arange(len(y)) == 5, 9, y)):
        given = torch.from_numpy(X), torch.from_numpy(labels)
        found = accelerated.metrics.silhouette_samples(*given, metric=name)
        wanted = metrics.silhouette_samples(X, labels, metric=name)
        assert_same(found.numpy(), wanted, tolerance, name)
    found = accelerated.metrics.silhouette_score(*given, metric=name)
    np.testing.assert_allclose(
        found, metrics.silhouette_score(X, labels, metric=name), atol=tolerance
    )


def test_silhouette_of_a_sample():
    X, y = scaled("digits")
    same("silhouette_score", X, y, sample_size=100, random_state=3)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_roc(weights):
    for y in (TRUE, TRUE * 2 - 1, TRUE.astype(float)):
        for drop in (True, False):
            given = {"sample_weight": weights, "drop_intermediate": drop}
            same("roc_curve", y, SCORE, **given)
        same("roc_auc_score", y, SCORE, sample_weight=weights)
    same("roc_curve", TRUE + 1, SCORE, pos_label=2, sample_weight=weights)
    for average in ("macro", "micro", "weighted", None):
        same("roc_auc_score", MANY, SCORES, average=average, sample_weight=weights)
        given = {"multi_class": "ovr", "average": average, "sample_weight": weights}
        same("roc_auc_score", LABELS, CHANCES, **given)
    for average in ("macro", "weighted"):
        same("roc_auc_score", LABELS, CHANCES, multi_class="ovo", average=average)


@pytest.mark.parametrize(
    "name",
    sorted(_SCIPYS | {"cosine", "euclidean", "l1", "l2", "manhattan"}),
)
def test_pairwise_distances(name):
    X, _ = scaled("wine")
    same("pairwise_distances", X[:50], metric=name)
    if name not in ("mahalanobis", "seuclidean"):
        same("pairwise_distances", X[:50], X[50:70], metric=name)


@pytest.mark.parametrize("name", ["dice", "jaccard", "rogerstanimoto", "russellrao", "yule"])
def test_pairwise_distances_of_booleans(name):
    X, _ = scaled("wine")
    same("pairwise_distances", X[:50] > 0, metric=name)


def test_keywords_of_metrics():
    X, _ = scaled("wine")
    same("pairwise_distances", X[:50], metric="minkowski", p=3)
    variances = X.var(axis=0)
    found = accelerated.metrics.pairwise_distances(
        torch.from_numpy(X), torch.from_numpy(X[:9]), "seuclidean", V=torch.from_numpy(variances)
    )
    np.testing.assert_allclose(found, distance.cdist(X, X[:9], "seuclidean", V=variances))


@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "laplacian", "sigmoid", "cosine"])
def test_kernels_are_scikit_learns_own_on_tensors(name):
    X, _ = scaled("wine")
    same("pairwise_kernels", X, metric=name)


def test_scikit_learns_own_on_tensors():
    X, y = scaled("wine")
    for name in ("davies_bouldin_score", "calinski_harabasz_score"):
        same(name, X, y)
    same("precision_recall_curve", TRUE, SCORE)
    same("average_precision_score", TRUE, SCORE)
    same("f1_score", LABELS, LABELS[::-1].copy(), average="macro")
    same("euclidean_distances", X)


def test_arrays_are_scikit_learns_business():
    assert accelerated.metrics.adjusted_rand_score(LABELS, OTHERS) == metrics.adjusted_rand_score(
        LABELS, OTHERS
    )
    found = accelerated.metrics.pairwise_distances(np.eye(3))
    assert isinstance(found, np.ndarray)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("adjusted_rand_score", (LABELS, LABELS[:5]), {}),
        ("rand_score", (MANY, MANY), {}),
        ("silhouette_score", (SCORES, np.zeros(N, int)), {}),
        ("silhouette_samples", (SCORES, LABELS[:9]), {}),
        ("roc_auc_score", (LABELS, CHANCES), {}),
        ("roc_auc_score", (TRUE, SCORE[:7]), {}),
        ("roc_curve", (TRUE + 4, SCORE), {}),
        ("pairwise_distances", (SCORES, CHANCES), {"metric": "canberra"}),
        ("pairwise_distances", (SCORES,), {"metric": "nothing"}),
        ("pairwise_distances", (SCORES * np.nan,), {"metric": "canberra"}),
    ],
)
def test_errors_are_scikit_learns(name, args, kwargs):
    with pytest.raises(ValueError, match=".") as theirs:
        getattr(metrics, name)(*args, **kwargs)
    with pytest.raises(ValueError, match=".") as mine:
        getattr(accelerated.metrics, name)(*map(torch.from_numpy, args), **kwargs)
    assert str(mine.value) == str(theirs.value)


@pytest.mark.filterwarnings("ignore")
def test_one_class_alone():
    found = accelerated.metrics.roc_auc_score(torch.zeros(4), torch.rand(4))
    assert np.isnan(found)


def test_what_integers_give_has_64_bits():
    random = np.random.default_rng(0)
    X, y, scores = random.integers(0, 2, (6, 3)), random.integers(0, 3, 30), random.random((30, 3))
    theirs = metrics.pairwise.cosine_distances(X)
    mine = accelerated.metrics.pairwise.cosine_distances(torch.from_numpy(X))
    assert mine.dtype == torch.float64
    np.testing.assert_allclose(mine, theirs, atol=1e-15)
    given = torch.from_numpy(y), torch.from_numpy(scores)
    found = accelerated.metrics.average_precision_score(*given)
    assert float(found) == pytest.approx(metrics.average_precision_score(y, scores), rel=1e-14)
