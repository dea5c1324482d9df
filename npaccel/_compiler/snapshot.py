"""Snapshots of what a function can change besides its result, to undo a call."""

from __future__ import annotations

import collections
import functools
import random
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime import host_rng
from npaccel._runtime.arguments import distinct, resolved
from npaccel._syntax.loop_detection import is_library, is_users
from npaccel._syntax.wide_data import names_of

_MISSING = object()
#: Types that can't change and lead to nothing that can, by far the most of what containers hold.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, range, slice)


class Snapshot:
    """Arrays, containers, objects and generators that a function can reach, as they are now.

    It reaches what its arguments, closure, defaults and the names in its code lead to, and so do
    the user's functions that it calls. Iterators, files and objects of other libraries have no
    way back.

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
        while self._todo:
            value = self._todo.pop()
            if not isinstance(value, _PLAIN) and id(value) not in self._seen:
                self._seen[id(value)] = value
                self._keep(value)

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

    def _keep_container(self, container: Any) -> None:
        is_dict = isinstance(container, dict)
        old = list(container.items() if is_dict else container)
        if not isinstance(container, bytearray):
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

    def _keep_function(self, function: types.FunctionType) -> None:
        if not is_users(function):
            return
        self._todo += [function.__defaults__, function.__kwdefaults__, function.__dict__]
        for cell in function.__closure__ or ():
            self._keep_attribute(cell, "cell_contents")
        names = names_of(function.__code__)
        for name in names:
            found = function.__globals__.get(name, _MISSING)
            self._keep_name(function.__globals__, name)
            if isinstance(found, types.ModuleType) and not is_library(found.__name__):
                for attribute in names:
                    self._keep_name(vars(found), attribute)

    def _keep_name(self, namespace: dict[str, Any], name: str) -> None:
        old = namespace.get(name, _MISSING)
        if old is not _MISSING:
            self._todo.append(old)

        def restore() -> None:
            if old is _MISSING:
                del namespace[name]
            else:
                namespace[name] = old

        self._note(lambda: namespace.get(name, _MISSING) is not old, restore)

    def _keep_attribute(self, owner: Any, name: str) -> None:
        old = _attribute(owner, name)
        if old is not _MISSING:
            self._todo.append(old)

        def restore() -> None:
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)

        self._note(lambda: _attribute(owner, name) is not old, restore)

    def _keep_class(self, kind: type) -> None:
        if is_library(kind.__module__):
            return
        self._todo += kind.__mro__
        for name, value in vars(kind).items():
            if name.startswith("__") and not isinstance(value, types.FunctionType):
                continue
            self._todo.append(value)
            if not isinstance(value, types.MemberDescriptorType):
                self._keep_class_attribute(kind, name, value)

    def _keep_class_attribute(self, kind: type, name: str, old: Any) -> None:
        self._note(lambda: vars(kind).get(name) is not old, lambda: setattr(kind, name, old))

    def _keep_object(self, value: Any) -> None:
        kind = type(value)
        if is_library(kind.__module__) and kind is not types.SimpleNamespace:
            self._todo.append(getattr(value, "__wrapped__", None))  # A jitted function.
            return
        self._todo.append(kind)
        self._todo.append(getattr(value, "__dict__", None))
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if isinstance(vars(base).get(name), types.MemberDescriptorType):
                    self._keep_attribute(value, name)


#: Types that don't change themselves, and what they lead to.
_LED_TO: dict[Any, Callable[[Any], Iterable[Any]]] = {
    tuple | frozenset: iter,
    types.MethodType: lambda method: (method.__self__, method.__func__),
    functools.partial: lambda partial: (partial.func, partial.args, partial.keywords),
    staticmethod | classmethod: lambda method: (method.__func__,),
    property: lambda found: (found.fget, found.fset),
}
_KEPT: dict[Any, Callable[[Snapshot, Any], None]] = {
    np.ndarray: Snapshot._keep_array,
    torch.Tensor: Snapshot._keep_tensor,
    list | dict | set | collections.deque | bytearray: Snapshot._keep_container,
    types.FunctionType: Snapshot._keep_function,
    type: Snapshot._keep_class,
    object: Snapshot._keep_object,
}


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute, or what a cell holds; either may be empty."""
    try:
        return getattr(owner, name)
    except (AttributeError, ValueError):
        return _MISSING


def _are_identical(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(_is, some, others))


def _is(one: Any, other: Any) -> bool:
    # Numbers of a bytearray, or of a view of one, are made again whenever they're looked at.
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
