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
