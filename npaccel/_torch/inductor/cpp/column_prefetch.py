"""Ask for the rows ahead where a kernel goes down columns of an array.

A reduction over the first axis reads a vector's columns, all rows of them, and then the next
columns. Rows of some kilobytes lie on a page each, where the processor foresees nothing. Cheap
loops hide that, as many rows fit into the window of instructions; loops with divisions or calls
waited for memory two thirds of their time.

Read from torch/_inductor/codegen/cpp.py (CppVecKernel.load) of 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch._inductor.codegen.cpp import CppTile2DKernel, CppVecKernel, cexpr_index
from torch._inductor.utils import DeferredLineBase
from torch._inductor.virtualized import V

from npaccel._torch.patching import Patch, patched

#: Bytes from row to row from which on the processor foresees no next one.
_FAR = 2048
#: Rows that are asked for ahead.
_AHEAD = 5
_CACHE_LINE = 64
#: A loop of as many instructions, roughly, hides the wait for memory by itself.
_CHEAP = 24
_COSTS = {
    "sqrt": 10, "/": 10, "exp": 40, "log": 40, "sin": 40, "cos": 40, "tan": 40, "pow": 60,
    "erf": 40, "atan": 40, "hypot": 40, "gamma": 60,
}  # fmt: skip


@contextlib.contextmanager
def rows_asked_for_ahead() -> Iterator[None]:
    """Generate kernels meanwhile that prefetch what they read down columns."""
    with patched(PATCHES):
        yield


class _WhereCostly(DeferredLineBase):  # type: ignore[misc]
    """A line that is left out of kernels whose loop is cheap."""

    def __init__(self, kernel: Any, line: str) -> None:
        super().__init__(line)
        self.kernel = kernel

    def __call__(self) -> str | None:
        return self.line if _cost(self.kernel) > _CHEAP else None

    def _new_line(self, line: str) -> _WhereCostly:
        return _WhereCostly(self.kernel, line)


def _cost(kernel: Any) -> int:
    """Return about how many instructions compute with the numbers of one vector."""
    lines = kernel.compute.getvalue().splitlines()
    return sum(1 + sum(_COSTS[name] for name in _COSTS if name in line) for line in lines)


def _loading(original: Any) -> Any:
    def load(self: Any, name: str, index: Any) -> Any:
        found = original(self, name, index)
        inner = self.itervars[-1]
        vectors_along = self.itervars[self.tiling_idx]
        in_tiles = isinstance(self, CppTile2DKernel)
        if in_tiles or vectors_along is inner or self.tail_size or self._load_mask:
            return found
        place, dtype = self.rename_indexing(index), V.graph.get_dtype(name)
        to_next = self._try_get_const_stride(place, inner)
        is_whole = self._try_get_const_stride(place, vectors_along) == 1
        if not is_whole or not isinstance(to_next, sympy.Integer):
            return found
        if abs(int(to_next)) * dtype.itemsize < _FAR:
            return found
        asked = self.__dict__.setdefault("_npaccel_asked_for", set())
        if (name, to_next) not in asked:  # rows above and below are those of other iterations
            asked.add((name, to_next))
            start = self.args.input(name)
            for line in range(0, self.tiling_factor * dtype.itemsize, _CACHE_LINE):
                ahead = place + _AHEAD * to_next + line // dtype.itemsize
                where = f"{start} + {cexpr_index(ahead)}"  # type: ignore[no-untyped-call]
                self.loads.writeline(_WhereCostly(self, f"__builtin_prefetch({where});"))
        return found

    return load


PATCHES = (
    Patch(
        CppVecKernel, "load", _loading,
        "kernels wait for memory where they go down columns",
        "tests/torch_layer/inductor/test_column_prefetch.py",
    ),
)  # fmt: skip

__all__ = ["rows_asked_for_ahead"]
