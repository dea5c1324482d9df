"""Sorting, searching and sets against NumPy."""

import numpy as np
import pytest
import torch
from row_checks import ALL, INEXACT, REAL, check, data, implementation, same, traced, with_nan

from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.host import kernels as host
from npaccel._numpy.statistics import sets, sorting
from npaccel._numpy.ufuncs import ufuncs

MODULES = (sets, sorting, ufuncs)  # imported for their rows

SHAPES = [(0,), (1,), (7,), (3, 0), (3, 4), (2, 3, 4)]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", [np.sort, np.argsort], ids=lambda f: f.__name__)
def test_sort_and_argsort(function, dtype):
    for shape in SHAPES:
        x = data(shape, dtype)
        for axis in (-1, 0, None):
            check(function, x, axis=axis, kind="stable")
    check(function, data((5, 6), dtype)[::2, ::2].T, stable=True)
    check(function, data((3,), dtype), axis=2)


@pytest.mark.parametrize("dtype", INEXACT)
def test_nan_comes_last(dtype):
    x = with_nan((4, 30), dtype)
    if np.dtype(dtype).kind == "c":
        x.imag[:, ::4] = np.nan
    check(np.sort, x)
    check(np.argsort, x, kind="stable")
    check(np.argmax, x)
    check(np.argmin, x, axis=1)
    check(np.argmax, x, axis=0, keepdims=True)


@pytest.mark.parametrize("dtype", REAL)
def test_descending_sorts(dtype):
    x = data((4, 9), dtype)
    if sorting._DESCENDING is None:
        with pytest.raises(TypeError, match="descending"):
            implementation(np.sort)(torch.from_numpy(x), descending=True)
        return
    for array in (x, x[::2, ::2], with_nan((4, 9), dtype) if x.dtype.kind == "f" else x):
        for axis in (-1, 0, None):
            check(np.sort, array, axis=axis, descending=True)
            check(np.argsort, array, axis=axis, stable=True, descending=True)
    check(np.sort, x, descending=False)
    mine, theirs = torch.from_numpy(x.copy()), x.copy()
    implementation("numpy.ndarray.sort")(mine, 0, descending=True)
    theirs.sort(0, descending=True)
    same(mine, theirs)


def test_descending_sorts_of_complex_numbers_are_refused():
    error = TypeError if sorting._DESCENDING is None else NotImplementedError
    with pytest.raises(error, match="descending"):
        implementation(np.argsort)(torch.ones(3, dtype=torch.complex64), descending=True)


def test_wrong_sorts_raise():
    x = data((3,), "d")
    check(np.sort, x, kind="bubble")
    check(np.sort, x, kind="stable", stable=True)
    check(np.sort, x, order="name")
    check(np.sort, np.float64(3))
    check(np.partition, x, 5)
    check(np.partition, x, 1, kind="other")


@pytest.mark.parametrize("dtype", ["b", "L", "f", "D"])
def test_sort_in_place(dtype):
    x = data((4, 5), dtype)
    for axis in (-1, 0):
        mine, theirs = torch.from_numpy(x.copy()), x.copy()
        assert implementation("numpy.ndarray.sort")(mine, axis) is None
        theirs.sort(axis)
        same(mine, theirs)


@pytest.mark.parametrize("dtype", ["b", "L", "f", "D"])
def test_partition_in_place(dtype):
    x = data((4, 5), dtype)
    mine, theirs = torch.from_numpy(x.copy()), x.copy()
    assert implementation("numpy.ndarray.partition")(mine, 2) is None
    theirs.partition(2)
    same(mine[:, 2], theirs[:, 2])
    same(torch.from_numpy(np.sort(mine.numpy())), np.sort(theirs))


