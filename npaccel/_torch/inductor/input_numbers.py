"""Have the number of an argument without dimensions computed like those of other arrays.

Torch takes ``b.item()`` of an argument for an input of its own, which kernels then read and nobody
passes. Integers stay one, as guards may depend on them.

Read from torch/_subclasses/fake_tensor.py (FakeTensorConverter.from_real_tensor) of 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorConverter

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def numbers_computed() -> Iterator[None]:
    """Make arguments of graphs meanwhile whose number isn't known before it's asked for."""
    with patched(PATCHES):
        yield


def _from_real_tensor(original: Any) -> Any:
    def from_real_tensor(self: Any, *args: Any, **kwargs: Any) -> Any:
        fake = original(self, *args, **kwargs)
        if fake.dtype == torch.float64:
            fake.item_memo = None
        return fake

    return from_real_tensor


PATCHES = (
    Patch(
        FakeTensorConverter, "from_real_tensor", _from_real_tensor,
        "the number of an argument without dimensions is missing in kernels",
        "tests/torch_layer/inductor/test_input_numbers.py",
    ),
)  # fmt: skip

__all__ = ["numbers_computed"]
