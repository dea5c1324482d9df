"""Make Dynamo trace SciPy's functions into npaccel's native ones, where there are such.

Objects of SciPy become `NumpyVariable`, as NumPy's functions do. SciPy's own code is neither traced
nor compiled in part: its functions invent float64 arrays, which `default_float` isn't about, and
ask for values. A call of one that isn't native breaks the graph, and SciPy computes it on arrays.

Read from torch/_dynamo/{trace_rules.py,variables/builder.py} of 2.11 and 2.13.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch._dynamo import trace_rules
from torch._dynamo.trace_rules import SkipResult
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.lists import ListVariable, TupleVariable
from torch._dynamo.variables.tensor import TensorVariable

from npaccel._runtime import foreign_table
from npaccel._torch.dynamo.numpy.calls import emit, inlined, refuse
from npaccel._torch.dynamo.numpy.operations import Operation
from npaccel._torch.dynamo.numpy.scipy_objects import emit_call, made_by
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

_ON_ARRAYS = "SciPy computes it on NumPy's arrays"


def _is_numpy(original: Any) -> Any:
    """Accept SciPy's functions where Dynamo looks for NumPy's."""

    def is_numpy(obj: Any) -> bool:
        return original(obj) or (bool(active.depth) and is_scipy(obj))

    return is_numpy


def _check_file(original: Any) -> Any:
    """Leave SciPy's files alone."""
    found = importlib.util.find_spec("scipy")
    folder = str(Path(found.origin).parent) if found and found.origin else "scipy isn't installed"

    def check_file(filename: str | None, is_inlined_call: bool = False) -> Any:
        if active.depth and filename is not None and filename.startswith(folder):
            return SkipResult(True, _ON_ARRAYS)
        return original(filename, is_inlined_call)

    return check_file


def is_scipy(obj: Any) -> bool:
    """Whether an object is a function or a distribution of SciPy."""
    return "scipy" in sys.modules and foreign_table.table().owns(obj)


def call_function(tx: Any, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Trace a call of SciPy, or break the graph at it."""
    name, row = foreign_table.table().row_of(function)
    return _call(tx, row, name, args, kwargs)


def call_method(
    tx: Any, distribution: Any, name: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Trace a call of a distribution's method, or break the graph at it."""
    full, row = foreign_table.table().row_of_method(distribution, name)
    return _call(tx, row, full, args, kwargs)


def _call(tx: Any, row: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if row is not None and row.is_pure and all(map(_is_constant, (*args, *kwargs.values()))):
        found = _of_constants(tx, row, args, kwargs)
        if found is not None:
            return found
    if row is None or row.implementation is None:
        reason = (row.reason if row is not None else "") or _ON_ARRAYS
        return refuse(row.name if row is not None else name, f"args: {args}", reason)
    if why := _host_reason(row, args, kwargs):
        return refuse(f"this call of {row.name}", f"args: {args}", why)
    if row.written_in == "numpy":
        function = VariableTracker.build(tx, row.implementation)
        return inlined(tx, function, row.name, args, kwargs)
    function = foreign_table.table().implementation(row)
    form = None
    if foreign_table.table().makes_objects(row):
        form = made_by(tx, row.scipy, args, kwargs)
    return emit_call(tx, row.name, function, args, kwargs, form)


_DTYPES = frozenset(map(np.dtype, "?bBhHiIlLfdFD"))
#: Maximum number of elements of an array that becomes part of the code.
_MAX_CONSTANT = 2**16


def _is_constant(value: Any) -> bool:
    return bool(value.is_python_constant())


def _of_constants(tx: Any, row: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a function gives for constants, as a part of the graph; None if it isn't one."""
    given = [arg.as_python_constant() for arg in args]
    named = {name: value.as_python_constant() for name, value in kwargs.items()}
    try:
        found = row.scipy(*given, **named)
    except Exception:  # noqa: BLE001 (SciPy raises it again, at the user's line)
        return None
    return _constant(tx, row.name, found)


def _constant(tx: Any, name: str, value: Any) -> Any:
    if type(value) is tuple:
        items = [_constant(tx, name, item) for item in value]
        return None if any(item is None for item in items) else TupleVariable(items)
    if type(value) in (bool, int, float, complex):
        return ConstantVariable.create(value)
    if not isinstance(value, np.ndarray | np.generic) or np.size(value) > _MAX_CONSTANT:
        return None
    if type(value) not in (np.ndarray, value.dtype.type) or value.dtype not in _DTYPES:
        return None
    is_scalar = isinstance(value, np.generic)
    made = Operation(name, lambda: torch.tensor(value), lambda node, flags: is_scalar)
    return emit(tx, made, [], {})


class _UnknownError(Exception):
    """An argument of which only Dynamo knows something."""


def _host_reason(row: Any, args: list[Any], kwargs: dict[str, Any]) -> str:
    """Return why SciPy has to compute a call, as far as its arguments are known without values."""
    if row.host_reason is None:
        return ""
    try:
        given = [_stand_in(arg) for arg in args]
        named = {name: _stand_in(value) for name, value in kwargs.items()}
        bound = inspect.signature(row.implementation).bind(*given, **named)
    except (_UnknownError, TypeError):  # SciPy says what is wrong with the arguments
        return ""
    bound.apply_defaults()
    return row.host_reason(bound.arguments)  # type: ignore[no-any-return]


def _stand_in(value: Any) -> Any:
    """Return what an argument is; of an array its kind, on no device.

    So nothing goes to SciPy for being faster on a CPU: in a graph it's fused.
    """
    if value.is_python_constant():
        return value.as_python_constant()
    if isinstance(value, ListVariable | TupleVariable):
        return value.python_type()(map(_stand_in, value.items))
    if isinstance(value, TensorVariable):
        return value.as_proxy().node.meta["example_value"].to("meta")
    raise _UnknownError


_TEST = "tests/scipy_layer/test_special_in_jit.py"

PATCHES = (
    Patch(trace_rules, "is_numpy", _is_numpy, "Dynamo traces into SciPy's functions", _TEST),
    Patch(
        trace_rules, "check_file", _check_file,
        "Dynamo compiles parts of SciPy's own code, which invents float64 arrays", _TEST,
    ),
)  # fmt: skip

__all__ = ["PATCHES", "call_function", "call_method", "is_scipy"]
