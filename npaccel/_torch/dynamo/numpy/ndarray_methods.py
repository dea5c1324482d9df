"""Methods, attributes and operators of arrays, as Dynamo traces them.

Read from torch/_dynamo/variables/{tensor,builtin}.py and torch/_dynamo/utils.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch._dynamo.utils as dynamo_utils
import torch._dynamo.variables.builder as dynamo_builder
import torch._dynamo.variables.builtin as dynamo_builtin
from torch._dynamo.variables.tensor import NumpyNdarrayVariable

from npaccel._numpy.core import table
from npaccel._numpy.core.methods import attribute
from npaccel._torch.dynamo.numpy import layouts as numpy_layouts
from npaccel._torch.dynamo.numpy import operations as numpy_operations
from npaccel._torch.dynamo.numpy.calls import (
    build_constant,
    emit,
    example_of,
    is_answer,
    is_flat,
    is_scalar_variable,
    refuse,
    refuse_missing,
    refuse_owner,
)
from npaccel._torch.dynamo.numpy.operations import FLAT_OF, VALUE, is_scalar, method_operation
from npaccel._torch.dynamo.python import builtins as python_calls
from npaccel._torch.dynamo.python import scalars as python_numbers
from npaccel._torch.dynamo.releases import GETATTR
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Attributes of ndarray that are constants of a trace.
_CONSTANT_ATTRIBUTES = frozenset(
    {"device", "dtype", "itemsize", "nbytes", "ndim", "shape", "size", "strides"}
)
#: Attributes that tell arrays that own their memory from others.
_OF_OWNERS = frozenset({"base", "flags", "resize"})
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


def _call_method(original: Any) -> Any:
    """Trace ``a.f(...)``."""

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if not active.depth:
            return original(self, tx, name, args, kwargs)
        if name in _DUNDERS:
            operation = numpy_operations.operator_operation(_DUNDERS[name])
            if operation is not None:
                return emit(tx, operation, [self, *args], kwargs)
        if name == "__len__":
            return _length(self, tx)
        if name == "__round__" and is_scalar_variable(self):
            if not args:
                return _rounded(self, tx)
            name = "round"  # With a number of digits, the method of NumPy's scalars.
        if name in ("size", "__iter__"):  # Called by Dynamo itself, with tensors' meaning.
            return original(self, tx, name, args, kwargs)
        _check_name(self, name)
        row = table.row_named(f"numpy.ndarray.{name}")
        if name == "item" and row is not None:
            element = emit(tx, method_operation(row, name), [self, *args], kwargs)
            return python_numbers.number(tx, element, VALUE, refuse)
        if row is not None and row.status != "compiled":
            return refuse(f"ndarray.{name}", f"args: {args}, kwargs: {kwargs}", row.reason)
        if row is not None:
            return emit(tx, method_operation(row, name), [self, *args], kwargs)
        return refuse(f"ndarray.{name}", f"args: {args}, kwargs: {kwargs}")

    return call_method


def _getattr(original: Any) -> Any:
    """Trace ``a.name``."""

    def get(self: Any, tx: Any, name: str) -> Any:
        if not active.depth:
            return original(self, tx, name)
        _check_name(self, name)
        if name in _CONSTANT_ATTRIBUTES:
            return _attribute(self, tx, name)
        if name == "__round__":
            raise NotImplementedError
        row = table.row_named(f"numpy.ndarray.{name}")
        is_method = callable(getattr(np.ndarray, name, None))
        if row is not None and row.status != "compiled" and not is_method:
            return refuse(f"ndarray.{name}", "", row.reason)
        if row is not None and name in ("T", "mT", "real", "imag", "flat"):
            found = emit(tx, method_operation(row, name), [self], {})
            if name == "flat":
                found.as_proxy().node.meta[FLAT_OF] = self
            return found
        if row is not None or name in _DUNDERS:
            # Dynamo builds a bound method, and goes on behind a call that is refused.
            raise NotImplementedError
        return refuse(f"ndarray.{name}", "")

    return get


def _lookup_data_descriptor(original: Any) -> Any:
    """Have `_getattr` asked for arrays' attributes, which a table would answer before it."""

    @functools.wraps(original)
    def lookup(self: Any, name: str) -> Any:
        return None if active.depth else original(self, name)

    return lookup


