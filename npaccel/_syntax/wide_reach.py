"""A walk through what a function can reach: whether 64-bit floats are there, or have come there.

A call may meet what its arguments, globals, closure and the attributes of objects lead to. Which
code leads to which other code is kept; each call looks again at the data that they lead to.
"""

from __future__ import annotations

import functools
import itertools
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npaccel._runtime.kinds import ARRAYS
from npaccel._syntax import loop_detection
from npaccel._syntax.wide_data import (
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
#: Classes of data, and of what leads to data.
_HOLDERS = (*_CONTAINERS, *ARRAYS, torch.Tensor, types.MethodType, functools.partial)
#: Reads what code leads to.
_Read = Callable[[Any], list[Any]]
#: The read, its code or module, and tokens of what was there (`_token`).
_Place = tuple[_Read, Any, list[Any]]
#: Looks a name up in a namespace, and the names that are.
_Names = tuple[Callable[[str], Any], tuple[str, ...]]
#: Stands for data, which are looked at each time and not kept alive.
_DATA = object()


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
    """Code that the calls of a function can reach, as long as no 64-bit float is there.

    What code leads to which other code is looked up once, and data at each call.

    Parameters
    ----------
    function : types.FunctionType
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        #: Places that were read of code, and the code; None before the first call.
        self._last: tuple[list[_Place], _Known] | None = None
        #: Names that are read, if code leads to data by names of modules alone.
        self._plain: list[_Names] | None = None

    def is_left(self, values: Sequence[Any]) -> bool:
        """Whether a call with these arguments may meet 64-bit floats.

        Parameters
        ----------
        values : sequence
            The arguments of one call. Those may be left out that can't have come to lead to any.
        """
        if self._plain is not None and not values:
            for get, names in self._plain:
                if not PLAIN.issuperset(map(type, map(get, names))):
                    break
            else:
                return False
        given = [value for value in values if not is_narrow(value)]
        places, known = self._last or (None, None)  # Other threads may be here as well.
        data = None if places is None else _data_of(places)
        if data is not None:
            if not (data or given):
                return False
            search = _Search(data + given, known)
            if search.run():
                return True
            if not search.meets_new:
                return False
        search = _Search(given)
        search.follow_function(self.function)
        if code_makes_wide(self.function.__code__) or search.run():
            return True
        places = search.places()
        self._last = places, search.known
        self._plain = _plain_names(places)
        return False


def _plain_names(places: list[_Place]) -> list[_Names] | None:
    """Return the names that were read of modules; None if other places were read, or code."""
    if any(token is not _DATA for _, _, tokens in places for token in tokens):
        return None
    found = []
    for read, space, _ in places:
        if not isinstance(read, functools.partial):
            return None
        found.append((space.get, *read.args))
    return found


def _data_of(places: list[_Place]) -> list[Any] | None:
    """Return the data that code leads to now; None if it leads to other code."""
    found: list[Any] = []
    for read, holder, tokens in places:
        now = read(_referred(holder))
        if len(now) != len(tokens):
            return None
        for value, token in zip(now, tokens, strict=True):
            if token is _DATA:
                if type(value) not in PLAIN:
                    found.append(value)
            elif value is not _referred(token):
                return None
    return found


def _token(value: Any) -> Any:
    """Return what tells code from other code and keeps neither that nor data alive."""
    if type(value) in PLAIN or isinstance(value, _HOLDERS) or is_users_object(value):
        return _DATA
    return _reference(value)


def _reference(value: Any) -> Any:
    try:
        return weakref.ref(value)
    except TypeError:  # A builtin: a method of a generator's, say.
        return value


def _referred(reference: Any) -> Any:
    """Return what `_reference` was made of; None if that is gone."""
    return reference() if type(reference) is weakref.ref else reference


def is_narrow(value: Any) -> bool:
    """Whether a value leads to nothing and is no 64-bit float, or holds such values alone."""
    kind = type(value)
    if kind in PLAIN:
        return True
    if kind in (list, tuple, dict):
        items = value.values() if kind is dict else value
        return PLAIN.issuperset(map(type, items)) or all(map(is_narrow, items))
    return isinstance(value, ARRAYS) and not (
        is_wide(value) or value.dtype.hasobject or value.dtype.names
    )


def is_flat(value: Any) -> bool:
    """Whether a value can't come to lead to 64-bit floats, as long as its type and dtype stay."""
    return type(value) in PLAIN or (isinstance(value, ARRAYS) and is_narrow(value))


class _Known:
    """Code that was looked at."""

    def __init__(self) -> None:
        self._references: dict[int, Any] = {}

    def add(self, code: Any) -> None:
        self._references[id(code)] = _reference(code)

    def __contains__(self, code: Any) -> bool:
        return _referred(self._references.get(id(code))) is code


class _Search:
    """A walk through what a function can reach.

    Parameters
    ----------
    todo : list
        Where to begin.
    known : _Known, optional
        Code that isn't looked at again. Where there is any, other code isn't followed.
    """

    def __init__(self, todo: list[Any], known: _Known | None = None) -> None:
        self.todo = todo
        self.follows_code = known is None
        self.known = _Known() if known is None else known
        self.meets_new = False
        self.seen: dict[int, Any] = {}  # By identity; the objects live as long.
        self._places: list[_Place] = []
        #: Names that were read of modules, by the identity of their namespaces.
        self._names: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def run(self) -> bool:
        while self.todo:
            value = self.todo.pop()
            if type(value) in PLAIN:
                continue
            if isinstance(value, ARRAYS):
                if is_wide(value):
                    return True
                self._follow_array(value)
            elif id(value) not in self.seen:
                self.seen[id(value)] = value
                if is_wide(value) or (self.follows_code and _makes_wide(value)):
                    return True
                self._follow(value)
        return False

    def places(self) -> list[_Place]:
        """Return where code was read, each module once."""
        found = self._places.copy()
        for space, names in self._names.values():
            read = functools.partial(_named, tuple(names))
            found.append((read, space, list(map(_token, names.values()))))
        return found

    def _read(self, read: _Read, code: Any) -> None:
        found = read(code)
        self._places.append((read, _reference(code), list(map(_token, found))))
        self.todo += found

    def _read_names(self, names: tuple[str, ...], space: dict[str, Any]) -> None:
        _, known = self._names.setdefault(id(space), (space, {}))
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
        if isinstance(value, _CONTAINERS):
            parts = value.values() if isinstance(value, dict) else value
            if not PLAIN.issuperset(map(type, parts)):
                self.todo += itertools.islice(parts, LOOKED_AT)
        elif is_users_object(value):
            self.todo += _attributes(value)
            self.todo.append(type(value))
        elif (function := function_of(value)) is not None:
            if self._is_new(function):
                self.follow_function(function)
        elif isinstance(value, type) and is_users_class(value):
            if self._is_new(value):
                for kind in value.__mro__[:-1]:
                    self._read(_of_class, kind)
        else:
            self._follow_librarys(value)

    def _is_new(self, code: Any) -> bool:
        """Whether code is to be followed."""
        if code in self.known:
            return False
        if self.follows_code:
            self.known.add(code)
        else:
            self.meets_new = True
        return self.follows_code

    def _follow_array(self, value: Any) -> None:
        if value.dtype.hasobject:
            self.todo += value.reshape(-1)[:LOOKED_AT].tolist()
        elif value.dtype.names:
            self.todo += [value[name] for name in value.dtype.names]

    def _follow_librarys(self, value: Any) -> None:
        if isinstance(value, types.MethodType):
            self.todo += [value.__func__, value.__self__]
        elif isinstance(value, functools.partial):
            self.todo += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, property):
            self.todo += [value.fget]

    def follow_function(self, function: types.FunctionType) -> None:
        """Look at what a function's names lead to."""
        self.known.add(function)
        if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
            self._read(_of_function, function)
        self._read_names(names_of(function.__code__), function.__globals__)


