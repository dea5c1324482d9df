"""Writes through reversed views reach the array, compiled or not."""

import warnings

import numpy as np
import pytest
from comparing import assert_same, check

import npaccel
from npaccel import errors


def writes_to_the_view(x):
    y = x[::-1]
    y[0] = 9
    return x * 1


def writes_to_the_array(x):
    y = np.flip(x)
    x[0] = 9
    return y + 0


def writes_through_a_view_of_the_view(x):
    y = x[:, ::-1]
    z = y[1:]
    z += 5
    return y


def masked(x):
    x = x[::-1]
    x[x > 1] /= 7
    return x


def after_a_break(x):
    t = float(x.sum())
    print()
    y = x[::-1]
    y += t
    return x * 2


@pytest.mark.parametrize(
    "function",
    [
        writes_to_the_view,
        writes_to_the_array,
        writes_through_a_view_of_the_view,
        masked,
        after_a_break,
    ],
)
def test_what_a_copy_would_lose_runs_in_numpy(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for n in (3, 3, 4, 5):
            got, wanted = (np.arange(3.0 * n).reshape(n, 3) for _ in range(2))
            assert_same(jitted(got), function(wanted))
            assert_same(got, wanted)
    fallbacks = jitted.report().fallbacks
    assert any("reversed view" in one.cause for one in fallbacks)
    assert all(one.file == __file__ for one in fallbacks)


def reverses_in_place(x):
    x[:] = x[::-1]
    return x[::-1] + x


def adds_in_place(x):
    x[::-1] += np.arange(4.0)
    return x * 2


def copies(x):
    y = x[::-1].copy()
    y[0] = 3
    x += 1
    return y


@pytest.mark.parametrize("function", [reverses_in_place, adds_in_place, copies])
def test_what_a_copy_keeps_is_compiled(function, backend):
    check(function, np.arange(4.0), backend=backend)


def test_arguments_with_negative_strides_are_written_in_every_size():
    def f(x):
        x[0] = 1
        return x.sum()

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for n in (3, 4, 5, 6):
        got, wanted = np.full(n, 2.0), np.full(n, 2.0)
        assert_same(jitted(got[::-1]), f(wanted[::-1]))
        assert_same(got, wanted)


def test_a_scalar_cast_is_a_scalar(backend):
    check(lambda x: x[1].astype(np.float32), np.arange(3.0), backend=backend)
