"""Put calls of NumPy into Dynamo's graph, or break it where they aren't implemented."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
import torch.utils._pytree as pytree
from torch._dynamo.exc import ObservedNotImplementedError, Unsupported, UserError, unimplemented
from torch._dynamo.utils import proxy_args_kwargs
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import wrap_fx_proxy
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.lazy import LazyVariableTracker
from torch._dynamo.variables.lists import ListVariable, TupleVariable
from torch._dynamo.variables.misc import NumpyDTypeVariable, NumpyVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable, TensorVariable

from npaccel._numpy.core import table
from npaccel._syntax.wide_data import DTYPES, TENSOR_DTYPES
from npaccel._torch.dynamo.numpy import operations as numpy_operations
from npaccel._torch.dynamo.numpy.layouts import is_surely_new
from npaccel._torch.dynamo.numpy.negative_strides import note_view
from npaccel._torch.dynamo.numpy.opaque_objects import OpaqueVariable
from npaccel._torch.dynamo.numpy.operations import (
    FLAT_OF,
    SCALAR,
    WEAK_NUMBER,
    is_scalar,
    row_operation,
    stored_to,
)
from npaccel._torch.dynamo.python.scalars import on_tensors
from npaccel._torch.dynamo.releases import get_attribute, raised_error
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.alias_checks import is_broadcast
from npaccel._torch.fx_passes.read_only_outputs import is_read_only

#: Dynamo's name of an attribute that isn't there: NumPy raises.
MISSING = "attribute that NumPy's arrays don't have"
#: Dynamo's name of a question that subgraphs of a function answer otherwise than NumPy.
OWNER = "whose memory an array's is"
#: NumPy functions whose result is a constant of the trace, not an array.
_CONSTANT_FUNCTIONS = frozenset(
    f"numpy.{name}"
    for name in (
        *("broadcast_shapes", "can_cast", "common_type", "iscomplexobj", "isdtype", "isrealobj"),
        *("isscalar", "issubdtype", "iterable", "min_scalar_type", "ndim", "promote_types"),
        *("result_type", "shape", "size"),
    )
)
#: Functions that give Python's numbers for those.
_OF_NUMBERS = frozenset({"numpy.imag", "numpy.isreal", "numpy.real"})
#: Functions that call the method of a scalar, which gives a scalar, not the array `out`.
_METHODS_OF_SCALARS = frozenset(
    f"numpy.{name}"
    for name in (
        *("all", "amax", "amin", "any", "argmax", "argmin", "around", "clip", "max", "mean"),
        *("min", "prod", "round", "std", "sum", "take", "var"),
    )
)
#: Calls that make NumPy scalars of 64 bits a part, which aren't weak.
_WIDE_SCALARS = frozenset({"numpy.float64", "numpy.complex128"})
#: Functions that take Python floats as weak operands, besides ufuncs and operators.
_OF_WEAK_NUMBERS = frozenset(
    f"numpy.{name}"
    for name in (
        *("clip", "full", "full_like", "interp", "linspace", "nan_to_num", "ndarray.clip"),
        *("percentile", "polyval", "quantile", "round", "searchsorted", "trapezoid", "where"),
    )
)
#: Powers, which are as sensitive to the exponent as to the base where numbers are complex.
_POWERS = frozenset({"numpy.power", "numpy.float_power", "operator.pow", "operator.ipow"})
#: Functions that make arrays of lists of them.
_ARRAYS_OF = frozenset({"numpy.array", "numpy.asarray", "numpy.asanyarray"})
#: Maximum number of Python's numbers in lists of the caller's that a call takes.
_MOST_NUMBERS = 1_000
#: Calls that give a scalar, not the array `out`, where that has no dimensions.
_OF_VECTORS = frozenset({"numpy.dot", "numpy.ndarray.dot"})


def refuse(what: str, detail: str, reason: str = "") -> NoReturn:
    said = f"{what} has no compiled implementation in npaccel{': ' if reason else '.'}{reason}"
    break_graph("NumPy call without a compiled implementation", said, detail)


def refuse_missing(owner: str, name: str) -> NoReturn:
    break_graph(MISSING, f"{owner} has no attribute `{name}`")


def refuse_owner(name: str, reason: str) -> NoReturn:
    break_graph(OWNER, f"ndarray.{name} has no compiled implementation in npaccel: {reason}")


def break_graph(category: str, explanation: str, context: str = "") -> NoReturn:
    """Leave this place to NumPy: Dynamo's name of the cause, and what the report says."""
    unimplemented(gb_type=category, context=context, explanation=explanation, hints=[])


