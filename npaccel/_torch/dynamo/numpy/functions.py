"""Trace calls of NumPy's functions, and of SciPy's, into the table of rows.

Read from torch/_dynamo/variables/misc.py (NumpyVariable) of 2.11 and 2.13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch._dynamo.variables.misc import NumpyVariable

from npaccel._numpy.core import table
from npaccel._torch.dynamo.numpy import objects as numpy_objects
from npaccel._torch.dynamo.numpy import rng_tracing, scipy_calls, vectorize
from npaccel._torch.dynamo.numpy.calls import call_row, refuse
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

_RANDOM = "numpy.random."
_TEST = "tests/numpy_layer/test_in_functions.py"


def _call_object(
    tx: Any, function: Any, row: table.Row | None, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Trace a call of NumPy or SciPy, or break the graph at it."""
    if row is not None and row.name.startswith(_RANDOM):
        name = row.name.removeprefix(_RANDOM)
        return rng_tracing.call_function(tx, function, name, args, kwargs)
    if row is not None:
        return call_row(tx, row, args, kwargs)
    if scipy_calls.is_scipy(function):
        return scipy_calls.call_function(tx, function, args, kwargs)
    name = getattr(function, "__name__", repr(function))
    module = getattr(function, "__module__", None) or "numpy"
    return refuse(f"{module}.{name}", f"args: {args}, kwargs: {kwargs}")


def _call_function(original: Any) -> Any:
    """Trace ``np.f(...)``."""

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth:
            return original(self, tx, args, kwargs)
        if self.value in (np.errstate, np.printoptions):
            block = numpy_objects.settings_block(self.value, args, kwargs)
            if block is None:
                refuse(f"numpy.{self.value.__name__}", "", numpy_objects.HAS_EFFECT)
            return block
        if self.value is np.vectorize:
            return vectorize.made(tx, list(args), kwargs)
        row = table.row_of(self.value)
        if row is None and self.value in (np.dtype, np.finfo, np.iinfo):
            return original(self, tx, args, kwargs)
        return _call_object(tx, self.value, row, list(args), kwargs)

    return call_function


def _call_method(original: Any) -> Any:
    """Trace ``np.add.reduce(...)``."""

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if not active.depth:
            return original(self, tx, name, args, kwargs)
        if scipy_calls.is_scipy(self.value):
            return scipy_calls.call_method(tx, self.value, name, list(args), kwargs)
        full = f"numpy.{getattr(self.value, '__name__', '?')}.{name}"
        row = table.row_named(full)
        if row is None:
            return refuse(full, f"args: {args}, kwargs: {kwargs}")
        return call_row(tx, row, args, kwargs)

    return call_method


def _hash_impl(original: Any) -> Any:
    def hash_impl(self: Any, tx: Any) -> tuple[int, bool]:
        return hash(self.value), False

    return hash_impl


PATCHES = (
    Patch(
        NumpyVariable, "call_function", _call_function,
        "Dynamo traces torch's own imitation of NumPy", _TEST,
    ),
    Patch(
        NumpyVariable, "call_method", _call_method,
        "Dynamo knows no methods of ufuncs", "tests/numpy_layer/test_ufunc_methods.py",
    ),
    Patch(
        NumpyVariable, "hash_impl", _hash_impl,
        "Dynamo hashes what stands for a function, not the function", _TEST, only="2.13-",
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
