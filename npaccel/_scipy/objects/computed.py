"""Base of objects that pass for SciPy's and compute on the device of their tensors."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

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
