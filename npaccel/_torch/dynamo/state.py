"""Whether this thread traces NumPy for npaccel, and what is known of the arrays it was given."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Active(threading.local):
    depth = 0
    is_subgraph = False
    on_break: Callable[[Any], None] | None = None
    draws = False
    quick_fakes = 0
    scalars: frozenset[int] = frozenset()
    restrided: frozenset[int] = frozenset()
    remakes_views = False
    has_wide_data = False
    weak_scalars = False
    reads: Any = None
    raises = False
    #: Rest of what the capture may go through; None where there is no limit.
    budget: Any = None
    errors: Any = ()
    #: Loops in transformed functions that are scans.
    loops: Any = None
    #: Objects that Dynamo has made, until what is made of them has its guards.
    shape_envs: list[Any] | None = None


active = _Active()


@contextlib.contextmanager
def as_traced() -> Iterator[None]:
    """Have torch take NumPy's arrays and calls as npaccel does: to trace, and to check guards."""
    active.depth += 1
    try:
        yield
    finally:
        active.depth -= 1


@contextlib.contextmanager
def in_subgraphs(on_break: Callable[[Any], None]) -> Iterator[None]:
    """Trace parts of a function: arrays may come from NumPy, with any strides.

    Parameters
    ----------
    on_break : callable
        Is told of every graph break, as a `CaptureError`.
    """
    before = active.is_subgraph, active.on_break, active.remakes_views
    active.is_subgraph, active.on_break, active.remakes_views = True, on_break, True
    try:
        yield
    finally:
        active.is_subgraph, active.on_break, active.remakes_views = before
        release_shape_envs()


def release_shape_envs() -> None:
    """Break the cycles of symbolic sizes and tensors, which lead through memory of C++'s."""
    for shape_env in active.shape_envs or ():
        shape_env.tracked_fakes = None
    active.shape_envs = None
