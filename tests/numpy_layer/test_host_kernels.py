"""NumPy's kernels as operators: NumPy's values, fake results of their form, use from disk."""

import sys

import children
import numpy as np
import pytest
import torch

import npaccel
from npaccel._numpy.host import kernels as host
from npaccel._numpy.host import linalg
from npaccel._numpy.host import polynomials as host_series
from npaccel._numpy.host.blocked import PART
from npaccel._numpy.ufuncs.at import at
from npaccel._numpy.ufuncs.ufuncs import BY_UFUNC

X = np.random.default_rng(0).normal(size=(6, 5))
SLID = np.convolve(X[0] + 1j, X[1, 2::-1] * 1j)


def multiplied(x):
    found = x[0].copy()
    np.multiply.at(found, [1, -1, 1], x[1, :3])
    return found


def placed(x, mask, values):
    found = x.copy()
    np.place(found, mask, values)
    return found


STACK = np.random.default_rng(1).normal(size=(4, 3, 3)) + 3 * np.eye(3)
U, V = np.array([2.0, 3, 0, 5]), np.array([1.0, 1])
QUOTIENT, REST = np.polydiv(U, V)

CALLS = {
    "sort": (host.sort, (X, 0, True), np.sort(X, 0)),
    "argsort": (host.argsort, (X, 1, False), np.argsort(X, 1)),
    "partition": (host.partition, (X, [1, 3], 0), np.partition(X, [1, 3], 0)),
    "argpartition": (host.argpartition, (X, [2], 1), np.argpartition(X, [2], 1)),
    "sorted_at": (host.sorted_at, (X, np.array([4, -1, 0])), np.sort(X, 0)[[4, -1, 0]]),
    "lexsort": (host.lexsort, ([X, X > 0], 0), np.lexsort((X, X > 0), 0)),
    "ufunc": (host.ufunc, (X, "cbrt"), np.cbrt(X)),
    "ufunc of integers": (host.ufunc, (np.arange(5), "cbrt"), np.cbrt(np.arange(5))),
    "arctan2": (host.arctan2, (X, X[::-1].copy()), np.arctan2(X, X[::-1])),
    "ufunc_reduce": (host.ufunc_reduce, (X, "divide", 1, None), np.divide.reduce(X, 1)),
    "ufunc_accumulate": (host.ufunc_accumulate, (X, "divide", 0), np.divide.accumulate(X, 0)),
    "ufunc_reduceat": (
        host.ufunc_reduceat,
        (X, np.array([3, 0, 2]), "add", 1),
        np.add.reduceat(X, [3, 0, 2], 1),
    ),
    "ufunc_reduceat of columns": (
        host.ufunc_reduceat,
        (X, np.array([2, 0, 1]), "add", 0),
        np.add.reduceat(X, [2, 0, 1], 0),
    ),
    "polydiv": (
        host_series.polydiv,
        (U, V),
        np.concatenate([QUOTIENT, np.zeros(len(U) - 1), REST]),
    ),
    "flatnonzero": (host.flatnonzero, (X > 0,), np.flatnonzero(X > 0)),
    "chosen": (host.chosen, (X, X[0] > 0, 1), X[:, X[0] > 0]),
    "placed": (host.placed, (X, X > 0, np.array([1.0, 2, 3])), placed(X, X > 0, [1, 2, 3])),
    "intersect1d": (host.intersect1d, (X, X[0], False), np.intersect1d(X, X[0])),
    "setdiff1d": (host.setdiff1d, (X, X[0], False), np.setdiff1d(X, X[0])),
    "tally": (host.tally, (np.array([3, 1, 1]), 6), np.array([0, 2, 0, 1, 0, 0])),
    "isin": (host.isin, (X, X[0]), np.isin(X, X[0])),
    "correlate": (host.correlate, (X[0], X[1, :3], "same"), np.correlate(X[0], X[1, :3], "same")),
    "correlate complex": (host.correlate, (X[0] + 1j, X[1, :3] * 1j, "full"), SLID),
    "unique": (host.unique, (X // 0.5, True), np.unique(X // 0.5)),
    "bincount": (host.bincount, (np.array([3, 1, 1]), 6), np.array([0, 2, 0, 1, 0, 0])),
    "weighted_bincount": (
        host.weighted_bincount,
        (np.array([3, 1, 1]), np.array([0.5, 1, 2]), 6),
        np.bincount([3, 1, 1], [0.5, 1, 2], 6),
    ),
    "histogram": (host.histogram, (X[0], V - 1, None), np.histogram(X[0], V - 1)[0]),
    "histogram of weights": (
        host.histogram,
        (X[0], V - 1, X[1]),
        np.histogram(X[0], V - 1, weights=X[1])[0],
    ),
    "poly": (host_series.poly, (X[0],), np.poly(X[0])),
    "eigvalsh": (linalg.eigvalsh, (X @ X.T, "U"), np.linalg.eigvalsh(X @ X.T, "U")),
    "svdvals": (linalg.svdvals, (X,), np.linalg.svdvals(X)),
    "svd": (linalg.svd, (X, False), np.linalg.svd(X, False)),
    "svd of integers": (
        linalg.svd,
        (np.ones((2, 3), int), True),
        np.linalg.svd(np.ones((2, 3))),
    ),
    "lstsq": (linalg.lstsq, (X, X[:, :2], None), np.linalg.lstsq(X, X[:, :2])),
    "cond": (linalg.cond, (STACK, False), np.linalg.cond(STACK)),
    "cond of integers": (
        linalg.cond,
        (np.eye(2, dtype=int), True),
        np.linalg.cond(np.eye(2), -2),
    ),
    "covariance": (linalg.covariance, (X.astype("q"), "float64", 4), np.cov(X.astype("q"))),
    "correlation": (linalg.correlation, (X, "float64"), np.corrcoef(X)),
    "matmul": (linalg.matmul, (STACK, STACK[0]), STACK @ STACK[0]),
    "solve": (
        linalg.solve,
        (STACK, STACK[:1, :, :2]),
        np.linalg.solve(STACK, STACK[:1, :, :2]),
    ),
    "inv": (linalg.inv, (STACK,), np.linalg.inv(STACK)),
    "det": (linalg.det, (STACK,), np.linalg.det(STACK)),
    "round_number": (host.round_number, (np.array(2.675), 2), np.array(round(2.675, 2))),
    "series": (
        host_series.series,
        ("legendre.legval", X[0], X, True, "float64"),
        np.polynomial.legendre.legval(X, X[0]),
    ),
    "series of columns": (
        host_series.series,
        ("chebyshev.chebval", X, X[0], False, "float64"),
        np.polynomial.chebyshev.chebval(X[0], X, tensor=False),
    ),
    "vander": (
        host_series.vander,
        ("hermite.hermvander", X, 4),
        np.moveaxis(np.polynomial.hermite.hermvander(X, 4), -1, 0),
    ),
    "series_made": (
        host_series.series_made,
        ("legendre.legdiv", [X[0], X[1, :3]], [], [4, 5], "float64"),
        np.concatenate(
            [
                np.append(np.polynomial.legendre.legdiv(X[0], X[1, :3])[0], 0),
                np.append(np.polynomial.legendre.legdiv(X[0], X[1, :3])[1], [0, 0, 0]),
            ]
        ),
    ),
    "extreme_position": (host.extreme_position, (X, 1, True), np.argmax(X, 1)),
}


WRITES = {
    "ufunc_at": (host.ufunc_at, (X[0], np.array([1, -1, 1]), X[1, :3], "multiply"), multiplied(X)),
    "ufunc_at of one operand": (
        host.ufunc_at,
        (X[0], np.array([1]), None, "exp"),
        np.concatenate([X[0, :1], np.exp(X[0, 1:2]), X[0, 2:]]),
    ),
    "sort_in_place": (host.sort_in_place, (X, 1, False), np.sort(X, 1)),
    "partition_in_place": (host.partition_in_place, (X, [1, 3], 0), np.partition(X, [1, 3], 0)),
}


def tensors(value):
    if isinstance(value, list):
        return [tensors(item) for item in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", CALLS)
def test_operators_give_numpys_result_and_announce_its_form(name):
    operator, args, expected = CALLS[name]
    given = tuple(map(tensors, args))
    found = operator(*given)
    several = isinstance(found, list)
    for one, wanted in zip(*((found, expected) if several else ([found], [expected])), strict=True):
        np.testing.assert_array_equal(one.numpy(), wanted)
        assert one.is_contiguous()
    torch.library.opcheck(operator, given, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("name", WRITES)
def test_operators_write_what_numpy_writes(name):
    operator, args, expected = WRITES[name]
    first, *rest = map(tensors, args)
    first = first.clone()
    torch.library.opcheck(
        operator, (first.clone(), *rest), test_utils=("test_schema", "test_faketensor")
    )
    before = first._version
    assert operator(first, *rest) is None
    np.testing.assert_array_equal(first.numpy(), expected)
    assert first._version > before, "torch doesn't know of the write"


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
@pytest.mark.parametrize("layout", [slice(None), slice(None, None, -1), slice(None, None, 2)])
def test_writes_reach_the_callers_array(backend, layout):
    def f(a, v):
        np.power.at(a, [0, 2, 0], 2.0)
        v.sort()
        b = a * 2
        b.sort()
        np.add.at(b, [1, 1], 0.5)
        return b

    ours, theirs = ([np.arange(9.0)[layout].copy()[layout], -np.arange(9.0)[layout]] for _ in "ab")
    jitted = npaccel.jit(f, backend=backend, default_float="float64")
    np.testing.assert_array_equal(jitted(*ours), f(*theirs))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_at_gets_values_in_the_dtype_of_its_loop(monkeypatch, dtype):
    seen = []
    monkeypatch.setattr(host, "ufunc_at", lambda *args: seen.append(args[2]))
    a, places = torch.zeros(3, dtype=getattr(torch, dtype)), torch.tensor([1, 1, 2])
    for value in (2, [2, 3, 4], np.arange(3, dtype=np.int16)):
        at(np.add, a, places, torch.from_numpy(value) if isinstance(value, np.ndarray) else value)
    theirs = [np.add.resolve_dtypes((np.dtype(dtype), np.dtype(d), None))[1] for d in "qqh"]
    assert [x.numpy().dtype for x in seen] == theirs
    assert [x.ndim for x in seen] == [0, 1, 1]  # one value isn't written out


def test_views_are_taken_as_they_are():
    x = torch.from_numpy(X.T[::2])
    np.testing.assert_array_equal(host.sort(x, 0, False).numpy(), np.sort(X.T[::2], 0))
    z = torch.from_numpy(X + 1j).conj()
    np.testing.assert_array_equal(host.sort(z, 0, False).numpy(), np.sort(X - 1j, 0))


def test_gradients_and_other_devices_are_torchs_own():
    x = torch.ones(3, requires_grad=True)
    assert not host.usable(x)
    with torch.no_grad():
        assert host.usable(x)
    assert not host.usable(torch.ones(3), torch.ones(3, device="meta"))


def test_sorted_tensors_have_gradients():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    weights = np.array([1.0, 10.0, 100.0], "f")
    fn = npaccel.jit(lambda x, w: np.sort(x) * w, backend="aot_eager")
    fn(x, torch.from_numpy(weights)).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


@pytest.mark.parametrize(
    ("threads", "elements", "slower"), [(2, 5000, 2), (64, 5000, 64), (64, 64 * PART, 1)]
)
def test_vector_kernels_that_threads_do_not_outdo_are_numpys(
    monkeypatch, threads, elements, slower
):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    called = []
    monkeypatch.setattr(host, "ufunc", lambda x, name: called.append(name))
    named = {name for k in BY_UFUNC.values() if (name := getattr(k.compute, "by_numpy", None))}
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    x = torch.full((elements,), 1.5)
    for name in named:
        BY_UFUNC[getattr(np, name)].compute(x)
    assert sorted(called) == sorted(name for name in named if host._SLOWER[name] > slower)
    assert {"arctan", "cbrt", "expm1"} <= named


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "float16"])
def test_products_of_floats_without_gradients_may_be_numpys(monkeypatch, dtype):
    monkeypatch.setattr(linalg.measured_products, "is_numpys", lambda *_, **__: True)
    x = torch.empty((100, 100), dtype=getattr(torch, dtype))
    assert linalg.product_usable(10**6, x, x) == (dtype in ("float32", "float64", "complex128"))
    if x.is_floating_point():
        assert not linalg.product_usable(10**6, x.requires_grad_(), x)


def test_long_rows_of_integers_and_orders_of_equal_ones_are_numpys(monkeypatch):
    seen = []
    for name in ("argsort", "ufunc_accumulate"):
        kernel = getattr(host, name)

        def record(*args, name=name, kernel=kernel):
            seen.append((name, *args[1:]))
            return kernel(*args)

        monkeypatch.setattr(host, name, record)

    def found(k, x):
        return (np.cumprod(k), *np.unique(x, return_inverse=True), *np.unique_inverse(x))

    fn = npaccel.jit(found, backend="eager")
    x = np.random.default_rng(0).integers(0, 9, 5000).astype("f")
    x[::7] = np.nan  # each is a value of its own, in NumPy's order
    k = np.arange(1, 5001)
    for ours, theirs in zip(fn(k, x), found(k, x), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert set(seen) == {("ufunc_accumulate", "multiply", 0), ("argsort", 0, False)}


MODULE = """
import numpy as np, npaccel

@npaccel.jit
def order(x, m):
    m.sort(axis=1)
    return np.sort(x * 2 + 1) - 3, np.argsort(m, axis=0) * 2, np.median(x), x < 0
"""
PROGRAM = """
from ordering import order

x = np.linspace(3, -3, 100) ** 3
m, n = np.cos(np.arange(30.0)).reshape(5, 6), np.cos(np.arange(30.0)).reshape(5, 6)
found, expected = order(x, m), order.__wrapped__(x, n)
same = all(np.array_equal(a, b) for a, b in zip((*found, m), (*expected, n)))
direct = ".sort(" in order.source() and "ops.npaccel" not in order.source()
answer(same=same, direct=direct, loaded=[g.loaded for g in order.report().graphs],
       compiler="torch._inductor" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.inductor
def test_a_new_process_calls_them_without_the_compiler(tmp_path):
    (tmp_path / "ordering.py").write_text(MODULE)
    first = children.run_prepared(PROGRAM, path=tmp_path)
    second = children.run(PROGRAM, path=tmp_path, OMP_NUM_THREADS="2")
    assert first["same"]
    assert second == {"same": True, "direct": True, "loaded": [True], "compiler": False}
