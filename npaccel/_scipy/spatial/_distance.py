"""Distances between rows, in NumPy: sums over features that can be fused with what reads them.

Up to `UNROLLED` features are summed one by one, so that a distance is an elementwise function of
two row numbers: a compiler then reduces it without ever storing the table of distances. With more,
the sum is a reduction of its own, over differences that aren't stored either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Maximum number of features that are summed one by one.
UNROLLED = 32

#: SciPy's names of the metrics.
_ALIASES = {
    "braycurtis": "braycurtis",
    "canberra": "canberra",
    "chebyshev": "chebychev chebyshev cheby cheb ch",
    "cityblock": "cityblock cblock cb c",
    "correlation": "correlation co",
    "cosine": "cosine cos",
    "dice": "dice",
    "euclidean": "euclidean euclid eu e",
    "hamming": "matching hamming hamm ha h",
    "jaccard": "jaccard jacc ja j",
    "jensenshannon": "jensenshannon js",
    "mahalanobis": "mahalanobis mahal mah",
    "minkowski": "minkowski mi m pnorm",
    "rogerstanimoto": "rogerstanimoto",
    "russellrao": "russellrao",
    "seuclidean": "seuclidean se s",
    "sokalsneath": "sokalsneath",
    "sqeuclidean": "sqeuclidean sqe sqeuclid",
    "yule": "yule",
}
METRICS = {name: metric for metric, names in _ALIASES.items() for name in names.split()}
_OF_BOOLEANS = ("jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")

Term = Callable[[Any, Any], Any]


def stored(x: Any) -> Any:
    """Return x as what a compiler stores: Inductor computes a plain copy again at each use.

    On a CPU it does so element by element where strides differ, or where indices are looked up.
    What is joined of parts has a place in memory.
    """
    return np.concatenate([x[:1], x[1:]])


class Table:
    """Every row of one set meets every row of another.

    Parameters
    ----------
    features : int
        How many columns both sets have.
    """

    def __init__(self, features: int) -> None:
        self.features = features
        self.wide = features == 0 or features > UNROLLED

    def columns(self, A: Any, B: Any) -> list[Any]:
        """Return pairs of columns that broadcast against each other, or one of all of them."""
        if self.wide:
            return [(A[:, None, :], B[None, :, :])]
        turned = stored(B.T)
        return [(A[:, k, None], turned[k][None, :]) for k in range(self.features)]

    def scalars(self, u: Any, v: Any) -> tuple[Any, Any]:
        """Return one number of each row, to broadcast."""
        return u[:, None], stored(v)[None, :]

    def products(self, A: Any, B: Any) -> Any:
        """Return the scalar products of rows."""
        if self.wide:
            return A @ B.T
        return total(self, A, B, lambda a, b: a * b)


class RowByRow(Table):
    """Each row of one set meets the row of the other with the same number."""

    def columns(self, A: Any, B: Any) -> list[Any]:
        """Return pairs of columns, or one of all of them."""
        if self.wide:
            return [(A, B)]
        return [(A[:, k], B[:, k]) for k in range(self.features)]

    def scalars(self, u: Any, v: Any) -> tuple[Any, Any]:
        """Return one number of each row."""
        return u, v

    def products(self, A: Any, B: Any) -> Any:
        """Return the scalar products of rows."""
        return total(self, A, B, lambda a, b: a * b)


def total(pairs: Any, A: Any, B: Any, term: Term, w: Any = None) -> Any:
    """Return the sum of a term over all features, each with its weight."""
    if pairs.wide:
        a, b = pairs.columns(A, B)[0]
        parts = term(a, b)
        return np.sum(parts if w is None else parts * w, axis=-1)
    found = None
    for k, (a, b) in enumerate(pairs.columns(A, B)):
        part = term(a, b) if w is None else term(a, b) * w[k]
        found = part if found is None else found + part
    return found


def _largest(pairs: Any, A: Any, B: Any, w: Any) -> Any:
    """Return the largest difference of those features whose weight isn't zero; NaNs don't count."""
    if pairs.wide:
        a, b = pairs.columns(A, B)[0]
        parts = np.abs(a - b) if w is None else np.abs(a - b) * (w > 0)
        return np.max(np.where(np.isnan(parts), 0, parts), axis=-1)
    found: Any = None
    for k, (a, b) in enumerate(pairs.columns(A, B)):
        part = np.abs(a - b) if w is None else np.abs(a - b) * (w[k] > 0)
        part = np.where(np.isnan(part), 0, part)
        found = part if found is None else np.maximum(found, part)
    return found


def difference(a: Any, b: Any) -> Any:
    """Return |a - b|."""
    return np.abs(a - b)


def squared(a: Any, b: Any) -> Any:
    """Return (a - b)**2."""
    return (a - b) * (a - b)


def _minkowski(pairs: Any, A: Any, B: Any, w: Any, p: Any) -> Any:
    if p == 1:
        return total(pairs, A, B, difference, w)
    if p == 2:
        return np.sqrt(total(pairs, A, B, squared, w))
    if p == np.inf:
        return _largest(pairs, A, B, w)
    return total(pairs, A, B, lambda a, b: np.abs(a - b) ** p, w) ** (1 / p)


def canberra_term(a: Any, b: Any) -> Any:
    """Return |a - b| / (|a| + |b|), 0 where both are 0."""
    size = np.abs(a) + np.abs(b)
    return np.where(size == 0, 0, np.abs(a - b) / np.where(size == 0, 1, size))


def _braycurtis(pairs: Any, A: Any, B: Any, w: Any) -> Any:
    above = total(pairs, A, B, difference, w)
    return above / total(pairs, A, B, lambda a, b: np.abs(a + b), w)


def _unequal(a: Any, b: Any) -> Any:
    return (a != b).astype(a.dtype)


def _hamming(pairs: Any, A: Any, B: Any, w: Any) -> Any:
    whole = A.shape[1] if w is None else np.sum(w)
    return total(pairs, A, B, _unequal, w) / whole


def _cosine(pairs: Any, A: Any, B: Any, w: Any) -> Any:
    weighted = A if w is None else A * w
    left, right = np.sum(weighted * A, axis=1), np.sum(B * B if w is None else B * B * w, axis=1)
    u, v = pairs.scalars(1 / np.sqrt(left), 1 / np.sqrt(right))
    return 1 - np.clip(pairs.products(weighted, B) * u * v, -1, 1)


def _correlation(pairs: Any, A: Any, B: Any, w: Any) -> Any:
    if w is None:
        return _cosine(
            pairs,
            A - np.mean(A, axis=1, keepdims=True),
            B - np.mean(B, axis=1, keepdims=True),
            None,
        )
    w = w / np.sum(w)
    return _cosine(
        pairs,
        A - np.sum(A * w, axis=1, keepdims=True),
        B - np.sum(B * w, axis=1, keepdims=True),
        w,
    )


def relative_entropy(x: Any, y: Any) -> Any:
    """Return x log(x / y), 0 at x = 0, infinite for negative numbers."""
    both = (x > 0) & (y > 0)
    inner = x * np.log(np.where(both, x, 1) / np.where(both, y, 1))
    found = np.where(both, inner, np.where((x == 0) & (y >= 0), 0, np.inf))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, found)


def _entropies(a: Any, b: Any) -> Any:
    mean = (a + b) / 2
    return relative_entropy(a, mean) + relative_entropy(b, mean)


def _shares(A: Any) -> Any:
    """Return each row's part in its sum; where that's zero, what has an infinite entropy."""
    whole = np.sum(A, axis=1, keepdims=True)
    return np.where(whole == 0, -1, A / np.where(whole == 0, 1, whole))


def _jensenshannon(pairs: Any, A: Any, B: Any) -> Any:
    return np.sqrt(total(pairs, _shares(A), _shares(B), _entropies) / 2)


def _mahalanobis(pairs: Any, A: Any, B: Any, VI: Any) -> Any:
    """Root of d' VI d: of differences of the rows and of their products with VI.

    A common shift, which changes no difference, keeps the products small.
    """
    middle = np.mean(A, axis=0)
    A, B = A - middle, B - middle
    both = zip(pairs.columns(A, B), pairs.columns(A @ VI, B @ VI), strict=True)
    found: Any = None
    for (a, b), (c, d) in both:
        part = (a - b) * (c - d)
        if pairs.wide:
            return np.sqrt(np.sum(part, axis=-1))
        found = part if found is None else found + part
    return np.sqrt(found)


def _counts(pairs: Any, A: Any, B: Any, w: Any) -> tuple[Any, Any, Any, Any]:
    """Return how many features both rows have, only the first, only the second, and neither."""
    if w is None:  # Whole numbers, whose differences are exact.
        both = pairs.products(A, B)
        left, right = pairs.scalars(np.sum(A, axis=1), np.sum(B, axis=1))
        return both, left - both, right - both, A.shape[1] - left - right + both
    return (
        total(pairs, A, B, lambda a, b: a * b, w),
        total(pairs, A, B, lambda a, b: a * (1 - b), w),
        total(pairs, A, B, lambda a, b: (1 - a) * b, w),
        total(pairs, A, B, lambda a, b: (1 - a) * (1 - b), w),
    )


def _dice(pairs: Any, A: Any, B: Any, w: Any) -> Any:
    """Return Dice's dissimilarity; for other numbers than 0 and 1 as SciPy extends it."""
    if w is None:
        both = pairs.products(A, B)
        unlike = total(pairs, A, B, lambda a, b: a * (1 - b) + (1 - a) * b)
    else:
        both = total(pairs, A, B, lambda a, b: ((a != 0) & (b != 0)).astype(a.dtype), w)
        unlike = total(pairs, A, B, _unequal, w)
    return unlike / (2 * both + unlike)


