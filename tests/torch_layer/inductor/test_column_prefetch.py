"""Loops down columns: rows ahead are asked for where the loop is costly, with the same bits."""

import numpy as np
import pytest

import npaccel
from npaccel._torch.inductor.cpp import column_prefetch


def costly(x, y):
    return np.exp(-x / (y + 1.5)).mean(axis=0)


def neighbours(x, y):
    inner = np.exp(x[:-2] + x[2:] - x[1:-1]) / (y[1:-1] + 2.0)
    return (inner.sum(axis=0),)


def cheap(x, y):
    return (x * y).sum(axis=0)


def along_rows(x, y):
    return np.exp(-x / (y + 1.5)).sum(axis=1)


PROGRAMS = {costly: True, neighbours: True, cheap: False, along_rows: False}


@pytest.mark.inductor
@pytest.mark.parametrize("function", PROGRAMS)
def test_costly_loops_down_columns_ask_ahead(function):
    rng = np.random.default_rng(0)
    for shape in ((70, 300), (300, 1003)):
        jitted = npaccel.jit(function, compile="now", strict=True)
        x, y = rng.random((2, *shape))
        found, expected = jitted(x, y), function(x, y)
        for ours, numpys in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            np.testing.assert_allclose(ours, numpys, rtol=1e-13)
        assert ("prefetch" in jitted.source()) is PROGRAMS[function]


@pytest.mark.inductor
def test_bits_are_the_same(monkeypatch):
    x, y = np.random.default_rng(0).random((2, 300, 1003))
    asked = npaccel.jit(neighbours, compile="now")(x, y)
    monkeypatch.setattr(column_prefetch, "_CHEAP", 10**9)
    alone = npaccel.jit(neighbours, compile="now", cache=False)
    for ours, others in zip(asked, alone(x, y), strict=True):
        np.testing.assert_array_equal(ours, others)
    assert "prefetch" not in alone.source()
