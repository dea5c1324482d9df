"""Run a captured frame for the first time, and plan how later calls do without it."""

from __future__ import annotations

import dataclasses
import dis
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler import fallback
from npaccel._compiler.call_arguments import Call
from npaccel._compiler.caller_objects import CallerObjects
from npaccel._compiler.fallback import DeclinedError, Uncompiled
from npaccel._compiler.frame import Frame, is_read_only
from npaccel._compiler.frame_guards import shape_guard
from npaccel._numpy.core.context import tracing
from npaccel._report.details import Details
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime import device_transfer, guard_serialization
from npaccel._runtime import outputs as runtime_outputs
from npaccel._runtime.error_translation import (
    CompiledCodeError,
    UncompiledForMemoryError,
    is_out_of_memory,
)
from npaccel._runtime.guard_serialization import UncacheableError
from npaccel._runtime.guards import Guard, begins_with, failed
from npaccel._runtime.plan import Plan
from npaccel._runtime.runner import Compiled, Runner
from npaccel._runtime.torch.loader import Code
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.inductor.compile import CompiledGraph


@dataclasses.dataclass
class CompiledCall:
    """A compiled signature and the result of its first call.

    Either `compiled` is set, or `runner` runs Dynamo's frame itself.
    """

    result: Any
    compiled: Compiled | None
    runner: Runner
    dynamic: bool
    source: str
    uncacheable: str = ""
    guards: Sequence[Guard] = ()
    details: Details = dataclasses.field(default_factory=Details)
    stages: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FirstRun:
    """The first run of a frame, which a plan is made of.

    Parameters
    ----------
    call : Call
    frame : Frame
    result : object
        What the frame has returned.
    run : Run
        What its graph was given, and gave.
    objects : CallerObjects
        What it may change or give back of the caller's.
    written : sequence of object
        What it has put there.
    """

    call: Call
    frame: Frame
    result: Any
    run: runtime_outputs.Run
    objects: CallerObjects
    written: Sequence[Any] = ()


def first_call(call: Call, frame: Frame) -> CompiledCall | Uncompiled:
    """Make the first call of a signature, and plan how later ones do without the frame.

    Parameters
    ----------
    call : Call
    frame : Frame

    Raises
    ------
    MovedError
        If what the capture has read changed meanwhile; nothing of the call is made then.
    UncompiledForMemoryError
        If memory has run out, and all that was written is undone.
    """
    try:
        if _writes_read_only(frame):
            return Uncompiled(fallback.runner_in_numpy(call.spec))
        frame.guard(call)
        has_moved = functools.partial(frame.capture.has_moved, by_others=True)
        outcome = _run_and_plan(call, frame, has_moved)
        if isinstance(outcome, CompiledCall) and outcome.compiled is None:
            frame.guard_unplanned(call)
        return outcome
    finally:
        call.release()
        frame.capture.release()


def _writes_read_only(frame: Frame) -> bool:
    """Whether a frame writes to an array that can't be: NumPy raises its error at the line."""
    return any(frame.inputs[i].conversion == "readonly" for i in frame.written())


def _run_and_plan(
    call: Call, frame: Frame, has_moved: Callable[[], bool]
) -> CompiledCall | Uncompiled:
    source = frame.compiled.source if frame.compiled else ""
    objects = CallerObjects(frame, call)
    try:
        run = frame.new_run()
        result = frame.run_frame(call.values, run)
    except DeclinedError as error:
        result = fallback.answer(call.spec, error.declined, call.values)
        return CompiledCall(result, None, frame.runner, False, source)
    except CompiledCodeError as failure:
        if failure.undone and is_out_of_memory(failure.error):
            raise UncompiledForMemoryError(str(failure)) from failure
        result = fallback.after_error(call.spec, failure, call.values)
        return CompiledCall(result, None, frame.runner, False, source)
    first = FirstRun(call, frame, result, run, objects, objects.values())
    return _planned(first, has_moved)


def _planned(first: FirstRun, has_moved: Callable[[], bool]) -> CompiledCall | Uncompiled:
    call, frame, result = first.call, first.frame, first.result
    compiled, why = plan_of(first)
    if compiled is not None:
        frame.release_graph()
        if has_moved():  # What the result is made of may be from after that.
            return Uncompiled(lambda _: result, is_kept=False)
    return CompiledCall(
        result=result,
        compiled=compiled,
        runner=frame.runner,
        dynamic=frame.capture.has_symbols,
        source=frame.compiled.source if frame.compiled else "",
        uncacheable=why,
        guards=frame.guards or (),
        details=_details(call, frame, result),
    )


# -- Beside the program -------------------------------------------------------


