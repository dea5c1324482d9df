"""Patch Dynamo, once in a process, so that it traces NumPy calls into npaccel's table.

A patch acts only in a thread that captures for npaccel, so `torch.compile` used directly stays as
it is.

Read from torch/_dynamo/trace_rules.py (add) and torch/_dynamo/variables/builder.py
(VariableBuilder._type_dispatch) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from collections.abc import Iterable, Iterator

import torch
from torch._dynamo import trace_rules
from torch._dynamo.variables.builder import VariableBuilder

from npaccel import _numpy
from npaccel._process import fork
from npaccel._torch.dynamo import (
    break_hooks,
    budget,
    failed_subgraphs,
    fake_tensor_fast_path,
    frame_boundary,
    quiet_logs,
    reads,
    sympy_solve,
)
from npaccel._torch.dynamo.numpy import (
    functions,
    ndarray_methods,
    ndarray_setattr,
    ndarray_slots,
    negative_strides,
    objects,
    opaque_objects,
    rng_tracing,
    scipy_calls,
    scipy_objects,
)
from npaccel._torch.dynamo.python import (
    absent_attributes,
    builtins,
    caught_errors,
    class_attributes,
    list_append,
    module_globals,
    nested_jit,
    scalars,
)
from npaccel._torch.dynamo.state import active, as_traced, release_shape_envs
from npaccel._torch.inductor.complex import literals
from npaccel._torch.patching import Patch, apply
from npaccel._torch.transforms import application, loop_marks
from npaccel._torch.transforms import marks as transform_marks

#: All that is replaced in Dynamo, in order: what comes later is asked first.
PATCHES: tuple[Patch, ...] = (
    *quiet_logs.PATCHES,
    *budget.PATCHES,
    *functions.PATCHES,
    *ndarray_methods.PATCHES,
    *ndarray_slots.PATCHES,
    *ndarray_setattr.PATCHES,
    *objects.PATCHES,
    *rng_tracing.PATCHES,
    *frame_boundary.PATCHES,
    *reads.PATCHES,
    *opaque_objects.PATCHES,
    *negative_strides.PATCHES,
    *scalars.PATCHES,
    *sympy_solve.PATCHES,
    *builtins.PATCHES,
    *caught_errors.PATCHES,
    *scipy_calls.PATCHES,
    *scipy_objects.PATCHES,
    *nested_jit.PATCHES,
    *transform_marks.PATCHES,
    *loop_marks.PATCHES,
    *application.PATCHES,
    *class_attributes.PATCHES,
    *absent_attributes.PATCHES,
    *list_append.PATCHES,
    *module_globals.PATCHES,
    *literals.PATCHES,
    *fake_tensor_fast_path.PATCHES,
    *break_hooks.PATCHES,
    *failed_subgraphs.PATCHES,
    *builtins.LAST_PATCHES,
)
#: Modules whose functions Python runs where nothing is split.
_LEFT_TO_PYTHON = (
    "npaccel._loops.control_flow.primitives",
    "npaccel._loops.control_flow.carry",
    "npaccel._runtime.arguments",
    "npaccel._runtime.opaque",
)
_install_lock = threading.RLock()  # Of which an import within can tell that it's held.
fork.hold(_install_lock)
_installed = False


def install() -> None:
    """Patch Dynamo, once in a process.

    Raises
    ------
    UnsupportedTorchError
        If something can't be patched; then nothing is, and the next call tries again.
    """
    global _installed
    with _install_lock:
        if _installed:
            return
        _numpy.load()
        with contextlib.ExitStack() as undo:
            undo.callback(_forget_methods_by_type)
            apply(PATCHES, undo)
            quiet_logs.add_filters(undo)
            break_hooks.add_filter(undo)
            _leave_modules_to_python(undo)
            _forget_methods_by_type()
            undo.pop_all()
        _installed = True


def _forget_methods_by_type() -> None:
    """Drop Dynamo's table of methods by type, which it makes at its first capture."""
    vars(VariableBuilder)["_type_dispatch_impl"].__func__.cache_clear()


def _leave_modules_to_python(undo: contextlib.ExitStack) -> None:
    undo.callback(_set_skipped, list(trace_rules.SKIP_DIRS))
    for module in _LEFT_TO_PYTHON:
        if importlib.util.find_spec(module) is None:  # Which `add` passes over.
            raise ModuleNotFoundError(f"npaccel has no module {module}, which Python is to run")
        trace_rules.add(module)


def _set_skipped(folders: list[str]) -> None:
    trace_rules.SKIP_DIRS[:] = folders
    trace_rules._recompile_re()


@contextlib.contextmanager
def numpy_traced(
    scalars: Iterable[torch.Tensor] = (),
    restrided: Iterable[torch.Tensor] = (),
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
    restrided : iterable of torch.Tensor
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
        *("scalars", "restrided", "draws", "remakes_views", "is_subgraph", "on_break"),
        *("has_wide_data", "weak_scalars", "raises", "errors"),
        "shape_envs",
    )
    before = {name: getattr(active, name) for name in names}
    active.is_subgraph, active.on_break = False, None  # Of the function that calls this one.
    active.scalars, active.draws = frozenset(map(id, scalars)), draws
    active.remakes_views = remakes_views
    active.has_wide_data, active.weak_scalars = False, weak_scalars
    active.restrided = frozenset(map(id, restrided))
    active.raises, active.errors = False, []
    active.shape_envs = []
    try:
        with as_traced(), fake_tensor_fast_path.quick_fakes():
            yield
    except BaseException:
        release_shape_envs()
        raise
    finally:
        vars(active).update(before)


__all__ = ["PATCHES", "install", "numpy_traced"]
