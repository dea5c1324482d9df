"""Make Dynamo trace NumPy calls into npaccel's table instead of `torch._numpy`.

Dynamo's own classes are patched once. A patch acts only in a thread that is
capturing for npaccel, so `torch.compile` used directly stays as it is.

Read from torch/_dynamo/variables/{misc,tensor,builtin,builder}.py,
torch/_dynamo/utils.py and torch/_dynamo/codegen.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
import torch._dynamo.codegen as dynamo_codegen
import torch._dynamo.utils as dynamo_utils
import torch._dynamo.variables.builder as dynamo_builder
import torch._dynamo.variables.builtin as dynamo_builtin
import torch._numpy._util as tnp_util
from torch._dynamo import trace_rules
from torch._dynamo.exc import ObservedNotImplementedError, Unsupported, unimplemented
from torch._dynamo.source import AttrSource
from torch._dynamo.utils import proxy_args_kwargs
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.lazy import LazyVariableTracker
from torch._dynamo.variables.lists import ListVariable, TupleVariable
from torch._dynamo.variables.misc import NumpyDTypeVariable, NumpyVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable, TensorVariable

from npaccel import _numpy, _results
from npaccel._arguments import how_converted, to_tensor
from npaccel._numpy import _operators, _table
from npaccel._numpy._context import settings
from npaccel._numpy._indexing import getitem, setitem
from npaccel._numpy._methods import attribute
from npaccel._results import IsScalar
from npaccel._torch_internals import (
    numpy_assignments,
    numpy_objects,
    numpy_slots,
    python_numbers,
    random_tracing,
)
from npaccel._torch_internals.sizes import leave_unbound

#: Attributes of ndarray that are constants of a trace.
_CONSTANT_ATTRIBUTES = frozenset(
    {"device", "dtype", "itemsize", "nbytes", "ndim", "shape", "size", "strides"}
)
#: NumPy functions whose result is a constant of the trace, not an array.
_CONSTANT_FUNCTIONS = frozenset(
    f"numpy.{name}"
    for name in (
        *("broadcast_shapes", "can_cast", "common_type", "iscomplexobj", "isdtype", "isrealobj"),
        *("isscalar", "issubdtype", "iterable", "min_scalar_type", "ndim", "promote_types"),
        *("result_type", "shape", "size"),
    )
)
#: Functions that call the method of the same name, which gives a scalar for a scalar.
_KEEP_SCALARS = frozenset(
    f"numpy.{name}" for name in ("astype", "imag", "real", "reshape", "squeeze", "transpose")
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
#: Methods of a NumPy scalar that give an array all the same.
_ARRAY_FROM_SCALAR = frozenset({"flatten", "ravel", "repeat"})


_RANDOM = "numpy.random."
#: In a node's meta: whether NumPy has a scalar there, not an array.
_SCALAR = "numpy_scalar"
#: In an input's meta: whether it's a copy of the caller's array, with other strides.
RELAID = "npaccel_relaid"


#: Why what follows isn't compiled.
_NOT_SHARED = (
    "it's a reversed view, or of another byte order: compiled code would have a copy of it, "
    "and what is written there would be lost"
)


class _Active(threading.local):
    depth = 0
    pieces = False
    draws = False
    scalars: frozenset[int] = frozenset()
    relaid: frozenset[int] = frozenset()


_active = _Active()
_install_lock = threading.Lock()
_installed = False


@contextlib.contextmanager
def numpy_traced(
    scalars: Iterable[torch.Tensor] = (),
    relaid: Iterable[torch.Tensor] = (),
    *,
    draws: bool = False,
) -> Iterator[None]:
    """Trace NumPy through npaccel's table in this thread until the block ends.

    Parameters
    ----------
    scalars : iterable of torch.Tensor
        The tensors that stand for NumPy scalars.
    relaid : iterable of torch.Tensor
        The tensors that have other strides than the arrays that they stand for.
    draws : bool
        Whether NumPy's random numbers may be inputs of the graph.
    """
    install()
    before = _active.scalars, _active.relaid, _active.draws
    _active.depth += 1
    _active.scalars, _active.draws = frozenset(map(id, scalars)), draws
    _active.relaid = frozenset(map(id, relaid))
    try:
        yield
    finally:
        _active.depth -= 1
        _active.scalars, _active.relaid, _active.draws = before


@contextlib.contextmanager
def in_pieces() -> Iterator[None]:
    """Trace parts of a function: arrays may come from NumPy, with any strides."""
    before = _active.pieces
    _active.pieces = True
    try:
        yield
    finally:
        _active.pieces = before


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
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        zero_d: Callable[..., bool],
        may_share: bool = False,
    ) -> None:
        self.name = name
        self.function = function
        self.zero_d = zero_d
        self.may_share = may_share
        self.__name__ = "numpy_" + name.removeprefix("numpy.").replace(".", "_")

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.function(*args, **kwargs)
        leave_unbound(found)
        return found


#: `x.item()` of an array without dimensions.
_VALUE = Operation("python.item", python_numbers.value_of, lambda node, flags: False)


def is_scalar(node: torch.fx.Node) -> bool:
    """Whether NumPy has a scalar where a graph has this node."""
    known = node.meta.get(_SCALAR)
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
        node.meta[_SCALAR] = known
    return bool(known)


def scalar_results(graph: torch.fx.Graph) -> list[IsScalar]:
    """Say for each output of a captured graph whether NumPy has a scalar there."""
    outputs = next(node for node in graph.nodes if node.op == "output").args[0]
    return [_kind_of_result(out) for out in outputs]


def _kind_of_result(out: Any) -> IsScalar:
    if isinstance(out, torch.fx.Node) and out.meta.get(python_numbers.NUMBER):
        return "number"
    if not isinstance(out, torch.fx.Node) or not is_scalar(out):
        return False
    name = getattr(out.target, "name", "") if isinstance(out.target, Operation) else ""
    row = _table.row_named(name)
    return "python" if row is not None and row.zero_d == "python" else True


def _row_operation(row: _table.Row) -> Operation:
    always = row.zero_d != "array"
    keeps = row.name in _KEEP_SCALARS

    def zero_d(node: torch.fx.Node, flags: list[bool]) -> bool:
        return always or bool(keeps and flags and flags[0])

    return Operation(row.name, row.implementation, zero_d, not always)


def _method_operation(row: _table.Row, name: str) -> Operation:
    def zero_d(node: torch.fx.Node, flags: list[bool]) -> bool:
        if row.zero_d == "scalar":
            return True
        return bool(flags and flags[0]) and name not in _ARRAY_FROM_SCALAR

    return Operation(row.name, row.implementation, zero_d, row.zero_d != "scalar")


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
        return Operation(name, _item_or_view, _getitem_zero_d)
    if op is torch.select:  # Dynamo's form of a[i] for a symbolic i
        return Operation("operator.getitem", _selected, lambda node, flags: True)
    if op is operator.setitem:
        return Operation(name, setitem, lambda node, flags: False)
    if op in _operators.INPLACE:
        return Operation(name, functools.partial(_inplace, op), _inplace_zero_d)
    if op in _operators.UNARY:
        return Operation(name, functools.partial(_operators.unary, op), lambda node, flags: True)
    if op in _operators.BINARY:
        return Operation(name, functools.partial(_operators.binary, op), lambda node, flags: True)
    return None


def _item_or_view(a: torch.Tensor, key: Any) -> torch.Tensor:
    """``a[key]``; a NumPy scalar keeps its value when the array is written to."""
    found = getitem(a, key)
    parts = key if isinstance(key, tuple) else (key,)
    if not found.ndim and not any(part is Ellipsis for part in parts):
        return found.clone()
    return a[...] if found is a else found  # A view is another object than its array.


def _selected(a: torch.Tensor, axis: int, index: Any) -> torch.Tensor:
    """``a[index]`` for an index that is a symbol."""
    return _item_or_view(a, (slice(None),) * axis + (index,))


def _inplace(op: Callable[..., Any], a: Any, b: Any) -> Any:
    """``a op= b``; a NumPy scalar or a Python number on the left is rebound."""
    if not isinstance(a, torch.Tensor):
        return _operators.binary(_operators.INPLACE[op], a, b)
    return _operators.inplace(op, a, b)


def _refuse(what: str, detail: str, reason: str = "") -> None:
    unimplemented(
        gb_type="NumPy call without a compiled form",
        context=detail,
        explanation=f"{what} has no compiled form in npaccel{': ' if reason else '.'}{reason}",
        hints=[],
    )


def _emit(tx: Any, operation: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if any(_is_scalar_variable(target) for target in _written(operation.name, args, kwargs)):
        _refuse("storing to a NumPy scalar", operation.name, "NumPy decides what it does with it")
    if args and operation.may_share and _is_scalar_variable(args[0]):
        # What is made of a NumPy scalar may be written to, the scalar never changes.
        args = [_copied_scalar(tx, args[0]), *args[1:]]
    copied_out = _gives_copy_of_out(operation, args, kwargs)
    args = [_without_builtin(arg) for arg in args]
    kwargs = {name: _without_builtin(value) for name, value in kwargs.items()}
    proxy = tx.output.create_proxy("call_function", operation, *proxy_args_kwargs(args, kwargs))
    try:
        found = NumpyNdarrayVariable.create(tx, proxy)
    except Unsupported as error:
        refusal = _refusal(error)
        if refusal is None:
            raise
        return _refuse(f"this call of {operation.name}", "", refusal)
    return _copied_scalar(tx, found) if copied_out else found


def _copied_scalar(tx: Any, variable: Any) -> Any:
    copied = tx.output.create_proxy("call_function", torch.clone, (variable.as_proxy(),), {})
    copied.node.meta[_SCALAR] = True
    return NumpyNdarrayVariable.create(tx, copied)


def _gives_copy_of_out(operation: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether NumPy returns a scalar where it was given an `out`: from methods of scalars."""
    name = operation.name
    if name not in _METHODS_OF_SCALARS and not name.startswith("numpy.ndarray."):
        return False
    if not args or not _is_scalar_variable(args[0]):
        return False
    place = _place_of_out(operation.function)
    out = kwargs.get("out", args[place] if place < len(args) else None)
    return isinstance(out, NumpyNdarrayVariable)


