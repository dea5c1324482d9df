"""Functions mapped over blocks, whose dtypes and shapes a trial run shows."""

import numpy as np
import pytest

import npaccel

da = pytest.importorskip("dask.array", reason="Dask isn't installed")

X = np.random.default_rng(2).normal(size=(23, 17))


def lazy(array=X, chunks=(7, 5)):
    return da.from_array(array, chunks=chunks)


@pytest.fixture(autouse=True)
def interpreted():
    with npaccel.options(backend="eager"):
        yield


@pytest.mark.parametrize(
    ("function", "chunks"),
    [
        (lambda b: b * 2, ((7, 7, 7, 2), (5, 5, 5, 2))),
        (lambda b: b[1:], ((6, 6, 6, 1), (5, 5, 5, 2))),
        (lambda b: b[:, ::2], ((7, 7, 7, 2), (3, 3, 3, 1))),
        (lambda b: (b > 0).sum(axis=0, keepdims=True), ((1, 1, 1, 1), (5, 5, 5, 2))),
        (lambda b: np.repeat(b, 2, axis=1).astype(np.float32), ((7, 7, 7, 2), (10, 10, 10, 4))),
    ],
)
def test_chunks_and_dtypes_of_blocks(function, chunks):
    result = npaccel.dask.map_blocks(function, lazy())
    assert result.chunks == chunks
    plain = lazy().map_blocks(function, chunks=chunks, dtype=result.dtype).compute(scheduler="sync")
    got = result.compute(scheduler="sync")
    assert (got.dtype, got.shape) == (result.dtype, result.shape) == (plain.dtype, plain.shape)
    np.testing.assert_allclose(got, plain)


def test_blocks_of_several_arrays_and_keywords():
    def combined(x, row, scale=1.0, *, shift):
        return x * scale + row - shift

    row = np.arange(17.0)
    result = npaccel.dask.map_blocks(
        npaccel.jit(combined), lazy(), lazy(row, 5), 3.0, shift=np.float64(2.0)
    )
    np.testing.assert_allclose(result.compute(scheduler="sync"), X * 3.0 + row - 2.0)


def test_axes_that_are_gone():
    result = npaccel.dask.map_blocks(
        lambda b: b.sum(axis=1), lazy(chunks=(7, 17)), drop_axis=1, chunks=((7, 7, 7, 2),)
    )
    np.testing.assert_allclose(result.compute(scheduler="sync"), X.sum(axis=1))
    with pytest.raises(ValueError, match="drop_axis"):
        npaccel.dask.map_blocks(lambda b: b.sum(axis=1), lazy())


def test_places_of_blocks_are_refused():
    with pytest.raises(ValueError, match="block_id"):
        npaccel.dask.map_blocks(lambda b, block_id=None: b, lazy())
    with pytest.raises(ValueError, match="Dask array"):
        npaccel.dask.map_blocks(lambda b: b, X)


def smooth(u):
    inner = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[1:-1, 1:-1]
    result = u.copy()
    result[1:-1, 1:-1] = inner / 5
    return result


def test_stencil():
    whole = np.pad(X, 3, mode="edge")
    for _ in range(3):
        whole = smooth(whole)

    def steps(u):
        for _ in range(3):
            u = smooth(u)
        return u

    result = npaccel.dask.map_overlap(steps, lazy(), depth=3, boundary="nearest")
    plain = da.map_overlap(steps, lazy(), depth=3, boundary="nearest")
    assert (result.chunks, result.dtype) == (plain.chunks, plain.dtype)
    got = result.compute(scheduler="sync")
    np.testing.assert_allclose(got, plain.compute(scheduler="sync"))
    np.testing.assert_allclose(got[3:-3, 3:-3], whole[6:-6, 6:-6])


def test_functions_are_not_compiled_to_find_types():
    jitted = npaccel.jit(smooth)
    lazy_result = npaccel.dask.map_overlap(jitted, lazy(), depth=1, boundary="nearest")
    npaccel.dask.map_blocks(jitted, lazy())
    npaccel.dask.apply_gufunc(jitted, "(i,j)->(i,j)", lazy(chunks=(23, 17)))
    assert len(jitted.report().graphs) == 0
    lazy_result.compute(scheduler="sync")
    assert len(jitted.report().graphs) > 0


def test_generalised_ufuncs():
    x = lazy(chunks=(7, 17))
    spread = npaccel.dask.apply_gufunc(lambda b: b.max(-1) - b.min(-1), "(i)->()", x)
    np.testing.assert_allclose(spread.compute(scheduler="sync"), np.ptp(X, axis=1))
    ends = npaccel.dask.apply_gufunc(lambda b: b[..., [0, -1]] > 0, "(i)->(j)", x)
    assert (ends.shape, ends.dtype) == ((23, 2), bool)
    np.testing.assert_array_equal(ends.compute(scheduler="sync"), X[:, [0, -1]] > 0)
    low, high = npaccel.dask.apply_gufunc(
        lambda b, scale: (b.min(-1) * scale, b.max(-1)), "(i)->(),()", x, scale=2.0
    )
    np.testing.assert_allclose(low.compute(scheduler="sync"), X.min(axis=1) * 2)
    np.testing.assert_allclose(high.compute(scheduler="sync"), X.max(axis=1))


def test_axes_of_generalised_ufuncs():
    result = npaccel.dask.apply_gufunc(
        lambda b: b - b.mean(-1, keepdims=True), "(i)->(i)", lazy(chunks=(23, 5)), axis=0
    )
    np.testing.assert_allclose(result.compute(scheduler="sync"), X - X.mean(axis=0))


def test_xarray():
    xr = pytest.importorskip("xarray", reason="xarray isn't installed")
    field = xr.DataArray(lazy(chunks=(7, 17)), dims=("time", "station"))
    (means,) = npaccel.dask.optimize(np.exp(field / 10.0).mean("time"))
    np.testing.assert_allclose(means.compute(scheduler="sync"), np.exp(X / 10).mean(axis=0))
    scores = npaccel.jit(lambda x: x - x.mean(axis=-1, keepdims=True))
    result = xr.apply_ufunc(scores, field, dask="parallelized", output_dtypes=[float])
    assert result.dims == field.dims
    np.testing.assert_allclose(result.compute(scheduler="sync"), X - X.mean(axis=1, keepdims=True))
