"""Distances of two vectors in `scipy.spatial.distance`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.linalg._common import not_finite
from npaccel._scipy.spatial._distance import canberra_term, relative_entropy
from npaccel._scipy.spatial.tables import refused_weights

_PAIR = ("u", "v", "w")


def _declared(name: str, finite: bool = False) -> Callable[[Any], Any]:
    host_reason = _refused if finite else refused_weights
    return in_numpy(f"spatial.distance.{name}", arrays=_PAIR, host_reason=host_reason)


def _refused(bound: dict[str, Any]) -> str:
    return refused_weights(bound) or not_finite(bound["u"], bound["v"])


def _check(*vectors: Any) -> None:
    if any(x is not None and x.ndim != 1 for x in vectors):
        raise ValueError("Input vector should be 1-D.")
    sizes = {x.shape[0] for x in vectors if x is not None}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError("vectors of different sizes, or without elements")


def _weights(w: Any) -> Any:
    """Return weights as floats, NaN where SciPy refuses negative ones."""
    return np.where(np.any(w < 0), np.nan, w.astype(np.float64) if w.dtype.kind != "f" else w)


def _summed(terms: Any, w: Any) -> Any:
    return np.sum(terms if w is None else _weights(w) * terms)


def _difference(u: Any, v: Any) -> Any:
    if u.dtype.kind == "b" and v.dtype.kind == "b":
        raise TypeError("NumPy doesn't subtract truth values")
    return u - v


def _floats(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _norm(u: Any, v: Any, p: Any, w: Any) -> Any:
    """Return the weighted norm of a difference."""
    _check(u, v, w)
    terms = np.abs(_floats(_difference(u, v)))
    if p == np.inf:
        return np.max(terms if w is None else (_weights(w) != 0) * terms)
    if p == 1:
        return _summed(terms, w)
    if p == 2:
        return np.sqrt(_summed(terms * terms, w))
    return _summed(terms**p, w) ** (1 / p)


@_declared("minkowski", finite=True)
def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Return the p-norm of a difference."""
    if p <= 0:
        raise ValueError("p must be greater than 0")
    return _norm(u, v, p, w)


@_declared("euclidean", finite=True)
def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return the 2-norm of a difference."""
    return _norm(u, v, 2, w)


@_declared("sqeuclidean")
def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return the square of the 2-norm of a difference."""
    _check(u, v, w)
    d = _floats(u) - _floats(v)
    return _summed(d * d, w)


@_declared("cityblock")
def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    """Return the 1-norm of a difference."""
    _check(u, v, w)
    return _summed(np.abs(_difference(u, v)), w)


@_declared("chebyshev")
def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    """Return the largest difference."""
    _check(u, v, w)
    terms = np.abs(_difference(u, v))
    terms = terms if w is None else (_weights(w) > 0) * terms
    if terms.dtype.kind != "f":
        return np.max(terms)
    # Python's `max` passes over NaNs, but for the first.
    return np.where(np.isnan(terms[0]), terms[0], np.max(np.where(np.isnan(terms), 0, terms)))[()]


@_declared("braycurtis")
def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    """Return the sum of differences as a part of that of sums."""
    _check(u, v, w)
    v = _floats(v)
    return _summed(np.abs(u - v), w) / _summed(np.abs(u + v), w)


@_declared("canberra")
def canberra(u: Any, v: Any, w: Any = None) -> Any:
    """Return the sum of relative differences; NaNs count as 0."""
    _check(u, v, w)
    terms = canberra_term(_floats(u), _floats(v))
    terms = terms if w is None else _weights(w) * terms
    return np.nansum(terms)


def _correlation(u: Any, v: Any, w: Any, centered: bool) -> Any:
    _check(u, v, w)
    if u.dtype.kind == "c" or v.dtype.kind == "c":
        raise TypeError("`u` and `v` must be real.")
    u, v = _floats(u), _floats(v)
    w = None if w is None else _weights(w)
    w = None if w is None else w / np.sum(w)
    if centered:
        u = u - (np.mean(u) if w is None else np.sum(u * w))
        v = v - (np.mean(v) if w is None else np.sum(v * w))
    left, right = (u, v) if w is None else (u * w, v * w)
    product = np.sum(u * right)
    sizes = np.sqrt(np.sum(u * left) * np.sum(v * right))
    return np.clip(1 - product / sizes, 0, 2)


