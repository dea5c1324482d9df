"""Run a function around its graph breaks, where it doesn't fit into one graph.

Dynamo compiles what is before and after a graph break, and Python runs the
line between. Every break is noted in the log, with file and line.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from npaccel._compiler import fallback
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._compiler.snapshot import Snapshot
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._process import logs
from npaccel._process.progress import notice
from npaccel._report import Graph
from npaccel._report.details import Details
from npaccel._runtime import arguments, error_translation, errstate
from npaccel._runtime import outputs as runtime_outputs
from npaccel._runtime.error_translation import CompiledCodeError, Patience
from npaccel._runtime.runner import Runner, copy_back
from npaccel._syntax.wide_data import FOUND_LATE, WideDataError, holds_wide
from npaccel._syntax.wide_reach import NarrowReach
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo import failed_subgraphs
from npaccel._torch.dynamo import graph_breaks as dynamo_breaks
from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.numpy import opaque_objects
from npaccel._torch.inductor import compile as inductor
from npaccel._torch.leftovers import leftovers_released

#: Maximum number of times that a subgraph is compiled whose number changes at every iteration.
_LIMIT_IN_LOOPS = 4


def trace_settings(
    spec: FunctionSpec, device: torch.device, has_wide: bool, *, is_sharded: bool = False
) -> TraceSettings:
    """Return how calls are traced, in which there are 64-bit floats or aren't."""
    options = spec.options
    width = "float64" if has_wide else options.default_float
    return TraceSettings(width, device, options.rng, is_sharded=is_sharded)


def around_breaks(spec: FunctionSpec, error: CaptureError, has_wide: bool) -> Runner:
    """Return a runner that compiles the parts around graph breaks.

    Parameters
    ----------
    spec : FunctionSpec
    error : CaptureError
        The first break. Later ones are noted as they are met.
    has_wide : bool
        Whether a call may meet 64-bit floats, so that no subgraph narrows any.

    Raises
    ------
    NotCompiledError
        With ``strict=True``.
    """
    breaks = _Breaks(spec)
    breaks.add(error)
    runners: dict[bool, Runner] = {}
    patience = Patience()
    narrows, is_free = spec.options.default_float == "float32", spec.options.narrow_inputs
    reach = NarrowReach(spec.function) if narrows and spec.on_wide is None else None

    def meets_wide(values: Sequence[Any]) -> bool:
        if reach is not None:
            return reach.is_left(() if is_free else values)
        return narrows and not is_free and any(map(holds_wide, values))

    def run(values: Sequence[Any]) -> Any:
        try:
            result = run_once(values)
        except BaseException as raised:
            breaks.tell(raised)
            raise
        breaks.tell()
        return result

    def run_once(values: Sequence[Any]) -> Any:
        nonlocal has_wide
        width = has_wide or meets_wide(values)
        spec.note_width(values, width)
        runner = runners.get(width)
        if runner is None:
            runner = runners.setdefault(width, _runner(spec, breaks, width, patience))
        try:
            result = runner(values)
        except WideDataError:
            if spec.on_wide is not None:  # The function that this is part of starts over.
                raise
            has_wide = True
            return run_once(values)
        if patience.calls:
            fallback.note(spec, *error_translation.NO_MEMORY_TO_COMPILE)
            patience.calls -= 1
            if not patience.calls:  # Compile again.
                runners.pop(width, None)
        return result

    return run


