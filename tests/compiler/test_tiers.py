"""Calls with compile="auto": NumPy makes them until compiling pays, then the faster way does."""

import sys
import threading
import time

import numpy as np
import pytest
import scipy.special
from comparing import assert_same
from test_behind import KINDS, agree

import npaccel
from npaccel._compiler import call_kinds, recursion, tier_buckets, tiers
from npaccel._compiler.invented_floats import narrowed_kinds
from npaccel._process import background
from npaccel._report import Log
from npaccel._runtime import options as runtime_options
from npaccel._runtime.kinds import as_kinds, kinds_of
from npaccel._runtime.options import Options

pytestmark = pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")


class Clock:
    """Time that passes when it's told to, for both ways of a function."""

    def __init__(self, numpy, compiled, *, build=()):
        self.now = 0.0
        self.seconds = {"numpy": numpy, "compiled": compiled}
        #: What the first compiled calls take besides.
        self.build = list(build)
        self.calls = []

    def perf_counter(self):
        return self.now

    def pass_(self, way):
        self.calls.append(way)
        self.now += self.seconds[way]
        if way == "compiled" and self.build:
            self.now += self.build.pop(0)

    def called(self):
        """Return who has made the calls since this was asked last."""
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def tiered(monkeypatch):
    """Return what makes a tiered function of a clock, and what it has settled for."""
    monkeypatch.setattr(tier_buckets, "_prices", tier_buckets.deque(maxlen=16))
    npaccel.wait(timeout=60)  # While other tests' functions are compiled, NumPy makes all calls.

    def make(clock):
        for module in (tiers, tier_buckets):
            monkeypatch.setattr(module, "time", clock)
        settled = []

        def function(x, n=0):
            clock.pass_("numpy")
            return x

        class Dispatcher:
            on_new = None

            def get_ready(self):
                pass

            def __call__(self, args, kwargs):
                clock.pass_("compiled")
                return args[0]

        made = tiers.Tiered(
            function,
            Options(default_float="float64", cache=False),
            Log(),
            runtime_options.current(),
            lambda *_: Dispatcher(),
            lambda _, dispatcher: settled.append(dispatcher),
        )
        return (lambda *args, **kwargs: made(args, kwargs)), settled, made

    return make


X = np.ones(3)


def test_numpy_makes_calls_until_they_have_taken_as_long_as_compiling(tiered):
    clock = Clock(numpy=0.1, compiled=0.01)
    call, _, made = tiered(clock)
    for _ in range(29):
        call(X)
    assert set(clock.called()) == {"numpy"}
    (bucket,) = made.buckets.values()
    assert (bucket.tier.calls, bucket.tier.state) == (29, "NumPy's so far")
    call(X)
    call(X)
    assert clock.called() == ["numpy", "compiled"]


@pytest.mark.parametrize("seconds", [1e-5, 1e-3, 10.0])
def test_the_faster_way_goes_on(tiered, seconds):
    clock = Clock(numpy=seconds, compiled=seconds / 10, build=[2.0])
    call, settled, _ = tiered(clock)
    while not settled:
        call(X)
    clock.called()
    for _ in range(100):
        call(X)
    assert set(clock.called()) == {"compiled"}
    assert type(settled[-1]).__name__ == "Dispatcher"


@pytest.mark.parametrize("slower", [1.2, 3, 1000])
def test_a_slower_way_is_left(tiered, slower):
    clock = Clock(numpy=0.01, compiled=0.01 * slower, build=[2.0])
    call, settled, made = tiered(clock)
    for _ in range(2000):
        call(X)
    calls = clock.called()
    assert calls[-1000:].count("compiled") <= 30
    assert not settled
    assert clock.now <= 2000 * 0.01 * 1.02 + 2 + 6 * 0.01 * slower
    (bucket,) = made.buckets.values()
    assert bucket.tier.state.startswith("NumPy's")


def test_both_are_timed_again(tiered):
    clock = Clock(numpy=0.01, compiled=0.02, build=[2.0])
    call, settled, _ = tiered(clock)
    for _ in range(2000):
        call(X)
    assert not settled
    clock.seconds["compiled"] = 0.001
    before = clock.now
    while not settled:
        call(X)
    assert clock.now - before < 10


