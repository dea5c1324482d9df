"""Reduce short rows a vector of rows at a time.

Inductor lays vectors along the reduction where nothing else follows each other in memory. Of a
row of eight numbers there is no vector, and positions of extremes it compared number by number:
the nearest of eight centres took 36 ns a point, 4 with sixteen points side by side. Sums of rows
are as quick along the row.

Read from torch/_inductor/codegen/cpp.py (TilingSelect.select_tiling) of 2.13.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._inductor.codegen import cpp
from torch._inductor.codegen.cpp import TilingSelect
from torch._inductor.cpu_vec_isa import pick_vec_isa
from torch._inductor.virtualized import V

from npaccel._torch.inductor.cpp.byte_loops import reductions_of
from npaccel._torch.patching import Patch, patched

#: Longest rows, by reduction, that are quicker side by side than along.
_LONGEST = {"argmin": 128, "argmax": 128, "min": 15, "max": 15, "fmin": 15, "fmax": 15}


@contextlib.contextmanager
def short_rows_side_by_side() -> Iterator[None]:
    """Generate kernels meanwhile that reduce a vector of short rows at once."""
    with patched(PATCHES):
        yield


def _selecting(original: Any) -> Any:
    def select_tiling(tiling: Any, fn_list: Any, var_sizes_list: Any) -> Any:
        factors, indices, *rest = original(tiling, fn_list, var_sizes_list)
        group, reduced = max(var_sizes_list, key=lambda sizes: len(sizes[1]))
        along = (-1, len(group) + len(reduced) - 1)
        # Else rows lie side by side in memory already.
        if group and reduced and all(index in along for index in indices):
            lanes = pick_vec_isa().nelements(dtype=torch.float)
            rows = V.graph.sizevars.optimization_hint(group[-1], fallback=lanes)
            if rows >= lanes and _are_short(fn_list, reduced):
                return [lanes], [len(group) - 1], *rest
        return factors, indices, *rest

    return select_tiling


def _are_short(fn_list: Any, sizes: Any) -> bool:
    """Whether a loop reduces rows of known sizes that are quicker side by side."""
    if not all(isinstance(size, sympy.Integer) for size in sizes):
        return False
    bodies = cpp._get_loop_body(fn_list)  # type: ignore[no-untyped-call]
    dtypes = cpp._get_dtype_from_loopbodies(bodies)  # type: ignore[no-untyped-call]
    if any(dtype not in cpp.VECTORIZABLE_DTYPES for dtype in dtypes):
        return False
    length = math.prod(map(int, sizes))
    return any(length <= _LONGEST.get(kind, 0) for kind in reductions_of(bodies))


PATCHES = (
    Patch(
        TilingSelect, "select_tiling", _selecting,
        "Inductor reduces short rows number by number",
        "tests/torch_layer/inductor/test_short_reductions.py",
    ),
)  # fmt: skip

__all__ = ["short_rows_side_by_side"]
