"""Errors of Python and NumPy that a function catches: their types and texts are NumPy's."""

import operator
import warnings

import numpy as np
import pytest

import npaccel

X = np.arange(1.0, 4.0)
B = np.array([True, False, True])
ROW = {"a": 1}
ITEMS = [1, 2]

#: What raises, and the array that it raises for.
RAISES = {
    "bools have no minus": (lambda x: -x, B),
    "floats have no bits": (lambda x: ~x, X),
    "nothing to add": (lambda x: x + None, X),
    "shapes": (lambda x: x + np.ones(5), X),
    "a list times an array": (lambda x: ITEMS * x, X),
    "an element of several": (lambda x: x.item(), X),
    "least of nothing": (lambda x: min(x), np.zeros(0)),
    "length of a number": (lambda x: len(x[0]), X),
    "iterates over a number": (lambda x: list(x[0]), X),
    "sums a number": (lambda x: sum(x[0]), X),
    "in a number": (lambda x: 2 in x[0], X),
    "calls an array": (lambda x: x(3), X),
    "an array as index": (lambda x: ITEMS[x], X),
    "range of an array": (lambda x: list(range(x)), X),
    "hash of an array": (lambda x: hash(x), X),
    "unpacks": (lambda x: _two(*x), X),
    "no such key": (lambda x: x * ROW["b"], X),
    "no such item": (lambda x: x * ITEMS[5], X),
    "no such attribute": (lambda x: x.foo, X),
    "concatenates": (lambda x: operator.concat(x, x), X),
    "singular": (lambda x: np.linalg.solve(np.ones((2, 3)), x), X),
    "reshapes": (lambda x: x.reshape(7), X),
    "own": (lambda x: _raising(x), X),
}
#: What a handler does with an error.
HANDLERS = {
    "str": lambda e: str(e),
    "repr": lambda e: repr(e),
    "format": lambda e: f"{e}",
    "args": lambda e: e.args,
    "method": lambda e: e.__str__(),
    "error": lambda e: e,
    "type": lambda e: type(e).__name__,
}


def _two(p, q):
    return p + q


def _raising(x):
    raise ValueError(f"shape {x.shape}")


def handled(raises, handle):
    def function(x):
        try:
            return raises(x) * 2
        except Exception as error:  # noqa: BLE001 (of all types)
            return x * 2, handle(error)

    return function


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("program", RAISES)
def test_types_and_texts(program, handler):
    raises, x = RAISES[program]
    function = handled(raises, HANDLERS[handler])
    jitted = npaccel.jit(function, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = function(x)
        for _ in range(2):
            found = jitted(x)
            np.testing.assert_array_equal(found[0], wanted[0], strict=True)
            assert type(found[1]) is type(wanted[1])
            assert repr(found[1]) == repr(wanted[1])


def test_what_the_type_says_is_compiled():
    def function(x):
        try:
            factor = ROW["b"]
        except KeyError:
            factor = 3.0
        try:
            raise ValueError("own")  # noqa: TRY301
        except ValueError as error:
            return x * factor, str(error)

    jitted = npaccel.jit(function, backend="eager", strict=True)
    found = jitted(X)
    np.testing.assert_array_equal(found[0], X * 3)
    assert found[1] == "own"


def test_numbers_as_keys():
    def function(x, table):
        try:
            return x * table[x[1]]
        except TypeError:
            return x

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(jitted(X, {2.0: 5.0}), X * 5, strict=True)
        hashed = npaccel.jit(lambda x: (x * 2, hash(x[0])), backend="eager")
        assert hashed(X)[1] == hash(X[0])
