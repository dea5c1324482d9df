"""Compile a function around its graph breaks with Dynamo's frame hook.

Read from torch/_dynamo/{eval_frame,guards,output_graph,resume_execution,symbolic_convert}.py of
2.11 and 2.13.
"""

from __future__ import annotations

import copy
import functools
import logging
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import torch
import torch._dynamo
import torch._dynamo.config as dynamo_config
from torch._C._dynamo.eval_frame import reset_code
from torch._dynamo import eval_frame, guards
from torch._dynamo.convert_frame import CatchErrorsWrapper
from torch._dynamo.resume_execution import (
    TORCH_DYNAMO_RESUME_IN_PREFIX,
    ContinueExecutionCache,
)
from torch._dynamo.symbolic_convert import InstructionTranslatorBase
from torch._guards import TracingContext

from npaccel._numpy.core.context import settings
from npaccel._process import fork, signals
from npaccel._process.imports import uncut
from npaccel._report.details import Narrowed
from npaccel._runtime.host_rng import Draws
from npaccel._torch.dynamo.break_reasons import reason_in
from npaccel._torch.dynamo.capture import Capture, check_views, rewritten
from npaccel._torch.dynamo.capture_errors import CaptureError, described
from npaccel._torch.dynamo.failed_subgraphs import answer_failed_pieces
from npaccel._torch.dynamo.install import numpy_traced
from npaccel._torch.dynamo.numpy.calls import wide_nodes
from npaccel._torch.dynamo.numpy.operations import scalar_results
from npaccel._torch.dynamo.python import nested_jit as jitted_calls
from npaccel._torch.dynamo.source_lines import is_internal, narrowings_noted
from npaccel._torch.dynamo.state import active, in_pieces
from npaccel._torch.fx_passes.alias_checks import (
    inputs_by_memory,
    memory_of,
    wholes_of,
    written_inputs,
)
from npaccel._torch.fx_passes.read_only_outputs import read_only_outputs

#: So often a piece is compiled; for other values it runs in NumPy.
LIMIT = 64


_patch_lock = threading.Lock()
fork.hold(_patch_lock)


