"""Derivatives where there is a choice: the table of the guide, and JAX where it's the same."""

import numpy as np
import pytest

import npaccel

ONES = np.array([1.0, 2.0, 2.0, -2.0])


@pytest.fixture(autouse=True)
def interpreted():
    with npaccel.options(backend="eager"):
        yield


CASES = [
    (lambda x: np.sum(np.abs(x)), np.zeros(2), [0.0, 0.0]),
    (lambda x: np.sum(np.sign(x) + np.round(x) + np.floor(x)), np.array([0.3, 1.2]), [0.0, 0.0]),
    (lambda x: np.argmax(x) * np.sum(x), np.array([0.3, 1.2]), [1.0, 1.0]),
    (lambda x: np.sum(np.maximum(x, 2.0)), ONES, [0.0, 0.5, 0.5, 0.0]),
    (lambda x: np.sum(np.minimum(x, 2.0)), ONES, [1.0, 0.5, 0.5, 1.0]),
    (lambda x: np.max(x), ONES, [0.0, 0.5, 0.5, 0.0]),
    (lambda x: np.min(x, axis=0), -ONES, [0.0, 0.5, 0.5, 0.0]),
    (lambda x: np.sort(x)[0] + 3 * np.median(x), np.array([3.0, 1.0, 2.0]), [0.0, 1.0, 3.0]),
    (np.median, np.array([1.0, 2.0, 2.0, 3.0]), [0.0, 0.5, 0.5, 0.0]),
    (np.nanmedian, np.array([1.0, 2.0, np.nan, 2.0, 3.0]), [0.0, 0.5, 0.0, 0.5, 0.0]),
    (lambda x: np.quantile(x, 0.5), np.array([1.0, 2.0, 2.0, 3.0]), [0.0, 0.5, 0.5, 0.0]),
    (np.std, np.full(3, 2.0), [0.0, 0.0, 0.0]),
    (lambda x: np.sum(np.std(x, axis=1) + np.nanstd(x, axis=1)), np.ones((2, 1)), np.zeros((2, 1))),
    (lambda x: np.sum(np.clip(x, -1.0, 1.0)), np.array([-1.0, 0.0, 1.0, 2.0]), [0.5, 1, 0.5, 0]),
    (lambda x: np.sum(np.sqrt(x)), np.zeros(1), [np.inf]),
    (lambda x: np.linalg.norm(x), np.zeros(2), [np.nan, np.nan]),
    (lambda x: np.sum(np.where(x > 1, np.log(x), 0.0)), np.array([2.0, 0.0]), [0.5, np.nan]),
    (lambda x: np.sum(np.log(x[x > 1])), np.array([2.0, 0.0]), [0.5, 0.0]),
    (lambda x: np.sum(logarithms(x)), np.array([2.0, 0.0, -1.0]), [0.5, 1.0, 1.0]),
    (lambda x: np.sum(stored_twice(x)), np.array([2.0, 3.0]), [0.0, 1.0]),
]


def logarithms(x):
    y = x.copy()
    y[y > 1] = np.log(y[y > 1])
    return y


def stored_twice(x):
    y = np.zeros(3)
    y[[1, 1]] = x
    return y


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("function", "x", "expected"), CASES, ids=range(len(CASES)))
def test_that_the_choice_is_the_guides(function, x, expected):
    np.testing.assert_array_equal(npaccel.grad(function)(x), expected)


SAME_AS_JAX = [
    (lambda np, x: np.sum(np.clip(x, -1.0, 1.0)), np.array([-1.0, 0.0, 1.0, 2.0])),
    (lambda np, x: np.sum(np.maximum(x, 2.0)), ONES),
    (lambda np, x: np.max(x), ONES),
    (lambda np, x: np.sum(np.where(x > 1, np.log(x), 0.0)), np.array([2.0, 0.0])),
    (lambda np, x: np.sum(np.sort(x) * np.arange(4.0)), np.array([3.0, 1.0, 2.0, 0.5])),
    (lambda np, x: np.median(x), np.array([3.0, 1.0, 2.0, 0.5])),
    (lambda np, x: np.linalg.eigvalsh(np.outer(x, x) + np.diag(x))[0], np.array([3.0, 1.0, 2.0])),
    (lambda np, x: np.sum(np.linalg.cholesky(np.outer(x, x) + np.eye(3))), np.array([3.0, 1, 2])),
    (lambda np, x: np.sum(np.abs(np.fft.fft(x)) ** 3), np.array([3.0, 1.0, 2.0, 0.5])),
    (lambda np, x: np.prod(x) + np.std(x), np.array([3.0, 0.0, 2.0, 0.5])),
]


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "x"), SAME_AS_JAX, ids=range(len(SAME_AS_JAX)))
def test_that_the_choice_is_jaxs(function, x):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    wanted = jax.grad(lambda x: function(jax.numpy, x))(x)
    found = npaccel.grad(lambda x: function(np, x))(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    wanted = jax.hessian(lambda x: function(jax.numpy, x))(x)
    found = npaccel.hessian(lambda x: function(np, x))(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
