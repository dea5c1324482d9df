"""`numpy.vectorize`: functions of numbers that are computed for whole arrays."""

import math

import numpy as np
import pytest
from comparing import assert_same, check, quiet

import npaccel
from npaccel import errors

X = np.arange(6.0) - 2
ARRAYS = [
    X,
    np.arange(12.0).reshape(3, 4).T - 5,
    np.arange(5) - 2,
    X.astype("f"),
    np.arange(5, dtype=np.uint8),
    np.array([1, np.nan, np.inf, -np.inf, 0, -0.0]),
    np.array([2**62, 2**40, -(2**63), 3]),
    np.array([True, False]),
    np.array(2.5),
]
SCALE = 2.5


def branches(v):
    """Decide."""
    if v > 1:
        return v * 2.0
    if v < 0:
        return -v / 4
    return v + 0.5


def stores(v):
    r = 0.0
    if v > 0:
        if v > 2:
            r = math.log(v)
        else:
            r = math.sqrt(v)
        r += 1
    return r


def helper(v, k=3):
    return v * k + 1


def pair(v):
    if v > 0:
        return v, v * 2
    return v - 1, v * 3


FUNCTIONS = [
    branches,
    stores,
    pair,
    lambda v: helper(v) - helper(2, 1),
    lambda v: v * v + 1,
    lambda v: 1 / v,
    lambda v: 7 // v if v else 0,
    lambda v: v % 3 - v // 2,
    lambda v: v**2 - v**3,
    lambda v: abs(v) ** 0.5,
    lambda v: 0 < v < 3,
    lambda v: (v > 0 and v < 3) or not v,
    lambda v: v or 5,
    lambda v: 1.0 if v > 0 else (-1.0 if v < 0 else 0.0),
    lambda v: round(v / 2),
    lambda v: int(v) % 2,
    lambda v: max(v * 1.0, 0.5),
    lambda v: math.log(v) if v > 0 else -math.inf,
    lambda v: 1.0 if math.isnan(v) else math.atan2(v, SCALE),
    lambda v: np.exp(-v) if v > 0 else np.cos(v),
    lambda v: np.where(v > 0, v, 0) + np.maximum(v, 1),
    lambda v: v * SCALE + math.pi,
    lambda v: 1,
    lambda v: v,
    lambda v: v * -1,
    lambda v: v + 300,
    lambda v: v // 2 if v % 2 == 0 else 3 * v + 1,
    math.floor,
    np.sin,
]


def compare(function, *args):
    """Compare, whether Python raises or not, and return what ran in NumPy."""
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    try:
        with np.errstate(all="ignore"):
            wanted = function(*args)
    except (TypeError, ValueError, ArithmeticError) as error:
        with np.errstate(all="ignore"), pytest.raises(type(error)):
            quiet(jitted, *args)
    else:
        with np.errstate(all="ignore"):
            assert_same(quiet(jitted, *args), wanted)
    return jitted.report().fallbacks


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_values_and_dtypes(number):
    vectorized = np.vectorize(FUNCTIONS[number])
    for x in ARRAYS:
        compare(lambda x: vectorized(x), x)


COMPILED = [0, 1, 4, 10, 13, 16, 18, 19, 21, 22, 23]


@pytest.mark.parametrize("number", COMPILED)
def test_compiled_in_one_graph(number):
    function = FUNCTIONS[number]
    vectorized = np.vectorize(function)
    check(lambda x: vectorized(x) + x, X, calls=2)
    check(lambda x: np.vectorize(function)(x) + x, X, calls=2)


@pytest.mark.inductor
def test_compiled_by_inductor():
    parts = [np.vectorize(FUNCTIONS[i]) for i in COMPILED]

    def function(x):
        return [part(x) for part in parts]

    check(function, X, backend="inductor", calls=2)


