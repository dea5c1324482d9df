"""Numbers of arguments without dimensions: `item()`, `float()`, in results and in arrays."""

import numpy as np
import pytest

import npaccel


def returned(b, x):
    return b.item(), b * 2


def computed_with(b, x):
    return b.item() + 1, x * float(b), x + float(b)


def written(b, x):
    y = x * float(b)
    b += 1
    return y, x + float(b), b.max().item()


@pytest.mark.inductor
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [returned, computed_with, written])
def test_numbers_of_arguments(function, dynamic):
    jitted = npaccel.jit(function, compile="now", dynamic=dynamic, strict=True)
    x = np.arange(3.0)
    for value in (1.5, -2.5, 1e300, np.nan, 0.0):
        found, expected = jitted(np.array(value), x), function(np.array(value), x)
        for ours, numpys in zip(found, expected, strict=True):
            assert type(ours) is type(numpys)
            np.testing.assert_array_equal(ours, numpys)
    assert len(jitted.report().graphs) == 1


def overwritten(b, a, c):
    x = b + a
    x[:] = c
    return x


def overwritten_from_behind(b, a, c):
    x = (b + a) * b
    x[9::-1] = c < b
    return x


def shape_alone(b, a, c):
    return np.ones_like(b + a), c * 2


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "float32"])
@pytest.mark.parametrize("function", [overwritten, overwritten_from_behind, shape_alone])
def test_arguments_that_nothing_reads(function, dtype):
    b, a = np.arange(6, dtype=dtype)[:, None], np.arange(4, dtype=dtype)
    c = np.linspace(0, 5, 24, dtype=np.float16).reshape(6, 4)
    found = npaccel.jit(function, compile="now", cache=False, strict=True)(b, a, c)
    expected = function(b, a, c)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), strict=True)