def _of_booleans(pairs: Any, A: Any, B: Any, w: Any, metric: str) -> Any:
    """Return a dissimilarity of rows of truth values."""
    both, first, second, neither = _counts(pairs, A, B, w)
    unlike = first + second
    if metric == "jaccard":
        some = both + unlike
        return np.where(some == 0, 0, unlike / np.where(some == 0, 1, some))
    if metric == "rogerstanimoto":
        return 2 * unlike / (both + neither + 2 * unlike)
    if metric == "russellrao":
        return (unlike + neither) / (A.shape[1] if w is None else np.sum(w))
    if metric == "sokalsneath":
        return 2 * unlike / (both + 2 * unlike)
    product = first * second
    below = both * neither + product
    return np.where(product == 0, 0, 2 * product / np.where(product == 0, 1, below))


_WEIGHTED: dict[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis,
    "canberra": lambda pairs, A, B, w: total(pairs, A, B, canberra_term, w),
    "chebyshev": _largest,
    "cityblock": lambda pairs, A, B, w: total(pairs, A, B, difference, w),
    "correlation": _correlation,
    "cosine": _cosine,
    "dice": _dice,
    "euclidean": lambda pairs, A, B, w: np.sqrt(total(pairs, A, B, squared, w)),
    "hamming": _hamming,
    "sqeuclidean": lambda pairs, A, B, w: total(pairs, A, B, squared, w),
}


