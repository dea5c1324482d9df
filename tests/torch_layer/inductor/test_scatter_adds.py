"""Scatters that add all they have to one element: the derivative of taking it several times."""

import numpy as np
import pytest
import torch

import npaccel


def of_constants(c, w):
    return np.sum(c[[0] * len(w)] * w)


def of_an_index(c, i, w):
    return np.sum(c[i] * w)


def of_columns(c, w):
    return np.sum(c[:, [0] * w.shape[1]] * w)


@pytest.mark.inductor
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_gradients_of_one_element_taken_often(dtype, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        rng = np.random.default_rng(0)
        one = np.ones(1, dtype)
        for size in (2, 9, 16, 37, 5000):
            w, rows = rng.random(size).astype(dtype), rng.random((5, size)).astype(dtype)
            close = {"rtol": 1e-12 if dtype == "d" else 1e-4}
            found = npaccel.grad(npaccel.jit(of_constants, compile="now"))(one, w)
            np.testing.assert_allclose(found, [w.sum()], **close)
            index = np.zeros(size, int)
            found = npaccel.grad(npaccel.jit(of_an_index, compile="now"))(one, index, w)
            np.testing.assert_allclose(found, [w.sum()], **close)
            column = np.ones((5, 1), dtype)
            found = npaccel.grad(npaccel.jit(of_columns, compile="now"))(column, rows)
            np.testing.assert_allclose(found, rows.sum(axis=1)[:, None], **close)
    finally:
        torch.set_num_threads(before)
