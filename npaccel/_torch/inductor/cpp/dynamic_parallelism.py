"""Share loops among threads by the sizes that they have, not by those of the code's hints.

Inductor decides by the sizes of the call that it compiles for whether threads share a loop, and
which. Code that is made for all sizes keeps to that: one that was compiled for 20 elements stays on
one thread with millions, and one that was compiled for a table of 1,000 rows gives one thread all
of the work where the table has one long row. Here such code looks at its sizes in each call. Too
little work for threads is done by one, and of several loops in each other the outermost one with
enough iterations is shared.

Read from torch/_inductor/codegen/cpp.py (CppKernel.decide_parallel_depth,
CppKernel.codegen_loops_impl, WorkSharing, LoopNest.mark_parallel, LoopLevel.lines) of 2.11 and
2.13.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import torch._inductor.config as inductor_config
from torch._inductor.codegen.cpp import (
    CppKernel,
    LoopLevel,
    LoopNest,
    OuterLoopFusedKernel,
    WorkSharing,
)
from torch._inductor.codegen.cpp_utils import cexpr_index
from torch._inductor.utils import DelayReplaceLine, sympy_product

from npaccel._torch.patching import Patch, patched

#: Minimum number of iterations a thread of a loop that is shared evenly enough.
_EVENLY = 8
#: Attributes of a kernel's loops, and of a loop, for what this module knows of them.
_WORK, _NEST, _CONDITIONS = "_npaccel_work", "_npaccel_nest", "_npaccel_conditions"
_PRAGMA = "#pragma omp parallel"
_CHOICE = """const int npaccel_shared = [&]() {{
    const int64_t counts[] = {{{counts}}};
    int most = 0;
    for (int i = 0; i < {depth}; ++i) {{
        if (counts[i] >= {evenly} * npaccel_parts) return i;
        if (counts[i] >= npaccel_parts && counts[i] % npaccel_parts == 0) return i;
        if (counts[i] > counts[most]) most = i;
    }}
    return most;
}}();"""


@contextlib.contextmanager
def loops_shared_by_size() -> Iterator[None]:
    """Generate code for all sizes meanwhile that decides in each call what threads share."""
    with patched(PATCHES):
        yield


def _decided(original: Any) -> Any:
    """Have threads share a loop whose size isn't known: all loops that they may, one of them."""

    def decide_parallel_depth(kernel: Any, most: Any, threads: int) -> Any:
        found = original(kernel, most, threads)
        if threads == 1 or not most.parallel_depth or not _has_open_sizes(kernel.call_ranges):
            return found
        least = inductor_config.cpp.min_chunk_size * threads
        setattr(kernel, _WORK, f"{_code(sympy_product(kernel.ranges))} >= {least}L")
        reduces = kernel.is_reduction and kernel.reduction_depth <= most.start_depth
        depth = max(1, found.parallel_depth) if reduces else most.parallel_depth
        return dataclasses.replace(found, parallel_depth=depth)

    return decide_parallel_depth


def _code(size: Any) -> str:
    return str(cexpr_index(size))  # type: ignore[no-untyped-call]


def _has_open_sizes(sizes: Sequence[Any]) -> bool:
    return any(size.free_symbols for size in sizes)


def _noting_the_kernel(original: Any) -> Any:
    def codegen_loops_impl(kernel: Any, loop_nest: Any, code: Any, worksharing: Any) -> None:
        is_fused = isinstance(loop_nest.kernel, OuterLoopFusedKernel)
        inner = [nest.get_kernel() for nest in loop_nest.kernel.inner] if is_fused else []
        worksharing.npaccel_kernels = inner or [kernel]
        original(kernel, loop_nest, code, worksharing)

    return codegen_loops_impl


def _on_condition(original: Any) -> Any:
    """Begin threads only where one of the loops has work for them."""

    def parallel(sharing: Any, threads: int) -> None:
        begins = not sharing.in_parallel or threads != sharing.num_threads
        place = len(sharing.code._lines)
        original(sharing, threads)
        if begins:
            lines = sharing.code._lines
            while _PRAGMA not in lines[place]:
                place += 1
            conditions: list[str] = []
            setattr(sharing, _CONDITIONS, conditions)

            def pragma() -> str:
                wanted = " || ".join(dict.fromkeys(conditions))
                return _PRAGMA if "" in conditions else f"{_PRAGMA} if({wanted})"

            lines[place] = DelayReplaceLine(_PRAGMA, pragma, lines[place])
        for kernel in sharing.npaccel_kernels:
            getattr(sharing, _CONDITIONS).append(getattr(kernel, _WORK, ""))

    return parallel


def _marked(original: Any) -> Any:
    def mark_parallel(nest: Any, depth: Any) -> None:
        original(nest, depth)
        loops = nest.loops[depth.start_depth : depth.start_depth + depth.parallel_depth]
        is_plain = all(loop.steps.is_number and loop.offset == 0 for loop in loops)
        open_ = _has_open_sizes([loop.size for loop in loops])
        if len(loops) > 1 and open_ and is_plain and not loops[0].is_reduction:
            for place, loop in enumerate(loops):
                loop.collapsed = False
                setattr(loop, _NEST, (loops, place))

    return mark_parallel


def _written(original: Any) -> Any:
    def lines(loop: Any) -> Any:
        loops, place = getattr(loop, _NEST, ((), 0))
        found = original(loop)
        if not loops or found is None:
            return found
        size, step = _code(loop.size), int(loop.steps)
        count = f"npaccel_count{place}"
        is_shared = f"npaccel_shared == {place}"
        begin = f"{is_shared} ? {step}L*({count}*npaccel_part/npaccel_parts) : 0L"
        end = f"std::min<int64_t>({size}, {step}L*({count}*(npaccel_part + 1L)/npaccel_parts))"
        header = (
            f"for(int64_t {loop.var}={begin}; {loop.var}<({is_shared} ? {end} : {size}); "
            f"{loop.var}+={step}L)"
        )
        return [*(_shares(loops) if place == 0 else found[:-1]), header]

    return lines


def _shares(loops: Sequence[Any]) -> list[str]:
    """Return what is written before the outermost loop."""
    counts = [f"npaccel_count{place}" for place in range(len(loops))]
    choice = _CHOICE.format(counts=", ".join(counts), depth=len(loops), evenly=_EVENLY)
    steps = [int(loop.steps) for loop in loops]
    turns = (
        f"const int64_t {count} = ({_code(loop.size)} + {step - 1}L) / {step}L;"
        for count, loop, step in zip(counts, loops, steps, strict=True)
    )
    return [
        "const int64_t npaccel_parts = omp_get_num_threads();",
        *turns,
        *choice.splitlines(),
        "#pragma omp for",
        "for(int64_t npaccel_part=0L; npaccel_part<npaccel_parts; ++npaccel_part)",
    ]


_WHY = "Inductor decides on threads by the sizes of the call that it compiles for"
_TEST = "tests/torch_layer/inductor/test_shared_loops.py"

PATCHES = (
    Patch(CppKernel, "decide_parallel_depth", _decided, _WHY, _TEST),
    Patch(CppKernel, "codegen_loops_impl", _noting_the_kernel, _WHY, _TEST),
    Patch(WorkSharing, "parallel", _on_condition, _WHY, _TEST),
    Patch(LoopNest, "mark_parallel", _marked, _WHY, _TEST),
    Patch(LoopLevel, "lines", _written, _WHY, _TEST),
)

__all__ = ["loops_shared_by_size"]
