"""Shapes: fixed at first, dynamic from the second on; never a cliff."""

import itertools

import numpy as np
import pytest
from comparing import assert_same

import npaccel


def kmeans(x, means):
    return np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)


def agree(jitted, *args):
    assert_same(jitted(*args), jitted.__wrapped__(*args))


def test_twenty_shapes_two_compilations(backend):
    f = npaccel.jit(kmeans, backend=backend)
    rng = np.random.default_rng(0)
    for n in range(10, 31):
        agree(f, rng.normal(size=(n, 2)), rng.normal(size=(4, 2)))
    report = f.report()
    assert len(report.graphs) == 2
    assert [graph.dynamic for graph in report.graphs] == [False, True]
    assert not report.fallbacks


def around_a_break(x, step):
    y = np.sin(x) * step
    print(end="")
    return y + step


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("kind", [int, float, np.float64, "sizes", "shapes"])
def test_around_graph_breaks_sizes_and_numbers_are_inputs(kind, backend):
    """Twenty calls compile what a few do: the breaks are the same."""
    f = npaccel.jit(around_a_break, backend=backend, compile="now")
    for n in range(2, 22):
        if kind == "sizes":
            agree(f, np.linspace(0, 1, n), 2.5)
        elif kind == "shapes":
            agree(f, np.ones((n, n + 1)), 2.5)
        else:
            agree(f, np.linspace(0, 1, 100), kind(n + 0.5))
    assert len(f.report().graphs) <= 4
    (told,) = f.report().fallbacks
    assert told.line == around_a_break.__code__.co_firstlineno + 2


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_dynamic_false_compiles_each_around_graph_breaks():
    f = npaccel.jit(around_a_break, backend="eager", dynamic=False, compile="now")
    for n in range(2, 6):
        agree(f, np.ones(n), 2.5)
    assert len(f.report().graphs) == 8


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_values_that_meet_no_graph_break_are_one_graph():
    def f(x, verbose):
        if verbose > 1:
            print(end="")
        return np.sin(x) * verbose

    jitted = npaccel.jit(f, backend="eager", compile="now")
    for verbose in (2, 1, 3, 0, 4, -1):
        agree(jitted, np.linspace(0, 1, 5), verbose)
    assert "subgraph" not in jitted.report().graphs[1].signature


def test_dynamic_true_compiles_once():
    f = npaccel.jit(lambda x: x + 1, dynamic=True, backend="eager")
    for n in range(2, 10):
        agree(f, np.arange(float(n)))
    assert len(f.report().graphs) == 1


def test_dynamic_false_compiles_each():
    f = npaccel.jit(lambda x: x + 1, dynamic=False, backend="eager")
    for n in range(2, 6):
        agree(f, np.arange(float(n)))
    assert len(f.report().graphs) == 4


def test_sizes_zero_and_one(backend):
    f = npaccel.jit(lambda x: (x * 2).sum(axis=0), backend=backend)
    for shape in [(5, 3), (6, 3), (1, 3), (0, 3), (7, 1), (3, 3), (1, 1)]:
        agree(f, np.ones(shape))


def test_broadcasting_is_decided_again():
    f = npaccel.jit(lambda x, y: x + y, backend="eager")
    for a, b in [(3, 3), (4, 4), (5, 5), (1, 5), (5, 1), (6, 6)]:
        agree(f, np.ones(a), np.ones(b))


def test_mismatch_raises_as_numpy(backend):
    f = npaccel.jit(lambda x, y: x + y, backend=backend)
    for a in (3, 4):
        agree(f, np.ones(a), np.ones(a))
    for _ in range(2):
        with pytest.raises(ValueError, match="could not be broadcast together"):
            f(np.ones(3), np.ones(4))


@pytest.mark.parametrize("step", [0.1, 7])
def test_numbers_become_symbolic(step):
    f = npaccel.jit(lambda x, k: x * k + k, backend="eager", default_float="float64")
    for i in range(2, 12):
        agree(f, np.arange(4.0), i * step)
    assert len(f.report().graphs) <= 2


def test_numbers_in_shapes():
    f = npaccel.jit(
        lambda x, n: np.zeros(n) + x[:n].sum(), backend="eager", default_float="float64"
    )
    for n in (3, 4, 5, 6, 7):
        agree(f, np.arange(20.0), n)
    assert len(f.report().graphs) <= 2


def test_special_floats():
    f = npaccel.jit(lambda x, k: x * k, backend="eager", default_float="float64")
    for k in (1.5, 2.5, float("nan"), float("inf"), -0.0, 0.0, float("nan")):
        with np.errstate(invalid="ignore"):
            agree(f, np.arange(4.0), k)


def test_shape_branches():
    def f(x):
        if x.shape[0] > 5:
            return x * 2
        return x + 1

    jitted = npaccel.jit(f, backend="eager")
    for n in (3, 4, 7, 8, 2, 9, 5, 6):
        agree(jitted, np.arange(float(n)))


def test_strides_are_part_of_the_signature(backend):
    f = npaccel.jit(lambda x: x.ravel() * 2, backend=backend)
    base = np.arange(24.0).reshape(4, 6)
    for x in (base, base.T, base[:, ::2], base[::2], np.asfortranarray(base), base[1:]):
        agree(f, x)


def test_many_signatures_end_in_numpy_with_a_warning():
    f = npaccel.jit(lambda x, k: x + k, dynamic=False, backend="eager")
    with pytest.warns(npaccel.errors.PerformanceWarning, match="were compiled already"):
        for k in range(40):
            agree(f, np.ones(3), k)


def ranges(x, k):
    return x[:1], np.arange(0, k, -1), np.arange(3, k, 2), np.arange(-1, len(x), -1), np.arange(k)


def test_ranges_that_go_the_other_way_are_empty():
    jitted = npaccel.jit(ranges, backend="eager", dynamic=True)
    for k, n in itertools.product((-4, 0, 3, 9), (3, 8)):
        for found, expected in zip(jitted(np.ones(n), k), ranges(np.ones(n), k), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert not jitted.report().fallbacks


def rows_unless_empty(x):
    part = x[2:, 2:9:-1]
    return x[2:].sum() if part.size else np.var(x) + len(x)


def test_sizes_with_a_factor_that_may_be_zero():
    jitted = npaccel.jit(rows_unless_empty, backend="eager", dynamic=True, default_float="float64")
    for shape in ((7, 12), (2, 5), (6, 4), (2, 13), (3, 1)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        np.testing.assert_allclose(jitted(x), rows_unless_empty(x))
    assert not jitted.report().fallbacks
