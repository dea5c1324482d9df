"""Creation, ranges, triangles and grids against NumPy."""

import numpy as np
import pytest
import torch
from row_checks import ALL, NUMBERS, check, data, implementation, tensors, traced

from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.creation import creation, grids, ranges
from npaccel._numpy.ufuncs import ufuncs

MODULES = (creation, grids, ranges, ufuncs)  # imported for their rows

name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter
SHAPES = [(), 0, 3, (2, 3), [2, 0], -1, (2, -1), 1.5, "x"]
X = data((3, 4), "f")


@pytest.mark.parametrize("function", [np.zeros, np.ones], ids=name)
def test_of_a_shape(function):
    for shape in SHAPES:
        check(function, shape)
    for dtype in (*ALL, int, float, bool, "float32", np.dtype("i2")):
        check(function, (2, 3), dtype)
    check(function, (2, 3), dtype="no such thing")


@pytest.mark.parametrize("function", [np.zeros_like, np.ones_like], ids=name)
@pytest.mark.parametrize("dtype", ALL)
def test_like(function, dtype):
    check(function, data((2, 3), dtype))
    check(function, data((2, 3), dtype), shape=(4,))
    check(function, data((), dtype), dtype="H")
    check(function, [1, 2])


def test_empty_has_shape_and_dtype():
    for found in (
        implementation(np.empty)((2, 3), np.int16),
        implementation(np.empty_like)(torch.ones(2, 3, dtype=torch.int16)),
    ):
        assert found.dtype == torch.int16
        assert found.shape == (2, 3)


@pytest.mark.parametrize(
    "value", [0, 1, -1, 300, 2**63, 1.5, -2.5, float("inf"), 1 + 2j, True, [1, 2, 3], [[1.5], [2]]]
)
def test_full(value):
    check(np.full, (2, 3), value)
    for dtype in ALL:
        check(np.full, (2, 3), value, dtype)
        check(np.full_like, data((2, 3), dtype), value)


def test_full_of_arrays():
    check(np.full, (2, 4), np.arange(4, dtype="i2"))
    check(np.full, (2, 4), np.float32(2))
    check(np.full, (2, 4), np.arange(3))
    check(np.full_like, X, np.arange(4))


@pytest.mark.parametrize("dtype", [None, *ALL])
def test_array(dtype):
    for value in (3, 2.5, True, 1 + 1j, [1, 2], [], [[1, 2], [3, 4]], [1, 2.5], [True, 2], -1):
        check(np.array, value, dtype)
    for x in (X, np.float32(3), [np.int8(3), np.int16(4)], [np.arange(2), np.arange(2)]):
        check(np.array, x, dtype)
        check(np.asarray, x, dtype)
    check(np.array, X, dtype, ndmin=4)


def test_array_edge_cases():
    check(np.array, [[1, 2], [3]])
    check(np.ascontiguousarray, np.float32(1))
    check(np.ascontiguousarray, X.T)
    check(np.asfortranarray, X)
    check(np.asanyarray, X, "f8")
    check(np.copy, X)
    check(np.require, X, "f8", ["C"])
    for refused in (np.asarray_chkfinite, np.frombuffer, np.real_if_close):
        with pytest.raises(NotImplementedError, match=refused.__name__):
            implementation(refused)(tensors(X))


def test_copies_and_views():
    x = tensors(X)
    assert implementation(np.asarray)(x) is x
    for made in (np.array, np.copy):
        assert implementation(made)(x).data_ptr() != x.data_ptr()
    assert implementation(np.array)(x, copy=None).data_ptr() == x.data_ptr()


SCALARS = [*(np.dtype(code).type for code in ALL), np.longlong, np.intc]


@pytest.mark.parametrize("scalar", SCALARS, ids=name)
def test_scalar_types(scalar):
    for value in (0, 1, -1, 3.7, -3.7, 300, 2**40, True, 1 + 2j, float("nan"), float("inf")):
        check(scalar, value)
    check(scalar)
    check(scalar, np.float32(2.5))
    check(scalar, X)
    check(scalar, [1, 2])


def test_default_float():
    with tracing(TraceSettings(default_float="float32")):
        for found in (
            implementation(np.zeros)(3),
            implementation(np.full)(3, 1.5),
            implementation(np.arange)(3.0),
            implementation(np.linspace)(0, 1, 5),
            implementation(np.eye)(3),
            implementation(np.tri)(3),
            implementation(np.logspace)(0, 1, 5),
        ):
            assert found.dtype == torch.float32
        assert implementation(np.zeros)(3, np.float64).dtype == torch.float64
        assert implementation(np.arange)(3).dtype == torch.int64
        x = torch.ones(2, dtype=torch.float64)
        assert implementation(np.linspace)(x, 1, 5).dtype == torch.float64


