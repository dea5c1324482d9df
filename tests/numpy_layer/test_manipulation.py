"""Shapes, joins, repeats, padding and dtype questions against NumPy."""

import numpy as np
import pytest
import torch
from comparing import assert_same
from comparing import check as compare
from row_checks import ALL, check, data, implementation, same, tensors, traced

import npaccel
from npaccel._numpy.core import dtype_queries, methods
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.manipulation import joining, manipulation, padding, repeating
from npaccel._numpy.statistics import quantiles, reductions
from npaccel._numpy.ufuncs import ufuncs

MODULES = (
    *(dtype_queries, joining, manipulation, methods, padding),
    *(quantiles, reductions, repeating, ufuncs),
)  # imported for their rows

name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter
SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (0, 3), (1, 4, 1)]
X = data((2, 3, 4), "f")


@pytest.mark.parametrize("order", ["C", "F", "A", "K", "x"])
def test_reshape(order):
    for x in (X, X.T, X[:, ::2], data((0, 3), "f")):
        for shape in (
            24,
            -1,
            (4, 6),
            (2, -1),
            (-1, 2, 2),
            (5, -1),
            (-1, -1),
            (7,),
            (0, -1),
            (3, 0),
        ):
            check(np.reshape, x, shape, order)
        check(np.ravel, x, order)
    check(np.reshape, np.float32(1), (1, 1))
    check(np.reshape, [1, 2, 3, 4], (2, 2))


def test_reshape_is_a_view_where_numpy_has_one():
    x = torch.zeros(3, 4)
    for found in (
        implementation(np.reshape)(x, (4, 3)),
        implementation(np.ravel)(x),
        implementation(np.ravel)(x.T, "F"),
        implementation(np.reshape)(x.T, -1, "F"),
        implementation(np.transpose)(x),
        implementation(np.squeeze)(x[None]),
        implementation(np.expand_dims)(x, 0),
        implementation(np.split)(x, 2, 1)[1],
    ):
        found[...] = found + 1
    assert implementation(np.broadcast_to)(x, (2, 3, 4)).data_ptr() == x.data_ptr()
    assert implementation(np.reshape)(x, -1, copy=True).data_ptr() != x.data_ptr()
    assert x[0, 0] == 7
    y = torch.zeros(3, 4)
    implementation(np.ravel)(y.T)[0] = 1
    assert y.sum() == 0


AXES = [0, 1, -1, 2, -4, 5, (0, 1), (0, 0), (0, -1), (2, 1, 0), (0, 2, 1), ()]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_axes(shape):
    x = data(shape, "h")
    for axis in AXES:
        check(np.transpose, x, axis)
        check(np.expand_dims, x, axis)
        check(np.squeeze, x, axis)
        check(np.flip, x, axis)
        for other in (0, -1, 2, (1, 0)):
            check(np.moveaxis, x, axis, other)
            if not isinstance(axis, tuple) and not isinstance(other, tuple):
                check(np.swapaxes, x, axis, other)
                check(np.rollaxis, x, axis, other)
    for function in (np.transpose, np.squeeze, np.flip, np.flipud, np.fliplr, np.matrix_transpose):
        check(function, x)
    for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        check(function, x)
        check(function, x, 3)
    for function in (np.ndim, np.shape, np.size):
        check(function, x)


@pytest.mark.parametrize("dtype", ALL)
def test_flips_and_rolls(dtype):
    for shape in ((5,), (3, 4), (0, 3), (2, 3, 4)):
        x = data(shape, dtype)
        check(np.flip, x)
        for shift in (0, 2, -7, (1, 2)):
            for axis in (None, 0, -1, (0, 1), (0, 0), 3):
                check(np.roll, x, shift, axis)
        for k in (-1, 0, 1, 2, 3, 6):
            check(np.rot90, x, k)
            check(np.rot90, x, k, (1, 0))
            check(np.rot90, x, k, (-1, 0))
        check(np.rot90, x, 1, (0, 3))
        check(np.rot90, x, 1, (0, 0))


