"""Loops over lists and dicts of arrays, which look like loops over elements by their text."""

import copy
import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel.errors import PerformanceWarning


def descent(params, grads, rate):
    for i, grad in enumerate(grads):
        params[i] = params[i] - rate * grad
    return params


def descent_in_place(params, grads, rate):
    for key in params:
        params[key] -= rate * grads[key]
    return params


def of_items(params, grads, rate):
    for key, value in params.items():
        params[key] = value - rate * grads[key] * np.sqrt(np.abs(value))
    return params


def adam(params, grads, mean, square, step, rate=1e-3, b1=0.9, b2=0.999):
    for i in range(len(params)):
        mean[i] = b1 * mean[i] + (1 - b1) * grads[i]
        square[i] = b2 * square[i] + (1 - b2) * grads[i] ** 2
        first = mean[i] / (1 - b1**step)
        params[i] = params[i] - rate * first / (np.sqrt(square[i] / (1 - b2**step)) + 1e-8)
    return params


def layers(x, weights, biases):
    for w, b in zip(weights, biases, strict=True):
        x = np.tanh(x @ w + b)
    return x


def norm(arrays):
    total = 0.0
    for a in arrays:
        total += (a**2).sum()
    return np.sqrt(total)


def updated(params, grads):
    out = []
    for p, g in zip(params, grads, strict=True):
        out.append(p - 0.1 * g)
    return out


class Net:
    def __init__(self):
        self.weights, self.grads = arrays(3), arrays(3)

    def step(self, rate):
        for i in range(len(self.weights)):
            self.weights[i] = np.tanh(self.weights[i] - rate * self.grads[i])
        return self.weights[0]


def arrays(count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(4, 4)) for _ in range(count)]


def table(count, seed=0):
    return dict(zip("abcdef", arrays(count, seed), strict=False))


PROGRAMS = {
    "descent": (descent, lambda: [arrays(3), arrays(3, 1), 0.1]),
    "descent in place": (descent_in_place, lambda: [table(3), table(3, 1), 0.1]),
    "items": (of_items, lambda: [table(3), table(3, 1), 0.1]),
    "adam": (adam, lambda: [arrays(3), arrays(3, 1), arrays(3, 2), [a**2 for a in arrays(3)], 2]),
    "layers": (layers, lambda: [np.ones((5, 4)), arrays(3), [a[0] for a in arrays(3)]]),
    "norm": (norm, lambda: [arrays(4)]),
    "updated": (updated, lambda: [arrays(4), arrays(4, 1)]),
    "tuple": (norm, lambda: [tuple(arrays(4))]),
    "method": (Net.step, lambda: [Net(), 0.1]),
}


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_as_arrays(name, backend):
    function, made = PROGRAMS[name]
    jitted = npaccel.jit(function, compile="now", backend=backend, default_float="float64")
    ours, numpys = made(), made()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PerformanceWarning)
        for _ in range(3):
            assert_same(jitted(*ours), function(*numpys), rtol=1e-12)
    for one, other in zip(ours, numpys, strict=True):
        assert_same(getattr(one, "weights", one), getattr(other, "weights", other), rtol=1e-12)
    report = jitted.report()
    assert report.graphs
    assert not [loop for loop in report.loops if loop.engine == "Python"]


def below(points, limit):
    found = 0
    for i in range(len(points[0])):
        if points[0][i] ** 2 + points[1][i] ** 2 < limit:
            found += 1
    return found


def test_elements_of_arrays_in_lists_stay_elements():
    jitted = npaccel.jit(below, compile="now")
    points = list(np.random.default_rng(0).normal(size=(2, 50)))
    with pytest.warns(PerformanceWarning, match="single elements"):
        found = jitted(points, 1.0)
    assert found == below(points, 1.0)


def scaled(values, factor):
    for i in range(len(values)):
        values[i] = values[i] * factor
    return values


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_lists_of_numbers_and_of_arrays():
    """One function for lists of either; what was chosen for one isn't taken for the other."""
    jitted = npaccel.jit(scaled, compile="now", default_float="float64")
    for given in ([1.0, 2.0], arrays(2), [1, 2.5, 3], [4.0], arrays(3), np.arange(3.0)):
        assert_same(jitted(copy.deepcopy(given), 1.5), scaled(copy.deepcopy(given), 1.5))