RANGES = [
    (5,),
    (0,),
    (-3,),
    (2, 9),
    (9, 2),
    (0, 10, 3),
    (10, 0, -3),
    (0, 10, -1),
    (2.5,),
    (0.1, 1.3, 0.1),
    (0, 1, 0.1),
    (1, 0, -0.25),
    (0.5, 7, 2),
    (1, 1.3, 0.1),
    (5, None),
    (1, 5, 0),
    (0, 3, None),
    (True,),
    (1, 10, 0.7),
]


@pytest.mark.parametrize("args", RANGES, ids=str)
def test_arange(args):
    check(np.arange, *args, ulps=0)
    for dtype in NUMBERS[:11]:
        check(np.arange, *args, dtype=dtype, ulps=0)


def test_arange_other_calls():
    check(np.arange)
    check(np.arange, 2, dtype=bool)
    check(np.arange, 3, dtype=bool)
    check(np.arange, stop=4)
    check(np.arange, start=1, stop=4)
    check(np.arange, 1, stop=4, step=2)
    check(np.arange, 3, start=1)
    check(np.arange, 0, 5, 0.5, int)
    check(np.arange, float("nan"))
    with pytest.raises(NotImplementedError, match="length would depend"):
        implementation(np.arange)(torch.tensor(3))


@pytest.mark.parametrize(
    "ends", [(0, 1), (2.5, -1), (3, 3), (0, 1e-320), (1j, 2), (-1, 5)], ids=str
)
def test_linspace(ends):
    for num in (0, 1, 2, 7, 50, -1, 2.5):
        for endpoint in (True, False):
            check(np.linspace, *ends, num, endpoint)
            check(np.linspace, *ends, num, endpoint, retstep=True)
    for dtype in ("f", "l", "b", "D"):
        if not (isinstance(ends[0], complex) and dtype != "D"):
            check(np.linspace, *ends, 9, dtype=dtype)


@pytest.mark.parametrize("dtype", ["b", "l", "e", "f", "d", "F"])
def test_spaced_between_arrays(dtype):
    a, b = data(3, dtype), data((2, 3), dtype, seed=1)
    for axis in (0, 1, -1, 5):
        check(np.linspace, a, b, 5, axis=axis)
    check(np.linspace, np.dtype(dtype).type(1), 2, 5)
    a, b = np.abs(a) + 1, np.abs(b) + 2
    if dtype not in "beF":
        check(np.logspace, a, b, 5, axis=-1, ulps=64)
        check(np.geomspace, a, b, 5, axis=1, ulps=64)


def test_logspace_and_geomspace():
    check(np.logspace, 0, 3, 7, ulps=64)
    check(np.logspace, 0, 3, 7, base=2, endpoint=False, ulps=64)
    check(np.logspace, 0, 3, 4, dtype=int)
    check(np.logspace, [0, 1], 3, 4, base=np.array([2.0, 3.0]), ulps=64)
    for ends in ((1, 1000), (-1, -1000), (1000, 1), (1, 0), (0, 1), (2.5, 7)):
        check(np.geomspace, *ends, 7, ulps=64)
        check(np.geomspace, *ends, 7, endpoint=False, ulps=64)


@pytest.mark.parametrize("dtype", ALL)
def test_triangles(dtype):
    check(np.eye, 3, dtype=dtype)
    check(np.tri, 3, 4, 1, dtype)
    for shape in ((4,), (3, 4), (2, 3, 3), (0, 3)):
        x = data(shape, dtype)
        for k in (-2, -1, 0, 1, 5):
            check(np.tril, x, k)
            check(np.triu, x, k)
    for k in (-1, 0, 2):
        check(np.diag, data(3, dtype), k)
        check(np.diag, data((3, 4), dtype), k)
        check(np.diagflat, data((2, 2), dtype), k)
        check(np.diagonal, data((2, 3, 4), dtype), k, 1, 2)


def test_triangles_edge_cases():
    for args in ((3, 4), (3, None, 1), (3, 2, -1), (0,), (-1,), (2.5,)):
        check(np.eye, *args)
    check(np.identity, 3)
    check(np.identity, 3, int)
    check(np.tril, np.float32(1))
    check(np.diag, np.float32(1))
    check(np.diag, np.ones((2, 2, 2)))
    check(np.diagonal, np.ones(3))
    check(np.diagonal, np.ones((2, 3)), 0, 0, 0)
    check(np.diagonal, np.ones((2, 3)), 0, 0, 4)
    x = tensors(X)
    assert implementation(np.diagonal)(x).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("dtype", ALL)
