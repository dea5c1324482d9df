"""Have kernels round to a dtype wherever the program does.

Inductor computes float16 in float32 and rounds when it stores, so that a square that overflows
may be finite again under the root, and drops a cast that another one follows. On a GPU it has
products and sums rounded together, so that `x * x - y * y` isn't 0 where both are equal, and
multiplies by the reciprocal of a number that is divided by: 49 / 49 isn't 1 then.

Read from torch/_inductor/lowering.py (make_pointwise, div_prim), torch/_inductor/codegen/cpp.py
(to_dtype, cache_dtype_convert), torch/_inductor/codegen/triton.py (enable_fp_fusion) and
torch/_inductor/fx_passes/joint_graph.py (pointless_convert) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._inductor import lowering
from torch._inductor.codegen.common import OpDecompositions
from torch._inductor.codegen.cpp import CppKernel
from torch._inductor.fx_passes import joint_graph
from torch._inductor.pattern_matcher import GraphPatternEntry

from npaccel._torch.patching import Patch, patched, registered
from npaccel.errors import UnsupportedTorchError

_CONVERT = torch.ops.prims.convert_element_type.default


@contextlib.contextmanager
def all_roundings() -> Iterator[None]:
    """Generate code meanwhile that rounds as the graph does."""
    known: Any = joint_graph.patterns.patterns
    places = [key for key in known if _CONVERT in (key if isinstance(key, tuple) else (key,))]
    kept = {key: [one for one in known[key] if not _drops_casts(one)] for key in places}
    if all(len(kept[key]) == len(known[key]) for key in places):
        raise UnsupportedTorchError(
            f"npaccel: torch {torch.__version__} has no pattern pointless_convert in "
            "torch/_inductor/fx_passes/joint_graph.py, which npaccel leaves out"
        )
    casts = inductor_config.patch({"emulate_precision_casts": True})
    with registered(known, kept), casts, patched(PATCHES):
        yield


def _nothing(original: Any) -> Any:
    """Keep no number that wasn't rounded in the place of one that was."""

    def cache_dtype_convert(*args: Any) -> None:
        pass

    return cache_dtype_convert


def _drops_casts(entry: Any) -> bool:
    if not isinstance(entry, GraphPatternEntry):
        return False
    return getattr(entry.handler, "__name__", "") == "pointless_convert"


def _divided_exactly(original: Any) -> Any:
    """Divide 1 by numbers as by others: torch 2.11 takes an integer, and Triton approximates."""

    def reciprocal(x: Any) -> Any:
        if x.dtype == torch.float32:
            return lowering.ops.truediv(lowering.ops.constant(1.0, torch.float32), x)
        return original(x)

    return reciprocal


def _divided_by_numbers(div_prim: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def one(a: Any, b: Any) -> Any:
        return lowering.ops.truediv(a, b)

    def quotient(a: Any, b: Any) -> Any:
        of_floats = a.get_dtype().is_floating_point and a.get_device().type != "cpu"
        return lowering.make_pointwise(one)(a, b) if of_floats else div_prim(a, b)

    return quotient


_ROUNDED_ONCE = "Inductor keeps the number that was cast in the place of the one that was rounded"
_RECIPROCALS = "Triton multiplies by the reciprocal of a number that is divided by"
_TEST = "tests/numpy_layer/test_inductor.py"

PATCHES = (
    Patch(CppKernel, "cache_dtype_convert", _nothing, _ROUNDED_ONCE, _TEST),
    Patch(lowering, "div_prim", _divided_by_numbers, _RECIPROCALS, _TEST),
    Patch(OpDecompositions, "reciprocal", _divided_exactly, _RECIPROCALS, _TEST),
)

__all__ = ["all_roundings"]
