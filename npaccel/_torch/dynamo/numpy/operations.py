"""Nodes that stand in a graph for calls of NumPy, and whether a result is a NumPy scalar."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.variables.base import VariableTracker

from npaccel._numpy.core import operators, table
from npaccel._numpy.core.context import settings, tracing
from npaccel._numpy.core.dtypes import (
    are_numbers,
    cast,
    dtype_of,
    is_array,
    narrow,
    to_numpy,
    weak_number,
)
from npaccel._numpy.core.dtypes import is_scalar as is_number
from npaccel._numpy.indexing.indexing import getitem, item, setitem
from npaccel._runtime.outputs import IsScalar
from npaccel._runtime.torch.symbolic_sizes import leave_unbound, raise_refusal
from npaccel._syntax.wide_data import is_wide
from npaccel._torch.dynamo.python import scalars as python_numbers

#: Functions that call the method of the same name, which gives a scalar for a scalar.
_KEEP_SCALARS = frozenset(
    f"numpy.{name}"
    for name in (
        *("astype", "diff", "imag", "real", "reshape", "squeeze", "transpose", "trim_zeros"),
    )
)
#: Methods that call a ufunc where an array is complex, and give the array itself where it's real.
_SCALAR_IF_COMPLEX = frozenset({"conj", "conjugate"})
#: Methods of a NumPy scalar that give an array all the same.
_ARRAY_FROM_SCALAR = frozenset({"flatten", "ravel", "repeat"})
#: Names of the in-place operators.
INPLACE = frozenset(f"operator.{op.__name__}" for op in operators.INPLACE)
#: The end of the name of the operation by which an array is shuffled.
IN_PLACE = "in_place"
#: Key of a node's meta: whether NumPy has a scalar there, not an array.
SCALAR = python_numbers.SCALAR
#: Key of the meta of ``a.flat``: the variable of a.
FLAT_OF = "npaccel_flat_of"
#: Key of an input's meta: whether it's a copy of the caller's array, with other strides.
RESTRIDED = "npaccel_restrided"


class Operation:
    """The target of a graph node: one NumPy call.

    Parameters
    ----------
    name : str
        NumPy's name of it, for graphs and reports.
    function : callable
        npaccel's computation on tensors.
    zero_d : callable
        Given whether each argument is a NumPy scalar, says whether a result
        without dimensions is one.
    may_share : bool
        Whether a result may share memory with the first argument.
    of_python : callable
        Given a node, says whether a scalar is a number of Python's.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        zero_d: Callable[..., bool],
        may_share: bool = False,
        of_python: Callable[[torch.fx.Node], bool] = lambda node: False,
    ) -> None:
        self.of_python = of_python
        self.name = name
        self.function = function
        self.zero_d = zero_d
        self.may_share = may_share
        self.__name__ = "numpy_" + name.removeprefix("numpy.").replace(".", "_")

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            found = _of_numbers(self, args, kwargs)
            if found is None:
                found = self.function(*args, **kwargs)
        except Exception as error:
            raise_refusal(error)
            raise
        leave_unbound(args if found is None else found)
        return _without_wide_arrays(found) if settings().narrow else found


