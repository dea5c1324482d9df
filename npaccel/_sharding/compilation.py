"""Capture and compile a rank's part of a function's call with DTensors.

Imported when something is compiled: it brings in dynamo and inductor.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from npaccel._compiler import compile as compiler_compile
from npaccel._compiler.call_arguments import Call
from npaccel._compiler.caller_objects import CallerObjects
from npaccel._compiler.fallback import DeclinedError
from npaccel._compiler.frame import Frame
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._compiler.planning import FirstRun, plan_of
from npaccel._compiler.scratch import scratch_folder
from npaccel._numpy.core.context import tracing
from npaccel._process.progress import notice
from npaccel._report.details import Details
from npaccel._runtime import arguments
from npaccel._runtime.guards import Guard
from npaccel._runtime.ranks import agreement
from npaccel._runtime.runner import MISS, OVERLAP, Compiled, Runner, make_check
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.reads import ATTEMPTS, MovedError
from npaccel._torch.inductor.compile import CompiledGraph
from npaccel._torch.leftovers import leftovers_released
from npaccel._torch.sharding import compile as sharding
from npaccel._torch.sharding.compile import Part
from npaccel._torch.sharding.stand_ins import stand_in


@dataclasses.dataclass(frozen=True)
class Uncaptured:
    """Reason why a function can't be captured as one graph, and where."""

    reason: str
    place: dict[str, Any]

    def __str__(self) -> str:
        return self.reason


@dataclasses.dataclass
class CompiledPart:
    """A rank's part of a signature, compiled.

    Parameters
    ----------
    part : Part
    graph : CompiledGraph
    runner : callable
        Runs Dynamo's frame; may raise `CompiledCodeError`.
    details : Details
    stages : dict
        Seconds by stage of compiling.
    """

    part: Part
    graph: CompiledGraph
    runner: Runner
    details: Details
    stages: dict[str, float]
    _call: _ShardedCall
    _frame: Frame

    def first(self, values: Sequence[Any]) -> tuple[Any, Compiled | None, str]:
        """Make the first call, and plan how later ones do without the frame.

        Returns
        -------
        result : object
        compiled : Compiled or None
        why : str
            Why it isn't planned, or can't be kept.
        """
        call, frame = self._call, self._frame
        objects, run = CallerObjects(frame, call), frame.new_run()
        try:
            result = frame.run_frame(values, run)
            compiled, why = plan_of(FirstRun(call, frame, result, run, objects))
        except DeclinedError:
            return OVERLAP, None, ""
        finally:
            fixed = _fixed(call, frame)
            call.release()
            frame.capture.release()
        if compiled is not None:
            compiled.guards = [
                *compiled.guards,
                *(Guard(f"a_{name}", "equals", value) for _, name, value in fixed),
            ]
        return result, compiled, why


def compile_part(
    spec: FunctionSpec, values: Sequence[Any], mesh: Any
) -> CompiledPart | Uncaptured | None:
    """Compile a rank's part of a call; None if what it reads is changed again and again.

    Parameters
    ----------
    spec : FunctionSpec
    values : sequence
        Of all parameters.
    mesh : DeviceMesh
    """
    with dynamo.lock, leftovers_released(), notice(f"{spec.name}({spec.describe(values)})"):
        for _ in range(ATTEMPTS):
            try:
                return _compiled(spec, values, mesh)
            except MovedError:
                continue
    return None


def _compiled(spec: FunctionSpec, values: Sequence[Any], mesh: Any) -> CompiledPart | Uncaptured:
    start = time.perf_counter()
    given = _ShardedCall(spec, values, spec.device_for(values))
    outcome = _part(given, mesh)
    is_part = isinstance(outcome, tuple)
    told = outcome[0].digest() if is_part else f"no graph: {outcome}"
    agreement.agree(mesh, {"what is computed": told}, spec.name)
    if not is_part:
        found: Uncaptured = outcome
        return found
    part, capture, settings = outcome
    captured = time.perf_counter() - start
    with tracing(settings):
        compiled = sharding.compiled(part, spec.options.backend, scratch_folder())
        frame = Frame(given, capture, compiled, settings)
        check = _check(given, frame)
    agreement.agree(mesh, {"what is compiled": "yes"}, spec.name)
    return CompiledPart(
        part,
        compiled,
        _runner(frame, check),
        Details(compiled.lines, capture.narrowed, collectives=part.collectives),
        {"capture": captured} | compiled.stages,
        given,
        frame,
    )


