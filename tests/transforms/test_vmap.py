"""Batches of functions."""

import numpy as np
import pytest

import npaccel

ROWS = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


@pytest.fixture(autouse=True)
def use_backend(backend):
    with npaccel.options(backend=backend):
        yield


def element(x, y):
    z = np.where(x > 0, x, -2 * x)
    z[z > y] = y
    z[1:] += x[:-1] * y
    return z, np.sum(z)


def test_that_a_batch_is_the_elements_one_by_one():
    scales = np.array([1.0, 2.0, 0.5])
    found, sums = npaccel.vmap(element)(ROWS, scales)
    for i in range(3):
        z, total = element(ROWS[i].copy(), scales[i])
        np.testing.assert_allclose(found[i], z)
        assert sums[i] == pytest.approx(total)


def test_axes():
    found, sums = npaccel.vmap(element, in_axes=(1, None), out_axes=(-1, 0))(ROWS, 1.5)
    assert found.shape == (3, 4)
    np.testing.assert_allclose(found[:, 2], element(ROWS[:, 2].copy(), 1.5)[0])
    assert sums.shape == (4,)
    nested = npaccel.vmap(lambda d: d["a"] * d["b"], in_axes=({"a": 1, "b": None},))
    assert np.array_equal(nested({"a": ROWS, "b": 2.0}), 2 * ROWS.T)
    both = npaccel.vmap(npaccel.vmap(lambda a, b: a * b, (None, 0)), (0, None))
    np.testing.assert_allclose(both(ROWS[0], ROWS[1]), np.outer(ROWS[0], ROWS[1]))
    same = npaccel.vmap(lambda x: x + 1, in_axes=None, axis_size=2)
    assert np.array_equal(same(ROWS), np.stack([ROWS + 1] * 2))
    assert npaccel.vmap(np.sum)(np.zeros((0, 3))).shape == (0,)


def test_linear_algebra_and_fourier_transforms():
    a = np.eye(4) + 0.1 * np.arange(48.0).reshape(3, 4, 4) % 7
    found = npaccel.vmap(lambda a, b: np.linalg.solve(a, b))(a, ROWS)
    np.testing.assert_allclose(found, [np.linalg.solve(x, b) for x, b in zip(a, ROWS, strict=True)])
    values = npaccel.vmap(lambda a: np.linalg.eigvalsh(a @ a.T))(a)
    np.testing.assert_allclose(values, [np.linalg.eigvalsh(x @ x.T) for x in a])
    np.testing.assert_allclose(npaccel.vmap(np.fft.fft)(ROWS), np.fft.fft(ROWS))


def test_that_arguments_have_to_fit():
    double = lambda x: x * 2  # noqa: E731
    with pytest.raises(ValueError, match=r"in_axes has 2 for an argument that is float64 of shape"):
        npaccel.vmap(double, in_axes=2)(ROWS)
    with pytest.raises(ValueError, match=r"in_axes has 0 for an argument that is of type float"):
        npaccel.vmap(double)(2.0)
    with pytest.raises(ValueError, match=r"axes of 3 and of 4 elements can't be one batch"):
        npaccel.vmap(lambda x, y: x)(ROWS, ROWS.T)
    with pytest.raises(ValueError, match=r"in_axes names no axis; pass axis_size"):
        npaccel.vmap(double, in_axes=None)(ROWS)
    with pytest.raises(ValueError, match=r"in_axes is \(0, 0, 0\), which doesn't have"):
        npaccel.vmap(lambda x, y: x, in_axes=(0, 0, 0))(ROWS, ROWS)
    generator = np.random.default_rng(1)
    with pytest.raises(npaccel.NotCompiledError, match=r"all elements of the batch would get the"):
        npaccel.vmap(lambda x: x + generator.normal(size=4))(ROWS)
