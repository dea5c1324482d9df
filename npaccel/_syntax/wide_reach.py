"""What a function can reach: whether 64-bit floats are there, and whether that has changed.

A call may meet what its arguments, globals, closure and the attributes of objects lead to. What was
found is kept with the places where it was read, so that a later call looks at these alone.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from npaccel._syntax import loop_detection
from npaccel._syntax.wide_data import (
    ARRAYS,
    LOOKED_AT,
    PLAIN,
    code_makes_wide,
    function_of,
    is_users_class,
    is_users_object,
    is_wide,
    names_of,
)

_CONTAINERS = (list, tuple, set, frozenset, dict)
#: Reads the values of a place.
_Read = Callable[[Any], list[Any]]
_Place = tuple[_Read, Any, list[Any]]


def reaches_wide(function: types.FunctionType, values: Sequence[Any]) -> bool:
    """Whether a call may meet 64-bit floats, by all that its arguments and names lead to.

    Parameters
    ----------
    function : types.FunctionType
    values : sequence
        Its arguments.

    Returns
    -------
    bool
        True also where code that isn't reached would make them.
    """
    search = _Search(list(values))
    search.follow_function(function)
    return code_makes_wide(function.__code__) or search.run()


class NarrowReach:
    """What the calls of a function can reach, as long as no 64-bit float is there.

    Parameters
    ----------
    function : types.FunctionType
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        #: The last arguments that lead elsewhere, and what was read; None before the first call.
        self._last: tuple[list[Any], list[_Place]] | None = None

    def is_left(self, values: Iterable[Any]) -> bool:
        """Whether a call with these arguments may meet 64-bit floats.

        Parameters
        ----------
        values : iterable
            The arguments of one call.
        """
        others = [value for value in values if not _is_narrow(value)]
        last = self._last  # Other threads may be here as well.
        if last is not None and _are_same(others, last[0]) and not _have_changed(last[1]):
            return False
        search = _Search(list(others))
        search.follow_function(self.function)
        if code_makes_wide(self.function.__code__) or search.run():
            return True
        self._last = others, search.all_places()
        return False


def _have_changed(places: list[_Place]) -> bool:
    for i, (read, holder, before) in enumerate(places):
        now = read(holder)
        if not _are_same(now, before):
            if len(now) != len(before) or not all(map(_is_alike, now, before)):
                return True
            places[i] = read, holder, now
    return False


def _are_same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(operator.is_, now, before))


def _is_narrow(value: Any) -> bool:
    """Whether a value leads to nothing and is no 64-bit float, or holds such values alone."""
    kind = type(value)
    if kind in (list, tuple, dict):
        items = value.values() if kind is dict else value
        return PLAIN.issuperset(map(type, items)) or all(map(_is_narrow, items))
    return _is_narrow_leaf(value)


def _is_narrow_leaf(value: Any) -> bool:
    if isinstance(value, ARRAYS):
        return not (is_wide(value) or value.dtype.hasobject or value.dtype.names)
    return type(value) in PLAIN


def _is_alike(now: Any, before: Any) -> bool:
    """Whether a value leads to no more than the one before; another list may be changed later."""
    return now is before or (type(now) is type(before) and _is_narrow_leaf(now))


