"""``default_float`` and ``narrow_inputs``: exactly what they say, per function."""

import threading

import numpy as np
import pytest
from comparing import assert_same

import npaccel

I8 = np.arange(1, 5)
F4 = I8.astype(np.float32)
F8 = I8.astype(np.float64)


@pytest.mark.parametrize(
    ("function", "x", "dtype"),
    [
        (lambda x: np.sin(x), I8, "f4"),
        (lambda x: np.sin(x), F8, "f8"),
        (lambda x: np.sin(x), I8.astype("i1"), "f2"),
        (lambda x: x / 2, I8, "f4"),
        (lambda x: x * 2.5, I8, "f4"),
        (lambda x: x * 2.5, F4, "f4"),
        (lambda x: x * 2.5, F8, "f8"),
        (lambda x: x.mean(), I8, "f4"),
        (lambda x: x.mean(), F8, "f8"),
        (lambda x: np.zeros(3) + x[0], I8, "f4"),
        (lambda x: np.zeros(3) + x[0], F8, "f8"),
        (lambda x: np.zeros(3, np.float64) + x[0], I8, "f8"),
        (lambda x: np.zeros(3, dtype=float) + x[0], I8, "f8"),
        (lambda x: np.linspace(0, 1, 5) * x[0], I8, "f4"),
        (lambda x: x.astype(float), I8, "f8"),
        (lambda x: x + np.float64(1), F4, "f8"),
        (lambda x: np.array([1.5, 2.5]) + x[0], I8, "f4"),
        (lambda x: x * 1j, I8, "c8"),
        (lambda x: x + I8, F4, "f4"),
        (lambda x: x.sum(), I8, "i8"),
        (lambda x: np.sqrt(2.0) * x, F4, "f4"),
    ],
)
def test_float32(function, x, dtype):
    got = npaccel.jit(function, backend="eager")(x)
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got, function(x), rtol=2e-3 if dtype == "f2" else 1e-6)
    exact = npaccel.jit(function, backend="eager", default_float="float64")(x)
    assert_same(exact, function(x))


def test_narrow_inputs(backend):
    def f(x, y):
        y += 1
        return x * 2

    jitted = npaccel.jit(f, narrow_inputs=True, backend=backend)
    y = np.zeros(3)
    for i in range(1, 4):
        got = jitted(np.ones(3), y)
        assert_same(got, np.full(3, 2, np.float32))
        assert_same(y, np.full(3, float(i)))
    assert any("cast to 32 bit" in note for note in jitted.report().notes)


def test_two_settings_in_two_threads():
    def f(x):
        return np.sin(x) / 3 + np.zeros(4)

    results = {}
    barrier = threading.Barrier(4)

    def work(name, width):
        jitted = npaccel.jit(f, default_float=width, backend="aot_eager")
        barrier.wait()
        results[name] = [jitted(I8 + i).dtype for i in range(3)]

    threads = [
        threading.Thread(target=work, args=(i, width))
        for i, width in enumerate(["float32", "float64"] * 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        assert results[i] == [np.dtype(["float32", "float64"][i % 2])] * 3
