"""Numbers of arguments without dimensions: `item()`, `float()`, in results and in arrays."""

import numpy as np
import pytest

import npaccel


def returned(b, x):
    return b.item(), b * 2


def computed_with(b, x):
    return b.item() + 1, x * float(b), x + float(b)


def written(b, x):
    y = x * float(b)
    b += 1
    return y, x + float(b), b.max().item()


@pytest.mark.inductor
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [returned, computed_with, written])
def test_numbers_of_arguments(function, dynamic):
    jitted = npaccel.jit(function, compile="now", dynamic=dynamic, strict=True)
    x = np.arange(3.0)
    for value in (1.5, -2.5, 1e300, np.nan, 0.0):
        found, expected = jitted(np.array(value), x), function(np.array(value), x)
        for ours, numpys in zip(found, expected, strict=True):
            assert type(ours) is type(numpys)
            np.testing.assert_array_equal(ours, numpys)
    assert len(jitted.report().graphs) == 1
