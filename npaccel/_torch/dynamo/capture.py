"""Capture a Python function as one graph with Dynamo.

Dynamo is asked directly, without its frame hook: npaccel decides itself when a
capture may be used again. Everything a later call needs is in
`capture_record.Capture`.

Read from torch/_dynamo/{convert_frame,aot_compile,pgo,side_effects}.py
of 2.11 and 2.13.
"""

from __future__ import annotations

import builtins
import contextlib
import traceback
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo
import torch._dynamo.config as dynamo_config
import torch._dynamo.pgo as dynamo_pgo
import torch._dynamo.variables.builder as dynamo_builder
from torch._dynamo import convert_frame
from torch._dynamo.exc import (
    TensorifyScalarRestartAnalysis,
    TorchDynamoException,
    UncapturedHigherOrderOpError,
)
from torch._dynamo.symbolic_convert import TensorifyState
from torch._guards import TracingContext

from npaccel._numpy.core.context import settings
from npaccel._process import fork
from npaccel._report.details import Narrowed
from npaccel._runtime.arguments import Sizes, is_lazy, resolved
from npaccel._torch.dynamo import object_writes
from npaccel._torch.dynamo.capture_context import contexts
from npaccel._torch.dynamo.capture_description import Found, describe, graph_input
from npaccel._torch.dynamo.capture_errors import CaptureError, error_of
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.device_guard import keep_device_guard
from npaccel._torch.dynamo.install import numpy_traced
from npaccel._torch.dynamo.numpy.calls import wide_nodes
from npaccel._torch.dynamo.numpy.negative_strides import line_of_unlike_view
from npaccel._torch.dynamo.numpy.rng_hoisting import UnknownValueError, draw_lines, extract
from npaccel._torch.dynamo.reads import MovedError, noted
from npaccel._torch.dynamo.source_lines import narrowings_noted
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.alias_checks import (
    LEAVES,
    REASON,
    RESHAPED,
    UNLIKE,
    UNSURE,
    line_of_leaving_view,
    line_of_reshaped_view,
    line_of_stale_view,
    line_of_unsure_view,
)
from npaccel._torch.leftovers import in_copied_context
from npaccel._torch.patching import Patch, is_release, patched
from npaccel._torch.transforms.attempts import attempted
from npaccel._torch.transforms.regions import check_regions

#: Raised while a graph compiles, where a float has to be a constant after all.
#: Capturing once more then makes it one.
RestartError = TensorifyScalarRestartAnalysis


def forget_restarts() -> None:
    """Forget which floats were made constants for a graph."""
    TensorifyState.clear()


class SizeHistory:
    """The sizes and numbers that earlier captures saw, by source.

    What differs between two captures is symbolic from the second one on.

    Parameters
    ----------
    varying : sequence of str
        Parameters whose numbers are symbolic from the first capture on, 0 and 1 too.
    """

    def __init__(self, varying: Sequence[str] = ()) -> None:
        self._state: Any = dynamo_pgo.CodeState()
        self.varying = [f"L['{name}']" for name in varying]
        for source in self.varying:
            self._state.automatic_dynamic[source].scalar = dynamo_pgo.auto_dynamic

    def of_numbers(self, arrays: Collection[str]) -> SizeHistory:
        """Return a history of the numbers alone.

        Parameters
        ----------
        arrays : collection of str
            Parameters that are no numbers this time.
        """
        names = (source[3:-2] for source in self.varying)
        made = SizeHistory([name for name in names if name not in arrays])
        for source, entry in self._state.automatic_dynamic.items():
            made._state.automatic_dynamic[source].scalar = entry.scalar
        return made

    @in_copied_context
    def note(self, code: types.CodeType, found: Mapping[str, Sizes]) -> None:
        """Note the sizes and numbers of a call as if it had been captured."""
        frame: Any = types.SimpleNamespace(f_code=code, closure=(), distributed_state=None)
        with self.used():
            for source, sizes in found.items():
                if isinstance(sizes, tuple):
                    like = torch.empty_strided(*sizes, device="meta")
                    dynamo_builder.record_automatic_dynamic(frame, source, like)
                else:
                    entry = dynamo_pgo.FrameStateSizeEntry.make_scalar(sizes)  # type: ignore[arg-type]
                    dynamo_pgo.process_automatic_dynamic(frame, source, entry)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Make Dynamo read and write this history instead of its own."""
        states = _OneState(self._state)
        with (
            patched([patch.given(states) for patch in _OF_HISTORIES]),
            torch.compiler.config.patch(dynamic_sources=",".join(self.varying)),
        ):
            yield


def _get_code_state(states: _OneState, original: Any) -> Any:
    def get_code_state() -> _OneState:
        return states

    return get_code_state


class _OneState(dict[Any, Any]):
    """A mapping from any code to the same state."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self._state = state

    def __missing__(self, key: Any) -> Any:
        return self._state


