"""SciPy's objects that are made of tensors: SciPy computes, and results become tensors.

An object holds arrays on the host, or tensors where SciPy computes on those.
"""

from __future__ import annotations

import functools
import pickle
import types
from typing import Any

import torch

from npaccel._scipy.dispatch import conversion, delegation, log, routes
from npaccel._scipy.dispatch.table import Row

#: Submodules whose classes compute; those of others hold data or parameters, and are SciPy's own.
_OF_OBJECTS = ("interpolate", "signal", "spatial", "stats")


def computes(kind: type) -> bool:
    """Whether a class of SciPy's has methods that compute."""
    package, _, module = kind.__module__.partition(".")
    if package != "scipy" or module.partition(".")[0] not in _OF_OBJECTS:
        return False
    is_data = issubclass(kind, (Exception, tuple, dict, types.FunctionType))
    return not is_data and not kind.__name__.endswith(("Result", "Results"))


class _Around:
    """SciPy's object, whose results become tensors."""

    def __init__(
        self, inner: Any, name: str, device: torch.device, width: conversion.Width
    ) -> None:
        self.__dict__.update(_inner=inner, _name=name, _device=device, _width=width)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Class of SciPy's, which it passes for."""
        return type(self._inner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called("", self._inner, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["_inner"], name)
        if name.startswith("__"):
            return found
        if not callable(found):
            return conversion.restored(found, self._device, self._width)
        return functools.partial(self._method, name)

    def _method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self._called(f".{name}", getattr(self._inner, name), args, kwargs)

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError

    def on_host(self) -> Any:
        """SciPy's object."""
        return self._inner

    def stand_in(self) -> torch.Tensor:
        """An empty tensor of its device and width."""
        return self._width.stand_in(self._device)


class Hosted(_Around):
    """SciPy's object of arrays: calls go through the host."""

    def __reduce__(self) -> Any:
        return around, (Hosted, self._inner, self._name, self._device, self._width)

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        full = self._name + name
        return call_on_host(full, function, args, kwargs, self._device, self._width)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, conversion.to_host(value))


class Delegated(_Around):
    """SciPy's object of tensors, which SciPy computes on."""

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        found = delegation.delegated(function, *on_device((args, kwargs), self._device))
        log.note(self._name + name, "delegated")
        return conversion.restored(found, self._device, self._width)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def __reduce__(self) -> Any:
        return _delegated_again, (
            pickle.dumps(self._inner),
            self._name,
            self._device,
            self._width,
        )


def _delegated_again(data: bytes, name: str, device: torch.device, width: conversion.Width) -> Any:
    """Return a pickled object; SciPy looks for the library of its arrays meanwhile."""
    return around(Delegated, delegation.delegated(pickle.loads, (data,), {}), name, device, width)


def around(kind: Any, inner: Any, name: str, device: torch.device, width: conversion.Width) -> Any:
    """Return SciPy's object in one of ours, with the operators that it has."""
    of: Any = type(inner)
    return _with_operators(kind, of)(inner, name, device, width)


#: Methods that Python looks for in the class.
_OPERATORS = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "matmul", "rmatmul", "truediv", "rtruediv"),
    *("pow", "rpow", "neg", "pos", "abs", "eq", "ne", "lt", "le", "gt", "ge"),
    *("len", "getitem", "setitem", "contains", "iter", "bool", "float", "int"),
)


@functools.cache
def _with_operators(kind: type[_Around], of: type) -> type[_Around]:
    def forwarded(name: str) -> Any:
        def operator(self: Any, *args: Any) -> Any:
            return self._method(name, *args)

        return operator

    names = [f"__{one}__" for one in _OPERATORS]
    own = {name for name in names if getattr(of, name, None) is not getattr(object, name, None)}
    methods = {name: forwarded(name) for name in own}
    if "__eq__" in own:
        methods["__hash__"] = None
    return type(kind.__name__, (kind,), methods)


def on_device(value: Any, device: torch.device) -> Any:
    """Return arrays as tensors, also those in tuples and lists."""
    return conversion.mapped(value, lambda part: conversion.to_device(part, device))


def call_on_host(
    name: str,
    function: Any,
    args: Any,
    kwargs: Any,
    device: torch.device,
    width: conversion.Width,
    why: str = "",
) -> Any:
    """Call SciPy with arrays; an object that it makes keeps doing so.

    Parameters
    ----------
    name : str
    function : callable
        A class, an object or a method.
    args, kwargs, device, width, why
        As in `routes.through_host`.
    """
    row = Row(name, function, "host", reason="SciPy's own object computes on NumPy's arrays")
    found = routes.through_host(row, args, kwargs, device, width, why)
    if computes(type(found)) and not hasattr(type(found), "on_host"):
        return around(Hosted, found, name, device, width)
    return found
