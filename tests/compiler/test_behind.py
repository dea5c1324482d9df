"""Calls while a signature is compiled beside the program: NumPy's answers, before and after."""

import threading
import time
import warnings

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel._process import background, thread_warnings
from npaccel._torch import beside
from npaccel._torch.patching import patched

SCALE = 2.0
TABLE = np.arange(4.0)


class Gate:
    """What the helper thread is asked to do, held back until it's opened."""

    def __init__(self):
        self.works = []

    def open(self):
        """Do all of it in another thread."""
        works, self.works = self.works, []
        for work in works:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        return len(works)


@pytest.fixture
def gate(monkeypatch):
    found = Gate()
    monkeypatch.setattr(background, "begin", found.works.append)
    monkeypatch.setattr(background, "wait", lambda *_: found.open())
    return found


# -- Functions of all kinds: each makes a function, with its state, and what it's called with ------


def with_function(function, *args):
    return function, lambda: [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]


def elementwise():
    return with_function(lambda x: np.sin(x) * 2 + 1, np.linspace(0, 1, 7))


def writing():
    def function(x, y):
        x += y
        y[::2] = 0

    return with_function(function, np.arange(6.0), np.ones(6))


def views():
    def function(x, y):
        return x[::2], {"y": y, "t": (x.reshape(2, 3).T, y[1:])}, x

    return with_function(function, np.arange(6.0), np.ones(6))


def scalars():
    return with_function(lambda x: (x.sum(), x[0], x.max() > 2, 3, None), np.arange(6.0))


def keywords():
    def function(x, *rest, scale=2.0, **more):
        return x * scale + sum(rest) + more["offset"]

    def call(x):
        return (x, 1.0, 2.0), {"offset": 3.0}

    return function, lambda: call(np.arange(3.0))


def drawing():
    rng = np.random.default_rng(3)
    return with_function(lambda x: x + rng.normal(size=3) * rng.random(), np.arange(3.0))


def drawing_from_argument():
    rng = np.random.default_rng(3)
    return (lambda x, g: x * g.random(3)), lambda: [np.arange(3.0), rng]


def drawing_globally():
    state = np.random.RandomState(5)
    return with_function(lambda x: x + state.uniform(size=3), np.arange(3.0))


class Particle:
    """An object with state of several kinds."""

    def __init__(self):
        self.position = np.zeros(3)
        self.steps = 0
        self.path = []

    def step(self, force):
        """Move on."""
        self.position += force
        self.steps += 1
        self.path.append(self.steps)
        return self.position * self.steps, list(self.path)


def methods():
    particle = Particle()
    return Particle.step, lambda: [particle, np.arange(3.0)]


def closures():
    count, table = 0, np.zeros(3)

    def function(x):
        nonlocal count
        count += 1
        table[:] += x
        return table * count, table

    return with_function(function, np.arange(3.0))


def global_writes():
    table = np.arange(4.0)

    def function(x):
        table[1:] += x
        return table.sum()

    return with_function(function, np.ones(3))


def errors():
    def function(x, i):
        x[0] = 5
        return x[i]

    return with_function(function, np.arange(3.0), 7)


def overlaps():
    def function(x, y):
        x[1:] += y[:-1]
        return x

    base = np.arange(8.0)

    def args():
        made = base.copy()
        return [made[:6], made[2:]]

    return function, args


def read_only():
    def function(x):
        x[0] = 1
        return x

    def args():
        made = np.arange(3.0)
        made.flags.writeable = False
        return [made]

    return function, args


def same_array_twice():
    def function(x, y):
        x += 1
        return x + y

    def args():
        made = np.arange(3.0)
        return [made, made]

    return function, args


def numbers():
    numbers = iter(np.linspace(0.5, 2, 40).tolist())
    return (lambda x, h: x * h + h), lambda: [np.arange(3.0), next(numbers)]


def shapes():
    sizes = iter([3, 4, 5, 6, 7, 8, 9, 10] * 5)
    return (lambda x: x[1:] - x[:-1]), lambda: [np.arange(float(next(sizes)))]