@dataclasses.dataclass
class Prepared:
    """A signature that is compiled, and whose first call is still to be made.

    That call changes more than copies of its arguments, or couldn't be made with them.
    """

    frame: Frame
    device: torch.device
    stages: dict[str, float] = dataclasses.field(default_factory=dict)

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether what the capture has read is as it was then."""
        assert self.frame.check is not None
        return self.frame.check(values)

    def first_call(self, values: Sequence[Any]) -> CompiledCall | Uncompiled:
        """Make the first call, for which it fits; what called it has Dynamo's lock.

        Raises
        ------
        MovedError, UncompiledForMemoryError
            As `first_call` does.
        """
        frame = self.frame
        call = Call(frame.spec, values, self.device)
        try:
            outcome = _run_and_plan(call, frame, lambda: self._has_moved(call))
        finally:
            call.release()
            frame.capture.release()
        if isinstance(outcome, CompiledCall):
            outcome.stages = self.stages
        return outcome

    def _has_moved(self, call: Call) -> bool:
        """Whether something that was read has changed, besides what the call itself has set."""
        frame = self.frame
        if not frame.writes:
            return not self.fits(call.values)
        targets = [frame.expression(write.target) for write in frame.writes]
        others = [one for one in frame.guards or () if not begins_with(one.expression, targets)]
        return failed(others, frame.spec.scope, call.arguments) is not None


def beside(call: Call, frame: Frame) -> CompiledCall | Uncompiled | Prepared:
    """Plan calls of a signature as far as that changes nothing of the program's.

    Parameters
    ----------
    call : Call
        With copies of the caller's arrays.
    frame : Frame

    Raises
    ------
    MovedError
        If what the capture has read changed meanwhile.
    """
    if _writes_read_only(frame):
        return Uncompiled(fallback.runner_in_numpy(call.spec))
    frame.guard(call)
    try:
        outcome = _run_on_copies(call, frame) if _changes_copies_alone(call, frame) else None
        if outcome is None or (isinstance(outcome, CompiledCall) and outcome.compiled is None):
            frame.guard_unplanned(call)
    finally:
        call.release()
    if outcome is None:
        # Guards say from now on whether what was read is as it was.
        frame.capture.example_inputs, frame.capture.reads = [], None
        return Prepared(frame, call.device)
    frame.capture.release()
    return outcome


def _run_on_copies(call: Call, frame: Frame) -> CompiledCall | Uncompiled | None:
    """Make a first call of which nobody wants the result; None where the caller has to."""
    try:
        objects, run = CallerObjects(frame, call), frame.new_run()
        result = frame.run_frame(call.values, run)
    except (DeclinedError, CompiledCodeError):
        return None
    return _planned(FirstRun(call, frame, result, run, objects), frame.capture.has_moved)


def _changes_copies_alone(call: Call, frame: Frame) -> bool:
    """Whether a run of a frame changes nothing besides arrays among the arguments."""
    if frame.capture.has_side_effects or frame.draws.lines:
        return False
    written = (frame.inputs[i].expression for i in frame.written())
    return call.is_copy and all(expression in call.known for expression in written)


def _details(call: Call, frame: Frame, result: Any) -> Details:
    """Details for the report: the graph's lines, and what a call copies."""
    lines = (*(frame.compiled.lines if frame.compiled else ()), *frame.capture.drawn)
    if device_transfer.is_host(call.device):
        headers = frame.compiled.headers if frame.compiled else ()
        return Details(lines, frame.capture.narrowed, headers=headers)
    given = [call.known.get(plan.expression) for plan in frame.inputs]
    written = [given[i] for i in frame.written()]
    made = [part for _, part in runtime_arguments.parts(result, "")]
    return Details(
        lines,
        frame.capture.narrowed,
        to_device=_host_bytes(given),
        to_host=_host_bytes(written) + _host_bytes(made),
    )


