"""Sizes that the data decide are checked before kernels rely on them."""

from types import SimpleNamespace

import numpy as np
import pytest
from torch._inductor.ir import AssertScalar

import npaccel
from npaccel._torch.inductor.cpp.size_checks import checked_first


def wrong_size(c, b):
    v1 = np.append(c, b)
    v2 = np.intersect1d(v1, [0, 1, 2])
    np.cumsum(v2, axis=0, out=v2)
    v3 = np.logical_or(2.0, c)
    v4 = b.any()
    v5 = np.unique(v1)
    v7 = (v2 / c) - v3
    c.ravel()[...] = -3
    return v4, v5, v7, b


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_nothing_is_written_before_a_size_is_checked():
    """The arrays had room for one number, and nine were written: the heap was damaged."""
    jitted = npaccel.jit(wrong_size, compile="now", default_float="float64")
    c, b = np.arange(1, 10).astype(np.float16), np.linspace(5.5, 9.5, 9)
    with pytest.raises(ValueError, match="broadcast"):
        jitted(c, b)
    np.testing.assert_array_equal(c, np.arange(1, 10))


class Node:
    """A node of a schedule that makes a buffer, or checks a size."""

    def __init__(self, made, needed, node=None):
        self.made, self.node = made, node
        self.unmet_dependencies = [SimpleNamespace(name=name) for name in needed]

    def get_buffer_names(self):
        return {self.made}


def test_checks_follow_what_they_need():
    check = AssertScalar.__new__(AssertScalar)
    known, late = Node("k", [], check), Node("l", ["a"], check)
    a, b, c = Node("a", []), Node("b", ["a"]), Node("c", ["b"])
    assert checked_first([a, b, c, late, known]) == [known, a, late, b, c]
    assert checked_first([a, b]) == [a, b]
