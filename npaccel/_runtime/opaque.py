"""Arguments that compiled code hands on but can't compute with, and what is said of them.

Arrays of dtypes that torch lacks, subclasses of ndarray, and other libraries' objects that hold
arrays. A function that leaves them alone is compiled.
"""

from __future__ import annotations

import enum
import sys
from typing import Any

import numpy as np
import torch

#: Kinds of dtypes that compiled code computes with.
TORCH_DTYPES = frozenset(
    np.dtype(name)
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
)
#: The same, in the byte order of other machines too.
TAKEN = TORCH_DTYPES | {dtype.newbyteorder("S") for dtype in TORCH_DTYPES}
#: NumPy's names of them, whatever their byte order; more than one where C has two types.
TAKEN_CHARS = frozenset(char for char in np.typecodes["All"] if np.dtype(char) in TAKEN)
#: Classes of arrays whose operations are ndarray's.
PLAIN = (np.ndarray, np.memmap)
_ARRAYS = np.ndarray | np.generic


class Kind(enum.Enum):
    """Reason why compiled code can't compute with something."""

    DTYPE = "dtype"
    SUBCLASS = "subclass"
    LIBRARY = "library"


def is_opaque(value: Any) -> bool:
    """Whether a value is an array, or a scalar, of NumPy's that torch has no counterpart of."""
    if not isinstance(value, _ARRAYS):
        return False
    return value.dtype not in TAKEN or not (type(value) in PLAIN or isinstance(value, np.generic))


def kind_of(value: Any) -> Kind | None:
    """Return why compiled code can't compute with something that has arrays, None if it can."""
    if isinstance(value, _ARRAYS):
        if not is_opaque(value):
            return None
        is_plain = type(value) in PLAIN or isinstance(value, np.generic)
        return Kind.DTYPE if is_plain else Kind.SUBCLASS
    return Kind.LIBRARY if _is_librarys(type(value)) else None


def _is_librarys(kind: type) -> bool:
    """Whether a class is that of another library's arrays, tables or sparse matrices."""
    has_arrays = hasattr(kind, "__array__") or hasattr(kind, "toarray")
    return has_arrays and not issubclass(kind, torch.Tensor) and _package(kind) in LIBRARIES


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


#: Packages of array-like objects whose own code isn't looked into.
LIBRARIES = frozenset(
    {"cupy", "dask", "geopandas", "jax", "jaxlib", "modin", "pandas", "polars", "pyarrow"}
    | {"scipy", "sparse", "xarray"}
)


def described(value: Any) -> str:
    """Say what a value is, and why compiled code can't compute with it."""
    name = _full_name(type(value))
    why = kind_of(value)
    if why is Kind.DTYPE:
        of = "an array of" if isinstance(value, np.ndarray) else "a scalar of"
        return f"{of} dtype {value.dtype}, which can't be compiled"
    if why is Kind.SUBCLASS:
        return f"{_article(name)} {name}, whose operations may differ from ndarray's"
    return f"{_article(name)} {name}, which can't be compiled"


def _full_name(kind: type) -> str:
    """Return the shortest name under which a class is found in its package."""
    parts = kind.__module__.split(".")
    for i in range(1, len(parts)):
        module = ".".join(parts[:i])
        if getattr(sys.modules.get(module), kind.__name__, None) is kind:
            return f"{module}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def _article(name: str) -> str:
    return "an" if name[0] in "aeio" else "a"


def advice(value: Any, name: str) -> str:
    """Say what to pass instead of a value.

    Parameters
    ----------
    value : object
    name : str
        What the user calls it; empty where it has no name.
    """
    name = name or "a"
    why = kind_of(value)
    if why is Kind.LIBRARY:
        method = next((m for m in ("to_numpy", "toarray") if hasattr(type(value), m)), None)
        made = f"{name}.{method}()" if method else f"np.asarray({name})"
        return f"pass its numbers, {made}, or what of them is computed with"
    if isinstance(value, np.ma.MaskedArray):
        return f"pass {name}.filled(np.nan), or {name}.data and {name}.mask"
    if why is Kind.SUBCLASS:
        return f"pass np.asarray({name}) if plain ndarray operations are meant"
    return f"convert it before the call, as in {_converted(value, name)}"


def _converted(value: Any, name: str) -> str:
    dtype = value.dtype
    if dtype.names:
        return f"{name}[{dtype.names[0]!r}]"
    if dtype.kind in "Mm":
        return f"{name}.astype(np.int64)"
    if dtype.kind in "USTV" and isinstance(value, np.ndarray):
        return f"np.unique({name}, return_inverse=True)[1]"
    if dtype.kind in "USTV":
        return f"{name}.item()"
    return f"{name}.astype(np.{'complex128' if dtype.kind == 'c' else 'float64'})"


__all__ = [
    "LIBRARIES",
    "PLAIN",
    "TAKEN",
    "TAKEN_CHARS",
    "TORCH_DTYPES",
    "Kind",
    "advice",
    "described",
    "is_opaque",
    "kind_of",
]
