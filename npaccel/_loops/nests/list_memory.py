"""Lists and strings that a compiled nest is given: their memory, and what becomes of the lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from npaccel._loops.nests.lowering.types import DTYPES, MAX, MIN, Np, Py

#: Room for items in a list that grows: as much at least, and as many times its length.
_LEAST, _FACTOR = 64, 2
#: Factor by which there is more room in the next try.
_GROWTH = 8


#: Stands for the type of items that aren't numbers of one type.
MIXED = "items of several types"


def item_type(values: list[Any]) -> Py | Np | str | None:
    """Return the type that all items of a list have; None if there are none, or `MIXED`."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return MIXED if kinds else None
    (kind,) = kinds
    if kind in (bool, float, complex):
        return Py(kind)
    if kind is int and min(values) >= MIN and max(values) <= MAX:
        return Py(int)
    if issubclass(kind, np.generic) and values[0].dtype in DTYPES:
        return Np(values[0].dtype)
    return MIXED


def kind_of(values: list[Any]) -> Any:
    """Return what the code for a list depends on."""
    return list, item_type(values)


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
        """Give the list what the code has made of it.

        Parameters
        ----------
        is_changed : bool
            Whether more than its end may be another.
        """
        size = int(self.length[0])
        first = 0 if is_changed else len(self.owner)
        items = self.items[first:size]
        self.owner[first:] = list(items) if isinstance(self.item, Np) else items.tolist()


class Room:
    """Memory that the lists of a nest are given, as learned from its calls."""

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


__all__ = ["MIXED", "Memory", "Room", "item_type", "kind_of", "text_array"]
