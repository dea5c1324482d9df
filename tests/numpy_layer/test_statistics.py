"""Statistics, quantiles, histograms, comparisons, interpolation and convolution against NumPy."""

import numpy as np
import pytest
import torch
from row_checks import ALL, INEXACT, REAL, check, data, implementation, same, traced, with_nan

from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.signal import signals
from npaccel._numpy.statistics import histograms, quantiles, reductions, statistics
from npaccel._numpy.ufuncs import comparing, ufuncs

# imported for their rows
MODULES = (comparing, histograms, quantiles, reductions, signals, statistics, ufuncs)

name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("function", [np.median, np.nanmedian], ids=name)
def test_median(function, dtype):
    for shape in [(), (1,), (6,), (7,), (3, 4), (2, 3, 4), (0,), (3, 0)]:
        x = data(shape, dtype)
        for axis in (None, 0, -1, (0, -1), 5):
            check(function, x, axis=axis)
            check(function, x, axis=axis, keepdims=True)
    if np.dtype(dtype).kind == "f":
        x = with_nan((5, 9), dtype)
        x[2] = np.nan
        for axis in (None, 0, 1):
            check(function, x, axis=axis)


METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "other",
]
QUANTILES = [np.quantile, np.nanquantile]
PERCENTILES = [np.percentile, np.nanpercentile]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["b", "L", "l", "e", "f", "d", "D", "?"])
def test_quantile_methods(method, dtype):
    for n in (1, 4, 7):
        x = data((n,), dtype)
        for q in (0, 0.25, 0.3, 0.5, 0.9, 1, 1.0):
            check(np.quantile, x, q, method=method)
        check(np.quantile, x, np.linspace(0, 1, 11), method=method)
        check(np.percentile, x, [0, 10, 50.0, 99], method=method)


@pytest.mark.parametrize("function", [*QUANTILES, *PERCENTILES], ids=name)
@pytest.mark.parametrize("dtype", ["l", "f", "d"])
def test_quantile_shapes(function, dtype):
    scale = 1 if function in QUANTILES else 100
    x = data((3, 4, 5), dtype)
    for q in (0.3 * scale, [0.1 * scale, 0.5 * scale], np.array([[0.2], [0.7]]) * scale):
        if "nan" in name(function) and np.ndim(q) == 2:
            continue  # NumPy puts the axes of such a q in another order
        for axis in (None, 0, -1, (0, 2), 4):
            check(function, x, q, axis=axis)
            check(function, x, q, axis=axis, keepdims=True)
    check(function, x, 1.5 * scale)
    check(function, x, np.float32(0.5 * scale))
    check(function, x[:0], 0.5 * scale, axis=1)


@pytest.mark.parametrize("function", [*QUANTILES, *PERCENTILES], ids=name)
@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_quantiles_with_nan(function, dtype):
    scale = 1 if function in QUANTILES else 100
    x = data((5, 8), dtype)
    x[1, ::2], x[3] = np.nan, np.nan
    for axis in (None, 0, 1):
        check(function, x, 0.4 * scale, axis=axis)
        check(function, x, [0.1 * scale, 0.6 * scale], axis=axis)


def test_weighted_quantiles():
    x, w = data((4, 6), "d"), np.abs(data((4, 6), "d", 1))
    for q in (0.2, [0.0, 0.5, 1.0]):
        check(np.quantile, x, q, weights=w, method="inverted_cdf")
        check(np.quantile, x, q, axis=1, weights=w, method="inverted_cdf")
        check(np.quantile, x, q, axis=1, weights=w[0], method="inverted_cdf")
        check(np.quantile, x, q, weights=w[0], method="inverted_cdf")
        check(np.quantile, x, q, axis=0, weights=w[0], method="inverted_cdf")
    check(np.quantile, x, 0.5, weights=w)


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0, 0), (0,)])
def test_averages_of_nothing(shape):
    x = np.ones(shape)
    for axis in (None, *range(x.ndim)):
        check(np.average, x, axis=axis)
        check(np.average, x, axis=axis, keepdims=True, returned=True)