@pytest.mark.inductor
def test_python_raises_under_inductor():
    inverse = np.vectorize(lambda v: 1 / v)
    jitted = npaccel.jit(lambda x: inverse(x), backend="inductor", default_float="float64")
    assert_same(quiet(jitted, X + 0.5), 1 / (X + 0.5))
    with pytest.raises(ZeroDivisionError):
        quiet(jitted, X)


def test_made_inside_and_as_a_decorator():
    @np.vectorize
    def decorated(v):
        return v + 1 if v > 0 else v

    @np.vectorize(otypes=[np.float32])
    def with_dtype(v):
        return v * 2

    shift = 3

    def inside(x):
        @np.vectorize
        def own(v):
            return v * shift

        return own(x) + np.vectorize(lambda v, k=2: v * k, otypes="d")(x)

    for x in (X, np.arange(3), np.zeros((2, 2))):
        check(lambda x: decorated(x) * 2, x)
        check(lambda x: with_dtype(x), x)
        check(inside, x)


def test_arguments():
    add = np.vectorize(lambda a, b=1: a + b)
    power = np.vectorize(lambda a, k: a**k, excluded=["k"])
    y = np.arange(4)[:, None]
    check(lambda x: add(x, y), X)
    check(lambda x: add(x, 2.5) + add(x) + add(x, b=3) + add(a=x, b=x), X)
    check(lambda x: power(x, k=2), X)
    check(lambda x: add([1, 2, 3], x[:3]), X)
    compare(lambda x: add(x, np.arange(5)), X)


@pytest.mark.sampled
@pytest.mark.parametrize("otypes", ["d", "f", "i", "?", "B", "D", [np.float16], "O"], ids=str)
def test_dtypes_of_results(otypes):
    for function in (FUNCTIONS[4], FUNCTIONS[13], FUNCTIONS[12]):
        vectorized = np.vectorize(function, otypes=otypes)
        for x in (X, np.arange(5) - 2, X.astype("f"), X[:0]):
            compare(lambda x, vectorized=vectorized: vectorized(x), x)


def test_what_the_function_reads_may_change():
    scale = 2.0

    def function(x):
        return np.vectorize(lambda v: v * scale)(x)

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    assert_same(jitted(X), X * 2)
    scale = 3.0
    assert_same(jitted(X), X * 3)


def test_defaults_may_change():
    def scaled(v, k=2):
        return v * k

    vectorized = np.vectorize(scaled)
    jitted = npaccel.jit(lambda x: vectorized(x), backend="eager", default_float="float64")
    for k in (2, 9, 4.5):
        scaled.__defaults__ = (k,)
        assert_same(jitted(X), X * k)


REFUSED = [
    (lambda x: np.vectorize(lambda v: max(0, v))(x), "give otypes"),
    (lambda x: np.vectorize(lambda v: math.factorial(int(abs(v))))(x), "math.factorial"),
    (lambda x: np.vectorize(lambda v: [v][0])(x), "a Subscript"),
    (lambda x: np.vectorize(np.sum, signature="(n)->()")(x), "signature"),
    (lambda x: np.vectorize(lambda v: v * 2, cache=True)(x.astype("f")), "fewer bits"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    function, reason = REFUSED[number]
    fallbacks = compare(function, X)
    assert any(reason in fallback.reason for fallback in fallbacks)


def test_without_elements():
    vectorized = np.vectorize(lambda v: v * 2)
    jitted = npaccel.jit(lambda x: vectorized(x), backend="eager")
    with pytest.raises(ValueError, match="size 0"):
        jitted(X[:0])
    check(lambda x: vectorized(x[x > 0]), X)
    compare(lambda x: vectorized(x[x > 9]), X)


def test_strict():
    inverse = np.vectorize(lambda v: 1 / v)
    jitted = npaccel.jit(lambda x: inverse(x), backend="eager", strict=True)
    jitted(X + 0.5)
    with pytest.raises(ZeroDivisionError):
        jitted(X)
    refused = npaccel.jit(REFUSED[0][0], backend="eager", strict=True)
    with pytest.raises(errors.NotCompiledError, match="otypes"):
        refused(X)
