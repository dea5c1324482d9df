"""How results lie in memory, which strides, `ravel("K")` and stores under indices show."""

import operator

import numpy as np
import pytest
import torch
from row_checks import implementation

import npaccel
from npaccel._numpy.indexing.indexing import item

CALLS = {
    "add": (np.add, 2, True),
    "negative": (np.negative, 1, True),
    "where": (np.where, 3, False),
    "zeros_like": (np.zeros_like, 1, True),
    "copy": (np.copy, 1, True),
    "ndarray.copy": (np.ndarray.copy, 1, True),
    "ndarray.astype": (lambda x, **kwargs: x.astype("f", **kwargs), 1, True),
}


def steps(x):
    """The strides of axes of more than one element; NumPy's others are of many kinds."""
    return [step for step, size in zip(x.strides, x.shape, strict=True) if size > 1]


def drawn(rng, shape, broadcast=True):
    """Draw an array of any layout, and a tensor that lies alike."""
    order, step = rng.permutation(len(shape)).astype(int), rng.integers(1, 3)
    wide = np.zeros([shape[axis] * step for axis in order])
    array = wide[(slice(None, None, step),) * len(shape)].transpose(np.argsort(order))
    if broadcast and rng.integers(5) == 0:
        array = np.broadcast_to(array[:1], shape)
    strides = [one // array.itemsize for one in array.strides]
    return array, torch.as_strided(torch.from_numpy(wide), shape, strides)


@pytest.mark.parametrize("name", CALLS)
def test_results_lie_in_memory_as_numpys(name):
    function, count, ordered = CALLS[name]
    call = implementation(f"numpy.{name}")
    rng = np.random.default_rng(0)
    for _ in range(150):
        shape = rng.integers(1, 4, rng.integers(2, 5))
        sizes = [np.where(rng.random(shape.size) < 0.25, 1, shape) for _ in range(count)]
        arrays, given = zip(*(drawn(rng, tuple(map(int, one))) for one in sizes), strict=True)
        kwargs = {"order": str(rng.choice(["K", "C", "F", "A"]))} if ordered else {}
        wanted = function(*arrays, **kwargs)
        if name == "ndarray.astype":
            given = (*given, "f")
        assert steps(call(*given, **kwargs).numpy()) == steps(wanted), (arrays, kwargs)


POINTS = np.arange(3.0)
#: Calls of a row with arrays x and y of one shape, and an axis.
OF_ANY_ORDER = {
    "stack": lambda f, x, y, k: f([x, y], axis=k),
    "concatenate": lambda f, x, y, k: f([x, y], axis=k),
    "pad": lambda f, x, y, k: f(x, 1),
    "pad edge": lambda f, x, y, k: f(x, 1, "edge"),
    "pad symmetric": lambda f, x, y, k: f(x, 1, "symmetric"),
    "pad mean": lambda f, x, y, k: f(x, ((1, 2),) * x.ndim, "mean"),
    "insert": lambda f, x, y, k: f(x, 1, 5, axis=k),
    "insert two": lambda f, x, y, k: f(x, [0, 1], 5, axis=k),
    "delete": lambda f, x, y, k: f(x, 0, axis=k),
    "delete slice": lambda f, x, y, k: f(x, slice(0, 1), axis=k),
    "delete two": lambda f, x, y, k: f(x, [0, 1], axis=k),
    "linalg.norm": lambda f, x, y, k: f(x, axis=k),
    "linalg.norm 1": lambda f, x, y, k: f(x, 1, axis=k, keepdims=True),
    "linalg.norm inf": lambda f, x, y, k: f(x, np.inf, axis=k),
    "linalg.norm fro": lambda f, x, y, k: f(x, axis=(k, k - 1)),
    "linalg.norm nuc": lambda f, x, y, k: f(x, "nuc", axis=(k, k - 1)),
    "linalg.vector_norm": lambda f, x, y, k: f(x, axis=k),
    "trapezoid": lambda f, x, y, k: f(x, axis=k),
    "trapezoid x": lambda f, x, y, k: f(x, y, axis=k),
    "unwrap": lambda f, x, y, k: f(x, axis=k),
    "mean": lambda f, x, y, k: f(x, axis=k),
    "mean of two": lambda f, x, y, k: f(x, axis=(k, k - 1)),
    "var": lambda f, x, y, k: f(x, axis=k),
    "std": lambda f, x, y, k: f(x, axis=k, keepdims=True),
    "median": lambda f, x, y, k: f(x, axis=k),
    "average": lambda f, x, y, k: f(x, axis=k),
    "nanmean": lambda f, x, y, k: f(x, axis=k),
    "nanmax": lambda f, x, y, k: f(x, axis=k),
    "nanstd": lambda f, x, y, k: f(x, axis=k),
    "nanmedian": lambda f, x, y, k: f(x, axis=k),
    "count_nonzero": lambda f, x, y, k: f(x, axis=k),
    "compress": lambda f, x, y, k: f([True, False, True], x, axis=k),
    "take": lambda f, x, y, k: f(x, [0, 1], axis=k),
    "take rows": lambda f, x, y, k: f(x, [[0, 1], [1, 0]], axis=k),
    "gradient": lambda f, x, y, k: f(x, axis=k),
    "round": lambda f, x, y, k: f(x, 1),
    "add.reduceat": lambda f, x, y, k: f(x, [0, 1], axis=k),
    "packbits": lambda f, x, y, k: f(x > 0, axis=k),
    "interp": lambda f, x, y, k: f(x, like(x, POINTS), like(x, POINTS)),
    "searchsorted": lambda f, x, y, k: f(like(x, POINTS), x),
    "digitize": lambda f, x, y, k: f(x, like(x, POINTS)),
    "einsum": lambda f, x, y, k: f("i...j,k...j->ki...", x, y),
    "einsum of three": lambda f, x, y, k: f("i...j,k...j,j...l->li...k", x, y, x),
    "einsum optimized": lambda f, x, y, k: f("i...j,k...j->ki...", x, y, optimize=True),
    "einsum of three, optimized": lambda f, x, y, k: f(
        "i...j,k...j,j...l->li...k", x, y, x, optimize="greedy"
    ),
    "einsum in F order": lambda f, x, y, k: f("i...j,k...j->ki...", x, y, order="F"),
}


def like(x, values):
    """Return values as an array or a tensor, as x is one."""
    return torch.from_numpy(values) if isinstance(x, torch.Tensor) else values


@pytest.mark.parametrize("name", OF_ANY_ORDER)
def test_results_of_any_order_lie_as_numpys(name):
    path, call = name.split()[0], OF_ANY_ORDER[name]
    ours, numpys = implementation(f"numpy.{path}"), operator.attrgetter(path)(np)
    rng = np.random.default_rng(0)
    for _ in range(40):
        shape, k = (4,) * int(rng.integers(2, 5)), int(rng.integers(2))
        (x, mine), (y, other) = (drawn(rng, shape, broadcast=False) for _ in range(2))
        wanted = call(numpys, x, y, k)
        assert steps(call(ours, mine, other, k).numpy()) == steps(wanted), (x.strides, y.strides, k)


KEYS = {
    "rows": lambda i: ([1, 0],),
    "columns": lambda i: (slice(None), [1, 0]),
    "between": lambda i: (slice(None), i, slice(1, None)),
    "apart": lambda i: ([1, 0], slice(None), [0, 1]),
    "new": lambda i: (None, [[1, 0]], slice(None, None, 2)),
    "with a number": lambda i: (0, slice(None), i),
    "mask": lambda i: (slice(None), [True, False, True, True]),
}


@pytest.mark.parametrize("name", KEYS)
def test_items_of_any_order_lie_as_numpys(name):
    rng, key = np.random.default_rng(0), KEYS[name]
    for _ in range(40):
        x, mine = drawn(rng, (4,) * int(rng.integers(3, 5)), broadcast=False)
        index = np.array([[0, 1], [1, 0], [1, 1]])
        wanted = x[key(index)]
        found = item(mine, key(torch.from_numpy(index)))
        assert steps(found.numpy()) == steps(wanted), x.strides


def mixed(c, f, t, n):
    return (
        *(f % n, c + f, f + c, t + f, f + t, t + c, c == f, f + c[:, :1], np.maximum(t, f)),
        *(np.divmod(f, t)[1], np.add(c, f, order="C"), np.add(c, 1, order="F")),
        *(np.where(f > n, f, c), np.ones_like(f), np.full_like(t, n), t.copy(order="K")),
        *((c + f.copy()).ravel("K"), (f * n).reshape(-1, order="A"), (f.T + c.T).ravel("K")),
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_results_of_compiled_code_lie_as_numpys(backend, dynamic):
    jitted = npaccel.jit(mixed, backend=backend, default_float="float64", dynamic=dynamic)
    for sizes in [(3, 4, 5), (6, 5, 3)][: 1 + dynamic]:
        c = np.arange(1.0, 1 + np.prod(sizes)).reshape(sizes)
        f, t = np.asfortranarray(c) + 1, np.ascontiguousarray(c.transpose(1, 2, 0))
        given = c, f, t.transpose(2, 0, 1), 3
        for found, wanted in zip(jitted(*given), mixed(*given), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.strides == wanted.strides


def folded_and_moved(c, f, t):
    return (
        *(f.sum(0), t.max(1), f.sum(1, keepdims=True), np.any(f > 2, axis=1), np.ptp(t, axis=0)),
        *(np.add.reduce(f, (0, 2)), np.sum(c, axis=0, where=f > 3), np.add.accumulate(t, 1)),
        *(np.cumsum(f, 0), np.cumprod(t, 1), np.sort(f, 0), np.sort(t, 1), np.partition(f, 1, 0)),
        *(np.roll(f, 1, 0), np.roll(t, 1), np.concatenate([f, f]), np.concatenate([f, t], 1)),
    )


def test_folded_and_moved_arrays_lie_as_numpys():
    c = np.arange(60.0).reshape(3, 4, 5)
    t = np.ascontiguousarray(c.transpose(1, 2, 0)).transpose(2, 0, 1)
    given = c, np.asfortranarray(c), t
    jitted = npaccel.jit(folded_and_moved, backend="eager", default_float="float64", cache=False)
    results = zip(jitted(*given), folded_and_moved(*given), strict=True)
    for i, (found, wanted) in enumerate(results):
        np.testing.assert_array_equal(found, wanted)
        assert steps(found) == steps(wanted), i


def decomposed(a, f, k):
    s, h = f + 4 * np.eye(4), k @ k.transpose(0, 2, 1) + 1j
    return (
        *(np.linalg.inv(a), np.linalg.inv(f), np.linalg.inv(k), np.linalg.solve(a, k)),
        *(np.linalg.solve(f, f), np.linalg.cholesky(s), np.linalg.cholesky(s, upper=True)),
        *(np.linalg.eigh(s)[1], np.linalg.eigh(h)[1], np.linalg.eig(h)[1], np.linalg.pinv(a)),
        *(*np.linalg.qr(a[:3]), *np.linalg.qr(k), np.linalg.qr(a, "r"), np.linalg.qr(f, "raw")[0]),
        *(np.linalg.qr(a[:3], "raw")[0], *np.linalg.qr(a[:, :3], "complete")),
        *(*np.linalg.svd(f)[::2], *np.linalg.svd(a[:3], full_matrices=False)[::2]),
        *(*np.linalg.svd(s, hermitian=True)[::2], np.linalg.matrix_power(f, -2), f @ a),
    )


def test_results_of_linear_algebra_lie_as_numpys():
    a, *k = np.random.default_rng(0).normal(size=(3, 4, 4))
    given = a, np.asfortranarray(a @ a.T), np.stack(k)
    jitted = npaccel.jit(decomposed, backend="eager", default_float="float64", cache=False)
    for i, (found, wanted) in enumerate(zip(jitted(*given), decomposed(*given), strict=True)):
        assert found.strides == wanted.strides, i


def created(n):
    return (
        *(np.zeros((n, 4), order="F"), np.ones((2, n, 4), "f4", "F"), np.eye(n, 4, order="F")),
        *(np.full((n, 4), 2.0, order="F"), np.full((n, 4), [1, 2, 3, 4], order="F")),
        *(np.empty((n, 4), int, "F") * 0, np.zeros((n, 4), order="F").ravel("F")),
        np.block([[np.zeros((n, 4), order="F")], [np.ones((1, 4))]]),
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_new_arrays_of_an_order_lie_as_numpys(backend, dynamic):
    jitted = npaccel.jit(created, backend=backend, default_float="float64", dynamic=dynamic)
    for n in (3, 5):
        for i, (found, wanted) in enumerate(zip(jitted(n), created(n), strict=True)):
            np.testing.assert_array_equal(found, wanted)
            assert found.strides == wanted.strides, i


def along_axes(c, f):
    return (
        *(np.apply_along_axis(np.sum, 0, f), np.apply_along_axis(np.cumsum, 0, f)),
        *(np.apply_along_axis(np.sort, 1, c), np.apply_along_axis(lambda r: r * 2, 0, f)),
        *(
            np.apply_along_axis(lambda r: r.sum(), 1, f),
            np.apply_along_axis(np.outer, 1, c, [1, 2]),
        ),
        *(np.vectorize(lambda t: t * 2)(f), *np.histogramdd(c.reshape(-1, 3))[:1], f.mean(2)),
    )


def test_results_of_functions_along_axes_lie_as_numpys():
    c = np.arange(60.0).reshape(3, 4, 5)
    given = c, np.asfortranarray(c)
    jitted = npaccel.jit(along_axes, backend="eager", default_float="float64", cache=False)
    for i, (found, wanted) in enumerate(zip(jitted(*given), along_axes(*given), strict=True)):
        np.testing.assert_array_equal(found, wanted)
        assert found.strides == wanted.strides, i
    assert not jitted.report().fallbacks


C3 = np.arange(60.0).reshape(3, 4, 5)
OF_C_ORDER = {
    "fft": lambda x: (np.fft.fft(x, axis=0), np.fft.ifft(x, axis=1), np.fft.rfft(x, axis=1)),
    "fft2": lambda x: (np.fft.fft2(x), np.fft.rfft2(x, axes=(0, 1)), np.fft.fftn(x)),
    "of another order": lambda x: (np.fft.fft(x.T, axis=0), np.fft.fft2(x.swapaxes(0, 1))),
    "nonzero": lambda x: (*np.nonzero(x > 7), *np.where(x[0] > 7), np.argwhere(x > 7)),
    "unravel_index": lambda x: np.unravel_index(np.arange(7), (3, 4)),
    "unpackbits": lambda x: np.unpackbits(x.astype(np.uint8), axis=0),
}


@pytest.mark.parametrize("name", OF_C_ORDER)
def test_results_of_arrays_in_order_lie_as_numpys(name):
    function = OF_C_ORDER[name]
    found = npaccel.jit(function, backend="eager", default_float="float64")(C3)
    wanted = function(C3)
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
        assert one.strides == other.strides
