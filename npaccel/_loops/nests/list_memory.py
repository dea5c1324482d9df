"""Lists and strings that a compiled nest is given: their memory, and what becomes of the lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from npaccel._loops.nests.lowering.types import DTYPES, MAX, MIN, Np, Py

#: Room for items in a list that grows: as much at least, and as many times its length.
_LEAST, _FACTOR = 64, 2
#: How many times as much room there is in the next try.
_GROWTH = 8


def item_type(values: list[Any]) -> Py | Np | None:
    """Return the type that all items of a list have; None if there are none.

    Raises
    ------
    TypeError
        If they aren't numbers of one type.
    """
    kinds = set(map(type, values))
    if not kinds:
        return None
    if len(kinds) == 1:
        (kind,) = kinds
        if kind in (bool, float, complex):
            return Py(kind)
        if kind is int and min(values) >= MIN and max(values) <= MAX:
            return Py(int)
        if issubclass(kind, np.generic) and values[0].dtype in DTYPES:
            return Np(values[0].dtype)
    raise TypeError("items of a list that aren't numbers of one type")


def kind_of(values: list[Any]) -> Any:
    """Return what the code for a list depends on."""
    try:
        return list, item_type(values)
    except TypeError:
        return list, "other"


def text_array(text: str) -> np.ndarray[Any, Any]:
    """Return the numbers of a string's characters."""
    made = np.array([text]).view(np.uint32) if text else np.zeros(0, np.uint32)
    made.flags.writeable = False
    return made


@dataclasses.dataclass
class Memory:
    """Memory of one list while compiled code runs.

    Parameters
    ----------
    owner : list
    items : ndarray, shape (capacity,)
    length : ndarray, shape (1,)
        Of int64.
    item : Py or Np
    """

    owner: list[Any]
    items: np.ndarray[Any, Any]
    length: np.ndarray[Any, Any]
    item: Py | Np

    def give_back(self, *, is_changed: bool) -> None:
        """Let the list have what the code has made of it.

        Parameters
        ----------
        is_changed : bool
            Whether more than its end may be another.
        """
        size, before = int(self.length[0]), len(self.owner)
        first = 0 if is_changed else before
        found: list[Any] = self.items[first:size].tolist()
        if isinstance(self.item, Np):
            found = list(self.items[first:size])
        if is_changed:
            self.owner[:] = found
        else:
            self.owner.extend(found)


class Room:
    """How much memory the lists of a nest are given, as learned from its calls."""

    def __init__(self) -> None:
        self._factors: dict[str, int] = {}

    def memory(
        self, values: Mapping[str, Any], items: Mapping[str, Py | Np | None], grown: frozenset[str]
    ) -> dict[str, Memory]:
        """Return memory with the lists' items in it.

        Parameters
        ----------
        values : mapping
            Of the parameters.
        items : mapping
            The type of the items of each parameter that is a list.
        grown : frozenset of str
            Those that the code appends to.
        """
        made = {}
        for name, item in items.items():
            owner = values[name]
            kind = item or Py(int)
            size = len(owner)
            if name in grown:
                size = (_FACTOR * size + _LEAST) * self._factors.get(name, 1)
            memory = np.empty(size, kind.storage)
            memory[: len(owner)] = owner
            made[name] = Memory(owner, memory, np.array([len(owner)], np.int64), kind)
        return made

    def grow(self, name: str) -> None:
        """Note that a list has become longer than its memory."""
        self._factors[name] = self._factors.get(name, 1) * _GROWTH


__all__ = ["Memory", "Room", "item_type", "kind_of", "text_array"]
