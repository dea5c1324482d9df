"""What doesn't fit into one graph: it runs in pieces or in NumPy, and says so."""

import collections
import copy
import functools
import random
import types
import warnings
from typing import ClassVar

import numpy as np
import pytest
import torch
from comparing import assert_same, quiet

import npaccel
from npaccel import errors
from npaccel._compiler.snapshot import Snapshot

X = np.arange(6.0)


def branch(x):
    y = x * 2
    if y.sum() > 10:
        return y - 1
    return y + 1


def prints(x):
    y = x + 1
    print("half way")
    return y * 2


def reads_a_truth(x):
    is_positive = bool(x.sum() > 0)
    return x * is_positive


def loop_with_a_break(x):
    for _ in range(3):
        x = x + 1
        print("step")
    return x


@pytest.mark.parametrize("function", [branch, prints, reads_a_truth, loop_with_a_break])
def test_results_are_right(function, backend, capsys):
    f = npaccel.jit(function, backend=backend, default_float="float64")
    for x in (X, X + 1, X * 0, X[:3], np.ones((2, 2))):
        assert_same(quiet(f, x), function(x))


@pytest.mark.parametrize("function", [branch, prints, reads_a_truth])
def test_warns_once_per_cause_with_the_line(function):
    f = npaccel.jit(function, backend="eager")
    with pytest.warns(errors.PerformanceWarning) as caught:
        f(X)
        f(X)
        f(X + 1)
    # The first capture in a process imports much of torch, which warns of its own things.
    caught = [one for one in caught if one.category is errors.PerformanceWarning]
    assert len(caught) == 1
    fallback = f.report().fallbacks[0]
    assert fallback.file == __file__
    start = function.__code__.co_firstlineno
    assert start < fallback.line <= start + 4
    assert fallback.fix
    assert caught[0].filename == __file__
    assert f"{__file__}:{fallback.line}" in str(caught[0].message)


def draws_with_its_own(n):
    rng = np.random.default_rng(3)
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = x[i - 1] + rng.poisson()
    return x


def test_generators_in_loops_are_named_in_the_advice():
    jitted = npaccel.jit(draws_with_its_own, default_float="float64")
    assert_same(quiet(jitted, 9), draws_with_its_own(9))
    advice = [fallback.fix for fallback in jitted.report().fallbacks]
    assert any("pass it as an argument" in text for text in advice)
    assert any("draw all random numbers before the loop" in text for text in advice)


def test_the_line_is_that_of_the_helper():
    def helper(x):
        return bool(x.sum() > 3)  # the line

    def f(x):
        return x * helper(x)

    jitted = npaccel.jit(f, backend="eager")
    quiet(jitted, X)
    assert jitted.report().fallbacks[0].line == helper.__code__.co_firstlineno + 1
    assert "bool(x.sum() > 3)" in jitted.report().fallbacks[0].text


@pytest.mark.parametrize("function", [branch, prints, reads_a_truth])
def test_strict_raises(function):
    f = npaccel.jit(function, strict=True, backend="eager")
    for _ in range(2):
        with pytest.raises(errors.NotCompiledError, match="test_breaks.py"):
            f(X)


def test_scalars_stay_scalars_across_a_break(capsys):
    def f(x):
        total = x.sum()
        print(type(total).__name__, isinstance(total, float))
        return total, x[0], x[..., 0]

    jitted = npaccel.jit(f, backend="eager")
    for _ in range(2):
        got = quiet(jitted, X)
        printed = capsys.readouterr().out
        wanted = f(X)
        assert_same(got, wanted)
        assert printed == capsys.readouterr().out


def test_writes_across_a_break(backend):
    def f(x, y):
        x[1:] = 7
        print()
        y += x
        return x

    for a, b in [(np.zeros(4), np.ones(4))] * 2:
        x, y = a.copy(), b.copy()
        jitted = npaccel.jit(f, backend=backend)
        assert quiet(jitted, x, y) is x
        wanted_x, wanted_y = a.copy(), b.copy()
        f(wanted_x, wanted_y)
        assert_same((x, y), (wanted_x, wanted_y))


def test_overlap_across_a_break(backend):
    def f(x, y):
        print()
        x[1:] = y[:-1] + 1
        return y * 2

    jitted = npaccel.jit(f, backend=backend)
    for make in (lambda: (np.zeros(4), np.ones(4)), lambda: overlapping()):
        args, wanted_args = make(), make()
        assert_same(quiet(jitted, *args), f(*wanted_args))
        assert_same(args, wanted_args)


def overlapping():
    base = np.arange(5.0)
    return base[1:], base[:-1]


