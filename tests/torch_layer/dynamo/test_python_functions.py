"""Python's own functions on NumPy's scalars and vectors: `min`, `round`, `math.sqrt`, `in`."""

import math

import numpy as np
import pytest
from comparing import assert_same, check, quiet

import npaccel

X = np.arange(6.0) - 2
NAN = np.array([np.nan, 1, -2.0])
I = np.arange(1, 6)  # noqa: E741

COMPILED = [
    lambda x: min(x[0], 1) * x,
    lambda x: max(1e-3, x[0]) * x,
    lambda x: max(x[0], 1e-3) * x,
    lambda x: (min(x), max(x), max(x[0], x[2], x[1]), min([x[1], x[0]])),
    lambda x: x / max(np.linalg.norm(x), 1e-12),
    lambda x: round(x[1]) * x + round(x[2], 1),
    lambda x: (int(x[1]) * x, int(x[1] > 0)),
    lambda x: pow(x, 2),
    lambda x: math.sqrt(x[1] + 4) * x,
    lambda x: math.exp(-math.sqrt(np.dot(x, x))) * x,
    lambda x: (math.hypot(x[1], 3) * x, math.log(x[1] + 8, 3) * x, math.pow(x[1], 2)),
    lambda x: math.atan2(float(x[1]), x[2]) * x,
    lambda x: x[: math.floor(x.max() / 2)] + math.ceil(x[1]),
    lambda x: [getattr(math, name)(x[1] / 8) * x for name in ("erf", "tanh", "asinh", "degrees")],
]


@pytest.mark.parametrize("number", range(len(COMPILED)))
def test_compiled(number):
    check(COMPILED[number], X, calls=2)
    if number < 4:
        check(COMPILED[number], NAN, calls=2)
        check(COMPILED[number], NAN[::-1].copy(), calls=2)


@pytest.mark.inductor
def test_compiled_by_inductor():
    def function(x):
        parts = [g(x) for g in (*COMPILED[:7], *COMPILED[8:11])]
        return parts, math.ceil(x[1]) + x

    check(function, X, backend="inductor", calls=2)


#: What NumPy answers with a bool or a float of Python's, not one of its own.
ANSWERS = [
    lambda x: np.array_equal(x, x) + np.allclose(x, x),
    lambda x: sum([np.array_equal(x, x), np.array_equal(x, -x), np.array_equiv(x, x)]),
    lambda x: (type(np.allclose(x, x)) is bool, isinstance(np.allclose(x, x), np.bool_)),
    lambda x: (np.allclose(x, x) * 3 * x.size, 1.5 * np.allclose(x, x), np.allclose(x, x) * x),
    lambda x: (np.array_equal(x, x) / 2, np.float32(2) * np.allclose(x, x)),
    lambda x: (np.poly(x[:0]) * 2.5, type(np.poly(x[:0])) is float, np.allclose(x, x) is None),
]


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_answers_are_numbers_of_pythons(number):
    check(ANSWERS[number], X, calls=2)


def returns_generator(x):
    g = (v for v in x)
    return next(g), g


def returns_expression(x):
    return (v for v in x)


def counts(x):
    found = [9, x[2], 9]
    return found.count(9), found.count(x[2])


def test_generators_are_returned_as_such():
    for function in (returns_generator, returns_expression):
        jitted = npaccel.jit(function, backend="eager", default_float="float64")
        got, wanted = quiet(jitted, X), function(X)
        if isinstance(got, tuple):
            assert got[0] == wanted[0]
            got, wanted = got[1], wanted[1]
        assert type(got) is type(wanted)
        assert list(got) == list(wanted)
        assert jitted.report().fallbacks


def test_types_are_keys():
    def function(x):
        by_type = {np.float64: 2, np.ndarray: 3}
        return by_type[x.dtype.type] * x, by_type[type(x)], by_type.get(type(x[0]))

    check(function, X, calls=2)


class WorthlessError(Exception):
    def __str__(self):
        return f"worth {self.args[0] * 2}"


def catches_own(x):
    try:
        raise WorthlessError(3)  # noqa: TRY301 (caught here)
    except WorthlessError as e:
        return str(e), x


def catches_key(x):
    try:
        raise KeyError("k")  # noqa: TRY301 (caught here)
    except KeyError as e:
        return str(e), x


ERROR = ValueError("made outside")


def catches_given(x):
    try:
        raise ERROR  # noqa: TRY301 (caught here)
    except Exception as e:  # noqa: BLE001 (also what Dynamo raises instead)
        return str(e), x


