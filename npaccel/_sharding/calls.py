"""Call jitted functions with DTensors: each rank computes its part of the whole.

A signature is captured for whole arrays, of which none is made, and partitioned for the mesh. What
can't be captured as one graph is computed on whole arrays, on each rank, and the report says so.
"""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

from npaccel._compiler import compile as compiler_compile
from npaccel._compiler import fallback
from npaccel._compiler.call_arguments import Call
from npaccel._compiler.dispatcher import MAX_CAPTURES
from npaccel._compiler.fallback import DeclinedError
from npaccel._compiler.frame import Frame
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._compiler.scratch import scratch_folder
from npaccel._loops.make_engine import make_engine
from npaccel._numpy.core.context import tracing
from npaccel._process.progress import notice
from npaccel._report import Graph
from npaccel._report.details import Details
from npaccel._runtime import agreement, arguments, error_translation
from npaccel._runtime.callables import read_by
from npaccel._runtime.error_translation import CompiledCodeError
from npaccel._runtime.runner import MISS, Runner, make_check
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.reads import ATTEMPTS, MovedError
from npaccel._torch.leftovers import forgotten
from npaccel._torch.sharding import compile as sharding
from npaccel._torch.sharding.failures import Place, place_of
from npaccel._torch.sharding.stand_ins import stand_in
from npaccel.errors import MixedDevicesError, NotCompiledError, UnsupportedArrayError

_REMEDY = "compile the parts of the function before and after this line as functions of their own"


def call(spec: FunctionSpec, values: Sequence[Any]) -> Any:
    """Call a function with DTensors.

    Parameters
    ----------
    spec : FunctionSpec
    values : sequence
        Of all parameters.

    Returns
    -------
    object
        What the function returns, with DTensors for arrays.
    """
    if spec.sharded_calls is None:
        spec.sharded_calls = ShardedCalls(spec)
    return spec.sharded_calls(values)


