"""Kinds of calls and of their results, on which the tiers of a function depend."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime import arguments
from npaccel._runtime.containers import is_container
from npaccel._runtime.kinds import ARRAYS
from npaccel._runtime.options import Options
from npaccel._syntax import wide_data

Key = tuple[Any, ...]

#: Maximum number of elements of a container that a kind depends on.
LOOKED_AT = 4
#: Types of arguments that hold no array.
NUMBERS = frozenset({int, float, complex, bool, str, bytes, type(None)})

_ITERABLES = (list, tuple, set, frozenset)


def kind(values: Iterable[Any]) -> Key:
    """Return what calls of one bucket have in common: types, dtypes, ranks, sizes by a factor of 2.

    Parameters
    ----------
    values : iterable
    """
    key: list[Any] = []
    for value in values:
        of = type(value)
        if of is np.ndarray:
            key.append((value.dtype, value.ndim, value.size.bit_length()))
        elif of is int:
            key.append(value.bit_length())
        elif of is float:
            key.append(float)
        else:
            key.append(_kind_of_other(value))
    return tuple(key)


def _kind_of_other(value: Any) -> Any:
    of = type(value)
    if isinstance(value, np.ndarray):
        return of, value.dtype, value.ndim, value.size.bit_length()
    if isinstance(value, np.generic):
        return value.dtype
    if isinstance(value, torch.Tensor):
        return of, value.dtype, value.ndim, value.numel().bit_length()
    if of in (list, tuple):
        return of, len(value).bit_length(), kind(value[:LOOKED_AT])
    if of is dict:
        return of, len(value).bit_length(), kind(itertools.islice(value.values(), LOOKED_AT))
    if of in (str, bytes, set, frozenset, bytearray):
        return of, len(value).bit_length()
    return of


def without_defaults(function: types.FunctionType, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a call that leaves defaults out."""
    defaults = function.__defaults__ or ()
    end = len(values)
    for value, default in zip(reversed(values), reversed(defaults), strict=False):
        if value is not default:
            break
        end -= 1
    return values[:end]


def has_to_compile(options: Options, values: Sequence[Any]) -> bool:
    """Whether NumPy can't make a call as the compiled function would."""
    if options.narrow_inputs or torch.is_inference_mode_enabled():
        return True
    parts = (part for value in values for _, part in arguments.parts(value, ""))
    return any(isinstance(part, torch.Tensor) for part in parts)


def makes_wide(result: Any) -> bool:
    """Whether there are 64-bit floats in a result."""
    if type(result) in wide_data.PLAIN:
        return False
    if isinstance(result, ARRAYS):
        return wide_data.is_wide(result)
    if isinstance(result, _ITERABLES):
        return any(map(makes_wide, result))
    if isinstance(result, dict):
        return any(map(makes_wide, result.values()))
    return wide_data.holds_wide(result)


def is_separate(result: Any) -> bool:
    """Whether a result is arrays and numbers, of which none shares memory with another."""
    found = [part for _, part in arguments.parts(result, "") if not is_container(part)]
    arrays = [part for part in found if isinstance(part, np.ndarray)]
    known = sum(type(part) in NUMBERS or isinstance(part, np.generic) for part in found)
    if len(arrays) + known < len(found):
        return False
    return not any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2))


__all__ = [
    "LOOKED_AT",
    "NUMBERS",
    "Key",
    "has_to_compile",
    "is_separate",
    "kind",
    "makes_wide",
    "without_defaults",
]
