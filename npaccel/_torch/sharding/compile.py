"""Compile a captured graph for the part of each array that a rank has.

Read from torch/fx/experimental/proxy_tensor.py of 2.13.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.tensor import DTensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.fx.traceback import preserve_node_meta

from npaccel._report.details import Collective
from npaccel._runtime.torch import layout
from npaccel._runtime.torch.layout import Placements, Shape, Spread
from npaccel._runtime.torch.local_parts import Interface, boxed, entering
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.inductor.compile import CompiledGraph, compile_graph
from npaccel._torch.leftovers import in_copied_context
from npaccel._torch.sharding.decompositions import DECOMPOSITIONS
from npaccel._torch.sharding.failures import Place, places_of
from npaccel._torch.sharding.partitioner import Partitioner

aten = torch.ops.aten


@dataclasses.dataclass
class Part:
    """A rank's part of a graph.

    Parameters
    ----------
    capture : Capture
        Of the rank's part, to be compiled.
    mesh : DeviceMesh
    interface : Interface
    written : tuple of int
        The inputs that it writes to.
    collectives : tuple of Collective
    places : dict
        The user's lines of collectives, by the names of their nodes.
    """

    capture: Capture
    mesh: Any
    interface: Interface
    written: tuple[int, ...]
    collectives: tuple[Collective, ...]
    places: dict[str, Place]

    def digest(self) -> str:
        """Return what ranks have to agree on, in few letters."""
        told = [(one.kind, one.operation, one.nbytes) for one in self.collectives]
        return hashlib.sha256(repr((told, self.interface.outputs)).encode()).hexdigest()[:16]


@in_copied_context
def partition(capture: Capture, mesh: Any, inputs: Sequence[DTensor | None]) -> Part:
    """Make of a captured graph the part that this rank computes.

    Parameters
    ----------
    capture : Capture
        Of whole arrays.
    mesh : DeviceMesh
    inputs : sequence of DTensor or None
        Those among the graph's inputs.
    """
    whole = _in_aten(capture)
    # Numbers among the inputs have symbols in the other one, which aren't in the new graph.
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    placements: list[Placements | None] = []
    local: list[Any] = []
    for value, given in zip(_values(whole), inputs, strict=True):
        is_tensor = isinstance(value, torch.Tensor)
        own = layout.replicated(mesh) if given is None else entering(given)
        placements.append(own if is_tensor else None)
        local.append(_local(value, given, mesh, own, mode) if is_tensor else value)
    partitioner = Partitioner(whole, mesh)
    outputs: list[tuple[Shape, Placements] | int | None] = []

    def run(*locals_: Any) -> list[Any]:
        given = [
            one if own is None else Spread(one, tuple(value.shape), own)
            for one, own, value in zip(locals_, placements, _values(whole), strict=True)
        ]
        results = partitioner.run(*given)
        found = list(results) if isinstance(results, list | tuple) else [results]
        outputs[:] = [
            (_known(one.shape), one.placements) if isinstance(one, Spread) else None
            for one in found
        ]
        return [one.local if isinstance(one, Spread) else one for one in found]

    with mode, preserve_node_meta(), torch.no_grad():
        made = make_fx(run, tracing_mode="real", _allow_non_fake_inputs=True)(*local)
    for i, place in _written_outputs(whole).items():
        outputs[i] = place
    written = tuple(sorted({*_written(whole).values()}))
    part = dataclasses.replace(capture, graph=made, example_inputs=local, fake_mode=mode)
    found = (*_before(capture, inputs), *partitioner.collectives)
    drawn = len(capture.draws.inputs)
    interface = Interface(placements, drawn, outputs)
    return Part(part, mesh, interface, written, found, places_of(made))


def _before(capture: Capture, inputs: Sequence[DTensor | None]) -> Iterator[Collective]:
    """Yield the collectives before a graph: of partial arguments, and of what NumPy draws."""
    for one in inputs:
        if one is not None and entering(one) != tuple(one.placements):
            nbytes = one.numel() * one.element_size()
            yield Collective("all-reduce", nbytes, "argument", is_gather=True)
    file, line = (capture.drawn[0].file, capture.drawn[0].line) if capture.drawn else ("", 0)
    count = len(capture.example_inputs)
    for one in capture.example_inputs[count - len(capture.draws.inputs) :]:
        if isinstance(one, torch.Tensor):
            yield Collective("broadcast", one.nbytes, "random numbers", file, line)


def _known(shape: Sequence[Any]) -> Shape:
    """Return sizes, with -1 for those that data decide."""
    return tuple(size if isinstance(size, int) else -1 for size in shape)


def _in_aten(capture: Capture) -> torch.fx.GraphModule:
    """Return the graph as ATen's operations on whole arrays, without writes but to inputs."""
    graph = capture.graph
    assert graph is not None
    given = [_fake(one, capture.fake_mode) for one in capture.example_inputs]

    def run(*inputs: Any) -> Any:
        return torch.fx.Interpreter(graph).run(*inputs)

    with capture.fake_mode, preserve_node_meta(), torch.no_grad():
        functional = torch.func.functionalize(run, remove="mutations")
        made = make_fx(
            functional,
            decomposition_table=DECOMPOSITIONS,
            tracing_mode="real",
            _allow_non_fake_inputs=True,
        )(*given)
    made.graph.eliminate_dead_code()
    made.recompile()
    return made


