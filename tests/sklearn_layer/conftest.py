"""Fixtures of the tests of npaccel.sklearn."""

import pytest
import torch

import npaccel
from npaccel._sklearn import _crossings


@pytest.fixture
def as_device(monkeypatch):
    """Let the CPU be a device: copies are counted, and NumPy can't read a tensor unasked."""

    def refuse(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    with _crossings.cpu_as_device(), npaccel.options(backend="eager"):
        yield
