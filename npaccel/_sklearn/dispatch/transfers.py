"""The one place where the arrays of estimators cross between host and device, and are counted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch import conversion

#: Whether the CPU counts as a device of its own, so that tests see what would be copied to a GPU.
_pretending: ContextVar[bool] = ContextVar("npaccel_sklearn_pretending", default=False)


class Count:
    """Transfers between host and device.

    Attributes
    ----------
    copies_in, copies_out : int
        Arrays that were copied to the device and from it.
    bytes_in, bytes_out : int
    numbers : int
        Reads of single numbers, as by a test of convergence.
    """

    __slots__ = ("bytes_in", "bytes_out", "copies_in", "copies_out", "numbers")

    def __init__(self) -> None:
        self.copies_in = self.copies_out = self.bytes_in = self.bytes_out = self.numbers = 0

    def add(self, other: Count) -> None:
        """Add what another counted."""
        for name in Count.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


#: Counter of the transfers of the running call; None outside of any.
counting: ContextVar[Count | None] = ContextVar("npaccel_sklearn_count", default=None)


@contextlib.contextmanager
def cpu_as_device() -> Iterator[None]:
    """Count the CPU as a device in this thread until the block ends; for tests."""
    token = _pretending.set(True)
    try:
        yield
    finally:
        _pretending.reset(token)


def is_apart(device: torch.device) -> bool:
    """Whether a device has a memory of its own, so that getting there takes a copy."""
    return device.type != "cpu" or _pretending.get()


def to_device(array: np.ndarray[Any, Any] | np.generic, device: torch.device) -> torch.Tensor:
    """Return an array as a tensor on a device: on the CPU without a copy."""
    tensor: torch.Tensor = conversion.to_device(array, device)
    count = counting.get()
    if count is not None and is_apart(device):
        count.copies_in += 1
        count.bytes_in += array.nbytes
    return tensor


def to_host(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor as an array: from the CPU without a copy."""
    array: np.ndarray[Any, Any] = conversion.to_host(tensor)
    count = counting.get()
    if count is not None and is_apart(tensor.device):
        count.copies_out += 1
        count.bytes_out += array.nbytes
    return array


def number(tensor: torch.Tensor) -> Any:
    """Return the one number of a tensor as Python's: a test of convergence reads it."""
    return numbers(tensor.reshape(1))[0]


def numbers(*tensors: torch.Tensor) -> list[Any]:
    """Return the numbers of small tensors with one read of the device."""
    count = counting.get()
    device = tensors[0].device
    if count is not None and is_apart(device):
        count.numbers += 1
    flat = [tensor.reshape(-1) for tensor in tensors]
    return (flat[0] if len(flat) == 1 else torch.cat(flat)).tolist()