def plan_of(first: FirstRun) -> tuple[Compiled | None, str]:
    """Plan later calls without the frame; or say why the frame is needed."""
    call, frame, run = first.call, first.frame, first.run
    capture, compiled = frame.capture, frame.compiled
    if frame.guards is None:
        return None, frame.unknown
    if compiled is None:
        return None, "it computes nothing on arrays"
    if capture.has_side_effects and (capture.object_writes is None or call.is_sharded):
        return None, "it changes objects besides arrays"
    arguments = first.objects.containers() | {
        id(part): expression
        for expression, part in call.known.items()
        if type(part) not in runtime_outputs.CONSTANTS
    }
    numbers = _other_numbers(call)
    nested = sum(type(part) in (int, float) for part in call.known.values()) > len(numbers)
    constants = (
        not capture.has_sizes
        and not (capture.has_symbols and nested)
        and all(isinstance(output, torch.Tensor) for output in run.outputs)
        and not frame.draws.lines
        and _constants_are_fixed(capture)
    )
    numbers = numbers if constants else {}
    if any(isinstance(kind, str) for kind in run.scalars) or _has_bools(run) or numbers:
        first = _replayed(first, numbers)
        run = first.run
        arguments |= {id(number): expression for expression, number in numbers.items()}
    made = _template(first, arguments, constants=constants)
    if made is None:
        return None, "its result holds objects that only Python can make"
    # An argument that came twice is one result here, and may be two in the next call.
    known = call.known
    guards = [*frame.guards] + [
        Guard(expression, "alias", argument)
        for argument in runtime_outputs.arguments_of(made)
        for expression, part in known.items()
        if expression != argument
        and part is known.get(argument)
        and type(part) not in runtime_outputs.CONSTANTS
    ]
    # DTensors have no memory of their own, and sizes of sharded arrays are in the key.
    views = frozenset[int]() if call.is_sharded else _views(first, made)
    if views is None:
        return None, "its result is a view of an array that had to be copied"
    sizes = None if call.is_sharded else shape_guard(call, capture)
    if sizes is None and capture.shape_guard is not None and not call.is_sharded:
        return None, "it depends on sizes that only Dynamo can check"
    called, boxed = _callable(first, compiled)
    used = {output.index for output in runtime_outputs.outputs_of(made)}
    plan = Plan(
        inputs=frame.inputs,
        result=made,
        written=tuple(frame.written()),
        read_only=views,
        tensors=call.tensors,
        device=str(call.device),
        shape_guard=sizes,
        is_dynamic=capture.has_symbols,
        boxed=boxed,
        shared=frame.shared,
        draws=dataclasses.replace(frame.draws, may_fail=_may_fail(frame)),
        returned=tuple(pair for pair in compiled.returned if boxed and pair[0] in used),
        has_wide_data=not frame.settings.narrow,
        undoes=compiled.undoes,
        mapped=tuple(
            (output, i)
            for output, i in enumerate(capture.same_class_inputs)
            if i is not None and output in run.mapped and output in used
        ),
        leaves=compiled.leaves,
        object_writes=tuple(
            (frame.expression(write.owner), write.kind, write.key) for write in frame.writes
        ),
    )
    uncacheable = _why_uncacheable(call, compiled, boxed)
    files: list[list[Any]] = []
    if not uncacheable:
        try:
            files = guard_serialization.uncovered_files(capture.traced_code, capture.code, guards)
        except UncacheableError as error:
            uncacheable = str(error)
    kernels = compiled.kernels or []
    code = Code(called, compiled.on_arrays if boxed else None)
    return (
        Compiled(plan, code, guards, compiled.source, kernels, files, uncacheable),
        uncacheable,
    )


def _may_fail(frame: Frame) -> bool:
    """Whether a draw or the graph may raise, so that what was drawn has to be undone."""
    if any(_is_variable(line.arguments) for line in frame.draws.lines):
        return True
    return frame.compiled is not None and frame.compiled.raises


def _other_numbers(call: Call) -> dict[str, Any]:
    """Return numbers to be given for those of the arguments, each an object of its own."""
    given = zip(call.spec.binding.names, call.values, strict=True)
    return {
        f"a_{name}": type(value)(2**40 + place)
        for place, (name, value) in enumerate(given)
        if type(value) in (int, float)
    }


def _template(
    first: FirstRun, arguments: Mapping[int, str], *, constants: bool
) -> runtime_outputs.Template | None:
    """Describe the result of a run, and what it has put into the caller's objects."""
    writes = first.frame.writes
    if not writes:
        return runtime_outputs.template(first.result, first.run, arguments, constants=constants)
    values = [
        None if write.source or write.constant is not NotImplemented else value
        for value, write in zip(first.written, writes, strict=True)
    ]
    given = (first.result, *values)
    made = runtime_outputs.template(given, first.run, arguments, constants=constants)
    if not isinstance(made, runtime_outputs.Container):
        return None
    parts = list(made.items)
    for i, write in enumerate(writes, 1):
        if write.source:
            parts[i] = runtime_outputs.Argument(first.frame.expression(write.source))
        elif write.constant is not NotImplemented:
            if type(write.constant) not in runtime_outputs.CONSTANTS:
                return None
            parts[i] = runtime_outputs.Constant(write.constant)
    return dataclasses.replace(made, items=tuple(parts))


