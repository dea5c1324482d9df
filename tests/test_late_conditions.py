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
