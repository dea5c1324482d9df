"""Containers among the arguments of a call that are too long to look at each of their items.

Compiled code checks what a list holds, item by item, before each call, and a capture takes half a
millisecond for each: NumPy makes calls with long ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

#: Maximum number of items of an argument's containers.
MAX_ITEMS = 10_000
#: Containers of fewer items aren't counted: those in them are, each by itself.
_FEW = 8
_CONTAINERS = (list, tuple, dict)
#: Maximum number of items that are looked into.
_LOOKED_AT = 100


def is_long(value: Any) -> bool:
    """Whether a list, tuple or dict holds too many items, by itself or in its items.

    Parameters
    ----------
    value : list, tuple or dict
    """
    count = len(value)
    if count > MAX_ITEMS:
        return True
    if count <= _FEW:
        return False
    items: Iterable[Any] = value.values() if type(value) is dict else value
    if type(next(iter(items))) not in _CONTAINERS:  # Items are mostly of one type.
        return False
    return count + sum(len(item) for item in items if type(item) in _CONTAINERS) > MAX_ITEMS


def place_among(values: Sequence[Any], static: Collection[int] = ()) -> int | None:
    """Return the place of the first argument with a long container, None without one.

    Parameters
    ----------
    values : sequence
        The arguments of a call.
    static : collection of int
        Places of arguments that are constants of the code.
    """
    for place, value in enumerate(values):
        if type(value) in _CONTAINERS and place not in static and _holds_long(value):
            return place
    return None


def _holds_long(value: Any) -> bool:
    if type(value) not in _CONTAINERS:
        return False
    if is_long(value):
        return True
    items: Iterable[Any] = value.values() if type(value) is dict else value
    return any(map(_holds_long, itertools.islice(items, _LOOKED_AT)))


def shows(values: Iterable[Any], kind: type) -> bool:
    """Whether a value of a type is among arguments, or the first items of their containers."""
    for value in values:
        if isinstance(value, kind):
            return True
        if type(value) in _CONTAINERS:
            items: Iterable[Any] = value.values() if type(value) is dict else value
            if shows(itertools.islice(items, _LOOKED_AT), kind):
                return True
    return False


__all__ = ["MAX_ITEMS", "is_long", "place_among", "shows"]
