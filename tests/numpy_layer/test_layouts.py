"""How results lie in memory, which strides, `ravel("K")` and stores under indices show."""

import numpy as np
import pytest
import torch
from row_checks import implementation

import npaccel

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


def drawn(rng, shape):
    """Draw an array of any layout, and a tensor that lies alike."""
    order, step = rng.permutation(len(shape)).astype(int), rng.integers(1, 3)
    wide = np.zeros([shape[axis] * step for axis in order])
    array = wide[(slice(None, None, step),) * len(shape)].transpose(np.argsort(order))
    if rng.integers(5) == 0:
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