@functools.cache
def _place_of_out(function: Callable[..., Any]) -> int:
    names = list(inspect.signature(function).parameters)
    return names.index("out") if "out" in names else len(names)


def _without_builtin(variable: Any) -> Any:
    """Return a variable that a graph can hold: Dynamo has no form for the type `complex`."""
    if isinstance(variable, LazyVariableTracker):
        variable = variable.realize()
    if isinstance(variable, BuiltinVariable) and variable.fn is complex:
        return NumpyDTypeVariable(np.dtype(complex))
    return variable


def _written(name: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """What a call stores to."""
    row = _table.row_named(name)
    places = row.mutates if row is not None else (0,) if name == "operator.setitem" else ()
    named = [kwargs["out"]] if "out" in kwargs else []
    return [args[i] for i in places if i < len(args)] + named


def _is_scalar_variable(variable: Any) -> bool:
    return isinstance(variable, NumpyNdarrayVariable) and is_scalar(variable.as_proxy().node)


def _emit_operator(tx: Any, op: Callable[..., Any], args: list[Any]) -> Any:
    operation = operator_operation(op)
    assert operation is not None
    return _emit(tx, operation, args, {})


def _assign(tx: Any, name: str, array: Any, value: Any) -> bool:
    row = _table.row_named(f"numpy.ndarray.{name}.__set__")
    if row is None or _is_scalar_variable(array):
        return False
    _emit(tx, _row_operation(row), [array, value], {})
    return True


def _refusal(error: BaseException | None) -> str | None:
    """What an implementation says of arguments that it can't compute, if that's the error."""
    while error is not None:
        if isinstance(error, NotImplementedError):
            return " ".join(str(error).split())
        error = error.__cause__ or error.__context__
    return None


def _example(variable: Any) -> Any:
    """The value of a variable as far as a trace knows it: fake tensors, constants."""
    if isinstance(variable, TensorVariable | SymNodeVariable):
        return variable.as_proxy().node.meta["example_value"]
    if isinstance(variable, ListVariable | TupleVariable):
        return variable.python_type()(_example(item.realize()) for item in variable.items)
    return variable.as_python_constant()


def _build_constant(tx: Any, value: Any) -> Any:
    if isinstance(value, np.dtype):
        return NumpyDTypeVariable(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return NumpyVariable(value)
    if isinstance(value, tuple):
        value = tuple(value)
    return VariableTracker.build(tx, value)


def _call_row(tx: Any, row: _table.Row, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if row.status != "compiled":
        return _refuse(row.name, f"args: {args}, kwargs: {kwargs}", row.reason)
    for name in set(kwargs) & set(row.unsupported):
        return _refuse(f"`{name}` of {row.name}", "", "call it without this parameter")
    if row.inlined:
        return _inlined(tx, row, args, kwargs)
    if row.name in _OF_NUMBERS and len(args) == 1 and args[0].is_python_constant():
        value = args[0].as_python_constant()
        if isinstance(value, int | float | complex):
            return _build_constant(tx, row.numpy(value))
    if row.name in _CONSTANT_FUNCTIONS:
        try:
            values = [_example(arg) for arg in args]
            named = {name: _example(value) for name, value in kwargs.items()}
            with tx.output.fake_mode:
                found = row.implementation(*values, **named)
        except NotImplementedError as error:
            return _refuse(f"this call of {row.name}", "", " ".join(str(error).split()))
        return _build_constant(tx, found)
    return _emit(tx, _row_operation(row), list(args), kwargs)


def _inlined(tx: Any, row: _table.Row, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return VariableTracker.build(tx, row.implementation).call_function(tx, args, kwargs)
    except ObservedNotImplementedError:
        said = tx.exn_vt_stack.get_current_exception().args
    text = said[0].as_python_constant() if said and said[0].is_python_constant() else ""
    return _refuse(f"this call of {row.name}", "", text)


def install() -> None:
    """Patch Dynamo's NumPy classes, once per process."""
    global _installed
    with _install_lock:
        if _installed:
            return
        _numpy.load()
        _patch_functions()
        _patch_arrays()
        _patch_operators()
        numpy_slots.patch_slots(_active, _emit_operator, is_scalar)
        numpy_assignments.patch_assignments(_active, _refuse, _assign)
        numpy_objects.patch_index_helpers(_active, _refuse, _call_row)
        random_tracing.patch_generators(_active, _refuse, _emit, Operation)
        _patch_inputs()
        _patch_captured()
        _patch_outputs()
        for module in ("_forms", "_carry", "_arguments"):  # Python runs them if nothing is split.
            trace_rules.add(f"npaccel.{module}")
        python_numbers.patch_outputs(_active)
        _installed = True


def _patch_functions() -> None:
    """`np.f(...)` and `np.add.reduce(...)`: variables/misc.py, NumpyVariable."""
    original_call = NumpyVariable.call_function
    original_method = NumpyVariable.call_method

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not _active.depth:
            return original_call(self, tx, args, kwargs)
        if self.value in (np.errstate, np.printoptions):
            block = numpy_objects.settings_block(self.value, args, kwargs)
            if block is None:
                _refuse(f"numpy.{self.value.__name__}", "", numpy_objects.HAS_EFFECT)
            return block
        row = _table.row_of(self.value)
        if row is not None and row.name.startswith(_RANDOM):
            name = row.name.removeprefix(_RANDOM)
            return random_tracing.call_function(tx, self.value, name, list(args), kwargs)
        if row is not None:
            return _call_row(tx, row, args, kwargs)
        if self.value in (np.dtype, np.finfo, np.iinfo):
            return original_call(self, tx, args, kwargs)
        name = getattr(self.value, "__name__", repr(self.value))
        module = getattr(self.value, "__module__", None) or "numpy"
        return _refuse(f"{module}.{name}", f"args: {args}, kwargs: {kwargs}")

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if not _active.depth:
            return original_method(self, tx, name, args, kwargs)
        full = f"numpy.{getattr(self.value, '__name__', '?')}.{name}"
        row = _table.row_named(full)
        if row is None:
            return _refuse(full, f"args: {args}, kwargs: {kwargs}")
        return _call_row(tx, row, args, kwargs)

    NumpyVariable.call_function = call_function
    NumpyVariable.call_method = call_method


_DUNDERS: dict[str, Callable[..., Any]] = {
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
} | {
    f"__{name}__": getattr(operator, name if name not in ("and", "or") else name + "_")
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift"),
        *("and", "or", "xor", "lt", "le", "eq", "ne", "gt", "ge", "neg", "pos", "abs", "invert"),
        *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "ilshift"),
        *("irshift", "iand", "ior", "ixor"),
    )
}


def _patch_arrays() -> None:  # noqa: C901 (three short patches of one class)
    """Methods and attributes of arrays: variables/tensor.py, NumpyNdarrayVariable."""
    original_method = NumpyNdarrayVariable.call_method
    original_getattr = NumpyNdarrayVariable.var_getattr

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if not _active.depth:
            return original_method(self, tx, name, args, kwargs)
        if name in _DUNDERS:
            operation = operator_operation(_DUNDERS[name])
            if operation is not None:
                return _emit(tx, operation, [self, *args], kwargs)
        if name == "__len__":
            return _length(self, tx)
        if name == "__round__" and args and _is_scalar_variable(self):
            name = "round"  # With a number of digits, the method of NumPy's scalars.
        if name in ("size", "__iter__"):  # Called by Dynamo itself, with tensors' meaning.
            return original_method(self, tx, name, args, kwargs)
        if is_scalar(self.as_proxy().node) and not hasattr(self.python_type(), name):
            return _refuse(f"`{name}` of a NumPy scalar", "", "NumPy's scalars have no such method")
        row = _table.row_named(f"numpy.ndarray.{name}")
        if name == "item" and row is not None:
            element = _emit(tx, _method_operation(row, name), [self, *args], kwargs)
            return python_numbers.number(tx, element, _VALUE, _refuse)
        if row is not None and row.status != "compiled":
            return _refuse(f"ndarray.{name}", f"args: {args}, kwargs: {kwargs}", row.reason)
        if row is not None:
            return _emit(tx, _method_operation(row, name), [self, *args], kwargs)
        return _refuse(f"ndarray.{name}", f"args: {args}, kwargs: {kwargs}")

    def var_getattr(self: Any, tx: Any, name: str) -> Any:
        if not _active.depth:
            return original_getattr(self, tx, name)
        if name in _CONSTANT_ATTRIBUTES:
            return _attribute(self, tx, name)
        if is_scalar(self.as_proxy().node) and not hasattr(self.python_type(), name):
            return _refuse(f"`{name}` of a NumPy scalar", "", "NumPy's scalars have no such thing")
        if name == "__round__":
            raise NotImplementedError
        row = _table.row_named(f"numpy.ndarray.{name}")
        if row is not None and row.status != "compiled":
            return _refuse(f"ndarray.{name}", "", row.reason)
        if row is not None and name in ("T", "mT", "real", "imag", "flat"):
            return _emit(tx, _method_operation(row, name), [self], {})
        if row is not None or name in _DUNDERS:
            raise NotImplementedError  # Dynamo then builds a bound method.
        return _refuse(f"ndarray.{name}", "")

    def python_type(self: Any) -> type:
        if _active.depth and is_scalar(self.as_proxy().node):
            scalar: type = attribute(_example(self), "dtype").type
            return scalar
        return np.ndarray

    NumpyNdarrayVariable.python_type = python_type
    NumpyNdarrayVariable.call_method = call_method
    NumpyNdarrayVariable.var_getattr = var_getattr


def _attribute(self: Any, tx: Any, name: str) -> Any:
    if name == "strides" and _active.relaid:
        _refuse("the strides of a reversed array", "", "compiled code has the array with others")
    example = _example(self)
    value = attribute(example, name)
    parts = value if isinstance(value, tuple) else (value,)
    if not any(isinstance(part, torch.SymInt) for part in parts):
        return _build_constant(tx, value)
    proxy = tx.output.create_proxy("call_function", attribute, (self.as_proxy(), name), {})
    return dynamo_builder.wrap_fx_proxy(tx, proxy)


def _length(self: Any, tx: Any) -> Any:
    shape = attribute(_example(self), "shape")
    if not shape:
        return _refuse("len() of an array without dimensions", "")
    if not isinstance(shape[0], torch.SymInt):
        return _build_constant(tx, shape[0])
    proxy = tx.output.create_proxy("call_function", _first_size, (self.as_proxy(),), {})
    return dynamo_builder.wrap_fx_proxy(tx, proxy)


def _first_size(a: torch.Tensor) -> int | torch.SymInt:
    return a.shape[0]


def _patch_operators() -> None:
    """`a + b`, `abs(a)`, `a[i]`: variables/builtin.py and variables/tensor.py."""
    original = dynamo_utils.numpy_operator_wrapper

    def operator_wrapper(op: Callable[..., Any]) -> Any:
        if not _active.depth:
            return original(op)
        operation = operator_operation(op)
        if operation is None:
            return _refuse(f"`{getattr(op, '__name__', op)}` of arrays", "")
        return operation

    dynamo_utils.numpy_operator_wrapper = operator_wrapper
    dynamo_builtin.numpy_operator_wrapper = operator_wrapper


def _patch_inputs() -> None:
    """Tensors are traced as arrays; jitted functions as what they wrap."""
    original_tensor = VariableBuilder.wrap_tensor
    original_wrap = VariableBuilder._wrap
    original_ndarray = VariableBuilder.wrap_numpy_ndarray

    def wrap_tensor(self: Any, value: torch.Tensor) -> Any:
        with _grad_unnoticed(value):
            variable = original_tensor(self, value)
        if not _active.depth or type(variable) is not TensorVariable:
            return variable
        meta = variable.as_proxy().node.meta
        meta[_SCALAR], meta[RELAID] = id(value) in _active.scalars, id(value) in _active.relaid
        return NumpyNdarrayVariable(**dict(variable.__dict__))

    def wrap_numpy_ndarray(self: Any, value: Any) -> Any:
        if not _active.depth:
            return original_ndarray(self, value)
        if _active.pieces and how_converted(value) == "copied":
            _refuse("an array that NumPy hands on", "", _NOT_SHARED)
        strides = value.strides
        if not value.flags.writeable or any(stride < 0 for stride in strides):
            value = to_tensor(value).numpy()  # Dynamo would change the caller's flags.
        variable = original_ndarray(self, value)
        if value.strides != strides:
            variable.as_proxy().node.meta[RELAID] = True
            _active.relaid |= {id(value)}
        # The frame takes the array itself, by `_results.enter`.
        variable.as_proxy().node.meta["grapharg"].pass_arg_as_tensor = False
        return variable

    def wrap(self: Any, value: Any) -> Any:
        if _active.depth and getattr(type(value), "_npaccel_jitted", False):
            self.install_guards(dynamo_builder.GuardBuilder.ID_MATCH)
            source = AttrSource(self.source, "__wrapped__")
            return VariableBuilder(self.tx, source)(value.__wrapped__)
        if _active.depth and callable(value) and _is_unknown(value):
            guards = dynamo_builder.GuardBuilder
            plain = inspect.isfunction(value)
            self.install_guards(guards.CLOSURE_MATCH if plain else guards.ID_MATCH)
            return NumpyVariable(value, source=self.source)
        variable = original_wrap(self, value)
        if _active.depth and isinstance(value, np.generic):
            variable.as_proxy().node.meta[_SCALAR] = True
        return variable

    VariableBuilder.wrap_tensor = wrap_tensor
    VariableBuilder.wrap_numpy_ndarray = wrap_numpy_ndarray
    VariableBuilder._wrap = wrap
    # Dynamo keeps the methods by type from its first capture on; that may have been before.
    VariableBuilder.__dict__["_type_dispatch_impl"].__func__.cache_clear()


@contextlib.contextmanager
def _grad_unnoticed(value: torch.Tensor) -> Iterator[None]:
    """Hide torch's warning that Dynamo looks whether a tensor has a gradient.

    Dynamo hides it from being shown, but not where warnings are errors.
    """
    if value.is_leaf:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"The \.grad attribute")
        yield


def _is_unknown(value: Any) -> bool:
    """Whether a function is NumPy's, but in a module that Dynamo doesn't look into."""
    return _table.row_of(value) is not None and not trace_rules.is_numpy(value)


def _patch_captured() -> None:
    """Captured arrays are traced on the device of the call: torch/_numpy/_util.py."""
    original = tnp_util._try_convert_to_tensor

    def try_convert_to_tensor(value: Any) -> torch.Tensor:
        tensor: torch.Tensor = original(value)  # type: ignore[no-untyped-call]
        return tensor.to(settings().device) if _active.depth else tensor

    tnp_util._try_convert_to_tensor = try_convert_to_tensor


def _patch_outputs() -> None:
    """Arrays enter and leave a frame through `npaccel._results`: codegen.py, source.py."""
    original = dynamo_codegen.PyCodegen.load_import_from
    # Frames call these while Dynamo looks at every new frame.
    _results.enter = torch._dynamo.disable(_results.enter)  # type: ignore[no-untyped-call]
    _results.leave = torch._dynamo.disable(_results.leave)  # type: ignore[no-untyped-call]

    def load_import_from(self: Any, module_name: str, object_name: str) -> None:
        if _active.depth and object_name == "to_numpy_helper":
            module_name, object_name = "npaccel._results", "leave"
        if _active.depth and (module_name, object_name) == ("torch", "as_tensor"):
            module_name, object_name = "npaccel._results", "enter"
        original(self, module_name, object_name)

    dynamo_codegen.PyCodegen.load_import_from = load_import_from
