"""NumPy's functions on DTensors, sharded on axis 0 and on axis 1, against NumPy on the whole."""

import inspect
import zlib

import numpy as np
import pytest
import torch.distributed
from ranks import Ranks
from sharding_cases import CASES, GATHERS, arrays
from sweep import FULL

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        not torch.distributed.is_gloo_available(), reason="torch is built without gloo"
    ),
]

#: Half of the functions on one of the axes in each run, all on both of them in a full one.
CALLS = [
    (name, axis)
    for name in CASES
    for axis in "01"
    if FULL or zlib.crc32(name.encode()) % 4 == int(axis)
]


@pytest.fixture(scope="module", params=[2, 4] if FULL else [2], ids="{} ranks".format)
def ranks(request):
    calls = [f"{name}/{axis}" for name, axis in CALLS]
    return Ranks("run_cases.py", request.param, "eager", *calls, timeout=900)


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


def test_the_ranks_end(ranks):
    assert not any(ranks.codes), "\n".join(ranks.outputs)


@pytest.mark.parametrize(("name", "axis"), CALLS)
def test_as_numpy_on_the_whole(ranks, name, axis):
    for answers in ranks.answers:
        answer = answers[name, axis]
        assert "error" not in answer, answer["error"]
        assert_same(answer["result"], wanted(name))


@pytest.mark.parametrize(("name", "axis"), CALLS)
def test_what_moves_is_counted(ranks, name, axis):
    told = [answers[name, axis]["collectives"] for answers in ranks.answers]
    assert all(one == told[0] for one in told)
    answer = ranks.answers[0][name, axis]
    moves = axis in GATHERS.get(name, "")
    # Of four ranks some have nothing of an axis.
    assert bool(answer["gathers"]) == moves or (len(ranks.answers) > 2 and answer["gathers"])
    assert not answer["fallbacks"]


def test_enough_functions_are_called():
    assert len(CASES) >= 100
    assert set(GATHERS) <= set(CASES)
