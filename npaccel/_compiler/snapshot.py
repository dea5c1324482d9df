"""Snapshots of what a function can change besides its result, to undo a call."""

from __future__ import annotations

import array
import collections
import datetime as dt
import functools
import numbers
import random
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime import host_rng, opaque
from npaccel._runtime.arguments import distinct, resolved
from npaccel._syntax.loop_detection import is_library, is_users
from npaccel._syntax.wide_data import names_of

_MISSING = object()
#: Types that can't change and lead to nothing that can, by far the most of what containers hold.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, range, slice)
#: Names in code that stand for what can't be undone.
_IRREVERSIBLE = frozenset(
    {
        *("print", "open", "input", "exec", "eval", "write", "writelines", "send", "next"),
        *("write_text", "write_bytes", "unlink", "rename", "mkdir", "makedirs", "rmdir", "system"),
    }
)
#: Modules whose functions and objects do what can't be undone.
_ACTING = frozenset(
    {
        *("asyncio", "atexit", "concurrent", "csv", "ctypes", "http", "logging", "matplotlib"),
        *("mmap", "multiprocessing", "shutil", "signal", "smtplib", "socket", "sqlite3"),
        *("subprocess", "tempfile", "threading", "urllib", "webbrowser"),
    }
)
#: Modules of whose objects none changes, or none in a way that matters to a second call.
_UNCHANGING = frozenset(
    {
        *("contextvars", "datetime", "decimal", "enum", "fractions", "functools", "inspect"),
        *("jax", "jaxlib", "npaccel", "numbers", "operator", "pathlib", "re", "string"),
        *("_thread", "types", "typing", "uuid", "zoneinfo"),
    }
)
#: Such types of other modules.
_UNCHANGING_TYPES = (
    *(types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType),
    *(types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, types.CodeType, types.EllipsisType, types.NotImplementedType),
    *(numbers.Number, dt.date, dt.time, dt.timedelta, dt.tzinfo, BaseException, np.ufunc),
    *(weakref.ReferenceType, torch.dtype, torch.device, torch.layout, torch.memory_format),
)
#: Methods that no code calls by name, and that don't compute.
_SHOWING = frozenset({"__repr__", "__str__", "__format__", "__del__"})
#: Methods called where the class is.
_MAKING = frozenset({"__new__", "__init__", "__post_init__"})