def test_calls_that_go_on_compiling_are_numpys(tiered):
    clock = Clock(numpy=0.01, compiled=0.5)
    clock.build = [5.0] * 10_000
    call, settled, made = tiered(clock)
    for _ in range(20_000):
        call(X)
    calls = clock.called()
    assert calls.count("compiled") < 60
    assert clock.now < 20_000 * 0.01 * 4
    assert not settled
    assert "NumPy" in next(iter(made.buckets.values())).tier.state


@pytest.mark.parametrize(("beside", "waits"), [(0.5, False), (1.0, True)])
def test_calls_that_hold_a_compilation_up_wait_for_it(tiered, monkeypatch, beside, waits):
    """Where a loop of Python needs the interpreter itself, both ways would take longer."""
    clock = Clock(numpy=0.5, compiled=0.001)
    call, settled, made = tiered(clock)
    waited = []

    def wait(timeout):
        waited.append(timeout)
        clock.now += 2.0
        return True

    monkeypatch.setattr(background, "is_idle", lambda: bool(waited))
    monkeypatch.setattr(background, "wait", wait)
    for _ in range(6):
        call(X)
    (bucket,) = made.buckets.values()
    assert bucket.tier.state == "being compiled"
    clock.seconds["numpy"] = beside
    for _ in range(10):
        call(X)
    if waits:
        assert waited == [tier_buckets._USUAL_SECONDS + beside]
        assert clock.called() == ["numpy"] * 7 + ["compiled"] * 9
        assert settled
    else:
        assert not waited
        assert clock.called() == ["numpy"] * 16


def test_what_is_much_faster_is_not_compared_again(tiered):
    clock = Clock(numpy=1.0, compiled=0.1, build=[2.0])
    call, settled, _ = tiered(clock)
    for _ in range(20):
        call(X)
    assert settled
    assert clock.called() == ["numpy"] * 3 + ["compiled"] * 17


def test_other_arguments_are_other_buckets(tiered):
    clock = Clock(numpy=0.1, compiled=0.01)
    call, settled, made = tiered(clock)
    while not settled:
        call(X)
    dispatcher = settled[-1]
    dispatcher.on_new()
    assert settled[-1] is made  # Which is asked again.
    clock.called()
    call(np.ones(1000))
    call(np.ones(1000), n=7)
    call(np.ones((3, 3)))
    assert clock.called() == ["numpy"] * 3
    for _ in range(200):
        call(X)
    assert settled[-1] is made
    for _ in range(100):
        call(np.ones(1000))
        call(np.ones(1000), n=7)
        call(np.ones((3, 3)))
    assert settled[-1] is dispatcher


def test_kinds_of_arguments():
    same = [
        [np.ones(5), np.ones(7)],
        [1.5, -2.0],
        [5, 7],
        [[2, 2], [3, 2]],
        ["abc", "xyz"],
        [np.float32(1), np.float32(2)],
        [None, None],
    ]
    kinds = [call_kinds.kind([value]) for pair in same for value in pair]
    assert kinds[::2] == kinds[1::2]
    others = [np.ones(5, "f"), np.ones((5, 1)), np.float64(1), np.ones(5).view(np.memmap), True]
    others += [(1, 2), {"a": 1}, {1}, [np.ones(5)], [np.ones(5, "f")], 10**30, 1 + 0j, b"abc"]
    kinds = [*kinds[::2], *(call_kinds.kind([value]) for value in others)]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    "options",
    [
        {"strict": True},
        {"verify": True},
        {"rng": "device"},
        {"backend": "eager"},
        {"device": "cuda"},
        {"compile": "now"},
        {"compile": "behind"},
    ],
)
def test_where_numpy_cannot_take_the_place(options):
    assert tiers.has_tiers(Options(compile="auto"))
    assert not tiers.has_tiers(Options(**{"compile": "auto", **options}))


# -- The dtypes of answers ---------------------------------------------------------------------


def of_integers(n):
    return np.arange(n).sum(), [n], "text"


def inventing(n):
    return np.linspace(0, 1, n)


def writing_floats(n, out):
    out.append(np.zeros(n))


def of_numbers(x, y=2.0):
    return np.sqrt(x) * np.pi + helper(y)


def helper(y):
    return abs(np.cos(y)) if y > 0 else 1.0


def of_numbers_by_an_array(x):
    return np.sum([x, 2.0])


def asking_for_doubles(n):
    return np.zeros(n, dtype=np.float64)


