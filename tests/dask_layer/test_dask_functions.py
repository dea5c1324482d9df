"""NumPy's functions on Dask arrays under `jit` and by the pass over graphs, against plain Dask."""

import warnings

import dask_cases
import numpy as np
import pytest

import npaccel

da = pytest.importorskip("dask.array", reason="Dask isn't installed")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def dask_arrays(names):
    arrays = [dask_cases.ARRAYS[name] for name in names]
    return [da.from_array(array, chunks=dask_cases.chunks(array)) for array in arrays]


def parts(result):
    if isinstance(result, dict):
        return [part for value in result.values() for part in parts(value)]
    if isinstance(result, list | tuple):
        return [part for value in result for part in parts(value)]
    return [result]


def assert_same(ours, plain):
    """Assert that two Dask arrays are the same, as far as NumPy's answers are."""
    assert type(ours) is type(plain)
    if not isinstance(plain, da.Array):
        assert ours == plain
        return
    assert ours.dtype == plain.dtype
    # Sizes that aren't known are NaN, which isn't equal to itself.
    assert repr((ours.shape, ours.chunks)) == repr((plain.shape, plain.chunks))
    assert type(ours._meta) is type(plain._meta)
    assert (ours._meta.dtype, ours._meta.ndim) == (plain._meta.dtype, plain._meta.ndim)
    assert_same_values(ours, plain)


def assert_same_values(ours, plain):
    got, wanted = ours.compute(scheduler="sync"), plain.compute(scheduler="sync")
    assert type(got) is type(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    tolerance = 2e-5 if wanted.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.sampled) if name in dask_cases.OFTEN else name
        for name in dask_cases.CASES
    ],
)
def test_as_plain_dask(name, backend):
    function, names = dask_cases.CASES[name]
    arrays = dask_arrays(names)
    with warnings.catch_warnings():  # Dask says what it thinks of its own functions.
        warnings.simplefilter("ignore", FutureWarning)
        plain = parts(function(*arrays))
        ours = parts(npaccel.jit(function, backend=backend)(*arrays))
    for one, other in zip(ours, plain, strict=True):
        assert_same(one, other)


@pytest.mark.sampled
@pytest.mark.parametrize("name", dask_cases.CASES)
def test_pass_over_graphs(name):
    function, names = dask_cases.CASES[name]
    plain = [part for part in parts(function(*dask_arrays(names))) if isinstance(part, da.Array)]
    for one, other in zip(
        npaccel.dask.optimize(*plain, backend="eager", cache=False), plain, strict=True
    ):
        assert_same_values(one, other)