@pytest.mark.parametrize("dtype", ALL)
def test_average(dtype):
    x, w = data((3, 4), dtype), np.abs(data((3, 4), "d", 1)) + 1
    for axis in (None, 0, 1, (0, 1)):
        check(np.average, x, axis=axis)
        check(np.average, x, axis=axis, weights=w, returned=True)
        check(np.average, x, axis=axis, weights=w, keepdims=True)
    check(np.average, x, axis=1, weights=[1, 2, 3, 4])
    check(np.average, x, axis=0, weights=[1, 2, 3, 4])
    check(np.average, x, weights=[1, 2, 3, 4])
    check(np.average, x, axis=1, returned=True)


@pytest.mark.parametrize("dtype", ["?", "b", "l", "e", "f", "d", "D"])
def test_cov_and_corrcoef(dtype):
    x, y = data((3, 7), dtype), data((3, 7), dtype, 1)
    for rowvar in (True, False):
        check(np.cov, x, rowvar=rowvar, ulps=64)
        check(np.cov, x, y, rowvar=rowvar, ulps=64)
        check(np.corrcoef, x[:, :3] if not rowvar else x, rowvar=rowvar, ulps=256)
    check(np.cov, x[0], ulps=64)
    check(np.cov, x[0], y[0], ulps=64)
    check(np.corrcoef, x[0], y[0], ulps=256)
    check(np.cov, x, bias=True, ulps=64)
    check(np.cov, x, ddof=3, ulps=64)
    check(np.cov, x, fweights=np.arange(1, 8), ulps=64)
    check(np.cov, x, aweights=np.linspace(1, 2, 7), ulps=64)
    check(np.cov, x, fweights=np.arange(1, 8), aweights=np.linspace(1, 2, 7), ddof=2, ulps=64)
    check(np.cov, x, dtype="f4", ulps=64)


def test_wrong_covariances_raise():
    x = data((3, 7), "d")
    check(np.cov, x, ddof=1.5)
    check(np.cov, x[None])
    check(np.cov, x, fweights=np.linspace(1, 2, 7))
    check(np.cov, x, fweights=np.ones((1, 7), int))
    check(np.cov, x, aweights=np.ones(3))


@pytest.mark.parametrize("dtype", REAL)
def test_histogram(dtype):
    x = data((5, 20), dtype)
    for bins in (1, 10, 7, [0, 1, 3, 8], np.array([-2.0, 0, 0.5, 3])):
        check(np.histogram, x, bins)
        check(np.histogram, x, bins, density=True)
        for kind in ("d", "l", "D", "f"):
            weights = data((5, 20), kind, 1)
            check(np.histogram, x, bins, weights=weights)
            check(np.histogram, x, bins, weights=weights, density=True)
    check(np.histogram, x, range=(0, 5))
    check(np.histogram, x, 6, range=(0.0, 2.5))
    check(np.histogram, x[:0])
    check(np.histogram_bin_edges, x, 5)
    check(np.histogram, x[0, 0] + np.zeros(3, dtype))


def test_wrong_histograms_raise():
    x = data((9,), "d")
    check(np.histogram, x, 0)
    check(np.histogram, x, 1.5)
    check(np.histogram, x, range=(2, 1))
    check(np.histogram, x, range=(0, np.inf))
    check(np.histogram, x, [3, 1, 2])
    check(np.histogram, x, weights=np.ones(3))
    with pytest.raises(NotImplementedError, match="auto"):
        implementation(np.histogram)(torch.from_numpy(x), "auto")