class ShardedCalls:
    """Make one function's calls with DTensors.

    Parameters
    ----------
    spec : FunctionSpec
    """

    def __init__(self, spec: FunctionSpec) -> None:
        self.spec = spec
        self._runners: dict[Any, list[Runner]] = {}
        self._lock = threading.RLock()
        self._engine: Any = None

    def __call__(self, values: Sequence[Any]) -> Any:
        """Make a call."""
        key = tuple(map(_token, values))
        for runner in self._runners.get(key, ()):
            result = runner(values)
            if result is not MISS:
                return result
        with self._lock:
            return self._first(values, key)

    def _first(self, values: Sequence[Any], key: Any) -> Any:
        mesh = _mesh_of(values, self.spec)
        for name, value in read_by(self.spec.function).items():
            if isinstance(value, DTensor):
                raise UnsupportedArrayError(
                    f"{self.spec.name}: {name!r} is a DTensor that isn't an "
                    "argument; pass it as one"
                )
        told = agreement.of_process(self.spec.function)
        names = self.spec.binding.names
        for name, value in zip(names, values, strict=True):
            told[f"argument {name!r}"] = _in_words(value)
        agreement.agree(mesh, told, self.spec.name)
        if self.spec.options.verify:
            self.spec.log.add_note("`verify` compares nothing in calls with DTensors")
        with dynamo.lock, forgotten(), notice(f"{self.spec.name}({self.spec.describe(values)})"):
            for _ in range(ATTEMPTS):
                try:
                    return self._compiled(values, key, mesh)
                except MovedError:
                    continue
        return self._gathered(values, "what it reads was changed while it was captured", {})

    def _compiled(self, values: Sequence[Any], key: Any, mesh: Any) -> Any:
        spec, start = self.spec, time.perf_counter()
        if len(self._runners) >= MAX_CAPTURES:
            why = f"{MAX_CAPTURES} signatures with DTensors were compiled already"
            return self._gathered(values, why, {})
        given = _ShardedCall(spec, values, spec.device_for(values))
        outcome = self._part(given, mesh)
        is_part = isinstance(outcome, tuple)
        told = outcome[0].digest() if is_part else f"no graph: {outcome}"
        agreement.agree(mesh, {"what is computed": told}, spec.name)
        if not is_part:
            return self._gathers(values, key, outcome)
        part, capture, settings = outcome
        captured = time.perf_counter() - start
        with tracing(settings):
            compiled = sharding.compiled(part, spec.options.backend, scratch_folder())
            frame = Frame(given, capture, compiled, settings)
            check = _check(given, frame)
        agreement.agree(mesh, {"what is compiled": "yes"}, spec.name)
        runner = self._runner(frame, check, part.places)
        self._runners.setdefault(key, []).insert(0, runner)
        spec.log.add_graph(
            Graph(
                signature=spec.describe(values),
                generic=False,
                backend=spec.options.backend,
                seconds=time.perf_counter() - start,
                not_kept=compiled.not_portable,
                source=compiled.source,
                stages={"capture": captured} | compiled.stages,
                details=Details(compiled.lines, capture.narrowed, collectives=part.collectives),
            )
        )
        result = runner(values)
        given.release()
        capture.forget()
        return result

    def _part(self, given: Call, mesh: Any) -> Any:
        """Return a rank's part of a captured call; or why there is none: cause, place, advice."""
        spec = given.spec
        varying = [name for name, value in given.arguments.items() if type(value) is float]
        try:
            capture, settings = compiler_compile.captured(given, dynamo.SizeHistory(varying), None)
            if varying and _depends_on_numbers(capture):
                capture, settings = compiler_compile.captured(given, dynamo.SizeHistory(), False)
        except CaptureError as error:
            frame = error.stack[-1]
            place = {
                "file": frame.filename,
                "line": frame.lineno or 0,
                "text": frame.line or "",
            }
            return _Uncaptured(error.reason, place)
        if capture.graph is None:
            return _Uncaptured("it computes nothing on arrays", {})
        inputs = [
            given.known.get(spec.scope.expression(one.expression, capture.imports))
            for one in capture.inputs
        ]
        drawn = len(capture.example_inputs) - len(inputs)
        known = [one if isinstance(one, DTensor) else None for one in inputs] + [None] * drawn
        with tracing(settings):
            return sharding.partition(capture, mesh, known), capture, settings

    def _runner(
        self, frame: Frame, check: Callable[[Sequence[Any]], bool], places: dict[str, Place]
    ) -> Runner:
        spec = self.spec
        source = frame.compiled.source if frame.compiled else ""

        def runner(values: Sequence[Any]) -> Any:
            if not check(values):
                return MISS
            try:
                return frame.run_frame(values, frame.new_run())
            except MovedError:
                return MISS
            except DeclinedError:
                raise NotCompiledError(
                    f"{spec.name}: the function writes to an array that is read-only, or shares "
                    "memory with another argument; pass copies"
                ) from None
            except CompiledCodeError as failure:
                raise _translated(failure.error, spec.name, places, source) from failure.error

        return runner

    # -- On whole arrays ------------------------------------------------------

    def _gathers(self, values: Sequence[Any], key: Any, why: _Uncaptured) -> Any:
        self._runners[key] = [lambda values: self._gathered(values, why.cause, why.place)]
        return self._runners[key][0](values)

    def _gathered(self, values: Sequence[Any], cause: str, place: dict[str, Any]) -> Any:
        """Compute a function on whole arrays, on each rank."""
        spec = self.spec
        fallback.note(
            spec,
            f"{cause}, so each rank gathers the whole arrays and computes all of it",
            _REMEDY,
            **place,
        )
        with self._lock:
            if self._engine is None:
                options = dataclasses.replace(spec.options, compile="now")
                self._engine = make_engine(spec.function, options, spec.log)
        mesh = _mesh_of(values, spec)
        wholes: dict[int, tuple[DTensor, torch.Tensor]] = {}

        def whole(leaf: Any) -> Any:
            if not isinstance(leaf, DTensor):
                return leaf
            return wholes.setdefault(id(leaf), (leaf, leaf.full_tensor().clone()))[1]

        given = [arguments.map_leaves(value, whole) for value in values]
        result = spec.binding.call(given, lambda *args, **kwargs: self._engine(args, kwargs))
        for sharded, now in wholes.values():
            sharded.copy_(distribute_tensor(now, mesh, [Replicate()] * mesh.ndim))
        back = {id(now): sharded for sharded, now in wholes.values()}

        def spread(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            found = back.get(id(leaf))
            # From the first rank: random numbers may differ.
            return (
                distribute_tensor(leaf, mesh, [Replicate()] * mesh.ndim) if found is None else found
            )

        return arguments.map_leaves(result, spread)


@dataclasses.dataclass(frozen=True)
class _Uncaptured:
    """Why a function can't be captured as one graph, and where."""

    cause: str
    place: dict[str, Any]

    def __str__(self) -> str:
        return self.cause


class _ShardedCall(Call):
    """The arguments of a call, with stand-ins of the whole shape for DTensors."""

    is_sharded = True

    def _converted(self, value: Any) -> torch.Tensor:
        if not isinstance(value, DTensor):
            return super()._converted(value)
        return self._alone.setdefault(id(value), (value, stand_in(value)))[1]

    def in_key(self, generic: bool, expression: str, kind: str) -> bool:
        """Whether the signature key holds what a guard would check."""
        if isinstance(self.known.get(expression), DTensor):
            return kind not in ("DUPLICATE_INPUT", "OBJECT_ALIASING")
        return super().in_key(generic, expression, kind)


#: What is assumed of sizes, which the key holds.
_OF_SIZES = re.compile(r"L\['t\d+'\]\.(size|stride|storage_offset)\(\)(\[\d+\])? == \d+")


def _depends_on_numbers(capture: Any) -> bool:
    """Whether a capture is for some numbers only."""
    if capture.shape_guard is None:
        return False
    text, _ = capture.shape_guard()
    return any(not _OF_SIZES.fullmatch(part) for part in text.split(" and "))


def _check(given: Call, frame: Frame) -> Callable[[Sequence[Any]], bool]:
    """Return what says whether a frame is the one for a call with the same key."""
    frame.guard(given)
    known = frame.guards is not None
    taken = {one.expression for one in frame.inputs if one.conversion == "number"}
    fixed = [
        (i, value)
        for i, (name, value) in enumerate(given.arguments.items())
        if type(value) is float and f"a_{name}" not in taken
    ]
    if known:
        rest = make_check(frame.guards or [], given.spec.scope)
    else:
        frame.guard_unplanned(given)
        found = frame.check
        assert found is not None

        def rest(values: Sequence[Any]) -> bool:
            return found([arguments.map_leaves(value, _standing_in) for value in values])

    def check(values: Sequence[Any]) -> bool:
        return all(_is_same(values[i], value) for i, value in fixed) and rest(values)

    return check


def _standing_in(leaf: Any) -> Any:
    return stand_in(leaf) if isinstance(leaf, DTensor) else leaf


def _is_same(one: float, other: float) -> bool:
    return repr(one) == repr(other)


def _token(value: Any) -> Any:
    """Return the part of the key for an argument."""
    if isinstance(value, DTensor):
        local = value.to_local()
        grad = value.requires_grad and torch.is_grad_enabled()
        layout = (value.device_mesh, value.placements, value.shape)
        return (DTensor, *layout, grad, arguments.token(local))
    if type(value) is float:
        return float
    if arguments.is_container(value):
        names = tuple(value) if type(value) is dict else ()
        items = value.values() if type(value) is dict else value
        return (type(value), names, *map(_token_of_part, items))
    return arguments.token(value)


def _token_of_part(value: Any) -> Any:
    return arguments.token(value) if type(value) is float else _token(value)


def _dtensors(values: Sequence[Any]) -> Iterator[DTensor]:
    for value in values:
        for _, part in arguments.parts(value, ""):
            if isinstance(part, DTensor):
                yield part


def _mesh_of(values: Sequence[Any], spec: FunctionSpec) -> Any:
    """Return the mesh of a call's DTensors.

    Raises
    ------
    MixedDevicesError
        If there are several.
    UnsupportedArrayError
        If a DTensor asks for gradients.
    """
    meshes: list[Any] = []
    for one in _dtensors(values):
        if all(one.device_mesh != mesh for mesh in meshes):
            meshes.append(one.device_mesh)
        if one.requires_grad and torch.is_grad_enabled():
            raise UnsupportedArrayError(
                f"{spec.name}: a DTensor requires gradients, which aren't computed through "
                "collectives; call it under torch.no_grad(), or differentiate with npaccel.grad"
            )
    if len(meshes) > 1:
        raise MixedDevicesError(
            f"{spec.name}: the DTensors of one call lie on the meshes {meshes[0]} and {meshes[1]}; "
            "distribute them over one"
        )
    return meshes[0]


def _in_words(value: Any) -> str:
    """Return what ranks have to have in common of an argument."""
    if isinstance(value, DTensor):
        return f"{value.dtype}{tuple(value.shape)} placed {value.placements}"
    if isinstance(value, torch.Tensor) or hasattr(value, "dtype"):
        return f"{value.dtype}{tuple(getattr(value, 'shape', ()))}"
    if arguments.is_container(value):
        items = value.values() if type(value) is dict else value
        return f"{type(value).__name__} of {', '.join(map(_in_words, items))}"
    if type(value) in (int, bool, str, type(None)):
        return repr(value)
    return type(value).__qualname__


def _translated(error: Exception, name: str, places: dict[str, Place], source: str) -> Exception:
    """Return what a call raises for an error of compiled code."""
    place = place_of(error, places, source)
    if place is None:
        return error_translation.as_numpy_error(error) or error
    file, line, text = place
    return agreement.waited(error, name, f"at {file}:{line}: {text}")


__all__ = ["call"]