def test_read_only_arrays_across_a_break(backend):
    def f(x, write):
        print()
        y = x * 2
        if write:
            x[0] = 1
        return y

    x = np.arange(3.0)
    x.flags.writeable = False
    jitted = npaccel.jit(f, backend=backend)
    for _ in range(2):
        assert_same(quiet(jitted, x, False), x * 2)
        with pytest.raises(ValueError, match="read-only"):
            quiet(jitted, x, True)
        assert_same(x, np.arange(3.0))


def test_tensors_go_through_the_host():
    f = npaccel.jit(branch, backend="eager")
    x = torch.arange(6.0)
    got = quiet(f, x)
    assert isinstance(got, torch.Tensor)
    assert_same(got.numpy(), branch(x.numpy()))
    with pytest.raises(errors.NotCompiledError, match="requires gradients"):
        quiet(f, x.requires_grad_())


def test_unknown_numpy_function_is_named():
    f = npaccel.jit(lambda x: np.array2string(x), backend="eager")
    with pytest.warns(errors.PerformanceWarning, match="array2string"):
        assert f(X) == np.array2string(X)


def test_exceptions_of_the_user():
    def f(x, n):
        if n > 2:
            raise KeyError("n is too large")
        return x[n]

    jitted = npaccel.jit(f, backend="eager")
    assert_same(jitted(X, 1), X[1])
    with pytest.raises(KeyError, match="n is too large"):
        jitted(X, 3)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: x[10], IndexError),
        (lambda x: x.reshape(4, 4), ValueError),
        (lambda x: x @ np.ones((2, 2)), ValueError),
        (lambda x: np.sum(x, axis=3), np.exceptions.AxisError),
        (lambda x: np.concatenate([x, np.ones((2, 2))]), ValueError),
        (lambda x: x.nothing, AttributeError),
        (lambda x: np.linalg.inv(np.zeros((2, 2)) * x[0]), np.linalg.LinAlgError),
        (lambda x: x[np.array([1, 99])], IndexError),
        (lambda x: np.int8(1) + 300 + x, OverflowError),
    ],
)
def test_errors_of_numpy(function, error, backend):
    f = npaccel.jit(function, backend=backend)
    for _ in range(2):
        with pytest.raises(error) as caught:
            quiet(f, X)
        with pytest.raises(error) as wanted:
            function(X)
        assert type(caught.value) is type(wanted.value)
        lines = [entry.path for entry in caught.traceback]
        assert any(str(line) == __file__ for line in lines[1:])


def test_generators_run_in_numpy():
    def f(x):
        yield x + 1
        yield x + 2

    jitted = npaccel.jit(f, backend="eager")
    assert_same(list(quiet(jitted, X)), list(f(X)))
    assert jitted.report().fallbacks


def test_only_the_line_of_an_uncompiled_method_runs_in_numpy(backend):
    def f(x):
        y = np.sin(x)
        values = y.tolist()
        return np.cos(y), values

    jitted = npaccel.jit(f, backend=backend, default_float="float64")
    assert_same(quiet(jitted, X), f(X))
    assert [fallback.kind for fallback in jitted.report().fallbacks] == ["break"]
    assert len(jitted.report().graphs) == 2


def test_sizes_that_the_first_piece_was_not_compiled_for(backend):
    def f(a, b, counts):
        counts += 1
        found = np.unique(a) + b
        return found.tolist()

    jitted = npaccel.jit(f, backend=backend, default_float="float64", cache=False)
    for a in (np.arange(4.0), np.zeros(4), np.arange(4.0)):  # one value broadcasts
        counts, wanted = np.zeros(3), np.zeros(3)
        assert quiet(jitted, a, np.ones(4), counts) == f(a, np.ones(4), wanted)
        assert_same(counts, wanted)


def test_sizes_that_a_later_piece_was_not_compiled_for():
    def f(a, b, counts):
        counts += 1
        values = counts.tolist()
        return np.unique(a) + b, values

    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    for a in (np.arange(4.0), np.zeros(4), np.ones(4)):
        got, wanted = np.zeros(3), np.zeros(3)
        assert_same(quiet(jitted, a, np.ones(4), got), f(a, np.ones(4), wanted))
        assert_same(got, wanted)


def test_numbers_of_64_bits_enter_pieces(capfd):
    def f(x, n):
        values = x.tolist()
        return np.sin(x) * n, values

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for n in (np.uint64(3), np.uint64(2**63 + 5)):
        assert_same(quiet(jitted, X, n), f(X, n))
    assert len(jitted.report().graphs) == 1
    assert "Error" not in capfd.readouterr().err


