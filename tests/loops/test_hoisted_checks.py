"""Loops whose subscripts are looked at before the first iteration: the same in all that shows."""

import itertools
import random

import numpy as np
import pytest
from nest_checking import check, compiled, function_of, nest_of, outcome

from npaccel._loops.nests.lowering import lower_nest
from npaccel._loops.nests.lowering.types import NotSupportedError

pytest.importorskip("numba")


def lowered(function, *args):
    names = [argument.arg for argument in nest_of(function).args.args]
    values = dict(zip(names, args, strict=True))
    return lower_nest.lower(nest_of(function), values, function.__globals__, narrow=False)


def loops(function, *args):
    """Return how many loops the code of a nest has, and how many of its subscripts it checks."""
    lines = lowered(function, *args).source.splitlines()
    ends = sum(line.strip().startswith("_fail(") for line in lines)
    return sum(line.strip().startswith("for ") for line in lines), ends


def shifted(x, y, low, high, c):
    for k in range(low, high):
        y[k] = x[k + c] - x[k - 1] * y[k]
    return (k,)


def downwards(x, y, low, high, c):
    for k in range(high, low, -1):
        y[k] += x[c - k] + y[k + 1]
    return (k,)


def by_steps(x, y, low, high, c):
    for k in range(low, high, 2):
        y[c - k + 1] = x[k] + x[c + k]
    return (k,)


@pytest.mark.parametrize("function", [shifted, downwards, by_steps])
def test_bounds(function):
    nest = None
    values = np.random.default_rng(3).standard_normal(40)
    values[7] = np.nan
    sizes = [(6, 6), (1, 1), (0, 0), (6, 4), (4, 6), (9, 12)]
    for (n, m), low, high, c in itertools.product(sizes, (-3, 0, 1, 4), (-2, 0, 3, 7), (-1, 0, 3)):
        nest = check(function, values[:n], values[20 : 20 + m], low, high, c, nest=nest)


def rows(a, b, i, j, start):
    for k in range(start, 4):
        a[i, k] -= a[i - 1, k] * a[k][j]
        if k == 2:
            b[k] = a[k, i]
            continue
        b[k + start] += 1.0
    return (k,)


@pytest.mark.sampled
@pytest.mark.parametrize("order", ["C", "F", "strided", "short"])
def test_rows_and_columns(order):
    a = np.arange(80.0).reshape(8, 10)
    a = {"C": a[:5, :6].copy(), "F": a[:5, :6].copy("F"), "strided": a[::2, ::2], "short": a[:3]}[
        order
    ]
    nest = None
    for i, j, start in itertools.product((-6, -1, 0, 2, 5), (-1, 0, 3, 9), (-2, 0, 1, 3, 5)):
        nest = check(rows, a, np.ones(7), i, j, start, nest=nest)


def test_what_was_written_before_an_index_fails_stays():
    def add(x, y, n):
        for k in range(n):
            x[k] += 1
            y[k] = 2 * x[k]
        return ()

    nest = None
    for n in range(8):
        nest = check(add, np.zeros(6), np.zeros(4), n, nest=nest)


def test_break_and_what_a_loop_leaves():
    def first(x, y, n):
        best = 0
        for k in range(n):
            if x[k] > 2:
                best = x[k]
                break
            y[k] = best
        return (best, k)

    nest = None
    for n, x in itertools.product((1, 3, 6), ([0.0, 1, 2], [3.0, 0, 0], [0, np.nan, 4], [1.0])):
        nest = check(first, np.array(x), np.zeros(3), n, nest=nest)
    nest = check(first, np.array([0.0, 5, 1, 1, 1, 1, 1]), np.zeros(7), 6, nest=nest)
    check(first, np.zeros(0), np.zeros(0), 0)


def wander(x, y, n, i):
    for k in range(n):
        y[i] += x[k]
        i += 2
    return (i,)


def renumbered(x, y, n, i):
    for k in range(n):
        y[k], k = x[k], k + i
        y[k] = 1
    return (k,)


@pytest.mark.parametrize("function", [wander, renumbered])
def test_names_that_change_in_the_loop(function):
    nest = None
    for n, i in itertools.product((0, 2, 5), (-3, 0, 1, 4)):
        nest = check(function, np.arange(5.0), np.zeros(6), n, i, nest=nest)


def test_numbered_items():
    def enumerated(x, y, n):
        for k, item in enumerate(x):
            y[k] = item + y[k + n]
        return (k,)

    def by_item(x, y, n):
        for k, item in enumerate(x):
            y[item] += k * n
        return (k,)

    nest = None
    for n, size in itertools.product((-1, 0, 2), (1, 4, 6)):
        nest = check(enumerated, np.arange(4.0), np.arange(float(size)), n, nest=nest)
    nest = None
    for items in ([0, 1, 2], [-1, 2, 5], [-7, 0], []):
        check(by_item, np.array(items, dtype=np.int64), np.zeros(5), 2)


