"""Functions that are split at their loops compute what NumPy does, in every style of loop."""

import copy
import itertools
import math
import pickle
import threading
import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel.errors import NotCompiledError, PerformanceWarning

pytestmark = pytest.mark.sampled
X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
TABLE = np.arange(20.0).reshape(5, 4)
counter = 0
field = np.zeros(6)
weight = 2.0


def check(function, *arguments, compiled=True, **options):
    """Compare two calls with NumPy's: result and arguments; return the compiled function."""
    jitted = npaccel.jit(
        **{"backend": "eager", "default_float": "float64", "loops": "compile", **options}
    )(function)
    for _ in range(2):
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        wanted = function(*theirs)
        with warnings.catch_warnings():
            if compiled:
                warnings.simplefilter("error", npaccel.errors.PerformanceWarning)
            assert_same(jitted(*ours), wanted)
        assert_same(ours, theirs)
    if compiled:
        assert not jitted.report().fallbacks
    return jitted


def loops_of(jitted):
    return [loop.text for loop in jitted.report().loops]


# -- What a loop goes over


def over_range(a, start, stop, step):
    total = np.zeros_like(a)
    for i in range(start, stop, step):
        total = total + i * a
    return total


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


def over_rows(a):
    total = 0.0
    for row in a:
        total = total + np.sum(row**2)
    return total


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


def continuing(a, n):
    out = np.zeros_like(a)
    for i in range(n):
        if i % 3 == 1:
            continue
        out = out + a**i
        if out.sum() > 100:
            continue
        out = out - 1
    return out


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


# -- Functions that are called


def relaxed(p, b, iterations):
    for _ in range(iterations):
        old = p.copy()
        p[1:-1] = (old[2:] + old[:-2] - b[1:-1]) / 2
    return p


def nested(u, p, n):
    for _ in range(n):
        b = u * u
        p = relaxed(p, b, 3)
        u = u - 0.1 * p + relaxed(p * 1.0, b + 1, 2)
    return u, p


def test_a_loop_in_a_helper_is_split_too():
    jitted = check(nested, np.arange(6.0), np.ones(6), 3)
    assert loops_of(jitted) == ["for _ in range(iterations):", "for _ in range(n):"]


def test_a_helper_that_is_rebound(monkeypatch):
    jitted = npaccel.jit(nested, backend="eager", loops="compile", default_float="float64")
    jitted(np.arange(6.0), np.ones(6), 2)

    def other(p, b, iterations):
        for _ in range(iterations):
            p = p - b
        return p

    monkeypatch.setitem(globals(), "relaxed", other)
    assert_same(jitted(np.arange(6.0), np.ones(6), 2), nested(np.arange(6.0), np.ones(6), 2))


class Model:
    def __init__(self):
        self.rate = 0.5
        self.steps = 0

    def advance(self, a, n):
        for _ in range(n):
            a = self.iteration(a)
            self.steps += 1
        return a

    def iteration(self, a):
        for _ in range(20):
            a = a - self.rate * a / 20
        return a

    fast = npaccel.jit(advance, backend="eager", loops="compile", default_float="float64")


def test_methods():
    one, other = Model(), Model()
    assert_same(one.fast(X, 3), other.advance(X, 3))
    one.rate = other.rate = 0.25
    assert_same(one.fast(X, 2), other.advance(X, 2))
    assert one.steps == other.steps == 5


# -- Errors


def failing(a, n):
    done = 0
    for i in range(n):
        a[i] = 1.0
        done = i + 1
        if i == 2:
            raise KeyError(done)
    return a


def out_of_bounds(a, n):
    for i in range(n):
        a[i] = np.sum(a)
    return a


def handled(a, n):
    state = "none"
    for i in range(n):
        try:
            state = f"iteration {i}"
            a = a + 1
            if i == 1:
                a = np.linalg.cholesky(-np.eye(3)) + a
        except np.linalg.LinAlgError:
            return state, a
        finally:
            a = a * 2
    return state, a


