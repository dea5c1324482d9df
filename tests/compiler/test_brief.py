"""Calls of functions that are shorter than those of compiled code: NumPy makes them at once."""

import copy
import inspect
import itertools
import pickle
import types

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel._compiler import brief, tier_buckets
from npaccel._torch.dynamo.python import nested_jit

pytestmark = pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Take calls for brief after a hundred of them, whatever they take."""
    for name in ("_BRIEF", "_BRIEF_OF_NUMBERS"):
        monkeypatch.setattr(tier_buckets, name, 1.0)
    monkeypatch.setattr(tier_buckets, "_FIRST_LOOK", 0.0)
    monkeypatch.setattr(brief, "_LONG", 1e-3)  # On a busy machine others take their share.


def made_brief(function, *args, **options):
    """Return a decorated function after as many calls as make it brief."""
    jitted = npaccel.jit(function, compile="auto", cache=False, **options)
    for _ in range(300):
        jitted(*args)
    assert jitted.report().tiers[0].state == brief.STATE
    return jitted


def is_called_itself(jitted):
    """Whether an object has a method of its own by which it's called."""
    return type(jitted) is not npaccel.Jitted


def line(x, slope=2.0, offset=-1.0):
    """Return a point of a line."""
    return slope * x + offset


def behind_a_slash(x, /, power=2):
    return x**power


def without_parameters():
    return 3.0


def under_a_star(x, *, scale=2.0):
    return x * scale


def of_any_number(x, *others):
    return x + len(others)


def with_odd_names(self, left, type=1.0, len=2.0, MISSING=3.0, function=1.0):  # noqa: A002, N803
    return self - left / function + type * len * MISSING


def with_an_object(x, k=1.0, *, scale, shift=None):
    return (x + k) * scale + (0.0 if shift is None else shift.k)


class Spring:
    """A class whose method is brief for numbers alone."""

    @staticmethod
    @npaccel.jit(compile="auto", cache=False)
    def force(x, k=2.0):
        return -k * x

    @npaccel.jit(compile="auto", cache=False)
    def energy(self, x):
        return x * self.k

    k = 3.0


FUNCTIONS = [
    (line, (1.0,)),
    (line, (1.0, 2.0)),
    (line, (1, 2.0, 0.5)),
    (line, (np.float64(2), 2.0, True)),
    (line, (np.arange(3.0), 2)),
    (behind_a_slash, (1.5,)),
    (behind_a_slash, (np.linspace(0, 1, 5), 3)),
    (without_parameters, ()),
    (under_a_star, (1.0,)),
    (of_any_number, (1.0, 2, 3)),
    (with_odd_names, (1.0, 2.0)),
    (with_odd_names, (np.arange(3.0), 2.0, 3, 2, 4.0, 5.0)),
]
CALLS = [
    ((), {}),
    ((1.0,), {}),
    ((2,), {}),
    ((10**30, 2), {}),
    ((True, None), {}),
    ((np.float32(1.5),), {}),
    ((np.float64(1.5), 2.0), {}),
    ((np.arange(4.0),), {}),
    ((np.arange(1000.0), 2.0), {}),
    ((np.arange(4, dtype="f4"), 3), {}),
    ((np.arange(4, dtype=">f8"), 3), {}),
    (("ab", 2, "c"), {}),
    (([1.0, 2.0], 2), {}),
    ((1.0, 2.0, 3.0, 4.0), {}),
    ((1.0,), {"x": 2.0}),
    ((1.0,), {"nothing": 2.0}),
    ((1.0,), {"offset": 2.0}),
    ((1.0,), {"power": 3}),
    ((1.0,), {"scale": 0.5}),
    ((1.0,), {"scale": np.arange(3.0), "k": 2.0}),
    ((), {"scale": 0.5, "x": 2}),
    ((1.0,), {"function": 0.5, "MISSING": 3.0}),
    ((), {"x": 1.0, "offset": 4.0}),
    ((), {"offset": 4.0, "x": np.arange(3.0)}),
]


