"""No stale results: what a function reads of classes and other objects is seen again."""

import enum
import types

import numpy as np
import pytest
from comparing import assert_same, quiet

import npaccel

X = np.arange(4.0)
MODULE = types.ModuleType("some_settings")


class Kind(enum.Enum):
    ONE = 1
    TWO = 2


class Base:
    inherited = 1.0


class Settings(Base):
    number = 1.0
    text = "a"
    kind = Kind.ONE
    numbers = (1.0, 2.0)
    found: list = []  # noqa: RUF012 (what is appended to)

    @property
    def doubled(self):
        return type(self).number * 2

    def scaled(self, x):
        return x * super().inherited


SETTINGS = Settings()
NUMBERS = (1.0, 2.0, 0.0, -0.0, 3, True, 2.5)
#: What reads an attribute, whose it is, its name and the values that it has in turn.
READS = {
    "number": (lambda x: x * Settings.number, Settings, "number", NUMBERS),
    "type": (lambda x: x * type(SETTINGS).number, Settings, "number", NUMBERS),
    "property": (lambda x: x * SETTINGS.doubled, Settings, "number", NUMBERS),
    "made": (lambda x: x * type(Settings()).number, Settings, "number", NUMBERS),
    "dict": (lambda x: x * Settings.__dict__["number"], Settings, "number", NUMBERS),
    "inherited": (lambda x: x * Settings.inherited, Base, "inherited", NUMBERS),
    "hidden": (lambda x: x * Settings.inherited, Settings, "inherited", NUMBERS),
    "super": (lambda x: SETTINGS.scaled(x), Base, "inherited", NUMBERS),
    "made_super": (lambda x: Settings().scaled(x), Base, "inherited", NUMBERS),
    "text": (lambda x: x * len(Settings.text), Settings, "text", ("a", "ab", "", "abc")),
    "kind": (lambda x: x if Settings.kind is Kind.ONE else -x, Settings, "kind", list(Kind)),
    "tuple": (lambda x: x * Settings.numbers[0], Settings, "numbers", ((2.0, 1), (3.0,), (4, 5))),
    "list": (lambda x: x * len(Settings.found), Settings, "found", ([], [1.0], [2.0, 3.0])),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", READS)
def test_attributes_of_classes(name, monkeypatch, backend):
    function, owner, attribute, values = READS[name]
    compiled = npaccel.jit(function, backend=backend, default_float="float64")
    for value in (*values, *values):
        monkeypatch.setattr(owner, attribute, value, raising=False)
        assert_same(compiled(X), function(X))


def test_names_of_classes():
    kind = type("A", (), {})

    def f(x):
        return x * len(kind.__name__)

    compiled = npaccel.jit(f, backend="eager", default_float="float64")
    for name in ("A", "Ab", "Abc", "A"):
        kind.__name__ = name
        assert_same(compiled(X), f(X))


@pytest.mark.parametrize("owner", [Settings, SETTINGS, MODULE], ids=["class", "object", "module"])
@pytest.mark.parametrize("form", ["hasattr", "getattr", "try"])
def test_attributes_that_come_and_go(owner, form):
    def has(x):
        return x * 2 if hasattr(owner, "extra") else x * 3

    def get(x):
        return x * getattr(owner, "extra", 5.0)

    def attempt(x):
        try:
            return x * owner.extra
        except AttributeError:
            return x * 9

    f = {"hasattr": has, "getattr": get, "try": attempt}[form]
    compiled = npaccel.jit(f, backend="eager", default_float="float64")
    for value in (None, 1.0, None, 2.0, 3.0, None):
        if value is not None:
            owner.extra = value
        elif hasattr(owner, "extra"):
            del owner.extra
        assert_same(compiled(X), f(X))


def test_lists_of_classes_that_grow(monkeypatch):
    def f(x):
        Settings.found.append(x.sum())
        return x * 2

    compiled = npaccel.jit(f, backend="eager", default_float="float64")
    monkeypatch.setattr(Settings, "found", [])
    for k in range(4):
        compiled(X * k)
    assert_same(Settings.found, [(X * k).sum() for k in range(4)])


def test_keys_that_come_and_go(backend):
    table = {"a": 1.0}

    def f(x):
        try:
            return x * table["b"]
        except KeyError:
            return x * 9

    compiled = npaccel.jit(f, backend=backend, default_float="float64")
    for value in (None, 1.0, None, 2.0, 3.0, None):
        if value is None:
            table.pop("b", None)
        else:
            table["b"] = value
        assert_same(compiled(X), f(X))


def test_sets_that_grow():
    seen = {0}
    functions = [lambda x: x * len(seen), lambda x: x * sum(seen), lambda x: x * (2 in seen)]
    for f in functions:
        compiled = npaccel.jit(f, backend="eager", default_float="float64")
        seen.clear()
        for k in range(4):
            seen.add(k)
            assert_same(compiled(X), f(X))


class Switch:
    def __init__(self, value):
        self.value = value

    def __bool__(self):
        return self.value > 1


class Queue:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


@pytest.mark.parametrize("kind", [Switch, Queue])
def test_truth_of_objects(kind):
    def f(x, switch):
        y = x * 2 if switch else x * 3
        return y + 1 if not switch else y

    compiled = npaccel.jit(f, backend="eager", default_float="float64")
    for value in (0, 1, 2, 3, 0, 4, 1):
        assert_same(compiled(X, kind(value)), f(X, kind(value)))


class Point:
    def __init__(self, x):
        self.x = x


def test_dicts_of_attributes_as_results():
    def function(x):
        point = Point(x * 2)
        found = vars(point)
        point.y = 3
        return found, len(found), sorted(vars(point))

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        assert_same(quiet(jitted, X), function(X))