#: Dynamo captures one function at a time in a process.
lock = convert_frame.compile_lock
fork.hold(lock, around_others=True)
keep_device_guard()


@in_copied_context
def capture(
    function: types.FunctionType,
    local_values: Mapping[str, Any],
    *,
    history: SizeHistory,
    dynamic: bool | None,
    scalars: Sequence[torch.Tensor],
    restrided: Sequence[torch.Tensor] = (),
    is_part: bool = False,
    remakes_views: bool = False,
    weak_scalars: bool = False,
) -> Capture:
    """Capture a function for the given arguments.

    Parameters
    ----------
    function : types.FunctionType
    local_values : mapping
        The value of every parameter and free variable, by name. Arrays among
        the arguments are tensors already.
    history : SizeHistory
        Of the earlier captures of this kind of call.
    dynamic : bool or None
        As in `npaccel.jit`.
    scalars : sequence of torch.Tensor
        The arguments that stand for NumPy scalars.
    restrided : sequence of torch.Tensor
        The arguments that have other strides than the caller's arrays.
    is_part : bool
        Whether other code of the same function goes on with the results.
    remakes_views : bool
        Whether NumPy makes the reversed views among the results.
    weak_scalars : bool
        Whether NumPy scalars of 64 bits were computed of Python numbers alone.

    Raises
    ------
    CaptureError
        If it doesn't fit into one graph.
    MovedError
        If another thread has rebound something that it reads, meanwhile.
    """
    found: list[Found] = []
    narrowed: dict[Narrowed, None] = {}

    def backend(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        context = TracingContext.get()
        nodes = list(graph.graph.find_nodes(op="placeholder"))
        inputs = [graph_input(node) for node in nodes]
        fakes = [node.meta["example_value"] for node in nodes]
        plain = [_resolved(value) for value in example_inputs]
        found.append(Found(graph, plain, context, inputs, fakes))
        return graph

    def attempt() -> Any:
        found.clear()
        narrowed.clear()
        output = _compile_frame(function, local_values, backend)
        if found:
            check_views(found[0].graph, is_part)
            check_regions(found[0].graph.graph)
        return output

    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    with (
        noted(function.__globals__, local_values, cells) as reads,
        numpy_traced(
            scalars, restrided, draws=True, remakes_views=remakes_views, weak_scalars=weak_scalars
        ),
        history.used(),
        _configured(dynamic),
        contexts(),
        _changes_noted(),
        narrowings_noted(narrowed),
    ):
        try:
            output = attempted(attempt)
        except Exception as error:  # Such as that of a dict that grows while Dynamo reads it.
            if reads.have_moved():
                raise MovedError from error
            if isinstance(error, CaptureError):
                error.has_wide_data = active.has_wide_data
            raise
        has_wide_data = active.has_wide_data
    if found:
        _take_draws_out(found[0], function)
        has_wide_data |= settings().narrow and wide_nodes(found[0].graph.graph)
    numbers = [
        f"L['{name}']"
        for name, value in local_values.items()
        if type(value) in (int, float) and name not in cells and dynamic is not False
    ]
    described = describe(function.__code__, output, found[0] if found else None, numbers)
    described.narrowed = tuple(narrowed)
    described.has_wide_data = has_wide_data
    described.reads = reads
    return described


def check_views(graph: torch.fx.GraphModule, is_part: bool) -> None:
    """Refuse a graph that loses a write through a view, or may let others lose one.

    Parameters
    ----------
    graph : torch.fx.GraphModule
    is_part : bool
        Whether other code of the same function goes on with its results.

    Raises
    ------
    CaptureError
    """
    checks = [
        (line_of_stale_view, REASON),
        (line_of_reshaped_view, RESHAPED),
        (line_of_unsure_view, UNSURE),
    ]
    if is_part:
        checks += [(line_of_leaving_view, LEAVES), (line_of_unlike_view, UNLIKE)]
    for find, reason in checks:
        where = find(graph.graph)
        if where is not None:
            frame = traceback.FrameSummary(where[0], where[1], "")
            raise CaptureError(reason, "reversed view", [frame], False)


def _take_draws_out(found: Found, function: types.FunctionType) -> None:
    """Make inputs of the numbers that NumPy draws on the host."""
    found.drawn = draw_lines(found.graph)
    try:
        found.draws, examples = extract(found.graph, found.fakes)
    except UnknownValueError as error:
        code = function.__code__
        frame = traceback.FrameSummary(code.co_filename, code.co_firstlineno, code.co_name)
        reason = f"NumPy draws random numbers before the compiled code runs, and needs {error}"
        raise CaptureError(reason, "random numbers", [frame], True) from error
    found.example_inputs = [*found.example_inputs, *examples]


def _configured(dynamic: bool | None) -> Any:
    changes: dict[str, Any] = {
        "automatic_dynamic_shapes": dynamic is not False,
        "assume_static_by_default": dynamic is not True,
        "capture_dynamic_output_shape_ops": True,
        "capture_scalar_outputs": True,
        "fake_tensor_cache_enabled": False,  # Keys of symbolic sizes cost more than they save.
        "skip_guards_on_constant_func_defaults": False,  # They may differ between calls.
        "specialize_float": dynamic is False,
        "verbose": False,
    }
    if is_release("2.12-"):
        changes["automatic_dynamic_exclusion_guard"] = False
    if is_release("2.15-"):
        # Else what is computed of numbers alone, `min(k, 7)`, is left to the frame, unguarded.
        changes["computed_lazy_constant_max_nodes"] = 0
    return dynamo_config.patch(changes)


def _compile_frame(
    function: types.FunctionType, local_values: Mapping[str, Any], backend: Any
) -> Any:
    try:
        return convert_frame.compile_frame(
            function.__code__,
            function.__globals__,
            dict(local_values),
            builtins.__dict__,
            function.__closure__ or (),  # type: ignore[arg-type]
            compiler_fn=backend,
            one_graph=True,
            restart_reasons=set(),
        )
    except (TorchDynamoException, UncapturedHigherOrderOpError) as error:
        raise error_of(error, function) from error


@contextlib.contextmanager
def _changes_noted() -> Iterator[None]:
    """Note whether a capture changes objects; Dynamo forgets it when it's done."""
    with patched(object_writes.PATCHES):
        yield


def _resolved(value: Any) -> Any:
    """Conjugate and negate a tensor that does it on reading: so compiled code is given it.

    Arguments are so before they're captured, tensors that the function finds elsewhere are not.
    """
    return resolved(value) if isinstance(value, torch.Tensor) and is_lazy(value) else value


_OF_HISTORIES = (
    Patch(
        dynamo_pgo, "get_code_state", _get_code_state,
        "Dynamo has one history of sizes for all captures of a code",
        "tests/compiler/test_shapes.py",
    ),
)  # fmt: skip
#: Patches for as long as a function is captured.
PATCHES = (*_OF_HISTORIES, *object_writes.PATCHES)