def test_roll_by_an_array():
    for shift in (-3, 0, 2):
        found = implementation(np.roll)(tensors(X), torch.tensor(shift), 1)
        same(found, np.roll(X, shift, 1))


def test_broadcasts():
    for shape in ((2, 3, 4), (5, 2, 3, 4), (3, 4), (2, 3, 5), (-1,)):
        check(np.broadcast_to, X, shape)
    check(np.broadcast_to, 1.5, (2, 2))
    check(np.broadcast_arrays, X, X[0, 0], 2)
    check(np.broadcast_arrays, X, np.ones(3))
    check(np.broadcast_shapes, (2, 1), (3,), 1)
    check(np.broadcast_shapes, (2,), (3,))
    check(np.size, X, 1)


JOINS = [np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", JOINS, ids=name)
def test_joins(function, dtype):
    for shape in ((), (3,), (2, 3), (2, 3, 4), (0, 3)):
        x = data(shape, dtype)
        check(function, [x, x])
        check(function, (x, data(shape, "h"), data(shape, "f")))
        check(function, [x])
    check(function, [])
    check(function, data((2, 3), dtype))
    check(function, [data((2, 3), dtype), data((3, 3), dtype)])
    check(function, [data((2, 3), dtype), data((2, 4), dtype)])
    check(function, [data((2, 3), dtype), data(3, dtype)])


def test_join_options():
    x, y = data((2, 3), "b"), data((2, 3), "f")
    for axis in (0, 1, -1, None, 2, -3):
        check(np.concatenate, (x, y), axis)
        if axis is not None:
            check(np.stack, (x, y), axis)
    check(np.concatenate, (x, 1, 2.5), None)
    check(np.concatenate, (x, y), dtype="d")
    check(np.concatenate, (x, y), dtype="b")
    check(np.concatenate, (x, y), dtype="b", casting="unsafe")
    check(np.stack, (x, y), dtype="b", casting="unsafe")
    check(np.hstack, (x, y), dtype="d")
    check(np.append, x, y)
    check(np.append, x, y, 0)
    check(np.append, x, [1, 2])
    check(np.append, x, y[0], 0)
    out = torch.zeros(4, 3)
    assert implementation(np.concatenate)(tensors([x, y]), out=out) is out
    same(out, np.concatenate([x, y]))


def test_block():
    x, y = data((2, 2), "f"), data((2, 3), "d")
    check(np.block, [[x, y], [y, x]])
    check(np.block, [x, y])
    check(np.block, x)
    check(np.block, [1, 2, np.int8(3)])
    check(np.block, [[1, 2], [3, 4]])
    check(np.block, [[x, y], [y]])
    check(np.block, [[x], y])
    check(np.block, [])
    check(np.block, ([x], y))


SPLITS = [np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit]


@pytest.mark.parametrize("function", SPLITS, ids=name)
def test_splits(function):
    for shape in SHAPES:
        for where in (1, 2, 3, 0, [1], [1, 3], [2, 1], [0, 9], [-1], []):
            check(function, data(shape, "f"), where)
    if function in (np.split, np.array_split):
        for axis in (0, 1, 2, -1, 3):
            check(function, X, 2, axis)


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
def test_unstack():
    for axis in (0, 1, -1, 3):
        check(np.unstack, X, axis=axis)
    check(np.unstack, np.float32(1))


@pytest.mark.parametrize("dtype", ALL)
def test_repeats(dtype):
    for shape in ((), (4,), (2, 3), (0, 3)):
        x = data(shape, dtype)
        for times in (1, 0, 3, (2, 3), (2, 1, 2), (1, 1), -1):
            check(np.tile, x, times)
        for times in (0, 1, 3, [2], -1):
            for axis in (None, 0, -1, 2):
                check(np.repeat, x, times, axis)
        for new in (5, (2, 4), (0,), (3, -1)):
            check(np.resize, x, new)
    check(np.repeat, data((2, 3), dtype), [1, 0, 2], 1)
    check(np.repeat, data((2, 3), dtype), np.array([1, 0, 2]), 1)
    check(np.repeat, data((2, 3), dtype), [1, 2], 1)
    check(np.repeat, data((2, 3), dtype), 1.5, 1)


PLACES = [0, 2, -1, 3, 9, [0, 2], [1, 1], [-1], slice(None, None, 2), slice(1, 1), [], [7]]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_delete_and_insert(place):
    for x in (data(3, "f"), data((3, 4), "h"), data((2, 3), "D")):
        for axis in (None, 0, 1, -1, 2):
            check(np.delete, x, place, axis)
            check(np.insert, x, place, 7, axis)
    check(np.insert, data((3, 4), "h"), place, [1.5, 2, 3, 4], 0)
    check(np.insert, data((3, 4), "h"), place, np.ones((1, 4)), 0)
    check(np.insert, data((3, 4), "h"), place, [1.5, 2, 3], 1)
    check(np.insert, data(3, "h"), place, [1, 2])
    check(np.delete, data(3, "f"), [True, False, True])


WIDTHS = [1, 0, (1, 2), ((1, 2), (0, 3)), ((2, 1),), 5, ((1,), (2,)), -1, 1.5, {0: 1}, {-1: (1, 2)}]
MODES = [
    ("constant", {}),
    ("constant", {"constant_values": 3}),
    ("constant", {"constant_values": ((1, 2), (3, 4))}),
    ("edge", {}),
    ("reflect", {}),
    ("reflect", {"reflect_type": "odd"}),
    ("symmetric", {}),
    ("symmetric", {"reflect_type": "odd"}),
    ("wrap", {}),
    ("linear_ramp", {}),
    ("linear_ramp", {"end_values": (2, -3)}),
    ("maximum", {}),
    ("maximum", {"stat_length": 2}),
    ("mean", {}),
    ("mean", {"stat_length": ((2, 1), (1, 9))}),
    ("median", {}),
    ("minimum", {"stat_length": 1}),
    ("edge", {"stat_length": 1}),
    ("nonsense", {}),
]


@pytest.mark.parametrize(("mode", "options"), MODES, ids=str)
def test_pad(mode, options):
    for dtype in ("b", "l", "f", "d"):
        for width in WIDTHS:
            if isinstance(width, dict) and np.lib.NumpyVersion(np.__version__) < "2.2.0":
                continue
            check(np.pad, data((3, 4), dtype), width, mode, **options)
        check(np.pad, data((1, 4), dtype), 3, mode, **options)
        check(np.pad, data((0, 4), dtype), ((0, 0), (1, 1)), mode, **options)
        check(np.pad, data((0, 4), dtype), 1, mode, **options)


@pytest.mark.parametrize("dtype", ALL)
def test_pad_of_dtypes(dtype):
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
        check(np.pad, data(4, dtype), 6, mode)
    found = implementation(np.pad)(tensors(data(4, dtype)), 2, "empty")
    assert tuple(found.shape) == (8,)


def test_windows():
    for args in ((2, 0), ((2, 2), (0, 1)), ((1, 2, 3),), (5, 0), (-1, 0), (2,), ((2, 2), (0, 0))):
        check(np.lib.stride_tricks.sliding_window_view, X, *args)


DTYPES = ["b", "B", "l", "f", "d", "D", "?"]


def test_dtype_questions():
    for a in DTYPES:
        x = data(3, a)
        for function in (np.iscomplexobj, np.isrealobj):
            assert implementation(function)(tensors(x)) is function(x)
        assert implementation(np.min_scalar_type)(tensors(x)) == np.min_scalar_type(x)
        for b in DTYPES:
            assert implementation(np.can_cast)(a, np.dtype(b), "same_kind") is np.can_cast(
                a, b, "same_kind"
            )
            assert implementation(np.promote_types)(a, b) == np.promote_types(a, b)
            assert implementation(np.result_type)(tensors(x), b, 1) == np.result_type(x, b, 1)
    assert implementation(np.can_cast)(torch.zeros(2).dtype, int) is False
    assert implementation(np.issubdtype)(np.dtype("f4"), np.floating) is True
    assert implementation(np.isdtype)(np.dtype("f4"), "real floating") is True
    assert implementation(np.common_type)(tensors(X)) is np.common_type(X)
    assert implementation(np.iscomplexobj)(1j) is True
    for x in (1, 2.5, "s", [1], None, True):
        assert implementation(np.isscalar)(x) is np.isscalar(x)
    assert implementation(np.isscalar)(torch.ones(2)) is False


def test_narrowed_promotion():
    with tracing(TraceSettings(default_float="float32")):
        found = implementation(np.concatenate)([torch.ones(2, dtype=torch.int64), torch.ones(2)])
        assert found.dtype == torch.float32
        assert implementation(np.where)(torch.tensor([True]), 1.0, 2.0).dtype == torch.float32


M = data((4, 5), "d")
TRACED = [
    (np.reshape, (M, (-1, 2)), {}),
    (np.reshape, (M, -1), {"order": "F"}),
    (np.ravel, (M.T,), {}),
    (np.moveaxis, (M, 0, 1), {}),
    (np.broadcast_arrays, (M, M[0]), {}),
    (np.concatenate, ((M, M), 1), {}),
    (np.concatenate, ((M, M),), {"axis": None}),
    (np.stack, ([M, M],), {}),
    (np.vstack, ([M, M[0]],), {}),
    (np.block, ([[M, M], [M, M]],), {}),
    (np.split, (M, 2), {}),
    (np.array_split, (M, 3), {}),
    (np.split, (M, [1, 3]), {"axis": 1}),
    (np.tile, (M, (2, 2)), {}),
    (np.repeat, (M, 3), {"axis": 1}),
    (np.roll, (M, 2), {"axis": 0}),
    (np.roll, (M, 2), {}),
    (np.rot90, (M,), {}),
    (np.flip, (M,), {}),
    (np.append, (M, M), {}),
    (np.insert, (M, 1, 2.0), {"axis": 0}),
    (np.insert, (M, [1, 2], 2.0), {"axis": 0}),
    (np.delete, (M, 1), {"axis": 0}),
    (np.delete, (M, [0, 2]), {"axis": 1}),
    (np.resize, (M, (3, 7)), {}),
    (np.lib.stride_tricks.sliding_window_view, (M, (2, 2)), {}),
    *((np.pad, (M, ((1, 2), (0, 3)), mode), options) for mode, options in MODES[:17]),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    if isinstance(kwargs.get("constant_values", 0), tuple):
        kwargs = {"constant_values": 1.5}
    traced(function, *args, **kwargs)


TRIMMED = [
    *(np.array([0.0, 0, 1, 0, 2, 0]), np.zeros(4), np.zeros(0), np.array([0, np.nan, -0.0])),
    *(np.array([[0, 0, 0], [0, 1, 2], [0, 0, 3]]), np.zeros((3, 3)), np.zeros((2, 0))),
    *(np.array(3.0), np.array(0), np.array([False, True, False]), np.array([0, 1j, 0])),
]


@pytest.mark.parametrize(("trim", "axis"), [("fb", None), ("F", None), ("b", 0), ("fb", -1)])
def test_trim_zeros_gives_views(trim, axis):
    def function(x):
        return np.trim_zeros(x, trim, axis)

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for x in TRIMMED:
        if not x.ndim and axis is not None:
            continue
        got, wanted = jitted(x), function(x)
        assert_same(got, wanted)
        assert np.shares_memory(got, x) == np.shares_memory(wanted, x)
    assert not jitted.report().fallbacks


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_what_is_written_to_trimmed_arrays(backend):
    def function(x):
        y = np.trim_zeros(x)
        y += 1
        return y * 2, x.sum()

    compare(function, TRIMMED[0], backend=backend)