def printing(n):
    print(n)
    return np.linspace(0, 1, n)


@pytest.mark.inductor
@pytest.mark.parametrize(
    ("function", "args", "is_numpys"),
    [
        (of_integers, (5,), True),
        (inventing, (5,), True),
        (writing_floats, (5, []), False),
        (of_numbers, (5.0,), True),
        (of_numbers_by_an_array, (5.0,), False),
        (asking_for_doubles, (5,), True),
    ],
)
def test_dtypes_are_those_of_compiled_code(function, args, is_numpys):
    def fresh():
        return [list(a) if isinstance(a, list) else a for a in args]

    now = npaccel.jit(function, compile="now")
    auto = npaccel.jit(function, compile="auto")
    wanted = fresh()
    expected = now(*wanted)
    for _ in range(3):
        found = fresh()
        result = auto(*found)
        assert_same([result, found], [expected, wanted])
    assert (not auto.report().graphs) == is_numpys


def thirds_of(n):
    return np.arange(n) / 3, [np.linspace(0, 1, n)], {"n": n}


def by_helper(x):
    return halved(x)[::-1] + 0.5


def halved(x):
    return np.where(x > 1, x / 2, 0.0)


def with_a_number(x):
    return x / 3, x.mean()


def with_a_dtype(x):
    return np.std(x, axis=0, dtype=None) + x / 3


def with_a_callback(x, function):
    return function(x) / 3


def with_scipy(x):
    return scipy.special.roots_legendre(3)[0] + x


def by_function(n):
    def value(i, j):
        return np.exp(-((i - 1.5) ** 2) - j * 0.5)

    return np.fromfunction(value, (n, n))


def fancy(x):
    return np.exp(1j * x) + np.fft.fft(x), x.astype(np.float32)


@pytest.mark.inductor
@pytest.mark.parametrize(
    ("function", "others", "is_known"),
    [
        (inventing, [], True),
        (thirds_of, [], True),
        (by_helper, [], True),
        (fancy, [], True),
        (with_a_number, [], False),
        (with_a_dtype, [], False),
        (with_a_callback, [lambda x: x], False),
        (with_scipy, [], False),
        (by_function, [], False),
    ],
)
def test_dtypes_that_are_known_of_numpys_answer(function, others, is_known):
    x = 3 if function in (inventing, thirds_of, by_function) else np.arange(3)
    kinds = narrowed_kinds(function, [x, *others], function(x, *others))
    assert (kinds is not None) == is_known
    if is_known:
        compiled = npaccel.jit(function, compile="now", backend="eager", cache=False)
        assert kinds == kinds_of(compiled(x, *others))
        assert_same(
            npaccel.jit(function, compile="auto")(x, *others),
            as_kinds(function(x, *others), kinds),
        )


@pytest.mark.inductor
def test_what_cannot_be_undone_happens_once(capsys):
    jitted = npaccel.jit(printing, compile="auto")
    assert jitted(4).dtype == np.float32
    assert capsys.readouterr().out.split() == ["4"]


# -- Programs ----------------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch):
    """Have functions compiled as soon as they can be."""
    monkeypatch.setattr(tier_buckets, "_prices", [0.0])
    monkeypatch.setattr(tier_buckets, "note_price", lambda _: None)


def broken_by_a_view(x):
    v = np.flip(x, None)
    w = v.reshape(-1) / 3
    v[0] = 7
    return w


@pytest.mark.inductor
@pytest.mark.filterwarnings("ignore")
def test_dtypes_stay_where_parts_meet_numpys_floats(at_once):
    jitted = npaccel.jit(broken_by_a_view, compile="auto", cache=False)
    for call in range(3000):
        assert jitted(np.arange(50)).dtype == np.float32
        if call % 500 == 0:
            npaccel.wait(timeout=60)
    assert "other dtypes" in jitted.report().tiers[0].state


@pytest.mark.inductor
@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_answers_are_numpys(kind, at_once):
    (function, make_args), (plain, make_plain_args) = kind(), kind()
    jitted = npaccel.jit(function, compile="auto", cache=False)
    for call in range(40):
        agree(jitted, plain, make_args, make_plain_args)
        if call % 5 == 4:
            npaccel.wait(timeout=60)


