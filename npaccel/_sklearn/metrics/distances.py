"""``sklearn.metrics.pairwise_distances`` and what scikit-learn's own code computes on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npaccel._sklearn.metrics._routing import NotHere, dispatched, in_array_api, metric, tensors
from npaccel._sklearn.neighbors._nearest import cosine, minkowski, sqeuclidean

Table = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

#: Metrics of vectors that SciPy has, and npaccel's form of it on tensors.
_SCIPYS = {
    "braycurtis",
    "canberra",
    "chebyshev",
    "correlation",
    "hamming",
    "mahalanobis",
    "minkowski",
    "seuclidean",
    "sqeuclidean",
}
_BOOLEANS = {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}


def table_of(name: Any, X: torch.Tensor) -> Table:
    """Return what computes the table of distances of a metric.

    Parameters
    ----------
    name : str
    X : torch.Tensor
        All rows, for metrics that need their variances.

    Raises
    ------
    NotHere
    """
    if name in ("euclidean", "l2"):
        return lambda A, B: sqeuclidean(A, B).sqrt()
    if name == "sqeuclidean":
        return sqeuclidean
    if name in ("manhattan", "cityblock", "l1"):
        return minkowski(1.0)
    if name == "cosine":
        lengths = torch.linalg.vector_norm(X, dim=1)
        if not bool((lengths > 0).all()):
            raise NotHere
        unit = torch.nn.functional.normalize
        return lambda A, B: cosine(unit(A, dim=1), unit(B, dim=1))
    if name in ("chebyshev", "minkowski"):
        return minkowski(torch.inf if name == "chebyshev" else 2.0)
    raise NotHere


@metric(
    "metrics.pairwise_distances",
    refused="`metric` that is a function, 'nan_euclidean' and 'haversine'",
    note="distances of float32 rows are in float32 for SciPy's metrics, where scikit-learn "
    "computes in float64",
)
def pairwise_distances(
    X: Any,
    Y: Any = None,
    metric: Any = "euclidean",
    *,
    n_jobs: Any = None,
    ensure_all_finite: Any = True,
    **kwds: Any,
) -> Any:
    from sklearn.metrics import pairwise_distances as original

    from npaccel.scipy.spatial import distance

    if metric not in _SCIPYS | _BOOLEANS:
        kwds.update(metric=metric, n_jobs=n_jobs, ensure_all_finite=ensure_all_finite)
        if metric in ("nan_euclidean", "haversine") or not isinstance(metric, str):
            raise NotHere
        return in_array_api(original)(X, Y, **kwds)
    rows, others = _sets(X, Y, metric)
    if Y is not None and metric in ("seuclidean", "mahalanobis") and not kwds:
        raise NotHere  # scikit-learn wants its variances then
    if not kwds and metric == "seuclidean":
        kwds = {"V": rows.var(dim=0)}
    if not kwds and metric == "mahalanobis":
        kwds = {"VI": torch.linalg.inv(torch.cov(rows.T)).T}
    found = distance.cdist(rows, others, metric, **kwds)
    return found.fill_diagonal_(0) if Y is None else found


def _sets(X: Any, Y: Any, metric: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two sets of rows, checked."""
    rows, others = tensors(X, X if Y is None else Y)
    if rows.ndim != 2 or others.ndim != 2 or rows.shape[1] != others.shape[1] or not rows.numel():
        raise NotHere
    if metric in _BOOLEANS:
        if rows.dtype != torch.bool or others.dtype != torch.bool:
            raise NotHere  # scikit-learn warns that it converts them
        rows, others = rows.double(), others.double()
    elif not rows.is_floating_point() or rows.dtype != others.dtype:
        rows, others = rows.double(), others.double()
    return rows, others


dispatched(
    "metrics.accuracy_score metrics.average_precision_score metrics.calinski_harabasz_score "
    "metrics.confusion_matrix_at_thresholds metrics.d2_absolute_error_score "
    "metrics.d2_pinball_score metrics.d2_tweedie_score metrics.davies_bouldin_score "
    "metrics.det_curve metrics.euclidean_distances metrics.explained_variance_score "
    "metrics.f1_score metrics.fbeta_score metrics.hamming_loss metrics.jaccard_score "
    "metrics.max_error metrics.mean_absolute_error metrics.mean_absolute_percentage_error "
    "metrics.mean_gamma_deviance metrics.mean_pinball_loss metrics.mean_poisson_deviance "
    "metrics.mean_squared_error metrics.mean_squared_log_error metrics.mean_tweedie_deviance "
    "metrics.multilabel_confusion_matrix metrics.precision_recall_curve "
    "metrics.precision_recall_fscore_support metrics.precision_score metrics.r2_score "
    "metrics.recall_score metrics.root_mean_squared_error metrics.root_mean_squared_log_error "
    "metrics.zero_one_loss metrics.pairwise.additive_chi2_kernel metrics.pairwise.chi2_kernel "
    "metrics.pairwise.cosine_similarity metrics.pairwise.cosine_distances "
    "metrics.pairwise.laplacian_kernel "
    "metrics.pairwise.linear_kernel metrics.pairwise.manhattan_distances "
    "metrics.pairwise.paired_cosine_distances metrics.pairwise.paired_distances "
    "metrics.pairwise.paired_euclidean_distances metrics.pairwise.paired_manhattan_distances "
    "metrics.pairwise.polynomial_kernel metrics.pairwise.rbf_kernel "
    "metrics.pairwise.sigmoid_kernel metrics.pairwise_distances_argmin metrics.pairwise_kernels"
)
