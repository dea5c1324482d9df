"""Make Dynamo trace NumPy calls into npaccel's table instead of `torch._numpy`.

Dynamo's own classes are patched once. A patch acts only in a thread that is
capturing for npaccel, so `torch.compile` used directly stays as it is.

Read from torch/_dynamo/variables/misc.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch._dynamo import trace_rules
from torch._dynamo.variables.misc import NumpyVariable

from npaccel import _numpy
from npaccel._numpy.core import table
from npaccel._process import fork
from npaccel._torch.dynamo.fake_tensor_fast_path import quick_fakes
from npaccel._torch.dynamo.frame_boundary import (
    patch_captured,
    patch_guards,
    patch_inputs,
    patch_outputs,
    patch_specialized,
)
from npaccel._torch.dynamo.numpy import ndarray_setattr as numpy_assignments
from npaccel._torch.dynamo.numpy import ndarray_slots as numpy_slots
from npaccel._torch.dynamo.numpy import negative_strides as remade_views
from npaccel._torch.dynamo.numpy import objects as numpy_objects
from npaccel._torch.dynamo.numpy import opaque_objects, scipy_calls
from npaccel._torch.dynamo.numpy import rng_tracing as random_tracing
from npaccel._torch.dynamo.numpy import vectorize as vectorized_calls
from npaccel._torch.dynamo.numpy.calls import (
    assign,
    call_row,
    check_stores,
    emit,
    emit_operator,
    refuse,
)
from npaccel._torch.dynamo.numpy.ndarray_methods import patch_arrays, patch_operators
from npaccel._torch.dynamo.numpy.operations import Operation, is_scalar
from npaccel._torch.dynamo.python import absent_attributes as missing_names
from npaccel._torch.dynamo.python import builtins as python_calls
from npaccel._torch.dynamo.python import class_attributes
from npaccel._torch.dynamo.python import list_append as growing_lists
from npaccel._torch.dynamo.python import nested_jit as jitted_calls
from npaccel._torch.dynamo.python import scalars as python_numbers
from npaccel._torch.dynamo.quiet_logs import keep_quiet
from npaccel._torch.dynamo.reads import note_reads
from npaccel._torch.dynamo.state import active, as_traced
from npaccel._torch.dynamo.sympy_solve import patch_equations
from npaccel._torch.inductor.complex.literals import write_complex_numbers_exactly

_RANDOM = "numpy.random."
_install_lock = threading.RLock()  # Of which an import within can tell that it's held.
fork.hold(_install_lock)
#: Python runs them where nothing is split.
_LEFT_TO_PYTHON = (
    "npaccel._loops.control_flow.primitives",
    "npaccel._loops.control_flow.carry",
    "npaccel._runtime.arguments",
    "npaccel._runtime.opaque",
)
_installed = False


@contextlib.contextmanager
def numpy_traced(
    scalars: Iterable[torch.Tensor] = (),
    relaid: Iterable[torch.Tensor] = (),
    *,
    draws: bool = False,
    remakes_views: bool = False,
    weak_scalars: bool = False,
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
    remakes_views : bool
        Whether NumPy makes the reversed views that leave the graph.
    weak_scalars : bool
        Whether NumPy scalars that enter were computed of Python numbers alone.
    """
    install()
    names = (
        *("scalars", "relaid", "draws", "remakes_views", "pieces", "on_break"),
        *("has_wide_data", "weak_scalars"),
    )
    before = {name: getattr(active, name) for name in names}
    active.pieces, active.on_break = False, None  # Of the function that calls this one.
    active.scalars, active.draws = frozenset(map(id, scalars)), draws
    active.remakes_views = remakes_views
    active.has_wide_data, active.weak_scalars = False, weak_scalars
    active.relaid = frozenset(map(id, relaid))
    try:
        with as_traced(), quick_fakes():
            yield
    finally:
        vars(active).update(before)


def install() -> None:
    """Patch Dynamo's NumPy classes, once per process."""
    global _installed
    with _install_lock:
        if _installed:
            return
        _numpy.load()
        keep_quiet()
        _patch_functions()
        patch_arrays()
        patch_operators()
        numpy_slots.patch_slots(active, emit_operator, check_stores, is_scalar)
        numpy_assignments.patch_assignments(active, refuse, assign)
        numpy_objects.patch_index_helpers(active, refuse, call_row)
        numpy_objects.patch_polynomials(active)
        random_tracing.patch_generators(active, refuse, emit, Operation)
        patch_inputs()
        note_reads()
        opaque_objects.patch_methods()
        patch_captured()
        patch_specialized()
        patch_guards()
        patch_outputs()
        remade_views.patch_outputs()
        for module in _LEFT_TO_PYTHON:
            trace_rules.add(module)
        python_numbers.patch_outputs(active)
        python_numbers.patch_formatting(active)
        python_numbers.patch_globals(active)
        python_numbers.patch_truth(active)
        python_numbers.patch_sizes(active)
        patch_equations(active)
        python_calls.patch_python_functions()
        scipy_calls.patch_scipy_functions()
        jitted_calls.patch_methods()
        jitted_calls.patch_comparisons()
        class_attributes.patch_classes()
        class_attributes.patch_super()
        class_attributes.patch_dicts_of_attributes()
        missing_names.patch_missing_names()
        growing_lists.patch_lists()
        write_complex_numbers_exactly()
        python_calls.bind_comparisons()
        _installed = True


def _call_object(
    tx: Any, function: Any, row: table.Row | None, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Trace a call of NumPy or SciPy, or break the graph at it."""
    if row is not None and row.name.startswith(_RANDOM):
        name = row.name.removeprefix(_RANDOM)
        return random_tracing.call_function(tx, function, name, args, kwargs)
    if row is not None:
        return call_row(tx, row, args, kwargs)
    if scipy_calls.is_scipy(function):
        return scipy_calls.call_function(tx, function, args, kwargs)
    name = getattr(function, "__name__", repr(function))
    module = getattr(function, "__module__", None) or "numpy"
    return refuse(f"{module}.{name}", f"args: {args}, kwargs: {kwargs}")


def _patch_functions() -> None:
    """`np.f(...)` and `np.add.reduce(...)`: variables/misc.py, NumpyVariable."""
    original_call = NumpyVariable.call_function
    original_method = NumpyVariable.call_method

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth:
            return original_call(self, tx, args, kwargs)
        if self.value in (np.errstate, np.printoptions):
            block = numpy_objects.settings_block(self.value, args, kwargs)
            if block is None:
                refuse(f"numpy.{self.value.__name__}", "", numpy_objects.HAS_EFFECT)
            return block
        if self.value is np.vectorize:
            return vectorized_calls.made(tx, list(args), kwargs)
        row = table.row_of(self.value)
        if row is None and self.value in (np.dtype, np.finfo, np.iinfo):
            return original_call(self, tx, args, kwargs)
        return _call_object(tx, self.value, row, list(args), kwargs)

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if not active.depth:
            return original_method(self, tx, name, args, kwargs)
        if scipy_calls.is_scipy(self.value):
            return scipy_calls.call_method(tx, self.value, name, list(args), kwargs)
        full = f"numpy.{getattr(self.value, '__name__', '?')}.{name}"
        row = table.row_named(full)
        if row is None:
            return refuse(full, f"args: {args}, kwargs: {kwargs}")
        return call_row(tx, row, args, kwargs)

    NumpyVariable.call_function = call_function
    NumpyVariable.call_method = call_method
    if hasattr(NumpyVariable, "hash_impl"):  # In 2.13, by identity of what stands for the value.
        NumpyVariable.hash_impl = lambda self, tx: (hash(self.value), False)
