"""Reductions, running results and differences against NumPy."""

import numpy as np
import pytest
import torch
from row_checks import (
    ALL,
    INEXACT,
    NUMBERS,
    REAL,
    check,
    data,
    implementation,
    same,
    tensors,
    traced,
    with_nan,
)

import npaccel
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.linalg import linalg
from npaccel._numpy.statistics import cumulative, nanfunctions, quantiles, reductions
from npaccel._numpy.ufuncs import ufuncs

MODULES = (
    cumulative,
    linalg,
    nanfunctions,
    quantiles,
    reductions,
    ufuncs,
)  # imported for their rows

SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 4)]
REDUCTIONS = [np.sum, np.prod, np.max, np.min, np.any, np.all, np.ptp, np.mean, np.var, np.std]
name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", REDUCTIONS, ids=name)
def test_over_axes(function, dtype):
    for shape in SHAPES:
        x = data(shape, dtype)
        for axis in (None, 0, -1, (0, -1), (), 5, (0, 0)):
            check(function, x, axis=axis)
        check(function, x, keepdims=True)
    check(function, data((5, 6), dtype)[::2, ::-1].T, axis=0)


@pytest.mark.parametrize("dtype", ["?", "b", "l", "f", "d", "D"])
@pytest.mark.parametrize("function", [*REDUCTIONS, np.count_nonzero], ids=name)
def test_of_nothing(function, dtype):
    for shape in [(0,), (0, 3), (3, 0)]:
        x = data(shape, dtype)
        for axis in (None, 0, -1):
            check(function, x, axis=axis)


@pytest.mark.parametrize("dtype", INEXACT)
@pytest.mark.parametrize("function", REDUCTIONS, ids=name)
def test_nan_and_infinity_go_through(function, dtype):
    if function is np.prod and np.dtype(dtype).kind == "c":
        pytest.skip("which part of an infinite complex product is NaN depends on its order")
    x = with_nan((4, 30), dtype)
    for axis in (None, 0, 1):
        check(function, x, axis=axis)


@pytest.mark.parametrize("dtype", ["b", "B", "i", "L", "e", "f", "d", "D"])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.var, np.std], ids=name)
def test_explicit_dtype(function, dtype):
    for wanted in (np.float64, "f4", np.complex128):
        check(function, data((3, 4), dtype), axis=0, dtype=wanted)
    if function in (np.var, np.std):
        with pytest.raises(NotImplementedError, match="int64"):
            implementation(function)(torch.ones(3), dtype=int)
    else:
        check(function, data((3, 4), dtype), axis=0, dtype=int)


@pytest.mark.parametrize("dtype", ["b", "l", "f", "D"])
@pytest.mark.parametrize("function", REDUCTIONS[:-4] + REDUCTIONS[-3:], ids=name)
def test_where(function, dtype):
    x, mask = data((3, 4), dtype), data((3, 4), "?", 3)
    mask[:, 0] = True
    keywords = {"initial": 2} if function in (np.max, np.min) else {}
    check(function, x, where=mask, **keywords)
    check(function, x, axis=1, where=mask, keepdims=True, **keywords)
    check(function, x, axis=0, where=mask[0], **keywords)


@pytest.mark.parametrize("function", REDUCTIONS, ids=name)
def test_out_is_written_and_returned(function):
    x = data((3, 4), "d")
    theirs = function(x, axis=1)
    out = torch.empty(3, dtype=torch.from_numpy(theirs).dtype)
    assert implementation(function)(torch.from_numpy(x), axis=1, out=out) is out
    same(out, theirs)
    with pytest.raises(ValueError, match="shape"):
        implementation(function)(torch.from_numpy(x), axis=0, out=out)


def test_spread_options():
    x = data((4, 5), "d")
    for function in (np.var, np.std):
        for ddof in (1, 1.5, 4, 9):
            check(function, x, axis=0, ddof=ddof)
        check(function, x, axis=0, correction=1)
        check(function, x, ddof=1, correction=1)
        check(function, x, axis=1, mean=x.mean(1, keepdims=True))


HALF_REDUCTIONS = [np.sum, np.prod, np.cumsum, np.cumprod, np.nansum, np.nanprod, np.var]
HALF_REDUCTIONS += [ufunc.reduce for ufunc in (np.subtract, np.divide, np.hypot, np.logaddexp)]
HALF_REDUCTIONS += [
    lambda x, axis: np.sum(x, axis=axis, initial=2049),
    lambda x, axis: np.prod(x, axis=axis, initial=np.float16(0.1)),
    lambda x, axis: np.subtract.reduce(x, axis=axis, initial=x[0, 0]),
]


