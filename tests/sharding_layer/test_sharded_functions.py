"""NumPy's functions on DTensors, sharded on axis 0 and on axis 1, against NumPy on the whole."""

import inspect

import numpy as np
import pytest
from sharding_cases import CASES, GATHERS, arrays

pytestmark = pytest.mark.filterwarnings("ignore")


def wanted(name):
    """Return NumPy's result; floats that a function invents are of 32 bit without any of 64."""
    known = arrays()
    function = CASES[name]
    given = [known[parameter] for parameter in inspect.signature(function).parameters]
    result = function(*given)
    narrows = all(one.dtype.kind != "f" for one in given)
    is_wide = getattr(result, "dtype", None) == np.float64
    return np.float32(result) if narrows and is_wide else result


def assert_same(got, wanted):
    if isinstance(wanted, dict):
        assert got.keys() == wanted.keys()
        for name, part in wanted.items():
            assert_same(got[name], part)
    elif isinstance(wanted, list | tuple):
        for one, part in zip(got, wanted, strict=True):
            assert_same(one, part)
    elif not hasattr(wanted, "dtype"):
        assert got == wanted
    else:
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        tolerance = 2e-5 if wanted.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_as_numpy_on_the_whole(ranks, call):
    for answers in ranks.answers:
        answer = answers["functions"][call]
        assert "error" not in answer, answer["error"]
        assert_same(answer["result"], wanted(call[0]))


def test_what_moves_is_counted(ranks, call):
    name, axis = call
    told = [answers["functions"][call]["collectives"] for answers in ranks.answers]
    assert all(one == told[0] for one in told)
    answer = ranks.answers[0]["functions"][call]
    if len(ranks.answers) == 2:  # Among more some have nothing of an axis.
        assert bool(answer["gathers"]) == (axis in GATHERS.get(name, ""))
    assert not answer["fallbacks"]


def test_enough_functions_are_called():
    assert len(CASES) >= 100
    assert set(GATHERS) <= set(CASES)
