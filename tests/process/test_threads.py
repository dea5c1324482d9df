"""Threads that call for the first time at once, and ever after."""

import collections
import sys
import threading

import numpy as np
import pytest

import npaccel


@pytest.fixture(autouse=True)
def many_switches():
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(works):
    """Run functions in one thread each, started together; return their results."""
    gate = threading.Barrier(len(works))
    results, errors = [None] * len(works), []

    def run(i, work):
        try:
            gate.wait()
            results[i] = work()
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not errors, errors
    return results


def total(x, y):
    return (np.sin(x) * y).sum(axis=0) + x.mean()


def invented(n):
    return np.sin(n) / np.arange(1, 5)


def assert_same(ours, theirs, rtol=1e-12):
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=rtol, strict=True)


@pytest.mark.parametrize("count", [2, 8])
def test_a_first_call_in_all_threads(backend, count):
    function = npaccel.jit(total, backend=backend)
    x, y = np.random.default_rng(count).normal(size=(2, 5, 3))
    for ours in at_once([lambda: function(x, y)] * count):
        assert_same(ours, total(x, y))
    assert len(function.report().graphs) == 1  # Who comes later takes what the first one made.
    assert not function.report().fallbacks


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_first_calls_with_other_options_in_each_thread(backend):
    """One function, both settings of ``default_float``, given in every way there is."""
    n = np.arange(1, 5)
    narrow = npaccel.jit(invented, backend=backend, default_float="float32")
    wide = npaccel.jit(invented, backend=backend, default_float="float64")
    either = npaccel.jit(invented, backend=backend)

    def scoped(default_float):
        with npaccel.options(default_float=default_float):
            return either(n)

    works = [lambda: narrow(n), lambda: wide(n)] * 2
    works += [lambda: scoped("float32"), lambda: scoped("float64")] * 2
    expected = invented(n)
    for i, ours in enumerate(at_once(works)):
        assert ours.dtype == (np.float64 if i % 2 else np.float32)
        np.testing.assert_allclose(ours, expected, rtol=1e-12 if i % 2 else 1e-6)
    for i, ours in enumerate(at_once(works)):  # And with all of it compiled.
        assert ours.dtype == (np.float64 if i % 2 else np.float32)
        np.testing.assert_allclose(ours, expected, rtol=1e-12 if i % 2 else 1e-6)


@pytest.mark.inductor
def test_compiled_first_calls_with_other_options():
    n = np.arange(1, 5)
    narrow = npaccel.jit(invented, default_float="float32")
    wide = npaccel.jit(invented, default_float="float64")
    got = at_once([lambda: narrow(n), lambda: wide(n)])
    assert [a.dtype for a in got] == [np.float32, np.float64]
    for ours, rtol in zip(got, (1e-6, 1e-12), strict=True):
        np.testing.assert_allclose(ours, invented(n), rtol=rtol)


def test_other_functions_at_once():
    """Captures take turns; none sees another's arguments or settings."""

    def make(k):
        return npaccel.jit(lambda x: x * k + np.ones(3), backend="eager", default_float="float64")

    x = np.arange(3)
    functions = [make(k) for k in range(8)]
    for k, ours in enumerate(at_once([lambda f=f: f(x) for f in functions])):
        assert_same(ours, x * k + np.ones(3))


def test_other_shapes_and_dtypes_at_once():
    function = npaccel.jit(total, backend="eager")
    rng = np.random.default_rng(0)
    cases = [
        (rng.normal(size=(n, 3)).astype(dtype), rng.normal(size=3).astype(dtype))
        for n in (2, 3, 7)
        for dtype in (np.float32, np.float64)
    ]
    for (x, y), ours in zip(cases, at_once([lambda c=c: function(*c) for c in cases]), strict=True):
        assert_same(ours, total(x, y), rtol=1e-12 if x.dtype == np.float64 else 1e-5)


def test_each_thread_writes_to_its_own_array(backend):
    def step(a):
        a[1:-1] = (a[:-2] + a[2:]) * 0.5
        return a.max()

    function = npaccel.jit(step, backend=backend)
    starts = [np.random.default_rng(i).normal(size=64) for i in range(4)]

    def many(start):
        a = start.copy()
        return a, [function(a) for _ in range(200)]

    for start, (ours, tops) in zip(
        starts, at_once([lambda s=s: many(s) for s in starts]), strict=True
    ):
        a = start.copy()
        assert tops == [step(a) for _ in range(200)]
        np.testing.assert_array_equal(ours, a)


class Pair:
    def __init__(self, value, name):
        self.value, self.name = value, name


def test_results_that_only_the_frame_can_make():
    """Python objects besides arrays: Dynamo's own frame runs in all threads at once."""

    def make(x, seen):
        seen.append(len(seen))
        return Pair(x, "pair"), x.max(), x * 2 + 1

    function = npaccel.jit(make, backend="eager")
    function(np.ones(16), collections.deque())
    assert function.report().graphs[0].uncacheable  # The frame it is.

    def faults(x):
        wrong = 0
        for _ in range(300):
            seen = collections.deque()
            pair, top, y = function(x, seen)
            wrong += pair.value is not x or type(top) is not np.float64 or top != x.max()
            wrong += not np.array_equal(y, x * 2 + 1) or list(seen) != [0]
        return wrong

    inputs = [np.full(16, float(i)) for i in range(8)]
    assert at_once([lambda x=x: faults(x) for x in inputs]) == [0] * 8


COUNT = 0


def test_changes_of_objects_are_seen_by_each_call(backend):
    class Counter:
        calls = 0

    cell = 0

    def work(x, list_, dict_, counter):
        global COUNT  # noqa: PLW0603
        nonlocal cell
        COUNT += 1
        cell += 1
        counter.calls += 1
        list_.append(counter.calls)
        dict_["calls"] = list_
        return x + cell

    function = npaccel.jit(work, backend=backend)
    before, counter = COUNT, Counter()
    for i in range(1, 4):
        list_, dict_ = [], {}
        np.testing.assert_array_equal(function(np.zeros(3), list_, dict_, counter), [i] * 3)
        assert (COUNT - before, counter.calls, cell) == (i, i, i)
        assert list_ == [i]
        assert dict_ == {"calls": list_}


def test_what_a_function_reads_changes_while_threads_call_it():
    """Each call sees one state of what it reads: the one before or the one after."""
    state = {"k": 1.0}
    function = npaccel.jit(lambda x: x * state["k"], backend="eager")
    x = np.ones(4)
    stop = threading.Event()

    def call():
        seen = set()
        while not stop.is_set():
            seen.update(function(x).tolist())
        return seen

    def change():
        for i in range(100):
            state["k"] = float(i % 3)
        stop.set()
        return {0.0}

    for seen in at_once([call, call, change]):
        assert seen <= {0.0, 1.0, 2.0}
    state["k"] = 7.0
    assert function(x).tolist() == [7.0] * 4


def test_the_report_counts_what_all_threads_did():
    function = npaccel.jit(total, backend="eager")
    works = [lambda n=n: function(np.ones((2,) * n), np.ones((2,) * (n - 1))) for n in range(1, 5)]
    at_once(works * 2)
    assert len(function.report().graphs) == 4
    assert str(function.report())


def test_arrays_are_released():
    """No thread keeps what another one computed."""
    import gc
    import weakref

    function = npaccel.jit(total, backend="eager")
    alive = []

    def call():
        x = np.ones((4, 3))
        alive.append(weakref.ref(x))
        function(x, x)

    at_once([call] * 4)
    call()
    gc.collect()
    assert sum(ref() is not None for ref in alive) <= 1
