"""Arguments that aren't arrays in this process's memory: Dask arrays, and torch's DTensors.

The packages that make calls with them lie above the compiler. The root of npaccel hands in how to
load them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from npaccel._process.imports import loaded_class
from npaccel._runtime import arguments

if TYPE_CHECKING:
    from npaccel._runtime.runner import Runner


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A class of arrays that a package makes calls with."""

    module: str
    name: str
    load: Callable[[], Callable[[Any, Sequence[Any]], Any]]
    load_parts: Callable[[], Any]

    def loaded(self) -> type | None:
        """Return the class; None where nobody has imported it."""
        found: type | None = loaded_class(self.module, self.name)
        return found


_kinds: list[_Kind] = []


def hand_in(
    module: str,
    name: str,
    load: Callable[[], Callable[[Any, Sequence[Any]], Any]],
    load_parts: Callable[[], Any],
) -> None:
    """Have what computes with arrays of a class loaded, once a call has some.

    Parameters
    ----------
    module, name : str
        The class.
    load : callable
        Returns the function that makes calls of jitted functions.
    load_parts : callable
        Returns the class that computes estimators by parts.
    """
    _kinds.append(_Kind(module, name, load, load_parts))


def _among(values: Sequence[Any]) -> _Kind | None:
    known = [(kind, found) for kind in _kinds if (found := kind.loaded()) is not None]
    if known:
        for value in values:
            for _, part in arguments.parts(value, ""):
                for kind, found in known:
                    if isinstance(part, found):
                        return kind
    return None


def are_among(values: Sequence[Any]) -> bool:
    """Whether there are such arrays among a call's arguments."""
    return _among(values) is not None


def runner(spec: Any, values: Sequence[Any]) -> Runner:
    """Return what makes a function's calls with arrays like those among these arguments."""
    kind = _among(values)
    assert kind is not None
    call = kind.load()
    return lambda values: call(spec, values)


def parts_of(value: Any) -> Any:
    """Return the class that computes estimators with an array by parts; None for other values."""
    for kind in _kinds:
        found = kind.loaded()
        if found is not None and isinstance(value, found):
            return kind.load_parts()
    return None


__all__ = ["are_among", "hand_in", "parts_of", "runner"]
