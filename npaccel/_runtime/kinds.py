"""Types and dtypes of results, and NumPy's results with those that compiled code gives them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from npaccel._runtime.arguments import with_items
from npaccel._runtime.containers import is_container, items_of

#: NumPy's classes of values that have a dtype.
ARRAYS = (np.ndarray, np.generic)
#: Codes of 64-bit floats and complex numbers, of any byte order, and of longer ones.
WIDE_CODES = frozenset("dDgG")


def kinds_of(value: Any) -> Any:
    """Return types and dtypes of a result, without its values."""
    if isinstance(value, ARRAYS):
        return (type(value) is np.ndarray, value.dtype)
    if is_container(value):
        return (type(value), *map(kinds_of, items_of(value)))
    return type(value)


def as_kinds(value: Any, kinds: Any) -> Any:
    """Return a result of NumPy, its 64-bit floats with the dtypes that compiled code gives them.

    What isn't changed is the same object: it may be the caller's.
    """
    if type(kinds) is not tuple:
        return value
    if isinstance(value, ARRAYS):
        is_wide = value.dtype.char in WIDE_CODES
        if not is_wide or len(kinds) != 2 or not isinstance(kinds[1], np.dtype):
            return value
        if isinstance(value, np.generic):  # A quarter of the time that `astype` takes.
            return kinds[1].type(value)
        return value.astype(kinds[1], copy=False)
    if not is_container(value) or len(kinds) != len(value) + 1:
        return value
    items = list(items_of(value))
    new = list(map(as_kinds, items, kinds[1:]))
    if all(map(operator.is_, new, items)):
        return value
    return dict(zip(value, new, strict=True)) if type(value) is dict else with_items(value, new)
