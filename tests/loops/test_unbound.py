"""Names that have no value before a loop, or perhaps none, and are read in it."""

import warnings

import numpy as np
import pytest

import npaccel

pytest.importorskip("numba")


def in_the_first_iteration(a, out, n):
    for i in range(len(a)):
        if i == 0:
            best = a[i]
        out[i] = best + a[i]
    return out


def in_an_iteration_of_an_outer_loop(a, out, n):
    for step in range(n):
        for i in range(len(a)):
            if i + step == 0:
                best = a[i]
            out[i] = best + a[i]
        out = out * 2
    return out


def perhaps_before(a, out, n):
    if n:
        best = 0.5
    for i in range(len(a)):
        if i == 0 and not n:
            best = a[i]
        out[i] = best + a[i]
        best = a[i]
    return out


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize(
    "function", [in_the_first_iteration, in_an_iteration_of_an_outer_loop, perhaps_before]
)
def test_names_that_have_no_value_before_the_loop(function, n):
    a = np.linspace(0, 1, 7)
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(jitted(a, np.zeros(7), n), function(a, np.zeros(7), n))
    if function is in_the_first_iteration:
        assert jitted.report().loops[0].engine == "Numba"
        with pytest.raises(UnboundLocalError, match="best"):
            npaccel.jit(never, backend="eager", default_float="float64")(a, np.zeros(7))


def never(a, out):
    for i in range(len(a)):
        if a[i] > 2:
            best = a[i]
        out[i] = best + a[i]
