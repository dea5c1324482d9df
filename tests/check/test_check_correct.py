"""`npaccel.check` finds nothing in correct functions, and changes nothing."""

import copy

import numpy as np
import pytest
from correct_functions import CASES, table

import npaccel
from npaccel._check._compare import compare

pytestmark = pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")


def test_there_are_fifty():
    assert len(CASES) >= 50


@pytest.mark.parametrize(
    ("function", "args", "kwargs"), CASES, ids=lambda v: getattr(v, "__name__", "")
)
@pytest.mark.parametrize("default_float", ["float32", "float64"])
def test_nothing_is_found(function, args, kwargs, default_float):
    before = copy.deepcopy((args, kwargs))
    state = np.random.get_state(legacy=False)["state"]["pos"]  # noqa: NPY002
    kept = table.copy()
    with npaccel.options(backend="eager", default_float=default_float):
        result = npaccel.check(function, *args, **kwargs)
    assert result.ok, str(result)
    if default_float == "float64":
        assert not result.narrowed
    assert not list(compare(before, (args, kwargs), "arguments"))
    assert np.array_equal(table, kept)
    assert np.random.get_state(legacy=False)["state"]["pos"] == state  # noqa: NPY002
