"""Loops over items of lists and characters of strings, which Numba compiles."""

import copy
import math

import numpy as np
import pytest
from comparing import assert_same

import npaccel

pytest.importorskip("numba")
pytestmark = [
    pytest.mark.small_arrays,
    pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning"),
]


def primes(n):
    found = []
    for k in range(2, n):
        for p in found:
            if k % p == 0:
                break
        else:
            found.append(k)
    return found


def squares_above(x, limit):
    kept = []
    for i in range(len(x)):
        if x[i] > limit:
            kept.append(x[i] ** 2)  # noqa: PERF401 (a list that grows)
    return np.array(kept), kept


def python_floats(n):
    values = [0.5]
    for i in range(n):
        values.append(values[-1] * 0.9 + math.sqrt(i))
    return values


def stack(heights):
    waiting, widest = [], 0
    for i in range(len(heights)):
        while waiting and heights[waiting[-1]] >= heights[i]:
            top = waiting.pop()
            left = waiting[-1] + 1 if waiting else 0
            widest = max(widest, (i - left) * int(heights[top]))
        waiting.append(i)
    return widest, waiting


def histogram(items, counts):
    for item in items:
        counts[item] += 1
    return counts


def weighted(x, weights):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * weights[i % len(weights)]
    return total


def flags(n):
    sieve = [True] * n
    for i in range(2, n):
        if sieve[i]:
            for j in range(i * i, n, i):
                sieve[j] = False
    return sieve


def cleared(n):
    run, longest = [], 0
    for i in range(n):
        if i % 7 == 3:
            run.clear()
        run.append(i)
        longest = max(longest, len(run))
    return run, longest


def queue(rng, end):
    time, waiting, log = 0.0, 0, []
    while time < end:
        time += rng.exponential(1.0)
        if rng.random() < 0.5:
            waiting += 1
        elif waiting > 0:
            waiting -= 1
        log.append(waiting)
    return np.array(log), time


def growing(n, out):
    for i in range(n):
        out.append(i * 0.5)
    return len(out)


def complex_items(n):
    z, orbit = 0j, []
    for _ in range(n):
        z = z * z + (0.1 + 0.2j)
        orbit.append(z)
    return orbit


