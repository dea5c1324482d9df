"""Boundary of a frame: what enters it as an array or a NumPy function, and how arrays leave it.

Read from torch/_dynamo/{codegen,guards,output_graph}.py, torch/_dynamo/variables/builder.py and
torch/_numpy/_util.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch._dynamo
import torch._dynamo.guards as dynamo_guards
import torch._dynamo.variables.builder as dynamo_builder
import torch._numpy._util as tnp_util
from torch._dynamo import trace_rules
from torch._dynamo.bytecode_transformation import create_call_function
from torch._dynamo.codegen import PyCodegen
from torch._dynamo.guards import install_guard
from torch._dynamo.output_graph import OutputGraph
from torch._dynamo.source import AttrSource
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.misc import GetAttrVariable, NumpyDTypeVariable, NumpyVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, TensorVariable

from npaccel._numpy.core import table
from npaccel._numpy.core.context import settings
from npaccel._process import thread_warnings
from npaccel._runtime import outputs
from npaccel._runtime.arguments import COPYING, conversion_of, has_other_name, to_tensor
from npaccel._runtime.callables import is_jitted
from npaccel._syntax.wide_data import is_wide
from npaccel._torch.dynamo.numpy import opaque_objects
from npaccel._torch.dynamo.numpy import vectorize as vectorized_calls
from npaccel._torch.dynamo.numpy.calls import refuse
from npaccel._torch.dynamo.numpy.operations import FLAT_OF, RESTRIDED, SCALAR
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch, is_release

#: Whether a method of a ufunc that a name stands for, such as np.add.reduce, is unknown.
_LACKS_BOUND_BUILTINS = is_release("2.11-2.12")
#: Reason why what follows isn't compiled.
_NOT_SHARED = (
    "it isn't aligned, or of another byte order: compiled code would have a copy of it, and what "
    "is written there would be lost"
)


def _wrap_tensor(original: Any) -> Any:
    """Trace tensors as arrays."""

    def wrap_tensor(self: Any, value: torch.Tensor) -> Any:
        with _grad_unnoticed(value):
            variable = original(self, value)
        if not active.depth or type(variable) is not TensorVariable:
            return variable
        _note_wide(value)
        meta = variable.as_proxy().node.meta
        meta[SCALAR], meta[RESTRIDED] = id(value) in active.scalars, id(value) in active.restrided
        return NumpyNdarrayVariable(**dict(variable.__dict__))

    return wrap_tensor


def _wrap_numpy_ndarray(original: Any) -> Any:
    def wrap_numpy_ndarray(self: Any, value: Any) -> Any:
        if not active.depth:
            return original(self, value)
        opaque = opaque_objects.variable_for(self, value)
        return _wrapped(self, value, original) if opaque is None else opaque

    return wrap_numpy_ndarray


def _wrap(original: Any) -> Any:
    """Trace jitted functions as what they wrap."""

    def wrap(self: Any, value: Any) -> Any:
        if active.depth and is_jitted(value):
            self.install_guards(dynamo_builder.GuardBuilder.ID_MATCH)
            source = AttrSource(self.source, "__wrapped__")
            return VariableBuilder(self.tx, source)(value.__wrapped__)
        if active.depth:
            found = opaque_objects.variable_for(self, value) or _function(self, value)
            if found is not None:
                return found
        variable = original(self, value)
        if active.depth:
            variable = opaque_objects.noticed(variable)
        if active.depth and isinstance(value, np.generic):
            _note_wide(value)
            variable.as_proxy().node.meta[SCALAR] = True
        return variable

    return wrap


def _wrapped(builder: Any, value: Any, original: Callable[[Any, Any], Any]) -> Any:
    """Return the variable for an array that enters a frame."""
    _note_wide(value)
    if active.is_subgraph and conversion_of(value) in COPYING and not _is_reversed(value):
        refuse("an array that NumPy hands on", "", _NOT_SHARED)
    strides = value.strides
    value = _looked_at(value)
    variable = original(builder, value)
    if value.strides != strides:
        variable.as_proxy().node.meta[RESTRIDED] = True
        active.restrided |= {id(value)}
    if active.is_subgraph:  # A reversed array becomes a tensor as others do.
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
    with thread_warnings.ignored():
        yield


def _is_unknown(value: Any) -> bool:
    """Whether a function is NumPy's, but in a module that Dynamo doesn't look into."""
    return table.row_of(value) is not None and not trace_rules.is_numpy(value)


def _try_convert_to_tensor(original: Any) -> Any:
    def try_convert_to_tensor(value: Any) -> torch.Tensor:
        tensor: torch.Tensor = original(value)
        return tensor.to(settings().device) if active.depth else tensor

    return try_convert_to_tensor


def _is_reversed(value: np.ndarray[Any, Any]) -> bool:
    """Whether an array only has to be copied because it's reversed."""
    whole = all(stride % value.itemsize == 0 for stride in value.strides)
    is_plain = value.dtype.isnative and value.flags.aligned and whole
    return is_plain and any(stride < 0 for stride in value.strides)