def containers():
    def function(pair, named):
        named["x"] = named["x"] + pair[0]
        pair[1][0] = 9
        return named, pair

    return function, lambda: [(np.ones(3), np.zeros(3)), {"x": np.arange(3.0)}]


def generators():
    def function(x):
        yield x + 1

    return with_function(lambda x: list(function(x)), np.arange(3.0))


def breaking():
    def function(x):
        if x.sum() > 0:
            return x - 1
        return x + 1

    return with_function(function, np.arange(3.0))


def objects():
    return with_function(lambda x: x + x, np.array([1, "a", None], object)[:1])


def strided():
    def function(x):
        x *= 2
        return x.T, x[1:]

    def args():
        return [np.arange(24.0).reshape(4, 6)[::2, ::2]]

    return function, args


def loops():
    def function(u, steps):
        norms = []
        for i in range(steps):
            u[1:-1] += 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])
            norms.append(np.abs(u[1:]) * i)  # arrays, so that the loop isn't Numba's
        return u, norms

    return with_function(function, np.linspace(0, 1, 300) ** 2, 5)


def shrinking():
    def function(a):
        found = []
        while a.size > 4:
            a = 0.5 * (a[::2] + a[1::2])
            found.append(a.max())
        return a, np.array(found)

    return with_function(function, np.linspace(0, 1, 256))


def empty():
    return with_function(lambda x: (x.sum(), x + 1), np.zeros((0, 3)))


KINDS = [
    elementwise, writing, views, scalars, keywords, drawing, drawing_from_argument,
    drawing_globally, methods, closures, global_writes, errors, overlaps, read_only,
    same_array_twice, numbers, shapes, containers, generators, breaking, objects, strided, empty,
    loops, shrinking,
]  # fmt: skip
#: What isn't compiled whatever is done.
UNCOMPILED = {errors, read_only, generators, objects, breaking}


def outcome(function, args):
    """Return what a call gives and leaves, with an error's class in place of a result."""
    keywords = {}
    if isinstance(args, tuple):
        args, keywords = args
    try:
        result = function(*args, **keywords)
    except Exception as error:  # noqa: BLE001 (compared by its class)
        result = type(error).__name__
    given = [vars(a) if isinstance(a, Particle) else a for a in args]
    rngs = [a for a in given if isinstance(a, np.random.Generator)]
    given = [a for a in given if not isinstance(a, np.random.Generator)]
    return result, given, [g.bit_generator.state for g in rngs]


def arrays_in(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from arrays_in(part)


def sharing(result, given):
    """Which arrays of a result share memory with which arguments, and which are those."""
    return [[(np.shares_memory(a, b), a is b) for b in arrays_in(given)] for a in arrays_in(result)]


def agree(jitted, plain, make_args, make_plain_args):
    got, wanted = outcome(jitted, make_args()), outcome(plain, make_plain_args())
    assert_same(got, wanted)
    assert sharing(*got[:2]) == sharing(*wanted[:2])


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("switch", [1, 3])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_answers_are_numpys(kind, switch, gate, backend):
    (function, make_args), (plain, make_plain_args) = kind(), kind()
    jitted = npaccel.jit(
        function, backend=backend, default_float="float64", compile="behind", cache=False
    )
    for call in range(10):
        if call >= switch and call % switch == 0:
            gate.open()
        agree(jitted, plain, make_args, make_plain_args)
        if call < switch and kind is not generators:
            assert not jitted.report().graphs
    if kind not in UNCOMPILED:
        assert jitted.report().graphs, jitted.report()
        assert not jitted.report().fallbacks or kind in (overlaps, same_array_twice)
        assert jitted.report().builds[0].calls >= switch


def narrowing(x, n):
    y = np.arange(n) / 3
    x += 1
    return y, x, x[1:], y.sum(), np.zeros(2)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float64])
