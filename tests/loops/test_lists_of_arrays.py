"""Loops over lists and dicts of arrays, which look like loops over elements by their text."""

import copy
import importlib
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel.errors import PerformanceWarning

BENCHES = Path(__file__).resolve().parents[2] / "asv_benches"
sys.path.insert(0, str(BENCHES))
ordinary = importlib.import_module("benchmarks.ordinary_programs")
sys.path.remove(str(BENCHES))


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


def positive(arrays):
    found = []
    for a in arrays:
        if (a > 0).any():
            found.append(a[a > 0] * 2)  # noqa: PERF401  a loop is what is tried
    return found


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
    "masks": (positive, lambda: [arrays(3)]),
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


class Trainer:
    def __init__(self):
        self.params, self.momenta = network(), {k: np.zeros_like(v) for k, v in network().items()}
        self.norms, self.count = [], 0

    def step(self, grads, rate=0.01):
        self.count += 1
        for key in self.params:
            self.momenta[key] = 0.9 * self.momenta[key] + grads[key]
            self.params[key] = self.params[key] - rate * self.momenta[key]
        norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
        self.norms.append(norm)
        return norm


def network(sizes=(3, 5, 5, 1)):
    rng = np.random.default_rng(0)
    made = {}
    for i, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        made |= {f"W{i}": rng.normal(size=(rows, columns)), f"b{i}": np.zeros(columns)}
    return made


@pytest.mark.inductor
def test_a_network_is_one_graph():
    """Layers of several shapes, whose names are made of the loop's index."""
    x, y = np.random.default_rng(1).normal(size=(7, 3)), np.ones((7, 1))
    ours, numpys = network(), network()
    train_step = ordinary.PLAIN["networks"]["train_step"].call
    jitted = npaccel.jit(train_step, compile="now", default_float="float64")
    trainer, numpys_trainer = Trainer(), Trainer()
    step = npaccel.jit(Trainer.step, compile="now", default_float="float64")
    for _ in range(4):
        assert_same(jitted(ours, x, y, 0.01), train_step(numpys, x, y, 0.01), rtol=1e-11)
        assert_same(step(trainer, network()), numpys_trainer.step(network()), rtol=1e-12)
    assert_same(ours, numpys, rtol=1e-11)
    assert_same(vars(trainer), vars(numpys_trainer), rtol=1e-12)
    assert len(jitted.report().graphs) == 1
    assert len(step.report().graphs) <= 2  # The count is a number that changes.
    assert not any(graph.uncacheable for graph in step.report().graphs)


def smoothed(rows, factor):
    for i in range(len(rows)):
        rows[i] -= factor * (rows[i] - rows[i].mean())
    return rows


@pytest.mark.parametrize("count", [3, 600])
def test_many_arrays_are_split(count):
    """The body of the loop is compiled once, whatever the length of the list."""
    jitted = npaccel.jit(smoothed, compile="now", backend="eager", default_float="float64")
    ours, numpys = ([a[0] for a in arrays(count)] for _ in range(2))
    kept = list(ours)
    for _ in range(2):
        assert jitted(ours, 0.5) is ours
        smoothed(numpys, 0.5)
        assert_same(ours, numpys, rtol=1e-12)
    assert all(one is other for one, other in zip(ours, kept, strict=True))  # Written in place.
    assert len(jitted.report().graphs) <= 2


def shown(arrays, names):
    found = {}
    for name, a in zip(names, arrays, strict=True):
        print(name)
        found[name] = a * 2
    return found


def test_what_breaks_the_graph_is_split(capsys):
    jitted = npaccel.jit(shown, compile="now", backend="eager", default_float="float64")
    for _ in range(2):
        assert_same(jitted(arrays(2), ["a", "b"]), shown(arrays(2), ["a", "b"]))
    assert capsys.readouterr().out.split() == ["a", "b"] * 4


@pytest.mark.parametrize("kind", [np.float32, int, complex])
def test_items_changed_in_place(kind):
    """`x[i] += y` of arrays, numbers and lists in one list, and of an array in two places."""

    def function(items):
        for i in range(len(items)):
            items[i] += items[i - 1]
            items[i] *= 2
        return items

    jitted = npaccel.jit(function, compile="now", backend="eager", default_float="float64")
    shared = [np.arange(3).astype(kind) for _ in range(2)]
    for first in (np.arange(3).astype(kind), 2, np.float64(3)):
        given = [[first, shared[0].copy(), np.ones(3)], []]
        given[1] = [given[0][1], given[0][1], 4.5]
        for one in given:
            try:
                wanted = function([np.array(a) if isinstance(a, np.ndarray) else a for a in one])
            except TypeError as error:
                wanted = str(error)
            try:
                ours = jitted([np.array(a) if isinstance(a, np.ndarray) else a for a in one])
            except TypeError as error:
                ours = str(error)
            assert_same(ours, wanted)
