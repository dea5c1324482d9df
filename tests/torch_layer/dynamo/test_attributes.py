"""Attributes of arrays that leave a frame or a graph: `dtype`, `strides`, `flat`."""

import numpy as np
import pytest
from comparing import assert_same, check, quiet

import npaccel

X = np.arange(6.0)
M = np.arange(12.0).reshape(3, 4)


def in_numpy(function, x):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        try:
            wanted = function(x)
        except (AttributeError, TypeError) as error:
            with pytest.raises(type(error)):
                quiet(jitted, x)
        else:
            assert_same(quiet(jitted, x), wanted)


def test_dtypes_are_results():
    for x in (X, M.astype("f"), np.arange(3)):
        check(lambda x: (x.dtype, x.sum().dtype, np.result_type(x, "f"), x + 1), x)
        check(lambda x: {"kind": x.dtype.kind, "dtype": x.dtype}, x)


def test_strides_of_views_and_new_arrays():
    check(lambda x: (x.strides, x.T.strides, x[1:].strides, x[::2].strides, x + 1), M)
    check(lambda x: ((x + 1).strides, np.zeros((3, 2)).strides, x + 1), M)


STRIDES = [
    lambda x: x[::-1].strides,
    lambda x: np.flipud(x).strides,
    lambda x: x[None].strides,
    lambda x: np.sort(x.T).strides,
    lambda x: (x.T + 1).strides,
]


@pytest.mark.parametrize("number", range(len(STRIDES)))
def test_strides_that_may_differ_are_numpys(number):
    in_numpy(lambda x: (STRIDES[number](x), x + 1), M)


def over_a_break(x):
    values = (x * 2).flat
    print(end="")
    return next(values) + next(values), values.index


ITERATORS = [
    lambda x: next(x.flat) + 1,
    lambda x: next((x.T * 2).flat),
    over_a_break,
    lambda x: type(x.flat).__name__,
    lambda x: isinstance(x.flat, np.ndarray),
    lambda x: x.flat.shape,
    lambda x: x.flat.coords,
]


@pytest.mark.parametrize("number", range(len(ITERATORS)))
def test_flat_is_an_iterator(number):
    in_numpy(ITERATORS[number], M)


ROWS = [
    np.array([[np.nan, 1], [0, 2], [np.nan, 1], [0, 1], [np.nan, 0], [0, 2]]),
    np.random.default_rng(0).choice([0.0, 1, np.nan, -0.0], size=(12, 2)),
    np.array([1, np.inf, np.nan, 0, np.inf, np.nan]),
    np.zeros((0, 2)),
    np.zeros((2, 0)),
    np.array([[1, 2], [0, 5], [1, 2]], np.uint64),
    np.array([[True, False], [False, True], [True, False]]),
]


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_distinct_rows(number):
    for axis in range(ROWS[number].ndim):
        check(lambda x, axis=axis: np.unique(x, axis=axis, equal_nan=False), ROWS[number])
        check(
            lambda x, axis=axis: np.unique(
                x, axis=axis, return_index=True, return_inverse=True, return_counts=True
            ),
            ROWS[number],
        )
