"""Functions that are arguments: one compilation for all that one definition makes."""

import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel._torch.patching import is_release

X = np.ones(3)


def scaled(factor):
    def f(x, by=factor):
        return x * by + factor

    return f


def shifted(array):
    return lambda x: x + array


def counting(factor):
    count = 0

    def f(x):
        nonlocal count
        count += factor
        return x * count

    return f


def other_code(factor):
    return (lambda x, by: x - by - factor).__code__


def apply(f, x, after=None):
    y = f(x) * 2
    return y if after is None else after(y)


def repeat(f, x, n):
    for i in range(n):
        x = f(x) + i
    return x


def compared(f, x, other):
    return x if f is other else f(x)


@pytest.mark.parametrize("make", [scaled, shifted, counting])
def test_functions_made_at_every_call(make, backend):
    whole = npaccel.jit(apply, backend=backend, default_float="float64")
    loop = npaccel.jit(repeat, backend=backend, default_float="float64", loops="compile")
    for k in range(6):
        value = np.arange(3.0) * k if make is shifted else 0.5 * k + 0.3
        assert_same(whole(make(value), X), apply(make(value), X))
        assert_same(whole(make(value), X, lambda y: y - 1), apply(make(value), X) - 1)
        assert_same(loop(make(value), X, 4), repeat(make(value), X, 4))
    assert len(whole.report().graphs) <= 4
    assert len(loop.report().graphs) <= 4


def test_functions_that_are_compared():
    one, other = scaled(2.0), scaled(3.0)
    compiled = npaccel.jit(compared, backend="eager", default_float="float64")
    for f in (one, other, scaled(2.0), one):
        for second in (one, other, None):
            assert_same(compiled(f, X, second), compared(f, X, second))


def test_what_a_function_has_is_looked_at(backend):
    f = scaled(2.0)
    compiled = npaccel.jit(apply, backend=backend, default_float="float64")
    assert_same(compiled(f, X), apply(f, X))
    f.__defaults__ = (5.0,)
    assert_same(compiled(f, X), apply(f, X))
    f.__code__ = other_code(1.0)
    assert_same(compiled(f, X), apply(f, X))


def counted(f, x):
    f.calls = getattr(f, "calls", 0) + 1
    return f(x)


def weighted(f, x):
    return f(x) * f.weight if hasattr(f, "weight") else f(x) * getattr(f, "sign", 1)


def test_attributes_that_functions_get_later(backend):
    f = scaled(2.0)
    one = npaccel.jit(counted, backend=backend, default_float="float64")
    other = npaccel.jit(weighted, backend=backend, default_float="float64")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        one(f, X)
    # Dynamo traces `setattr` of a function from 2.14 on.
    assert ["setattr" in str(one.message) for one in caught] == [True] * is_release("2.11-2.13")
    for k in range(1, 4):
        assert_same(one(f, X), f(X))
        assert f.calls == k + 1
    assert_same(other(f, X), weighted(f, X))
    f.sign = -1
    assert_same(other(f, X), weighted(f, X))
    f.weight = 3.0
    assert_same(other(f, X), weighted(f, X))
