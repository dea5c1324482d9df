"""Fixtures of the tests of npaccel.sklearn."""

import os

import pytest
import torch

import npaccel
from npaccel._sklearn.dispatch import transfers


@pytest.fixture(autouse=True)
def one_thread_beside_others():
    """Beside another worker use one thread: small operators wait for threads that have no core."""
    before = torch.get_num_threads()
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def as_device(monkeypatch):
    """Let the CPU be a device: copies are counted, and NumPy can't read a tensor unasked."""

    def refuse(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    with transfers.cpu_as_device(), npaccel.options(backend="eager"):
        yield