def _fake(given: Any, fake_mode: Any) -> Any:
    """Return a fake tensor for an input."""
    if not isinstance(given, torch.Tensor):
        return given
    with fake_mode:
        return torch.empty_strided(
            given.shape, given.stride(), dtype=given.dtype, device=given.device
        )


def _values(module: torch.fx.GraphModule) -> list[Any]:
    return [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]


def _local(
    value: torch.Tensor, given: DTensor | None, mesh: Any, own: Placements, fake_mode: Any
) -> torch.Tensor:
    """Return a fake tensor for a rank's part of an input."""
    shape = layout.local_shape(value.shape, mesh, own)
    strides = value.stride()
    if given is not None:
        is_same = own == tuple(given.placements)
        strides = given.to_local().stride() if is_same else layout.contiguous_strides(shape)
    with fake_mode:
        return torch.empty_strided(shape, strides, dtype=value.dtype, device=value.device)


def _written_outputs(module: torch.fx.GraphModule) -> dict[int, int]:
    """Return the outputs that are inputs which are written to."""
    written = _written(module)
    (results,) = module.graph.output_node().args
    found = results if isinstance(results, list | tuple) else [results]
    return {i: written[one] for i, one in enumerate(found) if one in written}


def _written(module: torch.fx.GraphModule) -> dict[torch.fx.Node, int]:
    """Return the nodes that are written to inputs, as results or sources, and which inputs."""
    nodes = list(module.graph.find_nodes(op="placeholder"))
    copies = module.graph.find_nodes(op="call_function", target=aten.copy_.default)
    written: dict[Any, int] = {}
    for copy in copies:
        if copy.args[0] in nodes:
            place = nodes.index(copy.args[0])
            written |= {copy: place, copy.args[1]: place}
    return written


def compiled(part: Part, backend: str, scratch: Path) -> CompiledGraph:
    """Compile a rank's part of a graph.

    Parameters
    ----------
    part : Part
        Its graph is used up.
    backend, scratch
        As of `compile_graph`.
    """
    made = compile_graph(part.capture, backend, scratch)
    inner, why = None, made.not_portable
    if not why and (part.written or made.views):
        why = "it writes to an argument, or gives one back"
    elif made.inner is not None:
        whole = made.inner
        called = part.interface.on_dtensors(lambda *given: whole(list(given)), part.mesh)
        inner = boxed(called)
    return dataclasses.replace(
        made,
        full=part.interface.on_dtensors(made.full, part.mesh),
        inner=inner,
        on_arrays=None,
        mutated=part.written,
        kernels=made.kernels if inner is not None else None,
        not_portable=why,
        views=(),
        returned=(),
        undoes=False,
    )


__all__ = ["Part", "compiled", "partition"]
