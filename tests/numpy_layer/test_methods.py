"""Methods and attributes of ndarray, rounding and clipping, against NumPy."""

import warnings

import numpy as np
import pytest
import torch
from row_checks import ALL, check, data, implementation, same, tensors, with_nan

from npaccel._numpy.core import methods
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.core.methods import attribute
from npaccel._numpy.ufuncs import ufuncs

MODULES = (methods, ufuncs)  # imported for their rows

X = data((3, 4), "f")


def check_method(name, x, *args, **kwargs):
    """Call the row of a method, and the method."""
    check(f"numpy.ndarray.{name}", x, *args, numpy=getattr(np.ndarray, name), **kwargs)


CALLS = [
    *[("reshape", args) for args in ((4, 3), ((4, 3),), (-1,), (12,), (5,), (2, -1, 3), ([4, 3],))],
    *[("transpose", args) for args in ((), (1, 0), ((1, 0),), (None,), (0,), (0, 0))],
    *[("swapaxes", args) for args in ((0, 1), (0, 5))],
    *[("repeat", args) for args in ((2,), (2, 0), ([1, 0, 2], 0))],
    *[("take", args) for args in (([0, 2],), ([0, 2], 1), (-1, 0))],
    *[("flatten", args) for args in ((), ("F",), ("A",), ("K",), ("x",))],
    *[("ravel", args) for args in ((), ("F",))],
    *[("copy", args) for args in ((), ("F",), ("K",))],
    *[("diagonal", args) for args in ((), (1,), (-1, 1, 0))],
    *[("round", args) for args in ((), (1,), (-1,))],
    *[("clip", args) for args in ((0, 2), (None, 1), (1, None), (2, 0), ())],
    *[("item", args) for args in ((3,), (1, 2), ((1, 2),), (), (99,), (1, 2, 3))],
    *[("squeeze", args) for args in ((), (0,))],
    *[(name, ()) for name in ("nonzero", "conj", "conjugate")],
    ("compress", ([True, False, True], 0)),
    ("view", ()),
]


@pytest.mark.parametrize(("method", "args"), CALLS, ids=str)
def test_methods(method, args):
    for dtype in ALL:
        for x in (data((3, 4), dtype), data((3, 4), dtype).T, data((1, 1), dtype)):
            if method == "item":
                expected = _item(x, args)
                mine = _outcome(lambda: implementation("numpy.ndarray.item")(tensors(x), *args))  # noqa: B023
                if isinstance(expected, Exception):
                    assert isinstance(mine, type(expected))
                else:
                    same(mine, np.array(expected, dtype))
            else:
                check_method(method, x, *args)


def _outcome(function):
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - its class is what is compared
        return error


def _item(x, args):
    return _outcome(lambda: x.item(*args))


def test_choose_method():
    check_method("choose", np.array([0, 1, 0]), ([1, 2, 3], [4, 5, 6]))


@pytest.mark.parametrize("source", ALL)
def test_astype(source):
    x = np.abs(data((3, 4), source)).astype(source)
    for target in ALL:
        check_method("astype", x, target)
        for casting in ("safe", "same_kind", "equiv", "no"):
            check_method("astype", x, target, casting=casting)
    check_method("astype", x, float)
    t = tensors(x)
    assert implementation("numpy.ndarray.astype")(t, t.dtype).data_ptr() != t.data_ptr()
    assert implementation("numpy.ndarray.astype")(t, t.dtype, copy=False) is t
    if hasattr(np, "astype"):
        check(np.astype, x, "d")
        check(np.astype, [1], "d")


@pytest.mark.parametrize("source", ALL)
def test_view_as_another_dtype(source):
    for target in ALL:
        if target == "?":
            continue  # bytes other than 0 and 1 are no bools
        for x in (np.array(data((), source)), data((3, 4), source), data((3, 4), source).T):
            check_method("view", x, target)
    x = torch.zeros(4)
    implementation("numpy.ndarray.view")(x, np.int32)[0] = 0x3F800000
    assert x[0] == 1


def test_copies_and_views():
    x = torch.zeros(3, 4)
    for name in ("flatten", "copy"):
        assert implementation(f"numpy.ndarray.{name}")(x).data_ptr() != x.data_ptr()
    for name in ("T", "mT", "real", "flat", "ravel", "view", "conj"):
        assert implementation(f"numpy.ndarray.{name}")(x).data_ptr() == x.data_ptr()
    z = torch.zeros(3, dtype=torch.complex64)
    implementation("numpy.ndarray.imag")(z)[0] = 2
    assert z[0] == 2j


@pytest.mark.parametrize("dtype", ALL)
def test_attributes(dtype):
    for x in (np.array(data((), dtype)), data((3, 4), dtype), data((2, 3, 4), dtype)):
        for name in ("T", "real", "imag"):
            same(implementation(f"numpy.ndarray.{name}")(tensors(x)), getattr(x, name))
        if x.ndim > 1:
            same(implementation("numpy.ndarray.mT")(tensors(x)), x.swapaxes(-1, -2))
        same(implementation("numpy.ndarray.flat")(tensors(x)), x.ravel())
        t = torch.from_numpy(x)
        for name in ("dtype", "ndim", "shape", "size", "itemsize", "nbytes", "strides"):
            assert attribute(t, name) == getattr(x, name), name
    check(np.real, data((3, 4), dtype))
    check(np.imag, data((3, 4), dtype))
    check(np.angle, with_nan((3, 4), dtype) if np.dtype(dtype).kind in "fc" else data(4, dtype))
    check(np.angle, data((3, 4), dtype), deg=True)


