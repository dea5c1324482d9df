"""Calls with arguments that few programs give: what they return, of which type, and write."""

import numpy as np
import pytest

import npaccel

ROWS = [[1, 2], [3, 4]]
A, STEPS = np.array(ROWS), np.arange(-2, 3)
CALLS = {
    "einsum": (lambda a: np.einsum("ij,ji->", a, a), A),
    "einsum by matrices": (lambda a: np.einsum("ij,ji->", a, a, optimize=True), A),
    "einsum of lists": (lambda a: np.einsum("ij,ji->", a, ROWS, optimize="greedy"), A),
    "einsum of three": (lambda a: np.einsum("ij,ij,ij->", a, a, a, optimize="optimal"), A),
    "einsum of one": (lambda a: np.einsum("ii->", a, optimize=True), A),
    "einsum of labels": (lambda a: np.einsum(a, [0, 1], a, [1, 0], optimize=True), A),
    "nan_to_num of an int": (lambda a: np.nan_to_num(a, copy=False), np.array(3)),
    "nan_to_num of a float": (lambda a: np.nan_to_num(a, copy=False), np.array(np.nan)),
    "nan_to_num of ints": (lambda a: np.nan_to_num(a, copy=False), STEPS),
    "nan_to_num of floats": (lambda a: np.nan_to_num(a, copy=False), np.array([1, np.nan])),
    "powers": (lambda a: np.power(a, a, out=np.zeros_like(a), where=a >= 0), STEPS),
    "powers that raise": (lambda a: np.power(a, a, out=np.zeros_like(a), where=a > -2), STEPS),
    "reciprocals": (lambda a: np.power(a, -1, out=np.ones_like(a), where=a > 9), STEPS),
    "reciprocals that raise": (lambda a: np.power(a, -1, where=a > 0, out=a), STEPS),
    "powers of a number": (lambda a: np.power(3, a, out=np.ones_like(a), where=a > 0), STEPS),
    "zeros of another shape": (lambda a: np.zeros_like(a, order=None, shape=(3,)), A.T),
    "ones as they lie": (lambda a: np.ones_like(a, order=None), A.T),
    "full as it lies": (lambda a: np.full_like(a, 2, order=None), A.T),
    "cast as it lies": (lambda a: a.astype(np.float32, order=None), A.T),
    "copy by the method": (lambda a: a.copy(order=None), A.T),
}


def test_kinds_of_sums_do_not_fix_sizes():
    def trace(a):
        return np.einsum("ij,ji->", a, a, optimize=True)

    jitted = npaccel.jit(trace, backend="eager", dynamic=True, cache=False)
    for n in range(3, 9):
        a = np.arange(n * n).reshape(n, n)
        found = jitted(a)
        assert isinstance(found, np.ndarray)
        assert found == trace(a)
    assert len(jitted.report().graphs) == 1


def outcome(function, x):
    given = x.copy("K")
    try:
        found = function(given)
    except ValueError as error:
        return repr(error), given.tolist()
    strides = found.strides if isinstance(found, np.ndarray) else None
    is_given = found is given
    return type(found), found.dtype, strides, np.asarray(found).tolist(), is_given, repr(given)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", CALLS)
def test_calls_of_rare_arguments(name, backend):
    function, x = CALLS[name]
    jitted = npaccel.jit(function, backend=backend, default_float="float64", cache=False)
    wanted = outcome(function, x)
    assert [outcome(jitted, x) for _ in range(2)] == [wanted, wanted]
