"""SciPy's table as capture asks it."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._runtime.arguments import resolved
from npaccel._runtime.foreign_table import Recipe
from npaccel._scipy.dispatch.listing import own

#: Types of functions besides Python's: of several ufuncs, those that cache, and with backends of
#: `scipy.fft`.
_FUNCTIONS = frozenset({"MultiUFunc", "_Function", "_lru_cache_wrapper"})


class TracedScipy:
    """SciPy's functions and distributions, where a jitted function calls them.

    The table is loaded when a row is asked for.
    """

    def owns(self, obj: Any) -> bool:
        """Return whether an object is a function or a distribution of SciPy."""
        obj = own(obj)
        if isinstance(obj, np.ufunc):
            return getattr(np, obj.__name__, None) is not obj and _row_of(obj) is not None
        module = getattr(obj, "__module__", None) or ""
        if isinstance(obj, types.FunctionType) or type(obj).__name__ in _FUNCTIONS:
            return module.startswith("scipy.")
        if isinstance(obj, type):
            return module.startswith("scipy.interpolate.") and _row_of(obj) is not None
        if type(obj).__module__.startswith("scipy.stats."):
            from npaccel._scipy.objects import distributions

            return distributions.is_distribution(obj)
        return False

    def row_of(self, function: Any) -> tuple[str, Any]:
        """Return the name of a function, and its row or None."""
        function = own(function)
        module = getattr(function, "__module__", None) or "scipy.special"
        return f"{module}.{function.__name__}", _row_of(function)

    def row_of_method(self, obj: Any, name: str) -> tuple[str, Any]:
        """Return the name of a distribution's method, and its row or None."""
        from npaccel._scipy.dispatch import table

        full = f"scipy.stats.{obj.name}.{name}"
        return full, table.row(full)

    def implementation(self, row: Any) -> Callable[..., Any]:
        """Return what computes a row's calls in a graph."""
        return _implementation(row)

    def makes_objects(self, row: Any) -> bool:
        """Return whether what a row's calls give may be an object whose methods compute."""
        return isinstance(row.scipy, type) or row.name == "scipy.interpolate.make_interp_spline"

    def apart(self, obj: Any) -> tuple[list[Any], Any] | None:
        """Return the tensors of an object of the table's, and it without them; None for others."""
        from npaccel._scipy.objects.computed import Computed, without_tensors

        return without_tensors(obj) if isinstance(obj, Computed) else None

    def method(self, obj: Any, name: str, count: int) -> Callable[..., Any] | None:
        """Return a method of an object without its tensors; the first arguments are these."""
        from npaccel._scipy.objects.computed import with_tensors

        if not obj.computes(name):
            return None

        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(with_tensors(obj, args[:count]), name)(*args[count:], **kwargs)

        return call

    def attributes(self, obj: Any) -> dict[str, Any]:
        """Return the public attributes of an object without its tensors."""
        return {name: value for name, value in vars(obj).items() if not name.startswith("_")}


@functools.cache
def _implementation(row: Any) -> Callable[..., Any]:
    """Have lists be arrays, as SciPy takes them, and no conjugation of results be left to do."""
    from npaccel._scipy.dispatch.checks import in_a_graph
    from npaccel._scipy.dispatch.conversion import as_array, mapped, tensors
    from npaccel._scipy.objects.computed import Computed

    signature = inspect.signature(row.implementation)

    @functools.wraps(row.implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        device = next((one.device for one in tensors((args, kwargs))), None)
        for name in row.arrays:
            value = bound.arguments.get(name)
            if isinstance(value, tuple | list):
                bound.arguments[name] = as_array(value, device)
        with in_a_graph():
            found = row.implementation(*bound.args, **bound.kwargs)
        if isinstance(found, Recipe):
            return Recipe(found.form, mapped(found.values, _resolved))
        if isinstance(found, Computed):
            return found
        return mapped(found, _resolved)

    return function


def _resolved(x: Any) -> Any:
    return resolved(x) if isinstance(x, torch.Tensor) else x


def _row_of(function: Any) -> Any:
    from npaccel._scipy.dispatch import table

    table.load()
    return _class_row(function) if isinstance(function, type) else table.row_of(function)


@functools.cache
def _class_row(kind: type) -> Any:
    """Return the row of a class that npaccel makes objects like, None for others."""
    from npaccel._scipy.dispatch import conversion
    from npaccel._scipy.dispatch.table import Row
    from npaccel._scipy.interpolate._interpolators import BUILT

    build: Any = (
        BUILT.get(kind.__name__) if kind.__module__.startswith("scipy.interpolate.") else None
    )
    if build is None:
        return None
    name = f"scipy.interpolate.{kind.__name__}"

    @functools.wraps(build)
    def made(*args: Any, **kwargs: Any) -> Any:
        given = conversion.tensors((args, kwargs))
        found = build(*args, **kwargs)
        narrow, found._keeps_dtype = _is_narrow(inspect.signature(build).bind(*args, **kwargs))
        # Others are of 64 bits, whatever they are given.
        width = conversion.Width([], torch.float32 if narrow else torch.float64)
        return found.named(kind, name, given[0].device, width)

    arrays = tuple(n for n in ("x", "y", "c", "t", "dydx", "values")
                   if n in inspect.signature(build).parameters)  # fmt: skip
    return Row(name, kind, "native", made, "tensors", arrays)


def _is_narrow(bound: inspect.BoundArguments) -> tuple[bool, bool]:
    """Whether SciPy's interpolator computes in 32 bits, and does so at places of 64 bits, too."""
    bound.apply_defaults()
    given = bound.arguments
    values = given.get("y" if "kind" in given else "values")
    if getattr(values, "dtype", None) is not torch.float32:
        return False, False
    if "kind" not in given:
        return given["method"] == "nearest", True
    is_line = given["kind"] == "linear"
    is_neighbour = given["kind"] in ("nearest", "nearest-up", "previous", "next")
    return is_neighbour or (is_line and given["x"].dtype is torch.float32), not is_line
