"""reduce, accumulate, reduceat, outer and at of the ufuncs against NumPy."""

import warnings

import numpy as np
import pytest
import torch
from row_checks import ALL, check, data, implementation, same, tensors
from torch.fx.experimental.proxy_tensor import make_fx

from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.core.table import row_named
from npaccel._numpy.host import kernels
from npaccel._numpy.ufuncs import methods, ufuncs
from npaccel._numpy.ufuncs.reductions import REDUCTIONS

FOLDING = sorted(REDUCTIONS, key=lambda u: u.__name__)
REFUSED = [k.ufunc for k in ufuncs.KERNELS if (k.ufunc.nin, k.ufunc.nout) == (2, 1)]
REFUSED = [u for u in REFUSED if u not in REDUCTIONS]
ACCUMULATED_AT = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax]
ACCUMULATED_AT += [np.fmin, np.logical_and, np.logical_or, np.logical_xor]
ACCUMULATED_AT += [np.bitwise_and, np.bitwise_or, np.bitwise_xor]
name = lambda f: f.__name__  # noqa: E731 - pytest's way to name a parameter

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(params=[True, False], ids=["NumPy's kernels", "torch"], autouse=True)
def usable(request, monkeypatch):
    """With NumPy's kernels, as on a CPU, and with torch's operations, as elsewhere."""
    if not request.param:
        monkeypatch.setattr(kernels, "usable", lambda *tensors: False)
    return request.param


def compared(ufunc, method, *args, **kwargs):
    """Compare a method with NumPy's; float16 sums are rounded in another order."""
    half = any(getattr(x, "dtype", None) == np.float16 for x in args)
    check(
        f"numpy.{ufunc.__name__}.{method}",
        *args,
        numpy=getattr(ufunc, method),
        ulps=4096 if ufunc is np.lcm else 64 + 192 * half,
        **kwargs,
    )


def inputs(ufunc):
    """Yield arrays of every dtype, with NaN and extremes where folding is defined there."""
    for code in ALL:
        x = data((3, 4, 2), code)
        if ufunc is np.lcm and code != "?":  # its folds wrap in another order
            x = (x.real % 5).astype(code)
        if ufunc is np.divide:
            x = np.where(x == 0, np.ones(1, code), x)
        yield x
        if x.dtype.kind in "iu" and ufunc not in (np.lcm, np.divide):
            y = x.copy()
            y[0, 0, 0], y[1, 1, 1] = np.iinfo(code).min, np.iinfo(code).max
            yield y
        if x.dtype.kind == "f":
            y = x.copy()
            y[1, 2, 0], y[0, 1, 1] = np.nan, np.inf
            yield y


@pytest.mark.parametrize("ufunc", FOLDING, ids=name)
def test_reduce(ufunc):
    keywords = [{}, {"axis": -1}, {"axis": None}, {"axis": (0, 2)}, {"axis": ()}, {"axis": 5}]
    keywords += [{"axis": 1, "keepdims": True}, {"axis": (1, 2), "keepdims": True}]
    keywords += [{"initial": 3}, {"initial": None}, {"dtype": "f4"}, {"axis": (0, 0)}]
    keywords += [{"where": np.array([True, False])}, {"axis": None, "keepdims": True}]
    keywords += [
        {"where": np.array([True, False]), "initial": 2},
        {"where": np.ones((3, 1, 1), "?")},
    ]
    for x in inputs(ufunc):
        for kwargs in keywords:
            compared(ufunc, "reduce", x, **kwargs)
        compared(ufunc, "reduce", x, dtype=x.dtype)
        compared(ufunc, "reduce", x[0, 0, 0])


@pytest.mark.parametrize("ufunc", FOLDING, ids=name)
def test_reduce_nothing(ufunc):
    for code in ("?", "b", "L", "f", "D"):
        for shape in [(0,), (0, 3), (3, 0), (0, 0)]:
            for kwargs in [{}, {"axis": None}, {"axis": -1, "initial": 1}, {"axis": -1}]:
                compared(ufunc, "reduce", data(shape, code), **kwargs)


@pytest.mark.parametrize("ufunc", FOLDING, ids=name)
def test_accumulate(ufunc):
    for x in inputs(ufunc):
        for kwargs in [{}, {"axis": -1}, {"dtype": "f8"}, {"axis": 3}]:
            compared(ufunc, "accumulate", x, **kwargs)
        compared(ufunc, "accumulate", x[:0])
        compared(ufunc, "accumulate", x[0, 0, 0])


