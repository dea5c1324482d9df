"""Compiled code that writes looks at indices first, so that nothing has to be copied for errors."""

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel._torch.fx_passes.early_checks import raises_after_writing

pytestmark = pytest.mark.inductor

N = 200_000
A = np.zeros(N)
EACH = np.random.default_rng(0).integers(-N, N, N)
FEW = EACH[:10]


def added(a, i):
    a[i] += 1.0


def gathered(a, b, i):
    a[:] = b[i] * 2


def of_two(a, b, i, j):
    a[i] = b[j]
    b[j] += 1


def of_two_axes(a, i, j, v):
    a[i, j] += v


def computed(a, x):
    a[(x * 10).astype(int)] += 1


def of_slices(a, i, v):
    a[i] = v


def solved(a, m, v):
    a += 1
    a += np.linalg.solve(m, v)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (added, (A, FEW)),
        (added, (A, EACH)),
        (gathered, (A, A, EACH)),
        (of_two, (A, A, EACH, EACH)),
        (of_two_axes, (np.zeros((50, 60)), FEW % 50, FEW % 60, 2.0)),
        (computed, (A, FEW / N)),
        (of_slices, (np.zeros((100, 10)), np.arange(5), np.ones((5, 10)))),
    ],
)
def test_nothing_is_copied(function, args):
    jitted = npaccel.jit(function, default_float="float64", cache=False)
    got, wanted = ([np.array(v) if isinstance(v, np.ndarray) else v for v in args] for _ in "ab")
    jitted(*got)
    function(*wanted)
    assert_same(got, wanted)
    assert not raises_after_writing(jitted.source().partition("\n")[2])


def test_what_raises_late_is_known():
    jitted = npaccel.jit(solved, default_float="float64", cache=False)
    jitted(np.zeros(3), np.eye(3), np.ones(3))
    assert raises_after_writing(jitted.source().partition("\n")[2])


@pytest.mark.parametrize("dynamic", [False, True])
def test_indices_out_of_bounds(dynamic):
    jitted = npaccel.jit(added, default_float="float64", dynamic=dynamic, cache=False)
    for i in ([0, 49], [-50, 3], [0, 50], [-51, 2], [3, 3]):
        outcomes = []
        for function in (jitted, added):
            a = np.zeros(50)
            try:
                outcomes.append((function(a, np.array(i)), a))
            except IndexError as error:
                outcomes.append((str(error), a))
        assert_same(*outcomes, f"indices {i}")
