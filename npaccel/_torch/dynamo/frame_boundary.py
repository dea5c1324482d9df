"""What enters a frame as an array or a NumPy function, and how arrays leave it.

Read from torch/_dynamo/{codegen,guards,output_graph}.py, torch/_dynamo/variables/builder.py and
torch/_numpy/_util.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch._dynamo.codegen as dynamo_codegen
import torch._dynamo.guards as dynamo_guards
import torch._dynamo.variables.builder as dynamo_builder
import torch._numpy._util as tnp_util
from torch._dynamo import trace_rules
from torch._dynamo.bytecode_transformation import create_call_function
from torch._dynamo.guards import install_guard
from torch._dynamo.output_graph import OutputGraph
from torch._dynamo.source import AttrSource
from torch._dynamo.variables import functions as dynamo_functions
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.misc import GetAttrVariable, NumpyDTypeVariable, NumpyVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, TensorVariable

from npaccel._numpy.core import table
from npaccel._numpy.core.context import settings
from npaccel._runtime import outputs
from npaccel._runtime.arguments import COPYING, has_other_name, how_converted, to_tensor
from npaccel._runtime.callables import is_jitted
from npaccel._syntax.wide_data import is_wide
from npaccel._torch.dynamo.numpy import opaque_objects
from npaccel._torch.dynamo.numpy import vectorize as vectorized_calls
from npaccel._torch.dynamo.numpy.calls import refuse
from npaccel._torch.dynamo.numpy.operations import FLAT_OF, RELAID, SCALAR
from npaccel._torch.dynamo.state import active

#: Whether a method of a ufunc that a name stands for, such as np.add.reduce, is unknown: in 2.11.
_LACKS_BOUND_BUILTINS = not hasattr(dynamo_functions, "BoundBuiltinMethodVariable")
#: Why what follows isn't compiled.
_NOT_SHARED = (
    "it isn't aligned, or of another byte order: compiled code would have a copy of it, and what "
    "is written there would be lost"
)


def patch_inputs() -> None:
    """Tensors are traced as arrays; jitted functions as what they wrap."""
    original_tensor = VariableBuilder.wrap_tensor
    original_wrap = VariableBuilder._wrap
    original_ndarray = VariableBuilder.wrap_numpy_ndarray

    def wrap_tensor(self: Any, value: torch.Tensor) -> Any:
        with _grad_unnoticed(value):
            variable = original_tensor(self, value)
        if not active.depth or type(variable) is not TensorVariable:
            return variable
        _note_wide(value)
        meta = variable.as_proxy().node.meta
        meta[SCALAR], meta[RELAID] = id(value) in active.scalars, id(value) in active.relaid
        return NumpyNdarrayVariable(**dict(variable.__dict__))

    def wrap_numpy_ndarray(self: Any, value: Any) -> Any:
        if not active.depth:
            return original_ndarray(self, value)
        opaque = opaque_objects.variable_for(self, value)
        return _wrapped(self, value, original_ndarray) if opaque is None else opaque

    def wrap(self: Any, value: Any) -> Any:
        if active.depth and is_jitted(value):
            self.install_guards(dynamo_builder.GuardBuilder.ID_MATCH)
            source = AttrSource(self.source, "__wrapped__")
            return VariableBuilder(self.tx, source)(value.__wrapped__)
        if active.depth:
            found = opaque_objects.variable_for(self, value) or _function(self, value)
            if found is not None:
                return found
        variable = original_wrap(self, value)
        if active.depth:
            variable = opaque_objects.noticed(variable)
        if active.depth and isinstance(value, np.generic):
            _note_wide(value)
            variable.as_proxy().node.meta[SCALAR] = True
        return variable

    VariableBuilder.wrap_tensor = wrap_tensor
    VariableBuilder.wrap_numpy_ndarray = wrap_numpy_ndarray
    VariableBuilder._wrap = wrap
    # Dynamo keeps the methods by type from its first capture on; that may have been before.
    VariableBuilder.__dict__["_type_dispatch_impl"].__func__.cache_clear()


def _wrapped(builder: Any, value: Any, original: Callable[[Any, Any], Any]) -> Any:
    """Return the variable for an array that enters a frame."""
    _note_wide(value)
    if active.pieces and how_converted(value) in COPYING and not _is_reversed(value):
        refuse("an array that NumPy hands on", "", _NOT_SHARED)
    strides = value.strides
    value = _looked_at(value)
    variable = original(builder, value)
    if value.strides != strides:
        variable.as_proxy().node.meta[RELAID] = True
        active.relaid |= {id(value)}
    if active.pieces:  # A reversed array becomes a tensor as others do.
        flags = AttrSource(AttrSource(builder.source, "flags"), "c_contiguous")
        install_guard(flags.make_guard(dynamo_builder.GuardBuilder.CONSTANT_MATCH))
    # The frame takes the array itself, by `outputs.enter`.
    variable.as_proxy().node.meta["grapharg"].pass_arg_as_tensor = False
    return variable


def _note_wide(value: Any) -> None:
    """Note that 64-bit floats enter a frame, from an argument or from elsewhere."""
    if is_wide(value) and (value.ndim or not active.weak_scalars):
        active.has_wide_data = True


def _looked_at(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that Dynamo looks at: it would change the caller's flags, or refuse it."""
    is_kept = value.flags.writeable and all(stride >= 0 for stride in value.strides)
    if is_kept and not has_other_name(value):
        return value
    return to_tensor(value).numpy()


