"""What takes long is computed once for each place of the arrays it comes from."""

import re

import numpy as np
import pytest
from comparing import assert_same
from torch._inductor.graph import GraphLowering

import npaccel

pytestmark = pytest.mark.inductor


def turned(x):
    return x * np.sin(6.25 * np.arange(x.shape[0]) / x.shape[0])[:, None]


def outer(x):
    return np.cos(x[0])[None, :] * np.exp(x[1])[:, None]


def twice(x):
    s = np.sin(x)
    return s - s.mean(), s * 2


def twiddled(x):
    half = x.shape[0] // 2
    twiddle = np.exp(-6.25j * np.arange(half) / x.shape[0])[:, None]
    return (x[:half] - x[half:]) * twiddle


@pytest.fixture
def source(monkeypatch):
    """Collect the code that Inductor generates."""
    found = []
    original = GraphLowering.codegen

    def codegen(self):
        wrapped, kernels = original(self)
        found.append(wrapped.value)
        return wrapped, kernels

    monkeypatch.setattr(GraphLowering, "codegen", codegen)
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("function", "called"),
    [(turned, ["sin"]), (outer, ["exp", "cos"]), (twice, ["sin"]), (twiddled, ["cos", "exp"])],
)
def test_it_is_computed_in_loops_of_its_own(function, called, dynamic, source):
    compiled = npaccel.jit(
        function, backend="inductor", default_float="float64", cache=False, dynamic=dynamic
    )
    x = np.random.default_rng(0).normal(size=(64, 64))  # half of it, too, is whole vectors
    assert_same(compiled(x), function(x), rtol=1e-12)
    for name in called:  # by vectors: a number alone is std::sin's
        assert 1 <= len(re.findall(rf"tmp\d+\.{name}\(\)", source[0])) <= (2 if dynamic else 1), (
            name
        )
        if not (dynamic and function is twiddled):  # what is left of complex arrays are numbers
            assert f"std::{name}(" not in source[0]