def numpy_items(x):
    found = []
    for i in range(len(x)):
        found.append(np.float32(x[i]))  # noqa: PERF401 (a list that grows)
    return found


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0], d[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


def letters(text):
    counts, vowels, last = np.zeros(26, int), 0, "?"
    for c in text:
        if "a" <= c <= "z":
            counts[ord(c) - ord("a")] += 1
        if c in "aeiou":
            vowels += 1
        if c not in ("x", "y"):
            last = c
    return counts, vowels, last


def palindrome(text):
    is_one = True
    for i in range(len(text) // 2):
        if text[i] != text[-1 - i]:
            is_one = False
    return is_one


def balance(text):
    depth, lowest, places = 0, 0, []
    for i, c in enumerate(text):
        if c == "(":
            depth += 1
            places.append(i)
        elif c == ")":
            depth -= 1
        lowest = min(lowest, depth)
    return depth, lowest, places


def same_letters(a, b):
    same = 0
    for x, y in zip(a, b, strict=False):
        same += x == y
    return same


PROGRAMS = {
    primes: [(2,), (3,), (60,), (600,)],
    squares_above: [(np.linspace(0, 1, 50), 0.5), (np.linspace(0, 1, 5), 9.0), (np.ones(0), 0.0)],
    python_floats: [(0,), (5,), (500,)],
    stack: [(np.array([2, 1, 5, 6, 2, 3]),), (np.arange(300) % 17,), (np.zeros(0, int),)],
    histogram: [([0, 1, 1, 2], [0, 0, 0]), ([], [1.5]), ([2, 0, -1], [0.5, 0.0, 1.0])],
    weighted: [(np.arange(9.0), [1, 2, 3]), (np.arange(9.0), [0.5]), (np.arange(9), [True, False])],
    flags: [(0,), (2,), (100,)],
    cleared: [(0,), (3,), (100,)],
    queue: [(np.random.default_rng(3), 0.0), (np.random.default_rng(4), 300.0)],
    growing: [(5, [1]), (3, ["a"]), (3, []), (1000, []), (5, [1.0])],
    complex_items: [(0,), (40,)],
    numpy_items: [(np.arange(5.0),), (np.arange(5),)],
    edit_distance: [("kitten", "sitting"), ("", "abc"), ("äß€😀", "äs€😀"), ("a" * 90, "ba" * 40)],
    letters: [("",), ("hello world, äöü €",), ("xyz" * 50,)],
    palindrome: [("",), ("a",), ("abcba",), ("abca",)],
    balance: [("",), ("(()))(",), ("(" * 200,)],
    same_letters: [("abc", "abd"), ("", ""), ("äbc", "äxcd")],
}


def outcome(function, args):
    args = copy.deepcopy(args)
    try:
        result = function(*args)
    except Exception as error:  # noqa: BLE001 (compared by class and text)
        result = type(error).__name__, str(error)
    given = [a for a in args if not isinstance(a, np.random.Generator)]
    draws = [a.random() for a in args if isinstance(a, np.random.Generator)]
    return [result, given, draws]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_results_are_pythons(function):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    for args in PROGRAMS[function]:
        for _ in range(2):
            assert_same(outcome(jitted, args), outcome(function, args))
    engines = {loop.engine for loop in jitted.report().loops}
    assert "Numba" in engines, jitted.report()


# -- Errors, and what was done before them ------------------------------------------------------


def index_beyond(n, out):
    for i in range(n):
        out.append(i)
        if i == 70:
            out[100] = 1
    return out


def reads_beyond(items, n):
    total = 0
    for i in range(n):
        total += items[i]
    return total


def pops_empty(items, n):
    for _ in range(n):
        items.pop()
    return items


def text_beyond(text, n):
    count = 0
    for i in range(n):
        count += text[i] == "a"
    return count


def outgrows(n):
    x, out = 1, []
    for _ in range(n):
        x = x * 3
        out.append(x)
    return out


def divides(x, out):
    for i in range(len(x)):
        out.append(1 / int(x[i]))
    return out


def never_filled(n):
    empty = []
    for i in range(n):
        if i == 5:
            empty[0] = 3
    return empty


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (index_beyond, (200, [])),
        (index_beyond, (60, [5])),
        (reads_beyond, ([1, 2, 3], 3)),
        (reads_beyond, ([1, 2, 3], 4)),
        (reads_beyond, ([], 1)),
        (pops_empty, ([1.5, 2.5], 2)),
        (pops_empty, ([1.5, 2.5], 3)),
        (text_beyond, ("aba", 3)),
        (text_beyond, ("aba", 4)),
        (text_beyond, ("", 1)),
        (outgrows, (30,)),
        (outgrows, (100,)),
        (divides, (np.array([1, 2, 0, 4]), [])),
        (never_filled, (4,)),
        (never_filled, (9,)),
    ],
)
def test_errors_are_pythons(function, args):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    for _ in range(2):
        assert_same(outcome(jitted, args), outcome(function, args))


# -- What isn't compiled ---------------------------------------------------------------------------


def two_names(a, b, n):
    for i in range(n):
        a.append(i)
        b[0] = len(b)
    return a


def mixed(n):
    out = []
    for i in range(n):
        if i % 2:
            out.append(i)
        else:
            out.append(i / 2)
    return out


def while_it_grows(items):
    for item in items:
        if item < 50:
            items.append(item * 2 + 1)
    return items


def another_name(n):
    out = []
    for i in range(n):
        same = out
        same.append(i)
    return out


def its_result(n):
    out, last = [], 0
    for i in range(n):
        last = out.append(i)
    return out, last


def of_arrays(x, n):
    states = []
    for _ in range(n):
        x = x * 0.5
        states.append(x)
    return states


