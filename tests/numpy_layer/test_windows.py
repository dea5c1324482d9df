"""Windows, and questions about kinds of numbers, against NumPy."""

import numpy as np
import pytest
import torch
from row_checks import ALL, check, data, implementation, with_nan

from npaccel._numpy.core.context import TraceSettings, tracing

WINDOWS = (np.bartlett, np.blackman, np.hamming, np.hanning)
EXACT = TraceSettings("float64", torch.device("cpu"))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("size", [-1, 0, 1, 2, 3, 12, 51, 7.5])
def test_windows(window, size):
    with tracing(EXACT):
        check(window, size)


@pytest.mark.parametrize("size", [0, 1, 2, 9, 40])
@pytest.mark.parametrize("beta", [0, 3.5, 14, np.float64(8.6)])
def test_kaiser(size, beta):
    with tracing(EXACT):
        check(np.kaiser, size, beta, ulps=64)


def test_windows_are_narrow_in_float32():
    for window in WINDOWS:
        with tracing(TraceSettings("float32", torch.device("cpu"))):
            found = implementation(window)(12)
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found.numpy(), window(12), atol=1e-6)


def test_a_size_that_is_computed_is_refused():
    for window in WINDOWS:
        with pytest.raises(NotImplementedError, match="Python integers"):
            implementation(window)(torch.tensor(5))


@pytest.mark.parametrize("function", [np.isposinf, np.isneginf])
@pytest.mark.parametrize("dtype", ALL)
def test_signed_infinities(function, dtype):
    kind = np.dtype(dtype).kind
    for x in (with_nan(12, dtype) if kind in "fc" else data(12, dtype), data((), dtype)):
        check(function, x)
    if kind == "f":
        check(function, -with_nan((3, 4), dtype)[:, ::2])
        out = torch.zeros(12, dtype=torch.bool)
        x = with_nan(12, dtype)
        implementation(function)(torch.from_numpy(x), out)
        np.testing.assert_array_equal(out.numpy(), function(x))


@pytest.mark.parametrize("function", [np.isreal, np.iscomplex])
@pytest.mark.parametrize("dtype", ALL)
def test_real_and_complex(function, dtype):
    for shape in ((), 0, 5, (2, 3)):
        check(function, data(shape, dtype))
    if np.dtype(dtype).kind == "c":
        check(function, np.array([1, 1j, np.nan, 0, complex(1, np.nan)], dtype))
    check(function, 2.5)
    check(function, [1, 2j])


def test_iterable():
    found = implementation(np.iterable)
    assert found(torch.ones(3)) is True
    assert found(torch.ones(())) is False
    assert found([1]) is True
    assert found(3) is False
