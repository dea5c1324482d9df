"""`scipy.spatial.distance.cdist` and `pdist`, with every metric that has a name."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.spatial._distance import (
    METRICS,
    RowByRow,
    Table,
    as_floats,
    as_weights,
    distances,
)

_ROUNDING = "distances of float32 rows are computed in float32, where SciPy has float64"


def refused_weights(bound: dict[str, Any]) -> str:
    """Have SciPy refuse negative weights; a few numbers are read."""
    w = bound.get("w")
    if w is None:
        return ""
    w = torch.as_tensor(w)
    if w.device.type == "meta" or w.is_complex():
        return ""
    return "negative weights" if bool((w < 0).any()) else ""


def _pairs_on_cpu(bound: dict[str, Any]) -> str:
    """Leave pairs to SciPy on a CPU, but those which it computes in Python or in many steps."""
    refused = refused_weights(bound)
    slow = bound["metric"] in ("mahalanobis", "mahal", "mah")
    slow = slow or (bound["w"] is not None and bound["metric"] in ("cosine", "correlation"))
    if refused or slow or not free_for_scipy(bound):
        return refused
    return "a CPU is as fast with one row after the other as with a table"


def _metric(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("the metric has a name, or is SciPy's business")
    return METRICS[name.lower()]


def _check_rows(*sets: Any) -> None:
    if any(x.ndim != 2 or x.dtype.kind == "c" for x in sets):
        raise ValueError("a set of rows has two dimensions, and real numbers")
    if sets[0].shape[1] != sets[-1].shape[1]:
        raise ValueError("rows of different lengths")


def _variances(X: Any) -> Any:
    return np.var(X, axis=0, ddof=1)


def _inverse_covariance(X: Any) -> Any:
    rows, features = X.shape
    if rows <= features:
        raise ValueError("fewer rows than features: their covariance has no inverse")
    centred = X - np.mean(X, axis=0)
    return np.linalg.inv(centred.T @ centred / (rows - 1)).T


def _spread(X: Any, metric: str, V: Any, VI: Any) -> tuple[Any, Any]:
    """Return variances or the inverse covariance, of all rows unless given."""
    if metric == "seuclidean":
        V = _variances(X) if V is None else V.astype(X.dtype)
        if V.ndim != 1 or V.shape[0] != X.shape[1]:
            raise ValueError("one variance for each feature")
    if metric == "mahalanobis":
        VI = _inverse_covariance(X) if VI is None else VI.astype(X.dtype)
        if VI.shape != (X.shape[1], X.shape[1]):
            raise ValueError("a square matrix for the features")
    return V, VI


@in_numpy(
    "spatial.distance.cdist",
    arrays=("XA", "XB", "w", "V", "VI"),
    host_reason=refused_weights,
    tolerance=1024,
    note=_ROUNDING,
)
def cdist(
    XA: Any,
    XB: Any,
    metric: Any = "euclidean",
    *,
    out: Any = None,
    p: Any = None,
    w: Any = None,
    V: Any = None,
    VI: Any = None,
) -> Any:
    """Return the distances of all rows of one set from all of another."""
    metric = _metric(metric)
    _check_rows(XA, XB)
    A, B = as_floats(XA, XB, metric=metric)
    w = as_weights(w, A.shape[1], A.dtype)
    if metric in ("seuclidean", "mahalanobis"):
        V, VI = _spread(np.concatenate([A, B]), metric, V, VI)
    return distances(Table(A.shape[1]), A, B, metric, w, p, V, VI)


@in_numpy(
    "spatial.distance.pdist",
    arrays=("X", "w", "V", "VI"),
    host_reason=_pairs_on_cpu,
    tolerance=1024,
    note=_ROUNDING,
)
def pdist(
    X: Any,
    metric: Any = "euclidean",
    *,
    out: Any = None,
    p: Any = None,
    w: Any = None,
    V: Any = None,
    VI: Any = None,
) -> Any:
    """Return the distances of all pairs of rows."""
    metric = _metric(metric)
    _check_rows(X)
    (A,) = as_floats(X, metric=metric)
    w = as_weights(w, A.shape[1], A.dtype)
    V, VI = _spread(A, metric, V, VI)
    # Of these alone: a row's distance from itself has no derivative.
    first, second = np.triu_indices(A.shape[0], 1)
    pairs = RowByRow(A.shape[1])
    return distances(pairs, A[first], A[second], metric, w, p, V, VI)
