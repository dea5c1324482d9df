"""Fixtures of several tests on loops."""

import numpy as np
import pytest
import torch

from npaccel._loops import _split_blocks, _turn_parts


@pytest.fixture(autouse=True)
def small_arrays(request, monkeypatch):
    """Have loops over small arrays compiled as array code, but where a test is about Numba's.

    Most tests of loops use small arrays to be quick, and are about what large ones go through.
    """
    if request.node.get_closest_marker("small_arrays") is None:
        monkeypatch.setattr(_split_blocks, "may_be_simple", lambda *_: False)


@pytest.fixture
def three_threads(monkeypatch):
    """However little there is to do, three threads do it."""
    monkeypatch.setattr(_turn_parts, "_WORTH", 0.0)
    monkeypatch.setattr(_turn_parts, "_COPIED", 0.0)
    monkeypatch.setattr(_turn_parts, "_LONG", np.inf)
    monkeypatch.setattr(_turn_parts, "_UNEVEN", np.inf)
    monkeypatch.setattr(_turn_parts, "_SHORT", 0.0)
    monkeypatch.setattr(_turn_parts.Choice, "in_threads", lambda self: True)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def runs(monkeypatch):
    """Say how many parts each call was cut into."""
    found = []
    call = _turn_parts.Runner.__call__

    def noted(self, values, inputs):
        ran = call(self, values, inputs)
        found.append(sum(one.in_thread for one in ran))
        return ran

    monkeypatch.setattr(_turn_parts.Runner, "__call__", noted)
    return found
