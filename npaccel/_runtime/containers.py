"""Containers among the arguments of a call: their items are arguments themselves.

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
#: Maximum number of items that are looked into.
_LOOKED_AT = 100


def is_container(value: Any) -> bool:
    """Whether an argument is a container whose parts are arguments themselves."""
    kind = type(value)
    return kind in (tuple, list, dict) or (isinstance(value, tuple) and hasattr(kind, "_fields"))


def items_of(value: Any) -> Collection[Any]:
    """Return the items of a container: of a dict, its values."""
    items: Collection[Any] = value.values() if type(value) is dict else value
    return items


def is_long(value: Any) -> bool:
    """Whether a container holds too many items, by itself or in its items."""
    count = len(value)
    if count > MAX_ITEMS:
        return True
    if count <= _FEW:
        return False
    items = items_of(value)
    if not is_container(next(iter(items))):  # Items are mostly of one type.
        return False
    return count + sum(len(item) for item in items if is_container(item)) > MAX_ITEMS


def holds_long(value: Any) -> bool:
    """Whether an argument is a container that is long, or has such a one in it."""
    return is_container(value) and (is_long(value) or any(map(holds_long, items_of(value))))


def place_of_long(values: Sequence[Any], static: Collection[int]) -> int | None:
    """Return the place of the first argument with a long container, None without one.

    Parameters
    ----------
    values : sequence
        The arguments of a call.
    static : collection of int
        Places of arguments that are constants of the code.
    """
    places = (i for i, value in enumerate(values) if i not in static and holds_long(value))
    return next(places, None)


def shows(values: Iterable[Any], kind: type) -> bool:
    """Whether a value of a type is among arguments, or the first items of their containers."""
    for value in values:
        if isinstance(value, kind):
            return True
        if is_container(value) and shows(itertools.islice(items_of(value), _LOOKED_AT), kind):
            return True
    return False
