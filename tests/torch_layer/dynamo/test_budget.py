"""Captures that would go on for too long: NumPy makes the calls, and is told why."""

import time

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel._torch.dynamo import budget


class Spring:
    def __init__(self):
        self.x, self.v = np.linspace(0, 1, 5), np.zeros(5)

    def step(self, dt):
        a = 0.1 * np.sin(self.x) - self.x
        self.v = self.v + dt * a
        self.x = self.x + dt * self.v


def in_a_method(n):
    spring = Spring()
    list(map(spring.step, [0.01] * n))
    return spring.x


def by_recursion(x, n):
    if n == 0:
        return x
    return by_recursion(x * 0.5, n - 1) + by_recursion(x + 1, n - 1)


def of_numbers(x, n):
    total = sum(collatz(k) for k in range(1, n))
    return x + total


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(budget, "MAX_LINES", 300)
    monkeypatch.setattr(budget, "MAX_OPERATIONS", 60)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (in_a_method, (200,)),
        (by_recursion, (np.ones(3), 9)),
        (of_numbers, (np.ones(3), 60)),
    ],
)
def test_what_has_no_end_is_numpys(function, args, small, backend):
    jitted = npaccel.jit(function, backend=backend, loops="compile", default_float="float64")
    start = time.perf_counter()
    with pytest.warns(npaccel.errors.PerformanceWarning, match="unrolled into more than"):
        assert_same(jitted(*args), function(*args))
    assert time.perf_counter() - start < 30
    assert not jitted.report().graphs
    (fallback,) = jitted.report().fallbacks
    assert fallback.file == __file__


def test_other_sizes_and_numbers_are_not_tried(small, backend, monkeypatch):
    jitted = npaccel.jit(by_recursion, backend=backend, default_float="float64")
    with pytest.warns(npaccel.errors.PerformanceWarning, match="unrolled into more than"):
        jitted(np.ones(3), 9)
    monkeypatch.setattr(budget.Budget, "spend", None)
    for n in (4, 5, 30):
        assert_same(jitted(np.ones(n), 8), by_recursion(np.ones(n), 8))


def test_strict(small, backend):
    jitted = npaccel.jit(by_recursion, backend=backend, strict=True)
    with pytest.raises(npaccel.errors.NotCompiledError, match="unrolled into more than"):
        jitted(np.ones(3), 9)


def test_unrolling_may_go_on_for_longer(small, backend):
    jitted = npaccel.jit(by_recursion, backend="eager", loops="unroll", default_float="float64")
    assert_same(jitted(np.ones(3), 6), by_recursion(np.ones(3), 6))
    assert len(jitted.report().graphs) == 1


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_around_graph_breaks(small, backend):
    """The parts before and after are compiled, and what has no end runs in Python."""

    def function(x, out):
        x = np.cos(x) * 2
        out.write("a line that breaks the graph")
        x = by_recursion(x, 9)
        return np.sin(x) * 3

    class File:
        written = ""

        def write(self, text):
            type(self).written += memoryview(text.encode()).hex()

    jitted = npaccel.jit(function, backend=backend, default_float="float64", cache=False)
    for _ in range(2):
        assert_same(jitted(np.ones(3), File()), function(np.ones(3), File()))


def test_budgets_are_of_one_capture(backend, monkeypatch):
    monkeypatch.setattr(budget, "MAX_LINES", 20)
    for k in range(5):
        jitted = npaccel.jit(lambda x, k=k: x + k, backend=backend)
        assert_same(jitted(np.ones(3)), np.ones(3) + k)
        assert jitted.report().graphs
