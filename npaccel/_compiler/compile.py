"""Capture and compile one signature, run it once, and plan later calls.

Imported when something is compiled: it brings in dynamo and inductor.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Sequence
from typing import Any

import torch

from npaccel._torch.importing import load_compiler

load_compiler()

from npaccel._cache.cache_warnings import fix_of
from npaccel._compiler.call_arguments import Call
from npaccel._compiler.fallback import Uncompiled, uncompiled
from npaccel._compiler.frame import Frame
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._compiler.graph_breaks import around_breaks, trace_settings
from npaccel._compiler.planning import CompiledCall, Prepared, beside, first_call
from npaccel._compiler.scratch import scratch_folder
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._process import logs, signals
from npaccel._process.progress import notice
from npaccel._runtime.array_copies import Copies
from npaccel._runtime.error_translation import (
    UncompiledForMemoryError,
    assumption_and_advice,
    before_a_call,
    is_assumption,
)
from npaccel._runtime.opaque import Kind
from npaccel._runtime.runner import MISS, Declined
from npaccel._syntax.wide_reach import reaches_wide
from npaccel._torch.beside import beside_the_program
from npaccel._torch.dynamo import budget
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo.break_reasons import UNKNOWN, in_our_words
from npaccel._torch.dynamo.capture_errors import OVER_BUDGET, CaptureError
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.numpy import opaque_objects
from npaccel._torch.dynamo.reads import ATTEMPTS, MovedError
from npaccel._torch.inductor import compile as inductor
from npaccel._torch.inductor.compile import CompiledGraph
from npaccel._torch.leftovers import leftovers_released
from npaccel.errors import (
    CompilerNotFoundError,
    NotCompiledError,
    NotOnDeviceError,
    UnsupportedArrayError,
    UnsupportedDtypeError,
)

#: Functions that Python runs bit by bit, whenever their caller asks for more.
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_YIELDS = "generators and coroutines aren't compiled: Python runs them when their caller asks"
#: Reason where what a capture reads isn't what was there before, each time, and advice.
_REBOUND = "what it reads was rebound while it was captured, by another thread perhaps"
_LEAVE = "pass what changes as an argument"


def new_history(spec: FunctionSpec) -> Any:
    """Return an empty history of sizes for one kind of call."""
    return dynamo.SizeHistory([spec.binding.names[i] for i in sorted(spec.varying)])


def compile_call(
    spec: FunctionSpec, values: Sequence[Any], history: Any, device: torch.device
) -> CompiledCall | Uncompiled:
    """Capture, compile and run one call.

    Parameters
    ----------
    spec : FunctionSpec
    values : sequence
        Of all parameters.
    history : SizeHistory
    device : torch.device

    Returns
    -------
    CompiledCall or Uncompiled
    """
    if spec.function.__code__.co_flags & _GENERATORS:
        return uncompiled(spec, _YIELDS, "return arrays instead of yielding them")
    with (
        dynamo.lock,
        leftovers_released(),
        notice(f"{spec.name}({spec.describe(values)})"),
    ):
        # Inside the lock, which forks wait for: torch sets some of its functions up at their
        # first call, and a child that is forked in the middle of that can never call them.
        for _ in range(ATTEMPTS):
            with before_a_call():
                call = Call(spec, values, device)
            try:
                return _compiled_and_run(call, history)
            except MovedError:  # The code would be for what was there before.
                continue
        return uncompiled(spec, _REBOUND, _LEAVE, is_kept=False)


def _compiled_and_run(call: Call, history: Any) -> CompiledCall | Uncompiled:
    stages: dict[str, float] = {}
    made = signals.passing(_made, call, history, stages)
    if isinstance(made, Uncompiled):
        return made
    capture, compiled, settings = made
    # The first run too: a child that is forked while another thread starts OpenMP's threads
    # may never get its own.
    with tracing(settings):
        with before_a_call():
            frame = Frame(call, capture, compiled, settings)
        outcome = first_call(call, frame)
    if isinstance(outcome, CompiledCall):
        outcome.stages = stages | (compiled.stages if compiled else {})
    return outcome


def compile_beside(
    spec: FunctionSpec, copies: Copies, history: Any, device: torch.device
) -> CompiledCall | Uncompiled | Prepared | None:
    """Capture and compile one call beside the program, and run it where that changes nothing.

    Parameters
    ----------
    spec : FunctionSpec
    copies : Copies
        The call's arguments.
    history : SizeHistory
    device : torch.device

    Returns
    -------
    CompiledCall, Uncompiled, Prepared or None
        None if what the capture reads was rebound each time.
    """
    if spec.function.__code__.co_flags & _GENERATORS:
        return uncompiled(spec, _YIELDS, "return arrays instead of yielding them")
    with dynamo.lock, leftovers_released(), beside_the_program():
        for _ in range(ATTEMPTS):
            with contextlib.suppress(MovedError):
                return _compiled_beside(spec, copies, history, device)
    return None


def _compiled_beside(
    spec: FunctionSpec, copies: Copies, history: Any, device: torch.device
) -> CompiledCall | Uncompiled | Prepared:
    stages: dict[str, float] = {}
    call = Call(spec, copies.values, device, is_copy=copies.are_complete)
    try:
        capture, compiled, settings = _captured_and_compiled(call, history, stages)
    except CaptureError as error:
        return _uncaptured(spec, error, breaks_wide(spec, error, call.values))
    stages |= compiled.stages if compiled else {}
    with tracing(settings):
        outcome = beside(call, Frame(call, capture, compiled, settings))
    if not isinstance(outcome, Uncompiled):
        outcome.stages = stages
    return outcome


def first_call_of_prepared(
    prepared: Prepared, values: Sequence[Any]
) -> CompiledCall | Uncompiled | Declined | None:
    """Make the first call of a signature that was compiled beside the program.

    Returns
    -------
    CompiledCall, Uncompiled, Declined or None
        `MISS` if it isn't the one for the call, `None` where something else is being compiled.

    Raises
    ------
    UncompiledForMemoryError
        If memory has run out, and all that was written is undone.
    """
    if not dynamo.lock.acquire(blocking=False):
        return None
    try:
        if not prepared.fits(values):
            return MISS
        with leftovers_released(), tracing(prepared.frame.settings):
            return prepared.first_call(values)
    except MovedError:
        return MISS
    finally:
        dynamo.lock.release()


def _made(
    call: Call, history: Any, stages: dict[str, float]
) -> tuple[Capture, CompiledGraph | None, TraceSettings] | Uncompiled:
    """Capture and compile a call, or say how it runs uncompiled."""
    try:
        with before_a_call():
            return _captured_and_compiled(call, history, stages)
    except CaptureError as error:
        return _uncaptured(call.spec, error, breaks_wide(call.spec, error, call.values))
    except (CompilerNotFoundError, NotOnDeviceError, MovedError, UncompiledForMemoryError):
        raise
    except Exception as error:  # noqa: BLE001 (whatever the compiler raises is reported)
        return _not_compiled(call.spec, error)


def breaks_wide(spec: FunctionSpec, error: CaptureError, values: Sequence[Any]) -> bool:
    """Whether a call may meet 64-bit floats, of a function whose capture has ended early."""
    if error.has_wide_data or spec.has_wide(values):
        return True
    return spec.on_wide is None and reaches_wide(spec.function, values)


def capture_call(call: Call, history: Any, dynamic: bool | None) -> tuple[Capture, TraceSettings]:
    """Capture a call in the width that its data have.

    What is read besides the arguments is known afterwards only: where it isn't as in the last
    capture, the function is captured once more.

    Parameters
    ----------
    call : Call
    history : SizeHistory
    dynamic : bool or None
        As in `npaccel.jit`.
    """
    spec = call.spec
    has_wide = spec.has_wide(call.values)
    wide, narrow = (
        trace_settings(spec, call.device, has_wide=width, is_sharded=call.is_sharded)
        for width in (True, False)
    )
    settings = wide if has_wide or spec.captures_wide else narrow
    capture = _capture_with(call, history, dynamic, settings)
    if has_wide or spec.options.default_float == "float64":
        return capture, settings
    if settings is wide and not capture.has_wide_data:
        settings = narrow
        capture = _capture_with(call, history, dynamic, settings)
    if settings is narrow and capture.has_wide_data:
        if spec.on_wide is not None:
            spec.on_wide()
        settings = wide
        capture = _capture_with(call, history, dynamic, settings)
    spec.note_width(call.values, captures_wide=settings is wide)
    return capture, settings


def _capture_with(
    call: Call, history: Any, dynamic: bool | None, settings: TraceSettings
) -> Capture:
    with tracing(settings), budget.limited(_budget_of(call.spec)):
        capture = call.capture(history, dynamic)
        if capture.has_sizes and capture.has_side_effects:
            # The frame would leave tensors where it leaves arrays.
            pairs = zip(call.spec.binding.names, call.values, strict=True)
            arrays = {name for name, value in pairs if type(value) not in (int, float)}
            capture = call.capture(history.of_numbers(arrays), None if dynamic else dynamic)
            if capture.has_sizes and capture.has_side_effects:
                capture = call.capture(dynamo.SizeHistory(), False)
        return capture


def _budget_of(spec: FunctionSpec) -> budget.Budget:
    return budget.of(spec.options.loops) if spec.otherwise is None else budget.of_attempt()


def _captured_and_compiled(
    call: Call, history: Any, stages: dict[str, float]
) -> tuple[Capture, CompiledGraph | None, TraceSettings]:
    options = call.spec.options
    dynamic = options.dynamic
    if call.has_wide_numbers():
        history, dynamic = dynamo.SizeHistory(), False
    try:
        while True:
            start = time.perf_counter()
            logs.compile.debug("%s: capture begins", call.spec.name)
            capture, settings = capture_call(call, history, dynamic)
            stages["capture"] = stages.get("capture", 0.0) + time.perf_counter() - start
            logs.compile.debug("%s: captured in %.3f s", call.spec.name, stages["capture"])
            if capture.graph is None:
                return capture, None, settings
            try:
                with tracing(settings):
                    compiled = inductor.compile_graph(capture, options.backend, scratch_folder())
            except dynamo.RestartError:
                continue
            return capture, compiled, settings
    finally:
        dynamo.forget_restarts()


def _uncaptured(spec: FunctionSpec, error: CaptureError, has_wide: bool) -> Uncompiled:
    if spec.otherwise is not None:
        return Uncompiled(spec.otherwise, serves_kind=True)
    # An array that a subgraph hands on doesn't own its memory, so that it can't be resized.
    is_whole = spec.is_transformed  # What is transformed doesn't go on beside uncompiled code.
    if error.is_break and not is_whole and "resize" not in spec.function.__code__.co_names:
        return Uncompiled(around_breaks(spec, error, has_wide), first_break=_place_of(error))
    frame = error.stack[-1]
    kind = opaque_objects.kind_of(error.category)
    found = uncompiled(
        spec,
        f"the function can't be captured: {error.reason}"
        if kind is None
        else f"{error.reason}, so NumPy runs this call",
        error.advice,
        error=_error_for(kind),
        is_sure=kind is not None,
        serves_kind=error.category == OVER_BUDGET,
        file=frame.filename,
        line=frame.lineno or 0,
        text=frame.line or "",
    )
    spec.log.calls.clear()  # An array that is remembered can't be resized.
    return found


def _place_of(error: CaptureError) -> tuple[str, int | None] | None:
    return (error.stack[-1].filename, error.stack[-1].lineno) if error.stack else None


def _error_for(kind: Kind | None) -> type[NotCompiledError]:
    """Return the error of ``strict=True`` for arrays that NumPy alone computes with."""
    if kind is Kind.DTYPE:
        return UnsupportedDtypeError
    return UnsupportedArrayError if kind is Kind.SUBCLASS else NotCompiledError


def _not_compiled(spec: FunctionSpec, error: Exception) -> Uncompiled:
    if is_assumption(error):  # It's known now: sizes that depend on the data were taken for equal.
        return uncompiled(spec, *assumption_and_advice(error))
    said = in_our_words(inductor.first_line(error))
    reason = f"the compiler failed on it: {type(error).__name__}"
    reason += f": {said}" if said != UNKNOWN else ""
    advice = "run it with backend='aot_eager' to see whether it's the capture or the C++ compiler"
    return uncompiled(spec, reason, fix_of(error) if isinstance(error, OSError) else advice)
