"""Loops over all indices or elements of an array, which become loops over ranges."""

import numpy as np
import pytest

import npaccel


def over_shape(m):
    total = 0.0
    for i, j in np.ndindex(m.shape):
        if m[i, j] < -1:
            continue
        total += m[i, j] * (i + 2 * j)
    return total


def over_sizes(m):
    n, k = len(m), m.shape[1]
    out = np.zeros((n, k))
    for i, j in np.ndindex(n, k):
        out[i, j] = 1.0 / (i + j + 1) + m[i, j]
    return out


def over_made(m):
    out = np.ones_like(m)
    for i, j in np.ndindex(*out.shape):
        for k in range(i):
            out[i, j] += k * m[i, j]
    return out


def enumerated(m):
    out = np.empty(m.shape)
    for (i, j), v in np.ndenumerate(m):
        out[i, j] = v * (i - j) if v > 0 else 0.0
    return out


def flat(m):
    total = 0.0
    for i, v in enumerate(m.flat):
        total += v * i
    for v, w in zip(m.flat, m.flat, strict=True):
        total += v * w
    return total


FUNCTIONS = [over_shape, over_sizes, over_made, enumerated, flat]
M = np.linspace(-2, 2, 60).reshape(10, 6)
ARRAYS = {
    "rows": M,
    "columns": np.asfortranarray(M),
    "strided": M[::-1, ::2],
    "empty": np.zeros((0, 3)),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_that_they_are_compiled(function):
    jitted = npaccel.jit(function, default_float="float64", strict=True)
    for m in ARRAYS.values():
        np.testing.assert_allclose(jitted(m), function(m))
    assert "Numba" in str(jitted.report())


def left(m):
    for i, j in np.ndindex(m.shape):
        if m[i, j] > 1:
            break
    return i, j, m[i, j]


def named_behind(m):
    i = j = -1
    for i, j in np.ndindex(m.shape):
        m[i, j] += i
    return i, j


def written_while_flat(m):
    for i, v in enumerate(m.flat):
        m[(i + 1) % 3, 0] += v
    return m


def of_a_list(m):
    rows, total = [[1.0, 2.0], [3.0, 4.0]], 0.0
    for (i, j), v in np.ndenumerate(rows):
        total += v * i * j
    return total + m[0, 0]


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("function", [left, named_behind, written_while_flat, of_a_list])
def test_that_others_stay_what_they_are(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    wanted, got = function(M.copy()), jitted(M.copy())
    np.testing.assert_allclose(np.hstack([got]), np.hstack([wanted]))


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (0,), (2, 0, 2)])
def test_that_another_number_of_axes_does_as_in_numpy(shape):
    def outcome(function):
        try:
            return function(np.ones(shape))
        except ValueError as error:
            return str(error)

    assert outcome(npaccel.jit(over_shape, default_float="float64")) == outcome(over_shape)


def test_that_negative_sizes_raise():
    @npaccel.jit(default_float="float64")
    def function(n, k):
        total = 0.0
        for i, j in np.ndindex(n, k):
            total += i * j
        return total

    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        function(2, -1)
