"""Functions that call a function of the user: it's traced with the rest."""

import numpy as np
import pytest
from comparing import check

import npaccel

X = np.arange(6.0)
M = X.reshape(2, 3)
C = np.arange(24.0).reshape(2, 3, 4)

PIECEWISE = [
    lambda a: np.piecewise(a, [a < 2, a >= 4], [lambda v: v * 2, lambda v: v - 1, 9.0]),
    lambda a: np.piecewise(a, [a < 2, a >= 4], [np.sin, 3]),
    lambda a: np.piecewise(a, [a < 2], [lambda v, k: v * k, lambda v, k: v - k], 3),
    lambda a: np.piecewise(a, [a < 2], [lambda v, k=1: v * k, 0], k=4),
    lambda a: np.piecewise(a, a < 2, [1, 2]),
    lambda a: np.piecewise(a.astype(int), [a > 2], [lambda v: v / 2]),
    lambda a: np.piecewise(a, [a > 100], [lambda v: v + 1, 5]),
    lambda a: np.piecewise(a.reshape(2, 3), [a.reshape(2, 3) > 2], [np.negative, np.cos]),
]


@pytest.mark.parametrize("number", range(len(PIECEWISE)))
def test_piecewise(number):
    check(PIECEWISE[number], X)


ALONG = [
    lambda a: np.apply_along_axis(lambda v: v.max() - v.min(), 0, a),
    lambda a: np.apply_along_axis(lambda v: v.max() - v.min(), -1, a),
    lambda a: np.apply_along_axis(lambda v, k, *, j: v[::-1] * k + j, 1, a, 2, j=1),
    lambda a: np.apply_along_axis(lambda v: np.outer(v, v), 0, a),
    lambda a: np.apply_along_axis(np.diff, 1, a),
    lambda a: np.apply_along_axis(lambda v: 1, 0, a),
    lambda a: np.apply_along_axis(np.median, 1, a) + np.apply_along_axis(np.sum, 1, a),
    lambda a: np.apply_along_axis(np.sort, 0, a),
    lambda a: np.apply_along_axis(np.sum, 0, a.ravel()),
    lambda a: np.apply_along_axis(np.mean, 0, a, dtype="f"),
]


@pytest.mark.parametrize("number", range(len(ALONG)))
def test_apply_along_axis(number):
    check(ALONG[number], M, calls=1)
    if number < 4:
        check(ALONG[number], C, calls=1)


def test_mask_indices():
    check(lambda a: a[np.mask_indices(2, np.tril, -1)], M)
    check(lambda a: np.mask_indices(3, np.triu)[0] + 1, M)
    check(lambda a: np.mask_indices(3, lambda m, k: m * k, 2), M)


def test_an_array_without_slices_raises():
    jitted = npaccel.jit(lambda a: np.apply_along_axis(lambda v: v, 0, a), backend="eager")
    with pytest.raises(ValueError, match="Cannot apply_along_axis"):
        jitted(np.ones((3, 0)))
    jitted = npaccel.jit(lambda a: np.apply_along_axis(lambda v: v, 2, a), backend="eager")
    with pytest.raises(np.exceptions.AxisError):  # Enough is said by the user's own error.
        jitted(M)
