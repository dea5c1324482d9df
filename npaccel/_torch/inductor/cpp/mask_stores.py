"""Store vectors of truth values a vector at a time.

``at::vec::VecMask::store``, which Inductor's kernels call, goes through the
elements one by one, four times: a comparison of a million float64 takes 10 ms,
of which NumPy needs 0.6. What stands here takes the lanes' bits in one loop that
the C++ compiler turns into two or three instructions.

Read from torch/_inductor/codegen/cpp.py (CppVecKernel._get_store_line) and
ATen/cpu/vec/vec_mask.h of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.codegen.cpp import CppVecKernel

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def fast_mask_stores() -> Iterator[None]:
    """Generate kernels meanwhile that store truth values fast."""
    with patched(PATCHES):
        yield


def _get_store_line(original: Any) -> Any:
    def store_line(
        self: Any, value: Any, var: str, index: Any, dtype: torch.dtype, accu_store: bool = False
    ) -> Any:
        code = original(self, value, var, index, dtype, accu_store)
        plain = f"{value}.store({var} + "
        lines = code._lines
        if dtype is not torch.bool or self.tail_size is not None or len(lines) != 1:
            return code
        if isinstance(lines[0], str) and lines[0].startswith(plain):
            # A vector of 8-bit lanes may hold more of them than an iteration of the loop computes.
            arguments = lines[0].removeprefix(f"{value}.store(")
            lines[0] = f"npaccel::store_mask({value}, {arguments}"
        return code

    return store_line


PATCHES = (
    Patch(
        CppVecKernel, "_get_store_line", _get_store_line,
        "ATen stores vectors of truth values one by one",
        "tests/torch_layer/inductor/test_bools.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "fast_mask_stores"]
