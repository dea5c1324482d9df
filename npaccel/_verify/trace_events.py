"""Record what every operation gives: of plain NumPy, and of a captured graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel._compiler import compile as compiler_compile
from npaccel._compiler.call_arguments import Call
from npaccel._compiler.frame import Frame
from npaccel._compiler.graph_breaks import trace_settings
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._runtime import arguments
from npaccel._runtime import outputs as runtime_outputs
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo import graph_breaks as dynamo_breaks
from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.numpy.operations import Operation, is_scalar
from npaccel._torch.dynamo.source_lines import frames_of
from npaccel._torch.inductor.compile import CompiledGraph
from npaccel._verify.instrument import Site
from npaccel._verify.observers import is_value, name_of, rebuilt

if TYPE_CHECKING:
    from npaccel._compiler.function_spec import FunctionSpec

#: Maximum size of the intermediate results that are kept, in bytes; later ones aren't compared.
MAX_BYTES = 1 << 30

#: Places at which operations are the same in both records: file, line, name, how often before.
Place = tuple[str, int, str, int]


@dataclasses.dataclass
class Event:
    """Result of one operation.

    Parameters
    ----------
    place : tuple
    text : str
        The operation as it's written.
    value : object
        A copy of the result; of a write, of what was written to.
    result : object
        The result itself, of a write its target.
    """

    place: Place
    text: str
    value: Any
    result: Any


class Recording:
    """A listener that keeps every operation's result."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._counts: dict[tuple[str, int, str], int] = {}
        self._bytes = 0

    def __call__(
        self,
        where: Site,
        function: Any,
        operands: tuple[Any, ...],
        keywords: dict[str, Any],
        result: Any,
    ) -> None:
        """Keep one result."""
        del keywords
        owner = getattr(function, "__self__", None)
        if result is None and (is_value(owner) or operands):
            result = owner if is_value(owner) else operands[0]
        self.add(where.file, where.line, name_of(function), where.text, result)

    def add(self, file: str, line: int, name: str, text: str, result: Any) -> None:
        """Keep the result of an operation."""
        key = (file, line, name)
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        value = None
        if self._bytes < MAX_BYTES:
            value = rebuilt(result, self._copy)
        self.events.append(Event((*key, count), text, value, result))

    def _copy(self, part: Any) -> Any:
        self._bytes += part.nbytes
        return part.copy() if isinstance(part, np.ndarray) else part

    def by_place(self) -> dict[Place, Event]:
        """Return the events by their places."""
        return {event.place: event for event in self.events}


# -- The captured graph -----------------------------------------------------------


@dataclasses.dataclass
class Step:
    """Result of one node of a captured graph.

    Parameters
    ----------
    place : tuple
    text : str
        Its line.
    value : object
        A copy, as NumPy has it.
    node : torch.fx.Node
    memory : int
        Where the result lies, or what was written to.
    writes : bool
    """

    place: Place
    text: str
    value: Any
    node: torch.fx.Node
    memory: int
    writes: bool


@dataclasses.dataclass
class GraphRun:
    """A run of a captured function with every step recorded.

    Parameters
    ----------
    steps : list of Step
    outputs : dict
        The nodes of the parts of the result, by the parts' ids.
    result : object
    failed : Step or None
        Where an error came from.
    """

    steps: list[Step] = dataclasses.field(default_factory=list)
    outputs: dict[int, torch.fx.Node] = dataclasses.field(default_factory=dict)
    result: Any = None
    failed: tuple[str, int] | None = None