def with_keywords(x, k=1.0, *, scale, shift=0.0):
    return (x + k) * scale + shift


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (line, (), {"x": 1.0}),
        (line, (1.0,), {"offset": 2.0}),
        (line, (np.arange(3.0),), {"offset": 2, "slope": 3.0}),
        (behind_a_slash, (2.0,), {"power": 3}),
        (with_keywords, (1.0,), {"scale": 2.0}),
        (with_keywords, (), {"scale": 2.0, "x": np.arange(3.0), "shift": 1}),
        (with_an_object, (1.0, 2.0), {"shift": Spring(), "scale": 2}),
        (under_a_star, (1.0,), {}),
    ],
)
def test_calls_by_keyword(function, args, kwargs):
    jitted = npaccel.jit(function, compile="auto", cache=False, default_float="float64")
    for _ in range(300):
        assert_same(jitted(*args, **kwargs), function(*args, **kwargs))
    assert is_called_itself(jitted)
    for other_args, other_kwargs in [(args, kwargs), *CALLS, ((2,), kwargs), ((), kwargs)]:
        expected, found = (outcome(one, other_args, other_kwargs) for one in (function, jitted))
        assert found[0] == expected[0], (other_args, other_kwargs)
        assert_same(found[1], expected[1])


def outcome(function, args, kwargs):
    try:
        return "result", function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


@pytest.mark.parametrize(("function", "first"), FUNCTIONS)
def test_each_call_is_the_functions(function, first):
    """Whichever arguments it has, by whichever names; errors are Python's own."""
    jitted = made_brief(function, *first, backend="inductor", default_float="float64")
    has_method = function is not of_any_number
    assert is_called_itself(jitted) == has_method
    for args, kwargs in [(first, {}), *CALLS]:
        expected, found = (outcome(one, args, kwargs) for one in (function, jitted))
        assert found[0] == expected[0], (args, kwargs)
        assert_same(found[1], expected[1])


@pytest.mark.parametrize("first", [(1.0,), (np.arange(3.0), 2.0)])
def test_the_object_stays_what_it_was(first):
    """Also where it has a method of its own to be called by."""
    jitted = made_brief(line, *first)
    assert is_called_itself(jitted)
    assert isinstance(jitted, npaccel.Jitted)
    assert repr(jitted) == repr(npaccel.jit(line))
    assert (jitted.__name__, jitted.__doc__, jitted.__module__) == (
        *(line.__name__, line.__doc__, line.__module__),
    )
    assert inspect.signature(jitted) == inspect.signature(line)
    others = [copy.copy(jitted), copy.deepcopy(jitted), npaccel.jit(jitted)]
    others.append(pickle.loads(pickle.dumps(jitted)))
    for other in others:
        assert not is_called_itself(other)
        assert other._npaccel_target.__code__ is line.__code__
        assert_same(other(*first), line(*first))
    jitted.warmup(*first)
    assert not is_called_itself(jitted)


def test_methods_and_static_methods():
    spring = Spring()
    for _ in range(300):
        spring.force(1.0), spring.energy(1.0)
    assert is_called_itself(Spring.force)
    assert (spring.force(2.0), Spring.force(2.0, k=1.0)) == (-4.0, -2.0)
    assert (spring.energy(2.0), Spring.energy(spring, 3.0)) == (6.0, 9.0)


def test_scopes_and_error_settings_hold():
    jitted = made_brief(lambda x: np.float64(1.0) / x, 2.0)
    assert is_called_itself(jitted)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        jitted(0.0)
    with npaccel.options(default_float="float64"):
        assert_same(jitted(4.0), np.float64(0.25))
    with npaccel.disabled():
        assert_same(jitted(4.0), np.float64(0.25))
    assert is_called_itself(jitted)


def partial_sum(count):
    total = 0.0
    for i in range(count):
        total += i * 0.5
    return total