def test_errors():
    ours, theirs = np.zeros(5), np.zeros(5)
    with pytest.raises(KeyError, match="3"):
        npaccel.jit(failing, backend="eager", loops="compile")(ours, 5)
    with pytest.raises(KeyError, match="3"):
        failing(theirs, 5)
    assert_same(ours, theirs)
    with pytest.raises(IndexError) as caught:
        npaccel.jit(out_of_bounds, backend="eager", loops="compile")(np.ones(3), 5)
    lines = [entry for entry in caught.traceback if str(entry.path) == __file__]
    assert "a[i] = np.sum(a)" in str(lines[-1].statement)
    check(handled, X, 1)
    check(handled, X, 4)


# -- What stays as it is


def small_and_constant(a):
    for axis in range(2):
        a = a - a.mean(axis=axis, keepdims=True)
    for power in (1, 2, 3):
        a = a + a**power
    return a


def about_numbers(a, n):
    factor = 1
    for i in range(1, n):
        factor *= i
    return a * factor, math.sqrt(factor)


def test_small_loops_are_unrolled():
    jitted = check(small_and_constant, X)
    assert not jitted.report().loops
    assert len(jitted.report().graphs) == 1


def test_loops_about_numbers_are_pythons():
    check(about_numbers, X, 6)


def generating(a):
    yield from (row * 2 for row in a)


def hidden(a, n):
    for _ in range(n):
        a = a + len(locals())
    return a


def test_what_cannot_be_split_says_so():
    jitted = npaccel.jit(hidden, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(jitted(X, 3), hidden(X, 3))
    assert any("locals()" in note for note in jitted.report().notes)


def made_by_exec():
    names = {"np": np}
    exec("def f(a, n):\n    for i in range(n):\n        a = np.sin(a) + i\n    return a", names)
    return names["f"]


def test_without_source():
    function = made_by_exec()
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    assert_same(jitted(X, 3), function(X, 3))
    assert any("source" in note for note in jitted.report().notes)


# -- Loops over single elements


def recurrence(a, b):
    total = 0.0
    for i in range(1, len(a)):
        a[i] = 0.5 * a[i - 1] + b[i]
        if a[i] > 1:
            continue
        total += a[i]
    return total, i


def two_nests(a, b):
    c = np.cos(a)
    for i in range(len(a)):
        for j in range(i):
            c[i] += b[j]
    s = c.sum()
    for x in b:
        s += x * 2
    return c, s


@pytest.mark.parametrize("function", [recurrence, two_nests])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_single_elements_go_to_numba(function, dtype):
    pytest.importorskip("numba")
    arrays = np.arange(9, dtype=dtype), np.linspace(-3, 3, 9).astype(dtype)
    jitted = check(function, *arrays, loops="auto")
    assert {loop.engine for loop in jitted.report().loops} == {"Numba"}
    check(function, *arrays, loops="compile")


def test_single_elements_without_numba(monkeypatch):
    from npaccel._loops.nests import numba_backend

    def missing(*args, **options):
        raise numba_backend.NotInstalledError("no Numba")

    monkeypatch.setattr(numba_backend, "compile_nest", missing)
    jitted = npaccel.jit(recurrence, backend="eager", default_float="float64")
    ours, theirs = np.arange(5.0), np.arange(5.0)
    with pytest.warns(PerformanceWarning, match="install Numba"):
        result = jitted(ours, np.ones(5))
    assert_same(result, recurrence(theirs, np.ones(5)))
    assert_same(ours, theirs)
    strict = npaccel.jit(recurrence, backend="eager", strict=True)
    with pytest.raises(NotCompiledError, match="Numba"):
        strict(np.arange(5.0), np.ones(5))


# -- Options


@pytest.mark.parametrize("loops", ["auto", "compile", "unroll", "python"])
def test_the_option(loops):
    jitted = check(over_range, X, 0, 4, 1, loops=loops)
    engines = {loop.engine for loop in jitted.report().loops}
    expected = {"unroll": set(), "python": {"Python"}}.get(loops, {"compiled body"})
    assert engines == expected


def test_static_arguments_and_defaults():
    def power(a, n, order=2, *, shift=0.0):
        for _ in range(n):
            a = np.abs(a) ** (1 / order) + shift
        return a

    jitted = npaccel.jit(power, backend="eager", static_argnames="order", default_float="float64")
    assert_same(jitted(X, 3), power(X, 3))
    assert_same(jitted(X, 3, 4, shift=1.0), power(X, 3, 4, shift=1.0))
    with pytest.raises(TypeError, match="unexpected|got an"):
        jitted(X, 3, shifted=1)


def test_strict_refuses_what_is_uncompiled_in_a_loop():
    def opaque(a, n):
        for _ in range(n):
            a = np.frombuffer(a.tobytes())
        return a

    with pytest.raises(NotCompiledError):
        npaccel.jit(opaque, backend="eager", strict=True)(X.ravel(), 2)


def test_default_float_in_loops():
    def invented(n):
        total = np.zeros(3)
        for i in range(n):
            total = total + np.ones(3) * i
        return total

    narrow = npaccel.jit(invented, backend="eager")
    assert narrow(3).dtype == np.float32
    check(invented, 3)


def test_threads():
    jitted = npaccel.jit(continuing, backend="eager", default_float="float64")
    results = [None] * 4

    def work(i):
        results[i] = jitted(X + i, 6)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in enumerate(results):
        assert_same(result, continuing(X + i, 6))


jitted_rows = npaccel.jit(over_rows, backend="eager", default_float="float64")


def test_pickled():
    jitted_rows(X)
    again = pickle.loads(pickle.dumps(jitted_rows))
    assert_same(again(X), over_rows(X))


def test_tensors():
    import torch

    jitted = npaccel.jit(over_range, backend="eager", default_float="float64")
    result = jitted(torch.from_numpy(X), 0, 4, 1)
    assert isinstance(result, torch.Tensor)
    np.testing.assert_allclose(result.numpy(), over_range(X, 0, 4, 1))


def settling(x, n):
    for _ in range(n):
        x = np.tanh(x) * 0.5 + np.sum(x)
    return x


@pytest.mark.inductor
def test_loops_over_tensors_stay_compiled():
    import torch

    jitted = npaccel.jit(settling, cache=False)
    x = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64, requires_grad=True)
    result = jitted(x, 12)  # Long enough to time bodies, were they arrays.
    np.testing.assert_allclose(result.detach(), settling(x.detach().numpy(), 12))
    result.sum().backward()
    step = 1e-7 * np.array([1.0, 0.0, 0.0])
    rise = settling(x.detach().numpy() + step, 12) - settling(x.detach().numpy() - step, 12)
    np.testing.assert_allclose(x.grad[0], rise.sum() / 2e-7, rtol=1e-5)


