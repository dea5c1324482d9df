"""Capture and compile one signature, run it once, and plan later calls.

Imported when something is compiled: it brings in dynamo and inductor.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from npaccel._torch import load_compiler

load_compiler()

from npaccel._cache.cache_warnings import remedy_of
from npaccel._compiler.call_arguments import Call
from npaccel._compiler.frame import Frame, Outcome, Uncompiled
from npaccel._compiler.graph_breaks import in_pieces, trace_settings
from npaccel._compiler.scratch import scratch_folder
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._process import signals
from npaccel._process.progress import notice
from npaccel._runtime.error_translation import (
    UncompiledForMemoryError,
    assumption_and_advice,
    before_a_call,
    is_assumption,
)
from npaccel._runtime.opaque import Kind
from npaccel._syntax.wide_data import reaches_wide
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo.break_reasons import UNKNOWN, in_our_words
from npaccel._torch.dynamo.capture import Capture
from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.numpy import opaque_objects
from npaccel._torch.dynamo.reads import ATTEMPTS, MovedError
from npaccel._torch.inductor import compile as inductor
from npaccel._torch.inductor.compile import CompiledGraph
from npaccel._torch.leftovers import forgotten
from npaccel.errors import (
    CompilerNotFoundError,
    NotCompiledError,
    NotOnDeviceError,
    UnsupportedArrayError,
    UnsupportedDtypeError,
)

if TYPE_CHECKING:
    from npaccel._compiler.dispatcher import Engine
    from npaccel._runtime.runner import Runner

#: Functions that Python runs bit by bit, whenever their caller asks for more.
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_YIELDS = "generators and coroutines aren't compiled: Python runs them when their caller asks"


def new_history(engine: Engine) -> Any:
    """Return an empty history of sizes for one kind of call."""
    return dynamo.SizeHistory([engine.binding.names[i] for i in sorted(engine.varying)])


def compile_call(
    engine: Engine, values: Sequence[Any], history: Any, device: torch.device
) -> Outcome | Uncompiled:
    """Capture, compile and run one call.

    Parameters
    ----------
    engine : Engine
    values : sequence
        Of all parameters.
    history : SizeHistory
    device : torch.device

    Returns
    -------
    Outcome or Uncompiled
    """
    if engine.function.__code__.co_flags & _GENERATORS:
        return _uncompiled(engine, _YIELDS, "return arrays instead of yielding them")
    with (
        dynamo.lock,
        forgotten(),
        notice(f"{engine.function.__qualname__}({engine.describe(values)})"),
    ):
        # Inside the lock, which forks wait for: torch sets some of its functions up at their
        # first call, and a child that is forked in the middle of that can never call them.
        for _ in range(ATTEMPTS):
            with before_a_call():
                call = Call(engine, values, device)
            try:
                return _compiled_and_run(call, history)
            except MovedError:  # The code would be for what was there before.
                continue
        return Uncompiled(engine.once(engine.plain))


def _compiled_and_run(call: Call, history: Any) -> Outcome | Uncompiled:
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
        outcome = frame.first_run()
    if isinstance(outcome, Outcome):
        outcome.stages = stages | (compiled.stages if compiled else {})
    return outcome


def _made(
    call: Call, history: Any, stages: dict[str, float]
) -> tuple[Capture, CompiledGraph | None, TraceSettings] | Uncompiled:
    """Capture and compile a call, or say how it runs uncompiled."""
    try:
        with before_a_call():
            return _captured_and_compiled(call, history, stages)
    except CaptureError as error:
        return _uncaptured(call.engine, error, breaks_wide(call.engine, error, call.values))
    except (CompilerNotFoundError, NotOnDeviceError, MovedError, UncompiledForMemoryError):
        raise
    except Exception as error:  # noqa: BLE001 (whatever the compiler raises is reported)
        return _not_compiled(call.engine, error)


def breaks_wide(engine: Engine, error: CaptureError, values: Sequence[Any]) -> bool:
    """Whether a call may meet 64-bit floats, of a function whose capture has ended early."""
    if error.has_wide_data or engine.has_wide(values):
        return True
    return engine.on_wide is None and reaches_wide(engine.function, values)


def captured(call: Call, history: Any, dynamic: bool | None) -> tuple[Capture, TraceSettings]:
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
    engine = call.engine
    has_wide = engine.has_wide(call.values)
    wide = trace_settings(engine, call.device, has_wide=True)
    narrow = trace_settings(engine, call.device, has_wide=False)
    settings = wide if has_wide or engine.captures_wide else narrow
    capture = _captured(call, history, dynamic, settings)
    if has_wide or engine.options.default_float == "float64":
        return capture, settings
    if settings is wide and not capture.has_wide_data:
        settings = narrow
        capture = _captured(call, history, dynamic, settings)
    if settings is narrow and capture.has_wide_data:
        if engine.on_wide is not None:
            engine.on_wide()
        settings = wide
        capture = _captured(call, history, dynamic, settings)
    engine.note_width(call.values, captures_wide=settings is wide)
    return capture, settings


def _captured(call: Call, history: Any, dynamic: bool | None, settings: TraceSettings) -> Capture:
    with tracing(settings):
        capture = call.capture(history, dynamic)
        if capture.has_sizes and capture.has_side_effects:
            # The frame would leave tensors where it leaves arrays.
            capture = call.capture(history.of_numbers(), None if dynamic else dynamic)
        return capture


def _captured_and_compiled(
    call: Call, history: Any, stages: dict[str, float]
) -> tuple[Capture, CompiledGraph | None, TraceSettings]:
    options = call.engine.options
    dynamic = options.dynamic
    if call.has_wide_numbers():
        history, dynamic = dynamo.SizeHistory(), False
    try:
        while True:
            start = time.perf_counter()
            capture, settings = captured(call, history, dynamic)
            stages["capture"] = stages.get("capture", 0.0) + time.perf_counter() - start
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


def _uncaptured(engine: Engine, error: CaptureError, has_wide: bool) -> Uncompiled:
    # An array that a piece hands on doesn't own its memory, so that it can't be resized.
    if error.is_break and "resize" not in engine.function.__code__.co_names:
        return Uncompiled(in_pieces(engine, error, has_wide))
    frame = error.stack[-1]
    kind = opaque_objects.kind_of(error.category)

    def note() -> None:
        engine.fall_back(
            f"the function can't be captured: {error.reason}"
            if kind is None
            else f"{error.reason}, so NumPy runs this call",
            error.advice,
            file=frame.filename,
            line=frame.lineno or 0,
            text=frame.line or "",
            error=_error_for(kind),
        )

    if kind is not None and engine.options.strict:
        note()
    engine.log.calls.clear()  # An array that is remembered can't be resized.
    return Uncompiled(_in_numpy(engine, note))


def _error_for(kind: Kind | None) -> type[NotCompiledError]:
    """What ``strict=True`` raises for arrays that NumPy alone computes with."""
    if kind is Kind.DTYPE:
        return UnsupportedDtypeError
    return UnsupportedArrayError if kind is Kind.SUBCLASS else NotCompiledError


def _not_compiled(engine: Engine, error: Exception) -> Uncompiled:
    if is_assumption(error):  # It's known now: sizes that depend on the data were taken for equal.
        cause, advice = assumption_and_advice(error)
    else:
        said = in_our_words(inductor.first_line(error))
        cause = f"the compiler failed on it: {type(error).__name__}"
        cause += f": {said}" if said != UNKNOWN else ""
        advice = (
            "run it with backend='aot_eager' to see whether it's the capture or the C++ compiler"
        )
        if isinstance(error, OSError):
            advice = remedy_of(error)
    return _uncompiled(engine, cause, advice)


def _uncompiled(engine: Engine, cause: str, advice: str) -> Uncompiled:
    if engine.options.strict:
        engine.fall_back(cause, advice)

    return Uncompiled(_in_numpy(engine, lambda: engine.fall_back(cause, advice)))


def _in_numpy(engine: Engine, note: Callable[[], None]) -> Runner:
    """Return what runs the function in NumPy, and notes why, unless NumPy raises an error.

    What raises in NumPy too was no failure. A call of other sizes or numbers, that has the same
    kind of arguments, runs once in NumPy then; the next one is compiled.
    """
    has_raised = False

    def runner(values: Sequence[Any]) -> Any:
        nonlocal has_raised
        try:
            result = engine.plain(values)
        except Exception:
            has_raised = True
            raise
        if has_raised:
            engine.forget(runner)
        else:
            note()
        return result

    return runner


__all__ = ["Outcome", "Uncompiled", "compile_call"]