class Snapshot:
    """Arrays, containers, objects and generators that a function can reach, as they are now.

    It reaches what its arguments, closure, defaults and the names in its code lead to, and so do
    the user's functions that it calls. Iterators, files and many objects of other libraries have
    no way back: `irreversible` tells of them.

    Parameters
    ----------
    function : types.FunctionType
    values : sequence
        The arguments of a call.
    """

    def __init__(self, function: types.FunctionType, values: Sequence[Any]) -> None:
        self._seen: dict[int, Any] = {}  # By identity; the objects live as long.
        self._todo: list[Any] = [function, np.random, *values]
        self._is_changed: list[Callable[[], bool]] = []
        self._restore: list[Callable[[], None]] = []
        self._todo_named: list[tuple[str, Any]] = []
        #: Names under which an object is found, by its identity.
        self._names: dict[int, set[str]] = {}
        self._has_other_way: set[int] = set()
        self._lost: list[Any] = []
        self._code: list[tuple[Any, frozenset[str]]] = []
        while self._todo or self._todo_named:
            name, value = (None, self._todo.pop()) if self._todo else self._todo_named.pop()
            if isinstance(value, _PLAIN):
                continue
            if name is None:
                self._has_other_way.add(id(value))
            else:
                self._names.setdefault(id(value), set()).add(name)
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                self._keep(value)

    @property
    def irreversible(self) -> str:
        """Name of the first thing found that `restore` can't undo; empty if there is none."""
        names, waiting = set[str](), self._code
        while True:
            new = [one for one in waiting if self._is_reached(one[0], names)]
            if not new:
                break
            waiting = [one for one in waiting if one not in new]
            names = names.union(*(found for _, found in new))
        lost = (type(one).__name__ for one in self._lost if self._is_reached(one, names))
        return next(iter(names & _IRREVERSIBLE), next(lost, ""))

    def _is_reached(self, value: Any, names: set[str]) -> bool:
        """Whether code with these names gets to something, as far as names tell."""
        if id(value) in self._has_other_way:
            return True
        found = self._names[id(value)]
        return not names.isdisjoint(found) or any(map(_is_called_unnamed, found))

    def is_changed(self) -> bool:
        """Whether something is another than before."""
        return any(changed() for changed in self._is_changed)

    def restore(self) -> None:
        """Give everything that has changed what it had before."""
        for changed, restore in zip(self._is_changed, self._restore, strict=True):
            if changed():
                restore()

    def _note(self, changed: Callable[[], bool], restore: Callable[[], None]) -> None:
        self._is_changed.append(changed)
        self._restore.append(restore)

    def _keep(self, value: Any) -> None:
        if value is np.random or isinstance(value, np.random.Generator | np.random.RandomState):
            self._keep_generator(value)
        elif value is random or isinstance(value, random.Random):
            state = value.getstate()
            self._note(lambda: value.getstate() != state, lambda: value.setstate(state))
        elif any(isinstance(value, kind) for kind in _LED_TO):
            kind = next(kind for kind in _LED_TO if isinstance(value, kind))
            self._todo += _LED_TO[kind](value)
        elif not isinstance(value, types.ModuleType):
            kind = next(kind for kind in _KEPT if isinstance(value, kind))
            _KEPT[kind](self, value)

    def _keep_generator(self, generator: Any) -> None:
        old = host_rng.state_of(generator)
        self._note(
            lambda: not _are_equal(host_rng.state_of(generator), old),
            lambda: host_rng.restore([(generator, old)]),
        )

    def _keep_array(self, array: np.ndarray[Any, Any]) -> None:
        has_objects = array.dtype.hasobject
        if has_objects:
            self._todo += array.reshape(-1).tolist()
        if not array.flags.writeable:
            return
        own = distinct(array)
        old = own.copy()

        def changed() -> bool:
            if has_objects:
                return not _are_identical(own.reshape(-1).tolist(), old.reshape(-1).tolist())
            return own.tobytes() != old.tobytes()  # The sign of a zero counts.

        def restore() -> None:
            own[...] = old

        self._note(changed, restore)

    def _keep_tensor(self, tensor: torch.Tensor) -> None:
        if tensor.is_meta:  # It has no values.
            return
        old, own = tensor.detach().clone(), tensor.detach()
        self._note(lambda: not _have_same_bytes(own, old), lambda: _copy_to(own, old))

    def _keep_container(self, container: Any, *, leads: bool = True) -> None:
        is_dict = isinstance(container, dict)
        old = list(container.items() if is_dict else container)
        if leads:
            self._todo += container.values() if is_dict else old

        def changed() -> bool:
            new = list(container.items() if is_dict else container)
            if is_dict:
                new, kept = ([part for pair in pairs for part in pair] for pairs in (new, old))
                return not _are_identical(new, kept)
            return not _are_identical(new, old)

        def restore() -> None:
            container.clear()
            if is_dict:
                for name, value in old:
                    container[name] = value
            elif isinstance(container, set):
                container.update(old)
            else:
                container.extend(old)

        self._note(changed, restore)

    def _keep_items(self, items: Any) -> None:
        """Keep an `array.array` or a bytearray, of which there may be views."""
        old = items[:]

        def restore() -> None:
            items[:] = old

        self._note(lambda: bytes(items) != bytes(old), restore)

    def _keep_table(self, table: Any) -> None:
        """Keep a Series or DataFrame of pandas."""
        old = table.copy(deep=True)
        self._note(
            lambda: not _are_same_tables(table, old),
            lambda: table.__setstate__(old.copy(deep=True).__getstate__()),
        )

    def _keep_function(self, function: types.FunctionType) -> None:
        if not is_users(function) or _is_librarys(function.__module__):
            return
        self._todo += [function.__defaults__, function.__kwdefaults__, function.__dict__]
        for cell in function.__closure__ or ():
            self._keep_attribute(cell, "cell_contents")
        names = names_of(function.__code__)
        self._code.append((function, frozenset(names)))
        for name in names:
            found = function.__globals__.get(name, _MISSING)
            self._keep_name(function.__globals__, name)
            if _is_acting(found):
                self._lost.append(found)
            if isinstance(found, types.ModuleType) and not _is_librarys(found.__name__):
                for attribute in names:
                    self._keep_name(vars(found), attribute)

    def _keep_name(self, namespace: dict[str, Any], name: str) -> None:
        old = namespace.get(name, _MISSING)
        if old is not _MISSING:
            self._todo_named.append((name, old))

        def restore() -> None:
            if old is _MISSING:
                del namespace[name]
            else:
                namespace[name] = old

        self._note(lambda: namespace.get(name, _MISSING) is not old, restore)

    def _keep_attribute(self, owner: Any, name: str, *, leads: bool = True) -> None:
        old = _attribute(owner, name)
        if leads and old is not _MISSING:
            self._todo.append(old)

        def restore() -> None:
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)

        self._note(lambda: _attribute(owner, name) is not old, restore)

    def _keep_class(self, kind: type) -> None:
        if _is_librarys(kind.__module__):
            return
        self._todo += kind.__mro__
        for name, value in vars(kind).items():
            if name.startswith("__") and not isinstance(value, types.FunctionType):
                continue
            self._todo_named.append((kind.__name__ if name in _MAKING else name, value))
            if not isinstance(value, types.MemberDescriptorType):
                self._keep_class_attribute(kind, name, value)

    def _keep_class_attribute(self, kind: type, name: str, old: Any) -> None:
        self._note(lambda: vars(kind).get(name) is not old, lambda: setattr(kind, name, old))

    def _keep_object(self, value: Any) -> None:
        kind = type(value)
        if _is_librarys(kind.__module__) and kind is not types.SimpleNamespace:
            self._keep_librarys(value)
        else:
            self._todo.append(kind)
            self._keep_attributes(value)

    def _keep_librarys(self, value: Any) -> None:
        kind = type(value)
        wrapped = getattr(value, "__wrapped__", None)
        library = kind.__module__.partition(".")[0]
        if wrapped is not None:  # A jitted function.
            self._todo.append(wrapped)
        elif isinstance(value, types.BuiltinFunctionType):
            self._todo.append(value.__self__)
        elif library == "pandas" and kind.__name__ in ("Series", "DataFrame"):
            self._keep_table(value)
        elif library == "pandas" and any(base.__name__ == "Index" for base in kind.__mro__):
            return  # It can't be written to.
        elif library in _UNCHANGING or isinstance(value, _UNCHANGING_TYPES) or kind is object:
            return
        elif library in _ACTING or library == "numba":  # Its own containers, written in C.
            self._lost.append(value)
        else:
            self._keep_attributes(value)

    def _keep_attributes(self, value: Any) -> None:
        """Keep an object's attributes and slots; the user's code gets to its own by their names."""
        kind = type(value)
        if any(map(_is_written_in_c, kind.__mro__[:-1])):
            self._lost.append(value)
        inner = getattr(value, "__dict__", None)
        if _is_librarys(kind.__module__) and kind is not types.SimpleNamespace:
            self._todo.append(inner)
            for name in slots_of(kind):
                self._keep_attribute(value, name)
            return
        if inner is not None and id(inner) not in self._seen:
            self._seen[id(inner)] = inner
            self._keep_container(inner, leads=False)
            self._todo_named += inner.items()
        for name in slots_of(kind):
            self._keep_attribute(value, name, leads=False)
            part = _attribute(value, name)
            if part is not _MISSING:
                self._todo_named.append((name, part))