def halvings(x, least):
    while x > least:
        x *= 0.999
    return x


def test_larger_integers_go_through_the_tiers():
    """How long a loop runs is often one: 10 iterations say nothing of a million."""
    jitted = made_brief(partial_sum, 10)
    for count in (1_000, 10_000, -1_000, 10_000):
        assert jitted(count) == partial_sum(count)
    assert [tier.calls for tier in jitted.report().tiers[1:]] == [2, 2]


@pytest.mark.parametrize("has_method", [True, False])
def test_what_becomes_long_goes_through_the_tiers_again(monkeypatch, has_method):
    """For other floats, which kinds of calls don't tell apart."""
    jitted = made_brief(halvings, 1.0, 0.99)
    called = (1.0, 1e-300) if has_method else (1, 1e-300)
    assert jitted(*called) == halvings(*called)
    calls = 0
    while (state := jitted.report().tiers[0].state) == brief.STATE:
        jitted(*called)
        calls += 1
        assert calls < 3 * brief._CALLS_FOR_ONE * (1 if has_method else 2)
    assert not is_called_itself(jitted)
    assert state == brief.STATE_AFTER
    assert f"more than {sum(one.calls + one.brief for one in jitted.report().tiers)} calls" in str(
        jitted.report()
    )
    before = sum(tier.calls for tier in jitted.report().tiers)
    for _ in range(20):
        jitted(*called)
    assert sum(tier.calls for tier in jitted.report().tiers) == before + 20


def test_a_single_long_call_may_have_been_interrupted(monkeypatch):
    """Of a long and a short one in turn, which are timed, none is believed."""
    jitted = made_brief(line, 1.0)
    seconds = itertools.cycle([0.0, 0.01, 0.02, 0.02])
    monkeypatch.setattr(brief, "time", types.SimpleNamespace(perf_counter=seconds.__next__))
    for _ in range(20 * brief._CALLS_FOR_ONE):
        jitted(1.0)
    assert next(seconds) == 0.0
    assert jitted.report().tiers[0].state == brief.STATE


inner = npaccel.jit(line, compile="auto", cache=False)


def calling(x):
    return np.sin(inner(x)) + inner(x, 3.0) + Spring().energy(x)


def test_compiled_code_calls_it():
    """Before, while and after it has a method of its own."""
    outer = npaccel.jit(calling, backend="eager", cache=False, strict=True)
    x = np.linspace(0, 1, 5)
    spring = Spring()
    expected = np.sin(line(x)) + line(x, 3.0) + x * 3.0
    assert_same(outer(x), expected)
    for _ in range(300):
        inner(1.0), spring.energy(1.0)
    assert is_called_itself(inner)
    assert is_called_itself(Spring.energy)
    assert_same(outer(x), expected)
    fresh = npaccel.jit(calling, backend="eager", cache=False, strict=True)
    assert_same(fresh(x), expected)
    inner.warmup(1.0)
    assert not is_called_itself(inner)
    for function in (outer, fresh):
        assert_same(function(x), expected)
        assert len(function.report().graphs) == 1


counted = np.zeros(1)


def counting(x):
    counted[0] += 1
    return 2.0 * x - 1.0


