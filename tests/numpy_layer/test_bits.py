"""Packing bits, swapping bytes and views by strides against NumPy."""

import numpy as np
import pytest
import torch
from comparing import check as compare
from row_checks import ALL, check, data, implementation, traced

import npaccel

as_strided = np.lib.stride_tricks.as_strided


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_packbits(dtype, bitorder):
    for shape in ((0,), (1,), (8,), (13,), (), (3, 9), (2, 0)):
        check(np.packbits, data(shape, dtype), bitorder=bitorder)
    for axis in (0, 1, -1, 2, -3):
        check(np.packbits, data((3, 9), dtype), axis, bitorder)
    check(np.packbits, data((3,), dtype), bitorder="middle")


@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_unpackbits(bitorder):
    for shape in ((0,), (1,), (5,), (), (2, 3)):
        x = (data(shape, "l") * 37).astype("B")
        for count in (None, 0, 3, 9, 100, -1, -8):
            if x.size or (count or 0) <= 0:  # NumPy doesn't fill what it adds to nothing.
                check(np.unpackbits, x, count=count, bitorder=bitorder)
    x = (data((2, 3), "l") * 37).astype("B")
    for axis in (0, 1, -1, 2):
        for count in (None, 11, -3, 30):
            check(np.unpackbits, x, axis, count, bitorder)
    check(np.unpackbits, x.astype("l"))
    check(np.unpackbits, x, bitorder="middle")
    check(np.unpackbits, x, count=-100)


@pytest.mark.parametrize("dtype", ALL)
def test_byteswap(dtype):
    for shape in ((), (0,), (5,), (2, 3)):
        x = np.array(data(shape, dtype))
        mine = implementation("numpy.ndarray.byteswap")
        assert mine(torch.from_numpy(x)).numpy().tobytes() == x.byteswap().tobytes()
        written = torch.from_numpy(x.copy())
        assert mine(written, True) is written
        assert written.numpy().tobytes() == x.byteswap().tobytes()


def test_as_strided():
    x = np.arange(12.0)
    for shape, strides in (
        ((3,), (8,)),
        ((3, 4), (8, 16)),
        ((5,), (0,)),
        ((), ()),
        ((0, 2), (8, 8)),
    ):
        check(as_strided, x, shape, strides)
    check(as_strided, x[2:], (2, 3), (24, 8))
    check(as_strided, x, (3,))
    for matrix in (x[:12].reshape(3, 4), x[:12].reshape(3, 4).T, x[:12].reshape(3, 4)[:, ::2]):
        check(as_strided, matrix, (2, 2))  # In a contiguous array, rows of two.
    check(as_strided, x, None, (8,))
    check(as_strided, x, (3, 3), (8,))
    base = torch.arange(4)
    assert implementation(as_strided)(base, (2,), (16,)).data_ptr() == base.data_ptr()


@pytest.mark.parametrize("strides", [(-8,), (4,), (64,)])
def test_views_outside_of_the_array_are_refused(strides):
    with pytest.raises(NotImplementedError, match=r"stride|memory"):
        implementation(as_strided)(torch.ones(4, dtype=torch.float64), (3,), strides)


def test_writes_through_a_view_by_strides():
    def of_an_argument(a):
        as_strided(a, (3, 2), (8, 8))[1] = 7
        return a + 1

    def of_something_new(a):
        b = a * 2
        view = as_strided(b, (2, 2), (8, 16))
        view += 1
        return b

    def of_a_slice(a):
        as_strided(a[2:], (2, 2), (8, 8))[...] = a[:2]
        return a * 2

    for function in (of_an_argument, of_something_new, of_a_slice):
        compare(function, np.arange(6.0))


def test_in_a_function():
    compare(
        lambda a: np.unpackbits(np.packbits(a > 2)) * a.byteswap().astype("B").size, np.arange(8.0)
    )
    compare(
        lambda a: as_strided(a.reshape(2, 3).T, (2, 2), a.reshape(2, 3).T.strides), np.arange(6.0)
    )
    if hasattr(np.ndarray, "to_device"):
        compare(lambda a: a.to_device("cpu") + (1 if a.device == "cpu" else 2), np.arange(6.0))


def test_traces_with_symbolic_sizes():
    traced(np.packbits, np.arange(13) > 4)
    traced(np.unpackbits, np.arange(5, dtype="B"))
    traced(as_strided, np.arange(9.0), (3, 2), (8, 16))


@pytest.mark.inductor
def test_compiled_code_turns_the_bytes_of_every_dtype_and_of_slices():
    def swapped(*arrays):
        turned = [x.byteswap() for x in arrays] + [x[::2].byteswap() for x in arrays]
        return turned + [x.reshape(4, -1).T.byteswap() for x in arrays]

    rng = np.random.default_rng(0)
    names = ("int16", "uint32", "int64", "float16", "float32", "float64", "complex128")
    arrays = [
        rng.integers(0, 256, 1000 * dtype.itemsize, dtype=np.uint8).view(dtype)
        for dtype in map(np.dtype, names)
    ]
    fn = npaccel.jit(swapped, default_float="float64", strict=True)
    for found, expected in zip(fn(*arrays), swapped(*arrays), strict=True):
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()