def compiled_in_pieces(
    function: FunctionType,
    compile_piece: Callable[[Capture], Callable[..., Any]],
    on_break: Callable[[CaptureError], None],
    limit: int = LIMIT,
) -> Callable[..., Any]:
    """Return the function, compiled around its graph breaks.

    Parameters
    ----------
    function : types.FunctionType
    compile_piece : callable
        Compiles one captured piece. What it returns may return what `failed` does.
    on_break : callable
        Is told of every break.
    limit : int
        So often a piece is compiled; for other values it runs in NumPy.
    """
    uncut(_patch)
    narrowed: dict[Narrowed, None] = {}
    # What Dynamo keeps with a function's code mustn't keep what is compiled here: see `_forget`.
    compiler = weakref.ref(compile_piece)

    def backend(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        piece = _piece(graph, example_inputs)
        piece.narrowed = tuple(narrowed)  # Since the piece before.
        narrowed.clear()
        piece.has_wide_data = active.has_wide_data
        if settings().narrow:
            piece.has_wide_data |= wide_nodes(graph.graph)
        found = compiler()
        assert found is not None
        return found(piece)

    own = _with_own_code(function)
    compiled = uncut(lambda: torch._dynamo.optimize(backend=backend)(own))
    # It would be kept for ever, for the case that Dynamo is reset: eval_frame.py.
    eval_frame.cached_backends.pop(id(eval_frame.innermost_backend(backend)), None)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with (
            numpy_traced(weak_scalars=True),
            in_pieces(on_break),
            _configured(limit),
            narrowings_noted(narrowed),
            warnings.catch_warnings(),
        ):
            # Dynamo's guards look at read-only arrays as tensors; nothing writes to those.
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return compiled(*args, **kwargs)

    run.compile_piece = compile_piece  # type: ignore[attr-defined]
    weakref.finalize(run, _forget, own.__code__).atexit = False
    return run


def _patch() -> None:
    _listen_to_breaks()
    _let_interrupts_through()
    answer_failed_pieces()
    jitted_calls.leave_alone()


def _let_interrupts_through() -> None:
    """Keep what handlers of signals raise from being suppressed: convert_frame.py."""
    original = CatchErrorsWrapper.__call__
    if getattr(original, "_npaccel", False):
        return

    @functools.wraps(original)
    def call(self: Any, *args: Any) -> Any:
        if not active.pieces:
            return original(self, *args)
        return signals.passing(original, self, *args)

    call._npaccel = True  # type: ignore[attr-defined]
    CatchErrorsWrapper.__call__ = call  # type: ignore[method-assign]


def _with_own_code(function: FunctionType) -> FunctionType:
    """Return the same function with code that no other has.

    Dynamo keeps what it compiles with the code, counts it, and stops at a limit; functions that are
    made in the same place share theirs.
    """
    code = function.__code__.replace()
    own = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    own.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(own, function)
    return own


def _forget(code: CodeType) -> None:
    """Drop what Dynamo has compiled of a code.

    Code leads to that where the garbage collector doesn't look, and it may lead back.
    """
    todo = [code]
    while todo:
        code = todo.pop()
        reset_code(code)
        # What goes on behind its breaks.
        found = ContinueExecutionCache.cache
        todo += found[code].values() if code in found else ()


def _configured(limit: int) -> Any:
    changes: dict[str, Any] = {
        "capture_dynamic_output_shape_ops": True,
        "capture_scalar_outputs": True,
        "recompile_limit": limit,
        "rewrite_assert_with_torch_assert": False,  # Other pieces may have written before it.
        "skip_guards_on_constant_func_defaults": False,  # They may differ between calls.
        "suppress_errors": True,  # A piece that can't be compiled runs in NumPy.
    }
    return dynamo_config.patch(changes)


def _piece(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Capture:
    context = TracingContext.get()
    check_views(graph, is_part=True)
    rewritten(graph, example_inputs)
    none: Any = None
    return Capture(
        code=none, bytecode=none, backend_name="", graph=graph, example_inputs=example_inputs,
        fake_mode=context.fake_mode, tensor_to_context=context.tensor_to_context, inputs=[],
        draws=Draws(), guards=[], shape_guard=None, has_side_effects=False,
        scalar_outputs=scalar_results(graph.graph), traced_code=[], imports={},
        has_symbols=False, has_sizes=False, build_check=none,
        read_only_outputs=read_only_outputs(graph.graph),
    )  # fmt: skip


def lines_of(raised: BaseException) -> set[tuple[str, int]]:
    """Return the lines that an error came through, without those where Dynamo left off."""
    walked = list(traceback.walk_tb(raised.__traceback__))
    followers = [frame.f_code.co_name for frame, _ in walked[1:]] + [""]
    return {
        (frame.f_code.co_filename, line)
        for (frame, line), follower in zip(walked, followers, strict=True)
        if not follower.startswith(TORCH_DYNAMO_RESUME_IN_PREFIX)
    }


def is_generic(piece: Capture) -> bool:
    """Whether a size is an input of a piece."""
    return any(not isinstance(value, torch.Tensor) for value in piece.example_inputs)


def written_inputs_of(piece: Capture) -> tuple[int, ...]:
    """Return the inputs that a piece writes to."""
    assert piece.graph is not None
    return written_inputs(piece.graph.graph)


def shared_with_inputs(piece: Capture) -> tuple[dict[int, int], frozenset[int]]:
    """Return which outputs of a piece are whole inputs, and of which inputs others are views."""
    assert piece.graph is not None
    graph = piece.graph.graph
    wholes = wholes_of(graph)
    outputs = list(graph.output_node().args[0])  # type: ignore[arg-type]
    inputs = inputs_by_memory(graph)
    parts = {memory_of(node) for node in outputs if node not in wholes} & inputs.keys()
    return (
        {outputs.index(node): i for node, i in wholes.items()},
        frozenset(inputs[memory] for memory in parts),
    )


def copy_of(piece: Capture) -> Callable[..., Any]:
    """Return a piece's graph as an interpreted function; compiling uses up the original."""
    graph = piece.graph
    assert graph is not None
    forward: Callable[..., Any] = torch.fx.GraphModule(graph, copy.copy(graph.graph)).forward
    return forward


class _Suppressed(logging.Filter):
    """Tell of errors that Dynamo suppresses, instead of printing them: convert_frame.py."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the messages that aren't about a piece of npaccel's."""
        error = record.exc_info[1] if record.exc_info else None
        if active.on_break is None or error is None:
            return True
        inner = getattr(error, "inner_exception", None)
        if isinstance(inner, CaptureError):
            active.on_break(inner)
            return False
        stack = list(
            getattr(error, "real_stack", None) or traceback.extract_tb(error.__traceback__)
        )
        user = [frame for frame in stack if not is_internal(frame.filename)]
        text = f"the code after this line can't be compiled: {reason_in(str(error))}"
        active.on_break(CaptureError(text, "error", user, True))
        return False


def _listen_to_breaks() -> None:
    """Hear of every graph break: symbolic_convert.py, log_graph_break."""
    with _patch_lock:
        logger = logging.getLogger("torch._dynamo.convert_frame")
        if not any(isinstance(one, _Suppressed) for one in logger.filters):
            logger.addFilter(_Suppressed())
        original = InstructionTranslatorBase.log_graph_break
        if getattr(original, "_npaccel", False):
            return

        @functools.wraps(original)
        def log_graph_break(self: Any, code_options: Any, reason: str = "", *rest: Any,
                            **named: Any) -> Any:  # fmt: skip
            if active.on_break is not None:
                _tell(self, reason, [*rest, *named.values()])
            return original(self, code_options, reason, *rest, **named)

        log_graph_break._npaccel = True  # type: ignore[attr-defined]
        InstructionTranslatorBase.log_graph_break = log_graph_break
        guards.profile_guard_manager = _timed_for_others(guards.profile_guard_manager)
        manager = guards.CheckFunctionManager
        manager.id_ref = _not_kept(manager.id_ref)  # type: ignore[method-assign]


def _not_kept(original: Any) -> Any:
    """Let conditions that look at a class or module not live as long as that: guards.py.

    Dynamo has them told when it's gone, and keeps them, with all that they know, until then.
    """

    @functools.wraps(original)
    def id_ref(self: Any, value: object, text: str) -> int:
        if active.on_break is None or id(value) in self._weakrefs:
            found: int = original(self, value, text)
            return found
        try:
            self._weakrefs[id(value)] = weakref.ref(value)
        except TypeError:  # There are no weak references to such an object.
            return id(value)
        told = weakref.finalize(value, _invalidate, weakref.ref(self), text)
        weakref.finalize(self, told.detach).atexit = told.atexit = False
        return id(value)

    return id_ref


def _invalidate(manager: weakref.ref[Any], text: str) -> None:
    found = manager()
    if found is not None:
        found.invalidate(obj_str=text)


def _timed_for_others(original: Any) -> Any:
    """Don't time conditions of npaccel's pieces: guards.py.

    Dynamo empties the processor's caches for that, which takes longer than a small piece.
    """

    @functools.wraps(original)
    def profile_guard_manager(*args: Any) -> Any:
        return original(*args) if active.on_break is None else 0.0

    return profile_guard_manager


def _tell(translator: Any, reason: str, rest: list[Any]) -> None:
    error = next((value for value in rest if isinstance(value, Exception)), None)
    stacks = [value for value in rest if isinstance(value, traceback.StackSummary)]
    stack = list(getattr(error, "real_stack", None) or (stacks[0] if stacks else []))
    user = [frame for frame in stack if not is_internal(frame.filename)]
    user = user or [translator.frame_summary()]
    assert active.on_break is not None
    active.on_break(described(error or Exception(reason), user, True, reason))
