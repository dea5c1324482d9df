"""Views of complex arguments that are read before the argument is written keep what they read."""

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel._torch.inductor.complex import lowering as complex_pairs


def rest_and_largest(c, b):
    c[1] += b
    rest = np.delete(c, [0, -1])
    largest = np.argmax(c)
    c[9:-2:-2] = True
    return rest, largest


def rest_alone(c, b):
    c[1] += b
    rest = np.delete(c, [0, -1])
    c[0] = b
    return rest, c.reshape(-1)[1:3] * 1


def flattened_twice(c, b):
    c[0] += b
    some = c.T.reshape(-1)[[0, 5, 5]]
    c[1] = b
    return some, np.take(c, [0, 5, 9])


@pytest.mark.sampled
@pytest.mark.inductor
@pytest.mark.parametrize("as_pairs", [True, False])
@pytest.mark.parametrize("function", [rest_and_largest, rest_alone, flattened_twice])
def test_what_was_read_stays(function, as_pairs, monkeypatch):
    if not as_pairs:
        monkeypatch.setattr(complex_pairs, "split", lambda module: None)
    jitted = npaccel.jit(function, default_float="float64", dynamic=False, cache=False)
    mine, wanted = ((np.arange(42) * (1 + 1j)).astype("F").reshape(2, 3, 7) for _ in range(2))
    number = np.int32(3)
    assert_same(jitted(mine, number), function(wanted, number))
    assert_same(mine, wanted)
