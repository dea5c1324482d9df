"""Turn writes to slices into stores of the slice, in arrays of complex numbers too.

Read from torch/_inductor/fx_passes/reinplace.py and torch/_inductor/pattern_matcher.py of 2.11 and
2.13.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor import pattern_matcher
from torch._inductor.fx_passes import reinplace

from npaccel._torch.patching import Patch, patched, registered

_SCATTER = reinplace._generalized_scatter


@contextlib.contextmanager
def writes_in_place() -> Iterator[None]:
    """Have writes to slices in graphs that are compiled meanwhile store the slice alone.

    The pass still decides by itself where a copy is needed.
    """
    known = reinplace.inplaceable_ops
    write = dataclasses.replace(known[_SCATTER], extra_check=_repeats_nothing)
    with patched(PATCHES), registered(known, {_SCATTER: write}):
        yield


def _always(original: Any) -> Any:
    def is_done(node: torch.fx.Node) -> bool:
        return True

    return is_done


def _repeats_nothing(node: torch.fx.Node) -> bool:
    """Whether what a write goes to has memory for each element, as a zero tangent hasn't."""
    value = node.args[0].meta["val"]  # type: ignore[union-attr]
    sizes = zip(value.shape, value.stride(), strict=True)
    return not any(stride == 0 and size != 1 for size, stride in sizes)


def _unless_writing(original: Any) -> Any:
    wrapped = torch.ops.higher_order.auto_functionalized_v2

    def falls_back(node: torch.fx.Node, *args: Any, **kwargs: Any) -> bool:
        return node.target is not wrapped and original(node, *args, **kwargs)

    return falls_back


_WHOLE = "Inductor selects over the whole array for each write to a slice"
_TEST = "tests/torch_layer/inductor/test_overlaps.py"

PATCHES = (
    Patch(reinplace, "scatter_always_uses_mutation", _always, _WHOLE, _TEST),
    Patch(
        pattern_matcher, "fallback_node_due_to_unsupported_type", _unless_writing,
        "Inductor doesn't take operators apart that write to complex arrays",
        "tests/torch_layer/inductor/test_complex_pairs.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "writes_in_place"]
