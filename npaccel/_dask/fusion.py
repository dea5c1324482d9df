"""Fuse layers of a graph that work block by block, and compile what NumPy does in each.

Layers whose blocks depend on one block of each input are `dask.blockwise.Blockwise`. Dask fuses
chains of them. Here a layer that several others use is fused too, where all of these go into the
same task.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from dask import config
from dask.blockwise import Blockwise, _can_fuse_annotations, blockwise_token, rewrite_blockwise
from dask.core import reverse_dict
from dask.highlevelgraph import HighLevelGraph

from npaccel._dask.block_function import BlockFunction
from npaccel._dask.translate import translated

#: Name of the setting in Dask's configuration: threads of compiled code in each task.
THREADS = "npaccel.threads"


@dataclasses.dataclass
class Fused:
    """Outcome of fusing a graph.

    Parameters
    ----------
    layers, dependencies : dict
    functions : list of BlockFunction
    left : list of str
        What Dask goes on calling.
    """

    layers: dict[str, Any]
    dependencies: dict[str, set[str]]
    functions: list[BlockFunction]
    left: list[str]


def fused(
    graph: HighLevelGraph,
    names: Collection[str],
    kept: Collection[str],
    options: tuple[tuple[str, Any], ...],
) -> Fused:
    """Fuse layers of a graph, and compile what is in them.

    Parameters
    ----------
    graph : HighLevelGraph
    names : collection of str
        Those of the layers that may be fused.
    kept : collection of str
        Those of layers whose blocks are results.
    options : tuple
        Of the compiled functions.
    """
    threads = threads_of_a_task()
    result = Fused({}, {}, [], [])
    dependents = reverse_dict(graph.dependencies)
    todo = [name for name in names if name in kept or not dependents.get(name)]
    while todo:
        name = todo.pop()
        if name in result.layers or name not in graph.layers:
            continue
        layer = graph.layers[name]
        needs = set(graph.dependencies.get(name, ()))
        if name in names and isinstance(layer, Blockwise):
            group = _group(graph, layer, names, kept, dependents)
            layer = rewrite_blockwise([graph.layers[one] for one in group])
            needs = {d for one in group for d in graph.dependencies[one]} - set(group)
            layer = _compiled(layer, options, threads, result)
        elif name in names:
            result.left.append(_kind_of(name))
        result.layers[name] = layer
        result.dependencies[name] = needs
        todo += needs
    return result


def threads_of_a_task() -> int:
    """Return how many threads of compiled code a task may have, by Dask's configuration."""
    return int(config.get(THREADS, 1))


def _kind_of(name: str) -> str:
    """Return the name of a layer without its token."""
    return name.rpartition("-")[0] or name


def _group(
    graph: HighLevelGraph,
    top: Any,
    names: Collection[str],
    kept: Collection[str],
    dependents: Mapping[str, set[str]],
) -> list[str]:
    """Return the layers that become one, the last first.

    A layer goes in where all that use it are in already, and use the same block of it: nothing is
    computed twice.
    """
    found: dict[str, dict[str, str]] = {top.output: {i: i for i in top.output_indices}}
    grows = True
    while grows:
        grows = False
        for user in list(found):
            layer: Any = graph.layers[user]
            if not _is_block_by_block(layer):
                continue
            for name, _ in layer.indices:
                if isinstance(name, str) and name in names and name not in found:
                    own = _indices_in(graph, name, found, kept, dependents, top)
                    if own is not None:
                        found[name] = own
                        grows = True
    return list(found)


def _is_block_by_block(layer: Any) -> bool:
    """Whether a block of a layer depends on one block of each input."""
    used = {i for _, indices in layer.indices if indices for i in indices}
    return used <= set(layer.output_indices)


def _indices_in(
    graph: HighLevelGraph,
    name: str,
    found: Mapping[str, Mapping[str, str]],
    kept: Collection[str],
    dependents: Mapping[str, set[str]],
    top: Any,
) -> dict[str, str] | None:
    """Return the top layer's indices of a layer's own, or None if it can't be fused."""
    layer: Any = graph.layers.get(name)
    is_fusable = isinstance(layer, Blockwise) and name not in kept
    if not is_fusable or not dependents[name] <= found.keys():
        return None
    if layer.concatenate != top.concatenate:
        return None
    if not _can_fuse_annotations(top.annotations, layer.annotations):
        return None
    ways = set()
    for user in dependents[name]:
        of_user: Any = graph.layers[user]
        if not _is_block_by_block(of_user):
            return None
        for other, indices in of_user.indices:
            if other == name:
                if indices is None:
                    return None
                ways.add(tuple(found[user].get(i, "") for i in indices))
    if len(ways) != 1:
        return None
    (way,) = ways
    if "" in way or len(set(way)) < len(way):
        return None
    return dict(zip(layer.output_indices, way, strict=True))


def _compiled(
    layer: Any, options: tuple[tuple[str, Any], ...], threads: int, result: Fused
) -> Blockwise:
    """Return a layer with compiled functions in its task."""
    constants = {
        blockwise_token(i): value
        for i, (value, indices) in enumerate(layer.indices)
        if indices is None and isinstance(value, int)
    }
    found = translated(layer.task, constants, options, threads)
    if found is None:
        return layer
    result.functions += found.functions
    result.left += found.left
    if not found.functions:
        return layer
    return Blockwise(
        layer.output,
        layer.output_indices,
        found.task,
        layer.indices,
        layer.numblocks,
        concatenate=layer.concatenate,
        new_axes=layer.new_axes,
        output_blocks=layer.output_blocks,
        annotations=layer.annotations,
        io_deps=layer.io_deps,
    )


__all__ = ["THREADS", "Fused", "fused", "threads_of_a_task"]