@pytest.mark.parametrize("dtype", REAL)
def test_partition_puts_each_kth_in_place(dtype):
    x = data((3, 9), dtype)
    for kth in (0, 4, -1, [2, 5]):
        found = implementation(np.partition)(torch.from_numpy(x), kth).numpy()
        same(torch.from_numpy(found[:, kth]), np.partition(x, kth)[:, kth])
        order = implementation(np.argpartition)(torch.from_numpy(x), kth).numpy()
        parted = np.take_along_axis(x, order, -1)
        np.testing.assert_array_equal(parted[:, kth], found[:, kth])
        np.testing.assert_array_equal(np.sort(order), np.tile(np.arange(9), (3, 1)))


@pytest.mark.parametrize("dtype", ["?", "B", "l", "f", "d"])
def test_lexsort(dtype):
    keys = data((3, 8), dtype)
    check(np.lexsort, keys)
    check(np.lexsort, (keys[0], keys[1]))
    check(np.lexsort, data((2, 3, 4), dtype), axis=0)
    check(np.lexsort, (data((3,), dtype), data((4,), dtype)))
    check(np.lexsort, ())


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(dtype, side):
    a = np.sort(data((9,), dtype))
    for v in (data((2, 5), dtype, seed=1), data((), dtype), data((0,), dtype)):
        check(np.searchsorted, a, v, side=side)
    unsorted = data((9,), dtype)
    check(np.searchsorted, unsorted, a, side=side, sorter=np.argsort(unsorted))


def test_searchsorted_between_dtypes():
    a = np.arange(5)
    check(np.searchsorted, a, 2.5)
    check(np.searchsorted, a, [1, 7], "right")
    check(np.searchsorted, a.astype("f"), np.float64(2.1))
    check(np.searchsorted, np.array([0.1], "f"), 0.1, side="right")
    with tracing(TraceSettings(default_float="float32")):
        check(np.searchsorted, np.array([2**24, 2**24 + 1]), 2.0**24, side="right")
    check(np.searchsorted, a, 2, side="middle")
    check(np.searchsorted, a.reshape(1, -1), 2)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_with_nan(side):
    a = np.array([-np.inf, 0.0, 1.0, np.inf, np.inf, np.nan, np.nan])
    check(np.searchsorted, a, np.array([np.nan, np.inf, -np.inf, 0.5, 1.0]), side=side)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", [np.argmax, np.argmin], ids=lambda f: f.__name__)
def test_positions_of_extrema(function, dtype):
    for shape in [(1,), (7,), (3, 4), (2, 3, 4), ()]:
        x = data(shape, dtype)
        for axis in (None, 0, -1):
            check(function, x, axis=axis)
            check(function, x, axis=axis, keepdims=True)
    check(function, data((5, 6), dtype)[::2, ::2])
    check(function, data((0,), dtype))
    check(function, data((0, 3), dtype), axis=1)
    check(function, data((3,), dtype), axis=1)


