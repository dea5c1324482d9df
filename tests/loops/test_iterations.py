"""Iterations without Python between them, on tensors or in NumPy, are iterations like others."""

import collections
import copy
import itertools
import runpy
import time
import types
import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel._loops.driver import driver, iterations
from npaccel._loops.driver import region as driver_region
from npaccel.errors import PerformanceWarning

X = np.linspace(0.0, 1.0, 12)
COUNTS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 24, 40]
field = np.zeros(6)


@pytest.fixture
def variants(monkeypatch):
    """Which variants were taken: True for tensors, False for NumPy."""
    taken = []
    run_some = iterations.LoopScheduler._run_some

    def noted(self, execution, values, budget, on_tensors):
        result = run_some(self, execution, values, budget, on_tensors)
        taken.append((on_tensors, self.failures))
        return result

    monkeypatch.setattr(iterations.LoopScheduler, "_run_some", noted)
    return taken


def check(function, *arguments, counts=COUNTS, shares=False, **options):
    jitted = npaccel.jit(
        **{"backend": "eager", "default_float": "float64", "loops": "compile", **options}
    )(function)
    for n in counts:
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if shares else "error", PerformanceWarning)
            try:
                wanted = function(*theirs, n)
            except Exception as error:  # noqa: BLE001 (whatever it is, it must be the same)
                with pytest.raises(type(error)) as raised:
                    jitted(*ours, n)
                assert str(raised.value) == str(error)  # noqa: PT017
            else:
                assert_same(jitted(*ours, n), wanted)
        assert_same(ours, theirs)
    return jitted


