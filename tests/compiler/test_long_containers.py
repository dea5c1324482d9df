"""Lists of many items as arguments: no call takes long to see what they hold."""

import collections
import time
from typing import NamedTuple

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel._runtime import containers

LONG = containers.MAX_ITEMS + 1
TOLD = r"`rows` holds more than 10,000 items.*\n  pass an array, np.asarray\(rows\)"


def doubled(rows):
    table = np.array(rows)
    return np.sum(table * 2)


def counted(rows):
    return np.float64(sum(len(row) for row in rows))


CASES = [
    (doubled, [float(k) for k in range(40 * LONG)]),
    (doubled, tuple(range(40 * LONG))),
    (doubled, [[float(i + j) for i in range(700)] for j in range(700)]),
    (counted, [str(k) for k in range(40 * LONG)]),
    (counted, [(k, 2 * k) for k in range(10 * LONG)]),
]
NAMES = ["floats", "a tuple", "lists", "texts", "pairs"]


@pytest.mark.parametrize("when", ["auto", "now", "behind"])
@pytest.mark.parametrize(("function", "rows"), CASES, ids=NAMES)
def test_numpy_makes_the_calls_and_is_told(function, rows, when):
    expected = function(rows)
    jitted = npaccel.jit(function, compile=when)
    npaccel.jit(np.sin, backend="eager", compile="now")(np.ones(2))  # Imports the compiler.
    start = time.perf_counter()
    with pytest.warns(npaccel.errors.PerformanceWarning, match=TOLD):
        assert_same(jitted(rows), expected)
    assert_same([jitted(rows) for _ in range(3)], [expected] * 3)
    numpys = time.perf_counter()
    for _ in range(4):
        function(rows)
    end = time.perf_counter()
    assert numpys - start < 10 * (end - numpys) + 8


def test_dicts_of_many_items():
    jitted = npaccel.jit(lambda rows: np.float64(len(rows)), compile="now", backend="eager")
    with pytest.warns(npaccel.errors.PerformanceWarning, match=TOLD):
        assert jitted(dict.fromkeys(range(LONG), 1.0)) == LONG


class Table(NamedTuple):
    rows: list
    scale: float


@pytest.mark.parametrize("function", [np.sum, lambda rows: rows.scale], ids=["rows", "a tuple"])
def test_calls_that_have_to_compile_are_numpys_too(function):
    rows = [1.0] * (100 * LONG)
    rows = Table(rows, 2.0) if function is not np.sum else rows
    jitted = npaccel.jit(lambda rows: function(rows), backend="eager", default_float="float64")
    start = time.perf_counter()
    with pytest.warns(npaccel.errors.PerformanceWarning, match=TOLD):
        jitted.warmup(rows)
    assert jitted(rows) == function(rows)
    assert time.perf_counter() - start < 10


def test_long_tuples_that_are_static_are_constants():
    """They are told apart: code for one isn't that for another."""
    jitted = npaccel.jit(
        lambda x, rows: x * len(rows) + rows[3], static_argnames="rows", backend="eager",
        compile="now", default_float="float64", cache=False,
    )  # fmt: skip
    for count in (LONG, LONG + 5):
        for value in (1.0, 2.0):
            for n in (4, 5, 6):
                found = jitted(np.ones(n), (value,) * count)
                assert_same(found, np.full(n, count + value))


def test_strict_functions_refuse_them():
    jitted = npaccel.jit(doubled, strict=True, compile="now", backend="eager")
    with pytest.raises(npaccel.errors.NotCompiledError, match=TOLD):
        jitted([1.0] * LONG)
    assert jitted([1.0] * 4) == 8


def test_tensors_in_them_go_through_the_host():
    jitted = npaccel.jit(lambda rows: np.sum(rows[-1]) + rows[0], compile="now", backend="eager")
    with pytest.warns(npaccel.errors.PerformanceWarning, match=TOLD):
        assert jitted([1.0] * LONG) == 2.0
    found = jitted([torch.ones(3), *[1.0] * LONG])
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == [2.0] * 3


def test_lists_of_some_thousand_numbers_become_arrays_in_numpy():
    """The rest of the function is compiled: what it computes with is an array."""
    jitted = npaccel.jit(doubled, compile="now", backend="eager", default_float="float64")
    rows = [float(k) for k in range(3_000)]
    with pytest.warns(npaccel.errors.PerformanceWarning, match="more than 1,000 numbers"):
        assert_same(jitted(rows), doubled(rows))
    assert jitted.report().graphs


class Recorder:
    def __init__(self, count):
        self.rows = [1.0] * count
        self.names = dict.fromkeys(range(count), 2.0)
        self.seen = set(range(count))
        self.queue = collections.deque(range(count), maxlen=count)

    def last(self, x):
        y = np.sin(x) * 2
        return y + self.rows[-1] + len(self.rows)

    def looked_up(self, x):
        return x * self.names[3] + len(self.names)

    def known(self, x):
        return x * 2 if 5 in self.seen else x

    def queued(self, x):
        return x + self.queue[-1]


@pytest.mark.parametrize("name", ["last", "looked_up", "known", "queued"])
def test_attributes_that_are_longer_still(name):
    function = getattr(Recorder, name)
    jitted = npaccel.jit(function, compile="now", backend="eager", default_float="float64")
    recorder, x = Recorder(1_000_000), np.arange(4.0)
    start = time.perf_counter()
    with pytest.warns(npaccel.errors.PerformanceWarning, match="more than 50,000 items"):
        assert_same(jitted(recorder, x), function(recorder, x))
    assert time.perf_counter() - start < 15
    assert_same(jitted(Recorder(9), x), function(Recorder(9), x))


def test_what_counts_as_long():
    assert not containers.holds_long([0.0] * containers.MAX_ITEMS)
    assert containers.holds_long([0.0] * LONG)
    assert containers.holds_long([[0.0] * 200] * 100)
    assert not containers.holds_long([np.zeros(LONG)] * 20)
    assert containers.place_of_long([1.0, {"a": [[0.0] * LONG]}], ()) == 1
    assert containers.place_of_long([(0,) * LONG, [0.0] * LONG], {0}) == 1
    assert containers.place_of_long([[], {}, (), "a" * LONG, np.zeros(LONG)], ()) is None
