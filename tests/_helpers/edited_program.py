"""A program whose jitted functions inline code of all kinds."""

import dataclasses
import functools

import numpy as np
from edited_helper import imported  # written by the test

import npaccel

FACTOR = 1.5


def helper(x):
    return np.sin(x) + nested(x)


def nested(x):
    return np.cos(x) * 1.25


class Model:
    scale = 2.0

    def __init__(self):
        self.k = 3.0

    def method(self, x):
        return x * self.k + 1.25

    @property
    def gain(self):
        return self.k * 1.25

    @staticmethod
    def static(x):
        return x - 1.25

    @classmethod
    def of_class(cls, x):
        return x * cls.scale + 1.25

    def __call__(self, x):
        return x / 1.25 + self.k


class Child(Model):
    def method(self, x):
        return super().method(x) * 1.25


@dataclasses.dataclass
class Point:
    x: float

    def norm(self):
        return self.x * 1.25


def doubled(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args) * 2.0

    return inner


@doubled
def decorated(x):
    return x + 1.25


def generator(x):
    for k in (1.0, 1.25):
        yield x * k


def with_default(x, function=nested):
    return function(x)


MODEL, CHILD, POINT = Model(), Child(), Point(2.0)
PART = functools.partial(helper)
TABLE = {"a": nested}
KINDS = {
    "call": lambda x: MODEL(x),
    "class method": lambda x: MODEL.of_class(x) + Model.of_class(x),
    "comprehensions": lambda x: sum([x * k for k in (1.0, 1.25)]) + {k: x * k for k in (1, 2)}[2],
    "dataclass": lambda x: x * POINT.norm(),
    "decorated": lambda x: decorated(x),
    "default": lambda x: with_default(x),
    "dict": lambda x: TABLE["a"](x),
    "generator": lambda x: sum(generator(x)),
    "generator expression": lambda x: sum(x * k for k in (1.0, 1.25)),
    "helper": lambda x: helper(x) + FACTOR,
    "imported": lambda x: imported(x) + 0.5,
    "lambda": lambda x: (lambda y: y * 1.25 + 2)(x),  # noqa: PLC3002 -- one of the kinds
    "map": lambda x: sum(map(nested, (x, x + 1.0))),
    "method": lambda x: MODEL.method(x),
    "partial": lambda x: PART(x),
    "property": lambda x: x * MODEL.gain,
    "static method": lambda x: MODEL.static(x) + Model.static(x),
    "super": lambda x: CHILD.method(x),
}


def loaded():
    """Return for each kind whether its code came from disk, after comparing with NumPy."""
    x = np.linspace(0.0, 1.0, 50)
    found = {}
    for name, function in KINDS.items():
        jitted = npaccel.jit(function, compile="now", strict=True)
        np.testing.assert_allclose(jitted(x), function(x), rtol=1e-12, err_msg=name)
        jitted(x)
        (graph,) = jitted.report().graphs
        found[name] = graph.loaded
    return found
