"""Estimators on Dask arrays against scikit-learn's on the whole."""

import parts_cases
import pytest

import npaccel

da = pytest.importorskip("dask.array", reason="Dask isn't installed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.filterwarnings("ignore:.*whole array is computed")


def in_blocks(array):
    # Some rows and none in blocks that differ; of few rows all in one.
    first = min(50, len(array) - 1)
    rows = first, 0, 1, max(0, len(array) - first - 1)
    return da.from_array(array, chunks=(rows, *((-1,) * (array.ndim - 1))))


def collected(value):
    return value.compute() if isinstance(value, da.Array) else value


@pytest.fixture(autouse=True)
def quickly():
    # NumPy makes the calls: they are few, and what is compiled has a test of its own.
    with npaccel.options(compile="auto"), dask.config.set(scheduler="sync"):
        yield


@pytest.mark.parametrize("name", parts_cases.CASES)
def test_as_scikit_learn_on_the_whole(name):
    case = parts_cases.CASES[name]
    parts_cases.check(case, *parts_cases.answers(case, in_blocks, collected))
