"""`npaccel.check` finds nothing in correct functions, and changes nothing."""

import copy

import numpy as np
import pytest
from correct_functions import CASES, table
from sweep import tries

import npaccel
from npaccel._verify.compare import compare

pytestmark = pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")

#: What is also checked compiled; NPACCEL_TEST_SWEEP=full: all of them.
COMPILED = CASES[:: tries(10, 1)]


def test_there_are_fifty():
    assert len(CASES) >= 50


@pytest.mark.parametrize(
    ("function", "args", "kwargs"), CASES, ids=lambda v: getattr(v, "__name__", "")
)
@pytest.mark.parametrize("default_float", ["float32", "float64"])
def test_nothing_is_found(function, args, kwargs, default_float):
    check_correct(function, args, kwargs, default_float, "eager")


@pytest.mark.sampled
@pytest.mark.inductor
@pytest.mark.parametrize(
    ("function", "args", "kwargs"), COMPILED, ids=lambda v: getattr(v, "__name__", "")
)
def test_nothing_is_found_in_compiled_code(function, args, kwargs):
    check_correct(function, args, kwargs, "float32", "inductor")


def check_correct(function, args, kwargs, default_float, backend):
    before = copy.deepcopy((args, kwargs))
    state = np.random.get_state(legacy=False)["state"]["pos"]  # noqa: NPY002
    kept = table.copy()
    with npaccel.options(backend=backend, default_float=default_float):
        result = npaccel.check(function, *args, **kwargs)
    assert result.ok, str(result)
    if default_float == "float64":
        assert not result.narrowed
    assert not list(compare(before, (args, kwargs), "arguments"))
    assert np.array_equal(table, kept)
    assert np.random.get_state(legacy=False)["state"]["pos"] == state  # noqa: NPY002