class _Recorder(torch.fx.Interpreter):
    """Run a captured graph and keep what every node gives."""

    def __init__(self, graph: torch.fx.GraphModule, run: GraphRun, counts: dict[Any, int]) -> None:
        super().__init__(graph)
        self._run = run
        self._counts = counts
        self._alive: list[Any] = []  # So that no memory is used twice.

    def run_node(self, n: torch.fx.Node) -> Any:
        """Compute a node."""
        try:
            result = super().run_node(n)
        except Exception:
            if self._run.failed is None:
                self._run.failed = line_of(n)[:2]
            raise
        self._alive.append(result)
        if isinstance(n.target, Operation):
            self._note(n, n.target, result)
        return result

    def _note(self, node: torch.fx.Node, operation: Operation, result: Any) -> None:
        file, line, text = line_of(node)
        scalar = is_scalar(node)
        target = _written(node, operation.name, result, scalar)
        if isinstance(target, torch.fx.Node):
            result = self.env[target]
        key = (file, line, operation.name)
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        value = _as_numpy(result, scalar)
        self._run.steps.append(
            Step((*key, count), text, value, node, _memory(result), target is not None)
        )


def _written(node: torch.fx.Node, name: str, result: Any, scalar: bool) -> Any:
    """Return the node that an operation writes to, None where it makes something new."""
    if "out" in node.kwargs:
        return node.kwargs["out"]
    inplace = name.startswith("operator.i") and name != "operator.invert"
    if (inplace and not scalar) or result is None:
        return node.args[0]
    return None


def _memory(value: Any) -> int:
    return value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else 0


def _as_numpy(value: Any, scalar: bool) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_as_numpy(part, scalar) for part in value)
    if not isinstance(value, torch.Tensor):
        return value
    array = arguments.to_array(value)
    return array[()] if scalar and not array.ndim else array.copy()


def line_of(node: torch.fx.Node) -> tuple[str, int, str]:
    """Return the innermost line of the user's code that a node comes from."""
    users = frames_of(node.stack_trace)
    return users[-1] if users else ("", 0, "")


def graph_run(spec: FunctionSpec, values: Sequence[Any]) -> GraphRun:
    """Capture a call again and interpret it, with every node's result recorded.

    Parameters
    ----------
    spec : FunctionSpec
        Its backend is "eager".
    values : sequence
        Of all parameters; they are written to.

    Returns
    -------
    GraphRun
        Without steps where nothing can be captured.
    """
    run = GraphRun()
    device = spec.device_for(values)
    try:
        with dynamo.lock:
            call = Call(spec, values, device)
            capture, settings = compiler_compile.capture_call(
                call, compiler_compile.new_history(spec), False
            )
            if capture.graph is not None:
                with tracing(settings):
                    _run_whole(run, call, capture, settings)
    except CaptureError as error:
        if error.is_break:
            has_wide = compiler_compile.breaks_wide(spec, error, values)
            settings = trace_settings(spec, device, has_wide)
            _run_subgraphs(run, spec, values, settings)
    except Exception as error:  # noqa: BLE001 (the step that raised is what is asked for)
        run.result = error
    return run


def _run_whole(run: GraphRun, call: Call, capture: Capture, settings: TraceSettings) -> None:
    assert capture.graph is not None
    recorder = _Recorder(capture.graph, run, {})
    frame = Frame(call, capture, CompiledGraph(full=recorder.run), settings)
    frame_run = runtime_outputs.Run(capture.scalar_outputs, capture.read_only_outputs, call.tensors)
    outputs = next(node for node in capture.graph.graph.nodes if node.op == "output").args[0]
    run.result = frame.run_frame(call.values, frame_run)
    run.outputs = {
        identity: outputs[index]
        for identity, (index, _) in frame_run.left.items()
        if isinstance(outputs[index], torch.fx.Node)
    }


def _run_subgraphs(
    run: GraphRun, spec: FunctionSpec, values: Sequence[Any], settings: TraceSettings
) -> None:
    counts: dict[Any, int] = {}

    def compile_subgraph(subgraph: Capture) -> Any:
        graph = subgraph.graph
        assert graph is not None
        scalars = subgraph.scalar_outputs

        def call(*inputs: Any) -> Any:
            outputs = _Recorder(graph, run, counts).run(*inputs)
            runtime_outputs.note_outputs(outputs, scalars, subgraph.read_only_outputs)
            return outputs

        return call

    function = dynamo_breaks.compiled_around_breaks(
        spec.function, compile_subgraph, lambda error: None
    )
    with tracing(settings):
        run.result = spec.binding.call(values, function)
