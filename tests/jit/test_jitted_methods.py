"""Jitted methods and functions that call one another."""

import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel.errors import PerformanceWarning

jit = npaccel.jit(backend="eager", default_float="float64")


class Wave:
    offset = 2.0

    def __init__(self, n):
        self.u = np.linspace(1.0, 2.0, n)
        self.t = 0.0

    def step(self, c):
        self.u[1:-1] += c * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])
        self.t += c
        return self.u.sum()

    def twice(self, c):
        return self.step(c) + self.step(c)

    def run(self, n):
        for _ in range(n):
            self.step(0.25)
        return self.u.copy(), self.t

    @property
    def energy(self):
        return (self.u**2).sum()

    @staticmethod
    def square(x):
        return x * x

    @classmethod
    def moved(cls, x):
        return x + cls.offset

    def all_kinds(self, c):
        a = self.square(self.u) + type(self).square(self.u)
        return a * self.energy + self.moved(self.u) * c


class Damped(Wave):
    def step(self, c):
        return super().step(c) * 2 + self.energy


class JittedWave:
    offset = 2.0
    __init__ = Wave.__init__
    step, twice, run, all_kinds = map(jit, (Wave.step, Wave.twice, Wave.run, Wave.all_kinds))
    energy = property(jit(Wave.energy.fget))
    square = staticmethod(jit(Wave.square))
    moved = classmethod(jit(Wave.moved.__func__))


class JittedDamped(JittedWave):
    @jit
    def step(self, c):
        return super().step(c) * 2 + self.energy


PAIRS = [(JittedWave, Wave), (JittedDamped, Damped)]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("name", ["twice", "run", "all_kinds"])
def test_methods_that_call_methods(ours, theirs, name):
    one, other = ours(9), theirs(9)
    for k in range(5):
        assert_same(getattr(one, name)(k), getattr(other, name)(k))
        assert_same(vars(one), vars(other))
    assert not getattr(ours, name).report().fallbacks


def test_methods_that_are_replaced():
    def step(self, x):
        return x * self.rate

    def run(self, x):
        return self.step(x) + self.square(x)

    class Model:
        rate = 2.0

    Model.step, Model.run = jit(step), jit(run)
    Model.square = staticmethod(jit(lambda x: x * x))
    model, x = Model(), np.arange(3.0)
    assert_same(model.run(x), x * 2 + x * x)
    Model.step = jit(lambda self, x: x * 10)
    assert_same(model.run(x), x * 10 + x * x)
    Model.step = lambda self, x: x * 20
    assert_same(model.run(x), x * 20 + x * x)
    Model.square = staticmethod(jit(lambda x: x * 0))
    assert_same(model.run(x), x * 20)
    model.step = jit(lambda x: x * 30)
    assert_same(model.run(x), x * 30)


def simpson(f, a, b):
    return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))


def plain_adaptive(f, a, b, tolerance):
    m = (a + b) / 2
    left, right = simpson(f, a, m), simpson(f, m, b)
    if abs(left + right - simpson(f, a, b)) < 15 * tolerance:
        return left + right
    half = tolerance / 2
    return plain_adaptive(f, a, m, half) + plain_adaptive(f, m, b, half)


@jit
def adaptive(f, a, b, tolerance):
    m = (a + b) / 2
    left, right = simpson(f, a, m), simpson(f, m, b)
    if abs(left + right - simpson(f, a, b)) < 15 * tolerance:
        return left + right
    return adaptive(f, a, m, tolerance / 2) + adaptive(f, m, b, tolerance / 2)


@jit
def sums(x):
    if x.sum() > 3:
        return x.sum() - sums(x - 1)
    return np.add.reduce(x)


def test_calls_at_breaks():
    """npaccel's own code isn't compiled as a part of the function that calls it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        args = np.sin, 0.0, 1.0, 1e-4
        assert_same(adaptive(*args), plain_adaptive(*args))
        assert_same(sums(np.arange(4.0)), np.float64(6.0 - 2.0))
    for function in (adaptive, sums):
        fallbacks = function.report().fallbacks
        assert fallbacks
        assert {one.file for one in fallbacks} == {__file__}
