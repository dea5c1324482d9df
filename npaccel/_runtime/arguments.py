"""Classify arguments: the signature key of a call, and arrays as tensors.

The key holds everything about the arguments that compiled code depends on:
the dtype, shape and strides of arrays, the value of Python scalars and
strings, the structure of containers. Objects of other types enter by their
type only; what the function reads of them is guarded.
"""

from __future__ import annotations

import enum
import math
import operator
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._process.imports import loaded
from npaccel._runtime.containers import is_container, is_long, items_of
from npaccel._runtime.opaque import PLAIN, TAKEN, TAKEN_CHARS, is_opaque
from npaccel.errors import MixedDevicesError, UnsupportedArrayError

#: Flags of an array that compiled code depends on: ALIGNED and WRITEABLE.
_FLAGS = 0x100 | 0x400
_WRITEABLE = 0x400

_BY_VALUE = (
    *(type(None), bool, int, str, bytes, type(Ellipsis), type(NotImplemented), range),
    *(type, types.BuiltinFunctionType, types.ModuleType, np.ufunc),
)

#: Part of a signature key.
Token = Any


def signature_key(values: Sequence[Any]) -> tuple[Token, ...]:
    """Return the key of a call's arguments.

    Parameters
    ----------
    values : sequence
        One for every parameter, in the order of the signature.

    Returns
    -------
    tuple
        Hashable. Equal for calls that the same compiled code serves.
    """
    key: list[Token] = []
    for value in values:
        if type(value) is np.ndarray:
            key.append((value.dtype, value.shape, value.strides, value.flags.num & _FLAGS))
        else:
            key.append(call_token(value))
    return tuple(key)


def token(value: Any) -> Token:
    """Return what compiled code depends on of a value.

    Raises
    ------
    UnsupportedArrayError
        For a tensor that isn't a plain strided one.
    """
    return _TOKENS[type(value)](value)


def call_token(value: Any) -> Token:
    """Return the part of a signature key for one argument.

    Of a long container it doesn't tell what that holds: NumPy makes the call, whatever it is.

    Raises
    ------
    UnsupportedArrayError
        For a tensor that isn't a plain strided one.
    """
    return _CALL_TOKENS[type(value)](value)


def array_token(value: np.ndarray[Any, Any]) -> Token:
    """Return the part of the key for an array."""
    return (value.dtype, value.shape, value.strides, value.flags.num & _FLAGS)


def _part_token(value: np.ndarray[Any, Any]) -> Token:
    """Return the part of the key for an array in a container."""
    dtype = value.dtype
    if dtype.char in TAKEN_CHARS:
        return (dtype, value.shape, value.strides, value.flags.num & _FLAGS)
    return _type_token(value)


def _scalar_token(value: np.generic) -> Token:
    dtype = value.dtype
    return ("scalar", dtype) if dtype in TAKEN else _type_token(value)