@pytest.mark.parametrize("dtype", ["l", "f", "d"])
def test_histograms_of_more_dimensions(dtype):
    x, y, w = data((50,), dtype), data((50,), dtype, 1), np.abs(data((50,), "d", 2))
    check(np.histogram2d, x, y)
    check(np.histogram2d, x, y, [3, 4], density=True)
    check(np.histogram2d, x, y, [[-5, 0, 5], [-1.0, 1, 2, 9]], weights=w)
    check(np.histogram2d, x, y, np.array([-5.0, 0, 2, 5]))
    check(np.histogram2d, x, y, 4, range=[[-1, 1], [0, 5]])
    sample = np.stack([x, y, data((50,), dtype, 3)], 1)
    found, edges = implementation(np.histogramdd)(torch.from_numpy(sample), (2, 3, 4))
    expected, expected_edges = np.histogramdd(sample, (2, 3, 4))
    same(found, expected)
    same(edges, expected_edges)
    check(np.histogram2d, x, y[:3])


@pytest.mark.parametrize("dtype", REAL)
def test_bincount(dtype):
    x = np.abs(data((20,), dtype))
    check(np.bincount, x)
    check(np.bincount, x, minlength=30)
    check(np.bincount, x, weights=data((20,), "f", 1))
    check(np.bincount, x, weights=data((20,), "l", 1))
    check(np.bincount, x, weights=np.ones(3))
    check(np.bincount, x[:0])
    check(np.bincount, x.reshape(4, 5))
    check(np.bincount, x, minlength=-1)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("right", [False, True])
def test_digitize(dtype, right):
    x = data((3, 9), dtype)
    for bins in (np.array([-3, 0, 1, 1, 4]), np.array([4.0, 1, 0, 0, -3]), [0, 2], [5, 2], [1]):
        check(np.digitize, x, bins, right=right)
    check(np.digitize, x[0, 0], [0, 2], right)


@pytest.mark.parametrize("a", ["b", "l", "e", "f", "d", "D", "?"])
@pytest.mark.parametrize("b", ["b", "e", "f", "d"])
def test_isclose(a, b):
    x = data((3, 8), a)
    y = (x.real + np.array([0, 1e-9, 1e-4, 1])[np.arange(8) % 4]).astype(b)
    for options in ({}, {"rtol": 0.1}, {"atol": 2}, {"equal_nan": True}):
        check(np.isclose, x, y, **options)
        check(np.allclose, x, y, **options)
    check(np.isclose, x, 1.0)
    check(np.isclose, x, x[0])
    check(np.array_equal, x, y)
    check(np.array_equiv, x, x[0])


@pytest.mark.parametrize("dtype", INEXACT)
def test_comparisons_with_nan(dtype):
    x = with_nan((4, 9), dtype)
    for equal_nan in (True, False):
        check(np.isclose, x, x.copy(), equal_nan=equal_nan)
        check(np.isclose, x, -x, equal_nan=equal_nan)
        check(np.array_equal, x, x.copy(), equal_nan=equal_nan)
    check(np.array_equal, x, x[:2])
    check(np.array_equiv, x, x[:, :2])
    check(np.array_equiv, x[:1], x[:1].repeat(2, 0))


@pytest.mark.parametrize("dtype", ALL)
def test_nan_to_num(dtype):
    x = with_nan((4, 9), dtype) if dtype in INEXACT else data((4, 9), dtype)
    check(np.nan_to_num, x)
    check(np.nan_to_num, x, nan=1.5, posinf=7, neginf=-2)
    mine = torch.from_numpy(x.copy())
    assert implementation(np.nan_to_num)(mine, copy=False) is mine
    same(mine, np.nan_to_num(x))


@pytest.mark.parametrize("dtype", ["?", "b", "H", "L", "l", "e", "f", "d", "D"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate], ids=name)
def test_convolve_and_correlate(function, dtype):
    for n, m in ((1, 1), (7, 3), (7, 4), (3, 7), (4, 7), (5, 5), (50, 40)):
        a, v = data((n,), dtype), data((m,), dtype, 1)
        for mode in ("full", "same", "valid"):
            check(function, a, v, mode, ulps=64)
    check(function, a, data((3,), "f"), "same", ulps=64)
    check(function, a, [1, 2, 1])
    check(function, a, a[:0])
    check(function, a[:0], a)
    check(function, a.reshape(1, -1), a)
    check(function, a, a, "other")


