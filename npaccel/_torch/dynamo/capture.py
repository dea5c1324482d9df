"""Capture a Python function as one graph with Dynamo.

Dynamo is asked directly, without its frame hook: npaccel decides itself when a
capture may be used again. Everything a later call needs is in `Capture`.

Read from torch/_dynamo/{convert_frame,aot_compile,pgo,guards,output_graph,side_effects}.py
of 2.11 and 2.13.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from torch._dynamo.guards import CheckFunctionManager
from torch._dynamo.side_effects import SideEffects
from torch._dynamo.source import LocalSource, TensorPropertySource
from torch._dynamo.symbolic_convert import TensorifyState
from torch._dynamo.utils import dynamo_timed, get_metrics_context
from torch._dynamo.variables.base import AttributeMutationExisting, ValueMutationExisting
from torch._guards import CompileContext, Source, TracingContext, compile_context
from torch.utils._sympy.symbol import SymT, symbol_is_type

from npaccel._numpy.core.context import settings
from npaccel._process import fork
from npaccel._report.details import LineCode, Narrowed
from npaccel._runtime.arguments import Sizes, is_lazy, resolved
from npaccel._runtime.host_rng import Draws
from npaccel._runtime.outputs import IsScalar
from npaccel._torch.dynamo.capture_errors import CaptureError, error_of
from npaccel._torch.dynamo.device_guard import keep_device_guard
from npaccel._torch.dynamo.install import numpy_traced
from npaccel._torch.dynamo.numpy.calls import wide_nodes
from npaccel._torch.dynamo.numpy.operations import scalar_results
from npaccel._torch.dynamo.numpy.rng_hoisting import UnknownValueError, draw_lines, extract
from npaccel._torch.dynamo.reads import MovedError, Reads, noted
from npaccel._torch.dynamo.source_lines import narrowings_noted
from npaccel._torch.dynamo.state import active, as_traced
from npaccel._torch.fx_passes.alias_checks import (
    LEAVES,
    REASON,
    RESHAPED,
    UNSURE,
    line_of_leaving_view,
    line_of_reshaped_view,
    line_of_stale_view,
    line_of_unsure_view,
    output_memory,
)
from npaccel._torch.fx_passes.passes import AFTER_CAPTURE, run_passes
from npaccel._torch.fx_passes.read_only_outputs import base_inputs, read_only_outputs
from npaccel._torch.leftovers import in_copied_context
from npaccel._torch.patching import Patch, is_release, patched
from npaccel._torch.transforms.attempts import attempted
from npaccel._torch.transforms.loop_forms import original_of
from npaccel._torch.transforms.regions import check_regions, cut_regions

#: Guards on settings of torch itself. Calls with tensors that require
#: gradients have the grad mode in their key; nothing else here changes what
#: NumPy code computes.
_TORCH_STATE_GUARDS = frozenset(
    {
        "AUTOGRAD_SAVED_TENSORS_HOOKS",
        "DEFAULT_DEVICE",
        "DETERMINISTIC_ALGORITHMS",
        "FSDP_TRAINING_STATE",
        "GLOBAL_STATE",
        "GRAD_MODE",
        "TORCH_FUNCTION_STATE",
    }
)

#: Guards on sizes, and what some of the names in them stand for.
ShapeGuard = tuple[str, dict[str, str]]


@dataclasses.dataclass(frozen=True)
class GuardRecord:
    """A guard of Dynamo's, under which a capture is valid.

    Parameters
    ----------
    expression : str
        Python for the guarded object, over ``L`` (locals) and ``G`` (globals).
    kind : str
        Name of Dynamo's guard.
    arguments : tuple
        What the guard was made with besides the object.
    """

    expression: str
    kind: str
    arguments: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class GraphInput:
    """Origin of one input of the graph.

    Parameters
    ----------
    name : str
        Name of its placeholder.
    expression : str
        Python for it, over ``L`` and ``G``.
    is_symbol : bool
        Whether it is a size or an integer, passed as it is.
    is_number : bool
        Whether it is a Python float, passed as a tensor.
    """

    name: str
    expression: str
    is_symbol: bool
    is_number: bool


@dataclasses.dataclass
class Capture:
    """A function captured as one graph.

    Parameters
    ----------
    code : types.CodeType
        The code that was captured.
    bytecode : types.CodeType
        Dynamo's rewritten frame: it calls the graph and rebuilds the result.
    backend_name : str
        The global by which the bytecode calls the graph.
    graph : torch.fx.GraphModule or None
        None where the function computes nothing on arrays.
    inputs : list of GraphInput
        In the order in which the graph takes them.
    draws : Draws
        What NumPy draws before the graph runs; inputs after the others.
    guards : list of GuardRecord
        Without those on torch's own settings and on shapes.
    shape_guard : callable or None
        Makes Python over ``L['t0']``, ``L['t1']``, ...: the graph's inputs, and numbers
        that aren't inputs, whose expressions it returns besides.
        To be called when the graph is compiled, which may add guards.
    has_side_effects : bool
        Whether objects of the caller change besides arrays.
    scalar_outputs : list of IsScalar
        Which outputs NumPy returns as scalars.
    traced_code : list of types.CodeType
        The function and what was inlined into it.
    imports : dict
        Module names by the aliases that expressions use.
    has_symbols : bool
        Whether a size or number is an input, so that later calls may differ.
    has_sizes : bool
        Whether a size is one: the frame reads it off a tensor.
    build_check : callable or None
        Makes Dynamo's own check of the guards, on a dict of locals.
    output_memory : list of int or None
        A number for the memory of each output: views of one array have the same.
    read_only_outputs : list of bool
        Which outputs are arrays that NumPy doesn't let be written.
    base_inputs, same_class_inputs : list of int or None
        The input that each output is in NumPy, or is a view of; a view of its class.
    narrowed : tuple of Narrowed
        The lines at which floats become 32 bit.
    drawn : tuple of LineCode
        The lines at which NumPy draws random numbers.
    has_wide_data : bool
        Whether it meets 64-bit floats that nothing invented, so that none may be narrowed.
    reads : Reads or None
        The values that it has read.
    """

    code: types.CodeType
    bytecode: types.CodeType
    backend_name: str
    graph: torch.fx.GraphModule | None
    example_inputs: list[Any]
    fake_mode: Any
    tensor_to_context: Any
    inputs: list[GraphInput]
    draws: Draws
    guards: list[GuardRecord]
    shape_guard: Callable[[], ShapeGuard] | None
    has_side_effects: bool
    scalar_outputs: list[IsScalar]
    traced_code: list[types.CodeType]
    imports: dict[str, str]
    has_symbols: bool
    has_sizes: bool
    build_check: Callable[[], Callable[[dict[str, Any]], bool]] | None
    output_memory: list[int | None] = dataclasses.field(default_factory=list)
    read_only_outputs: list[bool] = dataclasses.field(default_factory=list)
    base_inputs: list[int | None] = dataclasses.field(default_factory=list)
    same_class_inputs: list[int | None] = dataclasses.field(default_factory=list)
    narrowed: tuple[Narrowed, ...] = ()
    drawn: tuple[LineCode, ...] = ()
    has_wide_data: bool = False
    reads: Reads | None = None

    def has_moved(self) -> bool:
        """Whether something that it has read is another than it was."""
        return self.reads is not None and self.reads.have_moved()

    def forget(self) -> None:
        """Release the graph and the arrays that it was captured with."""
        self.example_inputs = []
        self.reads = None
        self.fake_mode = self.tensor_to_context = None
        self.build_check = self.shape_guard = None


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

    def of_numbers(self) -> SizeHistory:
        """Return a history of the numbers alone."""
        made = SizeHistory([source[3:-2] for source in self.varying])
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
    relaid: Sequence[torch.Tensor] = (),
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
    relaid : sequence of torch.Tensor
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
    found: list[_Found] = []
    narrowed: dict[Narrowed, None] = {}

    def backend(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        context = TracingContext.get()
        nodes = list(graph.graph.find_nodes(op="placeholder"))
        inputs = [_graph_input(node) for node in nodes]
        fakes = [node.meta["example_value"] for node in nodes]
        plain = [_resolved(value) for value in example_inputs]
        found.append(_Found(graph, plain, context, inputs, fakes))
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
            scalars, relaid, draws=True, remakes_views=remakes_views, weak_scalars=weak_scalars
        ),
        history.used(),
        _configured(dynamic),
        _contexts(),
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
    described = _describe(function.__code__, output, found[0] if found else None)
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
        checks.append((line_of_leaving_view, LEAVES))
    for find, reason in checks:
        where = find(graph.graph)
        if where is not None:
            frame = traceback.FrameSummary(where[0], where[1], "")
            raise CaptureError(reason, "reversed view", [frame], False)


@dataclasses.dataclass
class _Found:
    """Graph and inputs as Dynamo hands them to its backend."""

    graph: torch.fx.GraphModule
    example_inputs: list[Any]
    context: Any
    inputs: list[GraphInput]
    fakes: list[Any]
    draws: Draws = dataclasses.field(default_factory=Draws)
    drawn: tuple[LineCode, ...] = ()


def _take_draws_out(found: _Found, function: types.FunctionType) -> None:
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


@contextlib.contextmanager
def _contexts() -> Iterator[None]:
    identity = convert_frame.get_compile_id({})
    with (
        _metrics_that_nobody_reads(),
        dynamo_timed("npaccel_capture"),
        compile_context(CompileContext(identity)),
    ):
        yield


@contextlib.contextmanager
def _metrics_that_nobody_reads() -> Iterator[None]:
    """Have Dynamo's place for metrics, which it wants, without the report at its end.

    The report writes down all of torch's settings: 7 % of the time of a small capture.
    Read from torch/_dynamo/metrics_context.py.
    """
    context = get_metrics_context()
    report, is_outermost = context._on_exit, not context.in_progress()
    if is_outermost:
        context._on_exit = lambda *_: None
    try:
        with context:
            yield
    finally:
        context._on_exit = report


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


def _graph_input(node: torch.fx.Node) -> GraphInput:
    argument = node.meta["grapharg"]
    expression = argument.source.name
    is_symbol = not isinstance(node.meta["example_value"], torch.Tensor)
    is_number = not is_symbol and not argument.is_tensor
    return GraphInput(node.name, _plain(expression), is_symbol, is_number)


def _plain(expression: str) -> str:
    """Drop Dynamo's wrapping of an ndarray from an expression."""
    prefix = "___from_numpy("
    while expression.startswith(prefix):
        inner = expression[len(prefix) :]
        depth = 1
        for end, letter in enumerate(inner):  # noqa: B007 (used after the loop)
            depth += (letter == "(") - (letter == ")")
            if not depth:
                break
        expression = inner[:end] + inner[end + 1 :]
    return expression