def _runner(spec: FunctionSpec, breaks: _Breaks, has_wide: bool, patience: Patience) -> Runner:
    settings = trace_settings(spec, torch.device("cpu"), has_wide)
    compile_subgraph = _SubgraphCompiler(spec, settings, patience)
    run = dynamo_breaks.compiled_around_breaks(
        spec.function,
        compile_subgraph,
        breaks.add,
        _LIMIT_IN_LOOPS if spec.varying else dynamo_breaks.LIMIT,
    )
    #: Whether the next call can start over, if 64-bit floats turn up on its way.
    may_start_over = settings.narrow and spec.on_wide is None

    def on_host(values: Sequence[Any]) -> Any:
        with tracing(settings):
            return spec.binding.call(values, run)

    def runner(values: Sequence[Any]) -> Any:
        nonlocal may_start_over
        if arguments.device_of(values) is not None:
            from npaccel._runtime import host_fallback

            result = host_fallback.through_host(on_host, values, spec.log)
        elif may_start_over:
            saved = Snapshot(spec.function, values)
            try:
                with compile_subgraph.restartable():
                    result = on_host(values)
            except WideDataError:
                saved.restore()
                compile_subgraph.disown()
                raise
            may_start_over = False
        else:
            result = on_host(values)
        if not compile_subgraph.count:
            spec.log.add_note(
                "nothing could be compiled around the uncompiled lines: all of it runs in NumPy"
            )
        return result

    return runner


class _Breaks:
    """The breaks of a function that are to be told.

    That is done behind the call: where a line raises the user's own error, that is enough.
    """

    def __init__(self, spec: FunctionSpec) -> None:
        self.spec = spec
        self.waiting: list[CaptureError] = []

    def add(self, error: CaptureError) -> None:
        """Note a break; with ``strict=True`` it's an error at once."""
        self.waiting.append(error)
        if self.spec.options.strict:
            self.tell()

    def tell(self, raised: BaseException | None = None) -> None:
        """Tell of what waits, without what an error came from: that waits for another call."""
        if not self.waiting:
            return
        lines = dynamo_breaks.lines_of(raised) if raised is not None else set()
        waiting, self.waiting = self.waiting, []
        for error in waiting:
            frame = error.stack[-1] if error.stack else None
            if frame is not None and _lines(frame) & lines:
                self.waiting.append(error)
            else:
                _note(self.spec, error, frame)


def _lines(frame: traceback.FrameSummary) -> set[tuple[str, int]]:
    first = frame.lineno or 0
    last = getattr(frame, "end_lineno", None) or first
    return {(frame.filename, line) for line in range(first, last + 1)}


def _note(spec: FunctionSpec, error: CaptureError, frame: traceback.FrameSummary | None) -> None:
    fallback.note(
        spec,
        error.reason,
        error.advice,
        file=frame.filename if frame else "",
        line=(frame.lineno or 0) if frame else 0,
        text=(frame.line or "") if frame else "",
        kind="break",
        once=opaque_objects.kind_of(error.category) is not None,
    )


