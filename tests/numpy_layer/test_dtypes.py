"""Dtypes: conversion, promotion, narrowing and casts against NumPy."""

import itertools
import warnings

import numpy as np
import pytest
import torch
from row_checks import ALL, tensors
from torch.fx.experimental.proxy_tensor import make_fx

import npaccel
from npaccel._numpy.core import dtypes
from npaccel._numpy.core.context import TraceSettings, tracing

FLOAT32 = TraceSettings(default_float="float32")
PYTHON = [bool, int, float, complex]
LISTS = [
    [],
    [[], []],
    [1, 2],
    [True, False],
    [True, 2],
    [1, 2.5],
    [1, 2j],
    [[1, 2], [3, 4.5]],
    (1, (2)),
    [2**63],
    [2**63, -1],
    [np.float32(1), 2.0],
    [np.float32(1), np.float16(2)],
    [np.uint8(1), 2],
    [np.array([1, 2], "i2"), [3, 4]],
    [[np.array(1.5, "f4"), 1], [2, 3]],
    [np.array([1, 2], "u8"), np.array([-1, 2], "i8")],
]


@pytest.mark.parametrize("code", ALL)
def test_round_trip(code):
    dtype = np.dtype(code)
    assert dtypes.to_numpy(dtypes.to_torch(dtype)) == dtype
    assert dtypes.as_dtype(dtypes.to_torch(dtype)) == dtype
    for spec in (code, dtype, dtype.type, dtype.name, dtype.str):
        assert dtypes.as_dtype(spec) == dtype


def test_names_of_one_dtype_are_one_dtype():
    assert dtypes.as_dtype("q") == np.dtype(np.int64)
    assert dtypes.as_dtype("q").char == dtypes.as_dtype("l").char
    assert [dtypes.as_dtype(p) for p in PYTHON] == [np.dtype(p) for p in PYTHON]


@pytest.mark.parametrize("spec", [">f4", "O", "M8[s]", "m8", "S3", "U", "V4", "g", "f4,i4"])
def test_refused_with_its_name(spec):
    if np.dtype(spec) == np.dtype(np.float64):
        pytest.skip("long double is float64 here")
    with pytest.raises(TypeError, match="can't be compiled") as caught:
        dtypes.as_dtype(spec)
    assert repr(np.dtype(spec)) in str(caught.value)


def test_byte_order_error_says_how_to_convert():
    with pytest.raises(dtypes.UnsupportedDtypeError, match=r"a\.astype\('float32'\)"):
        dtypes.as_dtype(np.dtype("f4").newbyteorder("S"))


def test_unknown_to_either():
    with pytest.raises(TypeError, match="not understood"):
        dtypes.as_dtype("float31")
    with pytest.raises(TypeError, match="bfloat16"):
        dtypes.as_dtype(torch.bfloat16)


def test_dtype_of_weak_and_strong():
    assert [dtypes.dtype_of(x) for x in (True, 1, 1.5, 1j)] == PYTHON
    assert dtypes.dtype_of(np.float64(1.5)) == np.dtype(np.float64)
    assert dtypes.dtype_of(torch.ones(2, dtype=torch.int8)) == np.dtype(np.int8)
    assert dtypes.dtype_of([1, 2.5]) == np.dtype(np.float64)
    assert dtypes.is_array(torch.ones(()))
    assert not dtypes.is_array(1.5)


def test_symbolic_sizes_are_weak_ints():
    seen = []

    def look(x):
        seen.append(dtypes.dtype_of(x.shape[0]))
        return x + dtypes.as_tensor([x.shape[0], 2])

    graph = make_fx(look, tracing_mode="symbolic")(torch.ones(2, dtype=torch.int64))
    assert seen[0] is int
    assert graph(torch.ones(2, dtype=torch.int64)).tolist() == [3, 3]


@pytest.mark.parametrize("nested", LISTS, ids=repr)
def test_lists(nested):
    expected = np.array(nested)
    found = dtypes.as_tensor(tensors(nested))
    assert dtypes.dtype_of(tensors(nested)) == expected.dtype
    assert found.numpy().dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)
    with tracing(FLOAT32):
        leaves = [x for x in np.ravel(np.array(nested, dtype=object)) if hasattr(x, "dtype")]
        given = any(x.dtype in ("f8", "c16") for x in leaves)
        wide = {"f8": "f4", "c16": "c8"}.get(expected.dtype.str[1:], expected.dtype.str)
        assert dtypes.as_tensor(tensors(nested)).numpy().dtype == (
            expected.dtype if given else wide
        )


@pytest.mark.parametrize("value", [True, 3, 2**63, 2.5, 1j, np.int8(3), np.float64(2)], ids=repr)
def test_scalars(value):
    found = dtypes.as_tensor(value).numpy()
    assert found.dtype == np.asarray(value).dtype
    assert found == value


