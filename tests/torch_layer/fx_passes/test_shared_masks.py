"""Arrays that are read by one mask are read at once, and stay what NumPy gives."""

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel._numpy.host import kernels as host

RANDOM = np.random.default_rng(0)
SIZE = 6000


def read_at_once(x, y, z, keep):
    return x[keep], y[keep], z[keep]


def mask_made_each_time(x, y, z, keep):
    return x[~keep], y[~keep], z[~keep]


def mask_of_a_condition(x, y, z, keep):
    return x[(x > 0) & keep], y[(x > 0) & keep] * 2, z[keep]


def sizes_are_equal(x, y, z, keep):
    x, y, z = x[keep], y[keep], z[keep]
    return x + y, np.where(x > 0, x, y), np.concatenate([x, y]), x.size - z.size


def compressed_and_extracted(x, y, z, keep):
    return np.compress(keep, x), np.extract(keep, y), z[keep]


def shrinking(x, y, z, keep):
    counts = np.zeros(x.size)
    index = np.arange(x.size)
    for n in range(1, 5):
        x = x * x - 0.5
        gone = np.abs(x) > 1
        counts[index[gone]] = n
        x, y, index = x[~gone], y[~gone], index[~gone]
    return counts, x, y


TOGETHER = [
    read_at_once,
    mask_made_each_time,
    mask_of_a_condition,
    sizes_are_equal,
    compressed_and_extracted,
    shrinking,
]


def other_masks(x, y, z, keep):
    return x[keep], y[~keep], z[x > 0], y[x > 0.0 - 1]


def mask_is_written_between(x, y, z, keep):
    keep = keep.copy()
    first = x[keep]
    keep[::3] = False
    return first, x[keep]


def array_is_written_between(x, y, z, keep):
    x = x.copy()
    first = x[keep]
    x[::2] = 7
    return first, x[keep]


def the_second_needs_the_first(x, y, z, keep):
    first = x[keep]
    return first, (y + first.size)[keep]


APART = [
    other_masks,
    mask_is_written_between,
    array_is_written_between,
    the_second_needs_the_first,
]


def masks(size=SIZE):
    runs = np.ones(size, dtype=bool)
    runs[::97] = False
    return {
        "random": RANDOM.random(size) > 0.5,
        "runs": runs,
        "none": np.zeros(size, dtype=bool),
        "all": np.ones(size, dtype=bool),
        "strided": np.repeat(runs, 2)[::2],
        "reversed": runs[::-1],
    }


def arrays(size=SIZE):
    x = RANDOM.normal(size=size)
    return x, x[::-1], RANDOM.integers(0, 9, size=2 * size)[::2]


@pytest.mark.sampled
@pytest.mark.parametrize("function", [*TOGETHER, *APART])
def test_answers_are_numpys(function):
    jitted = npaccel.jit(function, default_float="float64", loops="unroll", cache=False)
    for name, mask in masks().items():
        args = (*arrays(), mask)
        assert_same(jitted(*args), function(*args), name)
    assert not jitted.report().fallbacks
    assert ("from1" in jitted.source()) == (function in TOGETHER)


def test_sizes_that_may_change():
    jitted = npaccel.jit(mask_made_each_time, default_float="float64", dynamic=True, cache=False)
    for size in (SIZE, 2 * SIZE, 1, 0):
        args = (*arrays(size), masks(size)["runs"])
        assert_same(jitted(*args), mask_made_each_time(*args))
    assert "from1" in jitted.source()


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("kind", list(masks()))
def test_kernels_choose_as_numpy(dtype, kind):
    mask = masks()[kind]
    x = arrays()[0].astype(dtype)
    rows = np.stack([x, x[::-1]], axis=1)
    for values in ([x, x[::-1]], [x, rows], [rows]):
        found = host.chosen_each(list(map(torch.tensor, map(np.copy, values))), mask_of(mask), 0)
        assert_same([each.numpy() for each in found], [each[mask] for each in values])
        alone = host.chosen(torch.tensor(values[0].copy()), mask_of(mask), 0)
        assert_same(alone.numpy(), values[0][mask])


def mask_of(mask):
    return torch.tensor(mask.copy())


def test_masks_of_numbers_and_longer_ones():
    x = arrays(10)[0]
    for mask in (np.array([0, 2, -1, 0]), np.zeros(20, dtype=bool), np.arange(10) > 7.5):
        found = host.chosen(torch.tensor(x), torch.tensor(mask), 0)
        assert_same(found.numpy(), np.compress(mask, x))