def _makes_wide(value: Any) -> bool:
    function = function_of(value)
    return function is not None and code_makes_wide(function.__code__)


def _attributes(value: Any) -> list[Any]:
    slots = _slots(type(value))  # type: ignore[arg-type]
    own = list(getattr(value, "__dict__", {}).values())
    return [*own, *(getattr(value, name, None) for name in slots)] if slots else own


@functools.lru_cache(maxsize=4096)
def _slots(kind: type) -> tuple[str, ...]:
    """Return the names of a class's slots."""
    parts = [part for base in kind.__mro__ for part in vars(base).items()]
    return tuple(name for name, part in parts if isinstance(part, types.MemberDescriptorType))


def _of_function(function: types.FunctionType | None) -> list[Any]:
    """Return what is in a function's closure, and its defaults; of one that is gone, nothing."""
    if function is None:
        return []
    cells = map(loop_detection.cell_contents, function.__closure__ or ())
    return [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _of_class(kind: type | None) -> list[Any]:
    return [] if kind is None else list(vars(kind).values())


def _named(names: tuple[str, ...], space: dict[str, Any]) -> list[Any]:
    return list(map(space.get, names))


def _is_library(value: Any) -> bool:
    is_module = isinstance(value, types.ModuleType)
    return is_module and value.__name__.partition(".")[0] in loop_detection.LIBRARIES


__all__ = ["NarrowReach", "is_flat", "is_narrow", "reaches_wide"]