def _describe(
    code: types.CodeType,
    output: Any,
    found: _Found | None,
) -> Capture:
    graph_state = output.tracer_output.output_graph
    guards = [
        _record(guard)
        for guard in sorted(graph_state.guards)
        if guard.create_fn_name() not in _TORCH_STATE_GUARDS
    ]
    common: dict[str, Any] = {
        "code": code,
        "bytecode": output.bytecode,
        "guards": [guard for guard in guards if guard.kind != "SHAPE_ENV"],
        "has_side_effects": getattr(graph_state.side_effects, "npaccel_changes", False),
        "traced_code": [original_of(code) for code in graph_state.traced_code],
        "imports": dict(graph_state.import_sources),
        "build_check": functools.partial(_build_check, output, code),
    }
    shape_env = graph_state.shape_env
    decided = bool(shape_env.guards)  # Numbers may decide which way the function goes.
    if found is None:
        return Capture(
            backend_name="", graph=None, example_inputs=[], fake_mode=None,
            tensor_to_context=None, inputs=[], draws=Draws(), scalar_outputs=[],
            shape_guard=functools.partial(_shape_guard, shape_env, []) if decided else None,
            has_symbols=False, has_sizes=False, **common,
        )  # fmt: skip
    graph = rewritten(found.graph, found.example_inputs)
    has_numbers = any(not isinstance(value, torch.Tensor) for value in found.fakes)
    has_numbers = has_numbers or any(item.is_number for item in found.inputs)
    is_generic = has_numbers or _has_sizes(found.fakes)
    return Capture(
        backend_name=graph.meta.get("backend_id", ""),
        graph=graph,
        example_inputs=found.example_inputs,
        fake_mode=found.context.fake_mode,
        tensor_to_context=found.context.tensor_to_context,
        inputs=found.inputs,
        draws=found.draws,
        drawn=found.drawn,
        shape_guard=functools.partial(_shape_guard, shape_env, found.fakes)
        if is_generic or decided
        else None,
        scalar_outputs=scalar_results(graph.graph),
        output_memory=output_memory(graph.graph),
        read_only_outputs=read_only_outputs(graph.graph),
        base_inputs=base_inputs(graph.graph),
        same_class_inputs=base_inputs(graph.graph, same_class=True),
        has_symbols=is_generic,
        has_sizes=_has_sizes(found.fakes) or _reads_sizes(shape_env),
        **common,
    )