@pytest.mark.parametrize("dtype", ["b", "h", "i", "l", "L", "e", "f", "d", "D"])
def test_sort_complex(dtype):
    check(np.sort_complex, data((7,), dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_unique(dtype):
    for shape in [(0,), (1,), (9,), (3, 4)]:
        x = data(shape, dtype)
        check(np.unique, x)
        check(np.unique, x, return_index=True, return_inverse=True, return_counts=True)
        check(np.unique, x, return_counts=True)
        for function in (np.unique_all, np.unique_counts, np.unique_inverse):
            check(function, x)
        values = implementation(np.unique_values)(torch.from_numpy(x))
        same(values, np.sort(np.unique_values(x)))  # in no order from NumPy 2.3 on


@pytest.mark.parametrize("dtype", ["?", "b", "l", "d"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_along_an_axis(dtype, axis):
    x = np.concatenate([data((3, 2), dtype)] * 2)
    check(np.unique, x, axis=axis)
    check(np.unique, x, True, True, True, axis=axis)
    check(np.unique, x, axis=4)


@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique_nan(equal_nan):
    check(np.unique, with_nan((30,), "d"), equal_nan=equal_nan)
    check(np.unique, with_nan((30,), "f"), return_counts=True, equal_nan=equal_nan)


@pytest.mark.parametrize("dtype", ALL)
def test_membership(dtype):
    x, few, many = data((3, 7), dtype), data((3,), dtype, 1), data((20,), dtype, 2)
    for test in (few, many, many[:0]):
        check(np.isin, x, test)
        check(np.isin, x, test, invert=True)
    check(np.isin, x, many, kind="sort")
    check(np.isin, x, many, kind="other")


def test_membership_between_dtypes():
    check(np.isin, np.arange(5), [1.0, 2.5])
    check(np.isin, np.arange(5), np.float32(3))
    check(np.isin, data((5,), "d"), data((20,), "l"), kind="table")
    check(np.isin, with_nan((30,), "d"), with_nan((30,), "d"))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(
    "function", [np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d], ids=lambda f: f.__name__
)
def test_set_operations(function, dtype):
    a, b = data((6,), dtype), data((2, 5), dtype, 1)
    check(function, a, b)
    check(function, a, b[:0])
    check(function, a, data((4,), "h"))


LARGE = np.array([2**64 - 1, 2**64 - 2, 5, 1, 1, 2**63], "u8")


@pytest.mark.parametrize("other", ["l", "b"])
@pytest.mark.parametrize(
    "function",
    [np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.isin],
    ids=lambda f: f.__name__,
)
def test_sets_of_integers_whose_common_dtype_rounds(function, other):
    ends = np.iinfo(other)
    signed = np.array([1, 5, -7, ends.max // 2, ends.max // 2 + 1, ends.max, ends.min], other)
    for a, b in ((LARGE, signed), (np.tile(LARGE, 20), np.tile(signed, 20)), (LARGE, signed[:2])):
        check(function, a, b)
        check(function, b, a)
        if function is not np.union1d:
            check(function, np.unique(a), np.unique(b), assume_unique=True)


def test_membership_of_large_integers_without_numpys_kernels(monkeypatch):
    monkeypatch.setattr(host, "usable", lambda *tensors: False)
    signed = np.array([1, 5, -7, -1, -2, 2**62, 2**62 + 1, 2**63 - 1, -(2**63)])
    for a, b in ((LARGE, signed), (signed, LARGE)):
        found = implementation(np.isin)(torch.from_numpy(a), torch.from_numpy(b))
        assert found.tolist() == [int(one) in map(int, b) for one in a]


@pytest.mark.parametrize("dtype", ["b", "l", "d", "D"])
def test_intersection_with_indices(dtype):
    a, b = data((6,), dtype), data((5,), dtype, 1)
    check(np.intersect1d, a, b, return_indices=True)
    check(np.intersect1d, np.unique(a), np.unique(b), assume_unique=True, return_indices=True)


X, V = data((7,), "d"), np.sort(data((9,), "d", 1))
TRACED = [
    (np.sort, (X,), {}),
    (np.argsort, (X.reshape(1, 7),), {"axis": 1}),
    (np.argmax, (X,), {}),
    (np.argmin, (data((3, 4), "D"),), {"axis": 0}),
    (np.searchsorted, (V, X), {}),
    (np.lexsort, (data((2, 5), "l"),), {}),
    (np.isin, (X, V), {}),
    (np.unique, (X,), {"return_inverse": True, "return_counts": True, "return_index": True}),
    (np.unique, (data((6, 2), "l"),), {"axis": 0}),
    (np.union1d, (X, V), {}),
    (np.intersect1d, (X, V), {}),
    (np.intersect1d, (X, V), {"return_indices": True}),
    (np.setdiff1d, (V, X), {}),
    (np.setxor1d, (X, V), {}),
]


@pytest.mark.parametrize(
    ("function", "args", "kwargs"), TRACED, ids=lambda v: getattr(v, "__name__", "")
)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)