def slots_of(kind: type) -> Iterator[str]:
    """Yield the names of a class's slots, as `getattr` takes them.

    Parameters
    ----------
    kind : type
    """
    for base in kind.__mro__:
        if "__slots__" in vars(base):
            for name, found in vars(base).items():
                if isinstance(found, types.MemberDescriptorType):
                    yield name


#: Types that don't change themselves, and what they lead to.
_LED_TO: dict[Any, Callable[[Any], Iterable[Any]]] = {
    tuple | frozenset: iter,
    types.MethodType: lambda method: (method.__self__, method.__func__),
    functools.partial: lambda partial: (partial.func, partial.args, partial.keywords),
    staticmethod | classmethod: lambda method: (method.__func__,),
    property: lambda found: (found.fget, found.fset),
    types.MappingProxyType: lambda proxy: proxy.values(),
    memoryview: lambda view: (view.obj,),
}
_KEPT: dict[Any, Callable[[Snapshot, Any], None]] = {
    np.ndarray: Snapshot._keep_array,
    torch.Tensor: Snapshot._keep_tensor,
    list | dict | set | collections.deque: Snapshot._keep_container,
    array.array | bytearray: Snapshot._keep_items,
    types.FunctionType: Snapshot._keep_function,
    type: Snapshot._keep_class,
    object: Snapshot._keep_object,
}