def usual_key(values: Sequence[Any], key: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return a signature key without the layouts of arrays that are only handed on."""
    if not any(map(is_opaque, values)):
        return key
    return tuple(
        _type_token(value) if is_opaque(value) else part
        for value, part in zip(values, key, strict=True)
    )


def _tensor_token(value: torch.Tensor) -> Token:
    if value.layout is not torch.strided:
        raise UnsupportedArrayError(
            f"jit: a tensor has the layout {value.layout}; only strided tensors can be compiled: "
            "pass tensor.to_dense()"
        )
    layout = (value.dtype, value.shape, value.stride(), value.device)
    return (torch.Tensor, *layout, *tensor_state(value))


def tensor_state(value: torch.Tensor) -> tuple[bool, bool, int]:
    """Return of a tensor what isn't its layout: gradients asked for, lazy bits, where it starts.

    Views with larger elements can't begin anywhere in the memory; 16 bytes have the largest.
    """
    grad = value.requires_grad and torch.is_grad_enabled()
    return grad, is_lazy(value), int(value.storage_offset()) * value.itemsize % 16


def is_lazy(value: torch.Tensor) -> bool:
    """Whether a tensor is conjugated or negated on reading only; see `resolved`."""
    return value.is_conj() or value.is_neg()


def _float_token(value: float) -> Token:
    if value and value == value:  # noqa: PLR0124 (a NaN isn't equal to itself)
        return (float, value)
    return (float, repr(value))


def _tuple_token(value: tuple[Any, ...]) -> Token:
    return (type(value), *map(token, value))


def _dict_token(value: dict[Any, Any]) -> Token:
    return (dict, tuple(value), *map(token, value.values()))


def _call_tuple_token(value: Any) -> Token:
    if is_long(value):
        return ("long", type(value))
    return (type(value), *map(call_token, value))


def _call_dict_token(value: dict[Any, Any]) -> Token:
    if is_long(value):
        return ("long", dict)
    return (dict, tuple(value), *map(call_token, value.values()))


def _value_token(value: Any) -> Token:
    return (type(value), value)


class FunctionKey:
    """Stand-in for all functions of one definition, such as a lambda made at every call.

    What they have from outside, and their defaults, are guards of the code.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.kept = function.__code__, function.__globals__  # So that no other has their ids.
        self.name = function.__qualname__

    def __repr__(self) -> str:
        return f"<function {self.name}>"


_function_keys: dict[tuple[int, int], FunctionKey] = {}


def _function_token(value: types.FunctionType) -> Token:
    ids = id(value.__code__), id(value.__globals__)
    return (types.FunctionType, _function_keys.get(ids) or _new_function_key(ids, value))


def _new_function_key(ids: tuple[int, int], value: types.FunctionType) -> FunctionKey:
    if len(_function_keys) >= _MANY:
        for other, key in list(_function_keys.items()):
            if sys.getrefcount(key) <= _UNUSED:
                del _function_keys[other]
    return _function_keys.setdefault(ids, FunctionKey(value))


#: Number of entries from which those are dropped that nothing uses.
_MANY = 1024
#: References to a key that nothing uses: the dict's, the list's item, the name's and the call's.
_UNUSED = 4


def _type_token(value: Any) -> Token:
    return ("object", type(value))


def _slice_token(value: slice) -> Token:
    return (slice, token(value.start), token(value.stop), token(value.step))


def _make_token(kind: type) -> Callable[[Any], Token]:
    """Choose how values of a type enter the key."""
    if issubclass(kind, np.ndarray):
        if kind is np.memmap:  # Views of it are others than those of an array.
            return lambda value: (np.memmap, *_part_token(value))
        return _part_token if kind in PLAIN else _type_token
    if issubclass(kind, torch.Tensor):
        if kind in (torch.Tensor, torch.nn.Parameter):
            return _tensor_token
        if _is_dtensor(kind):  # Its calls have keys of their own.
            return _type_token
        raise UnsupportedArrayError(
            f"jit: an argument is a {kind.__module__}.{kind.__qualname__}, a tensor subclass; "
            "pass a plain torch.Tensor"
        )
    if issubclass(kind, np.generic):
        if kind.__module__ == "numpy" and np.dtype(kind) in TAKEN:
            return lambda value: ("scalar", value.dtype)
        return _scalar_token
    if kind in _BY_VALUE or issubclass(kind, enum.Enum | np.dtype):
        return _value_token
    return _type_token


class _Tokens(dict[type, Callable[[Any], Token]]):
    """Functions that make the part of a key for a value, by its type.

    Parameters
    ----------
    of_items, of_dict : callable
        Those for lists and tuples, and for dicts.
    """

    def __init__(self, of_items: Callable[[Any], Token], of_dict: Callable[[Any], Token]) -> None:
        super().__init__(
            {
                np.ndarray: _part_token,
                float: _float_token,
                complex: lambda value: (complex, repr(value)),
                tuple: of_items,
                list: of_items,
                dict: of_dict,
                slice: _slice_token,
                types.FunctionType: _function_token,
            }
        )
        self._of_items = of_items

    def __missing__(self, kind: type) -> Callable[[Any], Token]:
        if len(self) >= _MANY:  # Of classes that are made again and again.
            for other in list(self)[_MANY // 2 :]:
                self.pop(other, None)
        is_named = issubclass(kind, tuple) and hasattr(kind, "_fields")
        make = self[kind] = self._of_items if is_named else _make_token(kind)
        return make


_TOKENS = _Tokens(_tuple_token, _dict_token)
_CALL_TOKENS = _Tokens(_call_tuple_token, _call_dict_token)


def _is_dtensor(kind: type) -> bool:
    """Whether a class is that of torch's sharded tensors."""
    module = loaded("torch.distributed.tensor")
    return module is not None and kind is module.DTensor


def is_array(value: Any) -> bool:
    """Whether an argument is computed with: an array, NumPy scalar or tensor."""
    return isinstance(value, np.ndarray | np.generic | torch.Tensor) and not is_opaque(value)


def holds_arrays(value: Any) -> bool:
    """Whether an object is a list, tuple or dict of arrays that have dimensions, some of them."""
    return type(value) in (list, tuple, dict) and any(
        is_array(item) and item.ndim for item in items_of(value)
    )


def holds_items(value: Any) -> bool:
    """Whether an object is a list, tuple or dict of arrays or numbers, which a loop may take."""
    if holds_arrays(value):
        return True
    is_list = type(value) in (list, tuple) and bool(value)
    return is_list and all(type(item) in (int, float, complex, bool) for item in value)


def parts(value: Any, expression: str) -> Iterator[tuple[str, Any]]:
    """Yield an argument and the parts of its containers, each with Python for it."""
    yield expression, value
    if type(value) is dict:
        for name, part in value.items():
            yield from parts(part, f"{expression}[{name!r}]")
    elif is_container(value):
        for i, part in enumerate(value):
            yield from parts(part, f"{expression}[{i}]")


def map_arrays(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the arrays of an argument; containers are rebuilt."""
    return map_leaves(value, lambda leaf: function(leaf) if is_array(leaf) else leaf)


def map_leaves(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to an argument, or to all that its containers hold."""
    if not is_container(value):
        return function(value)
    return map_parts(value, lambda part: map_leaves(part, function))


def map_parts(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to what a container holds itself."""
    if type(value) is dict:
        return {name: function(part) for name, part in value.items()}
    attributes = {
        name: function(part)
        for name, part in getattr(value, "__dict__", {}).items()
        if is_array(part)
    }
    new = [function(part) for part in value]
    if not _is_plain(type(value)) and all(map(operator.is_, new, value)):
        return value  # What is known of an object is known by its identity.
    return with_items(value, new, attributes)


def _is_plain(kind: type) -> bool:
    """Whether a class of tuples or lists is made of the items alone, unlike SciPy's."""
    return kind in (list, tuple) or hasattr(kind, "_make")


def with_items(
    value: Any, items: list[Any], attributes: Mapping[str, Any] = types.MappingProxyType({})
) -> Any:
    """Return a list or a tuple of the same class with other items.

    Parameters
    ----------
    value : list or tuple
    items : list
    attributes : mapping
        Attributes that are others, too: SciPy's tuples have some.
    """
    kind = type(value)
    if kind is list or kind is tuple:
        return kind(items)
    if hasattr(kind, "_make"):
        return kind(*items)
    found = tuple.__new__(kind, items)
    found.__dict__.update({**vars(value), **attributes})
    return found


def rank_key(
    values: Sequence[Any], static: frozenset[int], varying: frozenset[int] = frozenset()
) -> tuple[Token, ...]:
    """Return what calls have in common that one dynamic artifact serves.

    Sizes are left out but for 0 and 1, which compiled code treats specially,
    and numbers are left out. Of varying numbers 0 and 1 aren't special.
    """
    return tuple(
        token(value)
        if i in static
        else type(value)
        if i in varying and type(value) in (int, float)
        else _rank_part(value)
        for i, value in enumerate(values)
    )


def _rank_part(value: Any) -> Token:
    if is_opaque(value):
        return _type_token(value)
    if isinstance(value, np.ndarray):
        flags = value.flags.num & _FLAGS
        return (type(value), value.dtype, _pattern(value.shape), _layout(value), flags)
    if isinstance(value, torch.Tensor):
        layout = (value.is_contiguous(), value.device)
        return (torch.Tensor, value.dtype, _pattern(value.shape), layout, *tensor_state(value))
    if type(value) is int:
        return (int, value if value in (0, 1) else None)
    if type(value) is float:
        if value == 0 and math.copysign(1.0, value) < 0:  # A symbol that is fixed loses the sign.
            return (float, "-0.0")
        return (float, value == value and abs(value) != float("inf"))  # noqa: PLR0124
    if is_container(value):
        names = tuple(value) if type(value) is dict else ()
        return (type(value), names, *map(_rank_part, items_of(value)))
    return token(value)


#: A number, or the shape and strides of an array, in elements.
Sizes = int | float | tuple[tuple[int, ...], tuple[int, ...]]


def sizes(names: Sequence[str], values: Sequence[Any]) -> dict[str, Sizes]:
    """Return the sizes of arrays and the numbers of a call, by what Dynamo calls them."""
    found: dict[str, Sizes] = {}
    for name, value in zip(names, values, strict=True):
        for expression, part in parts(value, f"L[{name!r}]"):
            if type(part) in (int, float):
                found[expression] = part
            elif isinstance(part, torch.Tensor):
                found[expression] = tuple(part.shape), part.stride()
            elif isinstance(part, np.ndarray) and is_array(part) and part.itemsize:
                strides = tuple(stride // part.itemsize for stride in part.strides)
                if min(strides, default=0) >= 0:
                    found[expression] = part.shape, strides
    return found


def _pattern(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(min(n, 2) for n in shape)


def _layout(value: np.ndarray[Any, Any]) -> Token:
    if value.flags.c_contiguous:  # Backwards too, along an axis of one element.
        return "C" if min(value.strides, default=0) >= 0 else "backwards"
    signs = ((stride > 0) - (stride < 0) for stride in value.strides)
    return (*signs, distinct(value) is not value)


# ---------------------------------------------------------------------------
# Arrays as tensors


def readonly(value: np.ndarray[Any, Any]) -> torch.Tensor:
    """The memory of a read-only array as a tensor, which nothing writes to.

    `torch.from_numpy` warns about such arrays; a writeable alias avoids that. It has the dtype's
    usual name, see `renamed`.
    """
    memory = value.__array_interface__ | {"data": (value.__array_interface__["data"][0], False)}
    return torch.from_numpy(np.asarray(Alias(memory, value)))


class Alias:
    """The memory of an array under other flags; keeps the array alive."""

    def __init__(self, interface: dict[str, Any], owner: np.ndarray[Any, Any]) -> None:
        self.__array_interface__ = interface
        self._owner = owner


def copied(value: np.ndarray[Any, Any]) -> torch.Tensor:
    """A copy of the array that torch can take: native, aligned, strides >= 0.

    Elements that are one in memory are one in the copy.
    """
    native = value.dtype.newbyteorder("=")
    once = distinct(value)
    made = renamed(np.array(once, dtype=native, order="K", subok=False))
    if once.ndim == value.ndim:
        return made.expand(value.shape)
    return made.as_strided(value.shape, [stride // value.itemsize for stride in value.strides])


def distinct(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in memory that an array has, each once, if strides say that it repeats some.

    Of stretched arrays, and as a vector of windows over an array; other arrays as they are.
    """
    if value.size < 2 or not value.itemsize:
        return value
    first: Any = tuple(slice(0, 1 if stride == 0 else None) for stride in value.strides)
    once = value[first] if 0 in value.strides else value
    steps = [stride // value.itemsize for stride in once.strides]
    count = 1 + sum((n - 1) * step for n, step in zip(once.shape, steps, strict=True))
    is_plain = all(stride >= 0 and stride % value.itemsize == 0 for stride in once.strides)
    if not is_plain or count >= once.size:
        return once
    return np.lib.stride_tricks.as_strided(once, (count,), (value.itemsize,))


def copy_of(value: Any) -> Any:
    """A copy of an argument that is an array, scalar or tensor, for NumPy to write to."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    once = distinct(value)
    if once is value:
        return value.copy()
    made = once.copy()
    strides = value.strides if once.ndim != value.ndim else _stretched(made, value)
    return np.lib.stride_tricks.as_strided(made, value.shape, strides)


def _stretched(made: np.ndarray[Any, Any], value: np.ndarray[Any, Any]) -> list[int]:
    """The strides of a copy, 0 where those of an array are."""
    pairs = zip(made.strides, value.strides, strict=True)
    return [0 if stride == 0 else own for own, stride in pairs]


def has_other_name(value: np.ndarray[Any, Any]) -> bool:
    """Whether the dtype of an array isn't the usual one of its kind and size."""
    usual = np.dtype(value.dtype.str)
    return bool(value.dtype.isnative and value.dtype.num != usual.num)


def renamed(value: np.ndarray[Any, Any]) -> torch.Tensor:
    """The memory of an array whose dtype may have another name than torch knows it by.

    C has two types of the same size, and NumPy a dtype for each, such as `numpy.ulonglong`.
    """
    return torch.from_numpy(value.view(value.dtype.str))


def has_strides_of(made: torch.Tensor, value: np.ndarray[Any, Any]) -> bool:
    """Whether a tensor lies in memory as the array that it was made of.

    It's a copy where a stride is negative, of an axis of one element as well.
    """
    own = zip(made.stride(), value.strides, value.shape, strict=True)
    return all(
        other >= 0 and (size <= 1 or stride * value.itemsize == other)
        for stride, other, size in own
    )


def scalar(value: np.generic) -> torch.Tensor:
    """A NumPy scalar as a tensor without dimensions."""
    return renamed(np.array(value))


def number(value: float) -> torch.Tensor:
    """A Python float as a tensor without dimensions."""
    return torch.tensor(value, dtype=torch.float64)


def resolved(value: torch.Tensor) -> torch.Tensor:
    """A tensor whose conjugation or negation is still to be done, done."""
    return value.resolve_conj().resolve_neg()


def to_array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor's elements as an array, without gradients: its memory, where it's on the host."""
    return resolved(value.detach().cpu()).numpy()


def tensor(value: torch.Tensor) -> torch.Tensor:
    """The tensor itself."""
    return value


def plain(value: np.ndarray[Any, Any]) -> torch.Tensor:
    """The memory of a `numpy.memmap` as a tensor."""
    return renamed(value.view(np.ndarray))


def to_tensor(value: Any) -> torch.Tensor:
    """An array, NumPy scalar or tensor as a tensor, without a copy where possible."""
    return CONVERTERS[conversion_of(value)](value)


#: Conversions of an array to a tensor, by name.
CONVERTERS: dict[str, Callable[[Any], torch.Tensor]] = {
    "any": to_tensor,
    "copied": copied,
    "direct": torch.from_numpy,
    "number": number,
    "plain": plain,
    "readonly": readonly,
    "renamed": renamed,
    "resolved": resolved,
    "scalar": scalar,
    "tensor": tensor,
}

#: Conversions that always copy.
COPYING = frozenset({"copied", "resolved"})


def conversion_of(value: Any) -> str:
    """Choose how arrays like this one become tensors: a key of `CONVERTERS`."""
    if isinstance(value, torch.Tensor):
        return "resolved" if is_lazy(value) else "tensor"
    if isinstance(value, np.generic):
        return "scalar"
    if not value.dtype.isnative or not value.flags.aligned:
        return "copied"
    if any(stride < 0 or stride % value.itemsize for stride in value.strides):
        return "copied"
    if not value.flags.writeable:
        return "readonly"
    if type(value) is not np.ndarray:
        return "plain"
    return "renamed" if value.dtype in _WITH_OTHER_NAMES else "direct"


def _is_unknown(name: str) -> bool:
    """Whether torch doesn't take arrays of a dtype under a name."""
    try:
        torch.from_numpy(np.empty(0, name))
    except TypeError:
        return True
    return False


#: Dtypes that have another name, under which torch doesn't take them.
_WITH_OTHER_NAMES = frozenset(np.dtype(name) for name in "iIlLqQ" if _is_unknown(name))

#: The most frequent types that neither are tensors nor hold any.
_WITHOUT_PARTS = frozenset([np.ndarray, np.float64, np.int64, np.bool_, float, int, bool, str])


def device_of(values: Sequence[Any]) -> torch.device | None:
    """Return the device of the tensors among the arguments, None without any.

    A CPU tensor without dimensions may go with tensors of any device.

    Raises
    ------
    MixedDevicesError
    """
    devices: dict[torch.device, None] = {}
    zero_d = False
    for i, value in enumerate(values):
        kind = type(value)
        if kind in _WITHOUT_PARTS:
            continue
        if kind in (list, tuple) and _WITHOUT_PARTS.issuperset(map(type, value)):
            continue
        for _, part in parts(value, str(i)):
            if isinstance(part, torch.Tensor):
                if part.ndim == 0 and part.device.type == "cpu":
                    zero_d = True
                else:
                    devices[part.device] = None
    if len(devices) > 1:
        first, second = list(devices)[:2]
        raise MixedDevicesError(
            f"jit: the tensors of one call lie on {first} and {second}; move them to one device "
            f"first, as in t.to({str(first)!r})"
        )
    if devices:
        return next(iter(devices))
    return torch.device("cpu") if zero_d else None
