"""Types and dtypes of results, and NumPy's results with those that compiled code gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._runtime.arguments import is_container, with_items


def kinds_of(value: Any) -> Any:
    """Return types and dtypes of a result, without its values."""
    if isinstance(value, np.ndarray | np.generic):
        return (type(value) is np.ndarray, value.dtype)
    if is_container(value):
        items = value.values() if type(value) is dict else value
        return (type(value), *map(kinds_of, items))
    return type(value)


def as_kinds(value: Any, kinds: Any) -> Any:
    """Return a result of NumPy with the dtypes that compiled code gives it."""
    if isinstance(value, np.ndarray | np.generic) and type(kinds) is tuple:
        same = len(kinds) == 2 and isinstance(kinds[1], np.dtype)
        return value.astype(kinds[1], copy=False) if same else value
    if is_container(value) and type(kinds) is tuple and len(kinds) == len(value) + 1:
        if type(value) is dict:
            return {n: as_kinds(v, k) for (n, v), k in zip(value.items(), kinds[1:], strict=True)}
        new = [as_kinds(v, k) for v, k in zip(value, kinds[1:], strict=True)]
        return with_items(value, new)
    return value