def test_parts_of_python_numbers():
    check(np.angle, 1 + 1j)
    check(np.angle, 2, deg=True)
    check(np.real, 1 + 2j)
    check(np.imag, [1, 2j])


@pytest.mark.parametrize("dtype", ALL)
def test_assigned_attributes(dtype):
    for name in ("real", "imag", "flat"):
        for value in (1, [1, 0, 1], data((3,), dtype).real, 2.5, data((5, 7), "b")):
            x = np.array(data((3, 3), dtype))
            t = tensors(x)
            theirs = _outcome(lambda: setattr(x, name, value))  # noqa: B023
            row = implementation(f"numpy.ndarray.{name}.__set__")
            mine = _outcome(lambda: row(t, tensors(value)))  # noqa: B023
            if isinstance(theirs, Exception):
                assert isinstance(mine, type(theirs)), f"{name} = {value}: {mine!r}, {theirs!r}"
            else:
                assert mine is None
                same(t, x)


@pytest.mark.parametrize("dtype", ALL)
def test_fill_and_put(dtype):
    for value in (1, 2.7, True, 1000, -1, np.float32(2), np.ones(2)):
        x = data((3, 4), dtype)
        t = tensors(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = _outcome(lambda: x.fill(value))  # noqa: B023
            mine = _outcome(lambda: implementation("numpy.ndarray.fill")(t, tensors(value)))  # noqa: B023
        if isinstance(theirs, Exception):
            assert isinstance(mine, type(theirs)), f"{value}: {mine!r}, {theirs!r}"
        else:
            same(t, x)
    x = data((3, 4), dtype)
    t = tensors(x)
    implementation("numpy.ndarray.put")(t, [0, -1], 1)
    x.put([0, -1], 1)
    same(t, x)


BOUNDS = [
    *((1, 3), (-1000, 1000), (None, 3), (1, None), (None, None), (3, 1), (2.5, None), (-1, 2**70)),
    *((np.int8(1), 3), (np.float64(1), 2), (data(4, "h"), None), (data(4, "f"), data((3, 1), "d"))),
    *((False, True), (1j, 2), (float("nan"), 1), ([1, 2, 3, 4], 5)),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_clip(bounds):
    for dtype in ALL:
        check(np.clip, data((3, 4), dtype), *bounds)
        check_method("clip", data((3, 4), dtype), *bounds)
    check(np.clip, with_nan((3, 4), "f"), *bounds)


def test_clip_options():
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        check(np.clip, X, min=0, max=1)
        check(np.clip, X, 0, max=1)
        check(np.clip, X, min=0)
    check(np.clip, 7, 0, 5)
    check(np.clip, data(4, "b"), 0, 5, dtype="f")
    check(np.clip, X, data(3, "f"), None)
    out = torch.zeros(3, 4)
    assert implementation(np.clip)(tensors(X), 0, 1, out) is out
    same(out, np.clip(X, 0, 1))
    with tracing(TraceSettings(default_float="float32")):
        found = implementation(np.clip)(torch.arange(5), 0.5, 2.5)
        assert found.dtype == torch.float32


@pytest.mark.parametrize("dtype", ALL)
def test_round(dtype):
    kind = np.dtype(dtype).kind
    for x in (data((3, 4), dtype), with_nan(9, dtype) if kind in "fc" else data(9, dtype)):
        for decimals in (0, 1, 3, -1, -2):
            check(np.round, x, decimals)
            check(np.around, x, decimals)
    check(np.round, np.array([0.5, 1.5, 2.5, -0.5]).astype(dtype if kind in "fc" else "d"))
    check(np.round, np.array([15, 25, 99]).astype(dtype), -1)


def test_refusals_name_the_method():
    for name in ("tolist", "tobytes", "resize", "setflags"):
        with pytest.raises(NotImplementedError, match=f"ndarray.{name}"):
            implementation(f"numpy.ndarray.{name}")(tensors(X))
    with pytest.raises(NotImplementedError, match=r"ndarray\.ctypes"):
        attribute(tensors(X), "ctypes")


TRACED = [
    ("reshape", (2, -1)),
    ("flatten", ()),
    ("flatten", ("F",)),
    ("astype", ("f",)),
    ("transpose", ()),
    ("round", (1,)),
    ("clip", (0, 1)),
    ("take", ([0, 2], 1)),
    ("item", (1, 2)),
    ("view", ("l",)),
    ("copy", ()),
    ("squeeze", ()),
    ("diagonal", ()),
]


@pytest.mark.parametrize(("method", "args"), TRACED, ids=str)
def test_traces_with_symbolic_sizes(method, args):
    from torch.fx.experimental.proxy_tensor import make_fx

    run = implementation(f"numpy.ndarray.{method}")
    graph = make_fx(lambda x: run(x, *args), tracing_mode="symbolic")(tensors(data((4, 6), "d")))
    x = data((6, 8), "d")
    same(graph(tensors(x)), getattr(x, method)(*args))


def test_constants_trace_with_symbolic_sizes():
    from torch.fx.experimental.proxy_tensor import make_fx

    def run(x):
        parts = [attribute(x, name) for name in ("size", "nbytes", "itemsize", "ndim")]
        return x * (sum(parts) + sum(attribute(x, "strides")) + attribute(x, "shape")[0])

    graph = make_fx(run, tracing_mode="symbolic")(torch.ones(4, 6))
    x = np.ones((6, 8), "f")
    expected = x.size + x.nbytes + x.itemsize + x.ndim + sum(x.strides) + x.shape[0]
    assert graph(tensors(x))[0, 0] == expected
