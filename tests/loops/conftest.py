"""Fixtures of several tests on loops."""

import numpy as np
import pytest
import torch

from npaccel._loops.nests import parallel
from npaccel._loops.partition import blocks


@pytest.fixture(autouse=True)
def small_arrays(request, monkeypatch):
    """Have loops over small arrays compiled as array code, but where a test is about Numba's.

    Most tests of loops use small arrays to be quick, and are about what large ones go through.
    """
    if request.node.get_closest_marker("small_arrays") is None:
        monkeypatch.setattr(blocks, "may_be_simple", lambda *_: False)


@pytest.fixture
def three_threads(monkeypatch):
    """However little there is to do, three threads do it."""
    monkeypatch.setattr(parallel, "_WORTH", 0.0)
    monkeypatch.setattr(parallel, "_COPIED", 0.0)
    monkeypatch.setattr(parallel, "_LONG", np.inf)
    monkeypatch.setattr(parallel, "_UNEVEN", np.inf)
    monkeypatch.setattr(parallel, "_SHORT", 0.0)
    monkeypatch.setattr(parallel.Choice, "in_threads", lambda self: True)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def runs(monkeypatch):
    """Say how many parts each call was cut into."""
    found = []
    call = parallel.Runner.__call__

    def noted(self, values, inputs):
        ran = call(self, values, inputs)
        found.append(sum(one.in_thread for one in ran))
        return ran

    monkeypatch.setattr(parallel.Runner, "__call__", noted)
    return found