@pytest.mark.inductor
def test_dtypes_stay_where_floats_are_narrowed(dtype, gate):
    now = npaccel.jit(narrowing, backend="eager", cache=False)
    jitted = npaccel.jit(narrowing, compile="behind", cache=False)
    for _ in range(3):
        for _ in range(2):
            got = outcome(jitted, [np.ones(3, dtype), 4])
            wanted = outcome(now, [np.ones(3, dtype), 4])
            assert_same(got, wanted)
            assert sharing(*got[:2]) == sharing(*wanted[:2])
        gate.open()
    assert "inductor" in [graph.backend for graph in jitted.report().graphs]


# -- What changes meanwhile ---------------------------------------------------------------------


def reads_globals(x):
    return x * SCALE + TABLE


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("value", [3.0, 3, np.arange(4.0), np.float32(2)])
def test_rebinding(when, value, gate, backend, monkeypatch):
    jitted = npaccel.jit(reads_globals, backend=backend, default_float="float64", compile="behind")
    x = np.ones(4)
    assert_same(jitted(x), reads_globals(x))
    if when == "after":
        gate.open()
    monkeypatch.setitem(globals(), "SCALE", value)
    monkeypatch.setitem(globals(), "TABLE", TABLE + 1)
    for _ in range(4):
        assert_same(jitted(x), reads_globals(x))
        gate.open()
    monkeypatch.undo()
    assert_same(jitted(x), reads_globals(x))


def test_arguments_may_change_at_once(gate, backend):
    """The thread has copies: nothing that it computes comes from what is written meanwhile."""
    jitted = npaccel.jit(lambda x: x[x > 0] + 1, backend=backend, compile="behind", cache=False)
    x = np.arange(4.0)
    jitted(x)
    x[:] = -1
    gate.open()
    assert_same(jitted(np.arange(4.0)), np.arange(2.0, 5.0))


def test_calls_in_threads(backend):
    def function(x):
        return np.cos(x) * SCALE

    jitted = npaccel.jit(function, backend=backend, compile="behind", cache=False)
    wrong = []

    def call(i):
        x = np.linspace(0, i + 1, 5 + i % 3)
        wrong.extend(i for _ in range(60) if not np.allclose(jitted(x), function(x)))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert npaccel.wait()
    call(0)
    assert not wrong
    assert jitted.report().graphs


def test_warnings_of_others_are_shown():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        entered, leave = threading.Event(), threading.Event()
        before = list(warnings.filters)

        def other():
            with thread_warnings.ignored():
                entered.set()
                leave.wait()
                warnings.warn("of the other", UserWarning, stacklevel=1)

        thread = threading.Thread(target=other)
        thread.start()
        entered.wait()
        warnings.warn("of this one", UserWarning, stacklevel=1)
        leave.set()
        thread.join()
        assert warnings.filters == before
    assert [str(one.message) for one in caught] == ["of this one"]


def test_random_numbers_of_torch_go_on():
    with patched([patch.given(threading.get_ident() + 1) for patch in beside.PATCHES]):
        state = torch.random.get_rng_state()
        first = torch.rand(1)
        torch.random.set_rng_state(state)
        assert torch.rand(1) == first
    with beside.beside_the_program():
        state = torch.random.get_rng_state()
        first = torch.rand(1)
        torch.random.set_rng_state(state)
        assert torch.rand(1) != first


# -- When something is compiled -------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"strict": True}, {"rng": "device"}, {"verify": True}])
def test_calls_that_wait(options, gate, backend):
    jitted = npaccel.jit(lambda x: x + 1, backend=backend, compile="behind", cache=False, **options)
    assert_same(jitted(np.ones(3)), np.full(3, 2.0))
    assert not gate.works
    assert jitted.report().graphs


def test_tensors_wait(gate, backend):
    jitted = npaccel.jit(lambda x: x + 1, backend=backend, compile="behind", cache=False)
    assert torch.equal(jitted(torch.ones(3)), torch.full((3,), 2.0))
    assert not gate.works


def test_nothing_is_compiled_twice_at_once(gate, backend):
    jitted = npaccel.jit(lambda x: x + 1, backend=backend, compile="behind", cache=False)
    for n in (3, 4, 5, 3, 4):
        jitted(np.ones(n))
    assert len(gate.works) == 1