def _record(guard: Any) -> GuardRecord:
    made_with = guard.create_fn
    arguments: tuple[Any, ...] = ()
    if isinstance(made_with, functools.partial):
        arguments = (*made_with.args, *made_with.keywords.values())
    # Another source of the same object becomes Python for it, like the guarded one.
    arguments = tuple(_plain(a.name) if isinstance(a, Source) else a for a in arguments)
    if guard.create_fn_name() == "HASATTR" and not arguments:  # In 2.11: of the attribute.
        source = guard.originating_source
        return GuardRecord(_plain(source.base.name), "HASATTR", (source.member,))
    return GuardRecord(_plain(guard.name), guard.create_fn_name(), arguments)


@contextlib.contextmanager
def _changes_noted() -> Iterator[None]:
    """Note whether a capture changes objects; Dynamo forgets it when it's done."""
    with patched(_OF_CAPTURES):
        yield


def _update_mutated(original: Any) -> Any:
    def codegen_update_mutated(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.npaccel_changes = _has_side_effects(self)
        return original(self, *args, **kwargs)

    return codegen_update_mutated


def _has_side_effects(side_effects: Any) -> bool:
    existing = (AttributeMutationExisting, ValueMutationExisting)
    return bool(side_effects.tensor_hooks) or any(
        isinstance(variable.mutation_type, existing) and side_effects.is_modified(variable)
        for variable in side_effects.id_to_variable.values()
    )


def _resolved(value: Any) -> Any:
    """Conjugate and negate a tensor that does it on reading: so compiled code is given it.

    Arguments are so before they're captured, tensors that the function finds elsewhere are not.
    """
    return resolved(value) if isinstance(value, torch.Tensor) and is_lazy(value) else value


def rewritten(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> torch.fx.GraphModule:
    """Take out of a graph what costs time and changes nothing."""
    have_grad = any(isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs)
    needs_grad = have_grad and torch.is_grad_enabled()
    cut_regions(graph.graph)
    run_passes(AFTER_CAPTURE, graph.graph, needs_grad=needs_grad)
    graph.recompile()
    return graph


def _reads_sizes(shape_env: Any) -> bool:
    """Whether a symbol stands for a size of an array, which the graph may not take."""
    sources = (source for several in shape_env.var_to_sources.values() for source in several)
    return any(isinstance(source, TensorPropertySource) for source in sources)


def _has_sizes(example_inputs: Sequence[Any]) -> bool:
    """Whether sizes of arrays are symbols."""
    tensors = (value for value in example_inputs if isinstance(value, torch.Tensor))
    return any(isinstance(n, torch.SymInt) for t in tensors for n in (*t.shape, *t.stride()))


def _shape_guard(shape_env: Any, example_inputs: list[Any]) -> ShapeGuard:
    """Say what is assumed of sizes and numbers, those that the graph doesn't take too.

    A number may decide only which way the function goes. One that decides nothing is left out:
    of a float torch always assumes that it isn't NaN.
    """
    decisive: set[Any] = set(shape_env.replacements)
    for guard in shape_env.guards:
        decisive |= guard.expr.free_symbols
    taken: set[Any] = set()
    for value in example_inputs:
        sizes = (*value.shape, *value.stride()) if isinstance(value, torch.Tensor) else (value,)
        for size in sizes:
            if isinstance(size, torch.SymInt | torch.SymFloat):
                taken |= size.node.expr.free_symbols
    others = {}
    extra: list[Any] = []
    for symbol, sources in shape_env.var_to_sources.items():
        is_idle = symbol_is_type(symbol, SymT.FLOAT) and symbol not in decisive
        if symbol in taken or is_idle or not sources:
            continue
        expression = _plain(sources[0].name)
        others[f"L['t{len(example_inputs) + len(extra)}']"] = expression
        extra.append(shape_env.create_symintnode(symbol, hint=None))
    given = [*example_inputs, *extra]
    names = [LocalSource(f"t{i}") for i in range(len(given))]
    parts = shape_env.produce_guards(given, names, ignore_static=False)
    # torch's own `produce_guards_expression` leaves `a or b` without parentheses.
    is_loose = [any(word in part for word in (" or ", " if ")) for part in parts]
    parts = [f"({part})" if loose else part for part, loose in zip(parts, is_loose, strict=True)]
    return " and ".join(parts) or "True", others


def _build_check(output: Any, code: types.CodeType) -> Callable[[dict[str, Any]], bool]:
    """Make Dynamo check its own guards, where npaccel can't write one of them."""
    with _contexts(), as_traced():
        manager: CheckFunctionManager = output.build_guards(code)

    def check(values: dict[str, Any]) -> bool:
        with as_traced():
            return bool(manager.guard_manager.check(values))

    return check


_OF_HISTORIES = (
    Patch(
        dynamo_pgo, "get_code_state", _get_code_state,
        "Dynamo has one history of sizes for all captures of a code",
        "tests/compiler/test_shapes.py",
    ),
)  # fmt: skip
_OF_CAPTURES = (
    Patch(
        SideEffects, "codegen_update_mutated", _update_mutated,
        "Dynamo forgets what a function changes when it's done", "tests/compiler/test_objects.py",
    ),
)  # fmt: skip

#: For as long as a function is captured.
PATCHES = (*_OF_HISTORIES, *_OF_CAPTURES)
