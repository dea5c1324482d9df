"""Compile a captured graph with AOTAutograd and Inductor.

Read from torch/_inductor/{async_compile,compile_fx,output_code,codecache,cpp_builder,cpu_vec_isa,
pattern_matcher}.py, torch/_inductor/fx_passes/reinplace.py and torch/_functorch/_aot_autograd
of 2.11, 2.13 and 2.15.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch._guards
from torch._functorch._aot_autograd.schemas import OutputType
from torch._inductor import compile_fx
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.exc import InvalidCxxCompiler
from torch._inductor.output_code import CompiledFxGraph

from npaccel._process import fork, thread_warnings
from npaccel._report.details import LineCode
from npaccel._runtime.error_translation import ASSERTION
from npaccel._runtime.torch.compiler_errors import inner_of, output_of
from npaccel._runtime.torch.dtype_views import without_other_base
from npaccel._runtime.torch.huge_pages import use_huge_pages
from npaccel._runtime.torch.loader import NotPortableError, kernel_paths
from npaccel._runtime.torch.ndarray_runtime import compiled_on_arrays
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.fake_tensor_fast_path import quick_fakes
from npaccel._torch.fx_passes import vector_products
from npaccel._torch.fx_passes.alias_checks import written_inputs
from npaccel._torch.fx_passes.early_checks import (
    RAISING,
    allocates_after_writing,
    raises_after_writing,
)
from npaccel._torch.fx_passes.nodes import name_of
from npaccel._torch.fx_passes.passes import run_passes
from npaccel._torch.inductor.complex import lowering as complex_pairs
from npaccel._torch.inductor.complex.loads import loads_of_pairs
from npaccel._torch.inductor.complex.stores import stores_of_pairs
from npaccel._torch.inductor.complex.views import seen_as_real, viewed_late
from npaccel._torch.inductor.kernel_files import headers_told
from npaccel._torch.inductor.loops.systems import MANY_SMALL_SYSTEMS
from npaccel._torch.inductor.ndarray_codegen import on_arrays
from npaccel._torch.inductor.passes import ON_ATEN, SPLIT, configured
from npaccel._torch.inductor.portable_code import with_constants
from npaccel._torch.inductor.provenance import observed
from npaccel._torch.leftovers import in_copied_context, release_module
from npaccel._torch.transforms.application import keeping
from npaccel.errors import CompilerNotFoundError

# The check for singular matrices has no result, so that torch 2.11 drops it as dead code;
# later releases know that it raises.
torch.fx.node.has_side_effect(torch.ops.aten._linalg_check_errors.default)

# Of the threads that wait for compilers a forked child has none, and would wait endlessly:
# async_compile.py resets its pool of processes alone.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=AsyncCompile.pool.cache_clear)
fork.go_first()  # codecache.py imports filelock.

_VIEWS = (OutputType.alias_of_input, OutputType.is_input)


@dataclasses.dataclass
class CompiledGraph:
    """A graph, compiled.

    Parameters
    ----------
    full : callable
        Takes the graph's inputs as arguments and treats gradients, mutated
        inputs and outputs that are views of inputs. Right for every call.
    inner : callable or None
        Takes a list of the inputs, which it empties. None where only `full`
        gives the right answer.
    on_arrays : callable or None
        Does with arrays as arguments what `inner` does with a list of tensors, where it can.
    source : str
        The generated code.
    kernels : list of Path or None
        The libraries of its kernels; None where the code can't run without
        the compiler's modules.
    not_portable : str
        Why `kernels` is None.
    mutated : tuple of int
        The inputs that are written.
    views : tuple of int
        The outputs that are views of inputs, where none is written.
    returned : tuple of (int, int)
        The outputs that are inputs, where some are written, and which ones. `inner` may give
        another tensor for them.
    lines : tuple of LineCode
        What of the user's code it computes.
    stages : dict
        Seconds by stage of compiling.
    headers : tuple of str
        Why its kernels were built with torch's headers.
    raises : bool
        Whether it may raise an error for some values.
    undoes : bool
        Whether what it has written has to be undone then. `full` does so.
    leaves : bool
        Whether something written may be left where memory runs out.
    """

    full: Callable[..., Any]
    inner: Callable[[list[Any]], Any] | None = None
    on_arrays: Callable[..., Any] | None = None
    source: str = ""
    kernels: list[Path] | None = None
    not_portable: str = ""
    mutated: tuple[int, ...] = ()
    views: tuple[int, ...] = ()
    returned: tuple[tuple[int, int], ...] = ()
    lines: tuple[LineCode, ...] = ()
    stages: dict[str, float] = dataclasses.field(default_factory=dict)
    headers: tuple[str, ...] = ()
    raises: bool = True
    undoes: bool = True
    leaves: bool = True


@in_copied_context
def compile_graph(capture: Capture, backend: str, scratch: Path) -> CompiledGraph:
    """Compile a captured graph.

    Parameters
    ----------
    capture : Capture
        Its graph is used up.
    backend : {"inductor", "aot_eager", "eager"}
    scratch : Path
        Where the compiler puts its files. Only this user may write there.

    Raises
    ------
    CompilerNotFoundError
        If there is no C++ compiler.
    """
    graph = capture.graph
    if graph is None:
        raise ValueError("a capture without a graph has nothing to compile")
    context = torch._guards.TracingContext(capture.fake_mode)
    context.tensor_to_context = capture.tensor_to_context
    tracing = torch._guards.tracing(context)
    with tracing, observed(graph) as seen, quick_fakes(), headers_told() as headers:
        _label_assertions(graph)
        written = written_inputs(graph.graph)  # Compiling uses the graph up.
        assumes = has_assumptions(graph.graph)
        if backend == "eager":
            compiled = _interpreted(graph)
        elif backend == "aot_eager":
            compiled = _aot_eager(capture)
        else:
            compiled = _inductor(capture, scratch)
        if backend == "inductor":
            written = compiled.mutated
            compiled.raises = assumes or may_raise(compiled.source)
            compiled.undoes = bool(written) and raises_after_writing(compiled.source)
            compiled.leaves = bool(written) and allocates_after_writing(compiled.source)
            seen.add_library_calls(compiled.source)
        else:
            compiled.mutated, compiled.undoes = written, bool(written)
        if compiled.undoes:
            compiled.full = undoing(compiled.full, written)
            compiled.leaves = False
    compiled.lines, compiled.stages = seen.lines(), seen.stages
    compiled.headers = tuple(headers)
    return compiled


def has_assumptions(graph: torch.fx.Graph) -> bool:
    """Whether a graph is only right for some of the sizes that the data may have."""
    return any("assert" in str(node.target) and not _is_certain(node) for node in graph.nodes)


def _is_certain(node: torch.fx.Node) -> bool:
    """Whether an assertion can't fail: no size is negative, and a mask chooses what there is."""
    if node.target is not torch.ops.aten._assert_scalar.default:
        return False
    condition = node.args[0]
    if not isinstance(condition, torch.fx.Node) or len(condition.args) != 2:
        return False
    size, bound = condition.args
    if not isinstance(size, torch.fx.Node) or size.target is not torch.ops.aten.sym_size.int:
        return False
    if condition.target is operator.le and size.args[1] == 0:
        return isinstance(bound, int) and bound == _chosen_from(size)
    return condition.target is operator.ge and isinstance(bound, int) and bound == 0


