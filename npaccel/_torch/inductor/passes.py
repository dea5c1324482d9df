"""Passes: all that npaccel changes while Inductor compiles a graph, in order."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch._inductor.config as inductor_config

from npaccel._torch.fx_passes import dynamic_slices
from npaccel._torch.fx_passes.early_checks import indices_checked_first
from npaccel._torch.fx_passes.merge_masks import with_shared_masks
from npaccel._torch.fx_passes.passes import GraphPass
from npaccel._torch.fx_passes.vector_products import with_vector_kernels
from npaccel._torch.inductor import (
    checked_files,
    cpp_compilers,
    direct_host_calls,
    dtype_propagation,
    exact_rounding,
    graph_inputs,
    kernel_files,
    linking,
    memoized_inner_fn,
    precompiled_headers,
    provenance,
    realize_expensive,
    reinplacing,
    relaxed_errors,
    signed_zeros,
    skip_attention_patterns,
    write_hazards,
)
from npaccel._torch.inductor.complex import copies, loads, lowering, stores, views
from npaccel._torch.inductor.cpp import (
    bounds_checks,
    byte_loops,
    column_prefetch,
    dynamic_parallelism,
    elementwise_functions,
    lane_reductions,
    mask_stores,
    narrow_lanes,
    scalar_reductions,
    scatter_adds,
    short_reductions,
    size_checks,
    vector_ops,
)
from npaccel._torch.inductor.kernels import (
    argreduce,
    masked_select,
    matvec,
    reduceat,
    registration,
)
from npaccel._torch.inductor.loops import scans
from npaccel._torch.patching import Patch

#: The pass that tells which inputs are pairs of real numbers.
SPLIT = "split_complex"
#: Over AOTAutograd's functional graph of ATen's operators, a `torch.fx.GraphModule`.
ON_ATEN = (
    GraphPass("merge_masks", "elements that one mask chooses are found once", with_shared_masks),
    GraphPass(
        "vector_products",
        "a transposed matrix is read row by row",
        with_vector_kernels,
    ),
    GraphPass(
        SPLIT,
        "neither C++ nor Triton code of Inductor's computes with complex numbers",
        lowering.split,
        suits_gradients=False,
    ),
    GraphPass(
        "early_checks",
        "what raises comes before what writes, so that nothing has to be undone",
        indices_checked_first,
        suits_gradients=False,
    ),
)


@dataclasses.dataclass(frozen=True)
class Pass:
    """A change of Inductor's for as long as it compiles a graph.

    Parameters
    ----------
    name : str
    why : str
        What it's for, in a line.
    begin : callable
        Returns a context manager.
    takes_folder : bool
        Whether `begin` takes the folder for the compiler's files.
    """

    name: str
    why: str
    begin: Callable[..., contextlib.AbstractContextManager[Any]]
    takes_folder: bool = False


def _options() -> Any:
    return inductor_config.patch(
        {
            "fx_graph_cache": False,
            "fx_graph_remote_cache": False,
            "autotune_local_cache": False,
            "size_asserts": False,
            "alignment_asserts": False,
            # Triton's quotients of float32 are off by up to two last digits, and its numbers below
            # the normal range are zeros, unless it's told otherwise.
            "eager_numerics.division_rounding": True,
            "eager_numerics.disable_ftz": True,
        }
    )


@contextlib.contextmanager
def _cache_folder(scratch: Path) -> Iterator[None]:
    name = "TORCHINDUCTOR_CACHE_DIR"
    before = os.environ.get(name)
    os.environ[name] = str(scratch)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


#: Passes in order: of two that replace the same function the later one is asked first.
PASSES = (
    Pass("cache_folder", "files go to a folder that only this user may write to",
         _cache_folder, True),
    Pass("options", "npaccel has caches and checks of its own; Triton divides exactly", _options),
    Pass(
        "compiler_flags",
        "integers wrap around, libraries can be unloaded, C++17 is quicker to compile",
        precompiled_headers.flags_of_kernels,
    ),
    Pass("headers", "precompiled headers are made again where they aren't right",
         precompiled_headers.headers_in, True),
    Pass("linking", "kernels name torch's libraries, which the linker needn't read",
         linking.linked_by_name, True),
    Pass("checked_files", "files that aren't whole are made again",
         checked_files.files_checked, True),
    Pass("cpp_compilers", "compilers end when the user interrupts",
         cpp_compilers.kernels_compiled_here),
    Pass("input_numbers", "the number of an argument is computed in the graph",
         graph_inputs.input_numbers_computed),
    Pass("input_sizes", "code names the sizes of its inputs, which it doesn't assert",
         graph_inputs.input_sizes_named),
    Pass("unused_inputs", "inputs that nothing reads are passed as well",
         graph_inputs.unused_inputs_kept),
    Pass("reinplacing", "a write to a slice stores the slice alone", reinplacing.writes_in_place),
    Pass("dynamic_slices", "sizes come before what is computed with them",
         dynamic_slices.ordered_by_all_sizes),
    Pass("realize_expensive", "sines and powers are computed once",
         realize_expensive.computed_once),
    Pass("elementwise_functions", "functions of single elements become part of loops",
         elementwise_functions.element_functions_inlined),
    Pass("size_checks", "sizes that the data decide are checked before what relies on them",
         size_checks.sizes_checked_early),
    Pass("write_hazards", "what a write changes is read before",
         write_hazards.reads_before_writes),
    Pass("signed_zeros", "-0.0 + 0.0 is 0.0", signed_zeros.zeros_added),
    Pass("complex_views", "views of complex numbers stay views", views.known_as_views),
    Pass("exact_rounding", "kernels round wherever the program does",
         exact_rounding.all_roundings),
    Pass("complex_copies", "Triton knows no complex numbers, torch copies them",
         copies.complex_copies_by_torch),
    Pass("kernel_files", "kernels of a graph share files, and so runs of the compiler",
         kernel_files.kernels_in_few_files),
    Pass("narrow_lanes", "integers of 8 bits keep to the lanes that are computed",
         narrow_lanes.narrow_as_written),
    Pass("lane_reductions", "a reduction ends with halves of a vector, not lane by lane",
         lane_reductions.lanes_reduced_by_halves),
    Pass("skip_attention_patterns", "half a second at the first graph, for what NumPy code hasn't",
         skip_attention_patterns.no_attention_looked_for),
    Pass("relaxed_errors", "what can't be decided about sizes is left as it is",
         relaxed_errors.no_needless_errors),
    Pass("mask_stores", "truth values are stored a vector at a time",
         mask_stores.fast_mask_stores),
    Pass("direct_host_calls", "NumPy's kernels are called without torch's dispatcher",
         direct_host_calls.host_kernels_called_directly),
    Pass("masked_select", "elements that a mask chooses are read by a kernel of npaccel's",
         masked_select.masks_read_by_kernels),
    Pass("argreduce", "positions of extremes in rows are found by a kernel of npaccel's",
         argreduce.row_extremes_by_kernels),
    Pass("reduceat", "slices are reduced by a kernel of npaccel's",
         reduceat.slices_reduced_by_kernels),
    Pass("matvec", "products of matrices and vectors use all threads",
         matvec.vectors_multiplied_by_kernels),
    Pass("scans", "a scan is a loop around the body's kernels", scans.scans_as_loops),
    Pass("vector_ops", "operations that Inductor does lane by lane are done by vectors",
         vector_ops.fast_vector_operations),
    Pass("scalar_reductions", "`nanmax` and `bitwise_and.reduce` are reductions",
         scalar_reductions.extremes_and_bits_reduced),
    Pass("dynamic_parallelism", "threads share loops by the sizes of the call",
         dynamic_parallelism.loops_shared_by_size),
    Pass("short_reductions", "short rows are reduced a vector of rows at a time",
         short_reductions.short_rows_side_by_side),
    Pass("byte_loops", "g++ vectorizes loops over bytes", byte_loops.vectorized_by_gcc),
    Pass("column_prefetch", "rows ahead are asked for where a loop goes down columns",
         column_prefetch.rows_asked_for_ahead),
    Pass("scatter_adds", "a scatter may add all to one element",
         scatter_adds.lanes_added_to_one),
    Pass("bounds_checks", "indices are checked before they're used",
         bounds_checks.checks_before_loads),
    Pass("dtype_rules", "the table of dtypes is made once",
         dtype_propagation.dtype_rules_made_once),
    Pass("dtypes_of_where", "`where` has the dtype of what it chooses from",
         dtype_propagation.where_has_dtypes_of_its_values),
    Pass("memoized_inner_fn", "an operand is traced once for each use of the whole",
         memoized_inner_fn.values_traced_once),
)  # fmt: skip

#: All that is replaced for as long as a graph is compiled.
PATCHES: tuple[Patch, ...] = (
    *provenance.PATCHES,
    *precompiled_headers.PATCHES,
    *linking.PATCHES,
    *checked_files.PATCHES,
    *cpp_compilers.PATCHES,
    *reinplacing.PATCHES,
    *dynamic_slices.PATCHES,
    *realize_expensive.PATCHES,
    *size_checks.PATCHES,
    *write_hazards.PATCHES,
    *signed_zeros.PATCHES,
    *views.PATCHES,
    *loads.PATCHES,
    *stores.PATCHES,
    *exact_rounding.PATCHES,
    *copies.PATCHES,
    *graph_inputs.PATCHES,
    *kernel_files.PATCHES,
    *narrow_lanes.PATCHES,
    *lane_reductions.PATCHES,
    *skip_attention_patterns.PATCHES,
    *skip_attention_patterns.PATCHES_WHILE_TRACED,
    *relaxed_errors.PATCHES,
    *mask_stores.PATCHES,
    *direct_host_calls.PATCHES,
    *registration.PATCHES,
    *vector_ops.PATCHES,
    *scalar_reductions.PATCHES,
    *scatter_adds.PATCHES,
    *short_reductions.PATCHES,
    *dynamic_parallelism.PATCHES,
    *byte_loops.PATCHES,
    *column_prefetch.PATCHES,
    *bounds_checks.PATCHES,
    *dtype_propagation.PATCHES,
    *memoized_inner_fn.PATCHES,
)


@contextlib.contextmanager
def configured(scratch: Path) -> Iterator[None]:
    """Set Inductor up for npaccel while one graph compiles.

    Parameters
    ----------
    scratch : Path
        The folder for the compiler's files, which nobody else can write to.
    """
    with contextlib.ExitStack() as stack:
        for one in PASSES:
            stack.enter_context(one.begin(scratch) if one.takes_folder else one.begin())
        yield


__all__ = ["ON_ATEN", "PASSES", "PATCHES", "SPLIT", "configured"]
