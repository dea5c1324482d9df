"""Leave loops over bytes to g++, which computes whole vectors of them.

Inductor takes as many bytes a step as there are floats in a vector, a quarter of one, through a
copy on the stack, and turns their truth values into 32-bit masks element by element: sums of bytes
take twenty times as long as in NumPy. g++ vectorizes the loop for single elements by itself where
it may: Inductor forbids it for all code, an attribute allows it for one function.

Read from torch/_inductor/codegen/cpp.py (TilingSelect, CppKernel.decide_parallel_depth,
CppKernelProxy.codegen_functions, KernelGroup.codegen_group, reduction_acc_type,
reduction_combine) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._inductor import cpp_builder
from torch._inductor.codegen import cpp
from torch._inductor.codegen.cpp import CppKernel, CppKernelProxy, KernelGroup, TilingSelect

from npaccel._torch.patching import Patch, patched

#: Minimum number of bytes for a thread: it computes 10,000 in a microsecond, and threads take
#: some to meet, or milliseconds where others run on their cores.
_CHUNK = 1 << 17
_BYTES = frozenset((torch.uint8, torch.int8, torch.bool))
_FUNCTION = 'extern "C" '
_VECTORIZED = '__attribute__((optimize("tree-loop-vectorize"))) '


@contextlib.contextmanager
def vectorized_by_gcc() -> Iterator[None]:
    """Leave the loops over bytes in kernels that are generated meanwhile to g++'s vectorizer."""
    if not cpp_builder.is_gcc():
        yield
        return
    found = _Found()
    with patched([patch.given(found) for patch in _OF_LOOPS]), patched(_OF_KERNELS):
        yield


class _Found:
    """Whether the loops that are generated are of bytes: the last one, and any of a function's."""

    def __init__(self) -> None:
        self.is_last = self.is_any = False

    def selected(self, original: Any) -> Any:
        """Make `select_tiling` leave a loop over bytes that lie side by side without vectors."""

        def select_tiling(tiling: Any, fn_list: Any, var_sizes_list: Any) -> Any:
            factors, indices, *rest = original(tiling, fn_list, var_sizes_list)
            axes = max(len(sizes[0]) + len(sizes[1]) for sizes in var_sizes_list)
            is_inner = len(indices) == 1 and indices[0] in (-1, axes - 1)
            self.is_last = is_inner and _is_of_bytes(fn_list)
            self.is_any |= self.is_last
            return ([], [], *rest) if self.is_last else (factors, indices, *rest)

        return select_tiling

    def marked(self, original: Any) -> Any:
        """Make `codegen_functions` mark a loop over bytes."""

        def codegen_functions(proxy: Any, *args: Any) -> None:
            self.is_last = False
            original(proxy, *args)
            proxy.npaccel_is_of_bytes = self.is_last

        return codegen_functions

    def written(self, original: Any) -> Any:
        """Make `codegen_group` allow vectors in a function with loops over bytes."""

        def codegen_group(group: Any, *args: Any, **kwargs: Any) -> str:
            code: str = original(group, *args, **kwargs)
            if self.is_any:
                code = code.replace(_FUNCTION, _FUNCTION + _VECTORIZED, 1)
            self.is_any = False
            return code

        return codegen_group


def _is_of_bytes(fn_list: Any) -> bool:
    """Whether a loop computes nothing but bytes, and reduces them to a truth value at most."""
    bodies = cpp._get_loop_body(fn_list)  # type: ignore[no-untyped-call]
    if not _BYTES.issuperset(cpp._get_dtype_from_loopbodies(bodies)):  # type: ignore[no-untyped-call]
        return False
    return reductions_of(bodies) <= {"any"}


def reductions_of(bodies: Any) -> set[str]:
    """Return the kinds of reductions in the bodies of a loop."""
    blocks = [block for body in bodies for block in (body.root_block, *body.subblocks.values())]
    nodes = [node for block in blocks for node in block.graph.nodes]
    return {node.args[3] for node in nodes if node.target == "reduction"}


def _decided(original: Any) -> Any:
    def decide_parallel_depth(kernel: Any, most: Any, threads: int) -> Any:
        if not getattr(kernel, "npaccel_is_of_bytes", False):
            return original(kernel, most, threads)
        with inductor_config.patch({"cpp.min_chunk_size": _CHUNK}):
            found = original(kernel, most, threads)
        # The innermost loop stays a loop: threads that share two at once compute no vectors.
        inner = len(kernel.call_ranges) - 1 - found.start_depth
        depth = min(found.parallel_depth, max(1, inner))
        return dataclasses.replace(found, parallel_depth=depth)

    return decide_parallel_depth


def _kind_of(original: Any) -> Any:
    def reduction_acc_type(reduction_type: Any, dtype: torch.dtype) -> Any:
        # g++ 12 vectorizes no loop that reduces to a bool.
        return "uint8_t" if reduction_type == "any" else original(reduction_type, dtype)

    return reduction_acc_type


def _combined(original: Any) -> Any:
    def reduction_combine(
        reduction_type: Any, var: Any, next_value: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if reduction_type == "any":
            return f"{var} | {next_value}"
        return original(reduction_type, var, next_value, *args, **kwargs)

    return reduction_combine


_WHY = "g++ vectorizes loops over bytes better than Inductor"
_TEST = "tests/torch_layer/inductor/test_byte_loops.py"
_OF_LOOPS = (
    Patch(TilingSelect, "select_tiling", _Found.selected, _WHY, _TEST),
    Patch(CppKernelProxy, "codegen_functions", _Found.marked, _WHY, _TEST),
    Patch(KernelGroup, "codegen_group", _Found.written, _WHY, _TEST),
)
_OF_KERNELS = (
    Patch(CppKernel, "decide_parallel_depth", _decided, _WHY, _TEST),
    Patch(cpp, "reduction_acc_type", _kind_of, _WHY, _TEST),
    Patch(cpp, "reduction_combine", _combined, _WHY, _TEST),
)

PATCHES = (*_OF_LOOPS, *_OF_KERNELS)

__all__ = ["reductions_of", "vectorized_by_gcc"]
