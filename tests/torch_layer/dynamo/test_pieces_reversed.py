"""Reversed views that cross a graph break: no write to them is lost."""

import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel import errors

X = np.array([0.0, 1, 2, 3, 0])


def made_by_a_piece(a):
    b = np.real_if_close(a)
    b = b[::-1]
    text = np.array2string(a[:1])
    b += 1
    b[0] = 9
    return b * 2, text


def made_by_numpy(a):
    b = np.real_if_close(a[::-1])
    c = b + 1
    text = np.array2string(a[:1])
    b[1:3] = c[:2]
    return c * 2, text


def read_through_the_view(a):
    b = np.flip(a)
    text = np.array2string(a[:1])
    a[0] = 5
    return b + 1, text


def of_something_new(a):
    b = (a * 2)[::-1]
    text = np.array2string(a[:1])
    b += 1
    return b, text


FUNCTIONS = [made_by_a_piece, made_by_numpy, read_through_the_view, of_something_new]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_write_is_lost(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        mine, theirs = X.copy(), X.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            got = jitted(mine)
        assert_same(got, function(theirs))
        assert_same(mine, theirs)


def test_a_view_of_something_new_stays_compiled():
    jitted = npaccel.jit(of_something_new, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning, match="array2string"):
        jitted(X.copy())
    assert len(jitted.report().graphs) == 2


def masked(b):
    b[b > 1] += 0.25


WRITES = [
    masked,
    lambda b: b.__setitem__(b > 1, b[b > 1] * 2),
    lambda b: b.__setitem__(b > 1, 7),
    lambda b: b.__setitem__([0, 2], 7),
    lambda b: b.__setitem__(slice(1, None), b[:-1].copy()),
    lambda b: b[1:].__iadd__(2),
    lambda b: b.fill(3),
    lambda b: b.sort(),
    lambda b: b.partition(2),
    lambda b: b.put([1, 2], 8),
    lambda b: np.add.at(b, [0, 0, 1], 1),
    lambda b: np.copyto(b, 5, where=b > 1),
    lambda b: np.place(b, b > 1, [4, 5]),
    lambda b: np.putmask(b, b > 1, [4, 5]),
    lambda b: np.add(b, 1, out=b),
    lambda b: np.cumsum(b, out=b),
    lambda b: np.clip(b, 1, 2, out=b[:]),
    lambda b: np.put_along_axis(b, np.array([3]), 6, 0),
    lambda b: np.multiply(b, 2, out=b, where=b > 1),
    lambda b: b.flat.__setitem__(1, 9),
    lambda b: np.nan_to_num(b, copy=False, nan=1),
    lambda b: np.exp(b[1:], out=b[1:]),
    lambda b: b.real.__setitem__(0, 4),
    lambda b: b.reshape(5, 1).__setitem__(2, 4),
]


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(len(WRITES)))
def test_no_write_to_a_reversed_argument_is_lost(number):
    def function(b):
        total = b.sum() + 1
        WRITES[number](b)
        return total, b.tolist(), b * 2

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for view in (slice(None, None, -1), slice(None), slice(None, None, -1)):
        mine, theirs = X.copy(), X.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            got = jitted(mine[view])
        assert_same(got, function(theirs[view]))
        assert_same(mine, theirs)
