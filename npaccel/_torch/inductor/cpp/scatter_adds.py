"""Add the lanes of a vector to one element, where a scatter's index is the same for all of them.

The derivative of ``a[[0, 0, 0]]`` of an array with one element is such a scatter. Inductor asks for
a vector of indices there, and has a number.

Read from torch/_inductor/codegen/cpp.py (CppVecKernel.store) of 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch._inductor import config as inductor_config
from torch._inductor.codegen.common import DeferredLine
from torch._inductor.codegen.cpp import DTYPE_TO_CPP, CppVecKernel, cexpr_index
from torch._inductor.virtualized import V

from npaccel._torch.patching import Patch, patched

_ADD = """[&]() {{
    std::array<{type}, {factor}> lanes;
    {value}.store(lanes.data(), {count});
    {type} sum = 0;
    for (int64_t lane = 0; lane < {count}; ++lane) sum += lanes[lane];
    atomic_add({to}, sum);
}}();""".replace("\n", " ")


@contextlib.contextmanager
def lanes_added_to_one() -> Iterator[None]:
    """Generate kernels meanwhile that add vectors to single elements."""
    with patched(PATCHES):
        yield


def _storing(original: Any) -> Any:
    def store(self: Any, name: str, index: Any, value: Any, mode: Any = None) -> Any:
        in_turn = not inductor_config.cpp.dynamic_threads and self.num_threads == 1
        place = self.rename_indexing(index)
        along = self.itervars[self.tiling_idx]
        if mode != "atomic_add" or in_turn or self._try_get_const_stride(place, along) != 0:
            return original(self, name, index, value, mode)
        number = DTYPE_TO_CPP[V.graph.get_dtype(name)]
        line = _ADD.format(
            type=number,
            factor=self.tiling_factor,
            count=self.tail_size or self.tiling_factor,
            value=value if value.is_vec else self.broadcast(value),
            to=f"{self.args.output(name)} + {cexpr_index(place)}",  # type: ignore[no-untyped-call]
        )
        self.stores.writeline(DeferredLine(name, line))
        return None

    return store


PATCHES = (
    Patch(
        CppVecKernel, "store", _storing,
        "a scatter to one element can't be compiled for several threads",
        "tests/torch_layer/inductor/test_scatter_adds.py",
    ),
)  # fmt: skip

__all__ = ["lanes_added_to_one"]