def _from_numpy(original: Any) -> Any:
    """Check arrays as they were captured, and scalars of uint64."""

    @functools.wraps(original)
    def from_numpy(a: Any) -> Any:
        if active.depth and type(a) is np.ndarray:
            a = _looked_at(a)
        return original(np.asarray(a) if active.depth and type(a) is np.uint64 else a)

    return from_numpy


def _closure_vars(original: Any) -> Any:
    """Have guards use `from_numpy` as it is by then."""
    names = dynamo_guards._get_closure_vars()  # The original may be None, until it's asked for.
    return {**names, "___from_numpy": dynamo_guards.from_numpy}


def _remove_graphargs(original: Any) -> Any:
    """Keep writes to arrays without dimensions.

    Where a float64 argument without dimensions becomes a constant, Dynamo removes its input if
    only `item()` reads it, and so every write to it that nothing reads.
    """

    @functools.wraps(original)
    def remove(self: Any) -> None:
        if not active.depth:
            original(self)
            return
        computed = [node for node in self.graph.nodes if node.op != "placeholder"]
        examples = {
            node: node.meta.pop("example_value")
            for node in computed
            if "example_value" in node.meta
        }
        try:
            original(self)
        finally:
            for node, value in examples.items():
                node.meta["example_value"] = value

    return remove


def _make_output_graph(original: Any) -> Any:
    """Note what is to be let go of."""

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if active.shape_envs is not None:
            active.shape_envs.append(self.shape_env)

    return init


def _load_import_from(original: Any) -> Any:
    """Have arrays enter and leave a frame through `npaccel._runtime.outputs`."""

    def load_import_from(self: Any, module_name: str, object_name: str) -> None:
        if active.depth and object_name == "to_numpy_helper":
            module_name, object_name = "npaccel._runtime.outputs", "leave"
        if active.depth and (module_name, object_name) == ("torch", "as_tensor"):
            module_name, object_name = "npaccel._runtime.outputs", "enter"
        original(self, module_name, object_name)

    return load_import_from


def _call(original: Any) -> Any:
    """Have ``a.flat`` leave a frame as an iterator."""

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

    return call


def _reconstruct(original: Any) -> Any:
    """Reconstruct a dtype that isn't an argument where it leaves a frame."""

    def reconstruct(self: Any, codegen: Any) -> None:
        codegen.add_push_null(lambda: codegen.load_import_from("numpy", "dtype"))
        codegen.append_output(codegen.create_load_const(self.value.str))
        codegen.extend_output(create_call_function(1, False))

    return reconstruct


_FRAMES = "tests/torch_layer/dynamo/test_scalars_in_frames.py"
_ATTRIBUTES = "tests/torch_layer/dynamo/test_attributes.py"
_BREAKS = "tests/torch_layer/dynamo/test_breaks.py"
_AS_CAPTURED = "guards fail for arrays that tensors can't be made of as they are"
_LOOKED_AT = "frames call it while Dynamo looks at every new frame"

PATCHES = (
    Patch(
        VariableBuilder, "wrap_tensor", _wrap_tensor,
        "tensors stand for arrays and scalars", _FRAMES,
    ),
    Patch(
        VariableBuilder, "wrap_numpy_ndarray", _wrap_numpy_ndarray,
        "Dynamo changes flags of the caller's array, or refuses it", _BREAKS,
    ),
    Patch(
        VariableBuilder, "_wrap", _wrap,
        "Dynamo knows neither jitted functions nor all of NumPy's",
        "tests/torch_layer/dynamo/test_functions_given.py",
    ),
    Patch(
        tnp_util, "_try_convert_to_tensor", _try_convert_to_tensor,
        "arrays that a function finds lie on the CPU, whatever the call's device",
        "tests/numpy_layer/test_devices.py",
    ),
    Patch(
        OutputGraph, "remove_tensorify_specialized_graphargs", _remove_graphargs,
        "Dynamo drops writes to an argument that becomes a constant", _FRAMES,
    ),
    Patch(
        OutputGraph, "__init__", _make_output_graph,
        "sizes that were symbolic are kept for good", "tests/faults/test_unloading.py",
    ),
    Patch(dynamo_guards, "from_numpy", _from_numpy, _AS_CAPTURED, _BREAKS),
    Patch(dynamo_guards, "_CLOSURE_VARS", _closure_vars, _AS_CAPTURED, _BREAKS),
    Patch(outputs, "enter", torch._dynamo.disable, _LOOKED_AT, _BREAKS),
    Patch(outputs, "leave", torch._dynamo.disable, _LOOKED_AT, _BREAKS),
    Patch(
        PyCodegen, "load_import_from", _load_import_from,
        "Dynamo's frames copy arrays where they enter and leave", _BREAKS,
    ),
    Patch(
        PyCodegen, "__call__", _call, "Dynamo gives an array for `a.flat`", _FRAMES,
    ),
    Patch(
        NumpyDTypeVariable, "reconstruct", _reconstruct,
        "Dynamo can't give a dtype that the function makes", _ATTRIBUTES,
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
