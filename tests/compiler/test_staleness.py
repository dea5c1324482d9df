"""No stale results: whatever a function reads besides its arguments is seen again."""

import functools

import numpy as np
import pytest
from comparing import assert_same, check

import npaccel

X = np.arange(4.0)
SCALE = 2.0
OFFSET = np.ones(4)
TABLE = {"a": 1.0, "b": [1.0, 2.0]}


def helper(x):
    return x * SCALE


class Settings:
    k = 3.0


SETTINGS = Settings()


def uses_globals(x):
    return helper(x) + OFFSET * SETTINGS.k + TABLE["a"] + TABLE["b"][1]


@pytest.fixture
def jitted(backend):
    return npaccel.jit(uses_globals, backend=backend, default_float="float64")


def agree(jitted, *args):
    for _ in range(2):
        assert_same(jitted(*args), jitted.__wrapped__(*args))


class TestGlobals:
    def test_rebound_number(self, jitted, monkeypatch):
        for value in (2.0, 3.0, 4.0, 2.0, -0.0, 0.0):
            monkeypatch.setitem(globals(), "SCALE", value)
            agree(jitted, X)

    def test_rebound_to_another_type(self, jitted, monkeypatch):
        for value in (2.0, 2, True, np.float32(2), np.arange(4), np.ones((3, 4)), 2.0):
            monkeypatch.setitem(globals(), "SCALE", value)
            agree(jitted, X)

    def test_captured_array_changed_in_place(self, jitted):
        agree(jitted, X)
        OFFSET[1] = 50
        agree(jitted, X)
        OFFSET[1] = 1
        agree(jitted, X)

    def test_captured_array_rebound(self, jitted, monkeypatch):
        for array in (np.zeros(4), np.zeros((2, 4)), np.ones(4, np.float32), np.ones(8)[::2]):
            monkeypatch.setitem(globals(), "OFFSET", array)
            agree(jitted, X)

    def test_attribute(self, jitted, monkeypatch):
        for value in (1.0, 2.0, 3):
            monkeypatch.setattr(SETTINGS, "k", value, raising=False)
            agree(jitted, X)
        monkeypatch.undo()
        agree(jitted, X)

    def test_class_attribute(self, jitted, monkeypatch):
        agree(jitted, X)
        monkeypatch.setattr(Settings, "k", 10.0)
        agree(jitted, X)

    def test_dict_and_list(self, jitted, monkeypatch):
        agree(jitted, X)
        monkeypatch.setitem(TABLE, "a", 7.0)
        agree(jitted, X)
        monkeypatch.setitem(TABLE, "b", [5.0, 6.0])
        agree(jitted, X)
        TABLE["b"][1] = 8.0
        agree(jitted, X)

    def test_helper_replaced(self, jitted, monkeypatch):
        agree(jitted, X)
        monkeypatch.setitem(globals(), "helper", lambda x: x - 100)
        agree(jitted, X)
        monkeypatch.undo()
        agree(jitted, X)

    def test_numpy_function_replaced(self, monkeypatch):
        jitted = npaccel.jit(lambda x: np.sin(x), backend="eager")
        agree(jitted, X)
        monkeypatch.setattr(np, "sin", np.cos)
        agree(jitted, X)

    def test_alternating_values_need_no_new_capture(self, monkeypatch):
        jitted = npaccel.jit(uses_globals, backend="eager", default_float="float64")
        for value in (2.0, 3.0) * 5:
            monkeypatch.setitem(globals(), "SCALE", value)
            agree(jitted, X)
        assert len(jitted.report().graphs) <= 2

    def test_returned_global(self, monkeypatch):
        jitted = npaccel.jit(lambda x: (x + 1, SCALE, TABLE["a"]), backend="eager")
        for value in (2.0, 5.0, None, "text"):
            monkeypatch.setitem(globals(), "SCALE", value)
            agree(jitted, X)


