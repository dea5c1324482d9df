"""Arguments whose blocks are computed later: Dask arrays.

The package that makes calls with them lies above the compiler. The root of npaccel hands in how to
load it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from npaccel._runtime import arguments

if TYPE_CHECKING:
    from npaccel._runtime.runner import Runner

_load: Callable[[], Callable[[Any, Sequence[Any]], Any]] | None = None


def hand_in(load: Callable[[], Callable[[Any, Sequence[Any]], Any]]) -> None:
    """Have the function that makes calls loaded so, once one has Dask arrays."""
    global _load
    _load = load


def are_among(values: Sequence[Any]) -> bool:
    """Whether there are Dask arrays among a call's arguments."""
    core = sys.modules.get("dask.array.core")
    kind = getattr(core, "Array", None)
    if kind is None:
        return False
    parts = (part for value in values for _, part in arguments.parts(value, ""))
    return any(isinstance(part, kind) for part in parts)


def runner(spec: Any) -> Runner:
    """Return what makes a function's calls with Dask arrays."""
    assert _load is not None
    call = _load()
    return lambda values: call(spec, values)


__all__ = ["are_among", "hand_in", "runner"]