@pytest.mark.parametrize("start", [0, 1, -2, 3, np.int8(2), True, 2**62, 1 - 2**63, 2**63 - 3])
def test_numbers_that_begin_elsewhere(start):
    def positional(x, y, n, total):
        for k, item in enumerate(x, n):
            total += k % 7 * item
            if k < 6:
                y[k] = y[k - 1] + item
        return (total, k)

    def by_name(x, y, n, total):
        for k, (one, other) in enumerate(zip(x, y), start=n):  # noqa: B905
            if k > 0:
                total += one * other
        return (total, k)

    def by_twos(x, y, n, total):
        for k, i in enumerate(range(4, -1, -2), n + 1 if abs(n) < 9 else n):
            total += k % 5 + i
        return (total, k)

    for function in (positional, by_name, by_twos):
        nest = None
        for size in (5, 1, 0):
            nest = check(function, np.arange(float(size)), np.zeros(6), start, 0.0, nest=nest)


@pytest.mark.parametrize(
    "call", ["enumerate(x, 1.5)", "enumerate(x, 1, 2)", "enumerate(x, begin=1)"]
)
def test_numbers_that_cannot_be(call):
    source = f"def f(x, s):\n    for k, item in {call}:\n        s += k * item\n    return (s,)\n"
    with pytest.raises(NotSupportedError):
        compiled(function_of(source), np.arange(3.0), 0.0)


def test_large_ints():
    def far(x, y, low, high, c):
        for k in range(low, high):
            y[k + c] = x[k]
        return (k,)

    for low, high, c in (
        (2**62, 2**62 + 3, -(2**62)),
        (0, 3, 2**62),
        (-(2**63) + 5, -(2**63) + 6, 0),
        (2**63 - 3, 2**63 - 1, 5),
        (3, -(2**63) + 1, 1),
        (0, 3, 2**40),
    ):
        check(far, np.arange(4.0), np.zeros(5), low, high, c)


def test_long_views_without_memory():
    def total(x, n, c):
        s = 0
        for k in range(n):
            s += int(x[k + c])
        return (s,)

    x = np.broadcast_to(np.int8(3), (2**62 + 5,))
    nest = compiled(total, x, 4, 0)
    for n, c in ((4, 0), (4, 2**62), (9, 2**62), (9, -3)):
        got, error = outcome(nest, (x, n, c))
        wanted, python_error = outcome(total, (x, n, c))
        assert (got, repr(error)) == (wanted, repr(python_error))


def test_functions_that_are_called():
    def dot(a, b, n):
        s = 0.0
        for k in range(n):
            s += a[k] * b[k + 1]
        return s

    def table(a, b, n):
        for i in range(4):
            a[i] = dot(a, b, n + i)
        return ()

    namespace = {"dot": dot, "range": range}
    nest = None
    for n in (0, 1, 2, 5):
        arguments = np.arange(5.0), np.arange(6.0), n
        nest = nest or compiled(table, *arguments, namespace=namespace)
        table_here = function_of(
            "def table(a, b, n):\n    for i in range(4):\n        a[i] = dot(a, b, n + i)\n"
            "    return ()\n",
            namespace,
        )
        check(table_here, *arguments, nest=nest)


def test_innermost_loops_are_written_twice():
    def inner(a, n):
        for i in range(n):
            for j in range(n):
                a[i, j] = a[i, j + 1] + 1.0
        return ()

    def outer(a, n):
        for i in range(n):
            a[i, 0] = 1.0
            for j in range(n):
                a[0, 0] += j
        return ()

    a = np.zeros((5, 6))
    assert loops(inner, a, 5)[0] == 3
    assert loops(outer, a, 5)[0] == 2
    # A loop that always counts from the end is as it was.
    assert loops(negative, a[0], 5)[0] == 1


def negative(x, n):
    for k in range(3):
        x[k - 5] = n
    return (k,)


def test_always_from_the_end():
    for size in (0, 3, 5, 6):
        check(negative, np.zeros(size), 2)


INDICES = (
    "k",
    "k + 1",
    "k - 1",
    "c - k",
    "k + c",
    "c",
    "n - 1 - k",
    "-1",
    "c + 1 - k",
    "k - c + n",
)


def random_source(draw):
    """Return a nest of random subscripts."""
    one, two = (lambda: draw.choice(INDICES)), (lambda: f"{draw.choice(INDICES)}, {one()}")
    bounds = draw.choice(
        ("n", "c, n", "1, n - 1", "n - 1, -1, -1", "n, c, -1", "0, n, 2", "n - 1, c, -2", "c, n, s")
    )
    lines = [f"def made(a, x, n, c, s):\n    for k in range({bounds}):"]
    if draw.random() < 0.3:
        lines.append(f"        if x[{one()}] > 0:\n            x[{one()}] = 2.0")
    for _ in range(draw.randint(1, 2)):
        target = draw.choice((f"a[{two()}]", f"x[{one()}]"))
        lines.append(f"        {target} {draw.choice(('=', '+='))} a[{two()}] - x[{one()}]")
    return "\n".join([*lines, "    return (k,)", ""])


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(12))
def test_random_subscripts(seed):
    draw = random.Random(seed)
    function = function_of(random_source(draw))
    values = np.random.default_rng(seed).standard_normal((9, 9))
    nest = None
    for _ in range(60):
        a = values[: draw.randint(0, 6), : draw.randint(0, 6)]
        x = values.ravel()[: draw.randint(0, 6)]
        n, c, s = draw.randint(-2, 7), draw.randint(-3, 6), draw.choice((-2, -1, 1, 1, 2))
        if draw.random() < 0.5:  # Often all is within the bounds.
            a, x, n, c = values[:7, :7], values.ravel()[:8], draw.randint(1, 5), draw.randint(1, 3)
        nest = check(function, a, x.copy(), n, c, s, nest=nest)