def _of_numbers(operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Compute numbers of Python numbers in 64 bit: ``np.mean([a, b])``; None where it isn't that.

    Such numbers are weak where floats are narrowed.
    """
    if operation.may_share or not settings().narrow:
        return None
    leaves = [leaf for value in (*args, *kwargs.values()) for leaf in _leaves(value)]
    operands = [dtype_of(leaf) for leaf in leaves if is_number(leaf) or is_array(leaf)]
    if not operands or not are_numbers(operands):
        return None
    with tracing(dataclasses.replace(settings(), default_float="float64")):
        found = operation.function(*args, **kwargs)
    parts = found if isinstance(found, tuple | list) else (found,)
    return found if all(getattr(part, "ndim", 1) == 0 for part in parts) else None


def _without_wide_arrays(found: Any) -> Any:
    """Narrow arrays that are made of weak numbers of 64 bit: ``np.append(x, np.sqrt(2.0))``."""
    if isinstance(found, tuple | list):
        parts = map(_without_wide_arrays, found)
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    if not isinstance(found, torch.Tensor) or not found.ndim:
        return found
    return cast(found, narrow(to_numpy(found.dtype), ())) if is_wide(found) else found


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]


#: `x.item()` of an array without dimensions.
VALUE = Operation("python.item", python_numbers.value_of, lambda node, flags: False)

#: A Python float of the program's as an operand: a tensor, which is no constant of the graph.
WEAK_NUMBER = Operation("python.float", weak_number, lambda node, flags: True)


def is_scalar(node: torch.fx.Node) -> bool:
    """Whether NumPy has a scalar where a graph has this node."""
    known = node.meta.get(SCALAR)
    if known is None:
        if isinstance(node.target, Operation):
            flags = [isinstance(a, torch.fx.Node) and is_scalar(a) for a in node.args]
            known = node.target.zero_d(node, flags)
        elif node.target is operator.getitem and isinstance(node.args[0], torch.fx.Node):
            known = is_scalar(node.args[0])
        else:
            known = False
        value = node.meta.get("example_value")
        known = bool(known) and not (isinstance(value, torch.Tensor) and value.ndim)
        node.meta[SCALAR] = known
    return bool(known)


def is_python_number(node: torch.fx.Node) -> bool:
    """Whether NumPy has a number of Python's where a graph has this node: `np.allclose`."""
    return isinstance(node.target, Operation) and node.target.of_python(node) and is_scalar(node)


def stored_to(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the arguments that a call stores to; what stands for None is among them.

    Parameters
    ----------
    name : str
        NumPy's name of the call.
    args : sequence
    kwargs : mapping
        The arguments, in any form.
    """
    switch = _SWITCHES.get(name)
    if switch is not None and switch.of(args, kwargs) != switch.stores:
        return []
    places = _stored_places(name)
    found = [args[place] for place, _ in places if place < len(args)]
    return found + [kwargs[word] for word in {"out", *(word for _, word in places)} & set(kwargs)]


#: Stores of items: as the user writes them, and where items at a mask are stored at that mask.
_STORES = ("operator.setitem", "masked.setitem")


@functools.cache
def _stored_places(name: str) -> tuple[tuple[int, str], ...]:
    """Return the positions and names of the parameters that a call stores to."""
    if name in _STORES or name in INPLACE or name.endswith(f".{IN_PLACE}"):
        return ((0, ""),)
    row = table.row_named(name)
    if row is None:
        return ()
    kinds = inspect.signature(row.implementation).parameters.values()
    words = [one.name if one.kind is one.POSITIONAL_OR_KEYWORD else "" for one in kinds]
    places = {*row.mutates, *([words.index("out")] if "out" in words else [])}
    return tuple((i, words[i] if i < len(words) else "") for i in sorted(places))


@dataclasses.dataclass(frozen=True)
class _Switch:
    """The parameter that decides whether a call stores to its first argument."""

    place: int
    word: str
    default: bool
    stores: bool

    def of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        given = args[self.place] if self.place < len(args) else kwargs.get(self.word, self.default)
        return bool(given.as_python_constant() if isinstance(given, VariableTracker) else given)


_SWITCHES = {
    "numpy.nan_to_num": _Switch(1, "copy", default=True, stores=False),
    "numpy.ndarray.byteswap": _Switch(1, "inplace", default=False, stores=True),
}


def scalar_results(graph: torch.fx.Graph) -> list[IsScalar]:
    """Say for each output of a captured graph whether NumPy has a scalar there."""
    outputs = next(node for node in graph.nodes if node.op == "output").args[0]
    return [_kind_of_result(out) for out in outputs]


def _kind_of_result(out: Any) -> IsScalar:
    if isinstance(out, torch.fx.Node) and out.meta.get(python_numbers.NUMBER):
        return "number"
    if not isinstance(out, torch.fx.Node) or not is_scalar(out):
        return False
    return "python" if is_python_number(out) else True


def row_operation(row: table.Row) -> Operation:
    keeps = row.name in _KEEP_SCALARS

    def kind(node: torch.fx.Node) -> str:
        if row.zero_d_of is None:
            return row.zero_d
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), _example_of)
        return row.zero_d_of(*args, **kwargs)

    def zero_d(node: torch.fx.Node, flags: list[bool]) -> bool:
        return kind(node) != "array" or bool(keeps and flags and flags[0])

    may_share = row.zero_d == "array"
    return Operation(
        row.name, row.implementation, zero_d, may_share, lambda node: kind(node) == "python"
    )


def _example_of(node: torch.fx.Node) -> Any:
    return node.meta.get("example_value")


def method_operation(row: table.Row, name: str) -> Operation:
    def zero_d(node: torch.fx.Node, flags: list[bool]) -> bool:
        if row.zero_d == "scalar" or (name in _SCALAR_IF_COMPLEX and _is_complex(node.args[0])):
            return True
        return bool(flags and flags[0]) and name not in _ARRAY_FROM_SCALAR

    return Operation(row.name, row.implementation, zero_d, row.zero_d != "scalar")


def _is_complex(node: Any) -> bool:
    value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else node
    return isinstance(value, torch.Tensor) and value.is_complex()


def _getitem_zero_d(node: torch.fx.Node, flags: list[bool]) -> bool:
    key = node.args[1]
    parts = key if isinstance(key, tuple) else (key,)
    return not any(part is Ellipsis for part in parts)


def _inplace_zero_d(node: torch.fx.Node, flags: list[bool]) -> bool:
    return flags[0]


@functools.cache
def operator_operation(op: Callable[..., Any]) -> Operation | None:
    """Return the operation behind a function of Python's `operator` module."""
    name = f"operator.{op.__name__}"
    if op is operator.getitem:
        return Operation(name, _item_or_view, _getitem_zero_d, may_share=True)
    if op is torch.select:  # Dynamo's form of a[i] for a symbolic i
        return Operation("operator.getitem", _selected, lambda node, flags: True)
    if op is operator.setitem:
        return Operation(name, setitem, lambda node, flags: False)
    if op in operators.INPLACE:
        return Operation(name, functools.partial(_inplace, op), _inplace_zero_d)
    if op in operators.UNARY:
        return Operation(name, functools.partial(operators.unary, op), lambda node, flags: True)
    if op in operators.BINARY:
        return Operation(name, functools.partial(operators.binary, op), lambda node, flags: True)
    return None


#: ``a ** b`` of an array that may have no dimensions.
POWER_OF_ARRAY = Operation(
    "operator.pow",
    functools.partial(operators.power, of_array=True),
    lambda node, flags: True,
)


def _item_or_view(a: torch.Tensor, key: Any) -> torch.Tensor:
    """``a[key]``; a NumPy scalar keeps its value when the array is written to."""
    found = item(a, key)
    parts = key if isinstance(key, tuple) else (key,)
    if not found.ndim and not any(part is Ellipsis for part in parts):
        return found.clone()
    return a[...] if found is a else found  # A view is another object than its array.


def _flat_item(a: torch.Tensor, key: Any) -> torch.Tensor:
    """``a.flat[key]``: a copy."""
    return getitem(a, key).clone()


#: ``a.flat[key]``
FLAT_ITEM = Operation("numpy.flatiter.__getitem__", _flat_item, _getitem_zero_d)


def _selected(a: torch.Tensor, axis: int, index: Any) -> torch.Tensor:
    """``a[index]`` for an index that is a symbol."""
    return _item_or_view(a, (slice(None),) * axis + (index,))


def _inplace(op: Callable[..., Any], a: Any, b: Any) -> Any:
    """``a op= b``; a NumPy scalar or a Python number on the left is rebound."""
    if not isinstance(a, torch.Tensor):
        return operators.binary(operators.INPLACE[op], a, b)
    return operators.inplace(op, a, b)
