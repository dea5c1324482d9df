"""Compile a function around its graph breaks with Dynamo's frame hook.

Read from torch/_dynamo/{eval_frame,guards,output_graph,resume_execution,symbolic_convert}.py of
2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import torch
import torch._dynamo
import torch._dynamo.config as dynamo_config
from torch._C._dynamo.eval_frame import reset_code
from torch._dynamo import eval_frame
from torch._dynamo import utils as dynamo_utils
from torch._dynamo.resume_execution import (
    TORCH_DYNAMO_RESUME_IN_PREFIX,
    ContinueExecutionCache,
)
from torch._guards import TracingContext

from npaccel._numpy.core.context import settings
from npaccel._process.imports import uncut
from npaccel._report.details import Narrowed
from npaccel._runtime.callables import with_code
from npaccel._runtime.host_rng import Draws
from npaccel._torch.dynamo.budget import limited, of
from npaccel._torch.dynamo.capture import check_views
from npaccel._torch.dynamo.capture_description import rewritten
from npaccel._torch.dynamo.capture_errors import CaptureError
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.install import install, numpy_traced
from npaccel._torch.dynamo.numpy.calls import wide_nodes
from npaccel._torch.dynamo.numpy.operations import scalar_results
from npaccel._torch.dynamo.python import nested_jit
from npaccel._torch.dynamo.source_lines import narrowings_noted
from npaccel._torch.dynamo.state import active, in_subgraphs
from npaccel._torch.fx_passes.alias_checks import (
    inputs_by_memory,
    memory_of,
    wholes_of,
    written_inputs,
)
from npaccel._torch.fx_passes.read_only_outputs import base_inputs, read_only_outputs
from npaccel._torch.leftovers import release_code

#: Maximum number of compilations of a subgraph; for other values it runs in NumPy.
LIMIT = 64


def compiled_around_breaks(
    function: FunctionType,
    compile_subgraph: Callable[[Capture], Callable[..., Any]],
    on_break: Callable[[CaptureError], None],
    limit: int = LIMIT,
) -> Callable[..., Any]:
    """Return the function, compiled around its graph breaks.

    Parameters
    ----------
    function : types.FunctionType
    compile_subgraph : callable
        Compiles one captured subgraph. What it returns may return what `failed` does.
    on_break : callable
        Is told of every break.
    limit : int
        Maximum number of compilations of a subgraph; for other values it runs in NumPy.
    """
    uncut(_prepare)
    narrowed: dict[Narrowed, None] = {}
    # What Dynamo keeps with a function's code mustn't keep what is compiled here: see `_forget`.
    compiler = weakref.ref(compile_subgraph)

    def backend(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        subgraph = _subgraph(graph, example_inputs)
        subgraph.narrowed = tuple(narrowed)  # Since the subgraph before.
        narrowed.clear()
        subgraph.has_wide_data = active.has_wide_data
        if settings().narrow:
            subgraph.has_wide_data |= wide_nodes(graph.graph)
        found = compiler()
        assert found is not None
        return found(subgraph)

    own = _with_own_code(function)
    compiled = uncut(lambda: torch._dynamo.optimize(backend=backend)(own))
    # It would never be released, for the case that Dynamo is reset: eval_frame.py.
    eval_frame.cached_backends.pop(id(eval_frame.innermost_backend(backend)), None)
    configured = _configured(limit)
    budget = of("auto")  # Of all that is captured of the function.

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with (
            numpy_traced(weak_scalars=True),
            limited(budget),
            in_subgraphs(on_break),
            configured(),
            narrowings_noted(narrowed),
            warnings.catch_warnings(),
        ):
            # Dynamo's guards look at read-only arrays as tensors; nothing writes to those.
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return compiled(*args, **kwargs)

    run.compile_subgraph = compile_subgraph  # type: ignore[attr-defined]
    weakref.finalize(run, _forget, own.__code__).atexit = False
    return run


def _prepare() -> None:
    install()
    nested_jit.leave_alone()


def _with_own_code(function: FunctionType) -> FunctionType:
    """Return the same function with code that no other has.

    Dynamo keeps what it compiles with the code, counts it, and stops at a limit; functions that are
    made in the same place share theirs.
    """
    own = with_code(function, function.__code__.replace(), function.__closure__)
    functools.update_wrapper(own, function)
    return own


def _forget(code: CodeType) -> None:
    """Drop what Dynamo has compiled of a code.

    Code leads to that where the garbage collector doesn't look, and it may lead back.
    """
    release_code()
    todo = [code]
    while todo:
        code = todo.pop()
        reset_code(code)
        dynamo_utils.guard_failures.pop(code, None)
        # What goes on behind its breaks, and leads back to it.
        found = ContinueExecutionCache.cache
        if code in found:
            todo += found[code].values()
            found[code].clear()


def _configured(limit: int) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Return what makes a context of Dynamo's settings for subgraphs, at each call."""
    changes: dict[str, Any] = {
        "capture_dynamic_output_shape_ops": True,
        "capture_scalar_outputs": True,
        "fake_tensor_cache_enabled": False,  # It's never shortened.
        "recompile_limit": limit,
        "rewrite_assert_with_torch_assert": False,  # Other subgraphs may have written before it.
        "skip_guards_on_constant_func_defaults": False,  # They may differ between calls.
        "suppress_errors": True,  # A subgraph that can't be compiled runs in NumPy.
    }
    # `patch` would leave a context variable at each call, which nothing drops.
    change = dynamo_config._make_closure_patcher(**changes)

    @contextlib.contextmanager
    def configured() -> Iterator[None]:
        revert = change()
        try:
            yield
        finally:
            revert()

    return configured


def _subgraph(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Capture:
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
        read_only_outputs=read_only_outputs(graph.graph), base_inputs=base_inputs(graph.graph),
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


def is_dynamic(subgraph: Capture) -> bool:
    """Whether a size is an input of a subgraph."""
    return any(not isinstance(value, torch.Tensor) for value in subgraph.example_inputs)


def written_inputs_of(subgraph: Capture) -> tuple[int, ...]:
    """Return the inputs that a subgraph writes to."""
    assert subgraph.graph is not None
    return written_inputs(subgraph.graph.graph)


def shared_with_inputs(subgraph: Capture) -> tuple[dict[int, int], frozenset[int]]:
    """Return which outputs of a subgraph are whole inputs, and of which inputs others are views."""
    assert subgraph.graph is not None
    graph = subgraph.graph.graph
    wholes = wholes_of(graph)
    outputs = list(graph.output_node().args[0])  # type: ignore[arg-type]
    inputs = inputs_by_memory(graph)
    parts = {memory_of(node) for node in outputs if node not in wholes} & inputs.keys()
    return (
        {outputs.index(node): i for node, i in wholes.items()},
        frozenset(inputs[memory] for memory in parts),
    )


def copy_of(subgraph: Capture) -> Callable[..., Any]:
    """Return a subgraph as an interpreted function; compiling uses up the original."""
    graph = subgraph.graph
    assert graph is not None
    forward: Callable[..., Any] = torch.fx.GraphModule(graph, copy.copy(graph.graph)).forward
    return forward