def _part(given: Call, mesh: Any) -> Any:
    """Return a rank's part of a captured call; or why there is none."""
    spec = given.spec
    varying = [name for name, value in given.arguments.items() if type(value) is float]
    try:
        capture, settings = compiler_compile.capture_call(given, dynamo.SizeHistory(varying), None)
        if varying and _depends_on_numbers(capture):
            capture, settings = compiler_compile.capture_call(given, dynamo.SizeHistory(), False)
    except CaptureError as error:
        frame = error.stack[-1]
        place = {
            "file": frame.filename,
            "line": frame.lineno or 0,
            "text": frame.line or "",
        }
        return Uncaptured(error.reason, place)
    if capture.graph is None:
        return Uncaptured("it computes nothing on arrays", {})
    inputs = [
        given.known.get(spec.scope.expression(one.expression, capture.imports))
        for one in capture.inputs
    ]
    drawn = len(capture.example_inputs) - len(inputs)
    known = [one if isinstance(one, DTensor) else None for one in inputs] + [None] * drawn
    with tracing(settings):
        return sharding.partition(capture, mesh, known), capture, settings


def _runner(frame: Frame, check: Callable[[Sequence[Any]], bool]) -> Runner:
    def runner(values: Sequence[Any]) -> Any:
        if not check(values):
            return MISS
        try:
            return frame.run_frame(values, frame.new_run())
        except MovedError:
            return MISS
        except DeclinedError as error:
            return error.declined

    return runner


class _ShardedCall(Call):
    """The arguments of a call, with stand-ins of the whole shape for DTensors."""

    is_sharded = True

    def _converted(self, value: Any) -> torch.Tensor:
        if not isinstance(value, DTensor):
            return super()._converted(value)
        return self._alone.setdefault(id(value), (value, stand_in(value)))[1]

    def in_key(self, is_dynamic: bool, expression: str, kind: str) -> bool:
        """Whether the signature key holds what a guard would check."""
        if isinstance(self.known.get(expression), DTensor):
            return kind not in ("DUPLICATE_INPUT", "OBJECT_ALIASING")
        return super().in_key(is_dynamic, expression, kind)


#: Guards on sizes, which the key holds.
_OF_SIZES = re.compile(r"L\['t\d+'\]\.(size|stride|storage_offset)\(\)(\[\d+\])? == \d+")


def _depends_on_numbers(capture: Any) -> bool:
    """Whether a capture is for some numbers only."""
    if capture.shape_guard is None:
        return False
    text, _ = capture.shape_guard()
    return any(not _OF_SIZES.fullmatch(part) for part in text.split(" and "))


def _fixed(given: Call, frame: Frame) -> list[tuple[int, str, float]]:
    """Return the floats that the code is for: places, names and values."""
    taken = {one.expression for one in frame.inputs if one.conversion == "number"}
    return [
        (i, name, value)
        for i, (name, value) in enumerate(given.arguments.items())
        if type(value) is float and f"a_{name}" not in taken
    ]


def _check(given: Call, frame: Frame) -> Callable[[Sequence[Any]], bool]:
    """Return what says whether a frame is the one for a call with the same key."""
    frame.guard(given)
    known = frame.guards is not None
    fixed = _fixed(given, frame)
    if known:
        rest = make_check(frame.guards or [], given.spec.scope)
    else:
        frame.guard_unplanned(given)
        found = frame.check
        assert found is not None

        def rest(values: Sequence[Any]) -> bool:
            return found([arguments.map_leaves(value, _standing_in) for value in values])

    def check(values: Sequence[Any]) -> bool:
        return all(_is_same(values[i], value) for i, _, value in fixed) and rest(values)

    return check


def _standing_in(leaf: Any) -> Any:
    return stand_in(leaf) if isinstance(leaf, DTensor) else leaf


def _is_same(one: float, other: float) -> bool:
    return repr(one) == repr(other)


__all__ = ["CompiledPart", "Uncaptured", "compile_part"]