@pytest.mark.parametrize("ufunc", FOLDING, ids=name)
def test_reduceat(ufunc):
    for x in inputs(ufunc):
        compared(ufunc, "reduceat", x, [0, 2])
        compared(ufunc, "reduceat", x, np.array([0, 3, 1, 2]), axis=1)
        compared(ufunc, "reduceat", x, [0, 1], axis=7)
    compared(np.add, "reduceat", data((3,), "d"), [0, 3])
    compared(np.add, "reduceat", data((3,), "d"), [1.5])
    compared(np.add, "reduceat", data((3,), "d"), np.array([1.5]))


@pytest.mark.parametrize("ufunc", [k.ufunc for k in ufuncs.KERNELS if k.ufunc.nin == 2], ids=name)
def test_outer(ufunc):
    for code in ("B", "d"):
        x, y = data((3,), code) + np.ones(1, code), data((2, 2), code, 1) + np.ones(1, code)
        compared(ufunc, "outer", x, y)
        compared(ufunc, "outer", x[0], y[0, 0])
        compared(ufunc, "outer", x, 2)
        compared(ufunc, "outer", 2, x)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
@pytest.mark.parametrize("ufunc", REFUSED, ids=name)
def test_refused_by_name(ufunc, method):
    x = torch.ones(3, dtype=torch.uint8 if ufunc.types[0][0] in "b?" else torch.float64)
    run = row_named(f"numpy.{ufunc.__name__}.{method}").implementation
    # NumPy itself refuses some, by the dtype of what it would fold
    with pytest.raises((NotImplementedError, TypeError), match=r"can't be compiled|loop|support"):
        run(x, [0]) if method == "reduceat" else run(x)


@pytest.mark.parametrize("code", ["?", "b", "B", "H", "i", "l", "L", "e", "f", "d", "D"])
def test_sums_have_numpys_dtypes(code):
    x = data((3, 4), code)
    for ufunc in (np.add, np.multiply, np.maximum, np.logical_or):
        for method in ("reduce", "accumulate"):
            compared(ufunc, method, x)
            compared(ufunc, method, x, dtype="i1")


@pytest.mark.parametrize("code", ["?", "b", "H", "l", "f", "d", "D"])
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_out(method, code):
    x = data((3, 4), code)
    shape = (4,) if method == "reduce" else (3, 4)
    for ufunc in (np.add, np.multiply, np.maximum, np.logical_and):
        for dtype in ("f8", "i8", "f4", code):
            out = np.zeros(shape, dtype)
            mine = torch.from_numpy(out.copy())
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    getattr(ufunc, method)(x, out=out)
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(methods, f"{method}_ufunc")(ufunc, torch.from_numpy(x), out=mine)
                continue
            run = getattr(methods, f"{method}_ufunc")
            if np.result_type(x, out) != out.dtype:
                # NumPy rounds between two elements: refused, but where that changes nothing.
                try:
                    run(ufunc, torch.from_numpy(x), out=mine)
                except NotImplementedError:
                    continue
                same(mine, out)
                continue
            assert run(ufunc, torch.from_numpy(x), out=mine) is mine
            same(mine, out)
    check(f"numpy.add.{method}", x, numpy=getattr(np.add, method), out=np.zeros((5,), "c16"))


def test_narrowed_reductions():
    whole, wide = torch.ones(4, dtype=torch.int64), torch.ones(4, dtype=torch.float64)
    with tracing(TraceSettings(default_float="float32")):
        reduce = methods.reduce_ufunc
        assert reduce(np.add, whole).dtype == torch.int64
        assert reduce(np.add, wide).dtype == torch.float64
        assert reduce(np.divide, whole).dtype == torch.float32
        assert reduce(np.add, whole, dtype="f8").dtype == torch.float64


@pytest.mark.sampled
@pytest.mark.parametrize("ufunc", FOLDING, ids=name)
def test_folds_trace_with_symbolic_sizes(ufunc):
    codes = [c for c in ("l", "d", "I") if any(t.startswith(c * 2) for t in ufunc.types)]
    for code in codes:
        x = (data((5, 3), code) % 4).astype(code) + np.ones(1, code)
        for method, args in [("reduce", ()), ("accumulate", ()), ("reduceat", ([0, 3, 1],))]:
            run = row_named(f"numpy.{ufunc.__name__}.{method}").implementation
            graph = make_fx(lambda t: run(t, *args), tracing_mode="symbolic")(tensors(x))  # noqa: B023
            same(graph(tensors(x)), getattr(ufunc, method)(x, *args), ulps=64)