def _function(builder: Any, value: Any) -> Any:
    """Return the variable for a function of NumPy's that Dynamo doesn't know as one, or None."""
    if type(value) is np.vectorize:
        return vectorized_calls.variable_for(builder, value)
    guards = dynamo_builder.GuardBuilder
    if _LACKS_BOUND_BUILTINS and type(getattr(value, "__self__", None)) is np.ufunc:
        builder.install_guards(guards.ID_MATCH)
        owner = VariableTracker.build(
            builder.tx, value.__self__, AttrSource(builder.source, "__self__")
        )
        return GetAttrVariable(owner, value.__name__, source=builder.source)
    if not (callable(value) and _is_unknown(value)):
        return None
    plain = inspect.isfunction(value)
    builder.install_guards(guards.CLOSURE_MATCH if plain else guards.ID_MATCH)
    return NumpyVariable(value, source=builder.source)


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
    return table.row_of(value) is not None and not trace_rules.is_numpy(value)


def patch_captured() -> None:
    """Captured arrays are traced on the device of the call: torch/_numpy/_util.py."""
    original = tnp_util._try_convert_to_tensor

    def try_convert_to_tensor(value: Any) -> torch.Tensor:
        tensor: torch.Tensor = original(value)  # type: ignore[no-untyped-call]
        return tensor.to(settings().device) if active.depth else tensor

    tnp_util._try_convert_to_tensor = try_convert_to_tensor


def _is_reversed(value: np.ndarray[Any, Any]) -> bool:
    """Whether an array only has to be copied because it's reversed."""
    whole = all(stride % value.itemsize == 0 for stride in value.strides)
    is_plain = value.dtype.isnative and value.flags.aligned and whole
    return is_plain and any(stride < 0 for stride in value.strides)


def patch_guards() -> None:
    """Check arrays as they were captured, and scalars of uint64: guards.py."""
    original = dynamo_guards.from_numpy

    @functools.wraps(original)
    def from_numpy(a: Any) -> Any:
        if active.depth and type(a) is np.ndarray:
            a = _looked_at(a)
        return original(np.asarray(a) if active.depth and type(a) is np.uint64 else a)

    dynamo_guards.from_numpy = from_numpy
    dynamo_guards._get_closure_vars()["___from_numpy"] = from_numpy


def patch_specialized() -> None:
    """Keep writes to arrays without dimensions: output_graph.py.

    Where a float64 argument without dimensions becomes a constant, Dynamo removes its input if
    only `item()` reads it, and so every write to it that nothing reads.
    """
    original = OutputGraph.remove_tensorify_specialized_graphargs

    @functools.wraps(original)
    def remove(self: Any) -> None:
        if not active.depth:
            original(self)
            return
        computed = [node for node in self.graph.nodes if node.op != "placeholder"]
        hidden = {
            node: node.meta.pop("example_value")
            for node in computed
            if "example_value" in node.meta
        }
        try:
            original(self)
        finally:
            for node, value in hidden.items():
                node.meta["example_value"] = value

    OutputGraph.remove_tensorify_specialized_graphargs = remove  # type: ignore[method-assign]


def patch_outputs() -> None:
    """Arrays enter and leave a frame through `npaccel._runtime.outputs`: codegen.py, source.py."""
    original = dynamo_codegen.PyCodegen.load_import_from
    # Frames call these while Dynamo looks at every new frame.
    outputs.enter = torch._dynamo.disable(outputs.enter)  # type: ignore[no-untyped-call]
    outputs.leave = torch._dynamo.disable(outputs.leave)  # type: ignore[no-untyped-call]

    def load_import_from(self: Any, module_name: str, object_name: str) -> None:
        if active.depth and object_name == "to_numpy_helper":
            module_name, object_name = "npaccel._runtime.outputs", "leave"
        if active.depth and (module_name, object_name) == ("torch", "as_tensor"):
            module_name, object_name = "npaccel._runtime.outputs", "enter"
        original(self, module_name, object_name)

    dynamo_codegen.PyCodegen.load_import_from = load_import_from
    _patch_iterators()
    NumpyDTypeVariable.reconstruct = _reconstruct_dtype


def _patch_iterators() -> None:
    """`a.flat` leaves a frame as an iterator: codegen.py."""
    original = dynamo_codegen.PyCodegen.__call__

    def call(self: Any, value: Any, allow_cache: bool = True) -> None:
        base = None
        if active.depth and type(value) is NumpyNdarrayVariable and value.source is None:
            base = value.as_proxy().node.meta.get(FLAT_OF)
        if base is None:
            original(self, value, allow_cache)
            return
        self(base)
        self.extend_output(self.create_load_attrs("flat"))
        self.clear_tos()

    dynamo_codegen.PyCodegen.__call__ = call  # type: ignore[method-assign]


def _reconstruct_dtype(self: Any, codegen: Any) -> None:
    """A dtype that isn't an argument leaves a frame: misc.py, NumpyDTypeVariable."""
    codegen.add_push_null(lambda: codegen.load_import_from("numpy", "dtype"))
    codegen.append_output(codegen.create_load_const(self.value.str))
    codegen.extend_output(create_call_function(1, False))