@pytest.mark.parametrize("dtype", REAL)
def test_interp(dtype):
    xp = np.array([-3.0, -1, 0, 2, 5])
    x = data((3, 7), dtype)
    for fp in (data((5,), dtype, 1), data((5,), "D", 2)):
        check(np.interp, x, xp, fp)
        check(np.interp, x, xp, fp, left=-9, right=9)
        check(np.interp, x, xp, fp, period=4)
        check(np.interp, x, xp[:1], fp[:1])
    check(np.interp, 0.5, [0, 1], [2, 4])


def test_interp_at_the_edges():
    xp, fp = np.array([0.0, 1, 2, 3]), np.array([0.0, np.inf, 5, np.nan])
    check(np.interp, np.array([-1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, np.nan, np.inf]), xp, fp)
    check(np.interp, 1.0, xp, fp[:2])
    check(np.interp, 1.0, xp[:0], fp[:0])
    check(np.interp, 1.0, xp, fp, period=0)
    check(np.interp, 1.0, xp[None], fp)


@pytest.mark.parametrize("dtype", ["b", "l", "e", "f", "d"])
def test_unwrap(dtype):
    x = data((3, 9), dtype) * 2
    check(np.unwrap, x)
    check(np.unwrap, x, axis=0)
    check(np.unwrap, x, period=4)
    check(np.unwrap, x, period=5)
    check(np.unwrap, x, discont=3.5, period=6.0)


@pytest.mark.parametrize("dtype", ALL)
def test_sinc_and_i0(dtype):
    x = data((3, 5), dtype)
    check(np.sinc, x, ulps=64)
    check(np.i0, x, ulps=64)
    check(np.sinc, x[0, 0], ulps=64)


def test_narrow_settings():
    integers = torch.arange(6)
    with tracing(TraceSettings(default_float="float32")):
        for function, args in (
            (np.average, ()),
            (np.cov, ()),
            (np.quantile, (0.5,)),
            (np.percentile, ([10, 50],)),
            (np.sinc, ()),
            (np.interp, ([0, 3], [1, 5])),
            (np.unwrap, ()),
        ):
            assert implementation(function)(integers, *args).dtype == torch.float32
            wide = implementation(function)(integers.to(torch.float64), *args)
            assert wide.dtype == torch.float64


X = data((5, 6), "d")
V = data((9,), "d", 1)
TRACED = [
    (np.median, (X,), {"axis": 1}),
    (np.median, (X,), {}),
    (np.nanmedian, (X,), {"axis": 0}),
    (np.quantile, (X, 0.3), {"axis": 0}),
    (np.percentile, (X, [10, 90]), {}),
    (np.nanquantile, (X, 0.3), {"axis": 1}),
    (np.average, (X,), {"axis": 0, "weights": X[:, 0] + 20}),
    (np.cov, (X,), {}),
    (np.corrcoef, (X,), {}),
    (np.histogram, (X,), {}),
    (np.histogram, (X,), {"bins": [-3, 0, 4], "density": True}),
    (np.histogram2d, (V, V), {"bins": 4}),
    (np.bincount, (np.array([1, 4, 2, 1]),), {}),
    (np.digitize, (X, np.sort(V)), {}),
    (np.isclose, (X, X), {}),
    (np.allclose, (X, X), {}),
    (np.array_equal, (X, X), {}),
    (np.nan_to_num, (X,), {}),
    (np.convolve, (V, V[:4]), {}),
    (np.correlate, (V, V[:4]), {"mode": "same"}),
    (np.convolve, (V.astype("l"), V[:4].astype("l")), {}),
    (np.interp, (X, np.unique(V), np.unique(V)), {}),
    (np.unwrap, (X,), {}),
    (np.sinc, (X,), {}),
    (np.i0, (X,), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)
