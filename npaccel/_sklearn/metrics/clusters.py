"""``sklearn.metrics`` of clusterings, on tensors.

Scores of two labellings need nothing but the table of how often each pair of labels meets: it's
counted on the device, and it's small. The rest is done on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import metrics
from sklearn.utils import check_random_state

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.kernels.tiles import tiles
from npaccel._sklearn.metrics._routing import NotHere, metric, tensors, vectors

_EPS = float(np.finfo(np.float64).eps)
#: Maximum number of pairs of labels that are counted in a table.
_MOST = 1 << 24


def _meetings(labels_true: Any, labels_pred: Any) -> np.ndarray[Any, Any]:
    """Return how often each pair of labels meets."""
    one, other = vectors(labels_true, labels_pred)
    if one.is_floating_point() or other.is_floating_point():
        raise NotHere  # scikit-learn warns of continuous labels
    rows, one = torch.unique(one, return_inverse=True)
    columns, other = torch.unique(other, return_inverse=True)
    if len(rows) * len(columns) > _MOST:
        raise NotHere
    counts = torch.bincount(one * len(columns) + other, minlength=len(rows) * len(columns))
    return transfers.to_host(counts.reshape(len(rows), len(columns)))


def _entropy(counts: np.ndarray[Any, Any]) -> float:
    if counts.size == 1:
        return 0.0
    whole = counts.sum()
    return float(-np.sum(counts / whole * (np.log(counts) - math.log(whole))))


def _entropies(table: np.ndarray[Any, Any]) -> tuple[float, float]:
    return _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))


def _information(table: np.ndarray[Any, Any]) -> float:
    return float(metrics.mutual_info_score(None, None, contingency=table))


def _pairs(table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return how many pairs of rows are together in both, in one or the other, in none."""
    count = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    squares = (table**2).sum()
    found = np.empty((2, 2), dtype=np.int64)
    found[1, 1] = squares - count
    found[0, 1] = (table @ columns).sum() - squares
    found[1, 0] = (table.T @ rows).sum() - squares
    found[0, 0] = count**2 - found[0, 1] - found[1, 0] - squares
    return found


def _numbers(labels_true: Any, labels_pred: Any) -> tuple[int, int, int, int]:
    (tn, fp), (fn, tp) = _pairs(_meetings(labels_true, labels_pred)).tolist()
    return tn, fp, fn, tp


@metric("metrics.pair_confusion_matrix")
def pair_confusion_matrix(labels_true: Any, labels_pred: Any) -> Any:
    found = _pairs(_meetings(labels_true, labels_pred))
    return torch.from_numpy(found).to(tensors(labels_true, labels_pred)[0].device)


@metric("metrics.rand_score")
def rand_score(labels_true: Any, labels_pred: Any) -> float:
    tn, fp, fn, tp = _numbers(labels_true, labels_pred)
    whole = tn + fp + fn + tp
    return 1.0 if whole == tn + tp else (tn + tp) / whole


@metric("metrics.adjusted_rand_score")
def adjusted_rand_score(labels_true: Any, labels_pred: Any) -> float:
    tn, fp, fn, tp = _numbers(labels_true, labels_pred)
    if fn == 0 and fp == 0:
        return 1.0
    return 2.0 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


@metric("metrics.fowlkes_mallows_score")
def fowlkes_mallows_score(labels_true: Any, labels_pred: Any) -> float:
    table = _meetings(labels_true, labels_pred)
    count = int(table.sum())
    both = int((table**2).sum()) - count
    one = int((table.sum(axis=0) ** 2).sum()) - count
    other = int((table.sum(axis=1) ** 2).sum()) - count
    return math.sqrt(both / one) * math.sqrt(both / other) if both else 0.0


@metric("metrics.mutual_info_score")
def mutual_info_score(labels_true: Any, labels_pred: Any, *, contingency: Any = None) -> float:
    if contingency is not None:
        raise NotHere
    return _information(_meetings(labels_true, labels_pred))


@metric("metrics.homogeneity_completeness_v_measure")
def homogeneity_completeness_v_measure(
    labels_true: Any, labels_pred: Any, *, beta: Any = 1.0
) -> tuple[float, float, float]:
    if isinstance(beta, bool) or not isinstance(beta, float | int) or beta < 0:
        raise NotHere
    table = _meetings(labels_true, labels_pred)
    classes, clusters = _entropies(table)
    shared = _information(table)
    homogeneity = shared / classes if classes else 1.0
    completeness = shared / clusters if clusters else 1.0
    if homogeneity + completeness == 0.0:
        return homogeneity, completeness, 0.0
    measure = (1 + beta) * homogeneity * completeness / (beta * homogeneity + completeness)
    return homogeneity, completeness, measure


