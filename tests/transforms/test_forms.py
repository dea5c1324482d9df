"""Derivatives of rows on views, masks, broadcast, empty and 0-d arrays and beside NaN, as JAX's."""

import numpy as np
import pytest

import npaccel

X = np.array([[0.3, 1.2, 0.7], [0.9, 0.4, 2.1], [1.6, 0.2, 0.5], [1.1, 0.8, 1.9]])
WITH_NAN = np.where(X == 0.4, np.nan, X)
#: Rows of all kinds, written with the module that they come from.
ROWS = {
    "amax": lambda m, x: m.max(x, axis=0),
    "clip": lambda m, x: m.clip(x, 0.35, 1.5),
    "convolve": lambda m, x: m.convolve(m.arange(15.0), m.ravel(x)),
    "correlate": lambda m, x: m.correlate(m.ravel(x), m.arange(3.0), "same"),
    "cumsum": lambda m, x: m.cumsum(x),
    "cumprod": lambda m, x: m.cumprod(x),
    "diff": lambda m, x: m.diff(m.ravel(x)) ** 2,
    "fft": lambda m, x: m.abs(m.fft.fft(m.atleast_1d(x), axis=0)) ** 2,
    "interp": lambda m, x: m.interp(x, np.arange(4.0), np.arange(4.0) ** 2),
    "logaddexp": lambda m, x: m.logaddexp(x, 0.5),
    "maximum": lambda m, x: m.maximum(x, 0.65),
    "mean": lambda m, x: m.mean(x) * 3.0,
    "nan_to_num": lambda m, x: m.nan_to_num(x) ** 2,
    "nansum": lambda m, x: m.nansum(x**2, axis=0),
    "norm": lambda m, x: m.linalg.norm(m.ravel(x)),
    "outer": lambda m, x: m.outer(x, x),
    "pad": lambda m, x: m.pad(m.ravel(x), (2, 1), constant_values=3.0) ** 2,
    "power": lambda m, x: x**2.5,
    "prod": lambda m, x: m.prod(x),
    "roll": lambda m, x: m.roll(m.ravel(x), 2) ** 3,
    "sinc": lambda m, x: m.sinc(x),
    "sort": lambda m, x: m.sort(m.ravel(x)),
    "sqrt": lambda m, x: m.sqrt(x),
    "std": lambda m, x: m.std(x),
    "tile": lambda m, x: m.tile(m.ravel(x), 3),
    "where": lambda m, x: m.where(x > 0.6, m.sin(x), x * x),
}
#: Arrays that rows are called with, made of X.
FORMS = {
    "0-d": lambda m, x: x[1, 1],
    "broadcast": lambda m, x: m.broadcast_to(x[:1], (4, 3)),
    "column": lambda m, x: x[:, 1],
    "empty": lambda m, x: x[:0],
    "mask": lambda m, x: x[X > 0.6],
    "places": lambda m, x: x[np.array([3, 0, 0])],
    "reversed": lambda m, x: x[::-1, ::-2],
    "transposed": lambda m, x: x.T,
    "whole": lambda m, x: x,
}
#: Pairs that aren't compared, and why.
NOT_COMPARED = {
    ("amax", "0-d"): "there is no axis to reduce",
    ("amax", "empty"): "NumPy refuses to reduce nothing",
    ("convolve", "empty"): "NumPy refuses to convolve nothing",
    ("correlate", "empty"): "NumPy refuses to correlate nothing",
    ("cumprod", "mask"): "torch's formula asks for the number of elements, which the data give",
    ("cumsum", "mask"): "torch's formula asks for the number of elements, which the data give",
    ("fft", "empty"): "NumPy refuses to transform nothing",
    ("fft", "mask"): "npaccel refuses to transform a number of elements that the data give",
    ("nansum", "0-d"): "there is no axis to reduce",
    ("std", "0-d"): "of one number it's always 0, and so is its derivative, which is NaN in JAX",
}


def weighted(module, row, form, x):
    found = ROWS[row](module, FORMS[form](module, x))
    return module.sum(found * np.cos(np.arange(found.size) * 1.7).reshape(found.shape))


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("row", ROWS)
def test_forms(row, form):
    if (row, form) in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[row, form])
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    own = npaccel.jit(lambda x: weighted(np, row, form, x), backend="eager", cache=False)
    gradient = npaccel.grad(own)
    theirs = jax.grad(lambda x: weighted(jax.numpy, row, form, x))
    for x in (X, WITH_NAN):
        # Where NaN is sorted or compared, which element counts is a choice of each library's.
        if x is WITH_NAN and row in ("amax", "maximum", "sort"):
            continue
        found, wanted = gradient(x), np.asarray(theirs(x))
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
        # By NaN itself a function that compares it has no derivative: any number will do.
        known = np.isfinite(wanted) & ~np.isnan(x)
        np.testing.assert_allclose(found[known], wanted[known], rtol=1e-6, atol=1e-12)
