"""Keep narrow integers narrow in Inductor's CPU kernels, and to the lanes that are computed.

A vector of 8-bit integers has more lanes than an iteration computes: the others are zeros,
or what was made of zeros, which a reduction took for elements, so that the least of any
array of bytes was 0. Single numbers become C's int in `sign`.

Read from torch/_inductor/codegen/cpp.py (CppVecKernel.reduction_combine_vec, CppOverrides.sign)
of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.codegen.common import CSEVariable
from torch._inductor.codegen.cpp import CppOverrides, CppVecKernel

from npaccel._torch.patching import Patch, patched

_BYTES = (torch.int8, torch.uint8)
_REDUCTIONS = ("min", "max", "sum", "prod", "xor_sum")
_INTEGERS = (*_BYTES, torch.int16, torch.uint16, torch.int32, torch.int64)


@contextlib.contextmanager
def narrow_as_written() -> Iterator[None]:
    """Generate kernels meanwhile that compute narrow integers as they are."""
    with patched(PATCHES):
        yield


def _combined(original: Any) -> Any:
    def reduction_combine_vec(self: Any, reduction_type: str, *args: Any, **kwargs: Any) -> Any:
        is_bytes = kwargs.get("src_dtype") in _BYTES
        if not is_bytes or reduction_type not in _REDUCTIONS or self.tail_size:
            return original(self, reduction_type, *args, **kwargs)
        self.tail_size = self.tiling_factor
        try:
            return original(self, reduction_type, *args, **kwargs)
        finally:
            self.tail_size = None

    return reduction_combine_vec


def _signed(original: Any) -> Any:
    def sign(x: Any) -> Any:
        if not isinstance(x, CSEVariable) or x.dtype not in _INTEGERS:
            return original(x)
        return f"decltype({x})(({x} > 0) - ({x} < 0))"

    return sign


_TEST = "tests/torch_layer/inductor/test_vector_ops.py"

PATCHES = (
    Patch(
        CppVecKernel, "reduction_combine_vec", _combined,
        "reductions of bytes take lanes that aren't computed for elements", _TEST,
    ),
    Patch(CppOverrides, "sign", _signed, "C makes ints of narrow integers in `sign`", _TEST),
)  # fmt: skip

__all__ = ["narrow_as_written"]