@pytest.mark.parametrize("function", HALF_REDUCTIONS, ids=lambda f: getattr(f, "__name__", ""))
def test_float16_is_rounded_at_each_step_as_in_numpy(function):
    rng = np.random.default_rng(0)

    def f(x):
        return function(x, axis=0), function(x, axis=1), function(x.T, axis=1)

    jitted = npaccel.jit(f, backend="eager", cache=False)
    for scale in (1, 30, 3000):
        x = (rng.normal(size=(7, 40)) * scale).astype("f2")
        with np.errstate(all="ignore"):
            expected = f(x)
        for found, wanted in zip(jitted(x), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("function", [np.mean, np.var, np.std], ids=lambda f: f.__name__)
def test_equal_complex_numbers_are_their_mean(function, dtype):
    for n in (3, 7, 11, 49):
        x = np.full((2, n), 3 - 1j, dtype)
        for where in (True, np.arange(n) < n - 1):
            for axis in (None, 1):
                kept = {"axis": axis, "where": where, "keepdims": True}
                got = implementation(function)(tensors(x), **kept)
                np.testing.assert_array_equal(got.numpy(), function(x, **kept))


def test_float16_means_are_summed_in_float32():
    x = np.full(5000, 60000, "e")
    check(np.mean, x)
    check(np.mean, data((3, 500), "e"), axis=1)
    # Asked for, it's what the elements become, and the sum.
    large = np.array([[2**60, -(2**60), 5], [2**60, 7, 2]])
    for x in (large, large[0, 2:] * 3e4, np.array([7e4, 2.0])):
        check(np.mean, x, dtype="e")
        check(np.mean, x, -1, dtype="e")


METHODS = "sum prod max min any all mean var std argmax argmin cumsum cumprod".split()  # noqa: SIM905


def test_methods_are_the_functions():
    x = data((3, 4), "d")
    for method in METHODS:
        found = implementation(f"numpy.ndarray.{method}")(torch.from_numpy(x), 1)
        same(found, getattr(x, method)(1))
    same(implementation("numpy.ndarray.trace")(torch.from_numpy(x)), x.trace())
    same(implementation("numpy.ndarray.dot")(torch.from_numpy(x), torch.from_numpy(x.T)), x @ x.T)
    same(implementation("numpy.ndarray.argsort")(torch.from_numpy(x), 0), x.argsort(0))
    found = implementation("numpy.ndarray.searchsorted")(torch.arange(5), 3)
    same(found, np.arange(5).searchsorted(3))


def test_python_numbers_and_lists():
    check(np.sum, [1, 2, 3])
    check(np.mean, [[1, 2], [3, 4]], axis=0)
    check(np.max, 3)
    check(np.sum, (1.5, 2))
    check(np.std, [1, 2, 4])


def test_narrow_settings():
    narrow = TraceSettings(default_float="float32")
    with tracing(narrow):
        for function in (np.mean, np.std, np.median):
            run = implementation(function)
            assert run(torch.arange(5)).dtype == torch.float32
            assert run(torch.arange(5.0, dtype=torch.float64)).dtype == torch.float64
        assert implementation(np.mean)(torch.arange(5), dtype="f8").dtype == torch.float64
        assert implementation(np.sum)(torch.arange(5)).dtype == torch.int64


@pytest.mark.parametrize("dtype", ALL)
def test_count_nonzero(dtype):
    x = data((3, 4), dtype)
    for axis in (None, 0, (0, 1)):
        check(np.count_nonzero, x, axis=axis)
        check(np.count_nonzero, x, axis=axis, keepdims=True)
    check(np.count_nonzero, np.array([np.nan, 0.0, -0.0]))


RUNNING = [np.cumsum, np.cumprod, np.nancumsum, np.nancumprod]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", RUNNING, ids=name)
def test_running(function, dtype):
    for shape in [*SHAPES, (0,), (3, 0)]:
        x = data(shape, dtype)
        for axis in (None, 0, -1, 4):
            check(function, x, axis=axis, ulps=64)
    check(function, data((3, 4), dtype), axis=1, dtype="f4", ulps=64)
    check(function, data((3, 4), dtype), dtype=bool)


@pytest.mark.parametrize("out", ["?", "b", "l", "f", "d"])
@pytest.mark.parametrize("dtype", ["?", "b", "L", "e", "f", "d"])
@pytest.mark.parametrize("function", RUNNING, ids=name)
def test_running_into_an_array_of_another_dtype(function, dtype, out):
    x = np.array([100.3, 1, 2.7, 70]).astype(dtype)
    check(function, x, out=np.zeros(4, out))


@pytest.mark.parametrize("dtype", INEXACT)
def test_running_leave_nan_out(dtype):
    x = data((3, 7), dtype)
    x[:, ::3] = np.nan
    check(np.nancumsum, x, axis=1, ulps=64)
    check(np.nancumprod, x, axis=0, ulps=64)


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="new in NumPy 2.1")
@pytest.mark.parametrize("dtype", ["?", "b", "I", "f", "D"])
def test_cumulative_of_the_array_api(dtype):
    for function in (np.cumulative_sum, np.cumulative_prod):
        check(function, data((5,), dtype))
        check(function, data((5,), dtype), include_initial=True)
        check(function, data((3, 4), dtype), axis=1, include_initial=True)
        check(function, data((3, 4), dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_diff(dtype):
    for shape in [(0,), (1,), (7,), (3, 4)]:
        x = data(shape, dtype)
        for n in (0, 1, 2, 9):
            check(np.diff, x, n)
        check(np.diff, x, axis=0)
    x = data((3, 4), dtype)
    check(np.diff, x, prepend=0, append=x[:, :2])
    check(np.diff, x, axis=0, append=x[:1])
    check(np.diff, x, -1)
    check(np.diff, x[0, 0])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_ediff1d(dtype):
    x = data((3, 4), dtype)
    check(np.ediff1d, x)
    check(np.ediff1d, x, to_end=x[0], to_begin=x[1, 1])
    check(np.ediff1d, x[:0])
    nothing = tensors(x.ravel()[:0])
    assert implementation(np.ediff1d)(nothing) is not nothing
    check(np.ediff1d, x, to_end=1.5)
    check(np.ediff1d, x, to_begin=[1, 2])


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient(dtype, edge_order):
    x = data((4, 5), dtype)
    check(np.gradient, x, edge_order=edge_order)
    check(np.gradient, x[0], 0.5, edge_order=edge_order)
    check(np.gradient, x, 0.5, 2, edge_order=edge_order)
    places = np.array([0.0, 1.0, 1.5, 3.5, 4.0])
    check(np.gradient, x, places, axis=1, edge_order=edge_order, ulps=64)
    check(np.gradient, x, 2.0, places, edge_order=edge_order, ulps=64)
    check(np.gradient, x, places[:3], axis=1, edge_order=edge_order)
    check(np.gradient, x, 1.0, 1.0, 1.0, edge_order=edge_order)
    check(np.gradient, x[0, :2], edge_order=edge_order)
    check(np.gradient, x[0, :1], edge_order=edge_order)
    check(np.gradient, x, edge_order=3)


@pytest.mark.parametrize("dtype", REAL)
def test_trapezoid(dtype):
    y = data((3, 5), dtype)
    check(np.trapezoid, y)
    check(np.trapezoid, y, dx=0.5, axis=0)
    check(np.trapezoid, y, x=np.array([0.0, 1, 3, 4, 7]))
    check(np.trapezoid, y, x=data((3, 5), "d", 2))
    check(np.trapezoid, y[:, :1])
    check(np.trapezoid, y[:, :0])
    check(np.trapezoid, [1, 2, 3], [4, 6, 8])


NAN_REDUCTIONS = [np.nansum, np.nanprod, np.nanmax, np.nanmin, np.nanmean, np.nanvar, np.nanstd]


@pytest.mark.parametrize("dtype", ["b", "L", *INEXACT])
@pytest.mark.parametrize("function", NAN_REDUCTIONS, ids=name)
def test_without_nan(function, dtype):
    x = data((4, 6), dtype)
    if np.dtype(dtype).kind in "fc":
        x[0], x[1:, ::2] = np.nan, np.nan
    for axis in (None, 0, 1, (0, 1)):
        check(function, x, axis=axis, ulps=64)
        check(function, x, axis=axis, keepdims=True, ulps=64)
    check(function, x[:, :0], axis=1)


def test_without_nan_options():
    x = data((4, 6), "d")
    x[:, ::2] = np.nan
    for function in (np.nanvar, np.nanstd):
        check(function, x, axis=1, ddof=1)
        check(function, x, axis=1, ddof=3)
        check(function, x, axis=1, correction=2)
    mask = data((4, 6), "?")
    mask[:, 1] = True
    check(np.nansum, x, axis=0, where=mask, initial=3)
    check(np.nanmean, x, axis=1, where=mask)
    for function in (np.nanargmax, np.nanargmin):
        check(function, x)
        check(function, x, axis=1, keepdims=True)
        check(function, data((5,), "l"))


@pytest.mark.parametrize("function", [np.sum, np.mean, np.max, np.min], ids=name)
def test_a_plain_reduction_is_one_operation(function):
    graph = traced(function, data((3, 5), "f"), axis=1)
    called = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    free = (torch.ops.aten.view.dtype, torch.ops.aten.detach.default)
    computed = [target for target in called if target not in free]
    assert len([target for target in computed if "sym_size" not in str(target)]) == 1


X = data((5, 6), "d")
TRACED = [
    *((function, (X,), {"axis": 1}) for function in REDUCTIONS + NAN_REDUCTIONS + RUNNING),
    *((function, (X,), {}) for function in REDUCTIONS + NAN_REDUCTIONS + RUNNING),
    (np.nanargmax, (X,), {"axis": 0}),
    (np.nanargmin, (X,), {}),
    (np.count_nonzero, (X,), {}),
    (np.diff, (X,), {"n": 2}),
    (np.ediff1d, (X,), {}),
    (np.gradient, (X,), {}),
    (np.gradient, (X, 0.5, np.linspace(0, 3, 6) ** 2), {"edge_order": 2}),
    (np.trapezoid, (X,), {"dx": 0.1}),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)


def test_the_comparison_can_fail():
    with pytest.raises(AssertionError):
        same(tensors(np.float32(1)), np.float64(1))
    with pytest.raises(AssertionError):
        same(torch.ones(2), np.ones(3, "f"))
    with pytest.raises(AssertionError):
        check(np.sum, np.ones(3), numpy=np.mean)