def nested(grid):
    total = 0
    for i in range(len(grid)):
        for j in range(len(grid[i])):
            total += grid[i][j]
    return total


def of_words(words):
    total = 0
    for word in words:
        total += len(word)
    return total


def at_the_front(n):
    out = []
    for i in range(n):
        out.insert(0, i)
    return out


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (mixed, (9,)),
        (while_it_grows, ([1, 2],)),
        (another_name, (5,)),
        (its_result, (5,)),
        (of_arrays, (np.ones(3), 4)),
        (nested, ([[1, 2], [3]],)),
        (of_words, (["ab", "c"],)),
        (at_the_front, (5,)),
        (two_names, ([1], [2], 4)),
    ],
)
def test_what_isnt_compiled_is_pythons(function, args):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    for _ in range(2):
        assert_same(outcome(jitted, args), outcome(function, args))


def test_one_list_under_two_names():
    jitted = npaccel.jit(two_names, default_float="float64", backend="eager")
    for function in (jitted, two_names):
        both = [1]
        assert function(both, both, 4) is both
        assert both == [5, 0, 1, 2, 3] or both == [5, 0, 1, 2, 3][: len(both)]
    first, second = [1], [1]
    jitted(first, first, 4)
    two_names(second, second, 4)
    assert first == second


def test_the_list_stays_the_same_object():
    jitted = npaccel.jit(growing, default_float="float64", backend="eager")
    out = [np.pi]
    jitted(100, out)
    assert out[0] is np.pi or out[0] == np.pi
    assert len(out) == 101
    assert {type(item) for item in out} == {float}


def test_kinds_of_items_are_told_apart():
    jitted = npaccel.jit(reads_beyond, default_float="float64", backend="eager")
    for items in (
        [1, 2],
        [1.5, 2.5],
        [True, True],
        [np.float32(1), np.float32(2)],
        [1, 2.5],
        [2**70],
    ):
        assert_same(jitted(items, len(items)), reads_beyond(items, len(items)))


def of_counts(p, x):
    made = []
    for i in range(len(p)):
        n = int(p[i]) % 4 + 1
        made.append(np.sin(x[:n]).sum() + np.zeros(n).size)
    return made


def of_choices(p, x):
    for i in range(len(p)):
        if p[i] > 2:
            x = x + p[i]
        else:
            x = x * p[i - 1] - p[-1]
    return x


def of_columns(p, x):
    out = np.zeros((len(p), len(x)))
    for t in range(1, len(p)):
        out[t] = out[t - 1] * 0.5 + np.roll(x, 1)[int(p[t]) % len(x)] * p[t]
    return out


def of_written(p, x):
    p = list(p)
    for i in range(len(p) - 1):
        p[i + 1] = p[i] + 1
        x = np.tanh(x) * p[i + 1]
    return x, p


def until(p, x):
    i = 0
    while i < len(p) and p[i] < 100:
        x = np.sqrt(np.abs(x + p[i]))
        i += 1
    return x, i


@pytest.mark.parametrize("function", [of_counts, of_choices, of_columns, of_written, until])
def test_items_of_lists_of_numbers_are_inputs(function):
    """A list or tuple of numbers is indexed by the loop's counter: no graph for each item."""
    x = np.linspace(0.1, 2, 7)
    jitted = npaccel.jit(function, compile="now", backend="eager", default_float="float64")
    for given in (
        list(range(1, 13)),
        tuple(range(2, 14)),
        [0.5, 2.5, 7.0, 3.0],
        [True, False],
        [3],
    ):
        assert_same(jitted(copy.copy(given), x.copy()), function(copy.copy(given), x.copy()))
    assert len(jitted.report().graphs) <= 9
    again = npaccel.jit(function, compile="now", backend="eager", default_float="float64")
    for shift in range(6):
        given = [value + shift for value in range(12)]
        assert_same(again(list(given), x.copy()), function(list(given), x.copy()))
    assert len(again.report().graphs) <= 4
