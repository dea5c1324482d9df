"""NumPy's kernels on parts of arrays: the same elements, in several threads."""

import threading

import numpy as np
import pytest
import torch

from npaccel._numpy.host import blocked

RNG = np.random.default_rng(0)
SIZE = 3 * 1024 + 5


@pytest.fixture
def threads(monkeypatch):
    """Let torch have three threads, and a part few elements; return the numbers of parts."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    ran = []
    slices = blocked._slices

    def noted(size, elements, *_):
        found = slices(size, elements, 1024)
        ran.append(len(found))
        return found

    monkeypatch.setattr(blocked, "_slices", noted)
    yield ran
    torch.set_num_threads(before)


def layouts():
    flat = RNG.normal(size=SIZE)
    flat[[0, 1, -1]] = np.nan, -0.0, np.inf
    rows = flat[: 3 * 1000].reshape(3, -1)
    return {
        "flat": flat,
        "reversed": flat[::-1],
        "strided": np.repeat(flat, 2)[::2],
        "rows": rows,
        "columns": rows.T,
        "cube": rows.reshape(3, 50, -1).swapaxes(0, 2),
        "narrow": flat.astype("f"),
        "integers": (flat[2:-1] * 100).astype("q"),
    }


@pytest.mark.parametrize("name", layouts())
def test_elements(name, threads):
    x = layouts()[name]
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    found = blocked.elementwise(np.tanh, [x], dtype)
    assert threads == [x.size // 1024]
    np.testing.assert_array_equal(found, np.tanh(x), strict=True)
    assert found.flags.c_contiguous
    if dtype == x.dtype:
        with np.errstate(all="raise"):  # Nothing is raised in any thread.
            found = blocked.elementwise(np.divide, [x, x[::-1]], dtype)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, np.divide(x, x[::-1]), strict=True)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (7,)])
def test_few_elements(shape, threads):
    x = np.ones(shape)
    np.testing.assert_array_equal(
        blocked.elementwise(np.cbrt, [x], x.dtype), np.asarray(np.cbrt(x)), strict=True
    )
    assert threads == [1]


@pytest.mark.parametrize("name", ["rows", "columns", "cube", "flat", "reversed"])
@pytest.mark.parametrize("function", [np.argmax, np.argmin, np.nanargmax, np.count_nonzero])
def test_positions_along_an_axis(name, function, threads):
    x = layouts()[name][..., 2:]
    if function is np.count_nonzero:

        def function(x, axis, out=None):
            return np.sum(x > 0, axis, out=out)

    for axis in range(-x.ndim, x.ndim):
        found = blocked.along_axis(function, x, axis, np.int64)
        np.testing.assert_array_equal(found, np.asarray(function(x, axis)), strict=True)


STARTS = {
    "ascending": np.sort(RNG.integers(0, SIZE, 300)),
    "repeated": np.repeat(np.arange(0, SIZE, 700), 3),
    "not ascending": RNG.integers(0, SIZE, 300),
    "one": np.array([5]),
    "none": np.array([], "q"),
    "the last": np.array([0, 5, SIZE - 1, SIZE - 1]),
}


@pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("ufunc", [np.add, np.divide, np.maximum, np.multiply])
def test_slices(ufunc, starts, threads):
    x = layouts()["flat"]
    x[2:-2] = np.abs(x[2:-2]) % 1 + 0.5
    for array in (x, x[::-1], np.stack([x, x * 2]), np.stack([x, x * 2], -1)):
        axis = array.shape.index(SIZE)
        with np.errstate(all="ignore"):
            wanted = ufunc.reduceat(array, starts, axis)
        np.testing.assert_array_equal(
            blocked.reduceat(ufunc, array, starts, axis), wanted, strict=True
        )
    assert max(threads) == min(len(starts), 3) or len(starts) == 0


@pytest.mark.parametrize("starts", [[0, SIZE], [-1, 0, 1], [0, 1, -SIZE, 7]])
def test_starts_outside_raise_numpys_error(starts, threads):
    with pytest.raises(IndexError, match="out-of-bounds in add.reduceat"):
        blocked.reduceat(np.add, np.ones(SIZE), np.array(starts), 0)


def test_counts_of_parts_are_added(threads):
    x = layouts()["flat"]
    found = blocked.added(lambda part: np.histogram(part, [-1, 0, 0.25, 9])[0], x)
    np.testing.assert_array_equal(found, np.histogram(x, [-1, 0, 0.25, 9])[0], strict=True)
    assert max(threads) == 3


def test_calls_in_many_threads_at_once(threads):
    x = layouts()["flat"]
    found = []

    def call():
        found.extend(blocked.elementwise(np.tanh, [x], x.dtype) for _ in range(5))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 20
    for one in found:
        np.testing.assert_array_equal(one, np.tanh(x))
