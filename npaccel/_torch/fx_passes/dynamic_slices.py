"""Order Inductor's code by all sizes that a slice needs, if they depend on the data.

In torch 2.11 the nodes that compute how long a slice is, or where it begins, name their bounds
only, and came before the code that gives the size of what is cut. Read from torch/_inductor/ir.py
of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from torch._inductor import ir

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def ordered_by_all_sizes() -> Iterator[None]:
    """Make both nodes name the symbols in all that they compute with."""
    with patched(PATCHES):
        yield


def _with_all_sizes(*names: str) -> Any:
    def wrapper(original: Any) -> Any:
        @functools.wraps(original)
        def get_free_symbol_uses(self: Any, unbacked_only: bool = False) -> Any:
            found = original(self, unbacked_only)
            parts = [getattr(self, name) for name in names]
            return found.union(*(ir.get_free_symbols(part, unbacked_only) for part in parts))

        return get_free_symbol_uses

    return wrapper


_WHY = "nodes of 2.11 come before the code that gives the sizes that they need"
_TEST = "tests/numpy_layer/test_data_dependent_sizes.py"

PATCHES = (
    Patch(
        ir.DynamicSliceSize, "get_free_symbol_uses", _with_all_sizes("size", "step"),
        _WHY, _TEST,
    ),
    Patch(
        ir.DynamicSelectStorageOffset, "get_free_symbol_uses",
        _with_all_sizes("size", "base_offset", "base_dim_stride"),
        _WHY, _TEST,
    ),
)  # fmt: skip

__all__ = ["PATCHES", "ordered_by_all_sizes"]
