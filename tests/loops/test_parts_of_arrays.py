"""Loops over slices of arrays and their elements in a row, which are made before the loop."""

import numpy as np
import pytest

import npaccel

pytest.importorskip("numba")


def smoothed(x, alpha):
    out = np.zeros_like(x)
    for i, v in enumerate(x[1:], start=1):
        out[i] = alpha * v + (1 - alpha) * out[i - 1]
    return out


def backwards(x, factor):
    total = 0.0
    for v in x[::-1]:
        total = total * factor + v
    return total


def differences(x, factor):
    total = 0.0
    for a, b in zip(x[:-1], x[1:]):  # noqa: B905, RUF007
        total += abs(b - a) * factor
    return total


def steps(x, factor):
    total = 0.0
    for k, v in enumerate(reversed(x[1::2])):
        total += k * v * factor
    return total


def of_itself(x, factor):
    for k, v in enumerate(x[1:]):
        x[k] = v * factor + x[k + 1]
    return x.sum()


def column(table, factor):
    total = 0.0
    for v in table[:, 1]:
        total = total * factor + v
    return total


def all_of_it(table, factor):
    total = 0.0
    for v in table.T.ravel():
        total = total * factor + v
    return total


def rows(table, factor):
    total = 0.0
    for row in table[1:]:
        total = total * factor + row[0] - row[-1]
    return total


def rebound(x, factor):
    total = 0.0
    for v in x[1:]:
        total = total * factor + v
        last = v
    for v in x[:3]:
        total -= last * v
    return total


def texts(text, items):
    total = 0
    for c, n in zip(text[1:], items[::-1]):  # noqa: B905
        total += (c == "a") * n
    return total


VECTORS = [np.linspace(-1.0, 2.0, n) for n in (40, 3, 2)]
TABLES = [np.arange(12.0).reshape(4, 3), np.arange(40.0).reshape(5, 8)[::-2, 1:]]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *((f, (x, 0.25)) for f in (smoothed, backwards, differences, steps) for x in VECTORS),
        *((f, (x, 0.25)) for f in (of_itself, rebound) for x in VECTORS),
        *((f, (x, 0.25)) for f in (column, all_of_it, rows) for x in TABLES),
        (backwards, (np.zeros(0), 0.5)),
        (differences, (np.arange(9)[::3].astype(np.float32), np.float32(2.0))),
        (backwards, (np.arange(7, dtype=np.int16), 3)),
        (texts, ("banana", [1, 2, 3, 4, 5, 6])),
    ],
)
def test_answers_are_numpys(function, arguments):
    def given():
        return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]

    jitted = npaccel.jit(function, compile="now", default_float="float64")
    wanted_args, found_args = given(), given()
    wanted, found = function(*wanted_args), jitted(*found_args)
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if arguments[0] is not None else 0)
    for one, other in zip(wanted_args, found_args, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("function", "argument"),
    [(f, VECTORS[0]) for f in (smoothed, backwards, differences, steps, rebound)]
    + [(column, TABLES[1]), (all_of_it, TABLES[0])],
)
def test_they_are_numbas(function, argument):
    jitted = npaccel.jit(function, compile="now", default_float="float64")
    jitted(argument.copy(), 0.5)
    assert {loop.engine for loop in jitted.report().loops} == {"Numba"}


def test_errors_come_where_they_are():
    def f(x, factor):
        total = factor
        for v in x[:, 1]:
            total += v
        return total

    with pytest.raises(IndexError, match="too many indices"):
        npaccel.jit(f, compile="now")(np.ones(3), 0.5)