def _chosen_from(size: torch.fx.Node) -> int | None:
    """Return of how many elements a mask chose those that a size counts, if that is known."""
    chosen = size.args[0]
    if not isinstance(chosen, torch.fx.Node) or name_of(chosen) != "operator.getitem":
        return None
    mask = chosen.args[1]
    value = mask.meta.get("example_value") if isinstance(mask, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.bool or value.ndim != 1:
        return None
    count = value.shape[0]
    return count if type(count) is int else None  # Not if it's a symbol.


def may_raise(source: str) -> bool:
    """Whether generated code may raise for some values."""
    return RAISING.search(source) is not None


def _label_assertions(graph: torch.fx.GraphModule) -> None:
    """Make the user's assertions known by their text, which is what compiled code raises."""
    found = graph.graph.find_nodes(op="call_function", target=torch._assert_async)
    for node in found:
        condition, *text = node.args
        node.args = (condition, ASSERTION + str(text[0] if text else ""))
    if found:
        graph.recompile()


def undoing(full: Callable[..., Any], written: Sequence[int]) -> Callable[..., Any]:
    """Wrap a graph so that it restores the arrays it writes to when it raises an error.

    NumPy answers such a call, and writes to them itself.

    Parameters
    ----------
    full : callable
        Takes the graph's inputs.
    written : sequence of int
        The inputs that it writes to.
    """
    if not written:
        return full

    def call(*inputs: Any) -> Any:
        before = [(inputs[i].detach(), inputs[i].detach().clone()) for i in written]
        try:
            return full(*inputs)
        except Exception:
            for tensor, old in before:
                tensor.copy_(old)
            raise

    return call


def _interpreted(graph: torch.fx.GraphModule) -> CompiledGraph:
    return CompiledGraph(full=graph.forward, source=graph.code)


def _aot_eager(capture: Capture) -> CompiledGraph:
    from torch._dynamo.backends.debugging import aot_eager

    assert capture.graph is not None
    source = capture.graph.code
    full = keeping(aot_eager(capture.graph, capture.example_inputs), capture.graph)
    return CompiledGraph(full=full, source=source)


def _decompositions(*, needs_grad: bool) -> dict[Any, Any]:
    if needs_grad:
        table = {**select_decomp_table(), **complex_pairs.WITH_MEMORY}
    else:
        table = {**complex_pairs.decompositions(), **MANY_SMALL_SYSTEMS}
    by_torch = table[torch.ops.aten.mv.default]
    return {**table, torch.ops.aten.mv.default: vector_products.mv(by_torch)}


def _inductor(capture: Capture, scratch: Path) -> CompiledGraph:
    assert capture.graph is not None
    inner: list[tuple[Any, Any]] = []

    def inner_compile(module: torch.fx.GraphModule, inputs: Any, **kwargs: Any) -> Any:
        pairs = run_passes(ON_ATEN, module, needs_grad=needs_grad).get(SPLIT)
        with contextlib.nullcontext() if pairs is None else _with_pairs(pairs):
            if pairs:
                nodes = module.graph.find_nodes(op="placeholder")
                given = zip(nodes, inputs, strict=True)
                inputs = [n.meta["val"] if n.target in pairs else one for n, one in given]
                # Strides of pairs, where torch has noted those of complex outputs already.
                module.graph.output_node().meta.pop("original_output_strides", None)
            code: Any = compile_fx.compile_fx_inner(module, inputs, **kwargs)
        if not kwargs.get("is_backward"):
            inner.append((code, torch._guards.TracingContext.get().fw_metadata))
        return code if pairs is None else _without_other_bases(code)

    needs_grad = torch.is_grad_enabled() and any(
        isinstance(value, torch.Tensor) and value.requires_grad for value in capture.example_inputs
    )
    grad_mode = torch.enable_grad() if needs_grad else torch.no_grad()
    try:
        # Inductor warns of its own limits.
        with configured(scratch), grad_mode, thread_warnings.ignored():
            full: Any = compile_fx.compile_fx(
                capture.graph,
                capture.example_inputs,
                inner_compile=inner_compile,
                decompositions=_decompositions(needs_grad=needs_grad),
            )
    except Exception as error:
        if _is_missing_compiler(error):
            raise CompilerNotFoundError(
                "jit: there is no working C++ compiler (g++ or clang++) to build CPU kernels with; "
                "install one (on Debian: apt-get install g++) or set CXX to its path, "
                'or pass backend="aot_eager" to run without one'
            ) from error
        raise
    if len(inner) != 1 or needs_grad:
        source = _source_of(inner[0][0]) if inner else ""
        full = keeping(full, capture.graph)
        return CompiledGraph(full=full, source=source, not_portable="gradients")
    return _unwrapped(full, *inner[0])


@contextlib.contextmanager
def _with_pairs(inputs: list[str]) -> Iterator[None]:
    """Generate code meanwhile that computes with pairs, which some inputs consist of."""
    with loads_of_pairs(), stores_of_pairs(), seen_as_real(inputs), viewed_late():
        yield


def _without_other_bases(code: Any) -> Callable[[list[Any]], Any]:
    """Have AOTAutograd find complex numbers, where pairs of real ones are viewed as such."""

    def run(inputs: list[Any]) -> Any:
        outputs = code(inputs)
        return [
            without_other_base(output) if isinstance(output, torch.Tensor) else output
            for output in outputs
        ]

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _is_missing_compiler(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, InvalidCxxCompiler) or type(error).__name__ == "InvalidCxxCompiler":
            return True
        error = error.__cause__ or error.__context__
    return False


def first_line(error: BaseException) -> str:
    """Return what the compiler complained of first, or the error's first line."""
    complaint = re.search(r"^.*\berror: .*$", output_of(inner_of(error)), re.MULTILINE)
    lines = str(error).strip().splitlines() or [""]
    return f"{lines[0]}: {complaint.group()}" if complaint else lines[0]


def _source_of(code: Any) -> str:
    """Return the source of what Inductor has made, or "" if it computes nothing."""
    return code.source_code if isinstance(code, CompiledFxGraph) else ""


def _unwrapped(full: Callable[..., Any], code: Any, metadata: Any) -> CompiledGraph:
    """Take AOTAutograd's wrappers off, where they do nothing that is needed."""
    compiled = CompiledGraph(full=full, source=_source_of(code))
    mutated = tuple(i for i, info in enumerate(metadata.input_info) if info.mutates_data)
    compiled.mutated = mutated
    views = {i: info for i, info in enumerate(metadata.output_info) if info.output_type in _VIEWS}
    if mutated:
        compiled.returned = tuple((i, info.base_idx) for i, info in views.items())
    else:
        compiled.views = tuple(views)
    if not _is_plain(metadata, set(mutated)):
        compiled.not_portable = "an output is a view of an array that the function writes to"
        return compiled
    if not compiled.source:
        compiled.not_portable = "it computes nothing"
        return compiled
    call = code.current_callable
    compiled.inner = call
    scope = getattr(call, "__func__", call).__globals__
    compiled.source = with_constants(compiled.source, scope)
    release_module(scope)
    use_huge_pages(scope, compiled.source)
    compiled.on_arrays = compiled_on_arrays(on_arrays(compiled.source), scope)
    try:
        compiled.kernels = kernel_paths(scope, code.source_code)
    except NotPortableError as error:
        compiled.not_portable = str(error)
    return compiled


def _is_plain(metadata: Any, mutated: set[int]) -> bool:
    """Whether the compiled code's outputs are the function's, as they are."""
    if metadata.tokens or metadata.num_intermediate_bases or metadata.num_graphsafe_rng_states:
        return False
    for info in metadata.input_info:
        if info.mutates_metadata or info.mutates_storage_metadata:
            return False
        if info.mutates_data and not info.keep_input_mutations:
            return False
    for info in metadata.output_info:
        kind = info.output_type
        if kind in _VIEWS:
            if mutated and kind is not OutputType.is_input:
                return False
        elif kind not in (OutputType.non_alias, OutputType.unsafe_view_alias):
            return False
    return True