def test_numpy_goes_on_with_what_a_piece_was_not_compiled_for():
    """What was written to an argument is the same after a second run: nothing else tells."""

    def f(a, b):
        seen = a + 1
        a[...] = 0
        small = np.real_if_close(seen)  # Has no compiled implementation.
        kept = small[small > 2]
        return kept + b, seen

    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for first in ([2.0, 3.0, 4.0], [9.0, 0.0, 1.0], [2.0, 3.0, 5.0], [0.0, 0.0, 7.0]):
            got, wanted = np.array(first), np.array(first)
            assert_same(jitted(got, np.ones(3)), f(wanted, np.ones(3)))
            assert_same(got, wanted)
    assert any("depends on the data" in one.reason for one in jitted.report().fallbacks)


TABLE = np.zeros(2)
LOG = []


class Counter:
    seen: ClassVar = []
    __slots__ = ("count", "deque", "set", "weights")

    def __init__(self):
        self.count, self.weights = 0, np.zeros(2)
        self.deque, self.set = collections.deque(maxlen=2), set()

    def step(self):
        self.count += 1
        self.weights += 1
        self.seen.append(self.count)
        self.deque.append(1)
        self.set.add(self.count)


def changes_all_it_sees():
    """A function, and what shows that it ran once."""
    closed, last = np.zeros(2), np.zeros(3)

    def f(a, rng, log, counter, fails=False):
        nonlocal last
        seen = a + rng.random() + np.random.random()  # noqa: NPY002
        log.append(len(log))
        LOG.append(len(log))
        closed[0] = 1 + closed[1]
        TABLE[1] += 1
        counter.step()
        last = seen + 1
        small = np.real_if_close(seen)  # Has no compiled implementation.
        if fails:
            return np.linalg.inv(np.zeros((2, 2)) * small[0])
        return small[small > 2] + np.ones(3), seen

    def state():
        return last, closed

    return f, state


def call_of_all(function, state, first, fails=False):
    TABLE[...] = 0
    for kept in (LOG, Counter.seen):
        kept.clear()
    np.random.seed(0)  # noqa: NPY002
    rng, log, counter = np.random.default_rng(3), [], Counter()
    try:
        result = quiet(function, np.array(first), rng, log, counter, fails)
    except np.linalg.LinAlgError as error:
        result = str(error)
    drawn = rng.random(), np.random.random()  # noqa: NPY002
    kinds = [list(kind) for kind in (counter.deque, counter.set, counter.seen)]
    objects = counter.count, counter.weights, kinds, list(LOG), TABLE.copy()
    return copy.deepcopy((result, drawn, log, objects, state()))


def test_nothing_is_done_twice_where_numpy_goes_on():
    (f, state), (g, plain_state) = changes_all_it_sees(), changes_all_it_sees()
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    for first in ([2.0, 3.0, 4.0], [9.0, 0.0, 1.0], [0.0, 0.0, 7.0]):
        wanted = call_of_all(g, plain_state, first)
        assert_same(call_of_all(jitted, state, first), wanted)
    assert any("depends on the data" in one.reason for one in jitted.report().fallbacks)
    wanted = call_of_all(g, plain_state, [2.0, 3.0, 4.0], fails=True)
    assert wanted[0] == "Singular matrix"
    assert_same(call_of_all(jitted, state, [2.0, 3.0, 4.0], fails=True), wanted)


def _with_globals(space, function):
    """Return a function with other globals."""
    rest = (function.__name__, function.__defaults__, function.__closure__)
    return types.FunctionType(function.__code__, space, *rest)


def test_a_snapshot_restores_what_code_leads_to():
    old = types.SimpleNamespace(bytes=bytearray(b"a"), table={"b": [1], "a": np.array([-0.0])})
    old.counts, old.places = collections.Counter("aab"), np.array([[], 1], object)
    old.tensors = torch.tensor([torch.nan, 1j]).conj(), torch.empty(2, device="meta")

    space = {"random": random, "torch": torch}  # This module's names lead to all of pytest.

    @functools.partial(_with_globals, space)
    def inner(step=[0]):  # noqa: B006
        step.append(random.random())
        old.bytes += b"b"
        old.table["a"] += 0.0
        old.tensors[0][1] = 2
        old.table.pop("b").append(2)
        old.table["c"] = old.counts.update("b")
        old.places[0].append(1)
        old.places[1] = torch.ones(1)
        space["NEW"] = old.new = 1
        return NEW  # noqa: F821

    for kept in (inner, functools.partial(inner), types.MethodType(lambda self: inner(), old)):
        random.seed(1)
        snapshot = Snapshot(_with_globals(space, lambda kept=kept: kept()), ())
        assert not snapshot.is_changed()
        shown = repr(vars(old)), random.getstate(), inner.__defaults__[0].copy()
        kept()
        assert snapshot.is_changed()
        snapshot.restore()
        assert not snapshot.is_changed()
        assert (repr(vars(old)), random.getstate(), *inner.__defaults__) == shown
        assert "NEW" not in space
