"""Classes and objects of SciPy that take tensors.

They are called as SciPy's. With arrays they give SciPy's objects. With tensors they give objects
with the same methods: npaccel's own, which compute on the tensors' device, SciPy's own where SciPy
computes on tensors, or else SciPy's of arrays, whose results become tensors: that goes through the
host, which is counted.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import types
from typing import Any

import torch

from npaccel._scipy.dispatch import conversion, delegation, listing, log, routes
from npaccel._scipy.dispatch.class_stand_in import ClassStandIn
from npaccel._scipy.dispatch.table import Row
from npaccel._scipy.interpolate._interpolators import BUILT
from npaccel.errors import TransferError

#: Submodules whose classes compute; those of others hold data or parameters, and are SciPy's own.
_OF_OBJECTS = ("interpolate", "signal", "spatial", "stats")
#: Classes that are derived from, or hold parameters of functions.
_AS_THEY_ARE = {
    *("rv_continuous", "rv_discrete", "CensoredData"),
    *("BootstrapMethod", "MonteCarloMethod", "PermutationMethod"),
}


def is_offered(value: Any) -> bool:
    """Whether a public name of SciPy's is a class or an object of which tensors may be asked."""
    kind = value if isinstance(value, type) else type(value)
    if isinstance(value, type) and kind.__name__ in _AS_THEY_ARE:
        return False
    return _computes(kind)


def _computes(kind: type) -> bool:
    package, _, module = kind.__module__.partition(".")
    if package != "scipy" or module.partition(".")[0] not in _OF_OBJECTS:
        return False
    is_data = issubclass(kind, (Exception, tuple, dict, types.FunctionType))
    return not is_data and not kind.__name__.endswith(("Result", "Results"))


def offered(original: Any, full: str) -> Any:
    """Return a public class or object as one that takes tensors.

    Parameters
    ----------
    original : object
    full : str
        Its public name, as in ``"scipy.interpolate.CubicSpline"``.
    """
    return OfferedClass(original, full) if isinstance(original, type) else Offered(original, full)


class Offered:
    """An object of SciPy's whose methods take tensors.

    What else is asked of it is asked of SciPy's, and what is set is set there.

    Parameters
    ----------
    original : object
    full : str
        Its public name.
    """

    def __init__(self, original: Any, full: str) -> None:
        self.__dict__.update(_original=original, _full=full, __doc__=original.__doc__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, as SciPy's own where no tensor is given."""
        return _called(self._full, self._original, args, kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._original, name, value)

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__["_original"]
        found = getattr(original, name)
        if name.startswith("_") or not _is_bound(original, name, found):
            return found
        return functools.partial(_method, f"{self._full}.{name}", found)

    def __reduce__(self) -> Any:
        """Pickle by name."""
        from npaccel._scipy.dispatch import mirror

        submodule, _, name = self._full.removeprefix("scipy.").rpartition(".")
        return mirror._public, (submodule, name)

    def __repr__(self) -> str:
        return f"<npaccel.{self._full}>"


def _is_bound(original: Any, name: str, found: Any) -> bool:
    """Whether an attribute is a method that needs no object more: of a class, a static one too."""
    of_class = isinstance(original, type)
    is_static = of_class and isinstance(inspect.getattr_static(original, name), staticmethod)
    return is_static or isinstance(found, types.MethodType)


class OfferedClass(ClassStandIn, Offered):
    """A class of SciPy's that takes tensors."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make an object: SciPy's own where no tensor is given."""
        given = [*conversion.tensors(args), *conversion.tensors(kwargs)]
        if not given:
            return self._original(*args, **kwargs)
        device = conversion.device_of(self._full, given)
        width = routes.width_of(given, kwargs)
        build = BUILT.get(self._full.removeprefix("scipy.interpolate."))
        if build is not None:
            return self._native(build, args, kwargs, device, width)
        if listing.computes_on_gpu(self._original):
            return self._delegated(args, kwargs, device, width)
        return hosted(self._full, self._original, args, kwargs, device, width)

    def _native(
        self, build: Any, args: Any, kwargs: Any, device: torch.device, width: conversion.Width
    ) -> Any:
        try:
            bound = inspect.signature(build).bind(*args, **kwargs)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                bound.arguments[name] = _on_device(value, device)
            found = build(*bound.args, **bound.kwargs)
        except TransferError:
            raise
        except Exception as error:
            if device.type == "meta":
                raise
            why = routes.reason_of(error)
            return hosted(self._full, self._original, args, kwargs, device, width, why)
        log.note(self._full, "native")
        return found.named(self._original, self._full, device, width)

    def _delegated(
        self, args: Any, kwargs: Any, device: torch.device, width: conversion.Width
    ) -> Any:
        try:
            found = delegation.delegated(self._original, args, kwargs)
        except TransferError:
            raise
        except Exception as error:  # noqa: BLE001 (SciPy says what is wrong with the call)
            why = routes.reason_of(error)
            return hosted(self._full, self._original, args, kwargs, device, width, why)
        log.note(self._full, "delegated")
        return _around(Delegated, found, self._full, device, width)


def _method(name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    return _called(name, function, args, kwargs)


def _called(name: str, function: Any, args: Any, kwargs: Any) -> Any:
    """Call SciPy's: on the host where a tensor is given."""
    given = [*conversion.tensors(args), *conversion.tensors(kwargs)]
    if not given:
        return function(*args, **kwargs)
    device = conversion.device_of(name, given)
    return hosted(name, function, args, kwargs, device, routes.width_of(given, kwargs))


# -- SciPy's objects --------------------------------------------------------------------------


class _Around:
    """SciPy's object, whose results become tensors."""

    def __init__(
        self, inner: Any, name: str, device: torch.device, width: conversion.Width
    ) -> None:
        self.__dict__.update(_inner=inner, _name=name, _device=device, _width=width)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """It passes for SciPy's."""
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
        return _around, (Hosted, self._inner, self._name, self._device, self._width)

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        full = self._name + name
        return hosted(full, function, args, kwargs, self._device, self._width)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, conversion.to_host(value))


class Delegated(_Around):
    """SciPy's object of tensors, which SciPy computes on."""

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        found = delegation.delegated(function, *_on_device((args, kwargs), self._device))
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
    return _around(Delegated, delegation.delegated(pickle.loads, (data,), {}), name, device, width)


def _around(kind: Any, inner: Any, name: str, device: torch.device, width: conversion.Width) -> Any:
    """Return SciPy's object in one of ours, with the operators that it has."""
    of: Any = type(inner)
    return _with_operators(kind, of)(inner, name, device, width)


#: What Python looks for in the class.
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


def _on_device(value: Any, device: torch.device) -> Any:
    """Return arrays as tensors, also those in tuples and lists."""
    return conversion.mapped(value, lambda part: conversion.to_device(part, device))


def hosted(
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
    if _computes(type(found)) and not hasattr(type(found), "on_host"):
        return _around(Hosted, found, name, device, width)
    return found
