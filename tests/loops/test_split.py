"""Functions that are split at their loops compute what NumPy does, in every style of loop."""

import itertools

import numpy as np
import pytest
from comparing import assert_same
from split_checking import X, check, continuing, loops_of, over_range, over_rows

import npaccel

pytestmark = pytest.mark.sampled
counter = 0
field = np.zeros(6)
weight = 2.0


# -- What a loop goes over


@pytest.mark.parametrize("bounds", [(0, 5, 1), (5, 0, -2), (3, 3, 1), (-2, 9, 4), (0, 1, 1)])
def test_range(bounds):
    jitted = check(over_range, X, *bounds)
    assert loops_of(jitted) == ["for i in range(start, stop, step):"]


def test_the_count_does_not_reach_the_compiler():
    jitted = npaccel.jit(over_range, backend="eager", loops="compile")
    jitted(X, 0, 5, 1)
    graphs = len(jitted.report().graphs)
    jitted(X, 0, 500, 1)
    assert len(jitted.report().graphs) == graphs


def by_the_count(a, counts):
    found = []
    for i in counts:
        found.append(a if i == 0 else -a if i > 6 else a[i % 3 :] * i)  # noqa: PERF401
    return [x.copy() for x in found]


def passed_on(a, b, counts):
    for i in counts:
        a, b = (b, a) if i % 2 == 0 else (a, b)
        c = a if i == 3 else b
    return a, c


@pytest.mark.parametrize("counts", [range(-1, 9), (0, 0, 1, 5, 0), (8, 0, 8, 7, 3, 3)])
def test_the_count_decides_what_an_iteration_does(counts):
    check(by_the_count, X, counts, loops="compile")
    check(passed_on, X, X + 1, counts, loops="compile")


def neighbours(a):
    total = np.zeros_like(a)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down == 0 and right == 0:
                continue
            if down == 1 and right == 1:
                break
            total += np.roll(a, (down, right), axis=(0, 1))
    return total


def test_small_loops_with_jumps_are_unrolled():
    jitted = check(neighbours, X)
    assert len(jitted.report().graphs) == 1


def small_loop_left_by_value(a):
    for k in (1, 2, 3):
        if a.sum() > 20:
            break
        a = a * k + 1
    return a


@pytest.mark.parametrize("start", [0.0, 1.0, 9.0])
def test_small_loops_that_values_end_are_not(start):
    check(small_loop_left_by_value, X + start)


def over_rows_written(a, b):
    for row, other in zip(a, b, strict=False):
        row += 2 * other


def over_enumerate(a):
    out = np.empty(len(a))
    for i, row in enumerate(a[::-1]):
        out[i] = row.max() - i
    return out


def over_reversed(a):
    acc = np.zeros(a.shape[1])
    for row in reversed(a):
        acc = 0.5 * acc + row
    return acc


def over_products(a):
    out = np.zeros((3, 3))
    for i, j in itertools.product(range(3), range(3)):
        out[i, j] = np.dot(a[i], a[j])
    return out


def over_linspace(a):
    out = a.copy()
    for t in np.linspace(0.0, 1.0, 7):
        out = out + t * np.cos(out)
    return out


@pytest.mark.parametrize(
    "function", [over_rows, over_enumerate, over_reversed, over_products, over_linspace]
)
def test_what_a_loop_goes_over(function):
    check(function, X)


def test_rows_are_views():
    check(over_rows_written, X, X + 1)


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (3, 0), (3, 1)])
def test_rows_of_arrays_with_special_sizes(shape):
    check(over_rows, np.ones(shape))
    check(over_reversed, np.ones(shape))


# -- Ways out of a loop


def breaking(a, limit):
    n = 0
    while True:
        a = a * 1.5
        n += 1
        if np.abs(a).max() > limit:
            break
    return a, n


def otherwise(a, limit):
    for i in range(10):
        a = a + i
        if a.min() > limit:
            where = "found"
            break
    else:
        where = "not found"
        a = -a
    return where, a


def early(a, n):
    for i in range(n):
        a = a * 2
        if a[0, 0] < -20:
            return i, a
    return a


def until_converged(a, tolerance):
    x = np.ones(a.shape[0])
    error, iterations = np.inf, 0
    while error > tolerance and iterations < 200:
        new = np.cos(a @ x) / 2
        error = np.abs(new - x).max()
        x = new
        iterations += 1
    return x, error, iterations


def while_not(a):
    iterations = 0
    while not (a.sum() > 50 or iterations > 30):
        a = a + 1
        if iterations == 2:
            iterations += 2
            continue
        iterations += 1
        if iterations > 100:
            break
    else:
        iterations = -iterations
    return a, iterations


@pytest.mark.parametrize("limit", [3.0, 100.0])
def test_ways_out(limit):
    check(breaking, X, limit)
    check(continuing, X, 7)
    check(otherwise, X, limit)
    check(early, X, int(limit))


def of_numbers(n, x):
    total = 0
    for i in range(n):
        total += i
    a, b = 0, 1
    while b < n:
        a, b = b, a + b
    for i in range(n):
        x = x + i
    return x * total, a


def test_a_loop_of_numbers_alone_is_pythons():
    jitted = check(of_numbers, 7, X, loops="compile")
    engines = [loop.engine for loop in jitted.report().loops]
    assert engines == ["Python", "Python", "compiled body"]


def test_conditions_on_arrays():
    a = np.array([[0.2, 0.1], [0.3, 0.4]])
    jitted = check(until_converged, a, 1e-9)
    assert [loop.engine for loop in jitted.report().loops] == ["compiled body"]
    check(while_not, X)


# -- The index