def _python_type(original: Any) -> Any:
    def python_type(self: Any) -> type:
        if active.depth and is_flat(self):
            return np.flatiter
        if active.depth and is_scalar(self.as_proxy().node):
            scalar: type = attribute(example_of(self), "dtype").type
            is_numpys = not numpy_operations.is_python_number(self.as_proxy().node)
            return scalar if is_numpys else type(scalar().item())
        return np.ndarray

    return python_type


def _check_name(self: Any, name: str) -> None:
    """Leave calls to NumPy that ask for what arrays don't have, or for what only NumPy's have."""
    if not hasattr(self.python_type(), name):
        refuse_missing(self.python_type().__name__, name)
    if is_answer(self) and name in ("real", "imag", "conjugate"):
        refuse(f"`{name}` of a Python number", "")  # Of a bool it's an int.
    if name in _OF_OWNERS:
        row = table.row_named(f"numpy.ndarray.{name}")
        assert row is not None
        refuse_owner(name, row.reason)


def _rounded(self: Any, tx: Any) -> Any:
    if attribute(example_of(self), "dtype").kind in "iuf":
        return python_calls.rounded(tx, round, self)
    return refuse("round() of a bool or a complex number", "", "NumPy raises")


def _attribute(self: Any, tx: Any, name: str) -> Any:
    if name == "strides" and active.restrided:
        refuse("the strides of a reversed array", "", "compiled code has the array with others")
    if name == "strides" and not numpy_layouts.is_kept(self.as_proxy().node):
        refuse("the strides of a computed array", "", "compiled code may have it with others")
    example = example_of(self)
    value = attribute(example, name)
    parts = value if isinstance(value, tuple) else (value,)
    if not any(isinstance(part, torch.SymInt) for part in parts):
        return build_constant(tx, value)
    proxy = tx.output.create_proxy("call_function", attribute, (self.as_proxy(), name), {})
    return dynamo_builder.wrap_fx_proxy(tx, proxy)


def _length(self: Any, tx: Any) -> Any:
    shape = attribute(example_of(self), "shape")
    if not shape:
        return refuse("len() of an array without dimensions", "")
    if not isinstance(shape[0], torch.SymInt):
        return build_constant(tx, shape[0])
    proxy = tx.output.create_proxy("call_function", _first_size, (self.as_proxy(),), {})
    return dynamo_builder.wrap_fx_proxy(tx, proxy)


def _first_size(a: torch.Tensor) -> int | torch.SymInt:
    return a.shape[0]


def _operator_wrapper(original: Any) -> Any:
    """Trace ``a + b``, ``abs(a)``, ``a[i]``."""

    def operator_wrapper(op: Callable[..., Any]) -> Any:
        if not active.depth:
            return original(op)
        operation = numpy_operations.operator_operation(op)
        if operation is None:
            return refuse(f"`{getattr(op, '__name__', op)}` of arrays", "")
        return operation

    return operator_wrapper


_AS_NUMPY = "Dynamo computes operators of arrays as torch does"

PATCHES = (
    Patch(
        NumpyNdarrayVariable, "python_type", _python_type,
        "to Dynamo NumPy's scalars and `a.flat` are arrays",
        "tests/torch_layer/dynamo/test_scalars_in_frames.py",
    ),
    Patch(
        NumpyNdarrayVariable, "call_method", _call_method,
        "Dynamo traces torch's own imitation of NumPy", "tests/numpy_layer/test_methods.py",
    ),
    Patch(
        NumpyNdarrayVariable, GETATTR, _getattr,
        "Dynamo gives attributes as tensors have them", "tests/numpy_layer/test_methods.py",
    ),
    Patch(
        NumpyNdarrayVariable, "lookup_tp_getset_member", _lookup_data_descriptor,
        "a table of Dynamo's answers before `tp_getattro_impl` is asked",
        "tests/numpy_layer/test_methods.py", only="2.14-",
    ),
    Patch(
        dynamo_utils, "numpy_operator_wrapper", _operator_wrapper,
        _AS_NUMPY, "tests/numpy_layer/test_nep50.py",
    ),
    Patch(
        dynamo_builtin, "numpy_operator_wrapper", _operator_wrapper,
        _AS_NUMPY, "tests/numpy_layer/test_nep50.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
