"""Stand-in for a class of SciPy's, which is none itself."""

from __future__ import annotations

from typing import Any

#: Attributes that are asked of the object itself, though SciPy's class has them too.
_OWN = {"__class__", "__dict__", "__mro_entries__", "__reduce__", "__reduce_ex__"}


class ClassStandIn:
    """A class can be derived from it, and what is an instance of SciPy's class is one of it.

    Special methods that are asked for by name, as in ``CubicSpline.__init__(self, x, y)``, are
    those of SciPy's class.
    """

    _original: Any

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") and name not in _OWN:
            return getattr(object.__getattribute__(self, "_original"), name)
        return object.__getattribute__(self, name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._original)

    def __subclasscheck__(self, kind: Any) -> bool:
        return issubclass(kind, self._original)

    def __mro_entries__(self, bases: Any) -> Any:
        return (self._original,)

    def __getitem__(self, item: Any) -> Any:
        return self._original[item]

    def __or__(self, other: Any) -> Any:
        return self._original | other

    def __ror__(self, other: Any) -> Any:
        return other | self._original
