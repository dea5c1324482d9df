"""Keep the zeros that floats are added to: -0.0 + 0.0 is 0.0, and -0.0 - -0.0 too.

Inductor takes an array of zeros out of sums and differences.

Read from torch/_inductor/fx_passes/joint_graph.py (constant_fold_uniform_value, remove_no_ops) of
2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.fx_passes import joint_graph
from torch.utils._ordered_set import OrderedSet

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def zeros_added() -> Iterator[None]:
    """Let graphs that are compiled meanwhile add zeros to floats."""
    with patched(PATCHES):
        yield


def _of_integers(original: Any) -> Any:
    def remove_no_ops(graph: torch.fx.GraphModule, zeros: Any, ones: Any) -> None:
        exact = [node for node in zeros if not _has_signed_zeros(node.meta["val"].dtype)]
        original(graph, OrderedSet(exact), ones)

    return remove_no_ops


def _has_signed_zeros(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


PATCHES = (
    Patch(
        joint_graph, "remove_no_ops", _of_integers,
        "Inductor drops zeros that are added, so that -0.0 stays",
        "tests/numpy_layer/test_signs_of_zero.py",
    ),
)  # fmt: skip

__all__ = ["zeros_added"]