def emit(tx: Any, operation: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    _check_lists(operation.name, args, kwargs)
    check_stores(operation.name, args, kwargs)
    if operation.name == "operator.getitem" and is_flat(args[0]):
        operation = numpy_operations.FLAT_ITEM
    if operation.may_share:
        # What is made of a NumPy scalar may be written to, the scalar never changes.
        shared = len(args) if operation.name == "numpy.broadcast_arrays" else 1
        args = [
            _copied_scalar(tx, arg) if i < shared and is_scalar_variable(arg) else arg
            for i, arg in enumerate(args)
        ]
    copied_out = _gives_copy_of_out(operation, args, kwargs)
    active.has_wide_data |= _asks_for_wide(operation, args, kwargs)
    args = [_without_builtin(arg) for arg in args]
    kwargs = {name: _without_builtin(value) for name, value in kwargs.items()}
    given = proxy_args_kwargs(args, kwargs)
    found: Any = _with_floats_as_inputs(tx, operation, given)
    if found is None:
        proxy = tx.output.create_proxy("call_function", operation, *given)
        try:
            found = NumpyNdarrayVariable.create(tx, proxy)
        except Unsupported as error:
            refusal = _refusal(error)
            if refusal is None:
                raise
            return refuse(f"this call of {operation.name}", "", refusal)
    if isinstance(found, NumpyNdarrayVariable) and is_surely_new(found.as_proxy().node):
        return _copied(tx, found)
    note_view(found, operation.name, args, kwargs)
    if copied_out:
        return _copied_scalar(tx, found)
    givable = args if operation.may_share else stored_to(operation.name, args, kwargs)
    return _given_back(found, givable)


def _takes_weak_numbers(operation: Any, args: Sequence[Any]) -> bool:
    if operation.name in _ARRAYS_OF:  # A number alone becomes an array, which isn't weak.
        return bool(args) and isinstance(args[0], list | tuple)
    if operation.name in _POWERS:  # NumPy has ways of its own for some exponents.
        return not any(map(_is_complex, args))
    row = table.row_named(operation.name)
    is_ufunc = row is not None and isinstance(row.numpy, np.ufunc)
    return is_ufunc or operation.name in _OF_WEAK_NUMBERS or operation.name.startswith("operator.")


def _is_complex(arg: Any) -> bool:
    value = arg.node.meta.get("example_value") if isinstance(arg, torch.fx.Proxy) else arg
    return isinstance(value, complex) or (isinstance(value, torch.Tensor) and value.is_complex())


def _with_floats_as_inputs(tx: Any, operation: Any, given: tuple[Any, Any]) -> Any:
    """Put a call into the graph whose Python floats are tensors; None where it has none such.

    Symbols that stand for floats become constants wherever torch finds no rule for them, and the
    function is compiled for each value. Where a call needs the number itself, as for a size, it
    stays a symbol.
    """
    if not _takes_weak_numbers(operation, given[0]):
        return None
    leaves, structure = pytree.tree_flatten(given)
    made = [_as_weak_number(tx, leaf) for leaf in leaves]
    if all(one is leaf for one, leaf in zip(made, leaves, strict=True)):
        return None
    args, kwargs = pytree.tree_unflatten(made, structure)
    proxy = tx.output.create_proxy("call_function", operation, args, kwargs)
    try:
        return NumpyNdarrayVariable.create(tx, proxy)
    except (Unsupported, UserError):
        tx.output.remove_node(proxy.node)
        return None


def _as_weak_number(tx: Any, value: Any) -> Any:
    """Return the tensor that holds a Python float, marked as weak; the value where there's none."""
    is_proxy = isinstance(value, torch.fx.Proxy)
    if not is_proxy or not isinstance(value.node.meta.get("example_value"), torch.SymFloat):
        return value
    held = on_tensors(tx, value.node)
    if not isinstance(held, torch.fx.Proxy):
        return value
    if "example_value" not in held.node.meta:
        wrap_fx_proxy(tx, held)
    weak = tx.output.create_proxy("call_function", WEAK_NUMBER, (held,), {})
    wrap_fx_proxy(tx, weak)
    return weak


def _check_lists(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Leave long lists of the caller's to NumPy: each number would be an input, and checked."""
    left = _MOST_NUMBERS
    for arg in (*args, *kwargs.values()):
        left -= _count_read(arg, left)
    if left < 0:
        refuse(
            f"{name} of a list of more than {_MOST_NUMBERS:,} numbers",
            "",
            "each call would check them all; pass an array, np.asarray(a), or make it apart",
        )


def _count_read(variable: Any, most: int) -> int:
    """Count Python's numbers in a list of the caller's, until there are more than `most`.

    Nothing is asked that would make constants of what may change.
    """
    if isinstance(variable, LazyVariableTracker):
        if not variable.is_realized():
            return _count_numbers(variable.peek_value(), most)
        variable = variable.realize()
    if isinstance(variable, ListVariable | TupleVariable):
        return _count_each(variable.items, most, _count_read)
    is_number = isinstance(variable, SymNodeVariable | ConstantVariable)
    return int(is_number and variable.source is not None)


def _count_numbers(value: Any, most: int) -> int:
    if isinstance(value, list | tuple):
        return _count_each(value, most, _count_numbers)
    return int(isinstance(value, int | float | complex))


def _count_each(items: Sequence[Any], most: int, count: Callable[[Any, int], int]) -> int:
    found = 0
    for item in items:
        found += count(item, most - found)
        if found > most:
            break
    return found


def _asks_for_wide(operation: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the user asks for 64-bit floats: ``a.astype(float)``, ``np.float64(x)``."""
    if operation.name in _WIDE_SCALARS:
        return True
    function = operation.function
    place = _place_of(function, "dtype") if callable(function) else len(args)  # A draw has a name.
    named = [("dtype" if i == place else "", arg) for i, arg in enumerate(args)]
    return any(_is_wide_dtype(word, _realized(arg)) for word, arg in (*named, *kwargs.items()))


def _is_wide_dtype(word: str, variable: Any) -> bool:
    """Whether an argument is a dtype of 64 bits a part; a text only where a dtype is expected."""
    if isinstance(variable, NumpyDTypeVariable | NumpyVariable):
        value = variable.value
    elif isinstance(variable, BuiltinVariable):
        value = variable.fn
    elif word in ("dtype", "signature") and variable.is_python_constant():
        value = variable.as_python_constant()
        if word == "signature":
            return (isinstance(value, str) and bool({*"dD"} & {*value})) or isinstance(value, tuple)
    else:
        return False
    if isinstance(value, torch.dtype):
        return value in TENSOR_DTYPES
    is_scalar_type = isinstance(value, type) and issubclass(value, float | complex | np.generic)
    if not (is_scalar_type or isinstance(value, str | np.dtype)):
        return False
    try:
        return np.dtype(value).newbyteorder("=") in DTYPES
    except TypeError:  # NumPy knows no such dtype, and says so.
        return False


def wide_nodes(graph: torch.fx.Graph) -> bool:
    """Whether there are arrays of 64-bit floats in a graph.

    Where floats are narrowed nothing invents such arrays. A number without dimensions may be
    computed of Python numbers.
    """
    values = (node.meta.get("example_value") for node in graph.nodes)
    return any(
        isinstance(part, torch.Tensor) and part.ndim and part.dtype in TENSOR_DTYPES
        for value in values
        for part in (value if isinstance(value, list | tuple) else (value,))
    )


def _given_back(found: Any, args: Sequence[Any]) -> Any:
    """Return the argument itself where a call gives it back, as ``a.real`` of real numbers.

    Two variables would be two arrays where they leave the graph. Calls that make a new array,
    or a new number, never give one back: a fault of such a call must stay at its line.
    """
    for arg in args if isinstance(found, NumpyNdarrayVariable) else ():
        given = _realized(arg)
        if isinstance(given, NumpyNdarrayVariable) and example_of(given) is example_of(found):
            same = is_scalar_variable(given) == is_scalar_variable(found)
            return given if same else found
    return found


def check_stores(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Break the graph where a call stores to what NumPy lets nobody write to."""
    args = [_realized(arg) for arg in args]
    kwargs = {word: _realized(value) for word, value in kwargs.items()}
    for target in stored_to(name, args, kwargs):
        many = isinstance(target, ListVariable | TupleVariable)
        for one in map(_realized, target.items) if many else (target,):
            if isinstance(one, NumpyNdarrayVariable):
                _check_writeable(one.as_proxy().node, name)


def _check_writeable(target: torch.fx.Node, name: str) -> None:
    if is_scalar(target):
        refuse("storing to a NumPy scalar", name, "NumPy decides what it does with it")
    if is_broadcast(target):
        why = "its elements share memory, and NumPy decides which value stays"
        refuse("storing to a broadcast array", name, why)
    if is_read_only(target):
        what = "storing to a diagonal, a broadcast array, a window, or `imag` of real numbers"
        refuse(what, name, "NumPy lets none")


def _copied(tx: Any, variable: Any, is_scalar: bool = False) -> Any:
    copied = tx.output.create_proxy("call_function", torch.clone, (variable.as_proxy(),), {})
    if is_scalar:
        copied.node.meta[SCALAR] = True
    return NumpyNdarrayVariable.create(tx, copied)


def copied(tx: Any, variable: Any) -> Any:
    """Return an array as it is now, a scalar as a scalar."""
    return _copied(tx, variable, is_scalar=is_scalar_variable(variable))


def _copied_scalar(tx: Any, variable: Any) -> Any:
    return _copied(tx, variable, is_scalar=True)


def _gives_copy_of_out(operation: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether NumPy returns a scalar where it was given an `out`: from methods of scalars."""
    name = operation.name
    if name not in _OF_VECTORS:
        if name not in _METHODS_OF_SCALARS and not name.startswith("numpy.ndarray."):
            return False
        if not args or not is_scalar_variable(args[0]):
            return False
    place = _place_of(operation.function, "out")
    out = _realized(kwargs.get("out", args[place] if place < len(args) else None))
    if not isinstance(out, NumpyNdarrayVariable):
        return False
    return name not in _OF_VECTORS or not example_of(out).ndim


@functools.cache
def _place_of(function: Callable[..., Any], parameter: str) -> int:
    names = list(inspect.signature(function).parameters)
    return names.index(parameter) if parameter in names else len(names)


def _realized(variable: Any) -> Any:
    return variable.realize() if isinstance(variable, LazyVariableTracker) else variable


def _without_builtin(variable: Any) -> Any:
    """Return a variable that a graph can hold: Dynamo has no form for the type `complex`."""
    variable = _realized(variable)
    if isinstance(variable, BuiltinVariable) and variable.fn is complex:
        return NumpyDTypeVariable(np.dtype(complex))
    return variable


def is_flat(variable: Any) -> bool:
    """Whether a variable stands for ``a.flat``."""
    return isinstance(variable, NumpyNdarrayVariable) and FLAT_OF in variable.as_proxy().node.meta


def is_answer(variable: Any) -> bool:
    """Whether a variable stands for a number of Python's that NumPy computed: `np.allclose`."""
    is_array = isinstance(variable, NumpyNdarrayVariable)
    return is_array and numpy_operations.is_python_number(variable.as_proxy().node)


def is_scalar_variable(variable: Any) -> bool:
    return isinstance(variable, NumpyNdarrayVariable) and is_scalar(variable.as_proxy().node)


def _is_array_variable(variable: Any) -> bool:
    return isinstance(variable, NumpyNdarrayVariable) and not is_scalar_variable(variable)


def emit_operator(tx: Any, op: Callable[..., Any], args: list[Any]) -> Any:
    operation = numpy_operations.operator_operation(op)
    if op is operator.pow and _is_array_variable(args[0]):
        operation = numpy_operations.POWER_OF_ARRAY
    assert operation is not None
    return emit(tx, operation, args, {})


def assign(tx: Any, name: str, array: Any, value: Any) -> bool:
    row = table.row_named(f"numpy.ndarray.{name}.__set__")
    if row is None or is_scalar_variable(array):
        return False
    emit(tx, row_operation(row), [array, value], {})
    return True


def _refusal(error: BaseException | None) -> str | None:
    """Return what an implementation says of arguments that it can't compute, if it raises that."""
    while error is not None:
        if isinstance(error, NotImplementedError):
            return " ".join(str(error).split())
        error = error.__cause__ or error.__context__
    return None


def example_of(variable: Any) -> Any:
    """The value of a variable as far as a trace knows it: fake tensors, constants."""
    if isinstance(variable, TensorVariable | SymNodeVariable):
        return variable.as_proxy().node.meta["example_value"]
    if isinstance(variable, ListVariable | TupleVariable):
        return variable.python_type()(example_of(item.realize()) for item in variable.items)
    if isinstance(variable, OpaqueVariable):
        variable.as_proxy()  # Says what it is.
    return variable.as_python_constant()


def build_constant(tx: Any, value: Any) -> Any:
    if isinstance(value, np.dtype):
        return NumpyDTypeVariable(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return NumpyVariable(value)
    if isinstance(value, tuple):
        value = tuple(value)
    return VariableTracker.build(tx, value)


def call_row(tx: Any, row: table.Row, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if row.status != "compiled":
        return refuse(row.name, f"args: {args}, kwargs: {kwargs}", row.reason)
    for name in set(kwargs) & set(row.unsupported):
        return refuse(f"`{name}` of {row.name}", "", "call it without this parameter")
    if row.inlined:
        function = VariableTracker.build(tx, row.implementation)
        return inlined(tx, function, row.name, args, kwargs)
    if row.name in _OF_NUMBERS and len(args) == 1:
        found = _part_of_number(tx, row, _realized(args[0]))
        if found is not None:
            return found
    if row.name == "numpy.isscalar" and isinstance(
        array := _realized(args[0]), NumpyNdarrayVariable
    ):
        return build_constant(tx, is_scalar_variable(array))
    if row.name in _CONSTANT_FUNCTIONS:
        try:
            values = [example_of(arg) for arg in args]
            named = {name: example_of(value) for name, value in kwargs.items()}
            with tx.output.fake_mode:
                found = row.implementation(*values, **named)
        except NotImplementedError as error:
            return refuse(f"this call of {row.name}", "", " ".join(str(error).split()))
        if _has_symbols(found) and len(args) == 1 and not kwargs:
            array = _realized(args[0])
            if isinstance(array, NumpyNdarrayVariable):
                return get_attribute(array, tx, row.name.rpartition(".")[2])
        return build_constant(tx, found)
    return emit(tx, row_operation(row), list(args), kwargs)


def _part_of_number(tx: Any, row: table.Row, number: Any) -> Any:
    """Return a part of a Python number, a Python number too; None if the argument is an array."""
    if is_answer(number):
        return refuse(f"{row.name} of a Python number that is computed", "")
    if number.is_python_constant():
        value = number.as_python_constant()
        is_number = isinstance(value, int | float | complex)
        return build_constant(tx, row.numpy(value)) if is_number else None
    if not isinstance(number, SymNodeVariable):
        return None
    kind = number.python_type()
    if kind is bool:
        return refuse(f"{row.name} of a Python bool that is computed", "")
    return number if row.name == "numpy.real" else build_constant(tx, row.numpy(kind()))


def _has_symbols(found: Any) -> bool:
    """Whether a size or a shape isn't known yet: the graph has to ask the array for it."""
    sizes = found if isinstance(found, tuple) else (found,)
    return any(isinstance(size, torch.SymInt) for size in sizes)


def inlined(
    tx: Any, function: VariableTracker, name: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Trace a function as the user's own; what it refuses breaks the graph at the call."""
    try:
        return function.call_function(tx, args, kwargs)
    except ObservedNotImplementedError:
        said = raised_error(tx).args
    text = said[0].as_python_constant() if said and said[0].is_python_constant() else ""
    return refuse(f"this call of {name}", "", text)
