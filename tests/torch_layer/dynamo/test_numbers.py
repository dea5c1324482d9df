"""Python numbers that depend on the data: `float(x)`, `int(x)`, `x.item()`."""

import math
import warnings

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel import errors

A = np.arange(1, 9, dtype=np.float32)


def weak_factor(a, b):
    return a * float(b.sum()), a + b.max().item(), a * int(b[0]), a.sum() / int((b > 4).sum())


def arithmetic(a, b):
    total = float(b.sum())
    return a * (total**2 + 1) / math.sqrt(total), np.float64(total), np.maximum(a, round(total) % 5)


def returned(a, b):
    return b.sum().item(), 36.0, int(b[0]), 8, int(b[1]), {"first": int(b[0]), "eight": 8}


def returned_arithmetic(a, b):
    n, x = int(b[0]), float(b[1])
    return 1.5 * n, n * x - 0.5, -x, (n + 2) * 0.25 + n * n, n / 4, n // 2, a.size * 0.5 + n, x**2


def returned_truth(a, b):
    return np.allclose(b, b[0]), True, False, np.array_equal(a, b)


def sizes(a, b):
    n = int(b[3])
    return np.zeros(n), np.arange(n), a[:n], a[n - 3 :], np.nonzero(b > 3)[0]


def places(a, b):
    i = int(np.argmin(b))
    table = np.outer(b, b)
    table[i] = 0
    table[i, 1:3] += 2
    table[:, i] = 7
    row = table[i]
    row[0] = 99
    a[i] = 5
    return table, row, a[i], table[1:3, i], a[int(b[0]) % 3 :]


def normalises(a, b):
    a[:] = a / float(np.sqrt((a * a).sum()))


FUNCTIONS = [
    *(weak_factor, arithmetic, returned, returned_arithmetic, returned_truth, sizes, places),
    normalises,
]