class _Search:
    """A walk through what a function can reach."""

    def __init__(self, todo: list[Any]) -> None:
        self.todo = todo
        self.seen: dict[int, Any] = {}  # By identity; the objects live as long.
        #: Where values were read that may be others later: how, of what, and what they were.
        self.places: list[_Place] = []
        #: Names that were read of modules, by the identity of their namespaces.
        self.names: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def run(self) -> bool:
        while self.todo:
            value = self.todo.pop()
            if id(value) in self.seen:
                continue
            self.seen[id(value)] = value
            if is_wide(value) or _makes_wide(value):
                return True
            self._follow(value)
        return False

    def all_places(self) -> list[_Place]:
        """Return where values were read, each module once."""
        found = self.places.copy()
        for space, names in self.names.values():
            found.append((functools.partial(_named, tuple(names)), space, list(names.values())))
        return found

    def _read(self, read: _Read, holder: Any) -> None:
        found = read(holder)
        self.places.append((read, holder, found))
        self.todo += found

    def _read_names(self, names: tuple[str, ...], space: dict[str, Any]) -> None:
        _, known = self.names.setdefault(id(space), (space, {}))
        for name in names:
            value = space.get(name)
            if name in known or _is_library(value):
                continue
            known[name] = value
            if isinstance(value, types.ModuleType):
                self._read_names(names, value.__dict__)
            else:
                self.todo.append(value)

    def _follow(self, value: Any) -> None:
        function = function_of(value)
        if function is not None:
            self.follow_function(function)
        elif isinstance(value, np.ndarray):
            self._follow_array(value)
        elif is_users_object(value) and not isinstance(value, _CONTAINERS):
            self._read(_attributes, value)
            self.todo.append(type(value))
        elif isinstance(value, type) and is_users_class(value):
            for kind in value.__mro__[:-1]:
                self._read(_values, vars(kind))
        else:
            self._follow_librarys(value)

    def _follow_array(self, value: np.ndarray[Any, Any]) -> None:
        if value.dtype.hasobject:
            self._read(_elements, value)
        elif value.dtype.names:
            self.todo += [value[name] for name in value.dtype.names]

    def _follow_librarys(self, value: Any) -> None:
        if isinstance(value, types.MethodType):
            self.todo += [value.__func__, value.__self__]
        elif isinstance(value, functools.partial):
            self.todo += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, tuple | frozenset):
            self.todo += list(value)[:LOOKED_AT]
        elif isinstance(value, list | set):
            self._read(_items, value)
        elif isinstance(value, dict):
            self._read(_values, value)
        elif isinstance(value, property):
            self.todo += [value.fget]

    def follow_function(self, function: types.FunctionType) -> None:
        """Look at what a function's names lead to."""
        if function.__closure__:
            self._read(_cells, function.__closure__)
        if function.__defaults__ or function.__kwdefaults__:
            self._read(_defaults, function)
        self._read_names(names_of(function.__code__), function.__globals__)


def _makes_wide(value: Any) -> bool:
    function = function_of(value)
    return function is not None and code_makes_wide(function.__code__)


def _items(value: Any) -> list[Any]:
    return list(value)[:LOOKED_AT]


def _values(value: Any) -> list[Any]:
    return list(value.values())[:LOOKED_AT]


def _elements(value: Any) -> list[Any]:
    return value.reshape(-1)[:LOOKED_AT].tolist()  # type: ignore[no-any-return]


def _attributes(value: Any) -> list[Any]:
    slots = _slots(type(value))  # type: ignore[arg-type]
    own = list(getattr(value, "__dict__", {}).values())
    return [*own, *(getattr(value, name, None) for name in slots)] if slots else own


@functools.lru_cache(maxsize=4096)
def _slots(kind: type) -> tuple[str, ...]:
    """Return the names of a class's slots."""
    parts = [part for base in kind.__mro__ for part in vars(base).items()]
    return tuple(name for name, part in parts if isinstance(part, types.MemberDescriptorType))


def _cells(cells: tuple[types.CellType, ...]) -> list[Any]:
    return list(map(loop_detection.cell_contents, cells))


def _defaults(function: types.FunctionType) -> list[Any]:
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _named(names: tuple[str, ...], space: dict[str, Any]) -> list[Any]:
    return list(map(space.get, names))


def _is_library(value: Any) -> bool:
    is_module = isinstance(value, types.ModuleType)
    return is_module and value.__name__.partition(".")[0] in loop_detection.LIBRARIES


__all__ = ["NarrowReach", "reaches_wide"]
