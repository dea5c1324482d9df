"""Call jitted functions with DTensors: each rank computes its part of the whole.

A signature is captured for whole arrays, of which none is made, and partitioned for the mesh. What
can't be captured as one graph is computed on whole arrays, on each rank, and the report says so.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

from npaccel._compiler import fallback
from npaccel._compiler.dispatcher import MAX_CAPTURES
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.make_dispatcher import make_dispatcher
from npaccel._process.imports import load
from npaccel._report import Graph
from npaccel._runtime import arguments, error_translation
from npaccel._runtime.callables import read_by
from npaccel._runtime.containers import is_container, items_of
from npaccel._runtime.error_translation import CompiledCodeError
from npaccel._runtime.plan import Plan
from npaccel._runtime.ranks import agreement
from npaccel._runtime.runner import MISS, OVERLAP, TO_NUMPY, Compiled, Runner, make_runner
from npaccel._runtime.torch.loader import GENERATED, Code
from npaccel._runtime.torch.local_parts import boxed, decoded, with_groups
from npaccel._sharding.stored import Place, StoredParts, lines_in
from npaccel.errors import MixedDevicesError, NotCompiledError, UnsupportedArrayError

_FIX = "compile the parts of the function before and after this line as functions of their own"


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
        self._dispatcher: Any = None
        self._stored = StoredParts(spec)

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
        if any(map(_asks_for_gradients, _dtensors(values))):
            gradients = load("npaccel._sharding.gradients")
            runner = gradients.Differentiated(self.spec, self, self._effects)
            self._runners[key] = [runner]
            return runner(values)
        result = self._from_disk(values, key, mesh)
        return self._compiled(values, key, mesh) if result is MISS else result

    def _effects(self, values: Sequence[Any]) -> str | None:
        """Return why a call that was made can't be computed again; "" if it can; None for none."""
        runners = self._runners.get(tuple(map(_token, values)))
        if not runners:
            return None
        return getattr(runners[0], "effects", "it can't be captured as one graph")

    # -- Disk -----------------------------------------------------------------

    def _is_kept(self) -> bool:
        options = self.spec.options
        return options.cache and options.backend == "inductor"

    def _from_disk(self, values: Sequence[Any], key: Any, mesh: Any) -> Any:
        """Make a call with code of an earlier process, if all ranks have it; else `MISS`."""
        start = time.perf_counter()
        kept = self._stored.found(values, key) if self._is_kept() else None
        told = "" if kept is None else kept.more["digest"]
        everyone = agreement.gathered(mesh, told, self.spec.name, "before its code is loaded")
        if kept is None or any(one != told for one in everyone):
            return MISS
        with_groups(kept.code.call, mesh)
        whole = kept.code.call
        call = decoded(kept.more["interface"]).on_dtensors(lambda *given: whole(list(given)), mesh)
        run = make_runner(kept.plan, Code(boxed(call)), kept.guards, self.spec.scope)
        lines = lines_in(kept, self.spec.function.__code__)
        runner = self._told(run, functools.partial(_place_in_lines, lines), kept.plan)
        result = runner(values)
        if result is MISS:
            return MISS
        self._runners.setdefault(key, []).insert(0, runner)
        seconds = time.perf_counter() - start
        self.spec.log.add_graph(self._stored.graph(values, kept, seconds))
        return result

    # -- Compilation ----------------------------------------------------------

    def _compiled(self, values: Sequence[Any], key: Any, mesh: Any) -> Any:
        spec, start = self.spec, time.perf_counter()
        if len(self._runners) >= MAX_CAPTURES:
            why = f"{MAX_CAPTURES} signatures with DTensors were compiled already"
            return self._gathered(values, why, {})
        made = load("npaccel._sharding.compilation").compile_part(spec, values, mesh)
        if made is None:
            return self._gathered(values, "what it reads was changed while it was captured", {})
        if not hasattr(made, "part"):
            return self._gathers(values, key, made.reason, made.place)
        part, graph = made.part, made.graph
        told = functools.partial(_place_in_source, part.places, graph.source)
        runners = self._runners.setdefault(key, [])
        runners.insert(0, self._told(made.runner, told))
        result, compiled, uncacheable = self._told(made.first, told)(values)
        if result is OVERLAP:
            raise self._declined()
        artifact: str | None = None
        if compiled is not None:
            runners[0] = self._told(self._bound(compiled), told, compiled.plan)
            if self._is_kept():
                artifact, uncacheable = self._stored.store_part(
                    compiled, made.details, key, mesh, part.interface, part.places, part.digest()
                )
        spec.log.add_graph(
            Graph(
                signature=spec.describe(values),
                dynamic=False,
                backend=spec.options.backend,
                seconds=time.perf_counter() - start,
                artifact=artifact,
                uncacheable=uncacheable,
                source=graph.source,
                stages=made.stages,
                details=made.details,
            )
        )
        return result

    def _bound(self, compiled: Compiled) -> Runner:
        return make_runner(compiled.plan, compiled.code, compiled.guards, self.spec.scope)

    def _told(
        self,
        run: Callable[..., Any],
        place_of: Callable[[Exception], Place | None],
        plan: Plan | None = None,
    ) -> Callable[..., Any]:
        """Return a function that raises errors of compiled code in the user's words."""

        def call(values: Sequence[Any]) -> Any:
            try:
                result = run(values)
            except CompiledCodeError as failure:
                error = failure.error
                raise _translated(error, self.spec.name, place_of(error)) from error
            if result is OVERLAP or result is TO_NUMPY:
                raise self._declined()
            return result

        if plan is not None:
            call.effects = _effects_of(plan)  # type: ignore[attr-defined]
        return call

    def _declined(self) -> NotCompiledError:
        return NotCompiledError(
            f"{self.spec.name}: the function writes to an array that is read-only, or shares "
            "memory with another argument; pass copies"
        )

    # -- On whole arrays ------------------------------------------------------

    def _gathers(self, values: Sequence[Any], key: Any, reason: str, place: dict[str, Any]) -> Any:
        self._runners[key] = [lambda values: self._gathered(values, reason, place)]
        return self._runners[key][0](values)

    def _gathered(self, values: Sequence[Any], reason: str, place: dict[str, Any]) -> Any:
        """Compute a function on whole arrays, on each rank."""
        spec = self.spec
        fallback.note(
            spec,
            f"{reason}, so each rank gathers the whole arrays and computes all of it",
            _FIX,
            **place,
        )
        with self._lock:
            if self._dispatcher is None:
                options = dataclasses.replace(spec.options, compile="now")
                self._dispatcher = make_dispatcher(spec.function, options, spec.log)
        mesh = _mesh_of(values, spec)
        wholes: dict[int, tuple[DTensor, torch.Tensor]] = {}

        def whole(leaf: Any) -> Any:
            if not isinstance(leaf, DTensor):
                return leaf
            return wholes.setdefault(id(leaf), (leaf, leaf.full_tensor().clone()))[1]

        given = [arguments.map_leaves(value, whole) for value in values]
        result = spec.binding.call(given, lambda *args, **kwargs: self._dispatcher(args, kwargs))
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


