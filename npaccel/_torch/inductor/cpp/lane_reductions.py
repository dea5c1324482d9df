"""Reduce the lanes of a vector by halves at the end of a reduction.

ATen reduces them one after another for every type but float32: a lane is stored,
loaded as a vector and reduced, which takes some 100 cycles for eight float64, as
long as a row of 500 elements. What stands here moves half of the lanes beside the
other half, three to six times.

Read from torch/_inductor/codegen/cpp.py (CppVecKernel.reduction) and
ATen/cpu/vec/functional_base.h (vec_reduce_all) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from torch._inductor.codegen.cpp import CppVecKernel
from torch._inductor.cpu_vec_isa import VecAVX2, VecAVX512, pick_vec_isa

from npaccel._torch.patching import Patch, patched

#: Call of ATen, up to the arguments: the type of the elements, and the number of vectors.
_ATEN = re.compile(r"at::vec::vec_reduce_all<(double|int(?:8|16|32|64)_t|uint8_t), (\d+)>\(")


@contextlib.contextmanager
def lanes_reduced_by_halves() -> Iterator[None]:
    """Generate reductions meanwhile that end by halves of a vector."""
    if not isinstance(pick_vec_isa(), (VecAVX2, VecAVX512)):
        yield
        return
    with patched(PATCHES):
        yield


def _reduction(original: Any) -> Any:
    def reduction(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        lines = self.reduction_suffix._lines
        lines[:] = [_by_halves(line) if isinstance(line, str) else line for line in lines]
        return result

    return reduction


def _by_halves(line: str) -> str:
    """Put a reduction by halves in the place of ATen's, in a line of a kernel."""
    return _ATEN.sub(r"npaccel::lanes_reduced<\1, \2>(", line)


PATCHES = (
    Patch(
        CppVecKernel, "reduction", _reduction,
        "ATen reduces the lanes of a vector one by one",
        "tests/torch_layer/inductor/test_lane_reductions.py",
    ),
)  # fmt: skip

__all__ = ["lanes_reduced_by_halves"]