@pytest.mark.inductor
def test_threads(at_once):
    jitted = npaccel.jit(lambda x, y: x * 2 + y, compile="auto", cache=False)
    failures = []

    def work(n):
        for i in range(300):
            x = np.full(n, float(i))
            if not np.array_equal(jitted(x, 1.0), x * 2 + 1):
                failures.append((n, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in (3, 3, 50, 400)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    npaccel.wait()


@pytest.mark.inductor
def test_warmup_compiles_for_good():
    jitted = npaccel.jit(lambda x, s=2.0: x * s, compile="auto", cache=False)
    jitted.warmup(np.ones(3))
    graphs = jitted.report().graphs
    assert len(graphs) == 1
    for _ in range(10):
        assert_same(jitted(np.ones(3)), np.full(3, 2.0))
    assert jitted.report().graphs == graphs
    assert not jitted.report().tiers[0].calls


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


plain_fibonacci = fibonacci


def test_a_recursion_costs_what_it_costs_in_python(monkeypatch):
    jitted = npaccel.jit(fibonacci, compile="auto")
    plain = recursion.without_detours(plain_fibonacci)
    assert plain(10) == 55
    monkeypatch.setitem(globals(), "fibonacci", jitted)
    assert jitted(15) == 610
    assert "_npaccel_plain_fibonacci" in globals()
    (tier,) = jitted.report().tiers
    assert tier.calls == 1
    monkeypatch.setitem(globals(), "fibonacci", lambda n: 1)
    assert jitted(15) == 2  # The new one is called.
    del globals()["_npaccel_plain_fibonacci"]


def test_a_recursion_in_a_closure():
    @npaccel.jit(compile="auto")
    def depth(tree):
        depth.calls += 1
        return 1 + max(map(depth, tree), default=0)

    depth.calls = 0
    assert depth([[[]], []]) == 3
    assert depth.calls == 4
    assert depth.report().tiers[0].calls == 1


def test_the_report_says_who_makes_calls(tiered):
    clock = Clock(numpy=0.1, compiled=0.01)
    call, settled, made = tiered(clock)
    call(X)
    report = npaccel.jit(lambda x: x).report()
    assert not report.tiers
    while not settled:
        call(X)
    (tier,) = made.spec.log.tiers
    assert (tier.numpy, tier.compiled) == pytest.approx((0.1, 0.01))
    assert tier.signature == "x: float64[3], n: 0"


@pytest.mark.inductor
def test_an_idle_helper_thread_is_seen():
    assert background.is_idle() or npaccel.wait()
    hold = threading.Event()
    background.begin(hold.wait)
    assert not background.is_idle()
    hold.set()
    assert npaccel.wait()
    assert background.is_idle()


def test_a_call_in_numpy_costs_little(monkeypatch):
    """It takes three frames besides the function's own and no lock, and rarely a clock."""
    monkeypatch.setattr(tier_buckets, "_BRIEF", 0.0)
    jitted, x = npaccel.jit(lambda x: x * 2 / 3, compile="auto"), np.ones(300, np.float32)
    for calls in range(1, 20_000):
        jitted(x)
        (tier,) = jitted.report().tiers
        assert tier.calls == calls
        if tier.untimed:
            break
    else:
        raise AssertionError("each call is timed")
    frames = []
    sys.setprofile(lambda frame, event, _: frames.append(frame) if event == "call" else None)
    try:
        jitted(x)
    finally:
        sys.setprofile(None)
    names = [frame.f_code.co_name for frame in frames]
    assert names == ["__call__", "__call__", "kind", "<lambda>", "as_compiled"]


def objective(x):
    return np.cos(x) - x * np.exp(-x)


def calling_a_jitted_one(x):
    return jitted_helper(x) + 1


jitted_helper = npaccel.jit(lambda x: x / 3, compile="auto")


def test_brief_calls_go_straight_to_the_function(monkeypatch):
    monkeypatch.setattr(tier_buckets, "_BRIEF_OF_NUMBERS", 1.0)
    jitted = npaccel.jit(objective, compile="auto")
    for k in range(5000):
        assert_same(jitted(k / 7), objective(k / 7))
    (tier,) = jitted.report().tiers
    calls = tier.calls
    assert calls < 5000
    assert_same(jitted(1.5), objective(1.5))
    assert_same(jitted(x=2.5), objective(2.5))
    large = np.linspace(0, 1, 1000)
    assert_same(jitted(large), objective(large))
    assert [tier.calls for tier in jitted.report().tiers] == [calls, 1]


def on_ones(x):
    return np.ones(2) * x / 3


@pytest.mark.inductor
def test_dtypes_do_not_depend_on_what_was_brief_before(monkeypatch):
    monkeypatch.setattr(tier_buckets, "_BRIEF", 1.0)
    others = [np.arange(2), np.float32([1, 2]), 2, 2.5, np.int64(3), True]
    fresh = [npaccel.jit(on_ones, compile="auto", cache=False)(x).dtype for x in others]
    jitted = npaccel.jit(on_ones, compile="auto", cache=False)
    wide = [np.ones(2), np.float64(0.5)]
    for k in range(3000):
        assert jitted(wide[k % 2]).dtype == np.float64
    assert jitted.report().tiers[0].calls < 1500
    assert [jitted(x).dtype for x in others] == fresh
    assert jitted(wide[0]).dtype == np.float64


def test_calls_of_jitted_functions_stay_under_their_scope(monkeypatch):
    """Whose floats would else be narrowed."""
    monkeypatch.setattr(tier_buckets, "_BRIEF", 1.0)
    jitted = npaccel.jit(calling_a_jitted_one, compile="auto", default_float="float64")
    x = np.arange(3)
    for _ in range(5000):
        assert jitted(x).dtype == np.float64
    assert jitted.report().tiers[0].calls < 5000


@pytest.mark.inductor
def test_numpys_answers_are_cast_where_compiled_code_narrows(monkeypatch):
    jitted = npaccel.jit(inventing, compile="auto")
    results = [jitted(n) for n in (5, 6, 7)]
    (tier,) = jitted.report().tiers
    assert tier.calls >= 3
    for n, result in zip((5, 6, 7), results, strict=True):
        assert_same(result, np.linspace(0, 1, n).astype(np.float32))


def test_compiled_calls_that_become_slower_are_left(tiered):
    """Such as those that compile each another one, once numbers change."""
    clock = Clock(numpy=0.01, compiled=0.001)
    call, settled, made = tiered(clock)
    while not settled:
        call(X)
    made._ask_again()
    clock.seconds["compiled"] = 0.1
    clock.called()
    for _ in range(500):
        call(X)
    assert clock.called().count("compiled") < 100


@pytest.mark.inductor
def test_what_is_warmed_up_by_keyword_is_called_by_keyword():
    jitted = npaccel.jit(lambda x, s=2.0: x * s, compile="auto", cache=False)
    jitted.warmup(np.ones(3), s=3.0)
    graphs = jitted.report().graphs
    for _ in range(3):
        assert_same(jitted(np.ones(3), s=3.0), np.full(3, 3.0))
        assert_same(jitted(x=np.ones(3), s=3.0), np.full(3, 3.0))
    assert jitted.report().graphs == graphs
    assert not any(tier.calls for tier in jitted.report().tiers)


@pytest.fixture
def quick_switches():
    """Have threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_threads_that_decide_at_once(ratio, tiered, quick_switches, monkeypatch):
    """Samples are cleared by one thread while another looks at them."""

    class Seconds(Clock):
        def perf_counter(self):
            return threading.get_ident() % 97 + self.now

        def pass_(self, way):
            self.now += self.seconds[way]
            time.sleep(0)

    monkeypatch.setattr(tier_buckets, "_PATIENCE", 0.001)
    monkeypatch.setattr(tier_buckets, "_NOTED_CALLS", 2)
    monkeypatch.setattr(tier_buckets, "_RETRY_SHARE", 0.5)
    call, *_ = tiered(Seconds(numpy=0.1, compiled=0.1 * ratio))
    failures = []

    def work():
        try:
            for _ in range(3000):
                call(X)
        except Exception as error:  # noqa: BLE001 (told below)
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_a_function_forgets_those_that_have_called_it():
    inner = npaccel.jit(lambda x: x + 1, compile="auto", default_float="float64")
    x = np.ones(3)
    for _ in range(300):
        outer = npaccel.jit(lambda x: inner(x) * 2, compile="auto", default_float="float64")
        assert_same(outer(x), np.full(3, 4.0))
    assert_same(inner(x), np.full(3, 2.0))
    assert len(inner._npaccel_dispatchers) <= 70
    assert len(inner._npaccel_direct) <= 70
    assert inner.report().tiers[0].calls == 301