def test_dynamo_leaves_its_calls_alone():
    """Under `torch.compile` it runs in Python, once npaccel has Dynamo run parts of functions.

    Who resets Dynamo has it forget that, until npaccel says so again.
    """
    seen = []

    def backend(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    jitted = made_brief(counting, 1.0, default_float="float64")
    assert is_called_itself(jitted)
    torch.compile(lambda t, x: t + jitted(x), backend="eager")(torch.ones(2), 1.0)
    torch._dynamo.reset()
    nested_jit.leave_alone()
    compiled = torch.compile(lambda t, x: t + jitted(x), backend=backend)
    for _ in range(5):
        before = counted[0]
        assert compiled(torch.ones(2), 1.0).tolist() == [2.0, 2.0]
        assert counted[0] == before + 1
    assert not any("iadd" in target for target in seen)


class Particle:
    """A class with state, whose method is short."""

    def __init__(self, mass, position):
        self.mass = mass
        self.position = position
        self.moves = []

    @npaccel.jit(compile="auto", cache=False)
    def weight(self, gravity):
        return self.mass * gravity

    @npaccel.jit(compile="auto", cache=False)
    def moved(self, by):
        self.moves.append(by)
        return self.position + by


def first_two(pair):
    return pair[0] + pair[1]


def shifted(x):
    return x * 2.0 + 1


def test_methods_of_objects_and_items_of_containers():
    """They're told apart as the tiers do, by classes and by the kinds of the first items."""
    particle, other = Particle(2.0, np.ones(2)), Particle(3, np.zeros(2))
    for k in range(400):
        assert particle.weight(k * 1.0) == 2.0 * k
        assert_same(particle.moved(1.0), np.full(2, 2.0))
    assert is_called_itself(Particle.weight)
    assert is_called_itself(Particle.moved)
    assert len(particle.moves) == 400
    assert (other.weight(1.5), Particle.weight(other, gravity=2)) == (4.5, 6)
    assert_same(other.moved(2.0), np.full(2, 2.0))
    for call in (lambda: particle.weight(), lambda: particle.weight(1.0, 2.0)):
        with pytest.raises(TypeError, match="weight"):
            call()
    jitted = made_brief(first_two, (1.0, 2.0))
    assert is_called_itself(jitted)
    for given in [(2.0, 1.0), [1, 2], (1, 2.0), ("a", "b"), np.arange(3.0), (1.0, 2.0, 3.0), "xy"]:
        assert_same(jitted(given), first_two(given))
    with pytest.raises(IndexError):
        jitted((1.0,))
    jitted = made_brief(first_two, list(map(float, range(5))))
    assert is_called_itself(jitted)
    assert jitted([3.0] * 7) == 6.0
    assert jitted([3.0] * 70) == 6.0


def test_width_is_that_of_compiled_code():
    """Of functions that meet no 64-bit floats first, and of those whose answers are cast."""
    particle = Particle(2.0, np.float32([1, 2]))
    for _ in range(400):
        assert particle.moved(1.0).dtype == np.float32
    assert is_called_itself(Particle.moved)
    particle.position = np.ones(2)
    for _ in range(3):
        assert particle.moved(1.0).dtype == np.float64
    for dtype in ("i8", "f4", "i4", "?"):
        x = np.arange(5).astype(dtype)
        expected = npaccel.jit(shifted, compile="now", backend="eager", cache=False)(x)
        jitted = npaccel.jit(shifted, compile="auto", cache=False)
        for _ in range(400):
            assert_same(jitted(x), expected)
        assert is_called_itself(jitted)


scale = 2.0


def scaled(x):
    return x * scale


@pytest.mark.inductor
def test_wide_data_that_come_to_a_global_are_seen(monkeypatch):
    """By the next call of a function whose answers are cast."""
    jitted, x = npaccel.jit(scaled, compile="auto", cache=False), np.arange(5)
    for _ in range(400):
        assert jitted(x).dtype == np.float32
    assert is_called_itself(jitted)
    monkeypatch.setitem(globals(), "scale", np.ones(5))
    assert_same(jitted(x), np.arange(5.0))
    assert not is_called_itself(jitted)
    assert_same(jitted(x), np.arange(5.0))


def test_functions_that_call_jitted_ones_give_them_their_scope():
    """In which floats aren't narrowed, as the outer call has 64-bit ones."""
    inner = npaccel.jit(lambda x: x / 3, compile="auto", cache=False)
    outer = npaccel.jit(lambda x, n: x[0] + inner(n).dtype.itemsize, compile="auto", cache=False)
    wide, n = np.zeros(1), np.arange(2)
    for _ in range(600):
        assert outer(wide, n) == 8
    assert is_called_itself(outer)
    assert inner(n).dtype == np.float32