@_declared("correlation")
def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """Return 1 less the correlation."""
    return _correlation(u, v, w, centered)


@_declared("cosine")
def cosine(u: Any, v: Any, w: Any = None) -> Any:
    """Return 1 less the cosine."""
    return _correlation(u, v, w, False)


@_declared("hamming")
def hamming(u: Any, v: Any, w: Any = None) -> Any:
    """Return the part of elements that differ."""
    _check(u, v, w)
    unlike = (u != v).astype(np.float64)
    if w is None:
        return np.mean(unlike)
    w = _weights(w)
    return np.sum(unlike * (w / np.sum(w)))


@_declared("jaccard")
def jaccard(u: Any, v: Any, w: Any = None) -> Any:
    """Return the part of elements that only one has, of those that any has."""
    _check(u, v, w)
    unlike, some = (u != 0) ^ (v != 0), (u != 0) | (v != 0)
    above = _summed(unlike.astype(np.float64), w)
    below = _summed(some.astype(np.float64), w)
    return np.where(below == 0, 0, above / np.where(below == 0, 1, below))[()]


@in_numpy("spatial.distance.seuclidean", arrays=("u", "v", "V"), host_reason=_refused)
def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """Return the 2-norm of a difference in units of standard deviations."""
    return _norm(u, v, 2, 1 / _floats(V))


@in_numpy("spatial.distance.mahalanobis", arrays=("u", "v", "VI"))
def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """Return the norm of a difference that a matrix gives."""
    _check(u, v)
    if VI.ndim != 2 or VI.shape != (u.shape[0], u.shape[0]):
        raise ValueError("a square matrix for the elements")
    d = _floats(_difference(u, v))
    return np.sqrt(np.sum((d @ VI) * d))


@in_numpy("spatial.distance.jensenshannon", arrays=("p", "q"))
def jensenshannon(
    p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    """Return the root of the Jensen-Shannon divergence of two distributions."""
    p, q = _floats(p), _floats(q)
    p = p / np.sum(p, axis=axis, keepdims=True)
    q = q / np.sum(q, axis=axis, keepdims=True)
    m = (p + q) / 2
    terms = relative_entropy(p, m), relative_entropy(q, m)
    both = [np.sum(x, axis=axis, keepdims=keepdims) for x in terms]
    divergence = both[0] + both[1]
    if base is not None:
        divergence = divergence / np.log(base)
    return np.sqrt(divergence / 2)


def _counts(u: Any, v: Any, w: Any) -> tuple[Any, Any, Any, Any]:
    """Return how much both have, the first alone, the second alone, and neither."""
    _check(u, v, w)
    u, v = _floats(u), _floats(v)
    return (
        _summed(u * v, w),
        _summed(u * (1 - v), w),
        _summed((1 - u) * v, w),
        _summed((1 - u) * (1 - v), w),
    )


@_declared("yule")
def yule(u: Any, v: Any, w: Any = None) -> Any:
    """Return Yule's dissimilarity of truth values."""
    both, first, second, neither = _counts(u, v, w)
    half = first * second
    below = both * neither + half
    return np.where(half == 0, 0, 2 * half / np.where(half == 0, 1, below))[()]


@_declared("dice")
def dice(u: Any, v: Any, w: Any = None) -> Any:
    """Return Dice's dissimilarity of truth values."""
    both, first, second, _ = _counts(u, v, w)
    return (first + second) / (2 * both + first + second)


@_declared("rogerstanimoto")
def rogerstanimoto(u: Any, v: Any, w: Any = None) -> Any:
    """Return Rogers and Tanimoto's dissimilarity of truth values."""
    both, first, second, neither = _counts(u, v, w)
    return 2 * (first + second) / (both + neither + 2 * (first + second))


@_declared("russellrao")
def russellrao(u: Any, v: Any, w: Any = None) -> Any:
    """Return Russell and Rao's dissimilarity of truth values."""
    both = _counts(u, v, w)[0]
    whole = u.shape[0] if w is None else np.sum(_weights(w))
    return (whole - both) / whole


@_declared("sokalsneath")
def sokalsneath(u: Any, v: Any, w: Any = None) -> Any:
    """Return Sokal and Sneath's dissimilarity of truth values."""
    both, first, second, _ = _counts(u, v, w)
    return 2 * (first + second) / (both + 2 * (first + second))
