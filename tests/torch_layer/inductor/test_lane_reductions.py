"""Reductions of rows end by halves of a vector: NumPy's values for every type and length."""

import numpy as np
import pytest

import npaccel

DTYPES = ("float64", "int64", "int32", "int16", "int8", "uint8")


def folded(x, flags):
    return (
        x.sum(axis=1),
        x.prod(axis=1),
        x.max(axis=1),
        x.min(axis=1),
        np.sum(x * x, axis=1, dtype=x.dtype),
        flags.any(axis=1),
        flags.all(axis=1),
        np.count_nonzero(x, axis=1),
    )


def rows(dtype, count, length):
    rng = np.random.default_rng(length)
    if dtype == "float64":
        return np.round(rng.normal(size=(count, length)), 1)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, (count, length), dtype=dtype, endpoint=True)


@pytest.mark.sampled
@pytest.mark.inductor
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(dtype):
    fn = npaccel.jit(folded, default_float="float64", strict=True)
    for length in (16, 37, 5):
        x = rows(dtype, 5, length)
        flags = x > 0
        for found, expected in zip(fn(x, flags), folded(x, flags), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-12 * (dtype == "float64"))


@pytest.mark.inductor
@pytest.mark.parametrize("place", [0, 7, 8, 36])
def test_nan_and_infinity(place):
    fn = npaccel.jit(folded, default_float="float64", strict=True)
    x = rows("float64", 4, 37)
    x[1, place], x[2, place], x[3, place] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = folded(x, x > 0)
    for one, other in zip(fn(x, x > 0), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.inductor
def test_atens_folds_are_gone():
    """Lane by lane they cost as much as a row of 500 elements."""
    fn = npaccel.jit(lambda x: x.sum(axis=1), default_float="float64", strict=True)
    fn(rows("float64", 40, 100))
    assert "tmp_acc0_vec" in fn.source()
    assert "vec_reduce_all<double" not in fn.source()
