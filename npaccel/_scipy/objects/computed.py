"""Base of objects that pass for SciPy's and compute on the device of their tensors."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npaccel._runtime.foreign_table import Place
from npaccel._scipy.dispatch import conversion, log
from npaccel._scipy.dispatch.arguments import as_float
from npaccel._scipy.objects import held_objects

#: Tensors.
Tensor = Any


class Computed:
    """Base of all of them: SciPy's class and name, a device, and a width of results."""

    _kind: Any = None
    _name = ""
    _device = torch.device("cpu")
    _narrow = False
    #: Whether results are as wide as the values, whatever places are.
    _keeps_dtype = False
    #: Attributes that methods of SciPy's object may change.
    _changing: tuple[str, ...] = ()

    def named(
        self, kind: Any, name: str, device: torch.device, width: conversion.Width
    ) -> Computed:
        """Return the object itself, told what it passes for."""
        self._kind, self._name, self._device, self._narrow = kind, name, device, width.narrow
        return self

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Class of SciPy's, which it passes for."""
        return type(self) if self._kind is None else self._kind

    @classmethod
    def computes(cls, method: str) -> bool:
        """Whether a method is npaccel's own, on tensors."""
        if method.startswith("_") and method != "__call__":
            return False
        return any(method in vars(base) for base in cls.__mro__ if base not in Computed.__mro__)

    def _like(self, other: Computed) -> Computed:
        other._kind, other._name = self._kind, self._name
        other._device, other._narrow = self._device, self._narrow
        return other

    def _places(self, x: Any) -> tuple[Tensor, tuple[int, ...], bool]:
        """Values as a vector of float64, their shape, and whether results are of 32 bits."""
        x = conversion.to_device(x, self._device)
        wide = isinstance(x, torch.Tensor) and x.dtype is torch.float64
        x = as_float(x, torch.float64, self._device)
        return x.reshape(-1), tuple(x.shape), self._narrow and not wide

    def _given(self, found: Tensor, shape: tuple[int, ...], axis: int, narrow: bool) -> Tensor:
        """Results in the shape of the values, which takes the place of the axis."""
        found = found.reshape(shape + tuple(found.shape[1:]))
        order = list(range(found.ndim))
        n = len(shape)
        found = found.permute(order[n : n + axis] + order[:n] + order[n + axis :])
        log.note(self._name, "native")
        return narrowed(found) if narrow else found

    def on_host(self) -> Any:
        """SciPy's object of arrays."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """Return what only SciPy's object has, on the host."""
        if name.startswith("__") or not self.__dict__:
            raise AttributeError(name)
        found = getattr(self.on_host(), name)
        if callable(found):
            return functools.partial(self._in_scipy, name)
        return conversion.restored(found, self._device, self._width())

    def stand_in(self) -> Tensor:
        """An empty tensor of its device and width."""
        return self._width().stand_in(self._device)

    def _width(self) -> conversion.Width:
        return conversion.Width([], torch.float32 if self._narrow else torch.float64)

    def _in_scipy(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of SciPy's object, and keep what it has changed there."""
        theirs = self.on_host()
        found = self._through_host(method, *args, theirs=theirs, **kwargs)
        for name in self._changing:
            setattr(self, name, conversion.to_device(getattr(theirs, name), self._device))
        return found

    def _through_host(self, method: str, *args: Any, theirs: Any = None, **kwargs: Any) -> Any:
        name = f"{self._name}.{method}"
        function = getattr(self.on_host() if theirs is None else theirs, method)
        return held_objects.call_on_host(name, function, args, kwargs, self._device, self._width())

    def __reduce__(self) -> Any:
        return _again, (type(self), self.__dict__)


def without_tensors(obj: Computed) -> tuple[list[Tensor], Computed]:
    """Return the tensors of an object, and a copy of it with places in their place."""
    tensors: list[Tensor] = []

    def change(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
            return Place(len(tensors) - 1)
        return _changed(value, change)

    found = _changed(obj, change)
    return tensors, found


def with_tensors(obj: Computed, tensors: Sequence[Tensor]) -> Computed:
    """Return an object with tensors in their places again."""

    def change(value: Any) -> Any:
        if isinstance(value, Place):
            return tensors[value.index]
        return _changed(value, change)

    found: Computed = _changed(obj, change)
    return found


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of an object with its leaves changed; what isn't one as it is."""
    if not isinstance(value, Computed):
        return value
    state = {name: conversion.mapped(part, change) for name, part in value.__dict__.items()}
    return _again(type(value), state)


def _again(kind: Any, state: dict[str, Any]) -> Any:
    found = object.__new__(kind)
    found.__dict__.update(state)
    return found


def narrowed(found: Tensor) -> Tensor:
    """Return a result in 32 bits."""
    return found.to(torch.complex64 if found.is_complex() else torch.float32)


def scipys(name: str) -> Any:
    """Return a class of SciPy's."""
    return getattr(importlib.import_module("scipy.interpolate"), name)