def _replayed(first: FirstRun, numbers: Mapping[str, Any]) -> FirstRun:
    """Run the frame without computing anything, to see where numbers and bools go.

    Parameters
    ----------
    first : FirstRun
    numbers : mapping
        What to give instead of numbers among the arguments.
    """
    call, frame, run = first.call, first.frame, first.run
    names = call.spec.binding.names
    values = [
        numbers.get(f"a_{name}", value) for name, value in zip(names, call.values, strict=True)
    ]
    again = frame.new_run()
    again.replays = True
    again.outputs, again.inputs, again.wrapped = run.outputs, run.inputs, run.wrapped
    again.read_only, again.uploaded, again.mapped = run.read_only, run.uploaded, run.mapped
    objects = first.objects
    try:
        objects.put_back()
        result = frame.run_frame(values, again)
        return FirstRun(call, frame, result, again, objects, objects.values())
    finally:
        objects.restore(first.written)


def _why_uncacheable(call: Call, compiled: CompiledGraph, boxed: bool) -> str:
    if compiled.not_portable:
        return compiled.not_portable
    if not boxed:
        return "its outputs aren't those of the generated code"
    return "" if device_transfer.is_host(call.device) else "it runs on a device"


def _callable(first: FirstRun, compiled: CompiledGraph) -> tuple[Callable[..., Any], bool]:
    """Choose between the generated code itself and AOTAutograd's wrapper."""
    if first.frame.backend != "inductor":
        return _interpreted(first.frame, compiled), False
    if compiled.inner is None or not _inner_keeps_views(first, compiled):
        return compiled.full, False
    return compiled.inner, True


def _interpreted(frame: Frame, compiled: CompiledGraph) -> Callable[..., Any]:
    settings = frame.settings

    def call(*tensors: Any) -> Any:
        with tracing(settings):
            return compiled.full(*tensors)

    return call


def _inner_keeps_views(first: FirstRun, compiled: CompiledGraph) -> bool:
    """Whether the outputs that must be views of inputs are so in the generated code.

    Nothing is written in this case, so that it may be run for the check.
    """
    views = compiled.views
    if not views:
        return True
    assert compiled.inner is not None
    outputs = compiled.inner(list(first.run.inputs))
    return all(
        not outputs[i].numel()
        or runtime_outputs.is_view_of(outputs[i], first.run.inputs) is not None
        for i in views
    )


def _views(first: FirstRun, made: runtime_outputs.Template) -> frozenset[int] | None:
    """The outputs that are read-only arrays; None if one is a view of a copy."""
    frame, run = first.frame, first.run
    found = set()
    for output in runtime_outputs.outputs_of(made):
        tensor = run.outputs[output.index]
        if frame.capture.read_only_outputs[output.index] and not output.is_scalar:
            found.add(output.index)
        base = frame.capture.base_inputs[output.index]
        owner = runtime_outputs.owner_of(tensor, run.inputs, base)
        if owner is None:
            continue
        item = frame.inputs[owner]
        if is_read_only(first.call.known.get(item.expression)):
            found.add(output.index)
        copies = item.conversion in runtime_arguments.COPYING and frame.backend == "inductor"
        if copies and not output.is_scalar:
            return None
    return frozenset(found)


def _host_bytes(values: Sequence[Any]) -> int:
    """The size of the arrays that are NumPy's."""
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray | np.generic))


def _is_variable(arguments: str) -> bool:
    """Whether Python for arguments depends on the call."""
    return bool(re.search(r"\bt\d+\b", arguments))


def _has_bools(run: runtime_outputs.Run) -> bool:
    """Whether a result is a NumPy bool: all that are equal are one object."""
    pairs = zip(run.outputs, run.scalars, strict=False)
    return any(scalar and output.dtype == torch.bool for output, scalar in pairs)


def _constants_are_fixed(capture: Capture) -> bool:
    """Whether the frame takes the constants of its result from nowhere but its code."""
    own = ("__import_", "__compiled_fn", "___module_")
    instructions = list(dis.get_instructions(capture.bytecode))
    stores = [
        i.opname == "STORE_FAST" and str(i.argval).startswith("graph_out") for i in instructions
    ]
    start = stores.index(True) + 1 if True in stores else 0  # All of it, if nothing comes out.
    is_own = False
    for instruction in instructions[start:]:
        name = str(instruction.argval)
        was_own = is_own
        is_own = instruction.opname == "LOAD_GLOBAL" and name.startswith(own)
        if instruction.opname == "LOAD_GLOBAL" and not is_own:
            return False
        looks = instruction.opname in ("LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD")
        if looks and not was_own and name not in ("leave", "built"):
            return False
    return True
