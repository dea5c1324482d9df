"""Conditions on sizes that come up only while a graph is compiled."""

import numpy as np
import pytest
from comparing import assert_same

import npaccel


@pytest.mark.inductor
def test_an_index_that_the_compiler_takes_for_a_constant():
    """Inductor compiles ``out[0] = ...`` for index 0 alone."""

    @npaccel.jit(dynamic=True, cache=False)
    def put(out, i, v):
        out[i] = 0.5 * np.sum(v**2)

    v = np.arange(5.0)
    for i in (0, 3, 1, 2):
        ours, theirs = np.zeros(4), np.zeros(4)
        put(ours, i, v)
        put.__wrapped__(theirs, i, v)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_a_number_that_only_decides_the_way(backend):
    """It isn't an input of the graph, nor is an array of which only the size is asked for."""

    def choose(a, b, unused, n):
        if n > 3:
            return a[:2] + 1
        if unused.shape[0] > 5:
            return a[::2]
        return np.triu(b)

    jitted = npaccel.jit(choose, backend=backend, default_float="float64", cache=False)
    for k, m, n in ((3, 7, 3), (4, 5, 2), (2, 4, 2), (5, 6, 6), (3, 4, 3), (6, 2, 5), (7, 3, 3)):
        arguments = np.ones(k), np.ones((k, m)), np.ones(k), n
        assert_same(jitted(*arguments), choose(*arguments))


def shrunk(counts, index, x):
    away = x > 0.5
    counts[index[away]] = 7
    return x[~away], index[~away]


def added(counts, index, x):
    counts[:3] += 1
    return x[x > 0.5] + index[x > 0.5], x[x > 0.5] + counts[:3]


@pytest.mark.sampled
@pytest.mark.inductor
@pytest.mark.parametrize(
    ("function", "is_certain", "dynamic"),
    [(shrunk, True, False), (shrunk, True, True), (added, False, False)],
)
def test_sizes_that_are_right_for_all_data_are_not_assumed(function, is_certain, dynamic):
    """What is written is copied before calls that others may not fit; from disk as well."""
    for is_kept in (False, True):
        jitted = npaccel.jit(function, default_float="float64", dynamic=dynamic)
        call_with_masks(jitted, function, is_certain)
        graphs = jitted.report().graphs
        assert not [graph.uncacheable for graph in graphs if graph.uncacheable]
        assert all(graph.loaded for graph in graphs) or not is_kept


def call_with_masks(jitted, function, is_certain):
    for x in ([0.0, 0.7, 0.9, 0.1, 0.6], [0.1] * 5, [0.9] * 5):
        arguments = np.zeros(9, dtype=int), np.arange(8, 3, -1), np.array(x)
        ours = [a.copy() for a in arguments]
        if not is_certain and sum(arguments[2] > 0.5) not in (1, 3):
            with pytest.raises(ValueError, match="broadcast"):
                jitted(*ours)
            with pytest.raises(ValueError, match="broadcast"):
                function(*arguments)
        else:
            assert_same(jitted(*ours), function(*arguments))
        assert_same(ours, list(arguments))