def test_an_array_of_indices_that_a_loop_fills(backend):
    def f(a):
        places = []
        for row in a:
            places.append((row > 0).sum())  # noqa: PERF401 (the loop is what is tested)
        places = np.array(places)
        return a[places], a.sum()

    jitted = npaccel.jit(f, backend=backend, dynamic=True)
    for n in (3, 4):
        a = np.arange(n * 2.0).reshape(n, 2) - 3
        assert_same(jitted(a), f(a))


@pytest.mark.parametrize("lines", [4, 10, 13, 16, 40, 80])
def test_loops_with_long_bodies_are_split(tmp_path, lines):
    """How long a jump is depends on how calls are made: that is no difference of the source."""
    line = "        x = 0.5 * np.sin(x) + 0.25 * np.cos(np.abs(x) + {})"
    body = "\n".join(map(line.format, range(lines)))
    text = f"import numpy as np\n\ndef f(x, n):\n    for _ in range(n):\n{body}\n    return x\n"
    file = tmp_path / "long_body.py"
    file.write_text(text, encoding="utf-8")
    namespace = {"__name__": "long_body"}
    exec(compile(text, str(file), "exec"), namespace)
    jitted = check(namespace["f"], np.linspace(0, 1, 5), 6)
    assert jitted.report().loops, str(jitted.report())


def test_methods_stay_with_their_arrays():
    """`sums.astype` isn't taken out of the compiled line alone: it's a tensor's there."""

    def converts(rows, other):
        sums = []
        for row in rows:
            sums.append(row.sum())  # noqa: PERF401 (as users write it)
        sums = np.array(sums)
        rows **= 2
        return sums.astype(np.result_type(sums, other)) + other

    jitted = check(converts, X.astype("f"), np.ones(3, "i1"))
    rng = np.random.default_rng(0)
    for shape in ((4, 9), (5, 6), (4, 9)):
        rows, other = rng.normal(size=shape).astype("f"), np.ones(shape[0], "i1")
        assert_same((jitted(rows.copy(), other),), (converts(rows.copy(), other),))
