"""Arrays without dimensions are written to, NumPy scalars never are."""

import numpy as np
import pytest
from comparing import assert_same

import npaccel


def of_a_result(a, x):
    y = a.max(initial=2)
    view = y[None]
    view[...] = -3
    return y, view


def of_an_argument(a, x):
    view = x[None]
    view += 2
    return view, x


def whole(a, x):
    y = a.sum()
    view = y[...]
    view[...] = 7
    return y, view


@pytest.mark.parametrize("function", [of_a_result, of_an_argument, whole])
def test_indexing_a_scalar_copies_it(function, backend):
    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    for _ in range(2):
        arguments = np.arange(5), np.float32(1.5)
        assert_same(jitted(*arguments), function(*arguments))


def adds(a, b):
    b += 2
    return a + 1


def powers(a, b):
    b **= 2
    return np.sort(a)


def into(a, b):
    np.add(b, 1, out=b)
    return a * 2


def only(a, b):
    b *= 3


@pytest.mark.parametrize("function", [adds, powers, into, only])
def test_arrays_without_dimensions_keep_what_is_written(function, backend):
    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    ours, theirs = np.array(-0.84), np.array(-0.84)
    for _ in range(3):
        assert_same((jitted(np.ones(4), ours),), (function(np.ones(4), theirs),))
        assert_same(ours, theirs)