def test_failures_are_told_to_a_caller(gate, monkeypatch):
    jitted = npaccel.jit(lambda x: x + 1, compile="behind", cache=False)
    monkeypatch.setenv("CXX", "/nowhere/g++")

    def missing(*_):
        raise npaccel.errors.CompilerNotFoundError("there is none")

    x = np.ones(3)
    jitted(x)
    from npaccel._compiler import compile as compiler_compile

    monkeypatch.setattr(compiler_compile.inductor, "compile_graph", missing)
    gate.open()
    with pytest.raises(npaccel.errors.CompilerNotFoundError):
        jitted(x)
    assert "given up" in str(jitted.report())


def test_the_report_says_how_far_it_is(gate, backend):
    jitted = npaccel.jit(lambda x: x + 1, backend=backend, compile="behind", cache=False)
    jitted(np.ones(3))
    jitted(np.ones(3))
    assert "x: float64[3] is waiting to be compiled: 2 calls answered meanwhile" in str(
        jitted.report()
    )
    gate.open()
    jitted(np.ones(3))
    assert "x: float64[3] is compiled: 2 calls" in str(jitted.report())
    assert jitted.report().to_dict()["builds"][0]["calls"] == 2


# -- Waiting and warming up ----------------------------------------------------------------------


def test_wait(backend):
    jitted = npaccel.jit(lambda x: x + 1, backend=backend, compile="behind", cache=False)
    jitted(np.ones(3))
    assert npaccel.wait(timeout=60)
    assert len(jitted.report().graphs) == 1
    hold = threading.Event()
    background.begin(hold.wait)
    assert not npaccel.wait(timeout=0.01)
    hold.set()
    assert npaccel.wait()


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("mode", ["now", "behind", "auto"])
@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k not in (errors, read_only)], ids=lambda kind: kind.__name__
)
def test_warmup_leaves_nothing_behind(kind, mode, backend):
    (function, make_args), (plain, make_plain_args) = kind(), kind()
    jitted = npaccel.jit(
        function, backend=backend, default_float="float64", compile=mode, cache=False
    )
    for _ in range(2):
        given, same = make_args(), make_plain_args()
        args, keywords = given if isinstance(given, tuple) else (given, {})
        jitted.warmup(*args, **keywords)
        assert_same(list(arrays_in(given)), list(arrays_in(same)))
    count = len(jitted.report().graphs)
    for _ in range(3):
        agree(jitted, plain, make_args, make_plain_args)
    if kind not in UNCOMPILED | {generators}:
        assert count
    if kind in (elementwise, writing, views, scalars, strided):
        assert len(jitted.report().graphs) == count == 1


def test_warmup_prints_nothing(capsys):
    def function(x):
        print("called")
        return x + 1

    jitted = npaccel.jit(function, backend="eager", cache=False)
    with pytest.warns(npaccel.errors.PerformanceWarning):
        jitted.warmup(np.ones(3))
    assert not capsys.readouterr().out


def test_warmup_where_npaccel_is_off():
    calls = []
    with npaccel.disabled():
        npaccel.jit(calls.append).warmup(1)
    assert not calls


class Pendulum:
    """An object that goes on with each call, and with it what a capture reads."""

    def __init__(self):
        self.t, self.x = 0.0, np.zeros(100)

    def step(self, dt):
        self.x = self.x + dt * np.sin(self.t / 2) * np.exp(-self.t)
        self.t += dt
        return float(self.x.sum())


@pytest.mark.inductor
def test_objects_that_go_on_while_they_are_compiled_are_compiled_by_a_call_that_waits():
    step = npaccel.jit(Pendulum.step, compile="behind", default_float="float64")
    ours, theirs = Pendulum(), Pendulum()
    end = time.monotonic() + 120
    while not step.report().graphs and time.monotonic() < end:
        time.sleep(0.002)
        assert step(ours, 0.01) == pytest.approx(theirs.step(0.01), rel=1e-9, abs=1e-12)
        assert ours.t == theirs.t
    report = step.report()
    assert 1 <= len(report.graphs) <= 3
    assert not report.fallbacks
    assert sum("what it reads has changed" in build.state for build in report.builds) == 0
