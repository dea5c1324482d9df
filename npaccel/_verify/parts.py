"""Parts of values: items of containers, columns of tables, state of objects."""

from __future__ import annotations

import copyreg
import pickle
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

#: Types without parts: `==` tells all that there is to tell of them. Iterators would be used up.
_WHOLE = (
    *(bool, int, float, complex, str, bytes, bytearray),
    *(set, frozenset, range, slice, Iterator),
)
#: Errors of `__reduce_ex__` where an object can't be pickled.
_NOT_PICKLED = (TypeError, ValueError, AttributeError, RuntimeError, pickle.PickleError)
#: Names of the functions that make objects of a class and a state alone.
_PLAIN = ("__newobj__", "__newobj_ex__")


class Part(NamedTuple):
    """One part of a value.

    Parameters
    ----------
    key : object
        What it's found by in the value; equal in values of the same structure.
    label : str
        The same as text: ``[0]``, ``['a']``, ``.index``.
    value : object
    """

    key: Any
    label: str
    value: Any


def parts_of(value: Any) -> list[Part] | None:
    """Return the parts of a value; None if it has none.

    Of objects they are what `pickle` would write, so that slots and what C code holds are
    among them, and what is only remembered, like the cache of an index, isn't.

    Parameters
    ----------
    value : object

    Returns
    -------
    list of Part or None
    """
    if isinstance(value, _WHOLE) or value is None:
        return None
    if isinstance(value, tuple | list):
        return [*(Part(i, f"[{i}]", part) for i, part in enumerate(value)), *_attributes(value)]
    if isinstance(value, Mapping):
        return [*(Part(k, f"[{k!r}]", value[k]) for k in value), *_attributes(value)]
    if isinstance(value, np.ndarray | np.generic):
        return _of_array(value)
    of_library = _of_library(value)
    return _of_object(value) if of_library is None else of_library


def table_bytes(value: Any) -> int | None:
    """Return the size of a table of pandas, polars or xarray; None if it isn't one.

    Parameters
    ----------
    value : object

    Returns
    -------
    int or None
        What Dask hasn't computed has no size.
    """
    parts = _of_library(value)
    if parts is None:
        return None
    return sum(getattr(part.value, "nbytes", table_bytes(part.value) or 0) for part in parts)


def _named(**parts: Any) -> list[Part]:
    return [Part(name, f".{name}", part) for name, part in parts.items()]


def _attributes(value: Any) -> list[Part]:
    return _named(**vars(value)) if hasattr(value, "__dict__") else []


def _of_array(value: Any) -> list[Part] | None:
    """Return the parts of an array that isn't compared as one: masks, fields, objects."""
    if isinstance(value, np.ma.MaskedArray):
        return _named(mask=np.ma.getmaskarray(value), compressed=value.compressed())
    if value.dtype.names is not None:
        return [Part(name, f"[{name!r}]", value[name]) for name in value.dtype.names]
    if value.dtype.hasobject:
        array = np.asarray(value)
        inner = [Part(i, f"{list(i)}", array[i]) for i in np.ndindex(array.shape)]
        return [*inner, *_attributes(value)]
    own = _attributes(value)
    return [*_named(values=np.asarray(value)), *own] if own else None


# -- Objects of libraries ----------------------------------------------------------


def _of_library(value: Any) -> list[Part] | None:
    """Return the parts of tables by the names that their users know."""
    library = type(value).__module__.partition(".")[0]
    reader = _READERS.get(library)
    return None if reader is None or library not in sys.modules else reader(value)


def _of_pandas(value: Any) -> list[Part] | None:
    import pandas as pd  # type: ignore[import-untyped]

    if isinstance(value, pd.DataFrame):
        columns = (value.iloc[:, i] for i in range(value.shape[1]))
        inner = [Part(i, f"[{column.name!r}]", column.array) for i, column in enumerate(columns)]
        return [*_named(index=value.index, columns=value.columns), *inner]
    if isinstance(value, pd.Series):
        return _named(index=value.index, name=value.name, array=value.array)
    if isinstance(value, pd.arrays.NumpyExtensionArray):
        return _named(values=value.to_numpy())
    return None


def _of_polars(value: Any) -> list[Part] | None:
    import polars as pl

    if isinstance(value, pl.DataFrame):
        return [Part(one.name, f"[{one.name!r}]", one) for one in value.get_columns()]
    if isinstance(value, pl.Series):
        missing = value.is_null().to_numpy()
        return _named(
            name=value.name, dtype=str(value.dtype), is_null=missing, values=value.to_numpy()
        )
    return None


def _of_xarray(value: Any) -> list[Part] | None:
    import xarray as xr

    if isinstance(value, xr.Dataset):
        inner = [Part(k, f"[{k!r}]", part) for k, part in value.variables.items()]
        return [*inner, *_named(attrs=value.attrs)]
    if isinstance(value, xr.DataArray):
        inner = [Part(k, f".coords[{k!r}]", part.variable) for k, part in value.coords.items()]
        return [*_named(variable=value.variable, name=value.name), *inner]
    if isinstance(value, xr.Variable):
        return _named(dims=value.dims, data=value.data, attrs=value.attrs)
    return None


def _of_dask(value: Any) -> list[Part] | None:
    """Return what is known of a collection without computing it."""
    names = ("chunks", "dtype", "npartitions")
    return [Part(name, f".{name}", getattr(value, name)) for name in names if hasattr(value, name)]


_READERS = {
    "pandas": _of_pandas,
    "polars": _of_polars,
    "xarray": _of_xarray,
    "dask": _of_dask,
}


# -- Other objects -------------------------------------------------------------


def _of_object(value: Any) -> list[Part] | None:
    """Return the state of an object, as `pickle` finds it, or else its attributes."""
    try:
        reduced = value.__reduce_ex__(4)
    except _NOT_PICKLED:
        return _attributes(value) or None  # A lock, a file, a generator.
    if isinstance(reduced, str):
        return None  # The name of a global.
    return list(_of_reduced(*reduced)) or None


def _of_reduced(
    make: Any,
    args: tuple[Any, ...],
    state: Any = None,
    items: Any = None,
    pairs: Any = None,
    *_: Any,
) -> Iterator[Part]:
    if make.__module__ == copyreg.__name__ and make.__name__ in _PLAIN:
        args = args[1:]
    yield from (Part(f"args[{i}]", f".args[{i}]", part) for i, part in enumerate(args))
    for one in state if _is_pair_of_states(state) else (state,):
        if isinstance(one, dict):
            yield from (Part(name, f".{name}", part) for name, part in one.items())
        elif one is not None:
            yield Part("state", ".state", one)
    yield from (Part(i, f"[{i}]", part) for i, part in enumerate(items or ()))
    yield from (Part(key, f"[{key!r}]", part) for key, part in pairs or ())


def _is_pair_of_states(state: Any) -> bool:
    """Whether it's a state of attributes and one of slots."""
    return (
        isinstance(state, tuple)
        and len(state) == 2
        and (state[0] is None or isinstance(state[0], dict))
        and isinstance(state[1], dict)
    )
