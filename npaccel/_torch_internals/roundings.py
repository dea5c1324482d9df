"""Have kernels round to a dtype wherever the program does.

Inductor computes float16 in float32 and rounds when it stores, so that a square that overflows
may be finite again under the root, and drops a cast that another one follows.

Read from torch/_inductor/lowering.py (make_pointwise), torch/_inductor/codegen/cpp.py
(to_dtype, cache_dtype_convert) and torch/_inductor/fx_passes/joint_graph.py
(pointless_convert) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._inductor.codegen.cpp import CppKernel, CppVecKernel
from torch._inductor.fx_passes import joint_graph
from torch.utils._pytree import tree_leaves

_HALVES = (torch.float16, torch.bfloat16)
_CONVERT = torch.ops.prims.convert_element_type.default


@contextlib.contextmanager
def all_roundings(graph: torch.fx.Graph) -> Iterator[None]:
    """Let code that is generated meanwhile for a captured graph round as the graph does."""
    kernels = (CppKernel, CppVecKernel)
    before = [vars(kernel).get("cache_dtype_convert") for kernel in kernels]
    known: Any = joint_graph.patterns.patterns
    places = [key for key in known if _CONVERT in (key if isinstance(key, tuple) else (key,))]
    entries = {key: known[key] for key in places}
    for key in places:
        known[key] = [one for one in entries[key] if not _drops_casts(one)]
    for kernel, method in zip(kernels, before, strict=True):
        if method is not None:
            kernel.cache_dtype_convert = _nothing  # type: ignore[method-assign]
    try:
        with inductor_config.patch({"emulate_precision_casts": _is_rounded(graph)}):
            yield
    finally:
        known.update(entries)
        for kernel, method in zip(kernels, before, strict=True):
            if method is not None:
                kernel.cache_dtype_convert = method  # type: ignore[method-assign]


def _nothing(*args: Any) -> None:
    """Keep no number that wasn't rounded in the place of one that was."""


def _drops_casts(entry: Any) -> bool:
    handler = getattr(entry, "handler", None)
    return getattr(handler, "__name__", "") == "pointless_convert"


def _is_rounded(graph: torch.fx.Graph) -> bool:
    """Whether it costs little, or there are halves: on a GPU it prevents fused products."""
    values = [leaf for node in graph.nodes for leaf in tree_leaves(node.meta.get("example_value"))]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    is_cpu = all(tensor.device.type == "cpu" for tensor in tensors)
    return is_cpu or any(tensor.dtype in _HALVES for tensor in tensors)


__all__ = ["all_roundings"]
