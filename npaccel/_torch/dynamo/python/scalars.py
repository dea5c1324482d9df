"""Trace `float(x)`, `int(x)` and `x.item()` as numbers of Python's, which are weak.

A number that depends on the data is a symbol in a graph; where the frame needs it, it leaves
the graph as a tensor without dimensions.

Read from torch/_dynamo/{codegen,symbolic_convert}.py and
torch/_dynamo/variables/{tensor,builder,functions}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo.variables.builder as dynamo_builder
from torch._dynamo import symbolic_convert
from torch._dynamo.bytecode_transformation import create_call_function, create_dup_top
from torch._dynamo.codegen import PyCodegen
from torch._dynamo.exc import UserError, UserErrorType, unimplemented
from torch._dynamo.source import is_from_defaults
from torch._dynamo.symbolic_convert import InstructionTranslatorBase
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.functions import UserMethodVariable
from torch._dynamo.variables.misc import GetAttrVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable
from torch._guards import GuardSource
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from npaccel._numpy.core.dtypes import to_numpy
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.nodes import name_of
from npaccel._torch.patching import Patch

#: Key of a node's meta: whether NumPy has a scalar there, not an array.
SCALAR = "numpy_scalar"
#: Key of a node's meta: whether it is a number of Python's, as a tensor.
NUMBER = "npaccel_number"

#: The dtypes in which numbers leave a graph.
_DTYPES: dict[type, torch.dtype] = {int: torch.int64, float: torch.float64}
#: Reason why a graph ends at a branch.
_OF_DATA = "which way to go depends on a number that only the data give, such as a size"
#: Operators that never raise on Python floats.
_NEVER_RAISE = frozenset(
    {operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.abs, abs}
)


def value_of(x: torch.Tensor) -> Any:
    """Return the value of a tensor without dimensions; symbolic while tracing."""
    return x.item()


def number(tx: Any, element: Any, operation: Any, refuse: Callable[..., Any]) -> Any:
    """Return the variable for the Python number that an array without dimensions holds.

    Parameters
    ----------
    tx : InstructionTranslator
    element : NumpyNdarrayVariable
    operation : Operation
        Calls `value_of`.
    refuse : callable
        Breaks the graph.
    """
    dtype = to_numpy(element.as_proxy().node.meta["example_value"].dtype)
    if dtype.kind not in "iuf" or dtype.name == "uint64":
        refuse(f"a Python scalar of an array of {dtype.name}", "")
    if dtype.kind == "f" and is_in_region(tx):
        # A symbol has no derivative. NumPy's float64 is one of Python's floats.
        return _as_scalar(tx, element)
    proxy = tx.output.create_proxy("call_function", operation, (element.as_proxy(),), {})
    return dynamo_builder.wrap_fx_proxy(tx, proxy)


#: Names of what begins and ends the region of a transform in a graph.
ENTER, LEAVE = "npaccel.enter", "npaccel.leave"


def is_in_region(tx: Any) -> bool:
    """Whether what is traced is going to be differentiated or batched."""
    names = [name_of(node) for node in tx.output.graph.nodes]
    return names.count(ENTER) > names.count(LEAVE)


def _as_scalar(tx: Any, element: Any) -> Any:
    """Return the variable for an array without dimensions as a NumPy scalar."""
    copied = tx.output.create_proxy("call_function", torch.clone, (element.as_proxy(),), {})
    copied.node.meta[SCALAR] = True
    return NumpyNdarrayVariable.create(tx, copied)


def _call(original: Any) -> Any:
    """Make numbers leave a frame through `npaccel._runtime.outputs`."""

    def call(self: Any, value: Any, allow_cache: bool = True) -> None:
        if not (active.depth and type(value) is SymNodeVariable and _is_computed(self, value)):
            original(self, value, allow_cache)
            return
        tensor = _as_tensor(self.tx, value)
        tensor.as_proxy().node.meta[NUMBER] = True
        key = self.add_graph_output(tensor)
        self.add_push_null(lambda: self.load_import_from("npaccel._runtime.outputs", "leave"))
        self.load_graph_output(self.graph_outputs[key].index)
        self.extend_output(create_call_function(1, False))
        if value in self.tempvars:
            self.append_output(create_dup_top())
            self.add_cache(value)
        self.top_of_stack = value

    return call


def _is_specialization_case(original: Any) -> Any:
    """Allow ints of modules and classes to change, as those of arguments may."""

    def is_specialized(value: Any, source: Any) -> bool:
        if active.depth and not -(2**63) <= value < 2**63:
            return True  # Symbols have 64 bits.
        if active.depth and source.guard_source is GuardSource.GLOBAL:
            return bool(is_from_defaults(source))
        return bool(original(value, source))

    return is_specialized


def _call_function(original: Any) -> Any:
    """Decide by numbers that ``__bool__`` and ``__len__`` of an object give."""

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        found = original(self, tx, args, kwargs)
        # Of torch 2.12 the one that isn't bound yet has a name alone.
        name = self.name if isinstance(self, GetAttrVariable) else getattr(self.fn, "__name__", "")
        decides = name in ("__bool__", "__len__")
        if active.depth and decides and isinstance(found, SymNodeVariable):
            return ConstantVariable.create(found.evaluate_expr())
        return found

    return call_function


def _guard_bool(original: Any) -> Any:
    """Break graphs at ``if a.size:`` where the data give the size."""

    def guard_bool(condition: Any) -> bool:
        try:
            return bool(original(condition))
        except GuardOnDataDependentSymNode as error:
            if not active.depth:
                raise
            raise UserError(UserErrorType.ANTI_PATTERN, _OF_DATA) from error

    return guard_bool


def _evaluate_expr(original: Any) -> Any:
    """Break graphs at other uses of a size that the data give."""

    def evaluate_expr(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except UserError as error:
            if not active.depth or not isinstance(error.__context__, GuardOnDataDependentSymNode):
                raise
            raise UserError(UserErrorType.ANTI_PATTERN, _OF_DATA) from error

    return evaluate_expr


def _format_value(original: Any) -> Any:
    """Break graphs at the text of a number."""

    def format_value(self: Any, fmt_spec: Any, flags: int) -> None:
        if active.depth and isinstance(self.stack[-1], SymNodeVariable):
            unimplemented(
                gb_type="text of a number",
                context="",
                explanation="The text of a number that may change isn't known in compiled code.",
                hints=[],
            )
        original(self, fmt_spec, flags)

    return format_value


def _as_tensor(tx: Any, value: Any) -> Any:
    """Return the variable for a number as a tensor.

    AOTAutograd makes constants of Python floats that it finds no operation on tensors for, so
    that a function that returns ``t + dt`` would be compiled for each t.
    """
    if value.python_type() is float:
        found = on_tensors(tx, value.as_proxy().node)
        if isinstance(found, torch.fx.Proxy):
            if "example_value" in found.node.meta:  # It's known by another variable.
                found = tx.output.create_proxy("call_function", torch.clone, (found,), {})
            return dynamo_builder.wrap_fx_proxy(tx, found)
    return value.as_tensor(tx, _DTYPES[value.python_type()])


def on_tensors(tx: Any, node: Any) -> Any:
    """Do what was done with Python floats, step by step, with the tensors that hold them.

    Parameters
    ----------
    tx : InstructionTranslator
    node : Node, int or float

    Returns
    -------
    Proxy, int, float or None
        None where it can't be done, or might raise.
    """
    if type(node) in (int, float):
        return node
    if not isinstance(node, torch.fx.Node):
        return None
    tracer = tx.output.current_tracer
    if isinstance(node.meta.get("example_value"), torch.SymInt):  # Python makes it a float, too.
        whole = (torch.fx.Proxy(node, tracer),)
        dtype = {"dtype": torch.float64}
        return tx.output.create_proxy("call_function", torch.scalar_tensor, whole, dtype)
    if node.op == "call_method" and node.target == "item":
        tensor = node.args[0]
        assert isinstance(tensor, torch.fx.Node)
        is_float = tensor.meta["example_value"].dtype == torch.float64
        return torch.fx.Proxy(tensor, tracer) if is_float else None
    if node.op != "call_function" or not _never_raises(node):
        return None
    parts = [on_tensors(tx, arg) for arg in node.args]
    if any(part is None for part in parts):
        return None
    return tx.output.create_proxy("call_function", node.target, tuple(parts), {})


def _never_raises(node: torch.fx.Node) -> bool:
    if node.target is operator.truediv:
        divisor = node.args[1]
        return isinstance(divisor, int | float) and divisor != 0
    return node.target in _NEVER_RAISE


def _is_computed(codegen: Any, value: Any) -> bool:
    """Whether a number is neither on the stack, nor in a variable, nor an input."""
    known = codegen.top_of_stack is value or codegen.tempvars.get(value) is not None
    return not known and value.source is None and value.python_type() in _DTYPES


_OF_SIZES = "Dynamo lets the error out where a size that the data give is asked for its truth"
_OBJECTS = "tests/compiler/test_objects.py"
_SIZES = "tests/numpy_layer/test_data_dependent_sizes.py"

PATCHES = (
    Patch(
        PyCodegen, "__call__", _call,
        "Dynamo compiles a function that returns a number for each value of it", _OBJECTS,
    ),
    Patch(
        InstructionTranslatorBase, "_format_value", _format_value,
        "Dynamo takes the number itself for its text", _OBJECTS,
    ),
    Patch(
        dynamo_builder, "is_int_specialization_case", _is_specialization_case,
        "Dynamo takes ints of modules and classes for constants", _OBJECTS,
    ),
    Patch(
        UserMethodVariable, "call_function", _call_function,
        "Dynamo goes the same way for `if x:` as for `if not x:`",
        "tests/compiler/test_stale_classes.py", only="2.11-2.12",
    ),
    Patch(
        GetAttrVariable, "call_function", _call_function,
        "Dynamo goes the same way for `if x:` as for `if not x:`",
        "tests/compiler/test_stale_classes.py", only="2.12",
    ),
    Patch(symbolic_convert, "guard_bool", _guard_bool, _OF_SIZES, _SIZES),
    Patch(SymNodeVariable, "evaluate_expr", _evaluate_expr, _OF_SIZES, _SIZES),
)  # fmt: skip

__all__ = [
    "ENTER",
    "LEAVE",
    "NUMBER",
    "PATCHES",
    "SCALAR",
    "is_in_region",
    "number",
    "on_tensors",
    "value_of",
]
