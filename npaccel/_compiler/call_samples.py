"""The arguments of calls, remembered without keeping them alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from npaccel._runtime import arguments

#: The arguments of a call: functions that give them, in their containers.
Sample = tuple[Any, ...]

#: Stands for an argument that the caller has no more.
GONE = object()


def sample(values: Sequence[Any]) -> Sample:
    """Remember the arguments of a call."""
    return tuple(arguments.map_leaves(value, _weakly) for value in values)


def last(samples: Sequence[Sample]) -> list[Any] | None:
    """Return the arguments of the last call whose arguments are still there."""
    for one in reversed(samples):
        found = [arguments.map_leaves(value, lambda get: get()) for value in one]
        if not any(part is GONE for value in found for _, part in arguments.parts(value, "")):
            return found
    return None


def _weakly(value: Any) -> Callable[[], Any]:
    """Return a function that gives a value as long as it's there."""
    try:
        found = weakref.ref(value)
    except TypeError:  # Numbers, strings and the like.
        return lambda: value
    return lambda: GONE if found() is None else found()
