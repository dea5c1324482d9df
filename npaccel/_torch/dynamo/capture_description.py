"""Describe what Dynamo has traced, as a `Capture`.

Read from torch/_dynamo/{guards,output_graph}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._dynamo.guards import CheckFunctionManager
from torch._dynamo.source import LocalSource, TensorPropertySource
from torch._guards import Source
from torch.utils._sympy.symbol import SymT, symbol_is_type

from npaccel._report.details import LineCode
from npaccel._runtime.host_rng import Draws
from npaccel._torch.dynamo.capture_context import contexts
from npaccel._torch.dynamo.capture_record import (
    Capture,
    FixedSizes,
    GraphInput,
    GuardRecord,
    ShapeGuard,
)
from npaccel._torch.dynamo.numpy.operations import scalar_results
from npaccel._torch.dynamo.state import as_traced
from npaccel._torch.fx_passes.alias_checks import output_memory
from npaccel._torch.fx_passes.passes import AFTER_CAPTURE, run_passes
from npaccel._torch.fx_passes.read_only_outputs import base_inputs, read_only_outputs
from npaccel._torch.transforms.loop_forms import original_of
from npaccel._torch.transforms.regions import cut_regions

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


@dataclasses.dataclass
class Found:
    """Graph and inputs as Dynamo hands them to its backend."""

    graph: torch.fx.GraphModule
    example_inputs: list[Any]
    context: Any
    inputs: list[GraphInput]
    fakes: list[Any]
    draws: Draws = dataclasses.field(default_factory=Draws)
    drawn: tuple[LineCode, ...] = ()


def graph_input(node: torch.fx.Node) -> GraphInput:
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


def describe(
    code: types.CodeType,
    output: Any,
    found: Found | None,
    numbers: Iterable[str] = (),
) -> Capture:
    """Describe a capture.

    Parameters
    ----------
    code : types.CodeType
    output : object
        Dynamo's.
    found : Found or None
    numbers : iterable of str
        Dynamo's expressions for ints and floats among the arguments that may change.
    """
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
        "object_writes": getattr(graph_state.side_effects, "npaccel_writes", ()),
        "loaded": tuple(getattr(graph_state.side_effects, "npaccel_loaded", ())),
        "traced_code": [original_of(code) for code in graph_state.traced_code],
        "imports": dict(graph_state.import_sources),
        "build_check": functools.partial(_build_check, output, code),
    }
    shape_env = graph_state.shape_env
    common["guards"] += _fixed_floats(shape_env)
    decided = bool(shape_env.guards)  # Numbers may decide which way the function goes.
    leaves_open = _leaves_open(common["guards"], numbers)
    if found is None:
        return Capture(
            backend_name="", graph=None, example_inputs=[], fake_mode=None,
            tensor_to_context=None, inputs=[], draws=Draws(), scalar_outputs=[],
            shape_guard=functools.partial(_shape_guard, shape_env, []) if decided else None,
            has_symbols=leaves_open, has_sizes=False,
            fixed_sizes=_fixed_sizes(graph_state.tracked_fakes, ()) if leaves_open else (),
            **common,
        )  # fmt: skip
    graph = rewritten(found.graph, found.example_inputs)
    has_numbers = any(not isinstance(value, torch.Tensor) for value in found.fakes)
    has_numbers = has_numbers or any(item.is_number for item in found.inputs)
    is_dynamic = has_numbers or _has_sizes(found.fakes) or leaves_open
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
        if is_dynamic or decided
        else None,
        scalar_outputs=scalar_results(graph.graph),
        output_memory=output_memory(graph.graph),
        read_only_outputs=read_only_outputs(graph.graph),
        base_inputs=base_inputs(graph.graph),
        same_class_inputs=base_inputs(graph.graph, same_class=True),
        has_symbols=is_dynamic,
        has_sizes=_has_sizes(found.fakes) or _reads_sizes(shape_env),
        fixed_sizes=_fixed_sizes(graph_state.tracked_fakes, found.inputs) if is_dynamic else (),
        **common,
    )


def _fixed_floats(shape_env: Any) -> list[GuardRecord]:
    """Return guards on the floats that have become constants: -0.0 isn't 0.0 there."""
    fixed = {symbol for symbol, value in shape_env.replacements.items() if value.is_number}
    for guard in shape_env.guards:
        if isinstance(guard.expr, sympy.Eq) and any(side.is_number for side in guard.expr.args):
            fixed |= guard.expr.free_symbols
    return [
        GuardRecord(_plain(sources[0].name), "EQUALS_MATCH")
        for symbol, sources in shape_env.var_to_sources.items()
        if symbol in fixed and sources and symbol_is_type(symbol, SymT.FLOAT)
    ]


def _leaves_open(guards: Iterable[GuardRecord], numbers: Iterable[str]) -> bool:
    """Whether a number isn't read, or only decides which way the function goes."""
    fixed = {guard.expression for guard in guards if guard.kind != "TYPE_MATCH"}
    return any(number not in fixed for number in numbers)


def _fixed_sizes(tracked: Iterable[Any], inputs: Iterable[GraphInput]) -> tuple[FixedSizes, ...]:
    """Return the sizes of arrays that the graph doesn't take: they may have decided something.

    Of those that it takes `_shape_guard` tells, and of sizes that are symbols.
    """
    taken = {item.expression for item in inputs}
    found = []
    for one in tracked:
        expression = _plain(one.source.name)
        if isinstance(one.fake, torch.Tensor) and expression not in taken:
            sizes = [size if type(size) is int else None for size in one.fake.shape]
            if any(size is not None for size in sizes):
                found.append(FixedSizes(expression, tuple(sizes)))
    return tuple(found)


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
    with contexts(), as_traced():
        manager: CheckFunctionManager = output.build_guards(code)

    def check(values: dict[str, Any]) -> bool:
        with as_traced():
            return bool(manager.guard_manager.check(values))

    return check
