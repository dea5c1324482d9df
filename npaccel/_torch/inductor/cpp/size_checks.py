"""Check sizes that the data decide before anything relies on them.

Inductor fuses kernels across such a check, and may put the fused one in front of it: it then
reads and writes beyond the ends of arrays that are shorter than was claimed, and the error comes
too late.

Read from torch/_inductor/scheduler.py (compute_last_usage, which is the last thing before code is
generated) and ir.py (AssertScalar) of 2.13 and 2.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch._inductor.ir import AssertScalar
from torch._inductor.scheduler import BaseSchedulerNode, Scheduler

from npaccel._torch.patching import Patch, patched


def checked_first(nodes: list[BaseSchedulerNode]) -> list[BaseSchedulerNode]:
    """Return nodes in an order in which a size is checked as soon as it's known.

    Parameters
    ----------
    nodes : list of BaseSchedulerNode

    Returns
    -------
    list of BaseSchedulerNode
    """
    waiting = [node for node in nodes if isinstance(node.node, AssertScalar)]
    if not waiting:
        return nodes
    others = [node for node in nodes if not isinstance(node.node, AssertScalar)]
    unknown = {name for node in others for name in node.get_buffer_names()}
    found: list[BaseSchedulerNode] = []
    for node in [None, *others]:
        if node is not None:
            found.append(node)
            unknown -= set(node.get_buffer_names())
        still: list[BaseSchedulerNode] = []
        for check in waiting:
            is_early = any(one.name in unknown for one in check.unmet_dependencies)
            (still if is_early else found).append(check)
        waiting = still
    return [*found, *waiting]


def _after_checks_are_early(original: Any) -> Any:
    def compute_last_usage(self: Any) -> None:
        self.nodes = checked_first(self.nodes)
        original(self)

    return compute_last_usage


PATCHES = (
    Patch(
        Scheduler, "compute_last_usage", _after_checks_are_early,
        "Inductor puts fused kernels in front of the checks of the sizes that they rely on",
        "tests/torch_layer/inductor/test_size_checks.py", read="2.13, 2.15",
    ),
)  # fmt: skip


@contextlib.contextmanager
def sizes_checked_early() -> Iterator[None]:
    """Have sizes checked before what relies on them."""
    with patched(PATCHES):
        yield


__all__ = ["PATCHES", "checked_first", "sizes_checked_early"]