def _effects_of(plan: Plan) -> str:
    """Return what a call changes that another one would see; "" if it's nothing."""
    if plan.written:
        return "it writes to an argument"
    if plan.draws.lines:
        return "it draws random numbers, and would draw others on the way back"
    return ""


def _token(value: Any) -> Any:
    """Return the part of the key for an argument."""
    if isinstance(value, DTensor):
        local = value.to_local()
        grad = _asks_for_gradients(value)
        layout = (value.device_mesh, value.placements, value.shape)
        return (DTensor, *layout, grad, arguments.token(local))
    if type(value) is float:
        return float
    if is_container(value):
        names = tuple(value) if type(value) is dict else ()
        return (type(value), names, *map(_token_of_part, items_of(value)))
    return arguments.token(value)


def _asks_for_gradients(value: DTensor) -> bool:
    return value.requires_grad and torch.is_grad_enabled()


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
    """
    meshes: list[Any] = []
    for one in _dtensors(values):
        if all(one.device_mesh != mesh for mesh in meshes):
            meshes.append(one.device_mesh)
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
    if is_container(value):
        return f"{type(value).__name__} of {', '.join(map(_in_words, items_of(value)))}"
    if type(value) in (int, bool, str, type(None)):
        return repr(value)
    return type(value).__qualname__


def _translated(error: Exception, name: str, place: Place | None) -> Exception:
    """Return what a call raises for an error of compiled code."""
    if place is None:
        return error_translation.as_numpy_error(error) or error
    file, line, text = place
    return agreement.waited(error, name, f"at {file}:{line}: {text}")


def _place_in_source(places: Mapping[str, Place], source: str, error: Exception) -> Place | None:
    found: Place | None = load("npaccel._torch.sharding.failures").place_of(error, places, source)
    return found


def _place_in_lines(lines: Mapping[int, Place], error: Exception) -> Place | None:
    """Return the user's line at which loaded code has failed; None if it's no collective's."""
    entry, found = error.__traceback__, None
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == GENERATED:
            found = lines.get(entry.tb_lineno)
        entry = entry.tb_next
    return found


__all__ = ["call"]