REFUSED_ANSWERS = [
    *(catches_own, catches_key, catches_given),
    lambda x: [0, 1] * np.argmin(x + 2),
    lambda x: (np.int64(2) + x.argmin()) * (1, 2),
    lambda x: "ab" * x.argmax(),
    lambda x: [1, 2] * x[0],
    lambda x: (np.all(x > -9) is np.True_, np.any(x > 9) is np.False_),
    counts,
    lambda x: np.allclose(x, x) is True,
    lambda x: (np.allclose(x, x) == True, np.allclose(x, x) != np.allclose(x, -x)),  # noqa: E712
    lambda x: np.array_equal(x, x) & np.array_equal(x, -x),
    lambda x: (-np.allclose(x, x), abs(np.allclose(x, x)), np.allclose(x, x) * 1j),
    lambda x: np.real(np.allclose(x, x)),
    lambda x: np.allclose(x, x).shape,
    lambda x: np.allclose(x, x).sum(),
]


@pytest.mark.parametrize("number", range(len(REFUSED_ANSWERS)))
def test_what_is_left_to_python(number):
    function = REFUSED_ANSWERS[number]
    fallbacks = in_numpy(function, X)
    try:
        function(X)
    except (AttributeError, TypeError):
        assert not fallbacks  # The error is enough.
    else:
        assert fallbacks


def in_numpy(function, *args):
    """Compare where NumPy runs a part or all; return what is said of it."""
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        try:
            wanted = function(*[np.copy(arg) for arg in args])
        except Exception as error:  # noqa: BLE001 (whatever Python raises)
            with pytest.raises(type(error)):
                quiet(jitted, *[np.copy(arg) for arg in args])
        else:
            assert_same(quiet(jitted, *[np.copy(arg) for arg in args]), wanted)
    return jitted.report().fallbacks


VALUES = [
    (lambda x: math.log(x[0]), X),
    (lambda x: math.exp(x[0]), X + 1e4),
    (lambda x: math.log(x[0]) * x, np.zeros(3)),
    (lambda x: int(x[0]), np.array([np.nan])),
    (lambda x: int(x[0]), np.array([np.inf])),
    (lambda x: int(x[0]), np.array([1e300])),
    (lambda x: round(x[0]), np.array([-(2.0**64)])),
    (lambda x: math.ceil(x[0]), np.array([2.0**63])),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values_for_which_python_raises_or_has_longer_ints(number):
    function, x = VALUES[number]
    fallbacks = in_numpy(function, x)
    raised = not fallbacks
    assert raised or "there is an element" in fallbacks[0].reason


@pytest.mark.inductor
def test_values_under_inductor():
    jitted = npaccel.jit(lambda x: math.log(x[0]) * x, backend="inductor", default_float="float64")
    assert_same(quiet(jitted, X + 3), math.log(1) * (X + 3))
    with pytest.raises(ValueError, match="math domain|positive"):
        quiet(jitted, X)


def test_what_was_written_before_is_written_once():
    def function(x):
        x += 1
        return math.log(x[0])

    x = np.full(3, -3.0)
    jitted = npaccel.jit(function, backend="eager")
    with pytest.raises(ValueError, match="math domain|positive"):
        quiet(jitted, x)
    assert x[0] == -2


TYPES = [
    (lambda x: min(x[0], 1.5) * x, I),  # int or float
    (lambda x: min(x[0], 1) * x, I > 1),
    (lambda x: max(x), X.reshape(2, 3)),  # an ambiguous truth value
    (lambda x: max(x[None]), X),
    (lambda x: max(x, key=abs), X),
    (lambda x: min(x), X[:0]),
    (lambda x: math.prod(x), X),
    (lambda x: x[0] in [1, 2, 3], I),
    (lambda x: math.trunc(x[0]), I),
    (lambda x: round(x), X),
    (lambda x: round(x[0]), I > 1),
    (lambda x: math.isnan(x[0]), X),
    (lambda x: math.sqrt(x[0]), X * 1j),
]


@pytest.mark.parametrize("number", range(len(TYPES)))
def test_types_that_depend_on_values_are_pythons(number):
    in_numpy(*TYPES[number])


def test_sizes_may_change():
    def function(x):
        return np.zeros(math.ceil(x.size / 4)) + math.sqrt(len(x)) + math.floor(float(x.max()))

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for size in (6, 9, 12):
        assert_same(jitted(np.ones(size)), function(np.ones(size)))
    assert not jitted.report().fallbacks


def test_setattr_gives_nothing():
    def function(c):
        return setattr(c, "real", 7), c * 2

    check(function, np.arange(3) + 1j)
