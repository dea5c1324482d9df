"""Functions with assertions: in a file of tests pytest would rewrite them."""

import numpy as np


def assertion(a, b, index):
    b += 1
    assert np.all(a > 0.5), "too small"
    b *= 2
    assert b.max() < 9
    return np.sqrt(b)


def assertion_after_a_break(a, b, index):
    b += 1
    print(end="")
    b += 1
    assert np.all(a > 0.5), "too small"
    return np.sqrt(b)


def assertion_that_is_caught(a, b, index):
    b += 1
    try:
        assert np.all(a > 0.5), "too small"
    except AssertionError as error:
        return str(error)
    return b * a.sum()
