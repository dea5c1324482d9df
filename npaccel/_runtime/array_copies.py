"""Copies of arrays that lie in memory as the arrays do.

Those that share memory share it in the copies as well, and strides, offset and flags stay:
compiled code depends on all of these.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from npaccel._runtime import arguments

#: Arrays of more bytes in all aren't copied beside a call.
_MOST_BYTES = 1 << 27


class Copies:
    """Copies of a call's arrays, which its caller may change while they're used.

    Parameters
    ----------
    values : sequence
        Of all parameters.

    Attributes
    ----------
    values : list
        With copies in place of arrays; other objects are the caller's.
    are_complete : bool
        Whether all arrays among them are copies. Large ones aren't copied, nor arrays of objects.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        found = {
            id(part): part
            for value in values
            for _, part in arguments.parts(value, "")
            if isinstance(part, np.ndarray)
        }
        arrays = list(found.values())
        bounds = [np.lib.array_utils.byte_bounds(array) for array in arrays]
        self.are_complete = sum(high - low for low, high in bounds) <= _MOST_BYTES and not any(
            array.dtype.hasobject or type(array) is not np.ndarray for array in arrays
        )
        made: dict[int, Any] = {}
        if self.are_complete:
            copy_arrays(arrays, made)
        self.values = [
            arguments.map_arrays(value, lambda part: made.get(id(part), part)) for value in values
        ]


def _owner(array: np.ndarray[Any, Any]) -> Any:
    """Return the object that the memory of an array belongs to."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return owner


def copy_arrays(arrays: Iterable[np.ndarray[Any, Any]], memo: dict[int, Any]) -> None:
    """Copy arrays.

    Parameters
    ----------
    arrays : iterable of ndarray
    memo : dict
        Takes the copies, by the arrays' ids.
    """
    families: dict[int, list[np.ndarray[Any, Any]]] = {}
    for array in arrays:
        families.setdefault(id(_owner(array)), []).append(array)
    for family in families.values():
        if len(family) == 1 and _is_plain(family[0]):
            memo[id(family[0])] = _flagged(family[0].copy(order="K"), family[0])
        elif any(array.dtype.hasobject for array in family):
            memo |= {id(array): copy.deepcopy(array) for array in family}
        else:
            _copy_family(family, memo)


def _is_plain(array: np.ndarray[Any, Any]) -> bool:
    """Whether NumPy's own copy lies in memory as the array does."""
    flags = array.flags
    return (flags.c_contiguous or flags.f_contiguous) and flags.aligned and array.size > 0


def _copy_family(family: list[np.ndarray[Any, Any]], memo: dict[int, Any]) -> None:
    """Copy arrays that share their memory: the part of it that they use, then the views."""
    spans = [np.lib.array_utils.byte_bounds(array) for array in family]
    low = min(span[0] for span in spans)
    shift = low % 64  # Alignment stays as it is.
    memory = np.empty(max(span[1] for span in spans) - low + 128, np.uint8)
    shift += -memory.ctypes.data % 64
    for array in family:
        offset = array.ctypes.data - low + shift
        new: np.ndarray[Any, Any] = np.ndarray(
            array.shape, array.dtype, memory, offset, array.strides
        )
        if array.size:
            arguments.distinct(new)[...] = arguments.distinct(array)
        memo[id(array)] = _flagged(new, array)


def _flagged(new: np.ndarray[Any, Any], array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not array.flags.writeable:
        new.flags.writeable = False
    if isinstance(array, np.memmap) or type(array) is np.ndarray:
        return new
    return new.view(type(array))
