"""Classes and objects of SciPy that take tensors.

They are called as SciPy's. With arrays they give SciPy's objects. With tensors they give objects
with the same methods: npaccel's own, which compute on the tensors' device, SciPy's own where SciPy
computes on tensors, or else SciPy's of arrays, whose results become tensors: that goes through the
host, which is counted.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

import torch

from npaccel._scipy.dispatch import conversion, delegation, listing, log, routes
from npaccel._scipy.interpolate._interpolators import BUILT
from npaccel._scipy.objects import held_objects
from npaccel._scipy.objects.class_stand_in import ClassStandIn
from npaccel.errors import TransferError

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
    return held_objects.computes(kind)


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
        submodule, _, name = self._full.removeprefix("scipy.").rpartition(".")
        return listing.by_public_name, (submodule, name)

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
        return held_objects.call_on_host(self._full, self._original, args, kwargs, device, width)

    def _native(
        self, build: Any, args: Any, kwargs: Any, device: torch.device, width: conversion.Width
    ) -> Any:
        try:
            bound = inspect.signature(build).bind(*args, **kwargs)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                bound.arguments[name] = held_objects.on_device(value, device)
            found = build(*bound.args, **bound.kwargs)
        except TransferError:
            raise
        except Exception as error:
            if device.type == "meta":
                raise
            why = routes.reason_of(error)
            return held_objects.call_on_host(
                self._full, self._original, args, kwargs, device, width, why
            )
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
            return held_objects.call_on_host(
                self._full, self._original, args, kwargs, device, width, why
            )
        log.note(self._full, "delegated")
        return held_objects.around(held_objects.Delegated, found, self._full, device, width)


def _method(name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    return _called(name, function, args, kwargs)


def _called(name: str, function: Any, args: Any, kwargs: Any) -> Any:
    """Call SciPy's: on the host where a tensor is given."""
    given = [*conversion.tensors(args), *conversion.tensors(kwargs)]
    if not given:
        return function(*args, **kwargs)
    device = conversion.device_of(name, given)
    return held_objects.call_on_host(
        name, function, args, kwargs, device, routes.width_of(given, kwargs)
    )
