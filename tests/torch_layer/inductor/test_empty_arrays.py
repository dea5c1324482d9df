"""Arrays of np.empty: each is one of its own, and holds what the user writes to it."""

import numpy as np
import pytest
from comparing import assert_same

import npaccel


def halves(x):
    y = np.empty((len(x) // 2, 2, x.shape[1]), dtype=x.dtype)
    y[:, 0] = x[: len(x) // 2]
    y[:, 1] = x[len(x) // 2 :] * 2
    return y


def filled_later(x):
    a, b = np.empty_like(x), np.empty_like(x)
    a[1:] = x[1:]
    c = a.copy()
    a[0] = 7
    b[:] = a
    c[0] = 5
    return a, b, c


def by_columns(x):
    y = np.empty((len(x), 3))
    for j in range(3):
        y[:, j] = x[:, 0] * j
    return y


def given_as_out(x):
    mask = np.empty(x.shape, bool)
    np.greater(x, 0.5, out=mask)
    return mask, np.sqrt(x, out=np.zeros_like(x), where=mask)


def without_elements(x):
    return np.empty((0, 3)), np.empty_like(x[:0])


@pytest.mark.sampled
@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
@pytest.mark.parametrize(
    "function", [halves, filled_later, by_columns, given_as_out, without_elements]
)
def test_what_is_written_is_there(function, backend):
    compiled = npaccel.jit(function, backend=backend, default_float="float64", cache=False)
    for seed in range(2):
        x = np.random.default_rng(seed).random((6, 4))
        assert_same(compiled(x), function(x))


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_two_are_two(backend):
    compiled = npaccel.jit(lambda n: (np.empty(n), np.empty(n)), backend=backend, cache=False)
    one, other = compiled(5)
    one[:], other[:] = 1, 2
    assert one.tolist() == [1] * 5
    assert not np.shares_memory(compiled(5)[0], one)


@pytest.mark.inductor
def test_no_pass_fills_them():
    compiled = npaccel.jit(halves, backend="inductor", cache=False)
    compiled(np.ones((6, 4)))
    source = compiled.source()
    assert "static_cast<double>(2.0)" in source
    assert "static_cast<double>(0.0)" not in source