def distances(pairs: Any, A: Any, B: Any, metric: str, w: Any, p: Any, V: Any, VI: Any) -> Any:
    """Return the distances of rows that meet.

    Raises
    ------
    TypeError
        For parameters that a metric doesn't have.
    """
    _check_parameters(metric, w, p, V, VI)
    if metric == "minkowski":
        return _minkowski(pairs, A, B, w, 2 if p is None else p)
    if metric == "seuclidean":
        return np.sqrt(total(pairs, A, B, squared, 1 / V))
    if metric == "mahalanobis":
        return _mahalanobis(pairs, A, B, VI)
    if metric == "jensenshannon":
        return _jensenshannon(pairs, A, B)
    if metric in _OF_BOOLEANS:
        return _of_booleans(pairs, A, B, w, metric)
    return _WEIGHTED[metric](pairs, A, B, w)


def _check_parameters(metric: str, w: Any, p: Any, V: Any, VI: Any) -> None:
    known = {"minkowski": "wp", "seuclidean": "V", "mahalanobis": "I", "jensenshannon": ""}
    given = [("w", w), ("p", p), ("V", V), ("I", VI)]
    allowed = known.get(metric, "w")
    if any(value is not None and name not in allowed for name, value in given):
        raise TypeError(f"a parameter that {metric} doesn't have")
    if p is not None and p <= 0:
        raise ValueError("p must be greater than 0")


def as_floats(*arrays: Any, metric: str = "") -> Any:
    """Return rows in the precision that distances are computed in; truth values as 0 and 1."""
    if metric in _OF_BOOLEANS:
        arrays = tuple(x != 0 for x in arrays)
    dtype = np.float32 if all(x.dtype == np.float32 for x in arrays) else np.float64
    return tuple(x.astype(dtype) for x in arrays)


def as_weights(w: Any, features: int, dtype: Any) -> Any:
    """Return weights in the precision of the rows; NaN where SciPy refuses negative ones."""
    if w is None:
        return None
    if w.ndim != 1 or w.shape[0] != features:
        raise ValueError("Weights must have same size as input vector.")
    w = w.astype(dtype)
    return np.where(np.any(w < 0), np.nan, w)