@functools.lru_cache(maxsize=4096)
def _is_written_in_c(kind: type) -> bool:
    """Whether a class has methods in C, which may keep what no attribute shows."""
    if issubclass(kind, (*_UNCHANGING_TYPES, types.SimpleNamespace)):
        return False
    return any(isinstance(found, types.MethodDescriptorType) for found in vars(kind).values())


def _is_called_unnamed(name: str) -> bool:
    """Whether a method is called without being named in code, as by an operator."""
    return name.startswith("__") and name.endswith("__") and name not in _SHOWING


def _is_librarys(module: str | None) -> bool:
    """Whether a module's code isn't looked into."""
    return is_library(module) or (module or "").partition(".")[0] in opaque.LIBRARIES


def _is_acting(found: Any) -> bool:
    """Whether a global is a module that does what can't be undone, or something of it."""
    is_module = isinstance(found, types.ModuleType)
    module = found.__name__ if is_module else getattr(found, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in _ACTING


def _are_same_tables(one: Any, other: Any) -> bool:
    """Whether tables of pandas are alike, the signs of zeros too."""
    axes = zip(one.axes, other.axes, strict=True)
    if one.shape != other.shape or not all(a.identical(b) for a, b in axes):
        return False
    if one.ndim == 1:
        return one.name == other.name and _are_same_columns(one, other)
    columns = range(one.shape[1])
    return all(_are_same_columns(one.iloc[:, i], other.iloc[:, i]) for i in columns)


def _are_same_columns(one: Any, other: Any) -> bool:
    if one.dtype != other.dtype or not isinstance(one.dtype, np.dtype) or one.dtype.hasobject:
        return bool(one.equals(other))
    return bool(one.to_numpy().tobytes() == other.to_numpy().tobytes())


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute, or what a cell holds; either may be empty."""
    try:
        return getattr(owner, name)
    except (AttributeError, ValueError):
        return _MISSING


def _are_identical(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(_is, some, others))


def _is(one: Any, other: Any) -> bool:
    # Numbers of what is written in C are made again whenever they're looked at.
    return one is other or (type(one) is type(other) is int and one == other)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two states of a generator are the same."""
    if isinstance(one, dict):
        return all(_are_equal(one[name], other[name]) for name in one)
    return np.array_equal(one, other)


def _have_same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether tensors of one kind are alike: the sign of a zero counts, and NaN is NaN."""
    if one.layout is not torch.strided or one.is_quantized:
        return torch.equal(one, other)
    flat = (resolved(x).reshape(-1).view(torch.uint8) for x in (one, other))
    return torch.equal(*flat)


def _copy_to(tensor: torch.Tensor, values: torch.Tensor) -> None:
    tensor.copy_(values)
