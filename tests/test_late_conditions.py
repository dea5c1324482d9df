"""Conditions on sizes that come up only while a graph is compiled."""

import numpy as np
import pytest

import npaccel

pytestmark = pytest.mark.inductor


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
