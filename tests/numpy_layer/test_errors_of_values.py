"""Calls that NumPy refuses for values, not for dtypes or shapes, raise in compiled code, too."""

import warnings

import numpy as np
import pytest
import torch

import npaccel
from npaccel import errors
from npaccel._runtime.torch.symbolic_sizes import refuse_where

X, WHOLE, NAN = np.arange(6.0), np.arange(6), np.array([1, np.nan])
BINS, W = np.array([2.0, 1, 3]), np.ones(6)
CALLS = {
    "power": (lambda a, b: a**b, WHOLE, np.array([1, 1, 1, 1, 1, -1])),
    "power.outer": (np.power.outer, WHOLE, np.array([1, -1])),
    "sorter": (lambda a, s: np.searchsorted(a, [2.0], sorter=s), X, WHOLE + 4),
    "take_along_axis": (lambda a, i: np.take_along_axis(a, i, 0), X, np.array([9])),
    "put": (lambda a, i: np.put(a, i, 1), X, np.array([-9])),
    "add.at": (lambda a, i: np.add.at(a, i, 1), X, np.array([9])),
    "reduceat": (np.add.reduceat, X, np.array([0, 9])),
    "repeat": (np.repeat, X, np.array([1, 1, 1, 1, 1, -1])),
    "choose": (lambda i, a: np.choose(i, [a, a]), WHOLE, X),
    "partition": (lambda a, k: np.partition(a, k[0]), X, np.array([9])),
    "percentile": (np.percentile, X, np.array([50, 101])),
    "quantile": (np.quantile, X, np.array([0.5, np.nan])),
    "nanquantile": (np.nanquantile, X, np.array([0.5, -0.1])),
    "a negative weight of a quantile": (
        lambda a, w: np.quantile(a, 0.5, weights=w, method="inverted_cdf"),
        X,
        W - 2 * (X == 1),
    ),
    "a quantile without weights": (
        lambda a, w: np.quantile(a, 0.5, weights=w, method="inverted_cdf"),
        X,
        W * 0,
    ),
    "average": (lambda a, w: np.average(a, weights=w), X, W * 0),
    "average of rows": (lambda a, w: np.average(a, 1, w), X.reshape(2, 3), np.eye(2, 3, -1)),
    "average of nothing": (lambda a, w: np.average(a, 0, w), np.empty((0, 0)), np.empty(0)),
    "fweights": (lambda a, w: np.cov(a, fweights=w), X, WHOLE - 1),
    "aweights": (lambda a, w: np.cov(a, aweights=w), X, X - 1),
    "no weights": (lambda a, w: np.cov(a, aweights=w), X, X * 0),
    "nanargmax": (np.nanargmax, NAN * np.nan),
    "nanargmin of rows": (lambda a: np.nanargmin(a, 1), np.array([[1, np.nan], [np.nan, np.nan]])),
    "unravel_index": (lambda i: np.unravel_index(i, (2, 2)), WHOLE),
    "a negative index": (lambda i: np.unravel_index(i, (2, 9)), WHOLE - 1),
    "ravel_multi_index": (lambda i, k: np.ravel_multi_index((i, k), (6, 5)), WHOLE, WHOLE),
    "ravel_multi_index with modes": (
        lambda i, k: np.ravel_multi_index((i, k), (2, 5), mode=("wrap", "raise")),
        WHOLE,
        WHOLE,
    ),
    "geomspace": (lambda a: np.geomspace(a[0], 8, 4), X),
    "geomspace of arrays": (lambda a: np.geomspace(8, a, 4), X),
    "histogram": (np.histogram, NAN),
    "histogram of infinity": (np.histogram, np.array([1, np.inf])),
    "histogram in a range": (lambda a, r: np.histogram(a, range=(r[0], r[1])), X, BINS),
    "histogram in no range": (lambda a, r: np.histogram(a, range=(r[0], r[1])), X, NAN),
    "histogram of bins": (lambda a, bins: np.histogram(a, bins=bins), X, BINS),
    "histogram_bin_edges": (np.histogram_bin_edges, NAN),
    "histogram2d": (np.histogram2d, NAN, X[:2]),
    "histogramdd": (lambda a, bins: np.histogramdd(a.reshape(-1, 1), [bins]), X, BINS),
    "digitize": (np.digitize, X, BINS),
    "digitize in falling bins": (np.digitize, X, BINS[::-1]),
    "bincount": (np.bincount, WHOLE - 1),
    "bincount of weights": (np.bincount, WHOLE - 1, X),
    "cholesky": (np.linalg.cholesky, -np.eye(2)),
    "inv": (np.linalg.inv, np.zeros((2, 2))),
    "division of series": (np.polynomial.legendre.legdiv, X, X * 0),
}


def raised(function, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:  # noqa: BLE001 (it is returned)
            return error


@pytest.mark.parametrize("name", CALLS)
def test_values_raise_what_they_raise_in_numpy(name):
    function, *args = CALLS[name]
    dynamic = True if list(CALLS).index(name) % 2 else None
    given = [x.copy() for x in args]
    jitted = npaccel.jit(
        lambda *xs: function(*xs), backend="eager", default_float="float64", dynamic=dynamic
    )
    wanted = raised(function, [x.copy() for x in args])
    assert isinstance(wanted, Exception)
    assert type(raised(jitted, given)) is type(wanted)
    assert str(raised(jitted, given)) == str(wanted)
    for one, other in zip(given, args, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.inductor
@pytest.mark.parametrize("name", ["power", "unravel_index", "histogram", "nanargmin of rows"])
def test_compiled_values_raise_what_they_raise_in_numpy(name):
    function, *args = CALLS[name]
    jitted = npaccel.jit(lambda *xs: function(*xs), default_float="float64")
    wanted = raised(function, args)
    assert type(raised(jitted, args)) is type(wanted)
    assert str(raised(jitted, args)) == str(wanted)


def test_what_is_caught_in_the_function_is_told():
    def position(x):
        try:
            return np.nanargmax(x)
        except ValueError:
            return -1

    jitted = npaccel.jit(position, backend="eager")
    assert jitted(X) == 5
    with pytest.warns(errors.PerformanceWarning, match="All-NaN slice encountered; so"):
        assert jitted(X * np.nan) == -1


def test_where_nothing_is_computed_nothing_raises():
    def f(a, b, mask):
        return np.power(a[:0], b[:1]), np.power(a, b, where=mask, out=np.ones_like(a))

    jitted = npaccel.jit(f, backend="eager")
    for b in (WHOLE + 1, WHOLE - 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = jitted(WHOLE, b, WHOLE > 2)
        for one, other in zip(found, f(WHOLE, b, WHOLE > 2), strict=True):
            np.testing.assert_array_equal(one, other)


def test_nobody_looks_at_values_elsewhere_than_on_a_cpu():
    refuse_where(torch.ones(3, dtype=torch.bool, device="meta"), ValueError("unseen"))
    with pytest.raises(ValueError, match="seen"):
        refuse_where(torch.tensor([False, True]), ValueError("seen"))