class TestClosures:
    def test_cell(self, backend):
        def make():
            factor = 1.0
            array = np.zeros(4)

            @npaccel.jit(backend=backend, default_float="float64")
            def f(x):
                return x * factor + array

            def change(value, at):
                nonlocal factor
                factor = value
                array[0] = at

            return f, change

        f, change = make()
        for value, at in [(1.0, 0), (2.0, 1), (2.0, 5), (3, 5), (np.float64(4), 6)]:
            change(value, at)
            agree(f, X)

    def test_one_code_many_closures(self, backend):
        def make(n):
            return npaccel.jit(lambda x: x * n, backend=backend)

        functions = [make(n) for n in (1.0, 2.0, 3.0)]
        for _ in range(2):
            for f in functions:
                agree(f, X)

    def test_defaults(self):
        def f(x, k=2.0, a=X):
            return x * k + a

        jitted = npaccel.jit(f, backend="eager", default_float="float64")
        agree(jitted, X)
        f.__defaults__ = (3.0, X + 1)
        agree(jitted, X)

    def test_mutable_default(self):
        kept = np.zeros(4)

        def f(x, a=kept):
            a += x
            return a * 2

        jitted = npaccel.jit(f, backend="eager")
        for i in range(1, 4):
            assert_same(jitted(np.ones(4)), np.full(4, 2.0 * i))


class Model:
    bias = 1.0

    def __init__(self, weight):
        self.weight = weight

    @npaccel.jit(backend="eager", default_float="float64")
    def predict(self, x):
        return x * self.weight + self.bias

    def other(self, x):
        return self.helper(x) + 1

    def helper(self, x):
        return x * 2


class TestMethods:
    def test_attributes(self, monkeypatch):
        model = Model(2.0)
        for weight in (2.0, 3.0, np.arange(4.0), np.ones((2, 4))):
            model.weight = weight
            for _ in range(2):
                assert_same(model.predict(X), X * model.weight + model.bias)
        model.bias = 5.0
        assert_same(model.predict(X), X * model.weight + 5.0)
        monkeypatch.setattr(Model, "bias", 7.0)
        assert_same(Model(1.0).predict(X), X + 7.0)
        assert_same(model.predict(X), X * model.weight + 5.0)

    def test_array_attribute_changed_in_place(self):
        model = Model(np.arange(4.0))
        assert_same(model.predict(X), X * model.weight + 1)
        model.weight[2] = 9
        assert_same(model.predict(X), X * model.weight + 1)

    def test_two_objects(self):
        one, two = Model(1.0), Model(2.0)
        for _ in range(2):
            assert_same(one.predict(X), X + 1)
            assert_same(two.predict(X), X * 2 + 1)

    def test_bound_method(self, monkeypatch):
        model = Model(1.0)
        f = npaccel.jit(model.other, backend="eager", default_float="float64")
        assert_same(f(X), X * 2 + 1)
        monkeypatch.setattr(Model, "helper", lambda self, x: x * 3)
        assert_same(f(X), X * 3 + 1)
        monkeypatch.setattr(model, "helper", lambda x: x * 4, raising=False)
        assert_same(f(X), X * 4 + 1)

    def test_partial(self):
        a = np.ones(4)
        f = npaccel.jit(functools.partial(lambda a, x, k: a + x * k, a, k=2.0), backend="eager")
        assert_same(f(X), 1 + X * 2)
        a[0] = 10
        assert_same(f(X), a + X * 2)
        assert_same(f(X, k=3.0), a + X * 3)


def test_nested_jit():
    @npaccel.jit(backend="eager")
    def inner(x):
        return x * SCALE

    def outer(x):
        return inner(x) + 1

    jitted = check(outer, X)
    assert len(jitted.report().graphs) == 1


def test_side_effects_on_objects():
    log = []

    class Counter:
        n = 0

    counter = Counter()

    def f(x):
        log.append(3)
        counter.n += 1
        return x + counter.n

    jitted = npaccel.jit(f, backend="eager")
    for i in range(1, 5):
        assert_same(jitted(X), X + i)
        assert counter.n == i
        assert len(log) == i
