"""Short rows are reduced side by side: right for all lengths, layouts, ties and NaN."""

import numpy as np
import pytest
from sweep import FULL

import npaccel


def positions(x):
    return np.argmin(x, axis=1), np.argmax(x * 2 - 1, axis=-1)


def nearest(x):
    centres = x[:9, :2]
    return np.argmin(((x[:, None, :2] - centres) ** 2).sum(axis=2), axis=1)


def extremes(x):
    low, high = x.min(axis=1), (x + 1).max(axis=1)
    return low, high, x - low[:, None]


def of_numbers(x):
    return np.nanmax(x * 3, axis=1), np.nanmin(x + 1, axis=1)


def over_two_axes(x):
    parts = x[: len(x) // 4 * 4].reshape(-1, 4, x.shape[1])
    return parts.max(axis=(1, 2)), parts[:, :3, :3].min(axis=(1, 2))


PROGRAMS = (positions, nearest, extremes, of_numbers, over_two_axes)


def rows(count, length, dtype):
    rng = np.random.default_rng(count + length)
    x = rng.integers(-4, 5, (count, length)).astype(dtype)  # many are equal
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.1] = np.inf
        x[:, 0] = -0.0
    return x


@pytest.mark.inductor
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "uint8"] if FULL else ["float32", "int64"]
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_side_by_side_are_reduced_as_numpy_does(program, dtype):
    jitted = npaccel.jit(program, compile="now", dynamic=False)
    for count, length in ((203, 3), (17, 13), (100, 40)):
        x = rows(count, length, dtype)
        for given in (x, np.asfortranarray(x)[::-1]):
            results = jitted(given), program(given)
            found, expected = (one if isinstance(one, tuple) else (one,) for one in results)
            for ours, numpys in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours, numpys)
                assert np.asarray(ours).dtype == np.asarray(numpys).dtype


@pytest.mark.inductor
def test_any_number_of_rows():
    jitted = npaccel.jit(positions, compile="now", dynamic=True)
    for count in (40, 41, 5, 1, 16, 1003):
        x = rows(count, 9, "float64")
        for ours, numpys in zip(jitted(x), positions(x), strict=True):
            np.testing.assert_array_equal(ours, numpys)


@pytest.mark.inductor
def test_positions_of_short_rows_are_found_by_vectors():
    x = rows(1000, 9, "float32")
    jitted = npaccel.jit(nearest, compile="now", strict=True, dynamic=False)
    jitted(x)
    assert "argmin_combine_vec" in jitted.source()