class _SubgraphCompiler:
    """The backend that compiles each subgraph."""

    def __init__(self, spec: FunctionSpec, settings: TraceSettings, patience: Patience) -> None:
        self.spec = spec
        self.settings = settings
        self.patience = patience
        self.count = 0
        self.current = _Current()
        self._graphs: list[Graph] = []

    @contextlib.contextmanager
    def restartable(self) -> Iterator[None]:
        """Say that the call of this thread can start over, if 64-bit floats turn up."""
        self.current.is_saved = True
        try:
            yield
        finally:
            self.current.is_saved = False

    def disown(self) -> None:
        """Have the report tell of no narrowed lines: the call is made again without."""
        for graph in self._graphs:
            details = dataclasses.replace(graph.details, narrowed=())
            self.spec.log.replace_graph(graph, details=details)
        self._graphs.clear()

    def _on_wide(self) -> None:
        """Have the call made again with nothing narrowed, or say that it can't be.

        Raises
        ------
        WideDataError
        """
        if self.spec.on_wide is not None:
            self.spec.on_wide()
        elif self.current.is_saved:
            raise WideDataError
        else:
            fallback.note(self.spec, *FOUND_LATE)

    def __call__(self, subgraph: Capture) -> Callable[..., Any]:
        from npaccel._compiler.scratch import scratch_folder

        if errstate.have_effect():
            raise CaptureError(errstate.CAUSE, "settings", [], False)
        self.count += 1
        start = time.perf_counter()
        written_inputs = dynamo_breaks.written_inputs_of(subgraph)
        interpreted = inductor.undoing(dynamo_breaks.copy_of(subgraph), written_inputs)
        wholes, parts = dynamo_breaks.shared_with_inputs(subgraph)
        what = f"subgraph {self.count} of {self.spec.name}"
        try:
            with dynamo.lock, leftovers_released(), tracing(self.settings), notice(what):
                compiled = inductor.compile_graph(
                    subgraph, self.spec.options.backend, scratch_folder()
                )
        except Exception as error:
            if not error_translation.comes_of_memory(error):
                raise
            self.patience.begin()
            compiled = inductor.CompiledGraph(interpreted, mutated=written_inputs)
        logs.compile.debug("%s: compiled: %s", what, logs.seconds(compiled.stages))
        graph = Graph(
            signature=f"subgraph {self.count}",
            dynamic=dynamo_breaks.is_dynamic(subgraph),
            backend=self.spec.options.backend,
            seconds=time.perf_counter() - start,
            uncacheable="it's a subgraph between graph breaks",
            source=compiled.source,
            stages=compiled.stages,
            details=Details(compiled.lines, subgraph.narrowed, headers=compiled.headers),
        )
        self.spec.log.add_graph(graph)
        if self.current.is_saved:  # Else nothing starts over any more.
            self._graphs.append(graph)

        settings = self.settings
        this = weakref.proxy(self)  # Dynamo keeps what is returned with the function's code.

        def run(inputs: Sequence[Any]) -> Any:
            if errstate.have_effect():
                raise CompiledCodeError(RuntimeError(errstate.CAUSE))
            copied = runtime_outputs.copies_of(inputs, compiled.mutated, parts)
            read_only = runtime_outputs.check_writeable(inputs, compiled.mutated)
            tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
            positions = [i for i, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
            written = [positions.index(i) for i in compiled.mutated]
            overlap = bool(written) and runtime_outputs.has_overlap(tensors, written)
            with tracing(settings):
                if overlap:
                    outputs = _computed(interpreted, inputs, undone=True)
                else:
                    undone = not (compiled.leaves and written)
                    outputs = _computed(compiled.full, inputs, undone=undone)
            for i in set(compiled.mutated) & set(copied):
                copy_back(copied[i], inputs[i])
            views = runtime_outputs.views_of(outputs, inputs, subgraph.base_inputs, read_only)
            known = [is_one or i in views for i, is_one in enumerate(subgraph.read_only_outputs)]
            runtime_outputs.note_outputs(outputs, subgraph.scalar_outputs, known)
            runtime_outputs.note_wholes(
                outputs, {o: copied[i] for o, i in wholes.items() if i in copied}
            )
            return outputs

        is_late = subgraph.has_wide_data and settings.narrow

        def call(*inputs: Any) -> Any:
            if is_late:
                this._on_wide()
            try:
                return run(inputs)
            except CompiledCodeError as failure:
                return failed_subgraphs.failed(
                    functools.partial(fallback.note_error, this.spec, failure.error)
                )

        return call


class _Current(threading.local):
    """The call that runs in this thread."""

    #: Whether it's known what everything was before it.
    is_saved = False


def _computed(compiled: Callable[..., Any], inputs: Sequence[Any], *, undone: bool) -> Any:
    """Run a subgraph.

    Raises
    ------
    CompiledCodeError
        For an error that NumPy has too, or may not have.
    MemoryError
        If memory has run out, and not all that was written is undone.
    """
    try:
        return compiled(*inputs)
    except error_translation.FAILURES as error:
        if not undone:
            error_translation.raise_without_memory(error)
        if (
            error_translation.is_assumption(error)
            or error_translation.as_numpy_error(error) is not None
        ):
            raise CompiledCodeError(error) from error
        raise
