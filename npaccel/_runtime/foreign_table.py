"""The table of a library besides NumPy that capture asks what becomes of a call: SciPy's.

The package with the table lies above the compiler. The root of npaccel, which knows both, hands in
how to load it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol


@dataclasses.dataclass(frozen=True)
class Place:
    """What stands for a tensor of an object that is without its tensors."""

    index: int


class ForeignTable(Protocol):
    """Table of what a library's functions become in a graph."""

    def owns(self, obj: Any) -> bool:
        """Return whether an object is a function, or has methods, of the library."""

    def row_of(self, function: Any) -> tuple[str, Any]:
        """Return the name of a function, and its row or None."""

    def row_of_method(self, obj: Any, name: str) -> tuple[str, Any]:
        """Return the name of an object's method, and its row or None."""

    def implementation(self, row: Any) -> Callable[..., Any]:
        """Return what computes a row's calls in a graph."""

    def makes_objects(self, row: Any) -> bool:
        """Return whether what a row's calls give may be an object whose methods compute."""

    def apart(self, obj: Any) -> tuple[list[Any], Any] | None:
        """Return the tensors of an object of the table's, and it without them; None for others."""

    def method(self, obj: Any, name: str, count: int) -> Callable[..., Any] | None:
        """Return a method of an object without its tensors; the first arguments are these."""

    def attributes(self, obj: Any) -> dict[str, Any]:
        """Return the public attributes of an object without its tensors."""


_load: Callable[[], ForeignTable] | None = None


def hand_in(load: Callable[[], ForeignTable]) -> None:
    """Have the table loaded so, once something of the library is met."""
    global _load
    _load = load


def table() -> ForeignTable:
    """Return the table."""
    assert _load is not None
    return _load()


__all__ = ["ForeignTable", "Place", "hand_in", "table"]
