"""Loops of code for all sizes: threads share them by the sizes of each call."""

import re

import numpy as np
import pytest
from comparing import assert_same
from torch._inductor.codegen import cpp

import npaccel
from npaccel._torch.inductor.cpp.dynamic_parallelism import loops_shared_by_size

#: Kernels for one thread have nothing to share.
pytestmark = pytest.mark.usefixtures("two_threads")


def _for_all_sizes(function, *shapes):
    """Compile for one shape, then for all, which the second one stands for."""
    jitted = npaccel.jit(function, default_float="float64", strict=True, cache=False)
    for shape in shapes:
        jitted(np.ones(shape))
    return jitted


def one_axis(x):
    return np.sin(x) * 2 + x


def added_up(x):
    return x.sum(), x.max(), (x > 0).any(), x.argmin()


def two_axes(x):
    y = np.zeros((x.shape[1], x.shape[0]))
    y[1:] = x.T[:-1] * 2
    return (
        x * x[:1] + x[:, -1:],
        y,
        np.exp(x).sum(axis=0),
        x.sum(axis=1),
        x - x.mean(axis=1)[:, None],
    )


def three_axes(x):
    y = np.empty((x.shape[0], 2, x.shape[1], x.shape[2]))
    y[:, 0] = x + x[::-1]
    y[:, 1] = (x - x[:, :1]) * x[0]
    return y, x.max(axis=1), x.transpose(2, 0, 1) + 1


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (one_axis, [(3,), (5,), (2,), (1023,), (5000,), (100_003,)]),
        (added_up, [(3,), (5,), (2,), (1023,), (5000,), (100_003,)]),
        (two_axes, [(3, 4), (5, 6), (2, 40_001), (40_001, 2), (17, 900), (2, 2), (400, 333)]),
        (
            three_axes,
            [(3, 4, 5), (5, 6, 7), (2, 2, 9001), (2, 9001, 2), (9001, 2, 3), (23, 40, 51)],
        ),
    ],
)
def test_as_in_numpy(function, shapes):
    jitted = _for_all_sizes(function, *shapes[:2])
    for shape in shapes:
        x = np.random.default_rng(shape[0]).normal(size=shape)
        assert_same(jitted(x), function(x), str(shape), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.inductor
def test_sizes_of_the_first_calls_dont_decide():
    code = _for_all_sizes(one_axis, 10, 20).source()
    assert re.search(r"omp parallel[^#]* if\([^#]*ks0[^#]* >= 1024L\)", code)
    code = _for_all_sizes(lambda x: x * 2 + x[:1], (1000, 50), (2000, 60)).source()
    assert "npaccel_parts" in code


@pytest.mark.slow
@pytest.mark.inductor
def test_fixed_sizes_are_left_as_they_are():
    code = _for_all_sizes(one_axis, 100_000).source()
    assert "omp parallel" in code
    assert not re.search(r"omp parallel[^#{]* if\(", code)
    assert "omp parallel" not in _for_all_sizes(one_axis, 100).source()


def test_inductor_is_left_as_it_was():
    owners = (cpp.CppKernel, cpp.WorkSharing, cpp.LoopNest, cpp.LoopLevel)
    before = [dict(vars(owner)) for owner in owners]
    with loops_shared_by_size():
        assert all(dict(vars(owner)) != kept for owner, kept in zip(owners, before, strict=True))
    assert [dict(vars(owner)) for owner in owners] == before
