"""Truth values as results: there are two NumPy bools only, so equal results are one object."""

import itertools

import numpy as np
import pytest

import npaccel


def two(a, p, q):
    return (a > 0).all(), (a > 0).any()


def arguments_between(a, p, q):
    return p, q, (a > 0).all(), p


def nested(a, p, q):
    return {"x": p, "y": [q, (a < 0).any(), (a > 0).any()]}, p & q


def no_arrays(a, p, q):
    return q, p, a + 1


@pytest.mark.parametrize("function", [two, arguments_between, nested, no_arrays])
def test_each_result_is_its_own(function, backend):
    jitted = npaccel.jit(function, backend=backend)
    arrays = (np.ones(3), -np.ones(3), np.array([1.0, -1.0, 1.0]))
    bools = (np.True_, np.False_)
    for a, p, q in itertools.product(arrays, bools, bools):
        assert repr(jitted(a, p, q)) == repr(function(a, p, q))
    assert not jitted.report().fallbacks


def extremes(a):
    same, close = np.array_equal(a, a), np.allclose(a, a + 1)
    highest = max(same, close)
    return highest, min(close, True), max([close, close]), min(same, same), highest + same


def test_extremes_of_pythons_bools_are_such_bools(backend):
    jitted = npaccel.jit(extremes, backend=backend)
    for a in (np.arange(3.0), np.array([]), np.array([np.inf])):
        for _ in range(2):
            assert repr(jitted(a)) == repr(extremes(a))
    assert not jitted.report().fallbacks


def test_extremes_of_a_python_bool_and_another_are_numpys():
    jitted = npaccel.jit(lambda a: max(np.allclose(a, a), a.max() > 3), backend="eager")
    with pytest.warns(npaccel.errors.PerformanceWarning, match="its type varies"):
        assert jitted(np.arange(3.0)) is True


def stored_count(c):
    count = int((c > 0).sum())
    found = np.isfinite(c)
    found[None] = count
    return np.append(found, count)


def stored_sum(c):
    found = np.zeros(c.size, bool)
    found[1:] = float(c.sum())
    return found * 3


def filled(c):
    count = int((c > 0).sum())
    return np.full(3, count, dtype=bool) * 2, np.full(3, count, dtype=np.float32) / 3


@pytest.mark.parametrize("function", [stored_count, stored_sum, filled])
def test_numbers_of_the_data_become_true_or_false(function):
    """Compiled code went on with the number itself."""
    jitted = npaccel.jit(function, default_float="float64", cache=False)
    values = np.array([1.3, 2.2, -0.5, 3.3, 0.2])
    for given in (values, values[:4].copy(), np.zeros(3)):
        np.testing.assert_equal(jitted(given), function(given))