def arguments():
    for b in (A[::-1], A + 0, A[:6] + 1, np.ones(8, np.float32) * 5):
        yield np.arange(1, len(b) + 1, dtype=np.float32), b.astype(float)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gives_what_numpy_gives(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for a, b in arguments():
        mine = a.copy()
        assert_same(jitted(mine, b), function(a, b), rtol=1e-6)
        assert_same(mine, a, rtol=1e-6)
    assert not jitted.report().fallbacks


def test_ints_meet_bools():
    def f(x, k, flag):
        return (
            flag > k,
            x * (flag <= k),
            flag + k,
            k * flag * x,
            flag == k,
            k != flag,
            flag & k,
            (k > 2) & True,
        )

    jitted = npaccel.jit(f, backend="eager", default_float="float64", dynamic=True)
    for k, flag in ((3, True), (1, True), (0, False), (2, False), (5, True)):
        assert_same(jitted(A, k, flag), f(A, k, flag))
    assert not jitted.report().fallbacks


def test_extremes_of_numbers_are_one_of_them():
    def computed(u, s):
        return max(u, 1.0), max(1.0, u), min(u, 0.0), min(0.0, u), max(u, s), min(s, u, 2.5)

    def f(x, s, k):
        of_ints = max(k, 3.0), max(3.0, k), min(k, 2.5), max(k, 3, 2.5), max(True, k), min(s, k)
        return of_ints, max(s, 1), min(1, s), min(0.0, s), computed(float(x[0]), s)

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for s, k in ((0.5, 2), (2.5, 4), (math.nan, 1), (-0.0, 0), (3.0, 3), (math.inf, -3)):
        for x in (A, -A, A + np.float32(np.nan)):
            assert_same(jitted(x, s, k), f(x, s, k))
    assert not jitted.report().fallbacks


def test_extremes_whose_type_depends_on_the_data_are_numpys():
    def f(x, s):
        of_bools = max(True, int(x[0])), min(float(x[0]), True), max(int(x[0]), True)
        return max(s, x.max().item()), min(int(x[0]), 1.5) * x, max(1, float(x[0])), of_bools

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    whole = np.array([2, 1, 5])
    with pytest.warns(errors.PerformanceWarning, match="its type depends on the data"):
        for x, s in ((whole, 2.0), (whole, 7.5), (-whole, 2.0), (whole + 1, 6.0)):
            assert_same(jitted(x, s), f(x, s))


@pytest.mark.inductor
def test_compiled():
    def f(a, b):
        i, total = int(np.argmax(b)), float(b.sum())
        a[i] += 1
        return a * total, b[: i + 1] / total, total, i, 1.5 * i, 0.5 * i + total

    jitted = npaccel.jit(f, default_float="float64", cache=False)
    for a, b in arguments():
        mine = a.copy()
        assert_same(jitted(mine, b), f(a, b), rtol=1e-6)
        assert_same(mine, a)
    assert not jitted.report().fallbacks


def test_numbers_of_tensors_are_numbers():
    jitted = npaccel.jit(lambda a: (a * float(a.sum()), a.sum().item()), backend="eager")
    array, total = jitted(torch.ones(3))
    assert isinstance(array, torch.Tensor)
    assert type(total) is float


@pytest.mark.parametrize("dtype", ["complex128", "bool", "uint64"])
def test_dtypes_without_a_symbol_run_in_numpy(dtype):
    def f(a):
        return a.max().item(), a * 2

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    a = np.array([1, 0]).astype(dtype)
    with pytest.warns(npaccel.errors.PerformanceWarning, match="a Python scalar of an array"):
        assert_same(jitted(a), f(a))


def aligned(a, b):
    b[0] += 1
    return b[b > 2] + np.ones(3)


def test_sizes_that_were_not_compiled_for():
    jitted = npaccel.jit(aligned, backend="eager", default_float="float64", cache=False)
    calls = [np.arange(5.0), np.arange(5.0)[::-1].copy(), np.arange(3.0, 6.0)]
    for b in calls:
        mine, its = b.copy(), b.copy()
        with_three = (b + (np.arange(len(b)) == 0) > 2).sum() in (1, 3)
        if with_three:
            assert_same(jitted(A, mine), aligned(A, its))
        else:
            with pytest.raises(ValueError, match="broadcast"):
                jitted(A, mine)
            with pytest.raises(ValueError, match="broadcast"):
                aligned(A, its)
        assert_same(mine, its)


BOUNDED = {
    "greater": lambda a, n: a > n,
    "less": lambda a, n: n < a,
    "equal": lambda a, n: a == n,
    "add": lambda a, n: a + n,
    "maximum": lambda a, n: np.maximum(a, n),
    "where": lambda a, n: np.where(a > 3, a, n),
    "full_like": lambda a, n: np.full_like(a, n),
    "clip": lambda a, n: np.clip(a, 0, n),
    "shift": lambda a, n: a << n,
    "store": lambda a, n: a.__setitem__(0, n),
    "isin": lambda a, n: np.isin(a, n),
    "fill": lambda a, n: a.fill(n),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", BOUNDED)
def test_ints_out_of_the_bounds_of_an_array_compiled_for_any(name, backend):
    function = BOUNDED[name]
    for dtype in ("uint8", "int32") if backend == "eager" else ("uint8",):
        jitted = npaccel.jit(function, dynamic=True, backend=backend, cache=False)
        for n in (5, 7, 300, -1, 2**40, 2**63):
            got_array, wanted_array = np.arange(10).astype(dtype), np.arange(10).astype(dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
                got, wanted = tried(jitted, got_array, n), tried(function, wanted_array, n)
            assert_same((got, got_array), (wanted, wanted_array))


def tried(function, *args):
    try:
        return function(*args)
    except (OverflowError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("dynamic", [True, None])
def test_a_number_that_is_one_of_several(dynamic):
    """What follows such a condition is a condition too."""

    def f(a, n):
        b = a if n in (1, 3, 5) else a * 2
        return b + 1 if n > 3 else b - 1

    jitted = npaccel.jit(f, backend="eager", default_float="float64", dynamic=dynamic, cache=False)
    for n in (5, 4, 3, 6, 2, 3, 5):
        assert_same(jitted(np.ones(4), n), f(np.ones(4), n))


def rotated(x, n, t):
    z = 2j * n
    z += n * 1j
    same = n == 3j
    return np.exp(-2j * np.pi * n * x), x * z, (n - 1j) / x.size, n**1j, x * (1j * t), same


@pytest.mark.parametrize("dynamic", [None, True])
def test_numbers_meet_complex_constants(dynamic):
    jitted = npaccel.jit(rotated, backend="eager", default_float="float64", dynamic=dynamic)
    for n, size in ((3, 5), (4, 5), (4, 7), (3, 7)):
        given = np.arange(1, size, dtype="f"), n, n / 3
        for found, wanted in zip(jitted(*given), rotated(*given), strict=True):
            assert type(found) is type(wanted)
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
            assert np.result_type(found) == np.result_type(wanted)
    assert not jitted.report().fallbacks


DIVISIONS = [
    lambda x, n: 1 / float(x.sum()),
    lambda x, n: float(x[0]) % float(x.sum()),
    lambda x, n: int(x[0]) // int(x.sum()) + x,
    lambda x, n: x * (int(x[0]) % int(x.sum())),
    lambda x, n: len(x[x > 0]) / len(x[x > 5]),
    lambda x, n: divmod(n, x[x > 5].size),
    lambda x, n: float(x.sum()) ** -n,
    lambda x, n: (float(x.sum()) - 0.5) ** 0.5 * x,
    lambda x, n: 10.0 ** (400 - 40 * int(x.sum())),
    lambda x, n: n << int(x.sum() - 1),
    lambda x, n: n >> int(x.sum() - 1),
]


def test_floats_are_rounded_to_decimals_as_pythons(backend):
    def f(x, s):
        n = int(x.sum())
        return round(n / 3, 1), round(float(x[0]) * s, ndigits=2), round(s, 1) * x, round(s * 9, -1)

    jitted = npaccel.jit(f, backend=backend, default_float="float64")
    for s in (0.35, 2.675, 1.005, -0.25, 0.15):
        for x in (A, A - 3, A * 3):
            assert_same(jitted(x, s), f(x, s), rtol=0)
    assert not jitted.report().fallbacks


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(len(DIVISIONS)))
def test_python_numbers_raise_what_python_raises(number, backend):
    """A remainder by zero ended the process, a quotient was infinite."""
    function = DIVISIONS[number]
    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    for x in (np.array([1.0, 2, 6]), np.array([1.0, -1, 0]), np.array([6.0, 1, 3])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            try:
                wanted = function(x, 3)
            except ArithmeticError as error:
                with pytest.raises(type(error)):
                    jitted(x, 3)
            except ValueError:
                with pytest.raises(ValueError, match="negative shift count"):
                    jitted(x, 3)
            else:
                assert_same(jitted(x, 3), wanted, rtol=1e-12)


def sums_of_bools(x, n, flag):
    return (
        sum([flag, n]),
        x * sum((flag, n, flag)),
        sum([x, flag]),
        sum([flag, True]),
        sum([1.5, flag]),
    )


def test_sums_of_bools_and_sizes():
    jitted = npaccel.jit(sums_of_bools, backend="eager", dynamic=True, default_float="float64")
    for n, flag in ((5, True), (7, False), (6, True)):
        x = np.arange(float(n))
        for found, expected in zip(jitted(x, n, flag), sums_of_bools(x, n, flag), strict=True):
            assert type(found) is type(expected)
            np.testing.assert_array_equal(found, expected)
    assert not jitted.report().fallbacks
