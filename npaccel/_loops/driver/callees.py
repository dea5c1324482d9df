"""Callees of a split function: functions with loops, control-flow primitives, list methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from npaccel._compiler.dispatcher import NO_KEYWORDS, Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.control_flow.bodies import Drive, PrimitiveCalls
from npaccel._syntax import loop_detection, wide_data

_NARROW = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}


class Callees:
    """The functions that a split function calls.

    Parameters
    ----------
    spec : FunctionSpec
        Of the split function.
    on_wide : callable or None
        Where the function narrows floats: is called where a callee meets 64-bit ones.
    drive : Drive
    """

    def __init__(
        self, spec: FunctionSpec, on_wide: Callable[[], None] | None, drive: Drive
    ) -> None:
        self.spec = spec
        self.on_wide = on_wide
        self._drive = drive
        self._options = dataclasses.replace(spec.options, static_argnames=())
        self._narrows = spec.options.default_float == "float32"
        self._inner: dict[Any, Callable[..., Any]] = {}
        self._methods: dict[Any, Dispatcher] = {}
        self._primitives = PrimitiveCalls(spec, on_wide, drive)

    def inner(self, function: Any, line: int = 0) -> Any:
        """Return what runs a function that is called by a split one, at a line."""
        if loop_detection.is_primitive(function):
            return self._primitives.primitive(function, line)
        bound = getattr(function, "__self__", None)
        plain = getattr(function, "__func__", function)
        if not loop_detection.is_users(plain) or not loop_detection.loops(plain):
            return function
        if plain.__closure__ and bound is None:  # It may be made again at every call.
            body = self._primitives.inner(plain)
            if body is not None:
                return body
        driver = self._inner.get(plain)
        if driver is None:
            driver = self._inner.setdefault(plain, self._drive(plain))
        if bound is None:
            return lambda *args, **kwargs: driver(args, kwargs)
        return lambda *args, **kwargs: driver((bound, *args), kwargs)

    def appending(self, method: Any) -> Any:
        """Return what appends to a list, or runs the user's own method of that name."""
        plain = getattr(method, "__func__", None)
        if plain is None or not loop_detection.is_users(plain):
            return method
        if loop_detection.loops(plain):
            return self.inner(method)
        dispatcher = self._methods.get(plain)
        if dispatcher is None:
            spec = FunctionSpec(plain, self._options, self.spec.log, on_wide=self.on_wide)
            dispatcher = self._methods.setdefault(plain, Dispatcher(spec))
        return lambda *args: dispatcher((method.__self__, *args), NO_KEYWORDS)

    def calls_others(self) -> bool:
        """Whether other functions with loops were called."""
        return bool(self._inner)

    def native(self, function: Any) -> Any:
        """Return a NumPy function that is run on a list, under the option ``default_float``."""
        if not self._narrows:
            return function

        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            narrow = _NARROW.get(getattr(result, "dtype", None))  # type: ignore[arg-type]
            if (
                narrow is None
                or not result.ndim
                or "dtype" in kwargs
                or wide_data.has_wide(args, scalars=False)
            ):
                return result
            return result.astype(narrow)

        return call
