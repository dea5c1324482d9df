"""Turn writes to slices into stores of the slice, in arrays of complex numbers too.

Read from torch/_inductor/fx_passes/reinplace.py and torch/_inductor/pattern_matcher.py of 2.11 and
2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor import pattern_matcher
from torch._inductor.fx_passes import reinplace

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def writes_in_place() -> Iterator[None]:
    """Have writes to slices in graphs that are compiled meanwhile store the slice alone.

    The pass still decides by itself where a copy is needed.
    """
    with patched(PATCHES):
        yield


def _always(original: Any) -> Any:
    def is_done(node: torch.fx.Node) -> bool:
        return True

    return is_done


def _unless_writing(original: Any) -> Any:
    wrapped = torch.ops.higher_order.auto_functionalized_v2

    def falls_back(node: torch.fx.Node, *args: Any, **kwargs: Any) -> bool:
        return node.target is not wrapped and original(node, *args, **kwargs)

    return falls_back


_WHOLE = "Inductor selects over the whole array for each write to a slice"
_TEST = "tests/torch_layer/inductor/test_overlaps.py"

PATCHES = (
    Patch(reinplace, "scatter_always_uses_mutation", _always, _WHOLE, _TEST),
    Patch(reinplace, "should_reinplace_scatter", _always, _WHOLE, _TEST),
    Patch(
        pattern_matcher, "fallback_node_due_to_unsupported_type", _unless_writing,
        "Inductor doesn't take operators apart that write to complex arrays",
        "tests/torch_layer/inductor/test_complex_pairs.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "writes_in_place"]
