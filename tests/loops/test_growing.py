"""Lists that grow in loops: the body is compiled once, whatever holds the list."""

import collections
import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel.errors import PerformanceWarning

X = np.linspace(0.0, 1.0, 12)
N = 9


class Model:
    def __init__(self):
        self.history = []
        self.results = {"energy": []}
        self.rate = 0.5

    def advance(self, a, n):
        for i in range(n):
            a = a * self.rate + i
            self.history.append((i, a.sum()))
            self.results["energy"].append(np.sum(a**2))
        return a


class Buffer:
    """A user's own class whose method has a list's name."""

    def __init__(self):
        self.sums = np.zeros(4)
        self.count = 0

    def append(self, x):
        self.sums[self.count % 4] += np.sum(x * 2)
        self.count += 1


def to_an_argument(a, states, n):
    for i in range(n):
        a = a * 0.5 + i
        states.append(a)
    return a


def several(a, n):
    times, states = [], [a]
    for i in range(n):
        a = a * 0.5 + i
        times.append(i)
        states.append(a)
    return times, states


def in_dict(a, n):
    results = {"t": [], "state": []}
    for i in range(n):
        a = a * 0.5 + i
        results["t"].append(0.1 * i)
        results["state"].append(a)
    return results


def in_list(a, n):
    columns = [[] for _ in range(3)]
    for i in range(n):
        a = a * 0.5 + i
        for k in range(3):
            columns[k].append(a[k])
    return columns


def made_elsewhere(a, n):
    states = empty()
    for i in range(n):
        a = a * 0.5 + i
        states.append(a)
    return states


def empty():
    return []


def by_plus(a, n):
    states = []
    for i in range(n):
        a = a * 0.5 + i
        states += [a, (i, a.sum())]
    return states


def from_the_last(a, n):
    states = [a]
    for i in range(n):
        states.append(states[-1] * 0.5 + i)
    return states


def numbers_alone(a, n):
    found = []
    for i in range(n):
        print(end="")
        found.append((i, a.sum()))
        t = 0.25 * i
        found.append({"t": t, "mean": a.mean(), "i": [i, t]})
    return found


def numbers_as_keys(a, n):
    found = []
    for i in range(n):
        print(end="")
        found.append({i: a.sum(), "x": i})
    return found


FUNCTIONS = [several, in_dict, in_list, made_elsewhere, by_plus, from_the_last, numbers_alone,
             numbers_as_keys]  # fmt: skip


def jitted(function, backend="eager", **options):
    return npaccel.jit(backend=backend, default_float="float64", loops="compile", **options)(
        function
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_body_is_compiled_once(function):
    compiled = jitted(function)
    for n in (0, 1, 2, 3, N):
        assert_same(compiled(X, n), function(X, n))
    few = len(compiled.report().graphs)
    assert_same(compiled(X, 30), function(X, 30))
    assert len(compiled.report().graphs) == few <= 5


@pytest.mark.inductor
@pytest.mark.parametrize("function", [numbers_alone, in_dict])
def test_kept_artifacts_return_numbers_of_their_own(function):
    assert_same(jitted(function, "inductor")(X, N), function(X, N))
    again = jitted(function, "inductor")  # From disk.
    for n in (3, N):
        assert_same(again(X, n), function(X, n))


def test_numbers_that_only_pass_through():
    """A number that nothing is computed with may be another one in the next call."""

    def f(a, n):
        for i in range(n):
            t = i / 4
            found = (i, a.sum(), (t, "i"), {"i": i})
            if i == n - 1:
                break
        return found

    compiled = jitted(f)
    for n in (1, 2, 5, 3):
        assert_same(compiled(X, n), f(X, n))


def test_lists_of_an_object():
    ours, theirs = Model(), Model()
    compiled = jitted(Model.advance)
    for n in (1, 2, N):
        assert_same(compiled(ours, X, n), Model.advance(theirs, X, n))
        assert_same(ours.history, theirs.history)
        assert_same(ours.results, theirs.results)
    assert len(compiled.report().graphs) <= 3


@pytest.mark.parametrize("kind", [list, collections.deque])
def test_lists_that_are_arguments(kind):
    ours, theirs = kind(), kind()
    compiled = jitted(to_an_argument)
    for n in (1, 2, N):
        assert_same(compiled(X, ours, n), to_an_argument(X, theirs, n))
        assert_same(list(ours), list(theirs))
    assert len(compiled.report().graphs) == 1


def test_a_method_of_the_users_with_a_lists_name():
    ours, theirs = Buffer(), Buffer()
    compiled = jitted(to_an_argument)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        assert_same(compiled(X, ours, N), to_an_argument(X, theirs, N))
    assert_same(ours.sums, theirs.sums)
    assert ours.count == theirs.count


def test_the_order_of_appending_and_reading():
    def f(model, a, n):
        counts = []
        for _ in range(n):
            a = a * 0.5 + len(model.history)
            model.history.append(a.sum())
            a = a + len(model.history)
            counts.append(len(model.history))
        return a, counts

    ours, theirs = Model(), Model()
    compiled = jitted(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        assert_same(compiled(ours, X, N), f(theirs, X, N))
    assert_same(ours.history, theirs.history)


def copied(rows, a):
    sums = []
    for row in rows:
        sums.append(row.sum())  # noqa: PERF401 (the loop is what is tested)
    b = a * 2
    np.copyto(b, sums)
    return b * 2


def extended(rows, a):
    b, sums = a * 2, []
    for row in rows:
        sums.append(row.sum())  # noqa: PERF401 (the loop is what is tested)
    c = a * 3
    sums.extend(b)
    b[0] = 7
    return sums, b, c


def listed(rows, a):
    b, sums = a * 2, []
    for row in rows:
        sums.append(row.sum())  # noqa: PERF401 (the loop is what is tested)
    c = a * 3
    items = list(b)
    b[0] = 7
    items.append(c)
    return sums, items


@pytest.mark.parametrize("function", [copied, extended, listed])
def test_what_reads_or_writes_elements_beside_a_list_stays_in_its_place(function):
    rows, a = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    jitted = npaccel.jit(function, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        assert_same(jitted(rows, a), function(rows, a))