@metric("metrics.homogeneity_score")
def homogeneity_score(labels_true: Any, labels_pred: Any) -> float:
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[0]


@metric("metrics.completeness_score")
def completeness_score(labels_true: Any, labels_pred: Any) -> float:
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[1]


@metric("metrics.v_measure_score")
def v_measure_score(labels_true: Any, labels_pred: Any, *, beta: float = 1.0) -> float:
    return homogeneity_completeness_v_measure(labels_true, labels_pred, beta=beta)[2]


_AVERAGES: dict[str, Callable[[float, float], float]] = {
    "min": min,
    "max": max,
    "geometric": lambda a, b: math.sqrt(a * b),
    "arithmetic": lambda a, b: (a + b) / 2,
}


def _average(method: Any, table: np.ndarray[Any, Any]) -> float:
    if method not in _AVERAGES:
        raise NotHere
    return float(_AVERAGES[method](*_entropies(table)))


@metric("metrics.normalized_mutual_info_score")
def normalized_mutual_info_score(
    labels_true: Any, labels_pred: Any, *, average_method: str = "arithmetic"
) -> float:
    table = _meetings(labels_true, labels_pred)
    size = _average(average_method, table)
    if table.shape == (1, 1):
        return 1.0
    shared = _information(table)
    return shared / size if shared else 0.0


@metric("metrics.adjusted_mutual_info_score")
def adjusted_mutual_info_score(
    labels_true: Any, labels_pred: Any, *, average_method: str = "arithmetic"
) -> float:
    from scipy import sparse
    from sklearn.metrics.cluster import expected_mutual_information

    table = _meetings(labels_true, labels_pred)
    size = _average(average_method, table)
    if 1 in table.shape:
        return 1.0 if table.shape == (1, 1) else 0.0
    expected = expected_mutual_information(sparse.csr_matrix(table), int(table.sum()))
    above, below = _information(table) - expected, size - expected
    # Never 0 / 0, where the expected value is the largest that there can be.
    above, below = (min(x, -_EPS) if x < 0 else max(x, _EPS) for x in (above, below))
    return float(above / below)


# -- Silhouettes ----------------------------------------------------------------------------------


@metric("metrics.silhouette_samples", refused="other metrics than those of `pairwise_distances`")
def silhouette_samples(X: Any, labels: Any, *, metric: Any = "euclidean", **kwds: Any) -> Any:
    from npaccel._sklearn.metrics.distances import table_of

    if metric == "precomputed" or kwds:
        raise NotHere
    X, labels = tensors(X, labels)
    if X.ndim != 2 or labels.ndim != 1 or len(labels) != len(X):
        raise NotHere
    kinds, labels = torch.unique(labels, return_inverse=True)
    if not 1 < len(kinds) < len(X):
        raise NotHere
    if not X.is_floating_point() or metric not in ("euclidean", "l2", "cosine"):
        X = X.double()
    sizes = torch.bincount(labels, minlength=len(kinds)).double()
    members = torch.nn.functional.one_hot(labels, len(kinds)).to(X.dtype)
    within, nearest = [], []
    distance = table_of(metric, X)
    for rows in tiles(X, len(X)):
        sums = (distance(X[rows], X).to(X.dtype) @ members).double()
        own = labels[rows, None]
        within.append(torch.gather(sums, 1, own)[:, 0])
        means = (sums / sizes).scatter_(1, own, torch.inf)
        nearest.append(means.amin(dim=1))
    inside, outside = torch.cat(within) / (sizes[labels] - 1), torch.cat(nearest)
    found = (outside - inside) / torch.maximum(inside, outside)
    # Of a cluster of one row it is 0.
    return torch.nan_to_num(found).to(X.dtype)


@metric("metrics.silhouette_score", refused="other metrics than those of `pairwise_distances`")
def silhouette_score(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_size: Any = None,
    random_state: Any = None,
    **kwds: Any,
) -> float:
    if sample_size is not None:
        X, labels = tensors(X, labels)
        if X.ndim != 2 or metric == "precomputed":
            raise NotHere
        random = check_random_state(random_state)
        which = torch.from_numpy(random.permutation(len(X))[:sample_size]).to(X.device)
        X, labels = X[which], labels[which]
    found = silhouette_samples(X, labels, metric=metric, **kwds)
    return float(transfers.number(found.double().mean()))
