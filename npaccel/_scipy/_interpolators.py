"""The classes of `scipy.interpolate`, which take tensors.

They are called as SciPy's. With arrays they give SciPy's objects. With tensors they give objects
with the same methods that compute on the tensors' device, or else SciPy's object, whose results
become tensors: that goes through the host, which is counted.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import torch

from npaccel._scipy import _containers, _delegation, _listing, _log, _routes
from npaccel._scipy._parts_interpolators import BUILT, Computed, Piecewise, Spline
from npaccel._scipy._table import Row
from npaccel.errors import TransferError

_FROM = "scipy.interpolate"


class Offered:
    """A class of `scipy.interpolate` that takes tensors.

    What else is asked of it is asked of SciPy's class.

    Parameters
    ----------
    original : type
    name : str
        Its public name.
    """

    def __init__(self, original: Any, name: str) -> None:
        functools.update_wrapper(self, original, updated=())
        self._original = original
        self._public = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make an object: SciPy's own where no tensor is given."""
        given = [*_containers.tensors(args), *_containers.tensors(kwargs)]
        if not given:
            return self._original(*args, **kwargs)
        device = _containers.device_of(self._full, given)
        width = _containers.Width(given, _routes._default_float())
        build = BUILT.get(self._public)
        if build is not None:
            return self._native(build, args, kwargs, device, width)
        if _listing.computes_on_gpu(self._original):
            return self._delegated(args, kwargs, device, width)
        return hosted(self._full, self._original, args, kwargs, device, width)

    @property
    def _full(self) -> str:
        return f"{_FROM}.{self._public}"

    def _native(
        self, build: Any, args: Any, kwargs: Any, device: torch.device, width: _containers.Width
    ) -> Any:
        try:
            bound = inspect.signature(build).bind(*args, **kwargs)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                bound.arguments[name] = _as_tensors(value, device)
            found = build(*bound.args, **bound.kwargs)
        except TransferError:
            raise
        except Exception as error:
            if device.type == "meta":
                raise
            why = f"{type(error).__name__}: {error}"
            return hosted(self._full, self._original, args, kwargs, device, width, why)
        _log.note(self._full, "native")
        return found.named(self._original, self._full, device, width)

    def _delegated(
        self, args: Any, kwargs: Any, device: torch.device, width: _containers.Width
    ) -> Any:
        try:
            found = _delegation.delegated(self._original, args, kwargs)
        except TransferError:
            raise
        except Exception as error:  # noqa: BLE001 (SciPy says what is wrong with the call)
            why = f"{type(error).__name__}: {error}"
            return hosted(self._full, self._original, args, kwargs, device, width, why)
        _log.note(self._full, "delegated")
        return Delegated(found, self._full, device, width)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._original)

    def __subclasscheck__(self, kind: Any) -> bool:
        return issubclass(kind, self._original)

    def __mro_entries__(self, bases: Any) -> Any:
        return (self._original,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_original"], name)

    def __reduce__(self) -> Any:
        """Pickle by name."""
        from npaccel._scipy import _namespace

        return _namespace._public, ("interpolate", self._public)

    def __repr__(self) -> str:
        return f"<npaccel.{self._full}>"


def _as_tensors(value: Any, device: torch.device) -> Any:
    """Return arrays as tensors, also those in tuples and lists."""
    return _containers.mapped(value, lambda part: _containers.to_device(part, device))


# -- SciPy's objects --------------------------------------------------------------------------


class _Around:
    """SciPy's object, whose results become tensors."""

    def __init__(
        self, inner: Any, name: str, device: torch.device, width: _containers.Width
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
            return _containers.restored(found, self._device, self._width)
        return functools.partial(self._method, name, found)

    def _method(self, name: str, method: Any, *args: Any, **kwargs: Any) -> Any:
        return self._called(f".{name}", method, args, kwargs)

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError

    def on_host(self) -> Any:
        """SciPy's object."""
        return self._inner

    def __reduce__(self) -> Any:
        return type(self), (self._inner, self._name, self._device, self._width)


class Hosted(_Around):
    """SciPy's object of arrays: calls go through the host."""

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        full = self._name + name
        return hosted(full, function, args, kwargs, self._device, self._width)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, _containers.to_host(value))


class Delegated(_Around):
    """SciPy's object of tensors, which SciPy computes on."""

    def _called(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        found = _delegation.delegated(function, *_on_device((args, kwargs), self._device))
        _log.note(self._name + name, "delegated")
        return _containers.restored(found, self._device, self._width)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)


def _on_device(value: Any, device: torch.device) -> Any:
    return _containers.mapped(value, lambda part: _containers.to_device(part, device))


def hosted(
    name: str,
    function: Any,
    args: Any,
    kwargs: Any,
    device: torch.device,
    width: _containers.Width,
    why: str = "",
) -> Any:
    """Call SciPy with arrays; an object that it makes keeps doing so.

    Parameters
    ----------
    name : str
    function : callable
        A class, an object or a method.
    args, kwargs, device, width, why
        As in `_routes.through_host`.
    """
    row = Row(name, function, "host", reason="SciPy's own code keeps the coefficients")
    found = _routes.through_host(row, args, kwargs, device, width, why)
    known = type(found).__module__.startswith(_FROM) and not isinstance(found, tuple)
    return Hosted(found, name, device, width) if known else found


# -- Splines that functions give ------------------------------------------------------------


def on_device(value: Any, device: torch.device, width: _containers.Width) -> Any:
    """Return a spline of SciPy's as one that computes on a device; other values as they are."""
    module: Any = importlib.import_module(_FROM)
    name = f"{_FROM}.{type(value).__name__}"
    if isinstance(value, Computed):
        return value
    if isinstance(value, module.BSpline):
        t, c = (_containers.to_device(v, device) for v in (value.t, value.c))
        spline = Spline(t, c, value.k, value.extrapolate, value.axis)
        return spline.named(type(value), name, device, width)
    if isinstance(value, module.PPoly):
        c, x = (_containers.to_device(v, device) for v in (value.c, value.x))
        return Piecewise(c, x, value.extrapolate, value.axis).named(
            type(value), name, device, width
        )
    return value


def offered(name: str, original: Any) -> Any:
    """Return a public class as one that takes tensors, other objects as they are."""
    if not isinstance(original, type):
        return original
    return original if issubclass(original, Exception | Warning) else Offered(original, name)