def test_a_fold_serves_all_sizes():
    run = implementation("numpy.add.reduce")
    graph = make_fx(lambda t: run(t, axis=0), tracing_mode="symbolic")(torch.ones(5, 3))
    same(graph(torch.ones(7, 4)), np.full(4, 7, np.float32))


# at


def at_both(ufunc, x, *args):
    """Run NumPy's `at` and ours on copies and compare what they wrote."""
    mine, theirs = torch.from_numpy(x.copy()), x.copy()
    run = implementation(f"numpy.{ufunc.__name__}.at")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ufunc.at(theirs, *args)
        except (TypeError, ValueError, IndexError) as error:
            kind = next(c for c in type(error).__mro__ if not c.__name__.startswith("_UFunc"))
            with pytest.raises(kind):
                run(mine, *tensors(args))
            return
    assert run(mine, *tensors(args)) is None
    same(mine, theirs, ulps=64)


@pytest.mark.parametrize("ufunc", ACCUMULATED_AT, ids=name)
def test_at_counts_repeated_indices(ufunc):
    for code in ALL:
        if ufunc in (np.multiply, np.maximum, np.minimum, np.fmax, np.fmin) and code in "FD":
            continue
        if ufunc is np.divide and code not in "fdFD":
            continue  # NumPy cuts each step to a whole number, or rounds it to float16
        x, index = data((8,), code), np.array([0, 3, 3, 5, 3, 0, 7])
        values = data((7,), code, 1)
        values = np.where(values == 0, np.ones(1, code), values).astype(code)
        at_both(ufunc, x, index, values)
        at_both(ufunc, x, index, values[0])
        at_both(ufunc, x.reshape(2, 4), (index % 2, index % 4), values)
        at_both(ufunc, x.reshape(2, 4), (slice(None), np.array([1, 1])), values[:2])
        if x.dtype.kind == "f":
            x[3], values[1] = np.nan, np.inf
            at_both(ufunc, x, index, values)
            at_both(ufunc, x, index, np.full(7, np.nan, code))


def test_at_with_other_dtypes_and_wrong_arguments():
    x = data((5,), "b")
    at_both(np.add, x, np.array([0, 0, 1]), 100)
    at_both(np.add, x, [0, 0, 1], np.array([1, 2, 3], "i8"))
    at_both(np.add, data((5,), "f"), [0, 0], 0.1)
    at_both(np.add, x, [0, 1], [1, 2, 3])
    at_both(np.add, x, [0, 1])
    at_both(np.bitwise_and, data((5,), "d"), [0], 1)


def test_at_says_what_it_cannot_do(usable):
    x = data((3,), "d")
    at_both(np.add, np.ones(3), [0, 0], 0.5)
    if usable:
        at_both(np.power, x, [0, 0], 0.5)
        at_both(np.sin, x, [0, 0])
        at_both(np.arctan2, x, [0, 0], 2.0)
        return
    with pytest.raises(NotImplementedError, match="float64 into an array"):
        implementation("numpy.add.at")(tensors(data((5,), "b")), [0], 0.5)
    with pytest.raises(NotImplementedError, match="repeated indices"):
        implementation("numpy.power.at")(tensors(x), [0], 0.5)
    with pytest.raises(NotImplementedError, match="repeated indices"):
        implementation("numpy.sin.at")(tensors(x), [0])


@pytest.mark.parametrize("ufunc", [np.negative, np.absolute, np.invert, np.logical_not, np.floor])
def test_at_of_one_operand(ufunc):
    for code in ("b", "l", "f", "?"):
        at_both(ufunc, data((5,), code), np.array([0, 3, 3, 1]))


def test_at_traces():
    def f(x, index, values):
        implementation("numpy.add.at")(x, index, values)
        return x

    arguments = [np.zeros(4), np.array([1, 1, 2]), np.array([1.0, 2.0, 3.0])]
    graph = make_fx(f, tracing_mode="symbolic")(*tensors(arguments))
    same(graph(*tensors(arguments)), np.array([0, 3.0, 3.0, 0]))
