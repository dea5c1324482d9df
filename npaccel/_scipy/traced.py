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


@functools.cache
def _implementation(row: Any) -> Callable[..., Any]:
    """Have lists be arrays, as SciPy takes them, and no conjugation of results be left to do."""
    from npaccel._scipy.dispatch.conversion import as_array, mapped, tensors

    signature = inspect.signature(row.implementation)

    @functools.wraps(row.implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        device = next((one.device for one in tensors((args, kwargs))), None)
        for name in row.arrays:
            value = bound.arguments.get(name)
            if isinstance(value, tuple | list):
                bound.arguments[name] = as_array(value, device)
        found = row.implementation(*bound.args, **bound.kwargs)
        if isinstance(found, tuple) and type(found) is not tuple and not hasattr(found, "_make"):
            raise NotImplementedError("its result is an object of SciPy's, not a plain tuple")
        return mapped(found, lambda x: resolved(x) if isinstance(x, torch.Tensor) else x)

    return function


def _row_of(function: Any) -> Any:
    from npaccel._scipy.dispatch import table

    table.load()
    return table.row_of(function)
