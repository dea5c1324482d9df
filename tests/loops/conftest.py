"""Fixtures of several tests on loops."""

import numpy as np
import pytest
import torch

from npaccel._loops import _turn_parts


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