def test_vander(dtype):
    x = data(4, dtype)
    check(np.vander, x)
    check(np.vander, x, 3, increasing=True)
    check(np.vander, x, 0)
    check(np.vander, data((2, 2), dtype))


def test_grids():
    a, b, c = np.arange(3), np.arange(2.0), [1, 2, 3, 4]
    for indexing in ("xy", "ij", "ab"):
        for sparse in (False, True):
            for arrays in ((), (a,), (a, b), (a, b, c)):
                check(np.meshgrid, *arrays, sparse=sparse, indexing=indexing)
    for shape in ((3, 4), (2,), ()):
        check(np.indices, shape)
        check(np.indices, shape, float)
        check(np.indices, shape, sparse=True)
    check(np.ix_, [0, 1], np.array([2, 3]))
    check(np.ix_, np.array([True, False, True]), [])
    check(np.ix_, np.ones((2, 2), int))


def test_index_arrays():
    for function in (np.tril_indices, np.triu_indices):
        for args in ((3,), (3, 1), (4, -1, 2), (2, 0, 5)):
            check(function, *args)
    for function in (np.tril_indices_from, np.triu_indices_from):
        check(function, X, 1)
        check(function, np.ones(3))
    check(np.diag_indices, 3, 3)
    check(np.diag_indices_from, np.ones((3, 3)))
    check(np.diag_indices_from, X)
    check(np.diag_indices_from, np.ones(3))


def test_flat_positions():
    for order in ("C", "F", "K"):
        check(np.unravel_index, np.array([[1, 5], [22, 0]]), (2, 3, 4), order)
        check(np.unravel_index, 5, (2, 3), order)
        check(np.ravel_multi_index, ([1, 0], [2, 1]), (2, 3), order=order)
    check(np.unravel_index, 6, (2, 3))
    check(np.unravel_index, 1.5, (2, 3))
    check(np.unravel_index, np.int64(4), (2, 3))
    check(np.unravel_index, [], (2, 3))
    check(np.ravel_multi_index, ([3, -1], [2, 7]), (2, 3), mode="wrap")
    check(np.ravel_multi_index, ([3, -1], [2, 7]), (2, 3), mode=("clip", "wrap"))
    check(np.ravel_multi_index, ([1],), (2, 3))
    check(np.ravel_multi_index, (np.arange(2), np.arange(3)[:, None]), (2, 3))


Y = data((4, 5), "d")
TRACED = [
    (np.zeros_like, (Y,), {}),
    (np.full_like, (Y, 2), {}),
    (np.array, (Y,), {"ndmin": 3}),
    (np.tril, (Y,), {"k": 1}),
    (np.diag, (Y,), {}),
    (np.diagflat, (Y,), {}),
    (np.diagonal, (Y,), {"offset": 1}),
    (np.linspace, (Y, 3.0, 5), {}),
    (np.geomspace, (np.abs(Y) + 1, 3.0, 5), {}),
    (np.meshgrid, (Y[0], Y[1]), {}),
    (np.ix_, (np.arange(3), np.arange(4)), {}),
    (np.unravel_index, (np.arange(6), (2, 3)), {}),
    (np.ravel_multi_index, ((np.arange(2), np.arange(2)), (2, 3)), {}),
    (np.vander, (Y[0], 3), {}),
    (np.diag_indices_from, (data((3, 3), "d"),), {}),
    (np.float32, (Y,), {}),
    (np.asarray, ([Y[0], Y[1]],), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)


def test_symbolic_lengths():
    from torch.fx.experimental.proxy_tensor import make_fx

    def f(x):
        n = x.shape[0]
        return (
            implementation(np.arange)(n),
            implementation(np.arange)(1, n, 2),
            implementation(np.arange)(0.0, n, 0.5),
            implementation(np.zeros)((n, 2)),
            implementation(np.eye)(n),
            implementation(np.linspace)(0, n, n),
        )

    graph = make_fx(f, tracing_mode="symbolic")(torch.ones(7))
    for found, expected in zip(
        graph(torch.ones(9)),
        (
            np.arange(9),
            np.arange(1, 9, 2),
            np.arange(0.0, 9, 0.5),
            np.zeros((9, 2)),
            np.eye(9),
            np.linspace(0, 9, 9),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(found.numpy(), expected)
        assert found.numpy().dtype == expected.dtype