def test_lists_that_numpy_refuses():
    ragged = [torch.ones(2), torch.ones(3)]
    with pytest.raises(ValueError, match="inhomogeneous"):
        dtypes.as_tensor(ragged)
    with pytest.raises(ValueError, match="inhomogeneous"):
        dtypes.as_tensor([[1, 2], [3]])
    with pytest.raises(OverflowError):
        dtypes.as_tensor([300], np.dtype("u1"))
    with pytest.raises(TypeError, match=r"dtype\('O'\)"):
        dtypes.as_tensor([2**80])
    with pytest.raises(TypeError, match="NoneType"):
        dtypes.as_tensor(None)


KINDS = [*map(np.dtype, ALL), *PYTHON]
VALUES = {bool: False, int: 0, float: 0.0, complex: 0j}


@pytest.mark.parametrize("narrow", [False, True])
def test_result_dtype_of_all_pairs(narrow):
    settings = FLOAT32 if narrow else TraceSettings()
    wide = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}
    with tracing(settings):
        for a, b in itertools.product(KINDS, KINDS):
            expected = np.result_type(VALUES.get(a, a), VALUES.get(b, b))
            if narrow and a not in wide and b not in wide:
                expected = wide.get(expected, expected)
            assert dtypes.result_dtype(a, b) == expected, (a, b)


def test_narrow_keeps_what_the_user_gave():
    f8, f4, c16 = np.dtype("f8"), np.dtype("f4"), np.dtype("c16")
    assert dtypes.narrow(f8, [np.dtype("i8")]) == f8
    with tracing(FLOAT32):
        assert dtypes.narrow(f8, [np.dtype("i8"), f4]) == f4
        assert dtypes.narrow(f8, [float]) == f4
        assert dtypes.narrow(c16, [f8, complex]) == c16
        assert dtypes.narrow(np.dtype("i8"), []) == np.dtype("i8")
        assert dtypes.default_float() == f4


def _numbers(code):
    dtype = np.dtype(code)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 100, info.max, info.min, info.max - 1], dtype)
    plain = [0.0, -0.0, 1.5, -1.5, 127.5, 128, 255, 256, -129, 32768, 65536, 2.0**31, -(2.0**31)]
    with np.errstate(all="ignore"):
        return np.array([*plain, 2.0**32, 1e10, np.nan, np.inf, -np.inf]).astype(dtype)


@pytest.mark.parametrize("source", ALL)
def test_cast_all_pairs(source):
    x = _numbers(source)
    for target in ALL:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # complex to real drops the imaginary part
            expected = x.astype(target)
        found = dtypes.cast(torch.from_numpy(x), np.dtype(target)).numpy()
        assert found.dtype == expected.dtype
        defined = slice(None)
        if target in "IL" and x.dtype.kind in "fc":
            defined = (
                np.abs(x.astype("c16")) < 2.0**31
            )  # beyond, C leaves it to the instruction chosen
        np.testing.assert_array_equal(found[defined], expected[defined])


@pytest.mark.inductor
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_negative_floats_as_unsigned_integers():
    def f(*arrays):
        found = [(x + 0).astype(target) for x in arrays for target in "BHI"]
        return found + [(x * 2**30).astype("Q") for x in arrays]

    arrays = [np.array([-1.5, -5, 3.7, 250] * 20, code) for code in "fdFD"]
    got = npaccel.jit(f, backend="inductor", cache=False)(*arrays)
    for mine, wanted in zip(got, f(*arrays), strict=True):
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_few_unsigned_values_are_chosen_from(dtype):
    def f(x, mask, index):
        np.place(x, mask, [1, 2])
        np.putmask(x[0], x[0] > 3, np.array([7, 8, 9], dtype))
        return x, np.array([5, 6], dtype)[index] + np.where(mask, x, 1)

    arrays = (
        np.arange(12, dtype=dtype).reshape(3, 4)[::-1].copy(),
        np.ones((3, 4), bool),
        np.eye(4, dtype=int)[:3],
    )
    wanted = f(*(x.copy() for x in arrays))
    got = npaccel.jit(f, backend="inductor", cache=False, strict=True)(*(x.copy() for x in arrays))
    for mine, theirs in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs, strict=True)


def test_cast_shares_no_memory():
    x = torch.ones(3, dtype=torch.complex64)
    real = dtypes.cast(x, np.dtype("f4"))
    real[0] = 5
    assert x[0] == 1
    assert dtypes.cast(x, np.dtype("c8")) is x


def test_check_cast():
    dtypes.check_cast(np.dtype("f8"), np.dtype("f4"))
    with pytest.raises(TypeError, match="same_kind"):
        dtypes.check_cast(np.dtype("f8"), np.dtype("i8"))
    with pytest.raises(TypeError, match="safe"):
        dtypes.check_cast(np.dtype("f8"), np.dtype("f4"), "safe")