def triangle(a):
    n = len(a)
    lower = np.zeros_like(a)
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - lower[j, :j] @ lower[j, :j])
        lower[j + 1 :, j] = (a[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def recorded(v, n):
    energy = np.zeros(n)
    for i in range(n):
        v = v * 0.9
        energy[i] = 0.5 * np.sum(v**2)
    return energy, v


def by_pointers(data, starts):
    out = np.zeros(len(starts) - 1)
    for row in range(len(starts) - 1):
        first, last = starts[row], starts[row + 1]
        out[row] = data[first:last].sum() + data[starts[row] : starts[row + 1]].size
    return out


def test_the_index_in_slices():
    m = np.random.default_rng(0).normal(size=(7, 7))
    jitted = check(triangle, m @ m.T + 7 * np.eye(7))
    check(recorded, X, 6)
    check(by_pointers, np.arange(12.0), np.array([0, 3, 3, 7, 12]))
    assert jitted.report().graphs


@pytest.mark.inductor
def test_compiled_bodies_are_few():
    m = np.random.default_rng(0).normal(size=(40, 40))
    jitted = npaccel.jit(triangle, loops="compile", cache=False)
    np.testing.assert_allclose(
        jitted(m @ m.T + 40 * np.eye(40)), triangle(m @ m.T + 40 * np.eye(40))
    )
    compiled = [graph for graph in jitted.report().graphs if graph.backend == "inductor"]
    assert len(compiled) <= 3
    energies = npaccel.jit(recorded, loops="compile", cache=False, default_float="float64")
    assert_same(energies(X, 6)[0].shape, (6,))
    np.testing.assert_allclose(energies(X, 9)[0], recorded(X, 9)[0])


# -- Lists, prints, names


def growing(a, n):
    history, sizes = [], {}
    for i in range(n):
        a = np.sin(a) + 1
        history.append(a.copy())
        sizes[i] = a.sum()
        if len(history) > 2 and history[-1].max() < 0:
            history.pop()
    return np.array(history), sizes, history[0]


def appended_numbers(a, n):
    errors = []
    for _ in range(n):
        a = a / 2
        errors.append(float(np.abs(a).max()))
    return errors, np.array(errors)


def test_lists():
    check(growing, X, 5)
    check(appended_numbers, X, 4)


def printing(a, n):
    for i in range(n):
        a = a + 1
        if i % 2 == 0:
            print(f"iteration {i}: {a.max():.2f}", a.sum())
    return a


def test_prints(capsys):
    check(printing, X, 5)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == lines[3:6] == lines[6:9] == lines[9:12]
    assert lines[0].startswith("iteration 0: 3.00")


def swapped(u, n):
    old = u.copy()
    for _ in range(n):
        old, u = u, old
        u[1:-1] = 0.5 * (old[:-2] + old[2:])
    return u, old


def assigned_in_the_loop(a, n):
    for i in range(n):
        if i == 0:
            total = a
        else:
            total = total + a * i
        last = total.max()
    return total, last, i


def assigned_in_an_unrolled_loop(a, n):
    for axis in range(2):
        mean = a.mean(axis=axis)
        a = a - mean.sum()
    for _ in range(n):
        a = a * mean.max()
    return a, mean


def unbound(a, n):
    for _ in range(n):
        total = a * 2
    return total


def test_names():
    check(swapped, np.arange(7.0), 5)
    check(assigned_in_the_loop, X, 4)
    check(assigned_in_an_unrolled_loop, X, 2)
    check(unbound, X, 1)
    jitted = npaccel.jit(unbound, backend="eager")
    with pytest.raises(UnboundLocalError, match="total"):
        jitted(X, 0)


def writing_globals(n):
    global counter  # noqa: PLW0603
    for _ in range(n):
        field[1:] += weight * (field[:-1] + 1)
        counter += 1
    return field.copy()


def test_globals(monkeypatch):
    jitted = npaccel.jit(writing_globals, backend="eager", loops="compile")
    for value in (2.0, 3.0):
        monkeypatch.setitem(globals(), "weight", value)
        field[:] = 0
        monkeypatch.setitem(globals(), "counter", 0)
        ours = jitted(4)
        assert counter == 4
        field[:] = 0
        assert_same(ours, writing_globals(4))


def test_closures():
    factor = 2.0
    calls = 0

    def step(a, n):
        nonlocal calls
        for _ in range(n):
            a = factor * a + 1
            calls += 1
        return a

    jitted = npaccel.jit(step, backend="eager", loops="compile", default_float="float64")
    assert_same(jitted(X, 3), step(X, 3))
    assert calls == 6
    factor = 3.0
    assert_same(jitted(X, 3), step(X, 3))


def with_inner_function(a, n):
    scale = 0.5

    def half(x):
        return x * scale

    add = lambda x, y: x + y  # noqa: E731
    for _ in range(n):
        a = add(half(a), 1.0)
        scale = scale + 0.1
    return a


def with_nonlocal(a, n):
    count, total = 0, np.zeros_like(a)

    def add(x):
        nonlocal count, total
        count += 1
        total = total + x
        return total.sum()

    last = twice = None
    for i in range(n):
        last = add(a * i)
        twice = total * 2
    return count, total, last, twice


def with_global(a, n):
    def count(x):
        global counter  # noqa: PLW0603
        counter += 1
        return x + counter

    for _ in range(n):
        a = count(a) * 0.5
    return a


def test_inner_functions():
    check(with_inner_function, X, 4)


def test_inner_functions_that_assign(monkeypatch):
    jitted = check(with_nonlocal, X, 4)
    assert "an inner function assigns to count, total" in str(jitted.report())
    monkeypatch.setitem(globals(), "counter", 0)
    ours = npaccel.jit(with_global, backend="eager", loops="compile", default_float="float64")(X, 3)
    assert counter == 3
    monkeypatch.setitem(globals(), "counter", 0)
    assert_same(ours, with_global(X, 3))
