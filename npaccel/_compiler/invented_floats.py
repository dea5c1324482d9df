"""The dtypes that a narrow call's result has, known of NumPy's answer without compiling.

In a call in which nothing is 64 bit, compiled code makes 32-bit floats of all that NumPy invents.
Of a function that calls nothing but compiled rows of NumPy's those are the 64-bit floats with
dimensions in NumPy's answer. Those without may be of Python's numbers alone, which stay.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from npaccel import _numpy
from npaccel._numpy.core import table
from npaccel._runtime.kinds import ARRAYS, WIDE_CODES, kinds_of
from npaccel._syntax import loop_detection
from npaccel._syntax.wide_data import PLAIN, is_wide, names_of
from npaccel._syntax.wide_reach import is_narrow

_NARROWED = {
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}
#: Builtins that make nothing wide.
_BUILTINS = frozenset(
    {
        *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "int", "isinstance", "len"),
        *("list", "max", "min", "pow", "range", "reversed", "round", "slice", "sorted", "str"),
        *("sum", "tuple", "zip", "ValueError", "IndexError", "TypeError", "RuntimeError"),
    }
)
#: Attributes of arrays, lists and modules that have no rows.
_ATTRIBUTES = frozenset(
    {
        *("T", "append", "bit_length", "dtype", "e", "extend", "fft", "inf", "items", "itemsize"),
        *("keys", "linalg", "nan", "nbytes", "ndim", "newaxis", "pi", "pop", "shape", "size"),
        *("strides", "values"),
    }
)
#: Prefixes of rows that an attribute's name may stand for.
_PLACES = ("numpy.", "numpy.linalg.", "numpy.fft.", "numpy.ndarray.")


def narrowed_kinds(function: types.FunctionType, values: Sequence[Any], result: Any) -> Any:
    """Return types and dtypes of what compiled code would give for NumPy's answer.

    Parameters
    ----------
    function : types.FunctionType
        It reaches no 64-bit floats.
    values : sequence
        The arguments of the call.
    result : object
        NumPy's answer.

    Returns
    -------
    object or None
        As of `npaccel._runtime.kinds.kinds_of`; None where only compiling tells.
    """
    if not all(map(is_narrow, values)):
        return None
    kinds = _narrowed(kinds_of(result))
    if kinds is None or not _has_dimensions(result):
        return None
    _numpy.load()
    return kinds if _invents(function, ()) else None


def _narrowed(kinds: Any) -> Any:
    """Return kinds with 32-bit floats for 64-bit ones; None if there are longer ones."""
    if type(kinds) is not tuple:
        return kinds
    if len(kinds) == 2 and isinstance(kinds[1], np.dtype):
        dtype = _NARROWED.get(kinds[1], kinds[1])
        return None if dtype.char in WIDE_CODES else (kinds[0], dtype)
    parts = [_narrowed(part) for part in kinds[1:]]
    return None if None in parts else (kinds[0], *parts)


def _has_dimensions(result: Any) -> bool:
    if isinstance(result, ARRAYS):
        return bool(result.ndim) or not is_wide(result)
    if type(result) in (list, tuple, dict):
        return all(map(_has_dimensions, result.values() if type(result) is dict else result))
    return type(result) in PLAIN


def _invents(function: types.FunctionType, outer: tuple[types.CodeType, ...]) -> bool:
    """Whether a function makes 64-bit floats by NumPy's compiled rows alone."""
    code = function.__code__
    if code in outer:
        return True
    if _names_dtypes(code):
        return False
    inner = (*outer, code)
    cells = map(loop_detection.cell_contents, function.__closure__ or ())
    if not all(_suits(value, inner) for value in (*cells, *(function.__defaults__ or ()))):
        return False
    for name in names_of(code):
        if name in function.__globals__:
            if not _suits(function.__globals__[name], inner):
                return False
        elif not (name in _BUILTINS if hasattr(builtins, name) else _is_compiled(name)):
            return False
    return True


def _names_dtypes(code: types.CodeType) -> bool:
    """Whether a call names a dtype: a row may leave that to NumPy."""
    parts = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    keywords = (part for part in code.co_consts if isinstance(part, tuple))
    return any("dtype" in names for names in keywords) or any(map(_names_dtypes, parts))


def _suits(value: Any, outer: tuple[types.CodeType, ...]) -> bool:
    if value is np or value is math or is_narrow(value):
        return True
    if loop_detection.is_users(value):
        return _invents(value, outer)
    row = table.row_of(value) if callable(value) else None
    return row is not None and _is_traced(row)


def _is_traced(row: table.Row) -> bool:
    """Whether compiled code computes it, and not by a function of the user's that it's handed."""
    return row.status == "compiled" and not row.inlined


def _is_compiled(name: str) -> bool:
    """Whether all that an attribute's name may stand for is compiled."""
    rows = [table.row_named(place + name) for place in _PLACES]
    found = [row for row in rows if row is not None]
    return all(map(_is_traced, found)) if found else name in _ATTRIBUTES


__all__ = ["narrowed_kinds"]