def swapped(u, n):
    old = u.copy()
    for i in range(n):  # noqa: B007
        old[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, old = old, u
    return u, old, n if n == 0 else i


def in_place(a, b, n):
    for _ in range(1, n):
        b[1:-1] = (a[:-2] + a[2:]) / 2
        a[1:-1] = (b[:-2] + b[2:]) / 2


def in_place_of_views(a, b, n):
    left, right = a[:6], a[6:]
    for _ in range(n):
        left += right * 0.5
        right -= b[:6]
    return left


def until_converged(a, n):
    error, iterations = 1.0, 0
    while error > 1e-9 and iterations < n:
        new = np.cos(a)
        error = np.abs(new - a).max()
        a, iterations = new, iterations + 1
    else:  # noqa: PLW0120
        iterations += 1000
    return a, iterations, error


def with_count(a, n):
    for i in range(n, -n, -3):
        a = a * 0.5 + i
    return a


def with_index(a, n):
    out = np.zeros(50)
    for i in range(n):
        out[i] = a[i % 7] + np.sum(a[: i % 5])
    return out


def with_jumps(a, n):
    total = 0
    for i in range(n):
        a = a + i
        if i % 3 == 1:
            continue
        a = a * 0.5
        total += i
        if i == 30:
            break
    else:
        total = -total
    return a, total


def with_return(a, n):
    for i in range(n):
        a = a * 1.5 + 0.1
        if a.max() > 1000:
            return i, a
    return a


def nested(a, n):
    for i in range(n):
        for j in range(i % 4):
            a = a * 0.5 + j
        a = a - i
    return a


def nested_left(a, n):
    for i in range(n):
        for _ in range(20):
            a = a + 0.25
            if a.sum() > 3 * i:
                break
    return a


def with_edges(a, n):
    table = np.outer(a, a) + np.eye(len(a))
    for i in range(min(n, len(a))):
        table[i, :i] -= table[i, i:].sum() * table[:i, i]
        a = a + table[i]
    return table, a


def with_raise(a, n):
    for i in range(n):
        a = a * 1.5 + 0.1
        top = a.max()
        if top > 1000:
            raise ValueError(f"iteration {i}: {a} is above {top!r}, {type(a).__name__}")
    return a, i


def appended(a, n):
    kept, sums = [], []
    for i in range(n):
        a = a * 0.5 + i
        if i % 3 == 0:
            kept.append(a)
        sums.append((i, a.sum(), [a.max(), -i]))
    return kept, sums, a


def appended_views(a, n):
    kept = []
    for i in range(n):
        a = a * 0.5 + i
        kept.append((a[1:], i))
    return kept, a


def appended_and_written(a, n):
    kept, counts = [], [0]
    last = a.copy()
    for i in range(n):
        last += i
        kept.append(last)
        counts.append(i)
        if i % 4 == 3:
            last = last.copy()
    return kept, counts, last


#: In a file of its own, where pytest doesn't rewrite it.
ASSERTING = """
def with_assert(a, n):
    i = -1
    for i in range(n):
        a = a * 1.5 + 0.1
        top = a.max()
        assert top <= 1000, f"iteration {i}: {a}, {type(a).__name__}"
    return a, i
"""


def recorded(a, n):
    energy = np.zeros(80)
    for i in range(n):
        a = np.sin(a)
        energy[i] = np.sum(a**2, axis=0)  # An axis: no loop over elements is made of it.
    return energy, a


@pytest.mark.parametrize(
    "function",
    [swapped, until_converged, with_count, with_index, with_jumps, with_return, nested, recorded,
     nested_left, with_edges, with_raise, appended, appended_and_written],
)  # fmt: skip
def test_iterations_on_tensors(function, variants):
    check(function, X)
    assert (True, 0) in variants


def test_iterations_that_write(variants):
    check(in_place, X, X + 1)
    assert (True, 0) in variants


def test_assertions_show_arrays(variants, tmp_path):
    file = tmp_path / "asserting.py"
    file.write_text(ASSERTING)
    check(runpy.run_path(str(file))["with_assert"], X)
    assert (True, 0) in variants


def test_what_is_appended_is_the_array_itself():
    jitted = npaccel.jit(appended_and_written, backend="eager", loops="compile")
    for n in COUNTS:
        kept, _, last = jitted(X, n)
        wanted, _, other = appended_and_written(X, n)
        assert [one is last for one in kept] == [one is other for one in wanted]


@pytest.mark.parametrize("kind", [list, collections.deque])
def test_what_is_appended_to(kind, variants):
    def f(a, kept, n):
        for i in range(n):
            a = a * 0.5 + i
            kept.append(a)
        return list(kept)

    jitted = npaccel.jit(f, backend="eager", default_float="float64", loops="compile")
    for n in COUNTS:
        ours, theirs = kind([X]), kind([X])
        assert_same(jitted(X, ours, n), f(X, theirs, n))
        assert_same(list(ours), list(theirs))
        assert ours[0] is X
    assert ((True, 0) in variants) == (kind is list)
    assert len(jitted.report().graphs) <= 2


def test_printing_shows_arrays(variants, capsys):
    def f(a, n):
        for i in range(n):
            a = a * 0.5 + i
            if i % 5 == 0:
                print(f"{i}: {a[0]:.3f}", a.max(), a, sep="; ", flush=True)
        return a

    f(X, 40)
    wanted = capsys.readouterr().out
    jitted = npaccel.jit(f, backend="eager", default_float="float64", loops="compile")
    jitted(X, 40)
    assert capsys.readouterr().out == wanted
    assert (True, 0) in variants


def test_handlers_see_what_was_assigned_before_an_error():
    def f(a, n):
        try:
            for i in range(n):
                a = a * 1.5 + 0.1
                top = a.max()
                if top > 1000:
                    raise ValueError(f"iteration {i}: {a}")  # noqa: TRY301
        except ValueError as error:
            return str(error), a, i, top
        return a, n

    check(f, X)


@pytest.mark.inductor
def test_first_and_last_iterations_stay_on_tensors(variants):
    """Slices of 0, 1, n - 1 and n elements have code of their own."""
    jitted = check(with_edges, X, counts=[12] * 12, backend="inductor")
    graphs = len(jitted.report().graphs)
    variants.clear()
    check_again = [jitted(X, 12) for _ in range(3)]
    assert_same(check_again[-1], with_edges(X, 12), rtol=1e-12)
    assert len(jitted.report().graphs) == graphs
    assert variants == [(True, 0)] * 3  # Each call is one run, to its end.


@pytest.mark.sampled
@pytest.mark.parametrize(
    "function", [swapped, until_converged, with_count, with_jumps, with_return, nested, recorded]
)
@pytest.mark.inductor
def test_iterations_in_numpy(function, variants):
    jitted = check(function, X, loops="auto", backend="inductor", counts=[60, 60, *COUNTS])
    assert any(not on_tensors for on_tensors, _ in variants)
    assert jitted.report().loops[0].detail


# -- What tensors can't stand for


def aliased(a, n):
    last = a
    for _ in range(n):
        last[:] = a + 1
        a, last = a * 0.5, a
    return a, last


def one_array_twice(a, n):
    b = a.copy()
    for i in range(n):
        b[1:] = a[:-1] + 1
        if i == 5:
            a = b
    return a, b


def growing(a, n):
    for _ in range(n):
        a = np.append(a, a[-1] * 0.5)
    return a


def shrinking(a, n):
    for i in range(n):
        a = a * 0.5
        if i % 9 == 8:
            a = a[1:] + 0.0
    return a


def of_view(a, n):
    for i in range(n):
        row = a[i % 5 :]
        row += 1
        a = a * 0.5
        row -= a[i % 5 :]
    return a


def of_a_view_kept(a, n):
    part = a[2:]
    for _ in range(n):
        a[:-2] += part
        part = a[2:]
    return part


def changes_dtype(a, n):
    for i in range(n):
        a = a + i
        if i == 11:
            a = a.astype(np.float32)
    return a


def raises(a, n):
    for i in range(n):
        a = a * 0.5
        a[i % 12] = i
        if i == 9:
            raise ValueError(f"iteration {i}")
    return a


def out_of_bounds(a, n):
    for i in range(n):
        a[i] = a[i] + 1
    return a


def scalar_then_array(a, n):
    level = 0.0
    for i in range(n):
        a = a * 0.5 + level
        level = a.sum() if i % 10 else a
    return level


@pytest.mark.parametrize(
    "function",
    [appended_views, aliased, one_array_twice, growing, shrinking, of_view, of_a_view_kept,
     changes_dtype, raises, out_of_bounds, scalar_then_array],
)  # fmt: skip
def test_what_tensors_cannot_stand_for(function):
    check(function, X, shares=True)


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_arrays_that_share_memory():
    base = np.arange(14.0)

    def run(function):
        memory = base.copy()
        function(memory[:12], memory[2:], 20)
        return memory

    assert_same(run(npaccel.jit(in_place, backend="eager", loops="compile")), run(in_place))
    check(in_place_of_views, X, X + 1, shares=True)


def test_read_only_and_reversed_arrays():
    for array in (X[::-1].copy()[::-1], X.astype(">f8")):
        check(with_count, array)
    read_only = X.copy()
    read_only.flags.writeable = False
    jitted = npaccel.jit(with_count, backend="eager", loops="compile", default_float="float64")
    assert_same(jitted(read_only, 20), with_count(read_only, 20))


def on_a_global(n):
    for i in range(n):
        field[1:] = field[:-1] * 0.5
        field[0] = i


def test_arrays_of_the_module():
    jitted = npaccel.jit(on_a_global, backend="eager", loops="compile")
    for n in COUNTS:
        field[:] = 0
        on_a_global(n)
        wanted = field.copy()
        field[:] = 0
        jitted(n)
        assert_same(field, wanted)


def test_the_arrays_themselves_come_back():
    u = X.copy()
    first, second, _ = npaccel.jit(swapped, backend="eager", loops="compile")(u, 30)
    assert first is u
    assert second is not u


def over_items(a, items):
    for k in items:
        a = a * 0.5 + k
    return a


def test_what_is_gone_over():
    jitted = npaccel.jit(over_items, backend="eager", loops="compile", default_float="float64")
    for make in (
        lambda: range(30),
        lambda: list(range(30)),
        lambda: iter([2] * 30),
        lambda: np.arange(30.0),
        lambda: itertools.chain(range(3), range(20)),
        list,
    ):
        assert_same(jitted(X, make()), over_items(X, make()))


def caught(a, n):
    done = 0
    try:
        for i in range(n):
            a = a * 0.5
            done = i
            if i == 20:
                raise KeyError("over")  # noqa: TRY301
    except KeyError:
        return done, a
    return a


def test_handlers_see_the_last_iteration():
    check(caught, X)


def test_an_iterator_is_not_read_ahead():
    def f(a, items):
        for k in items:
            a = a + k
            if k == 12:
                break
        return a

    items, others = iter(range(40)), iter(range(40))
    assert_same(npaccel.jit(f, backend="eager", loops="compile")(X, items), f(X, others))
    assert next(items) == next(others)


class _Dispatcher:
    """Stands in for the dispatcher of a region: both variants of a call take a given time."""

    def __init__(self, compiled, plain):
        options = types.SimpleNamespace(
            backend="inductor", loops="auto", strict=False, narrow_inputs=False
        )
        self.spec = types.SimpleNamespace(
            options=options, function=lambda x: time.sleep(plain) or x, varying=frozenset()
        )
        self.compiled, self.compilations, self.last = compiled, 0, None

    def __call__(self, args, keywords):
        time.sleep(self.compiled)
        return args[0]


@pytest.mark.parametrize(
    ("compiled", "plain", "way"),
    [(0.02, 0, "in NumPy: "), (0, 0.02, "compiled, and single iterations in NumPy to compare: ")],
)
def test_iterations_that_are_timed_in_numpy_are_told(compiled, plain, way):
    told = []
    region = driver_region.Region(_Dispatcher(compiled, plain), told.append)
    x = np.zeros(2)
    while not region.was_timed:
        assert region(x) is x
    assert told[0] == "in NumPy for single iterations, which are timed"
    assert told[-1].startswith(way)
    assert region.is_in_numpy == (plain < compiled)


def test_a_region_that_raises_is_watched_no_longer():
    dispatcher = _Dispatcher(0, 0)
    region = driver_region.Region(dispatcher, lambda _: None)
    with pytest.raises(IndexError):
        region.observed_call(())
    assert not region.observes
    result, call = region.observed_call((X,))
    assert result is X
    assert call is None  # The dispatcher doesn't tell.


@pytest.mark.parametrize("plain", [0, 0.02])
def test_large_products_are_tried_once_in_numpy(plain):
    """BLAS's threads go on spinning, which compiled code suffers from."""
    dispatcher = _Dispatcher(0.001, plain)
    called = []
    dispatcher.spec.function = lambda x: called.append(x) or time.sleep(plain) or x
    region = driver_region.Region(dispatcher, lambda _: None)
    x = np.zeros(1 << 16)
    region.multiplies = True
    for _ in range(200 if plain else 24):
        region(x)
    assert region.is_in_numpy == (not plain)
    assert region.may_choose == (not plain)
    if plain:
        assert len(called) == 3


def crossed_out(flags, n):
    for i in range(2, n):
        if not flags[i]:
            continue
        flags[i * i :: i] = False


@pytest.mark.inductor
def test_a_loop_follows_its_regions_to_numpy(monkeypatch, variants):
    """Also one that reads elements, which no tensor can stand for."""
    faster = {"in NumPy": False}

    def choose(self):
        self.was_timed, self.countdown = True, 1
        self.chosen = self._in_numpy if faster["in NumPy"] else self._compiled

    monkeypatch.setattr(driver_region.Region, "_choose", choose)
    jitted = npaccel.jit(crossed_out, default_float="float64", cache=False)
    for in_numpy in (False, True):
        faster["in NumPy"] = in_numpy
        for _ in range(4):
            variants.clear()
            ours, theirs = np.ones((2, 200), bool)
            jitted(ours, 200)
            crossed_out(theirs, 200)
            assert_same(ours, theirs)
        assert any(not on_tensors for on_tensors, _ in variants) == in_numpy
    assert jitted.report().loops[0].engine == "NumPy"


@pytest.mark.inductor
def test_iterations_that_compile_are_not_timed(monkeypatch):
    """Else NumPy would run the others, as an iteration with the compiler takes seconds."""
    on_tensors, compiling = iterations.LoopScheduler._on_tensors, []

    def slow(self, iterations, values):
        result = on_tensors(self, iterations, values)
        if len(compiling) < 2:
            next(iter(self.variants.regions.values()))[0].dispatcher.compilations += 1
            compiling.append(self)
            return result[0], 100.0
        return result[0], 0.0

    monkeypatch.setattr(iterations.LoopScheduler, "_on_tensors", slow)
    jitted = npaccel.jit(swapped, default_float="float64", cache=False)
    assert_same(jitted(X, 100), swapped(X, 100), rtol=1e-12)
    assert len(compiling) == 2
    assert compiling[0].chosen


def counted_down(a, x, n):
    while n > 0:
        y = a @ x
        x = y / np.linalg.norm(y)
        n -= 1
    return x


@pytest.mark.inductor
def test_short_loops_are_compared_over_several_calls(monkeypatch):
    """Pauses for BLAS's threads are longer than such a call, so there are few."""

    def choose(self):
        self.was_timed, self.countdown, self.chosen = True, -1, self._in_numpy

    slept = []
    monkeypatch.setattr(driver_region.Region, "_choose", choose)
    monkeypatch.setattr(driver_region, "_ROUNDS_OF_THREADS", 3)
    monkeypatch.setattr(time, "sleep", slept.append)
    jitted = npaccel.jit(counted_down, default_float="float64", cache=False)
    a, x = np.random.default_rng(0).random((256, 256)), np.ones(256)
    for _ in range(30):
        assert_same(jitted(a, x, 5), counted_down(a, x, 5), rtol=1e-12)
    assert slept.count(iterations._BLAS_SPIN) in (1, 2)  # Before each way, at most.
    assert slept.count(iterations._OPENMP_SLEEP) == 1
    assert "µs per iteration" in jitted.report().loops[0].detail


def iterated(a, x, iterations=3, shift=0.0):
    for _ in range(iterations):
        x = a @ x + shift
        x /= np.linalg.norm(x)
    a[0, 0] += 1
    return x, x.sum()


@pytest.mark.inductor
def test_functions_whose_loops_run_in_numpy_are_called_whole(monkeypatch):
    monkeypatch.setattr(driver.Program, "loops_in_numpy", lambda self: True)
    jitted = npaccel.jit(iterated, default_float="float64", cache=False)
    for n in (3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 40, 3):
        own, wanted = [np.arange(n * n, dtype=float).reshape(n, n) % 5 for _ in range(2)]
        x = np.ones(n)
        assert_same(jitted(own, x, shift=0.5), iterated(wanted, x, shift=0.5), rtol=1e-12)
        assert_same(own, wanted)
        if n == 40:
            assert not any("a call compiled" in note for note in jitted.report().notes)
    with pytest.raises(ValueError, match="dimension"):
        jitted(np.ones((2, 3)), np.ones(4))
    for _ in range(20):
        jitted(np.ones((3, 3)), np.ones(3))
    assert any("iterated runs" in note for note in jitted.report().notes)
