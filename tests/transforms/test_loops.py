"""Short loops under a transform: unrolled, whether Python's or npaccel's."""

import numpy as np
import pytest
from derivatives import central_gradient

import npaccel

X = np.array([0.4, 1.2, -0.7])


@pytest.fixture(autouse=True)
def interpreted():
    with npaccel.options(backend="eager"):
        yield


def counted(x):
    return np.sum(npaccel.fori_loop(0, 5, lambda i, v: np.sin(v) * (i + 1.0), x))


def scanned(x):
    def step(carry, row):
        carry = 0.5 * carry + row["a"] ** 2
        return carry, {"sum": np.sum(carry), "carry": carry}

    table = np.outer(np.arange(1.0, 5.0), x)
    last, rows = npaccel.scan(step, x, {"a": table}, reverse=True)
    return np.sum(last) + np.sum(rows["sum"] * np.arange(4.0)) + np.sum(rows["carry"][1] ** 2)


def chosen(x):
    first = npaccel.cond(x[0] > 0, lambda x: np.sum(x**2), lambda x: np.sum(x), x)
    return first + npaccel.cond(False, lambda x: x[0], lambda x: x[1] ** 3, x)


def repeated(x):
    i, v = npaccel.while_loop(lambda p: p[0] < 3, lambda p: (p[0] + 1, np.cos(p[1])), (0, x))
    return np.sum(v) * i


def plain(x):
    v = x.copy()
    for i in range(4):
        v[i % 3] = np.sum(v) * 0.5
    while i > 1:
        v *= x
        i -= 1
    return np.sum(v)


@pytest.mark.parametrize("function", [counted, scanned, chosen, repeated, plain])
def test_that_loops_are_differentiated(function):
    np.testing.assert_allclose(
        npaccel.grad(function)(X), central_gradient(function, X), rtol=1e-6, atol=1e-7
    )


def test_that_batches_loop():
    rows = np.stack([X, -X])
    found = npaccel.vmap(chosen)(rows)
    np.testing.assert_allclose(found, [chosen(row) for row in rows])


def test_that_a_loop_that_is_too_long_says_so():
    def long(x):
        while np.size(x) < 3000:
            x = np.append(x, np.sin(x[0]))
        return np.sum(x)

    with pytest.raises(npaccel.NotCompiledError, match=r"unrolled into more than can be compiled"):
        npaccel.grad(long)(X)
